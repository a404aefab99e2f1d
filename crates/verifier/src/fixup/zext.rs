//! Zero extension that the insn set does not say by itself: a 32-bit compare-and-exchange writes
//! `r0`, and on x86 its upper half only where the comparison failed.
//!
//! All other operations of 32 bits zero the upper half, on x86 for nothing.
//!
//! Kernel: `opt_subreg_zext_lo32_rnd_hi32` (6.18).

use super::build::alu_reg;
use super::emit::Emit;
use super::source::{Rewritten, Source};
use skep_insn::code::*;

/// Rewrites the insn at `idx` if it is a 32-bit compare-and-exchange.
pub(super) fn rewrite(source: &Source<'_>, idx: usize, out: &mut Emit) -> Rewritten {
    let insn = source.insns[idx];
    if insn.code != BPF_STX | BPF_ATOMIC | BPF_W || insn.imm != BPF_CMPXCHG {
        return Ok(false);
    }
    out.push(insn);
    out.push(alu_reg(BPF_ALU, BPF_MOV, (0, 0)));
    Ok(true)
}
