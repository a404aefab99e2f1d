//! Insns on scalars, by interned name: the fast path for operations that were computed before; also
//! pointers plus an immediate.
//!
//! [`step_alu`] and [`compare`] do exactly what `alu` and `jmp` do, for scalar operands; in all
//! other cases they change nothing and leave the insn to them.
//!
//! # Invariants
//! 1. These functions act only on well-formed insns: nothing can be refused because of the insn
//!    alone.

use super::scalar_rules;
use crate::check::alu_rules::{divides_by_zero, is_made_anew, linked_sum, shifts_too_far};
use crate::env::{Env, Form, Store, Walk};
use crate::explore::equal::value_within;
use crate::passes::reserved::check_fields_on;
use crate::state::arena::PackedReg;
use crate::state::reg::{BPF_ADD_CONST, BPF_ADD_CONST32, BPF_ADD_CONST64, Extra, Reg};
use crate::state::transfers::Results;
use crate::state::values::{CONST, SANE_SCALAR, SCALAR, constant_name, named_constant};
use skep_domain::{AluOp, JmpOp, Scalar};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::Insns;

/// No cached result of that kind.
const NONE: u32 = u32::MAX;
/// Bits of an operation's cache key, in addition to the opcode.
const SAME_REG: u32 = 1 << 8;
const WITH_OFF: u32 = 9;
const MAY_LINK: u32 = 1 << 25;

/// The register or immediate that is the insn's second operand; `None` if the insn is malformed.
#[inline(always)] // Two calls for each insn.
fn operand(env: &mut Env<'_>, insn: Insn) -> Option<PackedReg> {
    let form = match env.aux().form {
        Form::Unasked => ask_form(env, insn),
        known => known,
    };
    if form == Form::Bad {
        return None;
    }
    if insn.is_src_reg() {
        return Some(env.walk.cur.frame().name(insn.src));
    }
    let zero_extends = insn.class() == BPF_ALU && insn.op() == BPF_MOV;
    let imm = i64::from(insn.imm) as u64;
    let value = if zero_extends { u64::from(imm as u32) } else { imm };
    Some(match constant_name(value) {
        Some(val) => PackedReg { val, id: 0 },
        None => pack_constant(&mut env.store, value),
    })
}

#[inline(never)]
fn pack_constant(store: &mut Store, value: u64) -> PackedReg {
    store.arena.pack(&Reg::constant(value))
}

#[cold]
fn ask_form(env: &mut Env<'_>, insn: Insn) -> Form {
    let good = check_form(env.walk.insn_idx as usize, insn, env.facts.insns_there());
    let form = if good { Form::Good } else { Form::Bad };
    env.aux_mut().form = form;
    form
}

/// Marks both operands as to be printed with the next state.
pub(crate) fn scratch(walk: &mut Walk, insn: Insn) {
    walk.scratched_regs |= 1 << insn.dst;
    if insn.is_src_reg() {
        walk.scratched_regs |= 1 << insn.src;
    }
}

/// Whether an ALU insn or conditional jump is well formed.
fn check_form(idx: usize, insn: Insn, there: Insns) -> bool {
    let is_alu = matches!(insn.class(), BPF_ALU | BPF_ALU64);
    check_fields_on(idx, &insn, there).is_ok()
        && insn.dst <= 10
        && insn.src <= 10
        && !(is_alu && (insn.dst == 10 || divides_by_zero(insn) || shifts_too_far(insn)))
}

/// Walks the insn if both operands are scalars and the result is cached or can be; true if so.
#[inline]
pub(crate) fn step_alu(env: &mut Env<'_>, insn: Insn) -> bool {
    if !env.facts.bypass_spec_v1 {
        return false;
    }
    let Some(src) = operand(env, insn) else { return false };
    match insn.op() {
        BPF_MOV => step_mov(env, insn, src),
        BPF_NEG | BPF_END => false,
        _ => step_binary(env, insn, src),
    }
}

/// The result of an operation on two constants that are their own interned names, if it has such a
/// name too.
#[inline]
fn fold_alu(insn: Insn, dst: u32, src: u32) -> Option<u32> {
    let (a, b) = (named_constant(dst)?, named_constant(src)?);
    let (wide, shift) = (insn.class() == BPF_ALU64, b as u32);
    let fits = b < if wide { 64 } else { 32 };
    let value = match insn.op() {
        BPF_ADD => a.wrapping_add(b),
        BPF_SUB => a.wrapping_sub(b),
        BPF_MUL => a.wrapping_mul(b),
        BPF_AND => a & b,
        BPF_OR => a | b,
        BPF_XOR => a ^ b,
        BPF_LSH if fits => a << shift,
        BPF_RSH if fits && wide => a >> shift,
        BPF_RSH if fits => u64::from(a as u32 >> shift),
        BPF_ARSH if fits && wide => (a as i64 >> shift) as u64,
        BPF_ARSH if fits => (a as i32 >> shift) as u64,
        _ => return None,
    };
    constant_name(if wide { value } else { u64::from(value as u32) })
}

fn step_binary(env: &mut Env<'_>, insn: Insn, src: PackedReg) -> bool {
    let dst = env.walk.cur.frame().name(insn.dst);
    if dst.id == 0
        && let Some(val) = fold_alu(insn, dst.val, src.val)
    {
        set_combined(&mut env.walk, insn, PackedReg { val, id: 0 });
        return true;
    }
    let is_scalar = env.store.arena.is(dst, SCALAR);
    let same_reg = insn.is_src_reg() && insn.src == insn.dst;
    let may_link = is_scalar
        && dst.id != 0
        && dst.id & BPF_ADD_CONST == 0
        && !same_reg
        && env.facts.bpf_capable;
    if same_reg && dst.id != 0 && env.facts.rules().self_sums_linked {
        return false;
    }
    let key = binary_key(insn) | if may_link { MAY_LINK } else { 0 };
    let operands = [dst.val, src.val];
    let [plain, linked, ..] = match env.store.transfers.get(key, operands) {
        Some(results) => results,
        None => match compute_alu(env, insn, dst, src, may_link) {
            Some(results) => {
                env.store.transfers.insert(key, operands, results);
                results
            }
            None => return false,
        },
    };
    if !is_scalar {
        // A register operand would have to be marked as precise.
        if insn.is_src_reg() {
            return false;
        }
        scratch(&mut env.walk, insn);
        env.walk.cur.frame_mut().set_name(insn.dst, PackedReg { val: plain, ..dst });
        return true;
    }
    let name = if linked != NONE {
        let flag = if insn.class() == BPF_ALU64 { BPF_ADD_CONST64 } else { BPF_ADD_CONST32 };
        PackedReg { val: linked, id: dst.id | flag }
    } else {
        PackedReg { val: plain, id: 0 }
    };
    set_combined(&mut env.walk, insn, name);
    true
}

fn binary_key(insn: Insn) -> u32 {
    u32::from(insn.code & !BPF_X) | u32::from(insn.off as u16) << WITH_OFF
}

/// Called after an insn was walked. If it moved a pointer by an immediate, caches the result: no
/// sanitizing is needed, and nothing else is checked.
pub(crate) fn remember_moved_pointer(env: &mut Env<'_>, insn: Insn, before: PackedReg) {
    let moves = insn.class() == BPF_ALU64 && matches!(insn.op(), BPF_ADD | BPF_SUB);
    let after = env.walk.cur.frame().name(insn.dst);
    if !moves
        || insn.is_src_reg()
        || !env.facts.bypass_spec_v1
        || after.id != before.id
        || env.store.arena.is(before, SCALAR)
        || env.store.arena.is(after, SCALAR)
    {
        return;
    }
    if let Some(src) = operand(env, insn) {
        env.store.transfers.insert(
            binary_key(insn),
            [before.val, src.val],
            [after.val, NONE, 0, 0],
        );
    }
}

/// Sets the destination to the result of both operands.
#[inline]
fn set_combined(walk: &mut Walk, insn: Insn, name: PackedReg) {
    scratch(walk, insn);
    let frame = walk.cur.frame_mut();
    frame.refine_name(insn.dst, name);
    if insn.is_src_reg() {
        frame.chains.combine(insn.dst, insn.src);
    }
}

/// Computes the result, unlinked or linked to the registers that dst is linked with.
fn compute_alu(
    env: &mut Env<'_>,
    insn: Insn,
    dst: PackedReg,
    src: PackedReg,
    may_link: bool,
) -> Option<Results> {
    if !env.store.arena.is(dst, SANE_SCALAR) || !env.store.arena.is(src, SANE_SCALAR) {
        return None;
    }
    let op = AluOp::from_code(insn.op())?;
    let (mut dst_room, mut src_room) = (None, None);
    let arena = &env.store.arena;
    let (d, s) = (arena.view(dst.val, &mut dst_room), arena.view(src.val, &mut src_room));
    let rules = env.facts.rules();
    if d.off != 0 && rules.dropped_links_leave_constants {
        // Whether the constant stays depends on the id, too, which is no part of the key.
        return None;
    }
    if rules.masks_are_forked && skep_domain::fork_sign_mask(op, &d.val, &s.val).is_some() {
        return None;
    }
    let wide = insn.class() == BPF_ALU64;
    let mut sum = *d;
    if is_made_anew(op, d, s) {
        sum.extra = Extra::None;
    }
    let computes = scalar_rules::computes(rules, op, &s.val, wide);
    let divided = scalar_rules::divide(rules, insn, &mut sum.val, &s.val);
    let computes = divided != Some(false) && computes;
    if divided != Some(true)
        && (!computes || !scalar_rules::alu(rules, op, wide, &mut sum.val, &s.val))
    {
        return Some([PackedReg::UNKNOWN.val, NONE, 0, 0]);
    }
    if sum.val.violated_rule().is_some() {
        return None;
    }
    let may_link = may_link && rules.sums_are_linked;
    let linked = if may_link { linked_sum(rules, insn, d, s) } else { None };
    sum.off = linked.unwrap_or(0);
    let is_same = sum == *d;
    let val = if is_same { dst.val } else { env.store.arena.pack(&sum).val };
    Some(if linked.is_some() { [NONE, val, 0, 0] } else { [val, NONE, 0, 0] })
}

fn step_mov(env: &mut Env<'_>, insn: Insn, src: PackedReg) -> bool {
    if !insn.is_src_reg() {
        scratch(&mut env.walk, insn);
        env.walk.cur.frame_mut().refine_name(insn.dst, src);
        env.walk.cur.frame_mut().chains.make(insn.dst);
        return true;
    }
    let whole = insn.class() == BPF_ALU64;
    if insn.off != 0 || insn.imm != 0 {
        return false;
    }
    if !env.store.arena.is(src, SANE_SCALAR) {
        // Pointers are copied unchanged.
        if !whole || env.store.arena.is(src, SCALAR) || env.store.arena.is_not_init(src) {
            return false;
        }
        scratch(&mut env.walk, insn);
        env.walk.cur.frame_mut().set_name(insn.dst, src);
        return true;
    }
    if !whole && src.id & BPF_ADD_CONST != 0 && env.facts.rules().dropped_links_leave_constants {
        // A copy that is not linked would keep the constant.
        return false;
    }
    // A copy of a linked sum starts a new group of linked registers.
    let alone = if src.id & BPF_ADD_CONST != 0 { env.store.unlinked(src) } else { src };
    let (val, keeps) = if whole { (alone.val, true) } else { mov32(env, insn, alone) };
    scratch(&mut env.walk, insn);
    let mut id = alone.id;
    if keeps && id == 0 {
        if !env.store.arena.is(alone, CONST) {
            id = env.store.new_id();
        }
        env.walk.cur.frame_mut().refine_name(insn.src, PackedReg { id, ..alone });
    }
    let id = if keeps { id } else { 0 };
    let frame = env.walk.cur.frame_mut();
    frame.refine_name(insn.dst, PackedReg { val, id });
    frame.chains.copy(insn.dst, insn.src);
    true
}

/// The low half of `src`, and whether the upper half is known to be zero.
fn mov32(env: &mut Env<'_>, insn: Insn, src: PackedReg) -> (u32, bool) {
    let (key, operands) = (u32::from(insn.code), [src.val, 0]);
    if let Some([val, keeps, ..]) = env.store.transfers.get(key, operands) {
        return (val, keeps == 1);
    }
    let mut reg = env.store.arena.val(src.val);
    let keeps = reg.val.umax <= u64::from(u32::MAX);
    let keeps = keeps && env.facts.rules().mov32_links;
    if !keeps {
        reg = reg.without_id(env.facts.rules());
    }
    let before = reg;
    scalar_rules::zero_extend(env.facts.rules(), &mut reg.val);
    let val = if keeps && reg == before { src.val } else { env.store.arena.pack(&reg).val };
    env.store.transfers.insert(key, operands, [val, u32::from(keeps), 0, 0]);
    (val, keeps)
}

/// The outcome of comparing two scalars.
#[derive(Clone, Copy)]
pub(crate) enum Outcome {
    /// The comparison always or never holds.
    Decided(bool),
    /// Both are possible: dst and src, interned, where it holds and where it does not.
    Open(Results),
}

/// Compares the operands of a conditional jump; `None` if they are not two plain scalars.
#[inline]
pub(crate) fn compare(env: &mut Env<'_>, insn: Insn) -> Option<Outcome> {
    let src = operand(env, insn)?;
    let dst = env.walk.cur.frame().name(insn.dst);
    if let (Some(a), Some(b)) = (named_constant(dst.val), named_constant(src.val)) {
        return Some(Outcome::Decided(holds(insn, a, b)?));
    }
    let same_reg = insn.is_src_reg() && insn.src == insn.dst;
    let key = u32::from(insn.code) | if same_reg { SAME_REG } else { 0 };
    let operands = [dst.val, src.val];
    let results = match env.store.transfers.get(key, operands) {
        Some(results) => results,
        None => {
            let results = compute_jmp(env, insn, dst, src)?;
            env.store.transfers.insert(key, operands, results);
            results
        }
    };
    Some(match results {
        [NONE, taken, ..] => Outcome::Decided(taken == 1),
        names => Outcome::Open(names),
    })
}

/// Whether the comparison of the two constants holds.
fn holds(insn: Insn, a: u64, b: u64) -> Option<bool> {
    let (a, b, sa, sb) = match insn.class() {
        BPF_JMP => (a, b, a as i64, b as i64),
        _ => {
            let (a, b) = (a as u32, b as u32);
            (u64::from(a), u64::from(b), i64::from(a as i32), i64::from(b as i32))
        }
    };
    Some(match insn.op() {
        BPF_JEQ => a == b,
        BPF_JNE => a != b,
        BPF_JGT => a > b,
        BPF_JGE => a >= b,
        BPF_JLT => a < b,
        BPF_JLE => a <= b,
        BPF_JSGT => sa > sb,
        BPF_JSGE => sa >= sb,
        BPF_JSLT => sa < sb,
        BPF_JSLE => sa <= sb,
        BPF_JSET => a & b != 0,
        _ => return None,
    })
}

/// Whether `src` is a constant and a possible value of `dst`, so that a register equal to it is
/// that constant.
fn is_one_of(store: &Store, src: PackedReg, dst: &Reg) -> bool {
    let constant = store.arena.val(src.val);
    store.arena.is(src, SANE_SCALAR | CONST)
        && constant.off == dst.off
        && constant.extra == dst.extra
        && constant.ref_obj_id == dst.ref_obj_id
        && value_within(&dst.val, &constant.val)
}

fn compute_jmp(env: &mut Env<'_>, insn: Insn, dst: PackedReg, src: PackedReg) -> Option<Results> {
    if !env.store.arena.is(dst, SANE_SCALAR) || !env.store.arena.is(src, SANE_SCALAR) {
        return None;
    }
    let (d, s) = (env.store.arena.val(dst.val), env.store.arena.val(src.val));
    let (op, is_jmp32) = (JmpOp::from_code(insn.op())?, insn.class() == BPF_JMP32);
    let rules = env.facts.rules();
    if scalar_rules::is_not_known(rules, insn, &d.val, &s.val) {
        return None;
    }
    if let Some(taken) = scalar_rules::is_taken(rules, &d.val, &s.val, op, is_jmp32) {
        return Some([NONE, u32::from(taken), 0, 0]);
    }
    let same_reg = insn.is_src_reg() && insn.src == insn.dst;
    if same_reg && let Some(taken) = scalar_rules::is_taken_by_itself(rules, &d.val, op, is_jmp32) {
        return Some([NONE, u32::from(taken), 0, 0]);
    }
    let mut results = [0; 4];
    for (op, at) in [(op, 0), (op.negated(), 2)] {
        if op == JmpOp::Eq && !is_jmp32 && is_one_of(&env.store, src, &d) {
            results[at] = src.val;
            results[at + 1] = src.val;
            continue;
        }
        let (mut a, mut b) = (d.val, s.val);
        if same_reg {
            scalar_rules::refine_same(rules, op, is_jmp32, &mut a);
            b = a;
        } else if scalar_rules::teaches(rules, &a, &b, op, is_jmp32) {
            scalar_rules::refine(rules, op, is_jmp32, &mut a, &mut b);
        }
        if a.violated_rule().is_some() || b.violated_rule().is_some() {
            return None;
        }
        results[at] = narrowed(&mut env.store, dst, &d, a);
        if insn.is_src_reg() {
            results[at + 1] = narrowed(&mut env.store, src, &s, b);
        }
    }
    Some(results)
}

/// The name of the register when its number is `val`.
fn narrowed(store: &mut Store, name: PackedReg, reg: &Reg, val: Scalar) -> u32 {
    match val == reg.val {
        true => name.val,
        false => store.arena.pack(&Reg { val, ..*reg }).val,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [i64; 16] = [
        0,
        1,
        2,
        7,
        31,
        32,
        33,
        63,
        64,
        0x7fff,
        0x1234_5678,
        -1,
        -2,
        -64,
        -0x0765_4321,
        (1 << 30) - 2,
    ];

    fn pairs() -> impl Iterator<Item = (u64, u64)> {
        EDGES.iter().flat_map(|&a| EDGES.iter().map(move |&b| (a as u64, b as u64)))
    }

    #[test]
    fn constants_are_folded_as_the_domain_does_it() {
        let mut folded = 0;
        for (a, b) in pairs() {
            for op in (0..=0xd0).step_by(0x10) {
                for class in [BPF_ALU, BPF_ALU64] {
                    let insn = Insn { code: op | BPF_X | class, dst: 0, src: 1, off: 0, imm: 0 };
                    let names = [a, b].map(|v| constant_name(v).expect("an edge has a name"));
                    let Some(name) = fold_alu(insn, names[0], names[1]) else { continue };
                    let mut dst = Scalar::constant(a);
                    let op = AluOp::from_code(op).expect("what is folded is an operation");
                    assert!(skep_domain::alu(
                        op,
                        class == BPF_ALU64,
                        &mut dst,
                        &Scalar::constant(b)
                    ));
                    let value = named_constant(name).expect("a constant");
                    assert_eq!(dst, Scalar::constant(value), "{op:?} {class} {a:x} {b:x}");
                    folded += 1;
                }
            }
        }
        assert!(folded > 2000, "{folded}");
    }

    #[test]
    fn constants_are_compared_as_the_domain_does_it() {
        for (a, b) in pairs() {
            for op in (0x10..=0xd0).step_by(0x10) {
                for class in [BPF_JMP, BPF_JMP32] {
                    let insn = Insn { code: op | BPF_X | class, dst: 0, src: 1, off: 0, imm: 0 };
                    let known = JmpOp::from_code(op).and_then(|op| {
                        let (a, b) = (Scalar::constant(a), Scalar::constant(b));
                        skep_domain::is_branch_taken(&a, &b, op, class == BPF_JMP32)
                    });
                    assert_eq!(holds(insn, a, b), known, "{op:x} {class} {a:x} {b:x}");
                }
            }
        }
    }
}
