//! The data kept for loops whose precision marks are incomplete.

use crate::state::ids::CkptId;
use crate::state::reads::StateReads;
use crate::state::verifier_state::PackedState;
use rustc_hash::FxHashMap;
use std::fmt;

/// A component entered through a chain of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CallChain {
    pub(super) callsites: [u32; 7],
    pub(super) scc: u32,
}

impl fmt::Display for CallChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for site in self.callsites.iter().take_while(|&&s| s != 0) {
            write!(f, "{site},")?;
        }
        write!(f, "{})", self.scc)
    }
}

/// A pruned state inside an unfinished component.
pub(crate) struct Backedge {
    pub(super) state: PackedState,
    pub(super) equal_state: CkptId,
    /// Its read marks, on kernels that use them.
    pub(super) reads: Option<Box<StateReads>>,
}

/// The visits of one component.
#[derive(Default)]
pub(crate) struct Visit {
    /// First checkpoint inside the component on the current path.
    pub(super) entry_state: Option<CkptId>,
    /// Newest last; marks are propagated from the newest on.
    pub(super) backedges: Vec<Backedge>,
    pub(super) num_backedges: u32,
}

/// All components visited.
#[derive(Default)]
pub(crate) struct SccVisits {
    pub(super) visits: FxHashMap<CallChain, Visit>,
    pub(crate) num_backedges: u32,
}
