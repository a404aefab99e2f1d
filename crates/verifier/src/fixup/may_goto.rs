//! `may_goto`: a counter in the frame, below the stack that the program uses, which allows
//! [`MAY_GOTO_MAX`] iterations.
//!
//! Kernel: `do_misc_fixups` (6.18), which also limits the time.

use super::build::{alu_imm, fill_ax, jump_imm, spill_ax};
use super::dead_code;
use super::emit::Emit;
use super::source::{Rewritten, Source};
use crate::fixup::may_goto_left::{COUNTER_BYTES, is_open};
use crate::xlated::{AX, MAY_GOTO_MAX, NotSupported};
use skep_insn::Insn;
use skep_insn::code::*;

/// Sets the counter at the entry of a function.
pub(super) fn prologue(depth: u32, out: &mut Emit) -> Result<(), NotSupported> {
    let off = -counter(depth)?;
    let imm = MAY_GOTO_MAX as i32;
    out.push(Insn { code: BPF_ST | BPF_MEM | BPF_DW, dst: 10, src: 0, off, imm });
    Ok(())
}

/// Rewrites the insn at `idx` if it is a `may_goto`.
pub(super) fn rewrite(source: &Source<'_>, idx: usize, out: &mut Emit) -> Rewritten {
    if !is_open(source, idx) {
        return Ok(false);
    }
    let insn = source.insns[idx];
    let subprog = source.walked.subprog_of(idx);
    let depth = counter(source.walked.depth(subprog))?;
    out.push(fill_ax(depth));
    out.push_to(jump_imm(BPF_JMP, BPF_JEQ, AX, 0, 0), dead_code::target(idx, insn));
    out.push(alu_imm(BPF_ALU64, BPF_SUB, AX, 1));
    out.push(spill_ax(depth));
    Ok(true)
}

/// The counter's offset below `r10`, in a frame of `depth` bytes.
fn counter(depth: u32) -> Result<i16, NotSupported> {
    i16::try_from(depth + COUNTER_BYTES).map_err(|_| NotSupported::new("a frame so large"))
}
