//! Rows as veristat's table, with its summary line.

use crate::layout::{Column, write_layout};
use crate::row::Row;
use crate::spec::EmitSpec;
use std::io::{self, Write};

/// Counts of the summary line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Files read.
    pub files_processed: usize,
    /// Files excluded by a filter, or that are not BPF objects.
    pub files_skipped: usize,
    /// Programs verified.
    pub progs_processed: usize,
    /// Programs excluded by a filter.
    pub progs_skipped: usize,
}

/// Writes the table; `tally` is omitted when rows are replayed from a file.
///
/// The summary line's numbers match its words (veristat swaps two of its four numbers).
///
/// # Errors
///
/// Only those of `out`.
pub fn write_table(
    out: &mut dyn Write,
    rows: &[Row],
    emit: &EmitSpec,
    tally: Option<Tally>,
) -> io::Result<()> {
    let cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, emit)).collect();
    write_layout(out, &columns(emit), &cells)?;
    let Some(tally) = tally else { return Ok(()) };
    writeln!(
        out,
        "Done. Processed {} files, {} programs. Skipped {} files, {} programs.",
        tally.files_processed, tally.progs_processed, tally.files_skipped, tally.progs_skipped
    )
}

pub(crate) fn columns(emit: &EmitSpec) -> Vec<Column> {
    let column = |def: &'static crate::StatDef| Column {
        header: def.header,
        suffix: "",
        left_aligned: def.left_aligned,
    };
    emit.stats.iter().map(|stat| column(stat.def())).collect()
}

pub(crate) fn cells(row: &Row, emit: &EmitSpec) -> Vec<String> {
    emit.stats.iter().map(|&stat| row.get(stat).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::RowVerdict;
    use crate::stat::Stat;

    #[test]
    fn looks_as_veristat_does() {
        let rows = [
            Row::new("xdp.bpf.o", "xdp_pass", RowVerdict::Success)
                .with(Stat::Duration, 1234)
                .with(Stat::TotalInsns, 7)
                .with(Stat::Size, 2),
            Row::new("a\x1b.o", "p", RowVerdict::Failure).with(Stat::TotalStates, 123_456_789),
        ];
        let mut out = Vec::new();
        let tally = Tally { files_processed: 2, progs_processed: 2, ..Tally::default() };
        write_table(&mut out, &rows, &EmitSpec::table_default(), Some(tally)).unwrap();
        let expected = "\
File       Program   Verdict  Duration (us)  Insns  States     Program size  Jited size
---------  --------  -------  -------------  -----  ---------  ------------  ----------
xdp.bpf.o  xdp_pass  success           1234      7          0             2           0
a\\u{1b}.o  p         failure              0      0  123456789             0           0
---------  --------  -------  -------------  -----  ---------  ------------  ----------
Done. Processed 2 files, 2 programs. Skipped 0 files, 0 programs.
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
