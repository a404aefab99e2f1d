//! Jumps.
//!
//! Kernel: `check_cond_jmp_op`, `is_branch_taken`, `reg_set_min_max`, `mark_ptr_or_null_regs`
//! (6.18).

use super::linked_jump;
use super::linked_regs::Linked;
use super::patch::{Patch, Renames, named_with_id};
use super::reg_arg::Operand;
use super::scalar_insn::{self, Outcome};
use super::scalar_rules;
use crate::HoleKind;
use crate::check::linked_jump::{join_operands, target};
use crate::env::{Env, Facts, Walk};
use crate::explore::next::Next;
use crate::passes::reserved::check_insn_fields;
use crate::rejection::{Check, InsnFault, Regno, Stop, reject, unsupported};
use crate::state::arena::PackedReg;
use crate::state::history::{Access, LinkedReg, LinkedRegs};
use crate::state::reg::{AT_PKT_END, BEYOND_PKT_END, BPF_ADD_CONST, Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use crate::state::values::SCALAR;
use skep_domain::JmpOp;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::MapType;
use skep_uapi::limits::{BPF_MAX_VAR_OFF, MAX_PACKET_OFF};

/// The operands of a comparison.
struct Operands {
    op: JmpOp,
    is_jmp32: bool,
    dst: Reg,
    src: Reg,
}

/// Unconditional jumps.
pub(crate) fn check_ja(env: &Env<'_>) -> Check<Next> {
    let insn = env.insn();
    refuse_reserved(&env.walk, insn)?;
    let off = if insn.class() == BPF_JMP { i64::from(insn.off) } else { i64::from(insn.imm) };
    Ok(Next::Insn((i64::from(env.walk.insn_idx) + off + 1) as u32))
}

fn refuse_reserved(walk: &Walk, insn: Insn) -> Check {
    if let Err(refused) = check_insn_fields(walk.insn_idx as usize, &insn) {
        reject!(EINVAL, *refused.kind);
    }
    Ok(())
}

/// Conditional jumps.
pub(crate) fn check_cond_jmp(env: &mut Env<'_>) -> Check<Next> {
    let insn = env.insn();
    if insn.op() == BPF_JCOND {
        return check_may_goto(env, insn);
    }
    if let Some(outcome) = scalar_insn::compare(env, insn) {
        return follow_scalars(env, insn, outcome);
    }
    let Some(op) = JmpOp::from_code(insn.op()) else {
        reject!(EINVAL, InsnFault::JmpOpcode { op: insn.op() });
    };
    env.check_reg_arg(insn.dst, Operand::Src)?;
    refuse_reserved(&env.walk, insn)?;
    let o = read_operands(env, insn, op)?;
    if insn.is_src_reg() {
        // For backtracking: if one operand has to be precise before the jump, so has the other.
        env.walk.frame_mut().chains.lose(insn.dst);
        env.walk.frame_mut().chains.lose(insn.src);
    }
    let stack_ptr = |reg: &Reg| reg.ty.is(Base::Stack);
    if stack_ptr(&o.dst) || stack_ptr(&o.src) {
        let access = Access::StackPtr { dst: stack_ptr(&o.dst), src: stack_ptr(&o.src) };
        env.walk.push_jmp_history(access, LinkedRegs::default());
    }
    let scalars = o.dst.is_scalar() && o.src.is_scalar();
    if scalars && scalar_rules::is_not_known(env.facts.rules(), insn, &o.dst.val, &o.src.val) {
        return unsupported("loops up to a range, on this kernel");
    }
    let taken = is_branch_taken(env, &o);
    let same = scalars && insn.is_src_reg() && insn.src == insn.dst;
    let of_itself =
        || scalar_rules::is_taken_by_itself(env.facts.rules(), &o.dst.val, o.op, o.is_jmp32);
    match taken.or_else(|| of_itself().filter(|_| same)) {
        Some(taken) => follow_one(env, insn, [o.dst.is_scalar(), o.src.is_scalar()], taken),
        None => {
            let linked = linked_with_operands(env, insn);
            follow_both(env, insn, &o, &linked)
        }
    }
}

/// The registers that share an id with a scalar operand. One that shares its id with both operands
/// is listed twice. Registers that do not fit lose their id, so this is called once per jump.
fn linked_with_operands(env: &mut Env<'_>, insn: Insn) -> Linked {
    let mut linked = Linked::default();
    let regs = [insn.src, insn.dst];
    let used = if insn.is_src_reg() { &regs[..] } else { &regs[1..] };
    let before = regs.map(|regno| env.walk.frame().name(regno));
    let mut listed = 0;
    for &regno in used {
        let name = env.walk.frame().name(regno);
        let id = name.id & !BPF_ADD_CONST;
        // A kernel without the list visits each once.
        let is_done = id == listed && env.facts.rules().any_number_linked;
        if name.id != 0 && env.store.arena.is(name, SCALAR) && !is_done {
            env.collect_linked_regs(name.id, &mut linked);
            listed = id;
        }
    }
    if env.facts.rules().operands_keep_ids {
        for (regno, name) in regs.into_iter().zip(before).filter(|it| used.contains(&it.0)) {
            env.walk.cur.frame_mut().refine_name(regno, name);
        }
    }
    linked
}

/// A comparison of scalars whose outcome is in the cache.
fn follow_scalars(env: &mut Env<'_>, insn: Insn, outcome: Outcome) -> Check<Next> {
    scalar_insn::scratch(&mut env.walk, insn);
    env.note_operands(insn);
    let names = match outcome {
        Outcome::Decided(taken) => {
            let next = follow_one(env, insn, [true; 2], taken);
            join_operands(&mut env.walk, insn);
            return next;
        }
        Outcome::Open(names) => names,
    };
    join_operands(&mut env.walk, insn);
    let compared = [insn.dst, insn.src].map(|r| env.walk.cur.frame().name(r));
    let linked = linked_with_operands(env, insn);
    if linked.is_shared() {
        if compared == [insn.dst, insn.src].map(|r| env.walk.cur.frame().name(r)) {
            return linked_jump::follow(env, insn, names, &linked);
        }
        // An operand lost its id because it did not fit into the list.
        let op = JmpOp::from_code(insn.op());
        let Some(op) = op else { return Err(Stop::bug("a jump without operator")) };
        let o = read_operands(env, insn, op)?;
        return follow_both(env, insn, &o, &linked);
    }
    let dst = env.walk.cur.frame().name(insn.dst);
    let src = if insn.is_src_reg() { env.walk.cur.frame().name(insn.src) } else { dst };
    let set = |env: &mut Env<'_>, at: usize| {
        let frame = env.walk.cur.frame_mut();
        frame.refine_name(insn.dst, PackedReg { val: names[at], ..dst });
        if insn.is_src_reg() {
            frame.refine_name(insn.src, PackedReg { val: names[at + 1], ..src });
        }
    };
    set(env, 0);
    let goto = target(env, insn);
    env.push_stack(goto, env.walk.insn_idx, false)?;
    set(env, 2);
    env.tell_branch_state();
    Ok(Next::Insn(env.walk.insn_idx + 1))
}

fn read_operands(env: &mut Env<'_>, insn: Insn, op: JmpOp) -> Check<Operands> {
    let is_jmp32 = insn.class() == BPF_JMP32;
    if !insn.is_src_reg() {
        let src = Reg::constant(i64::from(insn.imm) as u64);
        return Ok(Operands { op, is_jmp32, dst: env.reg(insn.dst), src });
    }
    env.check_reg_arg(insn.src, Operand::Src)?;
    let (dst, src) = (env.reg(insn.dst), env.reg(insn.src));
    if !(is_pkt_pointer_any(&dst) && is_pkt_pointer_any(&src)) && env.is_pointer_value(insn.src) {
        reject!(EACCES, InsnFault::Compared { regno: Regno(insn.src) });
    }
    Ok(Operands { op, is_jmp32, dst, src })
}

fn is_pkt_pointer_any(reg: &Reg) -> bool {
    reg.ty.is_packet() || reg.ty.is(Base::PacketEnd)
}

/// `may_goto`: the loop may end here at any time; it is walked like an iterator's next call.
fn check_may_goto(env: &mut Env<'_>, insn: Insn) -> Check<Next> {
    let plain = insn.code == BPF_JMP | BPF_JCOND && insn.src == BPF_MAY_GOTO;
    let nowhere = insn.off == 0 && !env.facts.rules().may_goto_nowhere;
    if !plain || insn.dst != 0 || insn.imm != 0 || nowhere {
        let (off, imm) = (insn.off, insn.imm);
        reject!(EINVAL, InsnFault::MayGotoImm { off: off.into(), imm });
    }
    let idx = env.walk.insn_idx;
    let prev = env.walk.cur.meta.parent.and_then(|parent| env.find_prev_entry(parent, idx));
    env.push_stack(idx + 1, idx, false)?;
    if let Some(branch) = env.store.branches.last_mut() {
        branch.state.meta.may_goto_depth += 1;
    }
    if let Some(prev) = prev {
        env.widen_imprecise_scalars(prev);
    }
    Ok(Next::Insn(target(env, insn)))
}

/// Whether the comparison always or never holds.
fn is_branch_taken(env: &mut Env<'_>, o: &Operands) -> Option<bool> {
    if is_pkt_pointer_any(&o.dst) && is_pkt_pointer_any(&o.src) && !o.is_jmp32 {
        return is_pkt_ptr_branch_taken(o);
    }
    match (o.dst.is_scalar(), o.src.is_scalar()) {
        (true, true) => {
            scalar_rules::is_taken(env.facts.rules(), &o.dst.val, &o.src.val, o.op, o.is_jmp32)
        }
        (false, true) => not_null_branch_taken(env, o, &o.dst, &o.src),
        (true, false) => not_null_branch_taken(env, o, &o.src, &o.dst),
        (false, false) => None,
    }
}

/// Whether the kernel knows that the pointer is not NULL.
fn is_known_not_null(env: &mut Env<'_>, ptr: &Reg) -> bool {
    let rules = env.facts.rules();
    let is_known = match ptr.ty.base {
        Base::ConstMapPtr => rules.maps_not_null,
        Base::BtfId | Base::Mem => rules.memory_not_null,
        _ => true,
    };
    if !is_known || !ptr.is_not_null() {
        return false;
    }
    let is_far = ptr.val.umax >= BPF_MAX_VAR_OFF as u64;
    !(is_far && (rules.far_pointers_may_be_null || env.goes_by(HoleKind::ComparedPointer)))
}

/// Whether a pointer that equals this one is not NULL, on kernels where only some types imply that.
fn teaches_not_null(env: &mut Env<'_>, ptr: &Reg) -> bool {
    is_known_not_null(env, ptr) || ptr.ty.is(Base::XdpSock)
}

/// The outcome of comparing a non-NULL pointer with zero. A 32-bit comparison needs only the low
/// half to be zero.
fn not_null_branch_taken(env: &mut Env<'_>, o: &Operands, ptr: &Reg, number: &Reg) -> Option<bool> {
    let low = if o.is_jmp32 { u64::from(u32::MAX) } else { u64::MAX };
    let bits = number.val.var_off;
    let is_zero = bits.mask & low == 0 && bits.value & low == 0;
    let by_halves = o.is_jmp32 && !env.facts.rules().halves_of_pointers_decide;
    if !is_zero || by_halves || !is_known_not_null(env, ptr) {
        return None;
    }
    let taken = match o.op {
        JmpOp::Eq => false,
        JmpOp::Ne => true,
        _ => return None,
    };
    // The low half of a valid address may be 0, and a kernel object that is absent has address 0.
    let of_kernel = ptr.ty.base == Base::BtfId && !ptr.ty.has(TypeFlag::MEM_ALLOC);
    let unsure = (o.is_jmp32 || of_kernel) && env.goes_by(HoleKind::ComparedPointer);
    (!unsure).then_some(taken)
}

fn is_pkt_ptr_branch_taken(o: &Operands) -> Option<bool> {
    let (pkt, op) = if o.src.ty.is(Base::PacketEnd) {
        (&o.dst, o.op)
    } else if o.dst.ty.is(Base::PacketEnd) {
        (&o.src, o.op.swapped())
    } else {
        return None;
    };
    let range = pkt.range();
    if range >= 0 {
        return None;
    }
    match op {
        JmpOp::Le | JmpOp::Gt if range == BEYOND_PKT_END => Some(op == JmpOp::Gt),
        JmpOp::Lt | JmpOp::Ge if range == BEYOND_PKT_END || range == AT_PKT_END => {
            Some(op == JmpOp::Ge)
        }
        _ => None,
    }
}

/// Only one outcome is possible; the other is walked speculatively where that matters.
#[inline(always)] // The outcome of most jumps is known.
fn follow_one(env: &mut Env<'_>, insn: Insn, scalars: [bool; 2], taken: bool) -> Check<Next> {
    if scalars[0] {
        env.mark_chain_precision(insn.dst)?;
    }
    if insn.is_src_reg() && scalars[1] {
        env.mark_chain_precision(insn.src)?;
    }
    let (goto, fall) = (target(env, insn), env.walk.insn_idx + 1);
    let (next, other) = if taken { (goto, fall) } else { (fall, goto) };
    if !env.facts.bypass_spec_v1 {
        walk_mispredicted_path(env, insn, other)?;
    }
    env.tell_branch_state();
    Ok(Next::Insn(next))
}

#[inline(never)]
fn walk_mispredicted_path(env: &mut Env<'_>, insn: Insn, other: u32) -> Check {
    let frameno = env.walk.cur.curframe() as u8;
    let mut patch = Patch::default();
    patch.set(LinkedReg { frameno, is_reg: true, at: insn.dst }, Reg::unknown());
    if insn.is_src_reg() {
        patch.set(LinkedReg { frameno, is_reg: true, at: insn.src }, Reg::unknown());
    }
    env.push_stack(other, env.walk.insn_idx, true)?;
    env.store.apply_to_branch(&patch);
    Ok(())
}

fn follow_both(env: &mut Env<'_>, insn: Insn, o: &Operands, linked: &Linked) -> Check<Next> {
    if linked.is_shared() {
        linked_jump::record(env, insn, linked)?;
    }
    if env.store.current_marks.is_some() {
        env.mark_linked(insn, linked);
    }
    let goto = target(env, insn);
    env.push_stack(goto, env.walk.insn_idx, false)?;

    let (mut jumps, mut falls) = (Patch::default(), Patch::default());
    refine(env, insn, o, true, &mut jumps)?;
    refine(env, insn, o, false, &mut falls)?;
    if linked.is_shared() {
        for patch in [&mut jumps, &mut falls] {
            sync_operands(env, insn, patch, linked);
        }
    }
    learn_from_pointers(env, insn, o, &mut jumps, &mut falls)?;
    env.store.apply_to_branch(&jumps);
    env.apply(&falls);
    env.tell_branch_state();
    Ok(Next::Insn(env.walk.insn_idx + 1))
}

fn place(env: &Env<'_>, regno: u8) -> LinkedReg {
    LinkedReg { frameno: env.walk.cur.curframe() as u8, is_reg: true, at: regno }
}

/// The operands after the comparison holds (`jumps`) or does not.
fn refine(env: &mut Env<'_>, insn: Insn, o: &Operands, jumps: bool, patch: &mut Patch) -> Check {
    if !o.dst.is_scalar() || !o.src.is_scalar() {
        return Ok(());
    }
    let op = if jumps { o.op } else { o.op.negated() };
    let (mut dst, mut src) = (env.reg(insn.dst), o.src);
    if insn.is_src_reg() {
        src = env.reg(insn.src);
    }
    let names = if jumps { ["true_reg1", "true_reg2"] } else { ["false_reg1", "false_reg2"] };
    if insn.is_src_reg() && insn.src == insn.dst {
        scalar_rules::refine_same(env.facts.rules(), op, o.is_jmp32, &mut dst.val);
        // Checked once for each operand: forgetting contradictory bounds the first time may leave
        // others.
        for name in names {
            env.sane_bounds(&mut dst, name)?;
        }
        patch.set(place(env, insn.dst), dst);
        return Ok(());
    }
    if scalar_rules::teaches(env.facts.rules(), &dst.val, &src.val, op, o.is_jmp32) {
        scalar_rules::refine(env.facts.rules(), op, o.is_jmp32, &mut dst.val, &mut src.val);
    }
    let contradicts = |reg: &Reg| reg.val.violated_rule().is_some();
    if op == JmpOp::Nset && stay_contradictory(env) && (contradicts(&dst) || contradicts(&src)) {
        return unsupported("bounds that contradict one another, on this kernel");
    }
    env.sane_bounds(&mut dst, names[0])?;
    env.sane_bounds(&mut src, names[1])?;
    patch.set(place(env, insn.dst), dst);
    if insn.is_src_reg() {
        patch.set(place(env, insn.src), src);
    }
    Ok(())
}

/// Kernels that compute bounds anew after a comparison do not reset contradictory ones, which a
/// test of bits may leave.
fn stay_contradictory(env: &Env<'_>) -> bool {
    let rules = env.facts.rules();
    rules.tested_keep_bounds && !rules.jumps_keep_bounds
}

fn sync_operands(env: &mut Env<'_>, insn: Insn, patch: &mut Patch, linked: &Linked) {
    let operands = [(insn.is_src_reg(), insn.src), (true, insn.dst)];
    for (used, regno) in operands {
        let at = place(env, regno);
        let reg = patch.get(env, at);
        if used && reg.is_scalar() && reg.id != 0 {
            env.sync_linked_regs(patch, at, linked);
        }
    }
}

fn learn_from_pointers(
    env: &mut Env<'_>,
    insn: Insn,
    o: &Operands,
    jumps: &mut Patch,
    falls: &mut Patch,
) -> Check {
    let both_pointers = !o.dst.is_scalar() && !o.src.is_scalar() && insn.is_src_reg();
    if env.facts.rules().pointers_teach_not_null
        && !o.is_jmp32
        && both_pointers
        && o.dst.ty.may_be_null() != o.src.ty.may_be_null()
        && o.dst.ty.base != Base::BtfId
        && o.src.ty.base != Base::BtfId
        && ([o.dst, o.src].iter().any(|reg| teaches_not_null(env, reg))
            || env.facts.rules().any_pointer_teaches_not_null
                && !env.goes_by(HoleKind::ComparedPointer))
    {
        let nullable = if o.src.ty.may_be_null() { insn.src } else { insn.dst };
        let mut reg = env.reg(nullable);
        mark_ptr_not_null(env.facts, &mut reg);
        match o.op {
            JmpOp::Eq => jumps.set(place(env, nullable), reg),
            JmpOp::Ne => falls.set(place(env, nullable), reg),
            _ => {}
        }
    }
    let by_register = insn.is_src_reg();
    let is_zero = match by_register {
        true => env.facts.rules().registers_check_null && o.src.is_null(),
        false => insn.imm == 0,
    };
    let null_check =
        !o.is_jmp32 && is_zero && matches!(o.op, JmpOp::Eq | JmpOp::Ne) && o.dst.ty.may_be_null();
    if null_check {
        if by_register && env.facts.rules().null_registers_precise {
            env.mark_chain_precision(insn.src)?;
        }
        let jump_is_null = o.op == JmpOp::Eq;
        let copies = named_with_id(env, o.dst.id);
        mark_ptr_or_null_regs(env, &copies, jumps, jump_is_null);
        mark_ptr_or_null_regs(env, &copies, falls, !jump_is_null);
        if o.dst.ref_obj_id != 0 && o.dst.ref_obj_id == o.dst.id {
            if jump_is_null {
                if let Some(refs) =
                    env.store.branches.last_mut().and_then(|b| b.state.refs.as_mut())
                {
                    refs.release(o.dst.id);
                }
            } else {
                env.walk.cur.refs.release(o.dst.id);
            }
        }
        return Ok(());
    }
    if !try_match_pkt_pointers(env, insn, o, jumps, falls) && env.is_pointer_value(insn.dst) {
        reject!(EACCES, InsnFault::Compared { regno: Regno(insn.dst) });
    }
    Ok(())
}

/// All copies of a checked pointer become NULL or non-NULL.
fn mark_ptr_or_null_regs(env: &mut Env<'_>, copies: &Renames, patch: &mut Patch, is_null: bool) {
    env.rename(patch, copies, |env, name| {
        let mut reg = env.store.arena.reg(name);
        let val = &reg.val;
        let is_start = val.smin == 0 && val.smax == 0 && val.const_value() == Some(0);
        if !reg.ty.may_be_null() || !is_start {
            return None;
        }
        if is_null {
            // The map, type and size are kept: states with NULL from different sources must compare
            // as different in a loop.
            reg.ty = RegType::SCALAR;
            reg.id = 0;
            reg.ref_obj_id = 0;
        } else {
            mark_ptr_not_null(env.facts, &mut reg);
            let rules = env.facts.rules();
            let keeps_id = rules.checked_keep_ids && reg.ref_obj_id == 0;
            if !keeps_id && !env.facts.may_point_to_spin_lock(&reg) {
                reg.id = 0;
            }
        }
        Some(env.store.arena.pack(&reg))
    });
}

/// The pointer is not NULL. A value of a map of maps becomes the inner map, a value of a socket map
/// the socket.
///
/// Kernel: `mark_ptr_not_null_reg` (6.18).
pub(crate) fn mark_ptr_not_null(facts: &Facts<'_>, reg: &mut Reg) {
    if reg.ty.base == Base::ConstMapPtr
        && let Some(map) = reg.map()
        && facts.map_has_async_field(map)
    {
        reg.extra = Extra::Map { map, uid: reg.id };
    }
    let map = reg.map().and_then(|m| facts.maps.get(m as usize));
    let (Base::MapValue, Some(map)) = (reg.ty.base, map) else {
        reg.ty = reg.ty.without(TypeFlag::PTR_MAYBE_NULL);
        return;
    };
    let base = match map.def.map_type {
        _ if map.inner.is_some() => Base::ConstMapPtr,
        MapType::Xskmap => Base::XdpSock,
        map_type if map_type.holds_sockets() => Base::Socket,
        _ => Base::MapValue,
    };
    reg.ty = RegType::of(base);
    if let Some(inner) = map.inner {
        let uid = if facts.map_has_async_field(inner) { reg.id } else { 0 };
        reg.extra = Extra::Map { map: inner, uid };
    }
}

/// Comparisons with `data_end` give packet pointers their range.
fn try_match_pkt_pointers(
    env: &mut Env<'_>,
    insn: Insn,
    o: &Operands,
    jumps: &mut Patch,
    falls: &mut Patch,
) -> bool {
    if !insn.is_src_reg() || o.is_jmp32 {
        return false;
    }
    let is_end = |pkt: &Reg, end: &Reg| {
        (pkt.ty.is(Base::Packet) && end.ty.is(Base::PacketEnd))
            || (pkt.ty.is(Base::PacketMeta) && is_init_pkt_pointer(end))
    };
    let (regno, pkt, op) = if is_end(&o.dst, &o.src) {
        (insn.dst, o.dst, o.op)
    } else if is_end(&o.src, &o.dst) {
        (insn.src, o.src, o.op.swapped())
    } else {
        return false;
    };
    // (branch on which `pkt` is inside, branch on which it is outside, whether strictly inside)
    let (inside, outside, open) = match op {
        JmpOp::Gt => (falls, jumps, false),
        JmpOp::Lt => (jumps, falls, true),
        JmpOp::Ge => (falls, jumps, true),
        JmpOp::Le => (jumps, falls, false),
        _ => return false,
    };
    find_good_pkt_pointers(env, inside, &pkt, open);
    mark_pkt_end(env, outside, regno, !open);
    true
}

fn is_init_pkt_pointer(reg: &Reg) -> bool {
    reg.ty.is(Base::Packet) && reg.id == 0 && reg.off == 0 && reg.val.const_value() == Some(0)
}

fn find_good_pkt_pointers(env: &mut Env<'_>, patch: &mut Patch, pkt: &Reg, open: bool) {
    let whole = env.facts.rules().offsets_are_bounds && pkt.off == 0;
    if pkt.off < 0 || (pkt.off == 0 && open && (!whole || pkt.val.umax == 0)) {
        return;
    }
    let umax = pkt.val.umax;
    if umax > MAX_PACKET_OFF || umax + pkt.off as u64 > MAX_PACKET_OFF {
        return;
    }
    let checked = if whole { umax as i32 } else { pkt.off };
    let range = checked + i32::from(open);
    let copies = named_with_id(env, pkt.id);
    env.rename(patch, &copies, |env, name| env.store.arena.with_range(name, pkt.ty, pkt.id, range));
}

fn mark_pkt_end(env: &Env<'_>, patch: &mut Patch, regno: u8, open: bool) {
    let at = place(env, regno);
    let mut reg = patch.get(env, at);
    if reg.ty.is(Base::Packet) {
        reg.extra = Extra::Range(if open { BEYOND_PKT_END } else { AT_PKT_END });
        patch.set(at, reg);
    }
}
