//! Facts about one insn: from the passes before the walk, and from the walk.
//!
//! Kernel: `struct bpf_insn_aux_data` (6.18).

use crate::state::reg_type::RegType;

bitflags::bitflags! {
    /// Properties of one insn.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct InsnFlags: u8 {
        /// States are saved and compared here.
        const PRUNE_POINT = 1;
        /// The jump history records that the path reached this insn.
        const JMP_POINT = 2;
        /// A state is saved here on every visit.
        const FORCE_CHECKPOINT = 4;
        /// Calls a helper or kfunc that calls a callback before it returns.
        const CALLS_CALLBACK = 8;
        /// Calls the `next` function of an open-coded iterator.
        const ITER_NEXT = 0x10;
        /// Some path walked this insn.
        const SEEN = 0x20;
        /// A speculation barrier is needed before this insn.
        const NOSPEC = 0x40;
        /// A speculation barrier is needed after this insn.
        const NOSPEC_RESULT = 0x80;
    }
}

/// Facts about one insn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InsnAux {
    pub(crate) flags: InsnFlags,
    /// The error in its fields, if it is a scalar insn; see `check::scalar_insn`.
    pub(crate) form: Form,
    /// Bit i: register i may be read before it is written.
    pub(crate) live_regs: u16,
    /// Strongly connected component, 0 for none.
    pub(crate) scc: u32,
    pub(crate) found: Found,
}

/// Whether the encoding of a scalar insn is valid, so that the fast path may walk it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// Not checked yet.
    #[default]
    Unasked,
    Good,
    /// It is not, or each visit has something else to check.
    Bad,
}

/// What the walk found out about an insn, by kind of insn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Found {
    #[default]
    Nothing,
    /// Type of the pointer that a load or store uses; different types that need different rewrites
    /// are refused.
    PtrType(RegType),
    /// The same, but on another path the pointer of the load is untrusted.
    MixedPtrType(RegType),
    /// A call receives a kernel struct as plain memory.
    KernelMem,
    /// The map passed to a helper call, if it is always the same.
    CallMap(CallMap),
    /// Whether a call of `bpf_loop` can be inlined.
    LoopInline(LoopInline),
    /// The type of the object that a call creates.
    LocalType(u32),
    /// The same, but another path creates an object of another type.
    MixedLocalType,
    /// What an addition or subtraction needs against speculation.
    Mask(Mask),
}

impl InsnAux {
    #[inline]
    pub(crate) fn has(&self, flags: InsnFlags) -> bool {
        self.flags.intersects(flags)
    }
    pub(crate) fn ptr_type(&self) -> Option<RegType> {
        match self.found {
            Found::PtrType(ty) | Found::MixedPtrType(ty) => Some(ty),
            _ => None,
        }
    }
    pub(crate) fn call_map(&self) -> CallMap {
        if let Found::CallMap(map) = self.found { map } else { CallMap::Unknown }
    }
    /// Records that a visit of a call created an object of type `id`.
    pub(crate) fn make_local_type(&mut self, id: u32) {
        self.found = match self.found {
            Found::MixedLocalType => Found::MixedLocalType,
            Found::LocalType(other) if other != id => Found::MixedLocalType,
            _ => Found::LocalType(id),
        };
    }

    pub(crate) fn loop_inline(&self) -> LoopInline {
        if let Found::LoopInline(fits) = self.found { fits } else { LoopInline::Unknown }
    }
}

/// The map passed to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallMap {
    #[default]
    Unknown,
    /// Always `Facts::maps[_]`.
    Known(u32),
    /// Differs between paths.
    Poisoned,
}

/// What the visits of a call of `bpf_loop` have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LoopInline {
    /// Not visited yet.
    #[default]
    Unknown,
    /// Flags were always 0 and the callback always this subprog.
    Fits(u32),
    /// Flags or callback differed.
    Differs,
}

/// The end of an object towards which a pointer moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Towards {
    Start,
    End,
}

/// What an insn needs against speculation; all paths must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mask {
    /// Both operands are numbers.
    Nothing,
    /// The number must not exceed `reach`.
    Number { towards: Towards, by_constant: bool, ptr_in_dst: bool, reach: u32 },
}
