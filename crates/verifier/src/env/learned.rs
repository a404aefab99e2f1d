//! What a walk finds out about the program.

use crate::KernelHole;
use crate::check::call::sub_arg::SubArg;
use crate::insn_aux::InsnAux;
use crate::passes::fastcall::Fastcall;
use crate::passes::live_stack::LiveStack;
use std::sync::Arc;

/// What was found of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubprogUse {
    /// Deepest stack access, bytes.
    pub(crate) stack_depth: u32,
    pub(crate) tail_call_reachable: bool,
    pub(crate) is_async_cb: bool,
    pub(crate) is_cb: bool,
    /// A global function that some walked path calls.
    pub(crate) called: bool,
    /// It is global and has no result.
    pub(crate) returns_void: bool,
    /// What its BTF says of its arguments, once that was read.
    pub(crate) args: Option<Arc<[SubArg]>>,
    /// Its BTF says other things than its callers do.
    pub(crate) unreliable: bool,
}

/// What holds on all walked paths together. Passes begin it; what the rewrites need is in it.
#[derive(Default)]
pub(crate) struct Learned {
    pub(crate) aux: Vec<InsnAux>,
    pub(crate) subprogs: Vec<SubprogUse>,
    /// Which stack slots may be read later, by chain of calls.
    pub(crate) live_stack: LiveStack,
    /// Spill-call-fill patterns that may be removed.
    pub(crate) fastcall: Fastcall,
    /// Limits of pointer arithmetic are being explored: scalars must be equal to prune.
    pub(crate) explore_alu_limits: bool,
    pub(crate) seen_direct_write: bool,
    /// Bytes of the context that callees are given as memory.
    pub(crate) ctx_mem_end: u32,
    /// What makes the program unsafe to run, should it be accepted.
    pub(crate) kernel_hole: Option<KernelHole>,
    /// What may make it so: the first hole that the walk went by.
    pub(crate) doubt: Option<KernelHole>,
    /// A number was linked with one that differs by more than pointers may, where that is looked
    /// at later.
    pub(crate) large_sums: bool,
    /// The walk arrived at a call of `bpf_throw`.
    pub(crate) seen_exception: bool,
    /// The program was refused or is not finished: depths are as the walk found them.
    pub(crate) accepted: bool,
}

impl Learned {
    /// Nothing, of a program of `insns` insns.
    pub(crate) fn new(insns: usize) -> Learned {
        Learned { aux: vec![InsnAux::default(); insns], ..Learned::default() }
    }
}
