//! `--json`: insns with opcodes and source lines, in the shape of `bpftool -j prog dump` with
//! `opcodes` and `linum`.
//!
//! Departures: maps have names; machine code is in Intel syntax, and function names lack the
//! kernel's prefix and tag. If there are several programs, each is an object with its name. Each
//! item of the array says for which kernel it was verified, if that was not tested.

use super::jited::Function;
use super::json_source::{Line, Source, hex_byte};
use super::xlated::resolved;
use crate::kernels::OfKernel;
use serde::Serialize;
use skep::insn::Insn;
use skep::insn_text::insn_text_of;
use skep::verifier::{VerifiedProgram, Xlated};

/// An item of the array that is printed.
#[derive(Serialize)]
pub(super) struct Marked<'a, T> {
    #[serde(flatten)]
    pub(super) item: &'a T,
    #[serde(flatten)]
    pub(super) mark: Option<&'a OfKernel>,
}

/// A program among others.
#[derive(Serialize)]
pub(super) struct Named<T> {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) prog_type: &'static str,
    pub(super) insns: T,
}

/// Data printed for a program.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Dumped {
    Xlated(Vec<XlatedInsn>),
    Jited(Vec<Function>),
}

/// An insn after the verifier's rewrites.
#[derive(Serialize)]
pub(super) struct XlatedInsn {
    #[serde(skip_serializing_if = "Option::is_none")]
    proto: Option<String>,
    #[serde(flatten)]
    line: Option<Line>,
    disasm: String,
    opcodes: Opcodes,
}

#[derive(Serialize)]
struct Opcodes {
    code: String,
    src_reg: String,
    dst_reg: String,
    off: Vec<String>,
    imm: Vec<String>,
}

impl Opcodes {
    /// One insn, or both halves of a wide one.
    fn new(insn: Insn, second: Option<Insn>) -> Opcodes {
        let mut imm = insn.imm.to_le_bytes().to_vec();
        if let Some(second) = second {
            imm.extend([second.code, second.dst | second.src << 4]);
            imm.extend(second.off.to_le_bytes());
            imm.extend(second.imm.to_le_bytes());
        }
        Opcodes {
            code: hex_byte(&insn.code),
            src_reg: format!("{:#x}", insn.src),
            dst_reg: format!("{:#x}", insn.dst),
            off: insn.off.to_le_bytes().iter().map(hex_byte).collect(),
            imm: imm.iter().map(hex_byte).collect(),
        }
    }
}

/// Insns after the rewrites.
pub(super) fn xlated(verified: &VerifiedProgram, xlated: &Xlated) -> Dumped {
    let source = Source { program: verified.program(), xlated };
    let all = xlated.insns();
    let mut insns = Vec::new();
    let mut idx = 0;
    while let Some(&insn) = all.get(idx) {
        let second = if insn.is_ld_imm64() { all.get(idx + 1).copied() } else { None };
        let text = insn_text_of(source.program, &all[idx..]);
        insns.push(XlatedInsn {
            proto: source.proto(idx),
            line: source.line(idx),
            disasm: resolved(source.program, xlated, idx, insn, text),
            opcodes: Opcodes::new(insn, second),
        });
        idx += 1 + usize::from(second.is_some());
    }
    Dumped::Xlated(insns)
}
