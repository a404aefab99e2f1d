//! The effect of insns on registers, as far as notes need it.

use crate::insn::Insn;
use crate::insn::code::*;

/// Whether r1 to r5 are uninitialised after an insn: a call, or a legacy packet load.
pub(crate) fn keeps_no_arguments(insn: &Insn) -> bool {
    match insn.class() {
        BPF_JMP => insn.op() == BPF_CALL,
        BPF_LD => matches!(insn.mode(), BPF_ABS | BPF_IND),
        _ => false,
    }
}

/// Whether an insn copies one register to another.
pub(crate) fn is_copy(insn: &Insn) -> bool {
    insn.class() == BPF_ALU64 && insn.op() == BPF_MOV && insn.is_src_reg() && insn.off == 0
}

/// The register that an insn sets: that of a load or a move, r0 of a call; not that of `+=`.
pub(crate) fn written_register(insn: &Insn) -> Option<u8> {
    match insn.class() {
        BPF_LDX => Some(insn.dst),
        BPF_LD if insn.is_ld_imm64() => Some(insn.dst),
        BPF_LD => Some(0),
        BPF_JMP if insn.op() == BPF_CALL => Some(0),
        BPF_ALU | BPF_ALU64 if insn.op() == BPF_MOV => {
            // A move onto itself modifies the register.
            (!insn.is_src_reg() || insn.src != insn.dst).then_some(insn.dst)
        }
        BPF_STX if insn.mode() == BPF_ATOMIC && insn.imm == BPF_LOAD_ACQ => Some(insn.dst),
        _ => None,
    }
}

/// The registers that an insn reads, in order; none for calls.
pub(crate) fn read_registers(insn: &Insn) -> Vec<u8> {
    let (dst, src) = (insn.dst, insn.src);
    let operand = if insn.is_src_reg() { Some(src) } else { None };
    match insn.class() {
        BPF_LDX => vec![src],
        BPF_LD if insn.mode() == BPF_IND => vec![src],
        BPF_ST => vec![dst],
        BPF_STX if insn.mode() == BPF_ATOMIC => read_by_atomic(insn),
        // The stored register matters if the message names it.
        BPF_STX => vec![dst],
        BPF_ALU | BPF_ALU64 => match insn.op() {
            BPF_MOV => operand.into_iter().collect(),
            BPF_NEG | BPF_END => vec![dst],
            _ => [Some(dst), operand].into_iter().flatten().collect(),
        },
        BPF_JMP | BPF_JMP32 => match insn.op() {
            BPF_JA | BPF_CALL | BPF_EXIT | BPF_JCOND => Vec::new(),
            _ => [Some(dst), operand].into_iter().flatten().collect(),
        },
        _ => Vec::new(),
    }
}

fn read_by_atomic(insn: &Insn) -> Vec<u8> {
    let (dst, src) = (insn.dst, insn.src);
    match insn.imm {
        BPF_LOAD_ACQ => vec![src],
        BPF_CMPXCHG => vec![0, dst, src],
        BPF_STORE_REL => vec![dst, src],
        imm if imm & BPF_FETCH != 0 => vec![src, dst],
        _ => vec![dst, src],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::asm::assemble;

    #[test]
    fn what_an_insn_makes_anew_and_what_it_reads() {
        for (text, written, read) in [
            ("r3 = 1", Some(3), &[][..]),
            ("r1 = *(u8 *)(r1 + 0)", Some(1), &[1]),
            ("r2 = r4", Some(2), &[4]),
            ("r2 += -4", None, &[2]),
            ("r2 = -r2", None, &[2]),
            ("r1 = be16 r1", None, &[1]),
            ("*(u64 *)(r10 - 8) = r1", None, &[10]),
            ("if r1 == 0 goto +3", None, &[1]),
            ("if r1 > r2 goto +3", None, &[1, 2]),
            ("exit", None, &[]),
        ] {
            let insn = assemble(text, &|_| None).expect(text).insns[0];
            assert_eq!(written_register(&insn), written, "{text}");
            assert_eq!(read_registers(&insn), read, "{text}");
        }
    }
}
