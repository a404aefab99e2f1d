//! `Op`: the intermediate representation. One op per insn slot; passes rewrite them in place,
//! fusing several into one and leaving `Nop`s.
//!
//! # Invariants
//! 1. Op `i` of a program is reached exactly when insn `i` would be: jump targets do not change.
//! 2. Flags are local to one op: no op reads those of another.
//! 3. `fp` (r10) is never written.

use crate::asm::Width;

/// A register of the program: 0 to 10 are BPF's, 11 is the kernel's AX, the others are spare ones
/// assigned by passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reg(pub(crate) u8);

impl Reg {
    pub(crate) const R0: Reg = Reg(0);
    pub(crate) const R1: Reg = Reg(1);
    pub(crate) const R2: Reg = Reg(2);
    pub(crate) const R3: Reg = Reg(3);
    pub(crate) const FP: Reg = Reg(10);
    pub(crate) const COUNT: usize = 16;
}

/// Registers, by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegSet(pub(crate) u16);

impl RegSet {
    pub(crate) const NONE: RegSet = RegSet(0);
    pub(crate) const ALL: RegSet = RegSet(u16::MAX);

    #[inline]
    pub(crate) fn of(regs: &[Reg]) -> RegSet {
        RegSet(regs.iter().fold(0, |set, reg| set | 1 << reg.0))
    }
    pub(crate) fn has(self, reg: Reg) -> bool {
        self.0 >> reg.0 & 1 == 1
    }
    pub(crate) fn with(self, reg: Reg) -> RegSet {
        RegSet(self.0 | 1 << reg.0)
    }
    pub(crate) fn or(self, other: RegSet) -> RegSet {
        RegSet(self.0 | other.0)
    }
    pub(crate) fn minus(self, other: RegSet) -> RegSet {
        RegSet(self.0 & !other.0)
    }
    pub(crate) fn meets(self, other: RegSet) -> bool {
        self.0 & other.0 != 0
    }
    /// The registers in the set, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = Reg> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let reg = (left != 0).then(|| Reg(left.trailing_zeros() as u8));
            left &= left.wrapping_sub(1);
            reg
        })
    }
}

/// Who can access the memory of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// The run only: its stack, context and packet. Passes may optimise such accesses freely.
    Own,
    /// Other threads may read and write it at any time. Each access of the program is performed
    /// exactly once, with its width, and in order with respect to other accesses to such memory
    /// (`docs/memory-model.md`).
    Shared,
}

/// `[base + index * 2^scale + disp]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addr {
    pub(crate) base: Reg,
    pub(crate) index: Option<(Reg, u8)>,
    pub(crate) disp: i32,
    pub(crate) space: Space,
}

impl Addr {
    /// An address given by an insn; frames are private.
    pub(crate) fn new(base: Reg, disp: i16, space: Space) -> Addr {
        Addr { base, index: None, disp: i32::from(disp), space }.own_if_frame()
    }
    /// A sum rather than a memory address.
    pub(crate) fn sum(base: Reg, index: Option<(Reg, u8)>, disp: i32) -> Addr {
        Addr { base, index, disp, space: Space::Own }
    }
    /// A pass may find out that the base of an address is the frame pointer.
    pub(crate) fn own_if_frame(self) -> Addr {
        let space = if self.base == Reg::FP { Space::Own } else { self.space };
        Addr { space, ..self }
    }
    pub(crate) fn uses(self) -> RegSet {
        let set = RegSet::of(&[self.base]);
        self.index.map_or(set, |(index, _)| set.with(index))
    }
}

/// Bytes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    B1,
    B2,
    B4,
    B8,
}

impl Size {
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Size::B1 => 1,
            Size::B2 => 2,
            Size::B4 => 4,
            Size::B8 => 8,
        }
    }
}

/// What a load makes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loaded {
    pub(crate) size: Size,
    /// Whether it is sign extended.
    pub(crate) sign: bool,
    /// Whether its bytes are swapped.
    pub(crate) big: bool,
}

/// An operand that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Src {
    Reg(Reg),
    /// Sign extended to the width of the operation.
    Imm(i32),
    /// As wide as the operation.
    Mem(Addr),
}

impl Src {
    pub(crate) fn uses(self) -> RegSet {
        match self {
            Src::Reg(reg) => RegSet::of(&[reg]),
            Src::Imm(_) => RegSet::NONE,
            Src::Mem(addr) => addr.uses(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AluOp {
    Add,
    Sub,
    Or,
    And,
    Xor,
    Mul,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShiftOp {
    Shl,
    Shr,
    Sar,
    Rol,
}

/// A shift, without its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shift {
    pub(crate) op: ShiftOp,
    pub(crate) width: Width,
}

/// `src * by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Multiple {
    pub(crate) src: Reg,
    pub(crate) by: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DivOp {
    Div,
    Mod,
    SDiv,
    SMod,
}

/// What an atomic computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RmwOp {
    Add,
    Or,
    And,
    Xor,
}

/// The operation of an atomic; `fetch` forms return the old value in the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Rmw { op: RmwOp, fetch: bool },
    Xchg,
    Cmpxchg,
}

/// The condition of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cond {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
    SGt,
    SGe,
    SLt,
    SLe,
    /// `a & b != 0`
    Set,
    /// `a & b == 0`
    NotSet,
}

impl Cond {
    pub(crate) fn negated(self) -> Cond {
        use Cond::*;
        match self {
            Eq => Ne,
            Ne => Eq,
            Gt => Le,
            Le => Gt,
            Ge => Lt,
            Lt => Ge,
            SGt => SLe,
            SLe => SGt,
            SGe => SLt,
            SLt => SGe,
            Set => NotSet,
            NotSet => Set,
        }
    }

    /// `b cond a` for `a cond b`.
    pub(crate) fn turned(self) -> Cond {
        use Cond::*;
        match self {
            Gt => Lt,
            Ge => Le,
            Lt => Gt,
            Le => Ge,
            SGt => SLt,
            SGe => SLe,
            SLt => SGt,
            SLe => SGe,
            same => same,
        }
    }
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) cond: Cond,
    pub(crate) width: Width,
    pub(crate) a: Reg,
    pub(crate) b: Src,
}

impl Test {
    pub(crate) fn uses(self) -> RegSet {
        self.b.uses().with(self.a)
    }
}

/// The map of a call, if known.
pub(crate) type MapNumber = Option<u32>;

/// One operation. Results of width 32 are zero extended, as in BPF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Nop,
    Mov {
        width: Width,
        dst: Reg,
        src: Src,
    },
    LdImm {
        dst: Reg,
        value: u64,
    },
    /// The address of the function at op `target`.
    LdFunc {
        dst: Reg,
        target: u32,
    },
    Alu {
        op: AluOp,
        width: Width,
        dst: Reg,
        src: Src,
    },
    Lea {
        width: Width,
        dst: Reg,
        addr: Addr,
    },
    /// `dst = src op by`; `by` is a register or an immediate below the width.
    Shift {
        op: ShiftOp,
        width: Width,
        dst: Reg,
        src: Reg,
        by: Src,
    },
    Neg {
        width: Width,
        dst: Reg,
    },
    Swap {
        size: Size,
        dst: Reg,
    },
    /// `dst = src * by + plus` with shifts (`opt::products`); `src` or `plus` is `dst`, neither is
    /// r10.
    Product {
        width: Width,
        dst: Reg,
        src: Reg,
        by: i32,
        plus: Src,
    },
    /// Keeps the low bytes of `src`.
    Zext {
        size: Size,
        dst: Reg,
        src: Reg,
    },
    MovSx {
        size: Size,
        width: Width,
        dst: Reg,
        src: Reg,
    },
    Div {
        op: DivOp,
        width: Width,
        dst: Reg,
        src: Src,
    },
    Load {
        size: Size,
        sign: bool,
        big: bool,
        dst: Reg,
        addr: Addr,
    },
    /// A load from possibly unmapped memory, which then gives 0. Calls the host, and preserves all
    /// other registers.
    Probe {
        size: Size,
        sign: bool,
        dst: Reg,
        addr: Addr,
    },
    /// `src` is not memory; `big` swaps the bytes.
    Store {
        size: Size,
        big: bool,
        addr: Addr,
        src: Src,
    },
    /// `bytes` of zeros, 16 or more, from `addr` on; `zeroed`: the register used for the zeros
    /// already contains them.
    Fill {
        addr: Addr,
        bytes: u32,
        zeroed: bool,
    },
    /// `*addr op= src`, not atomic; `src` is not memory.
    AluStore {
        op: AluOp,
        size: Size,
        addr: Addr,
        src: Src,
    },
    Atomic {
        op: AtomicOp,
        width: Width,
        addr: Addr,
        reg: Reg,
    },
    Jmp {
        to: u32,
    },
    Br {
        test: Test,
        to: u32,
    },
    /// `dst = src` if the test holds; it compares registers other than r10. It stands for a jump to
    /// `to` and what that passes over if the test does not hold.
    Select {
        test: Test,
        width: Width,
        dst: Reg,
        src: Reg,
        to: u32,
    },
    /// `dst = 1` if the test holds, else 0; its registers do not include r10.
    Set {
        test: Test,
        dst: Reg,
    },
    Call {
        helper: i32,
        map: MapNumber,
    },
    /// A kfunc, by its id in the kernel's BTF.
    Kfunc {
        id: u32,
    },
    CallSub {
        target: u32,
    },
    /// `r0` = address of the value of a key, or 0.
    ArrayLookup {
        map: u32,
        key: Src,
    },
    TailCall {
        map: MapNumber,
        index: Option<u32>,
    },
    /// Leaves the program through its exception callback, with r1 as argument.
    Throw,
    Exit,
}

/// Argument registers.
pub(crate) const ARGS: RegSet = RegSet(0b11_1110);
/// Registers that are clobbered by a call: r0 to r5 and AX.
pub(crate) const CLOBBERED: RegSet = RegSet(0b1000_0011_1111);

impl Op {
    /// Registers read by the op.
    pub(crate) fn uses(&self) -> RegSet {
        match *self {
            Op::Nop | Op::LdImm { .. } | Op::LdFunc { .. } | Op::Jmp { .. } => RegSet::NONE,
            Op::Mov { src, .. } | Op::ArrayLookup { key: src, .. } => src.uses(),
            Op::Alu { dst, src, .. } | Op::Div { dst, src, .. } => src.uses().with(dst),
            Op::Lea { addr, .. } | Op::Load { addr, .. } | Op::Probe { addr, .. } => addr.uses(),
            Op::Fill { addr, .. } => addr.uses(),
            Op::Shift { src, by, .. } => by.uses().with(src),
            Op::Product { src, plus, .. } => plus.uses().with(src),
            Op::Neg { dst, .. } | Op::Swap { dst, .. } => RegSet::of(&[dst]),
            Op::Zext { src, .. } | Op::MovSx { src, .. } => RegSet::of(&[src]),
            Op::Store { addr, src, .. } | Op::AluStore { addr, src, .. } => {
                addr.uses().or(src.uses())
            }
            Op::Atomic { op: AtomicOp::Cmpxchg, addr, reg, .. } => {
                addr.uses().with(reg).with(Reg::R0)
            }
            Op::Atomic { addr, reg, .. } => addr.uses().with(reg),
            Op::Br { test, .. } | Op::Set { test, .. } => test.uses(),
            Op::Select { test, dst, src, .. } => test.uses().with(dst).with(src),
            Op::Call { .. } | Op::Kfunc { .. } | Op::CallSub { .. } => ARGS,
            Op::TailCall { .. } => RegSet::of(&[Reg::R1, Reg::R2, Reg::R3]),
            Op::Throw => RegSet::of(&[Reg::R1]),
            Op::Exit => RegSet::of(&[Reg::R0]),
        }
    }

    /// Registers written by the op.
    pub(crate) fn defs(&self) -> RegSet {
        match *self {
            Op::Nop | Op::Store { .. } | Op::Fill { .. } | Op::AluStore { .. } => RegSet::NONE,
            // If it is not performed, the register is unchanged.
            Op::TailCall { .. } | Op::Jmp { .. } | Op::Br { .. } => RegSet::NONE,
            Op::Throw | Op::Exit => RegSet::NONE,
            Op::Mov { dst, .. }
            | Op::LdImm { dst, .. }
            | Op::LdFunc { dst, .. }
            | Op::Alu { dst, .. }
            | Op::Lea { dst, .. }
            | Op::Shift { dst, .. }
            | Op::Neg { dst, .. }
            | Op::Swap { dst, .. }
            | Op::Product { dst, .. }
            | Op::Select { dst, .. }
            | Op::Set { dst, .. }
            | Op::Zext { dst, .. }
            | Op::MovSx { dst, .. }
            | Op::Div { dst, .. }
            | Op::Load { dst, .. }
            | Op::Probe { dst, .. } => RegSet::of(&[dst]),
            Op::Atomic { op, reg, .. } => match op {
                AtomicOp::Rmw { fetch: false, .. } => RegSet::NONE,
                AtomicOp::Rmw { .. } | AtomicOp::Xchg => RegSet::of(&[reg]),
                AtomicOp::Cmpxchg => RegSet::of(&[Reg::R0]),
            },
            Op::ArrayLookup { .. } => RegSet::of(&[Reg::R0]),
            Op::Call { .. } | Op::Kfunc { .. } | Op::CallSub { .. } => CLOBBERED,
        }
    }

    /// The memory that the op itself accesses; not for calls.
    pub(crate) fn addr(&self) -> Option<Addr> {
        match *self {
            Op::Load { addr, .. }
            | Op::Probe { addr, .. }
            | Op::Store { addr, .. }
            | Op::Fill { addr, .. }
            | Op::AluStore { addr, .. }
            | Op::Atomic { addr, .. } => Some(addr),
            Op::Mov { src: Src::Mem(addr), .. }
            | Op::Alu { src: Src::Mem(addr), .. }
            | Op::Div { src: Src::Mem(addr), .. }
            | Op::Product { plus: Src::Mem(addr), .. }
            | Op::ArrayLookup { key: Src::Mem(addr), .. }
            | Op::Br { test: Test { b: Src::Mem(addr), .. }, .. }
            | Op::Set { test: Test { b: Src::Mem(addr), .. }, .. } => Some(addr),
            _ => None,
        }
    }

    /// Whether the op accesses shared memory: then it must not be changed, or reordered with other
    /// shared accesses.
    pub(crate) fn is_shared_access(&self) -> bool {
        self.addr().is_some_and(|addr| addr.space == Space::Shared)
    }

    /// Whether the op has no effect except writing `defs()`.
    pub(crate) fn is_pure(&self) -> bool {
        let pure = matches!(
            self,
            Op::Mov { .. }
                | Op::LdImm { .. }
                | Op::LdFunc { .. }
                | Op::Alu { .. }
                | Op::Lea { .. }
                | Op::Shift { .. }
                | Op::Neg { .. }
                | Op::Swap { .. }
                | Op::Product { .. }
                | Op::Zext { .. }
                | Op::MovSx { .. }
                | Op::Div { .. }
                | Op::Load { .. }
                | Op::ArrayLookup { .. }
        );
        pure && !self.is_shared_access()
    }

    pub(crate) fn is_nop(&self) -> bool {
        matches!(self, Op::Nop)
    }

    /// The jump target of the op.
    pub(crate) fn target(&self) -> Option<u32> {
        match *self {
            Op::Jmp { to } | Op::Br { to, .. } => Some(to),
            _ => None,
        }
    }

    /// Whether control never falls through to the next op.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Op::Jmp { .. } | Op::Throw | Op::Exit)
    }

    /// Whether the op makes a call, which requires an aligned stack and no data below `rsp`.
    pub(crate) fn is_call(&self) -> bool {
        matches!(
            self,
            Op::Call { .. }
                | Op::Kfunc { .. }
                | Op::CallSub { .. }
                | Op::Probe { .. }
                | Op::TailCall { map: None, .. }
        )
    }
}
