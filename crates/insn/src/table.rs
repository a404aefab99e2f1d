//! The opcode table: one row per form of insn, from which printer and parser derive.
//!
//! A *form* is an opcode together with what a second field selects: `src` (pseudo kinds), `off`
//! (signed division, sign-extending moves) or `imm` (atomics, byte swaps).
//!
//! Source: RFC 9669 appendix A, and for forms newer than it (`load_acquire`, `store_release`,
//! `may_goto`,
//! `addr_space_cast`, the percpu move) `Documentation/bpf` and commit messages of Linux 6.7 to
//! 6.15.
//!
//! # Invariants
//! 1. Rows are sorted by opcode; rows of one opcode are adjacent, the plainest first.
//! 2. The opcodes with a row are those that the kernel knows: for every other one it prints
//!    `unknown opcode` (or, in class LDX, `BPF_LDX uses reserved fields`).
//!
//! Deliberately absent: `callx` (0x8d, reserved by compilers, rejected by the kernel),
//! `BPF_PROBE_*`, tail call and `nospec` opcodes that are internal to the kernel; the rules on
//! reserved fields, which belong to the verifier.

use crate::Insn;
use crate::code::*;
use Cpu::{V1, V2, V3, V4};
use Form::*;
use Select::{Any, Imm, Off, Src};

/// One form of insn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// The opcode byte.
    pub code: u8,
    /// What else the insn must contain to be of this form.
    pub select: Select,
    /// The operation, up to width and kind of operand, which are bits of `code`.
    pub form: Form,
    /// Generation of the instruction set.
    pub cpu: Cpu,
}

/// The field that selects a form within its opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// The opcode alone determines the form.
    Any,
    /// `src` has this value.
    Src(u8),
    /// `off` has this value.
    Off(i16),
    /// `imm` has this value.
    Imm(i32),
}

/// Generation of the instruction set, as in compilers' `-mcpu`. Later additions without a
/// generation of their own count as v4. (Compilers use the 32-bit ALU insns from v3 on, though they
/// belong to v1.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Cpu {
    V1,
    V2,
    V3,
    V4,
}

/// The operation of an insn. Strings are the notation's operators and names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `r1 = VALUE ll`, in two slots.
    LdImm64,
    /// `r0 = *(u8 *)skb[23]`
    LdAbs,
    /// `r0 = *(u8 *)skb[r7 + 23]`
    LdInd,
    /// `r1 = *(u8 *)(r2 +4)`
    Ldx,
    /// `r1 = *(s8 *)(r2 +4)`
    Ldsx,
    /// `*(u8 *)(r1 +4) = 7`
    St,
    /// `*(u8 *)(r1 +4) = r2`
    Stx,
    /// `lock *(u64 *)(r1 +4) += r2`
    AtomicRmw(&'static str),
    /// `r2 = atomic64_fetch_add((u64 *)(r1 +4), r2)`
    AtomicFetch(&'static str),
    /// `r2 = atomic64_xchg((u64 *)(r1 +4), r2)`
    AtomicXchg,
    /// `r0 = atomic64_cmpxchg((u64 *)(r1 +4), r0, r2)`
    AtomicCmpxchg,
    /// `r2 = load_acquire((u64 *)(r1 +4))`
    LoadAcquire,
    /// `store_release((u64 *)(r1 +4), r2)`
    StoreRelease,
    /// `r1 += r2`, `w1 += 7`
    Alu(&'static str),
    /// `r1 = r2`, `w1 = 7`
    Mov,
    /// `r1 = (s8)r2`
    MovSx(u8),
    /// `r1 = addr_space_cast(r2, 0, 1)`
    AddrSpaceCast,
    /// `r1 = &(void __percpu *)(r2)`
    PercpuAddr,
    /// `r1 = -r1`
    Neg,
    /// `r1 = be16 r1`
    Endian(&'static str),
    /// `goto pc+3`
    Goto,
    /// `gotol pc+3`
    Gotol,
    /// `may_goto pc+3`
    MayGoto,
    /// `if r1 == r2 goto pc+3`, `if w1 == 0x7 goto pc+3`
    Cond(&'static str),
    /// `call bpf_map_lookup_elem#1`
    CallHelper,
    /// `call pc+3`
    CallSubprog,
    /// `call bpf_rdonly_cast#65477`
    CallKfunc,
    /// `exit`
    Exit,
}

impl Opcode {
    /// The form of `insn`, if there is one; reserved fields are ignored.
    pub fn of(insn: Insn) -> Option<&'static Opcode> {
        Opcode::all_of(insn.code).iter().find(|row| match row.select {
            Any => true,
            Src(src) => insn.src == src,
            Off(off) => insn.off == off,
            Imm(imm) => insn.imm == imm,
        })
    }

    /// The forms of an opcode; none if it is an `unknown opcode` for the kernel.
    pub fn all_of(code: u8) -> &'static [Opcode] {
        let start = usize::from(FIRST_ROW[usize::from(code)]);
        let end = usize::from(FIRST_ROW[usize::from(code) + 1]);
        &OPCODES[start..end]
    }
}

/// Row at which the rows of each opcode start; the next entry is where they end.
static FIRST_ROW: [u8; 257] = first_rows();

const fn first_rows() -> [u8; 257] {
    let mut first = [0; 257];
    let (mut code, mut at) = (0, 0);
    while code < 257 {
        first[code] = at as u8;
        while at < OPCODES.len() && OPCODES[at].code as usize == code {
            at += 1;
        }
        code += 1;
    }
    assert!(at == OPCODES.len() && at < 256);
    first
}

const fn row(code: u8, select: Select, form: Form, cpu: Cpu) -> Opcode {
    Opcode { code, select, form, cpu }
}

const ADD: i32 = BPF_ADD as i32;
const OR: i32 = BPF_OR as i32;
const AND: i32 = BPF_AND as i32;
const XOR: i32 = BPF_XOR as i32;

/// Every form of insn.
#[rustfmt::skip]
pub const OPCODES: &[Opcode] = &[
    row(0x04, Any, Alu("+="), V1),
    row(0x05, Any, Goto, V1),
    row(0x06, Any, Gotol, V4),
    row(0x07, Any, Alu("+="), V1),
    row(0x0c, Any, Alu("+="), V1),
    row(0x0f, Any, Alu("+="), V1),
    row(0x14, Any, Alu("-="), V1),
    row(0x15, Any, Cond("=="), V1),
    row(0x16, Any, Cond("=="), V3),
    row(0x17, Any, Alu("-="), V1),
    row(0x18, Src(0), LdImm64, V1),
    row(0x18, Src(BPF_PSEUDO_MAP_FD), LdImm64, V1),
    row(0x18, Src(BPF_PSEUDO_MAP_VALUE), LdImm64, V1),
    row(0x18, Src(BPF_PSEUDO_BTF_ID), LdImm64, V1),
    row(0x18, Src(BPF_PSEUDO_FUNC), LdImm64, V1),
    row(0x18, Src(BPF_PSEUDO_MAP_IDX), LdImm64, V1),
    row(0x18, Src(BPF_PSEUDO_MAP_IDX_VALUE), LdImm64, V1),
    row(0x1c, Any, Alu("-="), V1),
    row(0x1d, Any, Cond("=="), V1),
    row(0x1e, Any, Cond("=="), V3),
    row(0x1f, Any, Alu("-="), V1),
    row(0x20, Any, LdAbs, V1),
    row(0x24, Any, Alu("*="), V1),
    row(0x25, Any, Cond(">"), V1),
    row(0x26, Any, Cond(">"), V3),
    row(0x27, Any, Alu("*="), V1),
    row(0x28, Any, LdAbs, V1),
    row(0x2c, Any, Alu("*="), V1),
    row(0x2d, Any, Cond(">"), V1),
    row(0x2e, Any, Cond(">"), V3),
    row(0x2f, Any, Alu("*="), V1),
    row(0x30, Any, LdAbs, V1),
    row(0x34, Off(0), Alu("/="), V1),
    row(0x34, Off(1), Alu("s/="), V4),
    row(0x35, Any, Cond(">="), V1),
    row(0x36, Any, Cond(">="), V3),
    row(0x37, Off(0), Alu("/="), V1),
    row(0x37, Off(1), Alu("s/="), V4),
    row(0x3c, Off(0), Alu("/="), V1),
    row(0x3c, Off(1), Alu("s/="), V4),
    row(0x3d, Any, Cond(">="), V1),
    row(0x3e, Any, Cond(">="), V3),
    row(0x3f, Off(0), Alu("/="), V1),
    row(0x3f, Off(1), Alu("s/="), V4),
    row(0x40, Any, LdInd, V1),
    row(0x44, Any, Alu("|="), V1),
    row(0x45, Any, Cond("&"), V1),
    row(0x46, Any, Cond("&"), V3),
    row(0x47, Any, Alu("|="), V1),
    row(0x48, Any, LdInd, V1),
    row(0x4c, Any, Alu("|="), V1),
    row(0x4d, Any, Cond("&"), V1),
    row(0x4e, Any, Cond("&"), V3),
    row(0x4f, Any, Alu("|="), V1),
    row(0x50, Any, LdInd, V1),
    row(0x54, Any, Alu("&="), V1),
    row(0x55, Any, Cond("!="), V1),
    row(0x56, Any, Cond("!="), V3),
    row(0x57, Any, Alu("&="), V1),
    row(0x5c, Any, Alu("&="), V1),
    row(0x5d, Any, Cond("!="), V1),
    row(0x5e, Any, Cond("!="), V3),
    row(0x5f, Any, Alu("&="), V1),
    row(0x61, Any, Ldx, V1),
    row(0x62, Any, St, V1),
    row(0x63, Any, Stx, V1),
    row(0x64, Any, Alu("<<="), V1),
    row(0x65, Any, Cond("s>"), V1),
    row(0x66, Any, Cond("s>"), V3),
    row(0x67, Any, Alu("<<="), V1),
    row(0x69, Any, Ldx, V1),
    row(0x6a, Any, St, V1),
    row(0x6b, Any, Stx, V1),
    row(0x6c, Any, Alu("<<="), V1),
    row(0x6d, Any, Cond("s>"), V1),
    row(0x6e, Any, Cond("s>"), V3),
    row(0x6f, Any, Alu("<<="), V1),
    row(0x71, Any, Ldx, V1),
    row(0x72, Any, St, V1),
    row(0x73, Any, Stx, V1),
    row(0x74, Any, Alu(">>="), V1),
    row(0x75, Any, Cond("s>="), V1),
    row(0x76, Any, Cond("s>="), V3),
    row(0x77, Any, Alu(">>="), V1),
    row(0x79, Any, Ldx, V1),
    row(0x7a, Any, St, V1),
    row(0x7b, Any, Stx, V1),
    row(0x7c, Any, Alu(">>="), V1),
    row(0x7d, Any, Cond("s>="), V1),
    row(0x7e, Any, Cond("s>="), V3),
    row(0x7f, Any, Alu(">>="), V1),
    row(0x81, Any, Ldsx, V4),
    row(0x84, Any, Neg, V1),
    row(0x85, Src(0), CallHelper, V1),
    row(0x85, Src(BPF_PSEUDO_CALL), CallSubprog, V1),
    row(0x85, Src(BPF_PSEUDO_KFUNC_CALL), CallKfunc, V1),
    row(0x87, Any, Neg, V1),
    row(0x89, Any, Ldsx, V4),
    row(0x91, Any, Ldsx, V4),
    row(0x94, Off(0), Alu("%="), V1),
    row(0x94, Off(1), Alu("s%="), V4),
    row(0x95, Any, Exit, V1),
    row(0x97, Off(0), Alu("%="), V1),
    row(0x97, Off(1), Alu("s%="), V4),
    row(0x9c, Off(0), Alu("%="), V1),
    row(0x9c, Off(1), Alu("s%="), V4),
    row(0x9f, Off(0), Alu("%="), V1),
    row(0x9f, Off(1), Alu("s%="), V4),
    row(0xa4, Any, Alu("^="), V1),
    row(0xa5, Any, Cond("<"), V2),
    row(0xa6, Any, Cond("<"), V3),
    row(0xa7, Any, Alu("^="), V1),
    row(0xac, Any, Alu("^="), V1),
    row(0xad, Any, Cond("<"), V2),
    row(0xae, Any, Cond("<"), V3),
    row(0xaf, Any, Alu("^="), V1),
    row(0xb4, Any, Mov, V1),
    row(0xb5, Any, Cond("<="), V2),
    row(0xb6, Any, Cond("<="), V3),
    row(0xb7, Any, Mov, V1),
    row(0xbc, Off(0), Mov, V1),
    row(0xbc, Off(8), MovSx(8), V4),
    row(0xbc, Off(16), MovSx(16), V4),
    row(0xbd, Any, Cond("<="), V2),
    row(0xbe, Any, Cond("<="), V3),
    row(0xbf, Off(0), Mov, V1),
    row(0xbf, Off(8), MovSx(8), V4),
    row(0xbf, Off(16), MovSx(16), V4),
    row(0xbf, Off(32), MovSx(32), V4),
    row(0xbf, Off(BPF_ADDR_SPACE_CAST), AddrSpaceCast, V4),
    row(0xbf, Off(-1), PercpuAddr, V4),
    row(0xc3, Imm(ADD), AtomicRmw("+="), V1),
    row(0xc3, Imm(OR), AtomicRmw("|="), V3),
    row(0xc3, Imm(AND), AtomicRmw("&="), V3),
    row(0xc3, Imm(XOR), AtomicRmw("^="), V3),
    row(0xc3, Imm(ADD | BPF_FETCH), AtomicFetch("add"), V3),
    row(0xc3, Imm(OR | BPF_FETCH), AtomicFetch("or"), V3),
    row(0xc3, Imm(AND | BPF_FETCH), AtomicFetch("and"), V3),
    row(0xc3, Imm(XOR | BPF_FETCH), AtomicFetch("xor"), V3),
    row(0xc3, Imm(BPF_XCHG), AtomicXchg, V3),
    row(0xc3, Imm(BPF_CMPXCHG), AtomicCmpxchg, V3),
    row(0xc3, Imm(BPF_LOAD_ACQ), LoadAcquire, V4),
    row(0xc3, Imm(BPF_STORE_REL), StoreRelease, V4),
    row(0xc4, Any, Alu("s>>="), V1),
    row(0xc5, Any, Cond("s<"), V2),
    row(0xc6, Any, Cond("s<"), V3),
    row(0xc7, Any, Alu("s>>="), V1),
    row(0xcb, Imm(BPF_LOAD_ACQ), LoadAcquire, V4),
    row(0xcb, Imm(BPF_STORE_REL), StoreRelease, V4),
    row(0xcc, Any, Alu("s>>="), V1),
    row(0xcd, Any, Cond("s<"), V2),
    row(0xce, Any, Cond("s<"), V3),
    row(0xcf, Any, Alu("s>>="), V1),
    row(0xd3, Imm(BPF_LOAD_ACQ), LoadAcquire, V4),
    row(0xd3, Imm(BPF_STORE_REL), StoreRelease, V4),
    row(0xd4, Imm(16), Endian("le"), V1),
    row(0xd4, Imm(32), Endian("le"), V1),
    row(0xd4, Imm(64), Endian("le"), V1),
    row(0xd5, Any, Cond("s<="), V2),
    row(0xd6, Any, Cond("s<="), V3),
    row(0xd7, Imm(16), Endian("bswap"), V4),
    row(0xd7, Imm(32), Endian("bswap"), V4),
    row(0xd7, Imm(64), Endian("bswap"), V4),
    row(0xdb, Imm(ADD), AtomicRmw("+="), V1),
    row(0xdb, Imm(OR), AtomicRmw("|="), V3),
    row(0xdb, Imm(AND), AtomicRmw("&="), V3),
    row(0xdb, Imm(XOR), AtomicRmw("^="), V3),
    row(0xdb, Imm(ADD | BPF_FETCH), AtomicFetch("add"), V3),
    row(0xdb, Imm(OR | BPF_FETCH), AtomicFetch("or"), V3),
    row(0xdb, Imm(AND | BPF_FETCH), AtomicFetch("and"), V3),
    row(0xdb, Imm(XOR | BPF_FETCH), AtomicFetch("xor"), V3),
    row(0xdb, Imm(BPF_XCHG), AtomicXchg, V3),
    row(0xdb, Imm(BPF_CMPXCHG), AtomicCmpxchg, V3),
    row(0xdb, Imm(BPF_LOAD_ACQ), LoadAcquire, V4),
    row(0xdb, Imm(BPF_STORE_REL), StoreRelease, V4),
    row(0xdc, Imm(16), Endian("be"), V1),
    row(0xdc, Imm(32), Endian("be"), V1),
    row(0xdc, Imm(64), Endian("be"), V1),
    row(0xdd, Any, Cond("s<="), V2),
    row(0xde, Any, Cond("s<="), V3),
    row(0xe5, Src(BPF_MAY_GOTO), MayGoto, V4),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The opcodes for which Linux 6.18 does not print `unknown opcode` or `BPF_LDX uses reserved
    /// fields`, as a bit map: row = high nibble, bit = low nibble.
    const KNOWN_TO_THE_KERNEL: [u16; 16] = [
        0x90f0, 0xf1f0, 0xf1f1, 0xf0f1, 0xf1f1, 0xf0f1, 0xfefe, 0xfefe, //
        0x02b2, 0x90b2, 0xf0f0, 0xf0f0, 0xf8f8, 0x78f8, 0x0020, 0x0000,
    ];

    #[test]
    fn rows_of_an_opcode_differ_in_the_same_field() {
        for rows in OPCODES.chunk_by(|a, b| a.code == b.code) {
            assert_eq!(rows, Opcode::all_of(rows[0].code), "sorted by opcode");
            for (i, row) in rows.iter().enumerate() {
                let kind = std::mem::discriminant(&row.select);
                assert_eq!(kind, std::mem::discriminant(&rows[0].select), "{row:?}");
                assert!(rows[..i].iter().all(|other| other.select != row.select), "{row:?}");
                assert!(rows.len() == 1 || row.select != Any, "{row:?}");
            }
        }
    }

    #[test]
    fn a_row_agrees_with_the_bits_of_its_opcode() {
        for row in OPCODES {
            let insn = Insn { code: row.code, ..Insn::default() };
            let class = insn.class();
            let classes: &[u8] = match row.form {
                LdImm64 | LdAbs | LdInd => &[BPF_LD],
                Ldx | Ldsx => &[BPF_LDX],
                St => &[BPF_ST],
                Stx | AtomicRmw(_) | AtomicFetch(_) | AtomicXchg | AtomicCmpxchg => &[BPF_STX],
                LoadAcquire | StoreRelease => &[BPF_STX],
                Alu(_) | Mov | MovSx(_) | Neg | Endian(_) => &[BPF_ALU, BPF_ALU64],
                AddrSpaceCast | PercpuAddr => &[BPF_ALU64],
                Cond(_) => &[BPF_JMP, BPF_JMP32],
                Gotol => &[BPF_JMP32],
                Goto | MayGoto | CallHelper | CallSubprog | CallKfunc | Exit => &[BPF_JMP],
            };
            assert!(classes.contains(&class), "{row:?}");
        }
    }

    #[test]
    fn the_table_knows_the_opcodes_that_the_kernel_knows() {
        for code in 0..=255u8 {
            let known = KNOWN_TO_THE_KERNEL[usize::from(code >> 4)] >> (code & 0xf) & 1 == 1;
            assert_eq!(!Opcode::all_of(code).is_empty(), known, "opcode {code:#04x}");
        }
    }
}
