//! Local value numbering: each value in a basic block has a number, and for some values their
//! definition is known.
//!
//! Two registers with the same number hold the same 64 bits. Numbers are valid in one block.
//!
//! # Invariants
//! 1. A number is never reused; what is known about a number stays true.
//! 2. `low` of two numbers is equal only if the low 32 bits of the values are.

use crate::asm::Width;
use crate::op::{Addr, AluOp, Op, Reg, RegSet, Shift, ShiftOp, Size, Space, Src};
use crate::ops::Effect;

/// Number of a value.
pub(super) type Vn = u32;

/// `of` shifted. For width 32, `of` is a `low` number and the result is zero-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shifted {
    pub(super) op: ShiftOp,
    pub(super) width: Width,
    pub(super) of: Vn,
    pub(super) by: i32,
}

/// `base + (index << scale) + disp`, modulo 2 to the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) width: Width,
    pub(super) base: Option<Vn>,
    pub(super) index: Option<(Vn, u8)>,
    pub(super) disp: i32,
}

/// Bytes from private memory: byte `i` is the one at `base + offs[i]`, or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bytes {
    pub(super) base: Vn,
    /// Stores before the loads.
    pub(super) epoch: u32,
    pub(super) offs: [Option<i32>; 8],
}

/// Known facts about a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Def {
    /// The first number with the same low 32 bits.
    pub(super) low: Vn,
    /// The value is less than 2 to this power.
    pub(super) bits: u8,
    pub(super) constant: Option<u64>,
    pub(super) shifted: Option<Shifted>,
    pub(super) sum: Option<Sum>,
    /// If it consists of bytes from memory: which, as an index into `Values::bytes`.
    bytes: Option<u32>,
}

impl Def {
    fn unknown(number: Vn, bits: u8) -> Def {
        Def { low: number, bits, constant: None, shifted: None, sum: None, bytes: None }
    }
}

/// By register: the number of its value at the start of a block.
const ENTRY: [Vn; Reg::COUNT] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The state before an op.
pub(super) struct Values {
    defs: Vec<Def>,
    /// Few values consist of bytes, so these are not part of their definitions.
    bytes: Vec<Bytes>,
    regs: [Vn; Reg::COUNT],
    /// By register: the op that wrote it, and the number it had before, if that was in this block.
    written: [Option<(u32, Vn)>; Reg::COUNT],
    /// Registers read since they were written.
    read: RegSet,
    /// Registers whose value was in another register when they were written.
    copies: RegSet,
    /// Stores so far.
    pub(super) epoch: u32,
}

impl Values {
    pub(super) fn new() -> Values {
        Values {
            defs: ENTRY.map(|number| Def::unknown(number, 64)).to_vec(),
            bytes: Vec::new(),
            regs: ENTRY,
            written: [None; Reg::COUNT],
            read: RegSet::NONE,
            copies: RegSet::NONE,
            epoch: 0,
        }
    }

    /// Forgets everything.
    pub(super) fn start_block(&mut self) {
        self.defs.truncate(ENTRY.len());
        self.bytes.clear();
        self.regs = ENTRY;
        self.written = [None; Reg::COUNT];
        self.read = RegSet::NONE;
        self.copies = RegSet::NONE;
    }

    fn fresh(&mut self, bits: u8) -> Vn {
        let number = self.defs.len() as Vn;
        self.defs.push(Def::unknown(number, bits));
        number
    }

    pub(super) fn of(&self, reg: Reg) -> Vn {
        self.regs[usize::from(reg.0)]
    }

    pub(super) fn def(&self, number: Vn) -> &Def {
        &self.defs[number as usize]
    }

    pub(super) fn def_of(&self, reg: Reg) -> &Def {
        self.def(self.of(reg))
    }

    /// When a register was written.
    fn since(&self, reg: Reg) -> u32 {
        self.written[usize::from(reg.0)].map_or(0, |(at, _)| at + 1)
    }

    /// The register that has held the value longest, and still does.
    pub(super) fn holder(&self, number: Vn) -> Option<Reg> {
        let all = (0..).map(Reg).zip(self.regs);
        let holders = all.filter(|(_, held)| *held == number).map(|(reg, _)| reg);
        holders.min_by_key(|reg| self.since(*reg))
    }

    /// The address of `number + disp`: from a register that holds the value, or one that differs
    /// from it by a constant.
    pub(super) fn near(&self, number: Vn, disp: i32) -> Option<(Reg, i32)> {
        if let Some(reg) = self.holder(number) {
            return Some((reg, disp));
        }
        let off = |reg: Reg| match self.def_of(reg).sum {
            Some(Sum { width: Width::W64, base, index: None, disp: off })
                if base == Some(number) =>
            {
                disp.checked_sub(off)
            }
            _ => None,
        };
        (0..Reg::COUNT as u8).map(Reg).find_map(|reg| Some((reg, off(reg)?)))
    }

    /// Forgets what a register holds.
    pub(super) fn forget(&mut self, reg: Reg) {
        self.regs[usize::from(reg.0)] = self.fresh(64);
        self.written[usize::from(reg.0)] = None;
        self.copies = self.copies.minus(RegSet::of(&[reg]));
    }

    /// A register with the same low 32 bits as the value.
    pub(super) fn low_holder(&self, low: Vn) -> Option<Reg> {
        (0..Reg::COUNT as u8).map(Reg).find(|reg| self.def_of(*reg).low == low)
    }

    /// Another register with the same value as `reg`, that has held it longer.
    pub(super) fn holder_before(&self, reg: Reg) -> Option<Reg> {
        if !self.copies.has(reg) {
            return None;
        }
        self.holder(self.of(reg)).filter(|other| self.since(*other) < self.since(reg))
    }

    /// Registers whose value another may have held longer.
    pub(super) fn copies(&self) -> RegSet {
        self.copies
    }

    /// The op that wrote `reg` in this block, and the register's previous value, if nothing has
    /// read it since.
    pub(super) fn unread(&self, reg: Reg) -> Option<(u32, Vn)> {
        self.written[usize::from(reg.0)].filter(|_| !self.read.has(reg))
    }

    /// The bytes that a value consists of.
    pub(super) fn bytes_of(&self, def: &Def) -> Option<&Bytes> {
        Some(&self.bytes[def.bytes? as usize])
    }

    fn made_of(&mut self, bytes: Bytes) -> Option<u32> {
        self.bytes.push(bytes);
        Some(self.bytes.len() as u32 - 1)
    }

    /// Records the effect of `op` at `at`, whose result has that definition.
    pub(super) fn step(&mut self, at: u32, op: &Op, effect: Effect, def: Option<Definition>) {
        // The code at the target of a jump may read anything.
        let reads = if effect.jumps { RegSet::ALL } else { effect.uses };
        self.read = self.read.or(reads);
        if matches!(op, Op::Store { .. } | Op::AluStore { .. } | Op::Atomic { .. }) || op.is_call()
        {
            self.epoch += 1;
        }
        for reg in effect.defs.iter() {
            self.copies = self.copies.minus(RegSet::of(&[reg]));
            let number = match def {
                Some(Definition::Same(number)) => {
                    self.copies = self.copies.with(reg);
                    number
                }
                Some(Definition::New(mut def)) => {
                    let number = self.defs.len() as Vn;
                    if def.low == Vn::MAX {
                        def.low = number;
                    }
                    self.defs.push(def);
                    number
                }
                None => self.fresh(64),
            };
            let before = self.of(reg);
            self.regs[usize::from(reg.0)] = number;
            self.written[usize::from(reg.0)] = Some((at, before));
            self.read = self.read.minus(RegSet::of(&[reg]));
        }
    }

    /// The definition of the result of `op`.
    pub(super) fn define(&mut self, op: &Op) -> Option<Definition> {
        let unknown = Def::unknown(Vn::MAX, 64);
        Some(match *op {
            Op::Mov { width, src: Src::Reg(src), .. } => self.moved(width, src),
            Op::Mov { width, src: Src::Imm(imm), .. } => {
                let value = if width == Width::W32 { imm as u32 as u64 } else { imm as i64 as u64 };
                Definition::New(known(value))
            }
            Op::LdImm { value, .. } => Definition::New(known(value)),
            Op::Zext { size: Size::B4, src, .. } => self.moved(Width::W32, src),
            Op::Zext { size, src, .. } => {
                let bits = (8 * size.bytes() as u8).min(self.def_of(src).bits);
                Definition::New(Def { bits, ..unknown })
            }
            Op::Load { size, sign: false, big, addr, .. } => self.loaded(size, big, addr),
            Op::Shift { op, width, src, by: Src::Imm(by), .. } => {
                Definition::New(self.shifted(Shift { op, width }, src, by))
            }
            Op::Alu { op, width, dst, src } => Definition::New(self.alu(op, width, dst, src)),
            Op::Lea { width: Width::W64, addr, .. } => {
                let sum = self.sum_of(addr.base, Width::W64).filter(|_| addr.index.is_none());
                let sum = sum.and_then(|sum| plus(sum, addr.disp));
                Definition::New(Def { sum, ..unknown })
            }
            Op::Shift { width: Width::W32, .. }
            | Op::Neg { width: Width::W32, .. }
            | Op::Div { width: Width::W32, .. }
            | Op::MovSx { width: Width::W32, .. } => Definition::New(Def { bits: 32, ..unknown }),
            Op::Swap { size, .. } => {
                Definition::New(Def { bits: 8 * size.bytes() as u8, ..unknown })
            }
            _ => return None,
        })
    }

    fn moved(&mut self, width: Width, src: Reg) -> Definition {
        let (number, def) = (self.of(src), *self.def_of(src));
        if width == Width::W64 || def.bits <= 32 {
            return Definition::Same(number);
        }
        let sum = self.sum_of(src, Width::W32).map(|sum| Sum { width: Width::W32, ..sum });
        let bytes = self.bytes_of(&def).copied().and_then(|mut bytes| {
            bytes.offs[4..].fill(None);
            self.made_of(bytes)
        });
        let constant = def.constant.map(|value| value & u64::from(u32::MAX));
        Definition::New(Def { low: def.low, bits: 32, constant, shifted: None, sum, bytes })
    }

    fn loaded(&mut self, size: Size, big: bool, addr: Addr) -> Definition {
        let bits = 8 * size.bytes() as u8;
        let mut def = Def::unknown(Vn::MAX, bits);
        let place = if addr.space == Space::Own { self.place(addr) } else { None };
        if let Some((base, disp)) = place {
            let mut offs = [None; 8];
            for i in 0..size.bytes() {
                let at = if big { size.bytes() - 1 - i } else { i };
                offs[i as usize] = disp.checked_add(at as i32);
            }
            def.bytes = self.made_of(Bytes { base, epoch: self.epoch, offs });
        }
        Definition::New(def)
    }

    /// An address as a value and a constant.
    fn place(&self, addr: Addr) -> Option<(Vn, i32)> {
        if addr.index.is_some() {
            return None;
        }
        let base = self.of(addr.base);
        match self.def(base).sum {
            Some(Sum { width: Width::W64, base: Some(inner), index: None, disp }) => {
                Some((inner, disp.checked_add(addr.disp)?))
            }
            _ => Some((base, addr.disp)),
        }
    }

    fn shifted(&mut self, shift: Shift, src: Reg, by: i32) -> Def {
        let Shift { op, width } = shift;
        let def = *self.def_of(src);
        let wide = width == Width::W64;
        let of = if wide { self.of(src) } else { def.low };
        let bits_in = if wide { def.bits } else { def.bits.min(32) };
        let max = if wide { 64 } else { 32 };
        let bits = match op {
            ShiftOp::Shr => bits_in.saturating_sub(by as u8),
            ShiftOp::Shl => (bits_in + by as u8).min(max),
            _ => max,
        };
        let sum = (op == ShiftOp::Shl && by <= 3).then_some(Sum {
            width,
            base: None,
            index: Some((of, by as u8)),
            disp: 0,
        });
        // For a 32-bit sum, only the low half of the index matters: it may be any register with
        // that low half.
        let moves = by % 8 == 0 && op != ShiftOp::Sar && op != ShiftOp::Rol;
        let bytes = self.bytes_of(&def).copied().filter(|_| moves).and_then(|bytes| {
            let (mut offs, count) = ([None; 8], max as usize / 8);
            let by = by as usize / 8;
            for (i, off) in offs.iter_mut().enumerate().take(count) {
                *off = match op {
                    ShiftOp::Shl => i.checked_sub(by).and_then(|from| bytes.offs[from]),
                    _ => bytes.offs.get(i + by).copied().flatten().filter(|_| i + by < count),
                };
            }
            self.made_of(Bytes { offs, ..bytes })
        });
        let shifted = Some(Shifted { op, width, of, by });
        Def { low: Vn::MAX, bits, constant: None, shifted, sum, bytes }
    }

    fn alu(&mut self, op: AluOp, width: Width, dst: Reg, src: Src) -> Def {
        let max = if width == Width::W64 { 64 } else { 32 };
        let a = self.def_of(dst);
        let b_bits = match src {
            Src::Imm(imm) if imm >= 0 => 32 - imm.leading_zeros() as u8,
            Src::Reg(reg) => self.def_of(reg).bits,
            _ => 64,
        };
        let bits = match op {
            AluOp::And => a.bits.min(b_bits).min(max),
            AluOp::Or | AluOp::Xor => a.bits.max(b_bits).min(max),
            _ => max,
        };
        let sum = match (op, src) {
            (AluOp::Add, Src::Imm(imm)) => self.sum_of(dst, width).and_then(|sum| plus(sum, imm)),
            (AluOp::Sub, Src::Imm(imm)) => {
                let sum = self.sum_of(dst, width);
                sum.zip(imm.checked_neg()).and_then(|(sum, imm)| plus(sum, imm))
            }
            (AluOp::Add, Src::Reg(reg)) => self.sum_of(dst, width).and_then(|a| self.add(a, reg)),
            _ => None,
        };
        // Sums modulo 2^64 are sums modulo 2^32; not the other way round.
        let sum = sum.map(|sum| Sum { width, ..sum });
        let joins = matches!(op, AluOp::Or | AluOp::Xor | AluOp::Add);
        let bytes = match src {
            Src::Reg(reg) if joins => self.joined(dst, reg, max as usize / 8),
            _ => None,
        };
        let bytes = bytes.and_then(|bytes| self.made_of(bytes));
        Def { low: Vn::MAX, bits, constant: None, shifted: None, sum, bytes }
    }

    /// The value of a register as a sum; any value is at least the sum of itself.
    fn sum_of(&self, reg: Reg, width: Width) -> Option<Sum> {
        let itself = Sum { width: Width::W64, base: Some(self.of(reg)), index: None, disp: 0 };
        let known = self.def_of(reg).sum;
        Some(known.filter(|sum| sum.width == Width::W64 || width == Width::W32).unwrap_or(itself))
    }

    fn add(&self, a: Sum, reg: Reg) -> Option<Sum> {
        let b = self.of(reg);
        match (a.base, a.index) {
            (Some(_), None) => {
                let index = match self.def(b).sum {
                    Some(Sum { width: Width::W64, base: None, index, disp: 0 }) => index,
                    _ => Some((b, 0)),
                };
                Some(Sum { index, ..a })
            }
            (None, Some(_)) => Some(Sum { base: Some(b), ..a }),
            _ => None,
        }
    }

    fn joined(&self, dst: Reg, src: Reg, count: usize) -> Option<Bytes> {
        let (a, b) = (self.bytes_of(self.def_of(dst))?, self.bytes_of(self.def_of(src))?);
        if a.base != b.base || a.epoch != b.epoch {
            return None;
        }
        let mut offs = [None; 8];
        for (i, off) in offs.iter_mut().enumerate().take(count) {
            *off = match (a.offs[i], b.offs[i]) {
                (Some(_), Some(_)) => return None,
                (a, b) => a.or(b),
            };
        }
        Some(Bytes { offs, ..*a })
    }
}

fn known(value: u64) -> Def {
    let bits = 64 - value.leading_zeros() as u8;
    Def { constant: Some(value), ..Def::unknown(Vn::MAX, bits) }
}

fn plus(sum: Sum, imm: i32) -> Option<Sum> {
    Some(Sum { disp: sum.disp.checked_add(imm)?, ..sum })
}

/// The result of an op.
#[derive(Clone, Copy)]
pub(super) enum Definition {
    /// A value that has a number.
    Same(Vn),
    /// A new number; `low` is `Vn::MAX` if it is the number itself.
    New(Def),
}
