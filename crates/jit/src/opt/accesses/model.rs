//! Runs ops on random registers and memory, and records the accesses to shared memory.

use crate::Linkage;
use crate::asm::Width;
use crate::op::{Addr, AtomicOp, CLOBBERED, DivOp, Op, Reg, RmwOp, Shift, Size, Space, Src, Test};
use crate::opt::constants::{arithmetic, shifted};
use crate::opt::lookup;
use std::collections::HashMap;

/// An access to shared memory, or a value that may depend on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Load { bytes: u32, at: u64 },
    Store { bytes: u32, at: u64, value: u64 },
    Atomic { op: AtomicOp, bytes: u32, at: u64, value: u64 },
    Call(usize),
    Branch(usize),
}

/// The end of a frame, and how far below it the frame may reach.
const FP: u64 = 0x7f00_0000_0000;
const FRAME_BYTES: u64 = 1 << 16;

pub(super) struct Model<'a> {
    regs: [u64; Reg::COUNT],
    /// Bytes of private memory that were written.
    own: HashMap<u64, u8>,
    pub(super) events: Vec<Event>,
    /// Addresses that are shared, regardless of the op.
    shared: Vec<(u64, u32)>,
    linkage: &'a Linkage,
}

/// A deterministic pseudo-random number (the finaliser of MurmurHash3).
fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.rotate_left(32);
    x = (x ^ x >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}

fn low(value: u64, bytes: u32) -> u64 {
    value & u64::MAX >> (64 - 8 * bytes)
}

fn bytes_of(width: Width) -> u32 {
    if width == Width::W64 { 8 } else { 4 }
}

fn sign_extended(value: u64, size: Size) -> u64 {
    let unused = 64 - 8 * size.bytes();
    ((value << unused) as i64 >> unused) as u64
}

fn swapped(value: u64, size: Size) -> u64 {
    value.swap_bytes() >> (64 - 8 * size.bytes())
}

impl<'a> Model<'a> {
    pub(super) fn new(seed: u64, linkage: &'a Linkage) -> Model<'a> {
        let mut regs = std::array::from_fn(|reg| mix(seed, reg as u64));
        regs[usize::from(Reg::FP.0)] = FP;
        let (own, events, shared) = Default::default();
        Model { regs, own, events, shared, linkage }
    }

    /// The same, if the accesses in these events are shared.
    pub(super) fn sharing(self, events: &[Event]) -> Model<'a> {
        let place = |event: &Event| match *event {
            Event::Load { bytes, at }
            | Event::Store { bytes, at, .. }
            | Event::Atomic { bytes, at, .. } => Some((at, bytes)),
            Event::Call(_) | Event::Branch(_) => None,
        };
        Model { shared: events.iter().filter_map(place).collect(), ..self }
    }

    /// Sets a register to that value.
    pub(super) fn hold(&mut self, reg: Reg, value: u64) {
        self.set(reg, Width::W64, value);
    }

    fn reg(&self, reg: Reg) -> u64 {
        self.regs[usize::from(reg.0)]
    }

    fn set(&mut self, reg: Reg, width: Width, value: u64) {
        self.regs[usize::from(reg.0)] = low(value, bytes_of(width));
    }

    fn place(&self, addr: Addr) -> u64 {
        let index = addr.index.map_or(0, |(index, scale)| self.reg(index) << scale);
        self.reg(addr.base).wrapping_add(index).wrapping_add(i64::from(addr.disp) as u64)
    }

    /// The address of an access, and whether the memory is private to the run.
    fn find(&self, addr: Addr, bytes: u32) -> (u64, bool) {
        let at = self.place(addr);
        let in_frame = FP.wrapping_sub(at) <= FRAME_BYTES;
        let meets = |&(other, len): &(u64, u32)| {
            at.wrapping_sub(other) < u64::from(len) || other.wrapping_sub(at) < u64::from(bytes)
        };
        let own = addr.space == Space::Own && !self.shared.iter().any(meets);
        (at, own || in_frame)
    }

    fn own_value(&self, bytes: u32, at: u64) -> u64 {
        let byte = |at: u64| self.own.get(&at).copied().unwrap_or(mix(at, 0) as u8);
        (0..u64::from(bytes)).rev().fold(0, |sum, i| sum << 8 | u64::from(byte(at.wrapping_add(i))))
    }

    fn set_own(&mut self, bytes: u32, at: u64, value: u64) {
        for (i, byte) in (0..u64::from(bytes)).zip(value.to_le_bytes()) {
            self.own.insert(at.wrapping_add(i), byte);
        }
    }

    fn load(&mut self, bytes: u32, addr: Addr) -> u64 {
        let (at, own) = self.find(addr, bytes);
        if own {
            return self.own_value(bytes, at);
        }
        self.events.push(Event::Load { bytes, at });
        self.unknown(at, bytes)
    }

    fn store(&mut self, bytes: u32, addr: Addr, value: u64) {
        let ((at, own), value) = (self.find(addr, bytes), low(value, bytes));
        match own {
            true => self.set_own(bytes, at, value),
            false => self.events.push(Event::Store { bytes, at, value }),
        }
    }

    fn fill(&mut self, addr: Addr, bytes: u32) {
        match self.find(addr, bytes) {
            (at, true) => (0..u64::from(bytes)).for_each(|i| self.set_own(1, at + i, 0)),
            (at, false) => self.events.push(Event::Store { bytes, at, value: 0 }),
        }
    }

    /// The value that other threads may have stored by now.
    fn unknown(&self, at: u64, bytes: u32) -> u64 {
        low(mix(at, self.events.len() as u64), bytes)
    }

    fn value(&mut self, src: Src, width: Width) -> u64 {
        match src {
            Src::Reg(reg) => low(self.reg(reg), bytes_of(width)),
            Src::Imm(imm) => low(i64::from(imm) as u64, bytes_of(width)),
            Src::Mem(addr) => self.load(bytes_of(width), addr),
        }
    }

    /// Executes one op; `jumps`: it is a jump that remains one.
    pub(super) fn step(&mut self, at: usize, op: Op, jumps: bool) {
        match op {
            Op::Nop | Op::Jmp { .. } | Op::Throw | Op::Exit => {}
            Op::Load { .. } | Op::Store { .. } | Op::AluStore { .. } | Op::Atomic { .. } => {
                self.access(op);
            }
            Op::Fill { addr, bytes, .. } => self.fill(addr, bytes),
            Op::Br { test: Test { b, width, .. }, .. } => {
                self.value(b, width);
                if jumps {
                    self.events.push(Event::Branch(at));
                }
            }
            Op::Call { .. } | Op::Kfunc { .. } | Op::CallSub { .. } | Op::TailCall { .. } => {
                self.call(at, op);
            }
            Op::Probe { dst, addr, .. } => {
                let place = self.place(addr);
                self.events.push(Event::Call(at));
                self.set(dst, Width::W64, self.unknown(place, 8));
            }
            Op::ArrayLookup { map, key } => {
                let key = self.value(key, Width::W32);
                let known = lookup::constant(self.linkage, map, key as u32);
                let value = known.unwrap_or_else(|| mix(u64::from(map), key));
                self.set(Reg::R0, Width::W64, value);
            }
            _ => self.compute(op),
        }
    }

    fn call(&mut self, at: usize, op: Op) {
        self.events.push(Event::Call(at));
        let changed = op.defs();
        for reg in (0..Reg::COUNT as u8).map(Reg).filter(|reg| changed.has(*reg)) {
            debug_assert!(CLOBBERED.has(reg));
            self.set(reg, Width::W64, mix(at as u64, u64::from(reg.0)));
        }
    }

    fn access(&mut self, op: Op) {
        match op {
            Op::Load { size, sign, big, dst, addr } => {
                let value = self.load(size.bytes(), addr);
                let value = match (sign, big) {
                    (true, _) => sign_extended(value, size),
                    (_, true) => swapped(value, size),
                    _ => value,
                };
                self.set(dst, Width::W64, value);
            }
            Op::Store { size, big, addr, src } => {
                let value = self.value(src, Width::W64);
                let value = if big { swapped(value, size) } else { value };
                self.store(size.bytes(), addr, value);
            }
            Op::AluStore { op, size, addr, src } => {
                let (old, by) = (self.load(size.bytes(), addr), self.value(src, Width::W64));
                self.store(size.bytes(), addr, arithmetic(op, Width::W64, old, by));
            }
            Op::Atomic { op, width, addr, reg } => self.atomic(op, width, addr, reg),
            _ => {}
        }
    }

    fn atomic(&mut self, op: AtomicOp, width: Width, addr: Addr, reg: Reg) {
        let bytes = bytes_of(width);
        let (at, own) = self.find(addr, bytes);
        let value = low(self.reg(reg), bytes);
        if !own {
            self.events.push(Event::Atomic { op, bytes, at, value });
        }
        let old = if own { self.own_value(bytes, at) } else { self.unknown(at, bytes) };
        let new = match op {
            AtomicOp::Rmw { op, .. } => match op {
                RmwOp::Add => old.wrapping_add(value),
                RmwOp::Or => old | value,
                RmwOp::And => old & value,
                RmwOp::Xor => old ^ value,
            },
            AtomicOp::Cmpxchg if low(self.reg(Reg::R0), bytes) != old => old,
            AtomicOp::Xchg | AtomicOp::Cmpxchg => value,
        };
        if own {
            self.set_own(bytes, at, new);
        }
        match op {
            AtomicOp::Rmw { fetch: false, .. } => {}
            AtomicOp::Rmw { .. } | AtomicOp::Xchg => self.set(reg, width, old),
            AtomicOp::Cmpxchg => self.set(Reg::R0, width, old),
        }
    }

    fn compute(&mut self, op: Op) {
        match op {
            Op::Mov { width, dst, src } => {
                let value = self.value(src, width);
                self.set(dst, width, value);
            }
            Op::LdImm { dst, value } => self.set(dst, Width::W64, value),
            Op::LdFunc { dst, target } => self.set(dst, Width::W64, mix(u64::from(target), 1)),
            Op::Alu { op, width, dst, src } => {
                let by = self.value(src, width);
                self.set(dst, width, arithmetic(op, width, self.reg(dst), by));
            }
            Op::Lea { width, dst, addr } => self.set(dst, width, self.place(addr)),
            Op::Shift { op, width, dst, src, by } => {
                let by = self.value(by, width) & u64::from(8 * bytes_of(width) - 1);
                self.set(dst, width, shifted(Shift { op, width }, self.reg(src), by));
            }
            Op::Product { width, dst, src, by, plus } => {
                let product = self.reg(src).wrapping_mul(i64::from(by) as u64);
                let sum = product.wrapping_add(self.value(plus, width));
                self.set(dst, width, sum);
            }
            Op::Neg { width, dst } => self.set(dst, width, self.reg(dst).wrapping_neg()),
            Op::Swap { size, dst } => self.set(dst, Width::W64, swapped(self.reg(dst), size)),
            Op::Zext { size, dst, src } => {
                self.set(dst, Width::W64, low(self.reg(src), size.bytes()));
            }
            Op::MovSx { size, width, dst, src } => {
                self.set(dst, width, sign_extended(self.reg(src), size));
            }
            Op::Div { op, width, dst, src } => {
                let (a, b) = (low(self.reg(dst), bytes_of(width)), self.value(src, width));
                self.set(dst, width, divided(op, width, a, b));
            }
            _ => {}
        }
    }
}

fn divided(op: DivOp, width: Width, a: u64, b: u64) -> u64 {
    let signed = |value: u64| match width {
        Width::W64 => value as i64,
        Width::W32 => i64::from(value as i32),
    };
    let (x, y) = (signed(a), signed(b));
    match op {
        DivOp::Div => a.checked_div(b).unwrap_or_default(),
        DivOp::Mod => a.checked_rem(b).unwrap_or(a),
        DivOp::SDiv => {
            if y == 0 {
                0
            } else {
                x.wrapping_div(y) as u64
            }
        }
        DivOp::SMod => {
            if y == 0 {
                a
            } else {
                x.wrapping_rem(y) as u64
            }
        }
    }
}
