//! The table of a kernel's answers.
//!
//! # Invariants
//! 1. A row's log is a hash of the whole normalised log at level 2: equal hashes mean equal logs.

use crate::hash::fnv1a;
use crate::packed;
use serde::{Deserialize, Serialize};
use skep::program::Program;
use skep_kernel::kernel_log;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

/// The answer for one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) object: String,
    pub(crate) program: String,
    /// `accepted`, `rejected`, `not-judged`; `not-loaded` if our loader refused it.
    pub(crate) verdict: String,
    /// Whether the kernel accepted its BTF.
    pub(crate) with_btf: bool,
    pub(crate) insns: u64,
    pub(crate) states: u64,
    pub(crate) peak: u64,
    /// Hash of the log; empty if the walk is too long to be logged.
    pub(crate) log: String,
    /// The reason if it was rejected or not judged.
    pub(crate) message: String,
    /// errno of a rejection, otherwise 0.
    #[serde(default)]
    pub(crate) errno: u32,
}

impl Row {
    pub(crate) fn is_judged(&self) -> bool {
        matches!(self.verdict.as_str(), "accepted" | "rejected")
    }
}

/// The rows of a table, by object and program.
pub(crate) type Table = BTreeMap<(String, String), Row>;

/// Longer walks are not logged: at level 2 an insn takes some 100 to 400 bytes.
pub(crate) const LOGGED_INSNS_MAX: u64 = 100_000;

/// The line of a log that says why a program is rejected.
pub(crate) fn message(log: &str) -> String {
    kernel_log::reason(log).unwrap_or_default().trim_end().to_owned()
}

/// FNV-1a hash of the log without the parts that differ between runs.
pub(crate) fn log_hash(log: &str, program: &Program) -> String {
    let text = kernel_log::normalise(log, &program.insns);
    format!("{:016x}", fnv1a(text.bytes()))
}

/// Writes a table (gzip if the name ends in `.gz`) with a comment before it.
pub(crate) fn write(path: &Path, head: &str, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| csv.serialize(row))?;
    let text = [format!("# {head}\n").into_bytes(), csv.into_inner()?].concat();
    Ok(packed::write(path, &text)?)
}

/// Reads a table that [`write()`] wrote.
pub(crate) fn read(path: &Path) -> Result<Table, Box<dyn Error>> {
    let text = packed::read(path)?;
    let mut table = Table::new();
    let mut csv = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    for row in csv.deserialize() {
        let row: Row = row?;
        table.insert((row.object.clone(), row.program.clone()), row);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().expect("a folder");
        let row = |program: &str| Row {
            object: "v3/a.bpf.o".to_owned(),
            program: program.to_owned(),
            verdict: "rejected".to_owned(),
            message: "R1, and \"R2\" # !read_ok".to_owned(),
            insns: 7,
            ..Row::default()
        };
        for name in ["t.csv", "t.csv.gz"] {
            let path = dir.path().join(name);
            write(&path, "of a test", &[row("b"), row("a")]).expect("written");
            let table = read(&path).expect("read");
            assert_eq!(table.values().cloned().collect::<Vec<_>>(), [row("a"), row("b")]);
        }
    }
}
