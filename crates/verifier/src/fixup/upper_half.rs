//! Whether the kernel adds an insn that zeroes the upper half of `r0` after a 32-bit
//! compare-and-exchange, the only insn that needs it on x86. It does if a walked path reads all 64
//! bits.
//!
//! The walk does not track zero extension of registers. So this is determined from the insns alone,
//! when that is certain: all 64 bits of `r0` are read before the next place where the walk may have
//! ended, or nowhere.
//!
//! Kernel: `mark_insn_zext`, `is_reg64`, `opt_subreg_zext_lo32_rnd_hi32` (6.18).

use super::left::was_walked;
use crate::env::{Env, Facts, InsnFlags};
use crate::fixup::grown::Growth;
use crate::passes::subprogs::jump_offset;
use crate::xlated::is_jump;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::ProgType;

/// Maximum number of insns examined after one compare-and-exchange.
const INSNS_MAX: usize = 64;

/// How an insn uses `r0`, of which only the lower half is defined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Reads all 64 bits.
    Whole,
    /// Overwrites it, reading at most the lower half.
    Written,
    /// Neither.
    Other,
    /// Not known.
    Unclear,
}

/// Whether the insn is a 32-bit compare-and-exchange.
pub(super) fn concerns(insn: Insn) -> bool {
    insn.code == BPF_STX | BPF_ATOMIC | BPF_W && insn.imm == BPF_CMPXCHG
}

/// The insns added to the compare-and-exchange at `idx`.
pub(super) fn growth(env: &Env<'_>, idx: usize) -> Growth {
    let mut at = idx + 1;
    for _ in 0..INSNS_MAX {
        if at >= env.facts.insns.len() || env.learned.aux[at].has(InsnFlags::PRUNE_POINT) {
            break;
        }
        let insn = env.facts.insns[at];
        match use_of_r0(env.facts, at) {
            Use::Whole => return Growth::Exactly(1),
            Use::Written => return Growth::Exactly(0),
            Use::Unclear => return Growth::AtMost(1),
            Use::Other if insn.is_ld_imm64() => at += 2,
            Use::Other if !is_jump(insn) => at += 1,
            Use::Other => break,
        }
    }
    if is_read_on(env, at) { Growth::AtMost(1) } else { Growth::Exactly(0) }
}

/// Whether a walked insn reachable from `at` may read all 64 bits of `r0`.
fn is_read_on(env: &Env<'_>, at: usize) -> bool {
    let mut seen = Vec::new();
    let mut open = vec![at];
    while let Some(at) = open.pop() {
        if at >= env.facts.insns.len() || !was_walked(env, at) || seen.contains(&at) {
            continue;
        }
        if seen.len() == INSNS_MAX {
            return true;
        }
        seen.push(at);
        let insn = env.facts.insns[at];
        match use_of_r0(env.facts, at) {
            Use::Whole | Use::Unclear => return true,
            Use::Written => continue,
            Use::Other => {}
        }
        if is_jump(insn) {
            let target = at as i64 + 1 + jump_offset(&insn);
            open.extend(usize::try_from(target));
        }
        let always_jumps = is_jump(insn) && insn.op() == BPF_JA;
        if !always_jumps {
            open.push(at + 1 + usize::from(insn.is_ld_imm64()));
        }
    }
    false
}

fn use_of_r0(facts: &Facts<'_>, idx: usize) -> Use {
    let insn = facts.insns[idx];
    let reads_src = insn.is_src_reg() && insn.src == 0;
    let written = if insn.dst == 0 { Use::Written } else { Use::Other };
    match insn.class() {
        BPF_ALU64 if reads_src || insn.dst == 0 && insn.op() != BPF_MOV => Use::Whole,
        BPF_ALU if insn.op() == BPF_END && insn.dst == 0 => Use::Unclear,
        BPF_ALU64 | BPF_ALU | BPF_LDX => written,
        BPF_LD if insn.is_ld_imm64() => written,
        BPF_LD => Use::Unclear,
        BPF_ST => Use::Other,
        BPF_STX if insn.mode() == BPF_ATOMIC => atomic(insn),
        BPF_STX if insn.src == 0 && insn.size() == BPF_DW => Use::Whole,
        BPF_STX => Use::Other,
        BPF_JMP if insn.op() == BPF_CALL => Use::Written,
        BPF_JMP if insn.op() == BPF_EXIT && returns_r0(facts, idx) => Use::Whole,
        BPF_JMP if insn.op() == BPF_EXIT => Use::Unclear,
        BPF_JMP if matches!(insn.op(), BPF_JA | BPF_JCOND) => Use::Other,
        BPF_JMP if reads_src || insn.dst == 0 => Use::Whole,
        _ => Use::Other,
    }
}

fn atomic(insn: Insn) -> Use {
    let whole = insn.size() == BPF_DW && (insn.src == 0 || insn.imm == BPF_CMPXCHG);
    let written = match insn.imm {
        BPF_CMPXCHG => true,
        BPF_LOAD_ACQ => insn.dst == 0,
        BPF_STORE_REL => false,
        imm => imm & BPF_FETCH != 0 && insn.src == 0,
    };
    match insn.imm {
        BPF_LOAD_ACQ if written => Use::Written,
        _ if whole => Use::Whole,
        _ if written => Use::Written,
        _ => Use::Other,
    }
}

/// Whether the `exit` at `idx` returns a result to the kernel: programs of some types need not have
/// one.
fn returns_r0(facts: &Facts<'_>, idx: usize) -> bool {
    let main_end =
        facts.subprogs.get(1).map_or(facts.insns.len(), |subprog| subprog.start as usize);
    let some = [ProgType::StructOps, ProgType::Lsm, ProgType::Ext, ProgType::Tracing];
    idx < main_end && !some.contains(&facts.prog.prog_type)
}
