//! `Xlated`: the insns that run: an accepted program after its rewrites, with facts from the
//! verifier.
//!
//! Nothing in it depends on the kernel's view of a program: contexts are plain memory, divisions
//! cannot trap, legacy packet loads are calls. The engines that run it (the interpreter, the JIT)
//! need none of the verifier's tables.
//!
//! # Invariants
//! 1. Every jump, call and `BPF_PSEUDO_FUNC` refers to an insn of the program, jumps to one of the
//!    same subprog; subprogs are closed (the last insn is `exit`, a jump or [`OwnHelper::Throw`]).
//! 2. Only registers 0 to 11 occur. [`AX`] is written before it is read within the rewrite of one
//!    insn, and is not live between rewrites.
//! 3. `origin` ascends.
//! 4. `ld_imm64` is a constant (src 0), `BPF_PSEUDO_MAP_FD` (imm: index in `Program::maps`),
//!    `BPF_PSEUDO_MAP_VALUE` (the same; imm of the second slot: offset) or `BPF_PSEUDO_FUNC` (imm:
//!    relative to the next insn, as in a call).
//! 5. A helper call has the number of the helper in `imm`; negative numbers are [`OwnHelper`]s.
//! 6. A program with [`OwnHelper::Throw`] has exactly one subprog that is the exception callback.

use skep_insn::Insn;
use skep_insn::code::*;
use skep_program::MapIdx;
use std::fmt;

/// A register that programs cannot name; rewrites keep a value in it for a few insns.
///
/// Kernel: `BPF_REG_AX`.
pub const AX: u8 = 11;

/// Iterations that `may_goto` allows.
///
/// Departure: the kernel stops a loop after 250 ms; a count gives the same answer every time.
pub const MAY_GOTO_MAX: u32 = 8 * 1024 * 1024;

/// Internal helpers that only rewrites call, by their negative numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum OwnHelper {
    /// `(skb ctx, offset: s32) -> u8`, or -1 (64 bits) if the packet is too short. Offsets from
    /// `SKF_NET_OFF` (-0x100000) are relative to the network header, from `SKF_LL_OFF` (-0x200000)
    /// to the link layer's.
    SkbLoad8 = -1,
    /// The same for two bytes, in host byte order.
    SkbLoad16 = -2,
    /// The same for four bytes, in host byte order, not sign-extended.
    SkbLoad32 = -3,
    /// `(cookie)`, for `bpf_throw`. Does not return: the frames of the main program and its callees
    /// are discarded, the exception callback runs in their place with the cookie as its argument,
    /// and its result is the program's. Engines implement it themselves instead of calling it.
    Throw = -4,
}

impl OwnHelper {
    /// Its name in dumps.
    pub fn name(self) -> &'static str {
        match self {
            OwnHelper::SkbLoad8 => "skep_skb_load_8",
            OwnHelper::SkbLoad16 => "skep_skb_load_16",
            OwnHelper::SkbLoad32 => "skep_skb_load_32",
            OwnHelper::Throw => "bpf_throw",
        }
    }

    /// The helper with that number.
    pub fn from_number(number: i32) -> Option<OwnHelper> {
        use OwnHelper::{SkbLoad8, SkbLoad16, SkbLoad32, Throw};
        [SkbLoad8, SkbLoad16, SkbLoad32, Throw].into_iter().find(|&own| own as i32 == number)
    }
}

/// The program verifies but cannot run, because it needs something that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSupported {
    /// What is missing.
    pub what: String,
}

impl NotSupported {
    pub(crate) fn new(what: impl Into<String>) -> NotSupported {
        NotSupported { what: what.into() }
    }
}

impl fmt::Display for NotSupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not supported yet: {}", self.what)
    }
}

impl std::error::Error for NotSupported {}

/// One function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubprogFacts {
    /// Name in the program's BTF; empty if it has none.
    pub name: String,
    /// First insn, index in [`Xlated::insns`].
    pub start: u32,
    /// One past its last insn.
    pub end: u32,
    /// Stack it uses, in bytes below `r10`; a multiple of 8, not clamped.
    pub stack_depth_bytes: u32,
    /// It calls `bpf_tail_call`.
    pub makes_tail_call: bool,
    /// It makes a tail call, or may run below a function that does.
    pub tail_call_reachable: bool,
    /// Its address is taken, so helpers may call it, with up to five arguments.
    pub is_callback: bool,
    /// Whether an insn calls it.
    pub is_called: bool,
    /// It runs when an exception is thrown, with the cookie as its argument.
    pub is_exception_cb: bool,
}

/// Facts about one insn that hold on all paths. The default asserts nothing.
///
/// Facts are restricted to what pruning compares: pointer types. A number that was the same on
/// every path visited may differ on a path that was pruned, even the index of a tail call, which is
/// marked precise: as in Linux 6.18, precision is not propagated to values that atomics fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InsnFacts {
    /// For a helper call: the map it is always passed.
    pub map: Option<MapIdx>,
    /// A load through a pointer that the kernel does not trust; it may fault, and then yields 0.
    pub probe_mem: bool,
    /// A load or store that on every path accesses memory private to the run: its stack, its
    /// context, its packet. All other memory may be read and written by others at any time.
    pub own_mem: bool,
}

/// A verified program after all rewrites: what actually runs.
#[derive(Clone, Debug, Default)]
pub struct Xlated {
    pub(crate) insns: Vec<Insn>,
    pub(crate) origin: Vec<u32>,
    pub(crate) facts: Vec<InsnFacts>,
    pub(crate) subprogs: Vec<SubprogFacts>,
    pub(crate) ctx_bytes: u32,
}

impl Xlated {
    /// The insns, all subprogs one after the other; the first is the entry.
    pub fn insns(&self) -> &[Insn] {
        &self.insns
    }
    /// The insn of `Program::insns` that the insn at `idx` came from.
    pub fn origin(&self, idx: usize) -> u32 {
        self.origin.get(idx).copied().unwrap_or_default()
    }
    /// What is known about the insn at `idx`.
    pub fn facts(&self, idx: usize) -> InsnFacts {
        self.facts.get(idx).copied().unwrap_or_default()
    }
    /// The functions in order of their insns; never empty.
    pub fn subprogs(&self) -> &[SubprogFacts] {
        &self.subprogs
    }
    /// The subprog that contains the insn at `idx`.
    pub fn subprog_of(&self, idx: usize) -> usize {
        self.subprogs.partition_point(|s| s.start as usize <= idx).saturating_sub(1)
    }
    /// Bytes of the context (as `skep_uapi::run_ctx` lays it out) that the program may touch.
    pub fn ctx_bytes(&self) -> u32 {
        self.ctx_bytes
    }

    /// The same with every memory access marked as private, for tests of how an engine uses that.
    pub fn on_own_memory(mut self) -> Xlated {
        self.facts.iter_mut().for_each(|facts| facts.own_mem = true);
        self
    }
}

/// Whether `insn` is a jump to a relative target (calls and `exit` are not).
pub(crate) fn is_jump(insn: Insn) -> bool {
    matches!(insn.class(), BPF_JMP | BPF_JMP32) && !matches!(insn.op(), BPF_CALL | BPF_EXIT)
}
