//! How many bytes of x86-64 instructions an insn becomes in the kernel's JIT compiler, at least and
//! at most: for those of most programs the same number.
//!
//! Source: lengths of instructions from Intel's manual; that those are used, from the kernels'
//! verdicts on programs whose jumps reach just as far. Those of `exit` and of tail calls depend on
//! the registers and the stack that the program uses, the kernel, and the processor's flaws.

use super::growth;
use crate::env::Env;
use crate::passes::call_facts::is_tail_call;
use crate::state::reg_type::Base;
use skep_insn::Insn;
use skep_insn::code::*;

/// The bytes of native code: at least, at most.
pub(super) type Bytes = (u32, u32);

/// It gives back the saved registers: none with one byte, or all with seven; the return may be a
/// jump.
const EXIT: Bytes = (2, 16);
/// Between 36 and 78 where kernels were asked.
const TAIL_CALL: Bytes = (16, 128);
/// The counter of tail calls may be loaded before.
const CALL_BESIDE_TAIL_CALLS: Bytes = (5, 16);

/// An insn with what the rewrites add to it, without what depends on how far it jumps.
pub(super) fn native_bytes(env: &Env<'_>, idx: usize) -> Bytes {
    let insn = env.facts.insns[idx];
    let may_fault = env.learned.aux[idx].ptr_type().is_some_and(|ty| ty.is(Base::BtfId));
    let (least, most) = match insn.class() {
        // Loads that may fault compare the address first.
        BPF_LDX if may_fault => (2, 64),
        _ if is_tail_call(&insn) => TAIL_CALL,
        _ if insn.code == BPF_JMP | BPF_CALL && has_tail_calls(env) => CALL_BESIDE_TAIL_CALLS,
        _ => of_insn(insn),
    };
    match growth::of(env, idx).1.max() {
        0 => (least, most),
        more => (0, most + 10 * more),
    }
}

fn has_tail_calls(env: &Env<'_>) -> bool {
    env.facts.subprogs.iter().any(|subprog| subprog.has_tail_call)
}

/// An insn as it is.
fn of_insn(insn: Insn) -> Bytes {
    let wide = u32::from(insn.class() == BPF_ALU64 || insn.class() == BPF_JMP);
    let (dst, src) = (prefix(insn.dst), prefix(insn.src));
    let by_register = 2 + (dst | src | wide);
    let by_imm = |small: u32, other: u32| {
        (dst | wide) + if i8::try_from(insn.imm).is_ok() { small } else { other }
    };
    let exactly = |bytes: u32| (bytes, bytes);
    match (insn.class(), insn.op()) {
        (BPF_LD, _) if insn.is_ld_imm64() => {
            // Addresses have eight bytes.
            if insn.src == 0 { (2, 10) } else { exactly(10) }
        }
        (BPF_LD, _) => (5, 64),
        (BPF_STX, _) if insn.mode() == BPF_ATOMIC => (3, 64),
        (BPF_LDX | BPF_ST | BPF_STX, _) => of_access(insn),
        (BPF_ALU | BPF_ALU64, BPF_MOV) => match insn.imm {
            _ if insn.is_src_reg() && insn.off == 0 => exactly(by_register),
            _ if insn.is_src_reg() => (3, 5),
            0 => exactly(2 + dst),
            ..0 if wide != 0 => exactly(7),
            _ => exactly(5 + dst),
        },
        (BPF_ALU | BPF_ALU64, BPF_ADD | BPF_SUB | BPF_AND | BPF_OR | BPF_XOR) => {
            // There is a short form for the first register.
            let other = if insn.dst == 0 { 5 } else { 6 };
            exactly(if insn.is_src_reg() { by_register } else { by_imm(3, other) })
        }
        (BPF_ALU | BPF_ALU64, BPF_NEG) => exactly(2 + (dst | wide)),
        (BPF_ALU | BPF_ALU64, BPF_LSH | BPF_RSH | BPF_ARSH) if !insn.is_src_reg() => {
            exactly((dst | wide) + if insn.imm == 1 { 2 } else { 3 })
        }
        (BPF_ALU | BPF_ALU64, BPF_END) => (0, 12),
        (BPF_ALU | BPF_ALU64, BPF_DIV | BPF_MOD) => (2, 48),
        // Multiplications, and shifts by registers, for which older compilers save others.
        (BPF_ALU | BPF_ALU64, _) => (3, 24),
        (BPF_JMP, BPF_EXIT) => EXIT,
        (BPF_JMP, BPF_CALL) => exactly(5),
        // The comparison before a jump.
        _ if insn.is_src_reg() => exactly(by_register),
        (_, BPF_JSET) => exactly(6 + (dst | wide)),
        _ if insn.imm == 0 => exactly(2 + (dst | wide)),
        _ => exactly(by_imm(3, 6)),
    }
}

/// A load or store, of memory that is accessed as it is.
fn of_access(insn: Insn) -> Bytes {
    let offset = if i8::try_from(insn.off).is_ok() { 1 } else { 4 };
    let any = prefix(insn.dst) | prefix(insn.src);
    let (least, most) = match (insn.class(), insn.size()) {
        (BPF_LDX | BPF_STX, BPF_DW) => (3, 3),
        (BPF_LDX | BPF_STX, BPF_W) if insn.mode() == BPF_MEM => (2 + any, 2 + any),
        (BPF_LDX, _) => (4, 4),
        (BPF_STX, BPF_H) => (3 + any, 3 + any),
        (BPF_STX, _) => (2, 3),
        // With a constant.
        (_, BPF_B) => (3 + prefix(insn.dst), 3 + prefix(insn.dst)),
        (_, BPF_H) => (5 + prefix(insn.dst), 5 + prefix(insn.dst)),
        (_, BPF_W) => (6 + prefix(insn.dst), 6 + prefix(insn.dst)),
        _ => (7, 7),
    };
    (least + offset, most + offset)
}

/// 1 if instructions need a prefix for the register that this one is kept in.
fn prefix(reg: u8) -> u32 {
    u32::from(matches!(reg, 5 | 7..=9))
}
