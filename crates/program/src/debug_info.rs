//! Func and line info of a program, by insns of the program (not bytes of a section).
//!
//! Kernel: `struct bpf_func_info`, `struct bpf_line_info` (6.18).

use skep_btf::Btf;
use skep_insn::InsnIdx;
use std::sync::Arc;

/// One row of func info: a subprog starts here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuncInfo {
    /// First insn of the subprog; rows ascend.
    pub insn_off: InsnIdx,
    /// BTF id (in `Program::btf`) of its `FUNC`.
    pub type_id: u32,
}

/// One row of line info: this insn and those up to the next row come from this source line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// First insn that the row is about; rows ascend.
    pub insn_off: InsnIdx,
    /// Offset of the file's name in the string section of `Program::btf`, bytes.
    pub file_name_off: u32,
    /// Offset of the text of the line in the string section of `Program::btf`, bytes.
    pub line_off: u32,
    /// Line in the upper 22 bits, column in the lower 10.
    pub line_col: u32,
}

impl LineInfo {
    /// Line number in the source file, from 1; 0 is unknown.
    pub fn line(&self) -> u32 {
        self.line_col >> 10
    }
    /// Column in the line, from 1; 0 is unknown.
    pub fn col(&self) -> u32 {
        self.line_col & 0x3ff
    }
}

/// The func and line info of an object whose BTF the kernel does not load: it shows people the
/// source, and is no part of what is loaded.
#[derive(Clone, Debug)]
pub struct UnloadedInfo {
    /// Why the kernel does not load it, as a sentence.
    pub why: String,
    /// The BTF that the rows refer to.
    pub btf: Arc<Btf>,
    /// As `Program::func_info`.
    pub func_info: Vec<FuncInfo>,
    /// As `Program::line_info`.
    pub line_info: Vec<LineInfo>,
}
