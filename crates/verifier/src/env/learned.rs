//! What the walk finds out about the program.

use crate::KernelHole;
use crate::check::call::sub_arg::SubArg;
use crate::insn_aux::InsnAux;
use crate::passes::fastcall::Fastcall;
use crate::passes::final_depth::StackRewrites;
use crate::passes::live_stack::LiveStack;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What was found about one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubprogUse {
    /// Deepest stack access, bytes.
    pub(crate) stack_depth: u32,
    pub(crate) tail_call_reachable: bool,
    pub(crate) is_async_cb: bool,
    pub(crate) is_cb: bool,
    /// Whether some walked path calls it; for global functions.
    pub(crate) called: bool,
    /// Whether some walked path that may sleep calls it; for global functions.
    pub(crate) called_awake: bool,
    /// Whether it is global and returns void.
    pub(crate) returns_void: bool,
    /// The argument types from its BTF, once they have been read.
    pub(crate) args: Option<Arc<[SubArg]>>,
    /// Its BTF prototype does not match its callers.
    pub(crate) unreliable: bool,
}

/// Properties that hold over all walked paths. Passes initialize it; the rewrites use it.
#[derive(Default)]
pub(crate) struct Learned {
    pub(crate) aux: Vec<InsnAux>,
    pub(crate) subprogs: Vec<SubprogUse>,
    /// Which stack slots may be read later, by call chain.
    pub(crate) live_stack: LiveStack,
    /// Spill-call-fill patterns that may be removed.
    pub(crate) fastcall: Fastcall,
    /// A pointer whose moves get masks was moved by a variable: scalars must be equal to prune,
    /// because the masks depend on them.
    pub(crate) moves_by_variable: bool,
    pub(crate) seen_direct_write: bool,
    /// Number of bytes of the context that callees receive as memory.
    pub(crate) ctx_mem_end: u32,
    /// A kernel bug that makes the program unsafe to run even if it is accepted.
    pub(crate) kernel_hole: Option<KernelHole>,
    /// A kernel bug that may do so: the first one whose rule the walk used.
    pub(crate) doubt: Option<KernelHole>,
    /// The walk reached a call of `bpf_throw`.
    pub(crate) seen_exception: bool,
    /// Insns that compute, and whether they did so with an arena pointer; for programs with an
    /// arena, on kernels where all paths must agree.
    pub(crate) arena_ops: Option<FxHashMap<u32, bool>>,
    /// How far the rewrites came; none began if the walk or the check of call chains refused.
    pub(crate) stack_rewrites: StackRewrites,
}

impl Learned {
    /// The initial state, for a program of `insns` insns.
    pub(crate) fn new(insns: usize) -> Learned {
        Learned { aux: vec![InsnAux::default(); insns], ..Learned::default() }
    }
}
