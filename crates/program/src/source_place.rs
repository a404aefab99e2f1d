//! Source lines of insns, from line info and BTF.

use crate::Program;
use std::num::NonZeroU32;

/// A line of the program's source, as the line info of the object gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// File name as the compiler wrote it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, if known.
    pub column: Option<NonZeroU32>,
    /// The text of the line; may be empty.
    pub text: String,
}

impl Program {
    /// The source line of an insn; `None` without line info. An insn that belongs to several lines
    /// has line 0: then it is that of the last insn before it with a line.
    pub fn source_place(&self, idx: usize) -> Option<SourcePlace> {
        let after = self.line_info.partition_point(|row| row.insn_off.index() <= idx);
        let rows = self.line_info.get(..after)?;
        let starts = self.func_info.iter().map(|row| row.insn_off.index());
        let start = starts.take_while(|&start| start <= idx).last().unwrap_or(0);
        let of_function = rows.iter().rev().take_while(|row| row.insn_off.index() >= start);
        let row = of_function.into_iter().find(|row| row.line() > 0).or(rows.last())?;
        let btf = self.btf.as_ref()?;
        Some(SourcePlace {
            file: btf.try_str(row.file_name_off)?.to_owned(),
            line: row.line(),
            column: NonZeroU32::new(row.col()),
            text: btf.try_str(row.line_off)?.to_owned(),
        })
    }
}
