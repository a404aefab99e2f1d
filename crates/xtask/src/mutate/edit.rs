//! Edits of insns, like those that bugs in compilers or linkers, or attackers, would make.

use super::splice;
use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::Program;
use skep_testkit::rng::Rng;

/// Material for edits.
pub(super) struct Stock<'a> {
    /// Other programs, for splices.
    pub(super) donors: &'a [Vec<Insn>],
    /// BTF ids of the kernel's kfuncs.
    pub(super) kfuncs: &'a [u32],
}

/// Constants at which rules change: sizes, shift widths, the stack's size, the ends of types.
const IMMS: [i32; 46] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    4,
    -4,
    5,
    6,
    7,
    8,
    -8,
    9,
    10,
    12,
    15,
    16,
    -16,
    17,
    24,
    31,
    32,
    33,
    48,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    511,
    512,
    -512,
    513,
    4095,
    4096,
    65535,
    65536,
    1 << 29,
    1 << 30,
    i32::MAX - 1,
    i32::MAX,
    i32::MIN,
    i32::MIN + 1,
];
const OFFS: [i16; 28] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    4,
    -4,
    7,
    -7,
    8,
    -8,
    -9,
    12,
    16,
    -16,
    24,
    -24,
    64,
    80,
    -64,
    -504,
    -511,
    -512,
    -513,
    -520,
    i16::MAX,
    i16::MIN,
];
/// Helpers up to this number, and one that does not exist.
const HELPERS: u64 = 213;
const ATOMICS: [i32; 12] =
    [0, 1, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, BPF_XCHG, BPF_CMPXCHG, BPF_LOAD_ACQ, BPF_STORE_REL];
/// Longest splice, insns.
const SPLICE_MAX: u64 = 12;

type Edit = fn(&mut Rng, &mut Program, &Stock<'_>) -> String;

/// Weight and function of each edit.
const EDITS: [(u64, Edit); 17] = [
    (12, dst),
    (12, src),
    (14, off),
    (18, imm),
    (6, imm_of_another),
    (8, operation),
    (5, width),
    (3, opcode),
    (6, helper),
    (3, kfunc),
    (3, pseudo),
    (12, insert_new),
    (7, insert_copy),
    (8, delete),
    (4, swap),
    (6, splice_donor),
    (2, whole),
];

/// Edits the program at one place, and describes the edit.
pub(super) fn insns(rng: &mut Rng, program: &mut Program, stock: &Stock<'_>) -> String {
    if program.insns.is_empty() {
        return String::new();
    }
    let mut n = rng.below(EDITS.iter().map(|(weight, _)| weight).sum());
    for (weight, edit) in EDITS {
        if n < weight {
            return edit(rng, program, stock);
        }
        n -= weight;
    }
    String::new()
}

/// An insn, rarely the second half of one.
fn place(rng: &mut Rng, program: &Program) -> usize {
    let at = rng.below(program.insns.len() as u64) as usize;
    let second = at > 0 && program.insns[at - 1].is_ld_imm64();
    if second && rng.chance(90) { at - 1 } else { at }
}

/// An insn that fits, if there is one; otherwise any.
fn place_of(rng: &mut Rng, program: &Program, fits: impl Fn(&Insn) -> bool) -> usize {
    let all = program.insns.iter().enumerate();
    let places: Vec<usize> = all.filter(|(_, insn)| fits(insn)).map(|(i, _)| i).collect();
    if places.is_empty() { place(rng, program) } else { rng.pick(&places) }
}

/// Changes one insn.
fn change(program: &mut Program, at: usize, to: Insn) -> String {
    let was = std::mem::replace(&mut program.insns[at], to);
    let text = |i: Insn| format!("{:02x} {} {} {} {}", i.code, i.dst, i.src, i.off, i.imm);
    format!("{at}: {} -> {}", text(was), text(to))
}

fn reg(rng: &mut Rng) -> u8 {
    if rng.chance(2) { rng.below(16) as u8 } else { rng.below(11) as u8 }
}

fn dst(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let at = place(rng, program);
    change(program, at, Insn { dst: reg(rng), ..program.insns[at] })
}

fn src(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let reads =
        |i: &Insn| matches!(i.class(), BPF_LDX | BPF_STX) || i.is_src_reg() && !i.is_ld_imm64();
    let at = if rng.chance(80) { place_of(rng, program, reads) } else { place(rng, program) };
    change(program, at, Insn { src: reg(rng), ..program.insns[at] })
}

fn off(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let has = |i: &Insn| matches!(i.class(), BPF_LDX | BPF_ST | BPF_STX | BPF_JMP | BPF_JMP32);
    let at = if rng.chance(90) { place_of(rng, program, has) } else { place(rng, program) };
    let insn = program.insns[at];
    let off = match rng.below(8) {
        0 => rng.pick(&OFFS),
        1 => insn.off.wrapping_add(1),
        2 => insn.off.wrapping_sub(1),
        3 => insn.off.wrapping_add(8),
        4 => insn.off.wrapping_sub(8),
        5 => insn.off.wrapping_add(rng.below(64) as i16 - 32),
        6 => {
            let other = place(rng, program);
            program.insns[other].off
        }
        _ => rng.below(128) as i16 - 96,
    };
    change(program, at, Insn { off, ..insn })
}

fn has_imm(insn: &Insn) -> bool {
    matches!(insn.class(), BPF_ALU | BPF_ALU64 | BPF_JMP | BPF_JMP32)
        && !insn.is_src_reg()
        && !matches!((insn.class(), insn.op()), (BPF_JMP, BPF_JA | BPF_CALL | BPF_EXIT))
        || insn.class() == BPF_ST
        || insn.class() == BPF_STX && insn.mode() == BPF_ATOMIC
}

fn imm(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let at = if rng.chance(85) { place_of(rng, program, has_imm) } else { place(rng, program) };
    let insn = program.insns[at];
    let is_atomic = insn.class() == BPF_STX && insn.mode() == BPF_ATOMIC;
    let imm = match rng.below(8) {
        _ if is_atomic && rng.chance(80) => rng.pick(&ATOMICS),
        0..3 => rng.pick(&IMMS),
        3 => insn.imm.wrapping_add(1),
        4 => insn.imm.wrapping_sub(1),
        5 => insn.imm.wrapping_neg(),
        6 => insn.imm ^ 1 << rng.below(32),
        _ => rng.below(1 << 32) as u32 as i32,
    };
    change(program, at, Insn { imm, ..insn })
}

fn imm_of_another(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let (at, other) = (place_of(rng, program, has_imm), place(rng, program));
    let imm = program.insns[other].imm.wrapping_add(rng.below(3) as i32 - 1);
    change(program, at, Insn { imm, ..program.insns[at] })
}

/// Another operation of the same class.
fn operation(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let at = place(rng, program);
    let insn = program.insns[at];
    let code = match insn.class() {
        BPF_ALU | BPF_ALU64 | BPF_JMP | BPF_JMP32 => {
            insn.code & !OP_MASK | (rng.below(16) as u8) << 4
        }
        _ => insn.code & !MODE_MASK | rng.pick(&[BPF_MEM, BPF_MEMSX, BPF_ATOMIC, BPF_ABS, BPF_IND]),
    };
    change(program, at, Insn { code, ..insn })
}

/// Changes between 64 and 32 bits, register and constant, or the size of an access.
fn width(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let at = place(rng, program);
    let insn = program.insns[at];
    let code = match insn.class() {
        BPF_ALU | BPF_ALU64 if rng.chance(60) => insn.code ^ BPF_ALU ^ BPF_ALU64,
        BPF_JMP | BPF_JMP32 if rng.chance(60) => insn.code ^ BPF_JMP ^ BPF_JMP32,
        BPF_ALU | BPF_ALU64 | BPF_JMP | BPF_JMP32 => insn.code ^ BPF_X,
        _ if insn.is_ld_imm64() => insn.code,
        _ => insn.code & !SIZE_MASK | rng.pick(&[BPF_B, BPF_H, BPF_W, BPF_DW]),
    };
    change(program, at, Insn { code, ..insn })
}

fn opcode(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let (at, other) = (place(rng, program), place(rng, program));
    let code = match rng.chance(50) {
        true => rng.below(256) as u8,
        false => program.insns[other].code,
    };
    change(program, at, Insn { code, ..program.insns[at] })
}

fn helper(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let calls = |i: &Insn| i.is_helper_call();
    let at = place_of(rng, program, calls);
    let imm = rng.below(HELPERS) as i32;
    let call = Insn { code: BPF_JMP | BPF_CALL, imm, ..Insn::default() };
    change(program, at, call)
}

fn kfunc(rng: &mut Rng, program: &mut Program, stock: &Stock<'_>) -> String {
    if stock.kfuncs.is_empty() || program.kernel_btf.is_none() {
        return helper(rng, program, stock);
    }
    let at = place_of(rng, program, |i| i.code == BPF_JMP | BPF_CALL);
    let near = rng.chance(10);
    let imm = rng.pick(stock.kfuncs) as i32 + if near { rng.below(5) as i32 - 2 } else { 0 };
    let src = BPF_PSEUDO_KFUNC_CALL;
    change(program, at, Insn { code: BPF_JMP | BPF_CALL, src, imm, ..Insn::default() })
}

/// Another kind of `ld_imm64` or call.
fn pseudo(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let at = place_of(rng, program, |i| i.is_ld_imm64() || i.code == BPF_JMP | BPF_CALL);
    let kinds = if program.insns[at].is_ld_imm64() { 8 } else { 4 };
    change(program, at, Insn { src: rng.below(kinds) as u8, ..program.insns[at] })
}

fn insert_new(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let at = place(rng, program);
    let new = super::insns::insn(rng);
    splice::insert(program, at, &[new]);
    let text = format!("{:02x} {} {} {} {}", new.code, new.dst, new.src, new.off, new.imm);
    format!("{at}: inserted {text}")
}

fn insert_copy(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let (at, from) = (place(rng, program), place(rng, program));
    let len = 1 + rng.below(4) as usize;
    let copy: Vec<Insn> = program.insns[from..].iter().take(len).copied().collect();
    splice::insert(program, at, &copy);
    format!("{at}: copied {} from {from}", copy.len())
}

fn delete(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let at = place(rng, program);
    let wide = program.insns[at].is_ld_imm64() && rng.chance(95);
    let count = if wide { 2 } else { 1 + rng.below(10) as usize / 8 };
    splice::delete(program, at, count);
    format!("{at}: deleted {count}")
}

fn swap(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let at = place(rng, program);
    let other = match rng.chance(60) {
        true => (at + 1).min(program.insns.len() - 1),
        false => place(rng, program),
    };
    program.insns.swap(at, other);
    format!("{at}: swapped with {other}")
}

/// Inserts some insns of another program, or overwrites existing ones.
fn splice_donor(rng: &mut Rng, program: &mut Program, stock: &Stock<'_>) -> String {
    let donors: Vec<&Vec<Insn>> = stock.donors.iter().filter(|d| !d.is_empty()).collect();
    if donors.is_empty() {
        return insert_copy(rng, program, stock);
    }
    let donor = donors[rng.below(donors.len() as u64) as usize];
    let from = rng.below(donor.len() as u64) as usize;
    let len = 1 + rng.below(SPLICE_MAX) as usize;
    let block: Vec<Insn> = donor[from..].iter().take(len).copied().collect();
    let at = place(rng, program);
    if rng.chance(30) {
        splice::delete(program, at, block.len());
    }
    splice::insert(program, at, &block);
    format!("{at}: spliced {}", block.len())
}

/// Changes all fields.
fn whole(rng: &mut Rng, program: &mut Program, _: &Stock<'_>) -> String {
    let at = place(rng, program);
    let insn = Insn {
        code: rng.below(256) as u8,
        dst: reg(rng),
        src: reg(rng),
        off: rng.pick(&OFFS),
        imm: rng.pick(&IMMS),
    };
    change(program, at, insn)
}
