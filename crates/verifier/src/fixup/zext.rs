//! Zero extension that is not implicit in the insn set: a 32-bit compare-and-exchange writes `r0`,
//! but x86 clears its upper half only if the comparison failed.
//!
//! x86 zeroes the upper half for all other 32-bit operations at no cost.
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
    out.push(alu_reg(BPF_ALU, BPF_MOV, 0, 0));
    Ok(true)
}
