//! Which registers an insn or any insn after it in the subprog may read before they are written.
//!
//! The walk compares only live registers when it looks for an equal state. `r10` is always there
//! and takes no part.
//!
//! Kernel: `compute_live_registers`, `compute_insn_live_regs`, 6.18.

use super::call_facts::{Callees, is_pseudo_call};
use super::postorder::{Postorder, successors};
use super::scc::Scc;
use skep_insn::code::*;
use skep_insn::{Insn, Reg};
use std::fmt::Write;

/// Set of registers: bit `n` is `r<n>`.
pub(crate) type RegMask = u16;

/// `r0` to `r5`, which a call does not preserve.
const CALLER_SAVED: RegMask = 0b11_1111;
/// `r0` to `r9`, the registers that the log shows.
const SHOWN_REGS: std::ops::Range<Reg> = 0..10;

/// What an insn reads and what it overwrites for certain.
#[derive(Clone, Copy)]
struct Access {
    uses: RegMask,
    defs: RegMask,
}

fn bit(reg: Reg) -> RegMask {
    1 << reg
}

/// Live registers before each insn (0 at second halves of `ld_imm64`).
///
/// The order of visits is free: the smallest solution is unique.
pub(crate) fn compute_live_registers<C: Callees>(
    insns: &[Insn],
    order: &Postorder,
    callees: &C,
) -> Vec<RegMask> {
    let access: Vec<Access> = insns.iter().map(|insn| access_of(insn, callees)).collect();
    let mut live = vec![0; insns.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &idx in &order.insns {
            let idx = idx as usize;
            let succ = successors(insns, idx);
            let after = succ.as_slice().iter().fold(0, |m, &s| m | live[s as usize]);
            let before = (after & !access[idx].defs) | access[idx].uses;
            changed |= before != live[idx];
            live[idx] = before;
        }
    }
    live
}

fn access_of<C: Callees>(insn: &Insn, callees: &C) -> Access {
    let (dst, src) = (bit(insn.dst), bit(insn.src));
    let src_if_reg = if insn.is_src_reg() { src } else { 0 };
    let (uses, defs) = match insn.class() {
        BPF_LD if insn.is_ld_imm64() => (0, dst),
        BPF_LDX => (src, dst),
        BPF_ST => (dst, 0),
        BPF_STX if insn.mode() == BPF_ATOMIC => atomic(insn),
        BPF_STX => (dst | src, 0),
        BPF_ALU | BPF_ALU64 => match insn.op() {
            BPF_END => (dst, dst),
            BPF_MOV => (src_if_reg, dst),
            _ => (dst | src_if_reg, dst),
        },
        BPF_JMP | BPF_JMP32 => match insn.op() {
            BPF_JA | BPF_JCOND => (0, 0),
            BPF_EXIT => (bit(0), 0),
            BPF_CALL => (args_of(insn, callees), CALLER_SAVED),
            _ => (dst | src_if_reg, 0),
        },
        // Legacy packet loads: everything may be read, nothing is known to be overwritten.
        _ => (RegMask::MAX, 0),
    };
    Access { uses, defs }
}

fn atomic(insn: &Insn) -> (RegMask, RegMask) {
    let (dst, src) = (bit(insn.dst), bit(insn.src));
    match insn.imm {
        BPF_CMPXCHG => (bit(0) | dst | src, bit(0)),
        BPF_LOAD_ACQ => (src, dst),
        BPF_STORE_REL => (dst | src, 0),
        imm if imm & BPF_FETCH != 0 => (dst | src, src),
        _ => (dst | src, 0),
    }
}

/// Registers that a call reads: the parameters, or all five where the prototype is not known.
fn args_of<C: Callees>(insn: &Insn, callees: &C) -> RegMask {
    let params = if is_pseudo_call(insn) { None } else { callees.of(insn).num_params };
    let last = u32::from(params.unwrap_or(5).min(5));
    ((1 << (last + 1)) - 1) & !bit(0)
}

/// The block `Live regs before insn:` of log level 2.
///
/// `print_insn` gives the insn in the kernel's notation, without a newline.
pub(crate) fn log_text(
    insns: &[Insn],
    live: &[RegMask],
    scc: &Scc,
    mut print_insn: impl FnMut(usize) -> String,
) -> String {
    let mut text = String::from("Live regs before insn:\n");
    let mut idx = 0;
    while let Some(insn) = insns.get(idx) {
        // Writing to a string cannot fail.
        let _ = match scc.of_insn[idx] {
            0 => write!(text, "    {idx:3}: "),
            id => write!(text, "{id:3} {idx:3}: "),
        };
        for reg in SHOWN_REGS {
            if live[idx] & bit(reg) != 0 {
                let _ = write!(text, "{reg}");
            } else {
                text.push('.');
            }
        }
        let _ = writeln!(text, " {}", print_insn(idx));
        idx += if insn.is_ld_imm64() { 2 } else { 1 };
    }
    text
}
