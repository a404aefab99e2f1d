//! The abstract value of a register: a range of numbers, or a range of frame offsets.
//!
//! # Invariants
//! 1. A register that may hold an address in the frame is not a number. Any other use of such an
//!    address ends the analysis without a result.

use crate::asm::Width;
use crate::op::{Addr, AluOp, AtomicOp, DivOp, Op, Reg, RegSet, ShiftOp, Size, Src};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    /// An address, as an offset from r10.
    Frame,
    /// A number or an address.
    Mixed,
}

/// `lo <= value <= hi`, and `value - off` is the same number for all values with that `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) kind: Kind,
    pub(super) lo: i64,
    pub(super) hi: i64,
    pub(super) id: u32,
    pub(super) off: i64,
}

/// `lo <= value <= hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) lo: i64,
    pub(super) hi: i64,
}

/// The value of a register at which a loop ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) reg: Reg,
    pub(super) value: i64,
}

/// Number of registers: all except the spare ones, which no op has yet.
const COUNT: usize = 12;

/// Whether an op that has these registers can be analysed.
pub(in crate::opt) fn are_known(regs: RegSet) -> bool {
    regs.0 >> COUNT == 0
}

/// The state before an op.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) regs: [Value; COUNT],
    /// The next `id`.
    pub(super) next: u32,
}

/// The `id` of a value that is related to no other.
const ALONE: u32 = 0;
/// The first `id` assigned in a block; each register starts with one of the lower ones.
const FIRST: u32 = 1 + COUNT as u32;
const U32: i64 = u32::MAX as i64;

/// A range of numbers.
pub(super) fn number(lo: i64, hi: i64) -> Value {
    Value { kind: Kind::Number, lo, hi, id: ALONE, off: 0 }
}

fn any(width: Width) -> Value {
    if width == Width::W64 { number(i64::MIN, i64::MAX) } else { number(0, U32) }
}

/// The range of all numbers with as many bits as the upper bound, which is not negative.
fn filled(value: i64) -> i64 {
    u64::MAX.checked_shr(value.leading_zeros()).unwrap_or(0) as i64
}

impl Value {
    fn plus(self, by: i64) -> Option<Value> {
        let (lo, hi) = (self.lo.checked_add(by)?, self.hi.checked_add(by)?);
        Some(Value { lo, hi, off: self.off.checked_add(by)?, ..self })
    }

    /// The sum; addresses stay addresses.
    fn sum(self, other: Value) -> Option<Value> {
        let kind = match (self.kind, other.kind) {
            (Kind::Number, kind) | (kind, Kind::Number) => kind,
            _ => return None,
        };
        let (lo, hi) = (self.lo.checked_add(other.lo)?, self.hi.checked_add(other.hi)?);
        Some(Value { kind, ..number(lo, hi) })
    }

    pub(super) fn within(self, lo: i64, hi: i64) -> bool {
        self.kind == Kind::Number && lo <= self.lo && self.hi <= hi
    }

    /// The result of truncation to a width.
    fn cut(self, width: Width) -> Value {
        if width == Width::W64 || self.within(0, U32) { self } else { any(Width::W32) }
    }
}

impl State {
    /// Unknown.
    pub(super) fn new() -> State {
        let mut state = State { regs: [any(Width::W64); COUNT], next: FIRST };
        for (reg, value) in (1..).zip(&mut state.regs) {
            value.id = reg;
        }
        state.regs[usize::from(Reg::FP.0)] = Value { kind: Kind::Frame, ..number(0, 0) };
        state
    }

    pub(super) fn of(&self, reg: Reg) -> Value {
        self.regs[usize::from(reg.0)]
    }

    /// The join of two states; registers stay related if they are related in both.
    pub(super) fn joined(&self, other: &State) -> State {
        let mut state = State { regs: self.regs, next: FIRST };
        // Remainders of the ids so far: most registers are related to no other.
        let mut seen = 0u64;
        for at in 0..COUNT {
            let (a, b) = (self.regs[at], other.regs[at]);
            let like = |before: &usize| {
                let (c, d) = (self.regs[*before], other.regs[*before]);
                let same = (a.id, b.id) == (c.id, d.id);
                same && a.off.wrapping_sub(c.off) == b.off.wrapping_sub(d.off)
            };
            let id = 1 << (a.id % u64::BITS);
            let before = if seen & id == 0 { None } else { (0..at).find(like) };
            seen |= id;
            let (id, off) = match before {
                Some(before) => {
                    let by = a.off.wrapping_sub(self.regs[before].off);
                    let first = state.regs[before];
                    (first.id, first.off.wrapping_add(by))
                }
                None => (at as u32 + 1, 0),
            };
            let kind = if a.kind == b.kind { a.kind } else { Kind::Mixed };
            let (lo, hi) = (a.lo.min(b.lo), a.hi.max(b.hi));
            state.regs[at] = Value { kind, lo, hi, id, off };
        }
        state
    }

    /// Widening: a range that has grown is extended to the next of a few fixed bounds.
    pub(super) fn widened(&mut self, before: &State) {
        for (value, before) in self.regs.iter_mut().zip(&before.regs) {
            if value.lo < before.lo {
                value.lo = if value.lo >= 0 { 0 } else { i64::MIN };
            }
            if value.hi > before.hi {
                let mut steps = (1..16).map(|step| (1i64 << (4 * step)) - 1);
                value.hi = steps.find(|step| *step >= value.hi).unwrap_or(i64::MAX);
            }
        }
    }

    /// Restricts `reg`, and all registers related to it, to a range; returns whether it is
    /// possible.
    pub(super) fn confine(&mut self, reg: Reg, to: Bounds) -> bool {
        let of = self.of(reg);
        for value in self.regs.iter_mut().filter(|v| v.id == of.id && v.kind == Kind::Number) {
            let by = value.off.wrapping_sub(of.off);
            let (lo, hi) = (to.lo.saturating_add(by), to.hi.saturating_add(by));
            (value.lo, value.hi) = (value.lo.max(lo), value.hi.min(hi));
            if value.lo > value.hi {
                return false;
            }
        }
        true
    }

    /// The value of `reg` once the limit is reached, if the two registers are related.
    pub(super) fn at_limit(&self, reg: Reg, limit: Limit) -> Option<i64> {
        let (of, tested) = (self.of(reg), self.of(limit.reg));
        let both = of.id == tested.id && of.kind == Kind::Number && tested.kind == Kind::Number;
        both.then(|| limit.value.checked_sub(tested.off.checked_sub(of.off)?)).flatten()
    }

    fn named(&mut self, value: Value) -> Value {
        if value.id != ALONE {
            return value;
        }
        self.next += 1;
        Value { id: self.next, off: 0, ..value }
    }

    fn number_of(&self, src: Src, width: Width) -> Option<Value> {
        let value = match src {
            Src::Reg(reg) => self.of(reg),
            Src::Imm(imm) if width == Width::W64 => number(imm.into(), imm.into()),
            Src::Imm(imm) => number((imm as u32).into(), (imm as u32).into()),
            Src::Mem(_) => any(width),
        };
        (value.kind == Kind::Number).then(|| value.cut(width))
    }

    /// The sum that is an address: of any numbers; of a frame address and a known number.
    pub(super) fn place(&self, addr: Addr) -> Option<Value> {
        let mut sum = Some(self.of(addr.base));
        let mut is_number = self.of(addr.base).kind == Kind::Number;
        if let Some((reg, scale)) = addr.index {
            let index = self.of(reg);
            is_number &= index.kind == Kind::Number;
            let scaled = if scale == 0 { Some(index) } else { shl(index, scale.into()) };
            sum = sum.zip(scaled).and_then(|(base, index)| base.sum(index));
        }
        let sum = sum.and_then(|sum| sum.plus(addr.disp.into()));
        match is_number {
            true => Some(sum.unwrap_or(any(Width::W64))),
            false => sum.filter(|sum| sum.kind == Kind::Frame),
        }
    }

    /// The effect of an op; `None` if an address in the frame escapes.
    pub(super) fn step(&mut self, op: &Op) -> Option<()> {
        if let Some(addr) = op.addr() {
            self.place(addr)?;
        }
        let made = match *op {
            Op::Mov { width: Width::W64, src: Src::Reg(src), .. } => Some(self.of(src)),
            Op::Lea { width: Width::W64, addr, .. } => Some(self.place(addr)?),
            Op::Alu { op: op @ (AluOp::Add | AluOp::Sub), width: Width::W64, dst, src } => {
                Some(self.added(op, dst, src)?)
            }
            _ => None,
        };
        let made = match made {
            Some(made) => made,
            None => {
                if !values(op).iter().all(|reg| self.of(reg).kind == Kind::Number) {
                    return None;
                }
                self.result(op)
            }
        };
        for reg in op.defs().iter() {
            self.regs[usize::from(reg.0)] = self.named(made);
        }
        Some(())
    }

    /// A 64-bit sum or difference.
    fn added(&self, op: AluOp, dst: Reg, src: Src) -> Option<Value> {
        let a = self.of(dst);
        let sum = match (op, src) {
            (_, Src::Imm(imm)) => {
                a.plus(if op == AluOp::Add { imm.into() } else { -i64::from(imm) })
            }
            (AluOp::Add, Src::Reg(reg)) => a.sum(self.of(reg)),
            (_, Src::Reg(reg)) => {
                let b = self.of(reg);
                let minus = b.lo.checked_neg().zip(b.hi.checked_neg());
                let minus = minus.filter(|_| b.kind == Kind::Number);
                minus.and_then(|(hi, lo)| a.sum(number(lo, hi)))
            }
            _ => None,
        };
        let numbers = |reg: Reg| self.of(reg).kind == Kind::Number;
        let only_numbers = numbers(dst) && !matches!(src, Src::Reg(reg) if !numbers(reg));
        if only_numbers { Some(sum.unwrap_or(any(Width::W64))) } else { sum }
    }

    /// The result of an op on numbers.
    fn result(&self, op: &Op) -> Value {
        let known = match *op {
            Op::Mov { width, src, .. } => self.number_of(src, width),
            Op::LdImm { value, .. } => Some(number(value as i64, value as i64)),
            Op::Zext { size, src, .. } => Some(zext(self.of(src), size)),
            Op::MovSx { size, width, src, .. } => Some(sext(self.of(src), size, width)),
            Op::Load { size, sign: false, .. } | Op::Swap { size, .. } => {
                Some(zext(any(Width::W64), size))
            }
            Op::Load { size, sign: true, .. } => Some(sext(any(Width::W64), size, Width::W64)),
            Op::Alu { op, width, dst, src } => {
                let operands = self.number_of(Src::Reg(dst), width).zip(self.number_of(src, width));
                let result = operands.and_then(|(a, b)| alu(op, width, a, b));
                Some(
                    result
                        .filter(|v| width == Width::W64 || v.within(0, U32))
                        .unwrap_or(any(width)),
                )
            }
            Op::Shift { op, width, src, by, .. } => {
                let result = self.number_of(Src::Reg(src), width).and_then(|a| shift(op, a, by));
                Some(
                    result
                        .filter(|v| width == Width::W64 || v.within(0, U32))
                        .unwrap_or(any(width)),
                )
            }
            Op::Div { op, width, dst, src: Src::Imm(by @ 1..) } => {
                let a = self.number_of(Src::Reg(dst), width);
                a.filter(|a| a.lo >= 0).and_then(|a| match op {
                    DivOp::Div => Some(number(a.lo / i64::from(by), a.hi / i64::from(by))),
                    DivOp::Mod => Some(number(0, a.hi.min(i64::from(by) - 1))),
                    _ => None,
                })
            }
            Op::Neg { width, .. } | Op::Div { width, .. } | Op::Lea { width, .. } => {
                Some(any(width))
            }
            _ => None,
        };
        known.unwrap_or(any(Width::W64))
    }
}

/// Registers that an op reads other than as part of an address.
fn values(op: &Op) -> RegSet {
    match *op {
        Op::Load { .. } | Op::Probe { .. } | Op::ArrayLookup { key: Src::Mem(_), .. } => {
            RegSet::NONE
        }
        Op::Store { src, .. } | Op::AluStore { src, .. } => src.uses(),
        Op::Atomic { op: AtomicOp::Cmpxchg, reg, .. } => RegSet::of(&[reg, Reg::R0]),
        Op::Atomic { reg, .. } => RegSet::of(&[reg]),
        _ => op.uses(),
    }
}

fn shl(a: Value, by: u32) -> Option<Value> {
    let fits = a.lo >= 0 && a.kind == Kind::Number && a.hi <= i64::MAX >> by;
    fits.then(|| number(a.lo << by, a.hi << by))
}

fn zext(a: Value, size: Size) -> Value {
    let most = (u64::MAX >> (64 - 8 * size.bytes())) as i64;
    match size {
        Size::B8 => a,
        _ if a.within(0, most) => a,
        _ => number(0, most),
    }
}

fn sext(a: Value, size: Size, width: Width) -> Value {
    let most = (u64::MAX >> (65 - 8 * size.bytes())) as i64;
    match size {
        Size::B8 => a,
        _ if a.within(0, most) => a,
        _ if width == Width::W64 => number(-most - 1, most),
        _ => any(width),
    }
}

/// The result of an operation on two numbers of that width, before truncation.
fn alu(op: AluOp, width: Width, a: Value, b: Value) -> Option<Value> {
    let (a_plain, b_plain) = (a.lo >= 0, b.lo >= 0);
    match op {
        // Including small negative numbers.
        AluOp::Add if b.lo == b.hi && width == Width::W32 => a.plus(i64::from(b.lo as u32 as i32)),
        AluOp::Add => a.sum(b),
        AluOp::Sub => Some(number(a.lo.checked_sub(b.hi)?, a.hi.checked_sub(b.lo)?)),
        AluOp::And if a_plain && b_plain => Some(number(0, a.hi.min(b.hi))),
        AluOp::And if a_plain => Some(number(0, a.hi)),
        AluOp::And if b_plain => Some(number(0, b.hi)),
        AluOp::Or | AluOp::Xor if a_plain && b_plain => Some(number(0, filled(a.hi | b.hi))),
        AluOp::Mul if a_plain && b_plain => {
            Some(number(a.lo.checked_mul(b.lo)?, a.hi.checked_mul(b.hi)?))
        }
        _ => None,
    }
}

fn shift(op: ShiftOp, a: Value, by: Src) -> Option<Value> {
    match (op, by) {
        (ShiftOp::Shl, Src::Imm(by)) => shl(a, by as u32),
        (ShiftOp::Shr, Src::Imm(by)) if a.lo >= 0 => Some(number(a.lo >> by, a.hi >> by)),
        (ShiftOp::Shr, Src::Imm(by @ 1..)) => Some(number(0, (u64::MAX >> by) as i64)),
        (ShiftOp::Shr, Src::Reg(_)) if a.lo >= 0 => Some(number(0, a.hi)),
        _ => None,
    }
}
