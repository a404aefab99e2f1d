//! Two result sets side by side (`-C`): base, compared, difference, as veristat prints them.

use crate::escape::printable;
use crate::join::{JoinedRow, percent};
use crate::json_text::{JsonForm, write_json_text};
use crate::layout::{Column, write_layout};
use crate::row::{Row, Value};
use crate::spec::EmitSpec;
use crate::stat::Stat;
use serde_json::{Map, Value as Json};
use std::io::{self, Write};

const TABLE_SUFFIXES: [&str; 3] = [" (A)", " (B)", " (DIFF)"];
const CSV_SUFFIXES: [&str; 3] = ["_base", "_comp", "_diff"];
const MISSING: &str = "N/A";

/// Writes the comparison as a table.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_compare_table(
    out: &mut dyn Write,
    rows: &[JoinedRow<'_>],
    emit: &EmitSpec,
) -> io::Result<()> {
    let cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, emit)).collect();
    write_layout(out, &columns(emit), &cells)
}

pub(crate) fn columns(emit: &EmitSpec) -> Vec<Column> {
    let mut columns = Vec::new();
    for def in emit.stats.iter().map(|stat| stat.def()) {
        let suffixes: &[&str] = if def.stat.is_key() { &[""] } else { &TABLE_SUFFIXES };
        columns.extend(suffixes.iter().map(|&suffix| Column {
            header: def.header,
            suffix,
            left_aligned: def.left_aligned,
        }));
    }
    columns
}

/// Writes the comparison as CSV.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_compare_csv(
    out: &mut dyn Write,
    rows: &[JoinedRow<'_>],
    emit: &EmitSpec,
) -> io::Result<()> {
    let mut csv = csv::WriterBuilder::new().from_writer(out);
    csv.write_record(csv_header(emit))?;
    for row in rows {
        csv.write_record(cells(row, emit).iter().map(|cell| printable(cell).into_owned()))?;
    }
    csv.flush()
}

/// Writes the comparison as a JSON array. `NAME_base` and `NAME_comp` are numbers or text, `null`
/// where a side is missing; of numbers there are `NAME_diff` and `NAME_pct`, of text `NAME_match`.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_compare_json(
    out: &mut dyn Write,
    rows: &[JoinedRow<'_>],
    emit: &EmitSpec,
) -> io::Result<()> {
    let objects: Vec<_> = rows.iter().map(|row| object(row, emit)).collect();
    write_json_text(out, &objects, JsonForm::Pretty)?;
    writeln!(out)
}

fn object(row: &JoinedRow<'_>, emit: &EmitSpec) -> Map<String, Json> {
    let mut object = Map::new();
    for &stat in &emit.stats {
        let name = stat.def().names[0];
        let value = |row: Option<&Row>| row.map_or(Json::Null, |row| row.get(stat).to_json());
        if stat.is_key() {
            object.insert(name.to_owned(), value(row.named()));
            continue;
        }
        let mut put = |suffix: &str, value: Json| object.insert(format!("{name}_{suffix}"), value);
        put("base", value(row.base));
        put("comp", value(row.comp));
        let both = row.base.zip(row.comp).map(|(base, comp)| (base.get(stat), comp.get(stat)));
        match both {
            Some((Value::Number(a), Value::Number(b))) => {
                put("diff", Json::from(b.saturating_sub(a)));
                put("pct", Json::from(percent(a as f64, b as f64)));
            }
            Some((a, b)) => drop(put("match", Json::from(a == b))),
            None if stat.is_text() => drop(put("match", Json::Null)),
            None => ["diff", "pct"].iter().for_each(|suffix| drop(put(suffix, Json::Null))),
        }
    }
    object
}

fn csv_header(emit: &EmitSpec) -> Vec<String> {
    let mut header = Vec::new();
    for def in emit.stats.iter().map(|stat| stat.def()) {
        match def.stat.is_key() {
            true => header.push(def.names[0].to_owned()),
            false => header.extend(CSV_SUFFIXES.iter().map(|sfx| format!("{}{sfx}", def.names[0]))),
        }
    }
    header
}

pub(crate) fn cells(row: &JoinedRow<'_>, emit: &EmitSpec) -> Vec<String> {
    let mut cells = Vec::new();
    for &stat in &emit.stats {
        if stat.is_key() {
            cells.push(row.named().map(|r| r.get(stat).to_string()).unwrap_or_default());
        } else {
            cells.extend([side(row.base, stat), side(row.comp, stat), difference(row, stat)]);
        }
    }
    cells
}

fn side(row: Option<&Row>, stat: Stat) -> String {
    row.map_or_else(|| MISSING.to_owned(), |row| row.get(stat).to_string())
}

fn difference(row: &JoinedRow<'_>, stat: Stat) -> String {
    let (Some(base), Some(comp)) = (row.base, row.comp) else { return MISSING.to_owned() };
    match (base.get(stat), comp.get(stat)) {
        (Value::Number(a), Value::Number(b)) => {
            let change = i128::from(b) - i128::from(a);
            format!("{change:+} ({:+.2}%)", percent(a as f64, b as f64))
        }
        (a, b) => if a == b { "MATCH" } else { "MISMATCH" }.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::join;
    use crate::row::RowVerdict;

    fn row(prog: &str, verdict: RowVerdict, insns: i64) -> Row {
        Row::new("a.o", prog, verdict).with(Stat::TotalInsns, insns)
    }

    #[test]
    fn csv_has_no_control_characters() {
        let base = [row("p\u{1b}[2J\n", RowVerdict::Success, 1)];
        let emit = EmitSpec::parse("prog,insns").unwrap();
        let mut out = Vec::new();
        write_compare_csv(&mut out, &join(&base, &base), &emit).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.lines().count(), 2, "{out}");
        assert!(!out.contains(|c: char| c.is_control() && c != '\n'), "{out:?}");
    }

    #[test]
    fn table_and_csv() {
        let base = [row("p", RowVerdict::Success, 6047), row("old", RowVerdict::Success, 1)];
        let comp = [row("p", RowVerdict::Failure, 4578), row("new", RowVerdict::Success, 0)];
        let joined = join(&base, &comp);
        let emit = EmitSpec::parse("file,prog,verdict,insns").unwrap();
        let mut out = Vec::new();
        write_compare_table(&mut out, &joined, &emit).unwrap();
        let expected = "\
File  Program  Verdict (A)  Verdict (B)  Verdict (DIFF)  Insns (A)  Insns (B)  Insns    (DIFF)
----  -------  -----------  -----------  --------------  ---------  ---------  ---------------
a.o   new      N/A          success      N/A                   N/A          0              N/A
a.o   old      success      N/A          N/A                     1        N/A              N/A
a.o   p        success      failure      MISMATCH             6047       4578  -1469 (-24.29%)
----  -------  -----------  -----------  --------------  ---------  ---------  ---------------
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);

        let mut out = Vec::new();
        write_compare_csv(&mut out, &joined, &emit).unwrap();
        let expected = "\
file_name,prog_name,verdict_base,verdict_comp,verdict_diff,total_insns_base,total_insns_comp,total_insns_diff
a.o,new,N/A,success,N/A,N/A,0,N/A
a.o,old,success,N/A,N/A,1,N/A,N/A
a.o,p,success,failure,MISMATCH,6047,4578,-1469 (-24.29%)
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
