//! Coverage as LCOV tracefiles: lines, functions and branches of source files.
//!
//! Source: geninfo(1), "FILES", of lcov 2.0.

use crate::escape::printable;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The coverage of a source file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileCoverage {
    /// Execution counts by line.
    pub lines: BTreeMap<u32, u64>,
    /// Call counts by line and function name.
    pub functions: BTreeMap<(u32, String), u64>,
    /// Its branches.
    pub branches: BTreeMap<BranchKey, BranchCoverage>,
}

/// Which branch of a file. Sorted by line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BranchKey {
    /// The line.
    pub line: u32,
    /// The function.
    pub function: String,
    /// Among the branches of both.
    pub index: u32,
}

/// How often a branch was executed, and how often it was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BranchCoverage {
    /// Both ways.
    pub runs: u64,
    /// One of them.
    pub taken: u64,
}

/// Writes files, sorted by path.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_lcov(out: &mut dyn Write, files: &BTreeMap<String, FileCoverage>) -> io::Result<()> {
    for (path, file) in files {
        writeln!(out, "TN:")?;
        writeln!(out, "SF:{}", printable(path))?;
        write_functions(out, file)?;
        write_branches(out, file)?;
        for (line, runs) in &file.lines {
            writeln!(out, "DA:{line},{runs}")?;
        }
        writeln!(out, "LF:{}", file.lines.len())?;
        writeln!(out, "LH:{}", file.lines.values().filter(|runs| **runs > 0).count())?;
        writeln!(out, "end_of_record")?;
    }
    Ok(())
}

fn write_functions(out: &mut dyn Write, file: &FileCoverage) -> io::Result<()> {
    for (line, name) in file.functions.keys() {
        writeln!(out, "FN:{line},{}", printable(name))?;
    }
    for ((_, name), calls) in &file.functions {
        writeln!(out, "FNDA:{calls},{}", printable(name))?;
    }
    writeln!(out, "FNF:{}", file.functions.len())?;
    writeln!(out, "FNH:{}", file.functions.values().filter(|calls| **calls > 0).count())
}

/// A branch is a block with two outcomes: 0 taken, 1 not taken. A dash means that it was never
/// executed.
fn write_branches(out: &mut dyn Write, file: &FileCoverage) -> io::Result<()> {
    let (mut line_before, mut block, mut hit) = (0, 0, 0);
    for (BranchKey { line, .. }, BranchCoverage { runs, taken }) in &file.branches {
        block = if *line == line_before { block + 1 } else { 0 };
        line_before = *line;
        for (way, count) in [*taken, runs.saturating_sub(*taken)].into_iter().enumerate() {
            hit += usize::from(count > 0);
            match runs {
                0 => writeln!(out, "BRDA:{line},{block},{way},-")?,
                _ => writeln!(out, "BRDA:{line},{block},{way},{count}")?,
            }
        }
    }
    writeln!(out, "BRF:{}", 2 * file.branches.len())?;
    writeln!(out, "BRH:{hit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_as_geninfo_writes_it() {
        let mut file = FileCoverage::default();
        file.lines.extend([(12, 3), (13, 0)]);
        file.functions.extend([((12, "main".to_owned()), 3), ((30, "cold\n".to_owned()), 0)]);
        let branch = |line, index| BranchKey { line, function: "main".to_owned(), index };
        let ran = BranchCoverage { runs: 3, taken: 3 };
        file.branches.extend([
            (branch(12, 0), ran),
            (branch(12, 1), BranchCoverage::default()),
            (branch(13, 0), BranchCoverage { runs: 3, taken: 1 }),
        ]);
        let mut out = Vec::new();
        write_lcov(&mut out, &BTreeMap::from([("a.c".to_owned(), file)])).unwrap();
        let expected = "TN:\nSF:a.c\nFN:12,main\nFN:30,cold\\u{a}\nFNDA:3,main\nFNDA:0,cold\\u{a}\n\
                        FNF:2\nFNH:1\nBRDA:12,0,0,3\nBRDA:12,0,1,0\nBRDA:12,1,0,-\nBRDA:12,1,1,-\n\
                        BRDA:13,0,0,1\nBRDA:13,0,1,2\nBRF:6\nBRH:3\nDA:12,3\nDA:13,0\nLF:2\nLH:1\n\
                        end_of_record\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
