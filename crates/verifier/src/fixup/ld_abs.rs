//! Rewrites legacy packet loads into calls. If the packet is too short, the function returns 0.
//!
//! Kernel: `bpf_gen_ld_abs` (6.18), as observed.

use super::build::{alu_imm, alu_reg, call_helper, exit, jump_imm};
use super::emit::Emit;
use super::source::{Rewritten, Source};
use crate::check::ld_abs::CTX_REG;
use crate::xlated::OwnHelper;
use skep_insn::code::*;

/// Rewrites the insn at `idx` if it is a legacy packet load.
pub(super) fn rewrite(source: &Source<'_>, idx: usize, out: &mut Emit) -> Rewritten {
    let insn = source.insns[idx];
    if insn.class() != BPF_LD || !matches!(insn.mode(), BPF_ABS | BPF_IND) {
        return Ok(false);
    }
    let helper = match insn.size() {
        BPF_B => OwnHelper::SkbLoad8,
        BPF_H => OwnHelper::SkbLoad16,
        _ => OwnHelper::SkbLoad32,
    };
    // The register may be r1, so it is read first.
    if insn.mode() == BPF_IND {
        out.push(alu_reg(BPF_ALU, BPF_MOV, 2, insn.src));
        if insn.imm != 0 {
            out.push(alu_imm(BPF_ALU, BPF_ADD, 2, insn.imm));
        }
    } else {
        out.push(alu_imm(BPF_ALU, BPF_MOV, 2, insn.imm));
    }
    out.push(alu_reg(BPF_ALU64, BPF_MOV, 1, CTX_REG));
    out.push(call_helper(helper as i32));
    out.push(jump_imm(BPF_JMP, BPF_JSGE, 0, 0, 2));
    out.push(alu_imm(BPF_ALU, BPF_MOV, 0, 0));
    out.push(exit());
    Ok(true)
}
