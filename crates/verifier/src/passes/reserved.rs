//! Invalid encodings: unknown opcodes, and reserved fields that are not zero.
//!
//! [`check_encodings`] checks every insn, reachable or not, before the graph is traversed. The main
//! walk calls [`check_insn_fields`] when it reaches an insn, before checking registers.
//!
//! Kernel: `resolve_pseudo_ldimm64` (first), `do_check_insn`, `check_alu_op`, `check_cond_jmp_op`,
//! `check_ld_imm`, `check_ld_abs`, `check_atomic` (second), 6.18.

use super::PassReject;
use crate::rejection::{InsnFault, Regno};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::errno;
use skep_uapi::limits::MAX_BPF_REG;
use skep_uapi::{Fields, Insns};

/// Whether the kernel knows this opcode. Kernel: `bpf_opcode_in_insntable`.
pub(crate) fn is_known_opcode(code: u8) -> bool {
    let (op, mode, size) = (code & OP_MASK, code & MODE_MASK, code & SIZE_MASK);
    let is_k = code & BPF_X == 0;
    match code & CLASS_MASK {
        BPF_LD => match mode {
            BPF_IMM => size == BPF_DW,
            BPF_ABS | BPF_IND => size != BPF_DW,
            _ => false,
        },
        BPF_LDX => mode == BPF_MEM || mode == BPF_MEMSX && size != BPF_DW,
        BPF_ST => mode == BPF_MEM,
        BPF_STX => matches!(mode, BPF_MEM | BPF_ATOMIC),
        class @ (BPF_ALU | BPF_ALU64) => match op {
            BPF_NEG => is_k,
            BPF_END => class == BPF_ALU || is_k,
            _ => op <= BPF_ARSH,
        },
        class => match op {
            BPF_JA => is_k,
            BPF_CALL | BPF_EXIT | BPF_JCOND => is_k && class == BPF_JMP,
            _ => op <= BPF_JSLE,
        },
    }
}

/// Checks opcodes and `ld_imm64` pairs in insn order.
///
/// Calls `resolve(idx, first, second)` for each well-formed `ld_imm64` that refers to something
/// (map, map value, variable, function), which may refuse it, and `first` for each insn. `there`:
/// the insns that the kernel has.
pub(crate) fn check_encodings(
    insns: &[Insn],
    there: Insns,
    first: impl Fn(usize, &Insn) -> Result<(), PassReject>,
    mut resolve: impl FnMut(usize, &Insn, &Insn) -> Result<(), PassReject>,
) -> Result<(), PassReject> {
    let mut idx = 0;
    while let Some(insn) = insns.get(idx) {
        first(idx, insn)?;
        let invalid = |kind: InsnFault| PassReject::at(idx, errno::EINVAL, kind);
        if insn.class() == BPF_LDX && (!is_load_mode(insn.mode(), there) || insn.imm != 0) {
            return Err(invalid(InsnFault::Reserved { insn: "BPF_LDX" }));
        }
        if insn.is_ld_imm64() {
            let second = insns.get(idx + 1).filter(|s| is_second_half(s));
            let second = second.ok_or_else(|| invalid(InsnFault::LdImm64Half))?;
            if !is_known_ld_imm64(insn, second, there) {
                return Err(invalid(InsnFault::LdImm64Kind));
            }
            if insn.src != 0 {
                resolve(idx, insn, second)?;
            }
            idx += 2;
            continue;
        }
        let opcode = Fields { code: insn.code, off: 0, imm: 0 };
        if !is_known_opcode(insn.code) || there.lack_insn(opcode) {
            return Err(invalid(InsnFault::Opcode { code: insn.code }));
        }
        idx += 1;
    }
    Ok(())
}

fn is_second_half(insn: &Insn) -> bool {
    *insn == Insn { imm: insn.imm, ..Insn::default() }
}

fn is_load_mode(mode: u8, there: Insns) -> bool {
    mode == BPF_MEM || mode == BPF_MEMSX && !there.lack("ldsx")
}

fn is_known_ld_imm64(first: &Insn, second: &Insn, there: Insns) -> bool {
    match first.src {
        BPF_PSEUDO_FUNC.. if there.lack("callback") => false,
        BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_IDX => second.imm == 0,
        src => src <= BPF_PSEUDO_MAP_IDX_VALUE,
    }
}

/// Refuses an insn with a non-zero field that it does not use.
///
/// Precondition: [`check_encodings`] has accepted the program. Where the kernel checks the program
/// type before the fields (legacy packet loads), the caller does that first.
pub(crate) fn check_insn_fields(idx: usize, insn: &Insn) -> Result<(), PassReject> {
    let refused = match insn.class() {
        BPF_ALU | BPF_ALU64 => alu(insn),
        BPF_JMP | BPF_JMP32 => jmp(insn),
        BPF_LD => ld(insn),
        BPF_ST => (insn.src != 0).then(|| reserved("BPF_ST")),
        BPF_STX => stx(insn),
        _ => None,
    };
    match refused {
        Some(kind) => Err(PassReject::at(idx, errno::EINVAL, kind)),
        None => Ok(()),
    }
}

/// Whether nothing is wrong with the fields of an arithmetic insn but a negative offset.
pub(crate) fn is_with_negative_offset(insn: Insn) -> bool {
    let computes = !matches!(insn.op(), BPF_MOV | BPF_NEG | BPF_END);
    computes && insn.off < 0 && alu(&Insn { off: 0, ..insn }).is_none()
}

/// What some kernels check for every insn, reachable or not: valid registers, and no unused field
/// set. The operations of atomic insns are checked in the walk.
pub(crate) fn check_insn_first(idx: usize, insn: &Insn) -> Result<(), PassReject> {
    if let Some(regno) = [insn.dst, insn.src].into_iter().find(|&r| usize::from(r) >= MAX_BPF_REG) {
        let kind = InsnFault::NoSuchReg { regno: Regno(regno) };
        return Err(PassReject::at(idx, errno::EINVAL, kind));
    }
    if !insn.is_ld_imm64() && !is_known_opcode(insn.code) {
        return Err(PassReject::at(idx, errno::EINVAL, InsnFault::Opcode { code: insn.code }));
    }
    if is_atomic(insn) { Ok(()) } else { check_insn_fields(idx, insn) }
}

/// The same for kernels that only check the fields of stores. If they have one atomic operation,
/// it is what another mode and a zero say.
pub(crate) fn check_store_first(idx: usize, insn: &Insn, there: Insns) -> Result<(), PassReject> {
    if insn.class() != BPF_STX {
        return Ok(());
    }
    let has_one_atomic = there.lack("atomic");
    let is_bad = match insn.mode() {
        BPF_MEM => insn.imm != 0,
        BPF_ATOMIC => has_one_atomic && insn.imm != 0,
        _ => has_one_atomic,
    };
    if is_bad {
        return Err(PassReject::at(idx, errno::EINVAL, reserved("BPF_STX")));
    }
    Ok(())
}

/// Refuses an insn like [`check_insn_fields`], on a kernel that may lack its operation: then a
/// field that selects it is one that the insn does not use.
#[inline]
pub(crate) fn check_fields_on(idx: usize, insn: &Insn, there: Insns) -> Result<(), PassReject> {
    if there != Insns::all() {
        check_operation(idx, insn, there)?;
    }
    check_insn_fields(idx, insn)
}

#[cold]
fn check_operation(idx: usize, insn: &Insn, there: Insns) -> Result<(), PassReject> {
    let fields = Fields { code: insn.code, off: insn.off, imm: insn.imm };
    let is_offset_unused = is_mov(insn) && insn.off != 0 && there.lack("movsx");
    if is_offset_unused || there.lack_insn(fields) {
        let kind = match (insn.class(), insn.op()) {
            (BPF_STX, _) => InsnFault::AtomicOpcode { imm: insn.imm },
            (_, BPF_MOV) => reserved("BPF_MOV"),
            _ => reserved("BPF_ALU"),
        };
        return Err(PassReject::at(idx, errno::EINVAL, kind));
    }
    Ok(())
}

fn is_mov(insn: &Insn) -> bool {
    matches!(insn.class(), BPF_ALU | BPF_ALU64) && insn.op() == BPF_MOV
}

fn is_atomic(insn: &Insn) -> bool {
    insn.class() == BPF_STX && insn.mode() == BPF_ATOMIC
}

/// The error, or `None`.
type Refused = Option<InsnFault>;

fn reserved(insn: &'static str) -> InsnFault {
    InsnFault::Reserved { insn }
}

fn alu(insn: &Insn) -> Refused {
    let is_x = insn.is_src_reg();
    let is_alu64 = insn.class() == BPF_ALU64;
    let unused_operand = if is_x { insn.imm != 0 } else { insn.src != 0 };
    match insn.op() {
        BPF_NEG => (insn.src != 0 || insn.off != 0 || insn.imm != 0).then(|| reserved("BPF_NEG")),
        BPF_END => {
            let is_width = matches!(insn.imm, 16 | 32 | 64);
            (insn.src != 0 || insn.off != 0 || !is_width).then(|| reserved("BPF_END"))
        }
        BPF_MOV => {
            let off_ok = match insn.off {
                0 => true,
                8 | 16 => is_x,
                32 => is_x && is_alu64,
                _ => return mov_special(insn),
            };
            (unused_operand || !off_ok).then(|| reserved("BPF_MOV"))
        }
        op => {
            let is_signed_div = insn.off == 1 && matches!(op, BPF_DIV | BPF_MOD);
            let off_ok = insn.off == 0 || is_signed_div;
            (unused_operand || !off_ok).then(|| reserved("BPF_ALU"))
        }
    }
}

/// `r = r` with an offset that is not a width: only valid for casts between address spaces.
fn mov_special(insn: &Insn) -> Refused {
    let is_cast = insn.class() == BPF_ALU64 && insn.is_src_reg();
    if !is_cast || insn.off != BPF_ADDR_SPACE_CAST {
        return Some(reserved("BPF_MOV"));
    }
    let between_0_and_1 = matches!(insn.imm as u32, 1 | 0x1_0000);
    (!between_0_and_1).then_some(InsnFault::CastSpaces)
}

fn jmp(insn: &Insn) -> Refused {
    let is_jmp32 = insn.class() == BPF_JMP32;
    match insn.op() {
        BPF_CALL => {
            let is_kfunc = insn.src == BPF_PSEUDO_KFUNC_CALL;
            let bad = insn.src > BPF_PSEUDO_KFUNC_CALL || insn.dst != 0;
            (bad || (!is_kfunc && insn.off != 0)).then(|| reserved("BPF_CALL"))
        }
        BPF_JA => {
            let unused_distance = if is_jmp32 { insn.off != 0 } else { insn.imm != 0 };
            (unused_distance || insn.src != 0 || insn.dst != 0).then(|| reserved("BPF_JA"))
        }
        BPF_EXIT => (insn.imm != 0 || insn.src != 0 || insn.dst != 0).then(|| reserved("BPF_EXIT")),
        BPF_JCOND => {
            let bad = insn.src != BPF_MAY_GOTO || insn.dst != 0 || insn.imm != 0;
            let (off, imm) = (i32::from(insn.off), insn.imm);
            bad.then_some(InsnFault::MayGotoImm { off, imm })
        }
        _ => {
            let unused_operand = if insn.is_src_reg() { insn.imm != 0 } else { insn.src != 0 };
            unused_operand.then(|| reserved("BPF_JMP/JMP32"))
        }
    }
}

fn ld(insn: &Insn) -> Refused {
    if insn.is_ld_imm64() {
        return (insn.off != 0).then(|| reserved("BPF_LD_IMM64"));
    }
    let unused_src = insn.mode() == BPF_ABS && insn.src != 0;
    (insn.dst != 0 || insn.off != 0 || unused_src).then(|| reserved("BPF_LD_[ABS|IND]"))
}

fn stx(insn: &Insn) -> Refused {
    if insn.mode() != BPF_ATOMIC {
        return (insn.imm != 0).then(|| reserved("BPF_STX"));
    }
    let rmw = |imm: i32| imm & !BPF_FETCH;
    let known = match insn.imm {
        BPF_XCHG | BPF_CMPXCHG | BPF_LOAD_ACQ | BPF_STORE_REL => true,
        imm => [BPF_ADD, BPF_AND, BPF_OR, BPF_XOR].iter().any(|&op| rmw(imm) == i32::from(op)),
    };
    (!known).then_some(InsnFault::AtomicOpcode { imm: insn.imm })
}

#[cfg(test)]
mod tests {
    use super::super::program_fixture::*;
    use super::*;

    fn check(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> String {
        let insn = insn(code, dst, src, off, imm);
        let first = check_encodings(&[insn, exit()], Insns::all(), |_, _| Ok(()), |_, _, _| Ok(()));
        message(first.and_then(|()| check_insn_fields(0, &insn)))
    }

    /// The kernel printed `unknown opcode` for each of the other 128.
    #[test]
    fn half_of_the_opcodes_exist() {
        assert_eq!((0..=u8::MAX).filter(|&code| is_known_opcode(code)).count(), 128);
        let unknown =
            [0x00, 0x0d, 0x0e, 0x86, 0x8c, 0x8d, 0x96, 0x99, 0x9d, 0xdf, 0xe0, 0xe6, 0xf5];
        assert!(unknown.iter().all(|&code| !is_known_opcode(code)));
        assert!(
            [0x06, 0x18, 0x81, 0xc3, 0xcb, 0xd7, 0xe5].iter().all(|&code| is_known_opcode(code))
        );
    }

    #[test]
    fn fields() {
        let cast = "addr_space_cast insn can only convert between address space 1 and 0";
        let atomic = "BPF_ATOMIC uses invalid atomic opcode 42";
        let table: [(&str, String); 16] = [
            ("unknown opcode ff", check(0xff, 0, 0, 0, 0)),
            ("BPF_LDX uses reserved fields", check(0x61, 0, 1, 0, 5)),
            ("BPF_LDX uses reserved fields", check(0x01, 0, 1, 0, 0)),
            ("BPF_STX uses reserved fields", check(0x63, 10, 1, -8, 5)),
            ("BPF_ST uses reserved fields", check(0x62, 10, 1, -8, 5)),
            ("BPF_MOV uses reserved fields", check(0xb7, 0, 1, 0, 0)),
            ("BPF_MOV uses reserved fields", check(0xbc, 0, 1, 32, 0)),
            ("accepted", check(0xbf, 0, 1, 32, 0)),
            (cast, check(0xbf, 0, 1, 1, 0)),
            ("BPF_ALU uses reserved fields", check(0x0f, 0, 2, 1, 0)),
            ("accepted", check(0x3c, 0, 2, 1, 0)),
            ("BPF_END uses reserved fields", check(0xd4, 0, 0, 0, 1)),
            ("BPF_CALL uses reserved fields", check(0x85, 1, 0, 0, 5)),
            ("invalid may_goto imm 0", check(0xe5, 0, 1, 0, 0)),
            ("BPF_JMP/JMP32 uses reserved fields", check(0x15, 0, 1, 0, 0)),
            (atomic, check(0xdb, 10, 0, -8, 0x42)),
        ];
        for (row, (expected, got)) in table.into_iter().enumerate() {
            assert_eq!(got, expected, "row {row}");
        }
    }

    /// Seen on 7.1 to 7.3: 39, d9, b1 and others are unknown opcodes there, whatever their fields.
    #[test]
    fn where_fields_are_checked_first_the_opcode_is_before_them() {
        let insn = |code, imm| Insn { code, imm, ..Insn::default() };
        let first = |insn| message(check_insn_first(0, &insn));
        assert_eq!(first(insn(0x39, 1)), "unknown opcode 39");
        assert_eq!(first(insn(0xd9, 0)), "unknown opcode d9");
        assert_eq!(first(insn(0x18, 0)), "accepted", "what is in its other half comes later");
        let encodings =
            |insn| message(check_encodings(&[insn], Insns::all(), |_, _| Ok(()), |_, _, _| Ok(())));
        assert_eq!(encodings(insn(0x39, 1)), "BPF_LDX uses reserved fields");
    }

    #[test]
    fn ld_imm64() {
        let check = |insns: &[Insn]| {
            message(check_encodings(insns, Insns::all(), |_, _| Ok(()), |_, _, _| Ok(())))
        };
        let [lo, hi] = Insn::ld_imm64(1, 0, 5);
        assert_eq!(check(&[lo, hi, exit()]), "accepted");
        assert_eq!(check(&[lo, exit()]), "invalid bpf_ld_imm64 insn");
        assert_eq!(check(&[lo]), "invalid bpf_ld_imm64 insn");
        assert_eq!(check(&[lo, Insn { off: 4, ..hi }]), "invalid bpf_ld_imm64 insn");
        assert_eq!(check(&[Insn { src: 7, ..lo }, hi]), "unrecognized bpf_ld_imm64 insn");
    }

    #[test]
    fn a_negative_offset_is_all_that_is_wrong() {
        let with = |code, src, off| is_with_negative_offset(insn(code, 0, src, off, 0));
        assert!(with(0x07, 0, -1) && with(0x0f, 1, i16::MIN));
        assert!(!with(0x07, 1, -1), "another field");
        assert!(!with(0x07, 0, 1) && !with(0xb7, 0, -1) && !with(0x87, 0, -1));
    }
}
