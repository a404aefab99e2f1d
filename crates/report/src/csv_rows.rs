//! Rows as veristat's CSV, written and read back (`-R`, `-C`).

use crate::error::Error;
use crate::escape::printable;
use crate::row::{Row, Verdict};
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

/// Writes header and rows. Control characters in names are escaped as `\u{..}`, which is not undone
/// on reading.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_csv(out: &mut dyn Write, rows: &[Row], emit: &EmitSpec) -> io::Result<()> {
    let mut csv = csv::WriterBuilder::new().from_writer(out);
    csv.write_record(emit.stats.iter().map(|stat| stat.def().names[0]))?;
    for row in rows {
        let field = |&stat: &Stat| printable(&row.get(stat).to_string()).into_owned();
        csv.write_record(emit.stats.iter().map(field))?;
    }
    csv.flush()
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
    let stats: Vec<Stat> = header.iter().map(column).collect::<Result<_, _>>()?;
    if !stats.contains(&Stat::FileName) || !stats.contains(&Stat::ProgName) {
        return Err(Error::new("header: columns file_name and prog_name are missing"));
    }
    let mut rows = Vec::new();
    for (index, record) in csv.records().enumerate() {
        let at_line = |e: &dyn std::fmt::Display| Error::new(format!("line {}: {e}", index + 2));
        let record = record.map_err(|e| at_line(&e))?;
        rows.push(row_of(&stats, &record).map_err(|e| at_line(&e))?);
    }
    Ok(CsvRows { stats, rows })
}

fn row_of(stats: &[Stat], record: &csv::StringRecord) -> Result<Row, Error> {
    let mut row = Row::new("", "", Verdict::Failure);
    for (&stat, field) in stats.iter().zip(record) {
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

fn verdict_of(field: &str) -> Result<Verdict, Error> {
    [Verdict::Success, Verdict::Failure, Verdict::Unsupported, Verdict::Error]
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

    proptest! {
        #[test]
        fn what_is_written_is_read_back(file in "(?s).*", prog in "(?s).*", insns: i64, peak: i64) {
            let names = [&file, &prog].map(|name| printable(name).into_owned());
            prop_assert!(!names.concat().contains(char::is_control));
            let [file, prog] = if insns % 2 == 0 { [file, prog] } else { names.clone() };
            let mut row = Row::new(file, prog, Verdict::Unsupported)
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
