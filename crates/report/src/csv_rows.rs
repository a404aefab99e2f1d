//! Rows as veristat's CSV, written and read back (`-R`, `-C`).

use crate::error::Error;
use crate::escape::printable;
use crate::row::{Row, RowVerdict};
use crate::spec::EmitSpec;
use crate::stat::Stat;
use std::io::{self, Read, Write};

/// The contents of a CSV file.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvRows {
    /// Its columns, in order.
    pub stats: Vec<Stat>,
    /// Its rows; statistics without a column are 0 or empty.
    pub rows: Vec<Row>,
}

/// What the column of a global of a sweep begins with: `G:rounds`.
const OF_GLOBAL: &str = "G:";
/// The other columns of a sweep.
const OF_SWEEP: [&str; 4] = ["worst", "code", "line", "reason"];

/// Writes header and rows. Control characters in names are escaped as `\u{..}`, which is not undone
/// on reading. In a sweep there is a column for each of its globals, whether the row is the most
/// expensive one, and code, line and reason of a refusal; [`read_csv`] ignores these.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_csv(out: &mut dyn Write, rows: &[Row], emit: &EmitSpec) -> io::Result<()> {
    let mut csv = csv::WriterBuilder::new().from_writer(out);
    let globals = rows.first().map_or(&[][..], |row| &row.globals);
    let stats = emit.stats.iter().map(|stat| stat.def().names[0].to_owned());
    let of_global = globals.iter().map(|(name, _)| printable(&format!("{OF_GLOBAL}{name}")).into());
    let of_sweep = OF_SWEEP.iter().filter(|_| !globals.is_empty()).map(|&name| name.to_owned());
    csv.write_record(stats.chain(of_global).chain(of_sweep))?;
    for row in rows {
        let stats = emit.stats.iter().map(|&stat| row.get(stat).to_string());
        let fields = stats.chain(if globals.is_empty() { Vec::new() } else { of_a_sweep(row) });
        csv.write_record(fields.map(|field| printable(&field).into_owned()))?;
    }
    csv.flush()
}

/// The values of the globals, and the fields of [`OF_SWEEP`].
fn of_a_sweep(row: &Row) -> Vec<String> {
    let at = row.at.as_ref().map(|(file, line)| format!("{file}:{line}")).unwrap_or_default();
    let reason = row.reason.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
    let code = row.code.clone().unwrap_or_default();
    let values = row.globals.iter().map(|(_, value)| value.clone());
    values.chain([row.is_worst.to_string(), code, at, reason.to_owned()]).collect()
}

/// Reads a file that [`write_csv`] or veristat wrote.
///
/// # Errors
///
/// An unknown column, a line with too few or too many fields, a field that is not a number, or a
/// file without the two name columns.
pub fn read_csv(input: impl Read) -> Result<CsvRows, Error> {
    let mut csv = csv::ReaderBuilder::new().from_reader(input);
    let header = csv.headers().map_err(|e| Error::new(format!("header: {e}")))?;
    let column = |name: &str| {
        Stat::by_name(name.trim())
            .ok_or_else(|| Error::new(format!("header: unrecognized column '{name}'")))
    };
    let is_read = |name: &str| !name.starts_with(OF_GLOBAL) && !OF_SWEEP.contains(&name);
    let read: Vec<usize> =
        header.iter().enumerate().filter(|(_, name)| is_read(name)).map(|(at, _)| at).collect();
    let stats: Vec<Stat> =
        read.iter().filter_map(|&at| header.get(at)).map(column).collect::<Result<_, _>>()?;
    if !stats.contains(&Stat::FileName) || !stats.contains(&Stat::ProgName) {
        return Err(Error::new("header: columns file_name and prog_name are missing"));
    }
    let mut rows = Vec::new();
    for (index, record) in csv.records().enumerate() {
        let at_line = |e: &dyn std::fmt::Display| Error::new(format!("line {}: {e}", index + 2));
        let record = record.map_err(|e| at_line(&e))?;
        let fields = read.iter().filter_map(|&at| record.get(at));
        rows.push(row_of(&stats, fields).map_err(|e| at_line(&e))?);
    }
    Ok(CsvRows { stats, rows })
}

fn row_of<'a>(stats: &[Stat], fields: impl Iterator<Item = &'a str>) -> Result<Row, Error> {
    let mut row = Row::new("", "", RowVerdict::Failure);
    for (&stat, field) in stats.iter().zip(fields) {
        match stat {
            Stat::FileName => row.file = field.to_owned(),
            Stat::ProgName => row.prog = field.to_owned(),
            Stat::ProgType => row.prog_type = field.to_owned(),
            Stat::AttachType => row.attach_type = field.to_owned(),
            Stat::Kernel => row.kernel = field.to_owned(),
            Stat::KernelSource => row.kernel_source = field.to_owned(),
            Stat::Verdict => row.verdict = verdict_of(field)?,
            number => {
                let parsed = field.trim().parse::<i64>().map_err(|_| {
                    Error::new(format!("{}: '{field}' is not a number", number.def().names[0]))
                })?;
                row.set(number, parsed);
            }
        }
    }
    Ok(row)
}

fn verdict_of(field: &str) -> Result<RowVerdict, Error> {
    [RowVerdict::Success, RowVerdict::Failure, RowVerdict::Unsupported, RowVerdict::Error]
        .into_iter()
        .find(|verdict| verdict.text() == field)
        .ok_or_else(|| Error::new(format!("verdict: '{field}' is not a verdict")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn header_is_veristats() {
        let mut out = Vec::new();
        write_csv(&mut out, &[], &EmitSpec::csv_default()).unwrap();
        let expected = "file_name,prog_name,verdict,duration,total_insns,total_states,\
            peak_states,max_states_per_insn,max_mark_read_len,prog_size,prog_size_jited,\
            prog_type,attach_type,stack_depth,mem_peak\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn bad_files_are_one_line() {
        for (text, message) in [
            ("file_name,speed\n", "header: unrecognized column 'speed'"),
            ("file_name\n", "header: columns file_name and prog_name are missing"),
            ("file,prog,insns\na,b,x\n", "line 2: total_insns: 'x' is not a number"),
            (
                "file,prog,verdict\na,b,success\na,b,maybe\n",
                "line 3: verdict: 'maybe' is not a verdict",
            ),
        ] {
            assert_eq!(read_csv(text.as_bytes()).unwrap_err().to_string(), message);
        }
        assert!(read_csv("file,prog\na,b,c\n".as_bytes()).is_err());
        assert!(read_csv("".as_bytes()).is_err());
    }

    #[test]
    fn a_sweep_has_its_columns_and_is_read_back_without_them() {
        let mut row = Row::new("a.o", "p [n=1]", RowVerdict::Failure).with(Stat::TotalInsns, 3);
        row.globals = vec![("n".into(), "1".into())];
        let told = (Some("R1, invalid\nmore".into()), Some("code".into()), Some(("a.c".into(), 7)));
        (row.reason, row.code, row.at) = told;
        let mut out = Vec::new();
        let emit = EmitSpec::parse("file,prog,insns,verdict").unwrap();
        write_csv(&mut out, &[row], &emit).unwrap();
        let expected = "file_name,prog_name,total_insns,verdict,G:n,worst,code,line,reason\n\
            a.o,p [n=1],3,failure,1,false,code,a.c:7,\"R1, invalid\"\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
        let back = read_csv(out.as_slice()).unwrap();
        let plain = Row::new("a.o", "p [n=1]", RowVerdict::Failure).with(Stat::TotalInsns, 3);
        assert_eq!((back.stats, back.rows), (emit.stats, vec![plain]));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(file in "(?s).*", prog in "(?s).*", insns: i64, peak: i64) {
            let names = [&file, &prog].map(|name| printable(name).into_owned());
            prop_assert!(!names.concat().contains(char::is_control));
            let [file, prog] = if insns % 2 == 0 { [file, prog] } else { names.clone() };
            let mut row = Row::new(file, prog, RowVerdict::Unsupported)
                .with(Stat::TotalInsns, insns)
                .with(Stat::PeakStates, peak);
            row.prog_type = "xdp".into();
            let mut out = Vec::new();
            write_csv(&mut out, std::slice::from_ref(&row), &EmitSpec::csv_default()).unwrap();
            let lines = out.iter().filter(|byte| byte.is_ascii_control()).count();
            prop_assert_eq!(lines, 2);
            let back = read_csv(out.as_slice()).unwrap();
            [row.file, row.prog] = names;
            prop_assert_eq!(back.rows, [row]);
        }
    }
}
