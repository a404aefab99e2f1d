//! The forward transfer function of one insn: the contents of registers and slots after it.

use super::value::{Value, anywhere};
use crate::passes::call_facts::callee_start;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::limits::MAX_BPF_STACK_BYTES;
use smallvec::SmallVec;
use std::cell::Cell;

/// Lowest stack offset.
pub(super) const STACK_MIN: i32 = -(MAX_BPF_STACK_BYTES as i32);

/// Contents of the registers and of the function's own slots before an insn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) regs: [Value; 10],
    /// Offsets of slots that hold stack addresses, ascending.
    pub(super) slots: SmallVec<[(i16, Value); 2]>,
}

/// The frames of the callers.
pub(super) struct Around<'a> {
    /// Number of callers.
    pub(super) depth: usize,
    /// The contents of their slots, outermost first.
    pub(super) callers: &'a [State],
    /// A stack address was stored at an unknown place: any slot may hold it.
    pub(super) lost: &'a Cell<bool>,
}

impl State {
    pub(super) fn reg(&self, regno: u8, depth: usize) -> Value {
        match self.regs.get(usize::from(regno)) {
            Some(&value) => value,
            None => Value::frame_pointer(depth),
        }
    }

    fn set(&mut self, regno: u8, value: Value) {
        if let Some(reg) = self.regs.get_mut(usize::from(regno)) {
            *reg = value;
        }
    }

    fn slot(&self, off: i16) -> Value {
        let found = self.slots.binary_search_by_key(&off, |slot| slot.0);
        found.map_or(Value::Other, |i| self.slots[i].1)
    }

    fn set_slot(&mut self, off: i16, value: Value) {
        match self.slots.binary_search_by_key(&off, |slot| slot.0) {
            Ok(i) if value.leads_to_stack() => self.slots[i].1 = value,
            Ok(i) => {
                self.slots.remove(i);
            }
            Err(i) if value.leads_to_stack() => self.slots.insert(i, (off, value)),
            Err(_) => {}
        }
    }

    /// Joins the state of another path; returns whether that changed anything.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (reg, &value) in self.regs.iter_mut().zip(&other.regs) {
            *reg = reg.join(value);
        }
        for &(off, value) in &other.slots {
            let old = self.slot(off);
            self.set_slot(off, old.join(value));
        }
        for i in 0..self.slots.len() {
            let (off, value) = self.slots[i];
            self.slots[i].1 = value.join(other.slot(off));
        }
        *self != before
    }

    /// Executes the insn at `idx`.
    pub(super) fn step(&mut self, insns: &[Insn], idx: u32, around: &Around<'_>) {
        let insn = insns[idx as usize];
        match insn.class() {
            BPF_ALU64 => self.alu64(insn, around.depth),
            BPF_ALU => self.alu32(insn, around.depth),
            BPF_LDX => {
                let loaded = self.loaded(insn, insn.src, around);
                self.set(insn.dst, loaded);
            }
            BPF_LD if insn.is_ld_imm64() => {
                let value = match insn.src {
                    0 => {
                        let second = insns.get(idx as usize + 1).copied().unwrap_or_default();
                        Value::Number(insn.imm64(second) as i64)
                    }
                    BPF_PSEUDO_FUNC => Value::Function(callee_start(idx as usize, &insn) as u32),
                    BPF_PSEUDO_MAP_FD => Value::Map(insn.imm as u32),
                    _ => Value::Other,
                };
                self.set(insn.dst, value);
            }
            BPF_LD => self.forget_after_call(),
            BPF_ST => self.stored(insn, Value::Other, around),
            BPF_STX if insn.mode() == BPF_ATOMIC => self.atomic(insn, around),
            BPF_STX => self.stored(insn, self.reg(insn.src, around.depth), around),
            BPF_JMP if insn.op() == BPF_CALL => self.forget_after_call(),
            _ => {}
        }
    }

    fn forget_after_call(&mut self) {
        self.regs[..6].fill(Value::Other);
    }

    fn alu64(&mut self, insn: Insn, depth: usize) {
        let src = match insn.is_src_reg() {
            true => self.reg(insn.src, depth),
            false => Value::Number(i64::from(insn.imm)),
        };
        let dst = self.reg(insn.dst, depth);
        let frames = dst.frames() | src.frames();
        let value = match (insn.op(), src) {
            (BPF_MOV, _) if insn.off == 0 => src,
            (BPF_MOV, _) => Value::among(src.frames()),
            (BPF_ADD, Value::Number(n)) if !insn.is_src_reg() => dst.plus(n),
            (BPF_SUB, Value::Number(n)) if !insn.is_src_reg() => dst.plus(n.wrapping_neg()),
            _ => Value::among(frames),
        };
        self.set(insn.dst, value);
    }

    /// A 32-bit operation never yields a stack address.
    fn alu32(&mut self, insn: Insn, depth: usize) {
        let value = match (insn.op(), insn.is_src_reg()) {
            (BPF_MOV, false) => Value::Number(i64::from(insn.imm as u32)),
            (BPF_MOV, true) if insn.off == 0 => match self.reg(insn.src, depth) {
                Value::Number(n) => Value::Number(i64::from(n as u32)),
                _ => Value::Other,
            },
            _ => Value::Other,
        };
        self.set(insn.dst, value);
    }

    fn atomic(&mut self, insn: Insn, around: &Around<'_>) {
        match insn.imm {
            BPF_LOAD_ACQ => {
                let loaded = self.loaded(insn, insn.src, around);
                self.set(insn.dst, loaded);
            }
            BPF_STORE_REL => {
                let value = self.reg(insn.src, around.depth);
                self.stored(insn, value, around);
            }
            imm if imm & BPF_FETCH != 0 => {
                let loaded = self.loaded(insn, insn.dst, around);
                // The exchanged value may be a stack address, too.
                let stored = self.reg(insn.src, around.depth);
                if stored.leads_to_stack() {
                    self.stored(insn, Value::among(stored.frames()), around);
                }
                self.set(if imm == BPF_CMPXCHG { 0 } else { insn.src }, loaded);
            }
            _ => {}
        }
    }

    /// The result of a load through `base`.
    fn loaded(&self, insn: Insn, base: u8, around: &Around<'_>) -> Value {
        let base = self.reg(base, around.depth);
        let is_plain = insn.mode() != BPF_MEMSX && insn.size() == BPF_DW;
        if !is_plain || !base.leads_to_stack() {
            return Value::Other;
        }
        let Value::At(frame, places) = base else { return anywhere(around.depth) };
        if around.lost.get() {
            return anywhere(around.depth);
        }
        let slots = match around.callers.get(usize::from(frame)) {
            Some(caller) => caller,
            None => self,
        };
        let held = |off: &i16| {
            let off = i32::from(*off) + i32::from(insn.off);
            let is_slot = (STACK_MIN..0).contains(&off) && off % 8 == 0;
            is_slot.then(|| slots.slot(off as i16))
        };
        match places.as_slice() {
            [off] => held(off).unwrap_or(anywhere(around.depth)),
            several => {
                let leads = |off| held(off).is_some_and(Value::leads_to_stack);
                match several.iter().any(leads) {
                    true => anywhere(around.depth),
                    false => Value::Other,
                }
            }
        }
    }

    /// The effect of a store through the destination.
    fn stored(&mut self, insn: Insn, value: Value, around: &Around<'_>) {
        let base = self.reg(insn.dst, around.depth);
        let places = match base {
            Value::At(frame, places) if usize::from(frame) == around.depth => places,
            _ => {
                if value.leads_to_stack() && base.leads_to_stack() {
                    around.lost.set(true);
                }
                return;
            }
        };
        let value = if insn.size() == BPF_DW { value } else { Value::Other };
        let only = places.only().is_some();
        for &off in places.as_slice() {
            let off = i32::from(off) + i32::from(insn.off);
            if !(STACK_MIN..0).contains(&off) {
                continue;
            }
            let slot = (off.div_euclid(8) * 8) as i16;
            let whole = off % 8 == 0 && insn.size() == BPF_DW;
            if only && whole {
                self.set_slot(slot, value);
            } else if value.leads_to_stack() {
                let old = self.slot(slot);
                self.set_slot(slot, old.join(value));
            }
        }
    }
}
