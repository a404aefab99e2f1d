//! Source lines of insns, from line info and BTF.

use crate::{FuncInfo, LineInfo, Program};
use skep_btf::Btf;
use std::num::NonZeroU32;
use std::ops::Range;

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

impl SourcePlace {
    /// The place that a row of line info gives by offsets into the strings of `btf`.
    pub fn of_row(
        btf: &Btf,
        file_name_off: u32,
        line_off: u32,
        line_col: u32,
    ) -> Option<SourcePlace> {
        let (line, column) = (line_col >> 10, line_col & 0x3ff);
        Some(SourcePlace {
            file: btf.try_str(file_name_off)?.to_owned(),
            line,
            column: NonZeroU32::new(column),
            text: btf.try_str(line_off)?.to_owned(),
        })
    }
}

impl Program {
    /// Func info and its BTF; loaded or not.
    pub fn source_functions(&self) -> (&[FuncInfo], Option<&Btf>) {
        match &self.unloaded {
            Some(unloaded) => (&unloaded.func_info, Some(&unloaded.btf)),
            None => (&self.func_info, self.btf.as_deref()),
        }
    }

    /// Where functions start, by func info; loaded or not.
    pub fn function_starts(&self) -> impl Iterator<Item = usize> + '_ {
        self.source_functions().0.iter().map(|row| row.insn_off.index())
    }

    /// Line info and its BTF; loaded or not.
    pub fn source_lines(&self) -> (&[LineInfo], Option<&Btf>) {
        match &self.unloaded {
            Some(unloaded) => (&unloaded.line_info, Some(&unloaded.btf)),
            None => (&self.line_info, self.btf.as_deref()),
        }
    }

    /// The first insn of the function that has this one.
    pub fn function_start(&self, idx: usize) -> usize {
        self.function_starts().take_while(|&start| start <= idx).last().unwrap_or(0)
    }

    /// The insns of that function; the last function has no known end.
    pub fn function_range(&self, idx: usize) -> Range<usize> {
        let end = self.function_starts().filter(|&start| start > idx).min().unwrap_or(usize::MAX);
        self.function_start(idx)..end
    }

    /// The source line of an insn; `None` without line info. An insn that belongs to several lines
    /// has line 0 and is given the line of the last insn before it that has one.
    pub fn source_place(&self, idx: usize) -> Option<SourcePlace> {
        let (lines, btf) = self.source_lines();
        let after = lines.partition_point(|row| row.insn_off.index() <= idx);
        let rows = lines.get(..after)?;
        let start = self.function_start(idx);
        let of_function = rows.iter().rev().take_while(|row| row.insn_off.index() >= start);
        let row = of_function.into_iter().find(|row| row.line() > 0).or(rows.last())?;
        SourcePlace::of_row(btf?, row.file_name_off, row.line_off, row.line_col)
    }

    /// The source line of an insn, or the nearest one of its function that has `word`, if that line
    /// does not: compilers move insns away from the expression that they belong to.
    pub fn source_place_with(&self, idx: usize, word: &str) -> Option<SourcePlace> {
        let own = self.source_place(idx)?;
        if own.has_word(word) {
            return Some(own);
        }
        let function = self.function_range(idx);
        let (lines, btf) = self.source_lines();
        let rows = lines.iter().filter(|row| function.contains(&row.insn_off.index()));
        let places = rows.filter_map(|row| {
            let place = SourcePlace::of_row(btf?, row.file_name_off, row.line_off, row.line_col)?;
            place.has_word(word).then(|| (row.insn_off.index().abs_diff(idx), place))
        });
        Some(places.min_by_key(|(apart, _)| *apart).map_or(own, |(_, place)| place))
    }
}

impl SourcePlace {
    /// Whether the line has this word: not as a part of a longer one.
    pub fn has_word(&self, word: &str) -> bool {
        let is_of_name = |c: char| c == '_' || c.is_alphanumeric();
        !word.is_empty() && self.text.split(|c| !is_of_name(c)).any(|it| it == word)
    }
}
