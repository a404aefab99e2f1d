//! What the walk stores: values, saved states, pending branches, and their memory use.

use crate::Config;
use crate::explore::branch_stack::BranchStack;
use crate::explore::idmap::IdMap;
use crate::explore::scc_visits::SccVisits;
use crate::state::arena::Arena;
use crate::state::checkpoint::{Bucket, Checkpoints};
use crate::state::current_marks::CurrentMarks;
use crate::state::loop_entries::LoopEntries;
use crate::state::reads::Reads;
use crate::state::transfers::Transfers;
use crate::stats::VerifierStats;
use skep_uapi::Behaviours;

/// Number of insns between two checks of the memory used: in between, each can add at most a state
/// and a page of stack, less than a megabyte in total.
pub(crate) const CHECK_INSNS: u32 = 256;

/// Everything that outlives a path.
pub(crate) struct Store {
    pub(crate) arena: Arena,
    pub(crate) transfers: Transfers,
    pub(crate) ckpts: Checkpoints,
    /// Checkpoints by `(insn_idx ^ callsite) % insns`.
    pub(crate) explored: Vec<Bucket>,
    pub(crate) branches: BranchStack,
    pub(crate) idmap: IdMap,
    pub(crate) sccs: SccVisits,
    /// On kernels that go by the entries of loops.
    pub(crate) loop_entries: Option<Box<LoopEntries>>,
    /// For each insn, the registers that matter when backtracking over it; see
    /// `precision::backtrack::concerns`. Empty until the first backtracking.
    pub(crate) concerns: Vec<u16>,
    /// Read marks, on kernels that use them.
    pub(crate) reads: Option<Box<Reads>>,
    /// Marks of precise values in the current state, on kernels that use them.
    pub(crate) current_marks: Option<Box<CurrentMarks>>,
    pub(crate) stats: VerifierStats,
    pub(crate) explored_states_size: u32,
    pub(crate) free_list_size: u32,
    pub(crate) id_gen: u32,
    /// `insns_processed` at which memory use is checked next.
    pub(crate) memory_check_at: u32,
}

impl Store {
    /// An empty store, for a program of `insns` insns.
    pub(crate) fn new(config: &Config, insns: usize) -> Store {
        Store {
            arena: Arena::new(),
            transfers: Transfers::new(),
            ckpts: Checkpoints::new(config.tuning.state_alloc),
            explored: vec![Default::default(); insns],
            branches: Default::default(),
            idmap: IdMap::new(
                config.tuning.idmap_reset,
                !config.profile.behaviours.ids_paired_both_ways,
            ),
            sccs: Default::default(),
            loop_entries: LoopEntries::of_kernel(&config.profile.behaviours),
            concerns: Vec::new(),
            reads: config.profile.behaviours.reads_are_marked.then(Default::default),
            current_marks: current_marks(&config.profile.behaviours).map(Box::new),
            stats: VerifierStats { insns_limit: config.profile.insns_max, ..Default::default() },
            explored_states_size: 0,
            free_list_size: 0,
            id_gen: 0,
            memory_check_at: first_memory_check(config),
        }
    }

    /// A function is verified from its start, with nothing known of the current path.
    pub(crate) fn begin_path(&mut self) {
        self.reads.iter_mut().for_each(|it| it.begin());
        self.current_marks.iter_mut().for_each(|it| it.begin());
        self.loop_entries.iter_mut().for_each(|it| it.begin());
    }

    /// The current path, which has this many frames, waits as a branch.
    #[inline(always)] // A call per branch is measurable.
    pub(crate) fn path_waits(&mut self, frames: usize) {
        self.reads.iter_mut().for_each(|it| it.wait(frames));
        self.current_marks.iter_mut().for_each(|it| it.wait());
        self.loop_entries.iter_mut().for_each(|it| it.wait());
    }

    /// A path without predecessors waits as a branch.
    pub(crate) fn new_path_waits(&mut self) {
        self.reads.iter_mut().for_each(|it| it.wait_anew());
        self.current_marks.iter_mut().for_each(|it| it.wait_anew());
        self.loop_entries.iter_mut().for_each(|it| it.wait_anew());
    }

    /// The path that waited last becomes the current one.
    #[inline(always)] // A call per branch is measurable.
    pub(crate) fn resume_path(&mut self) {
        self.reads.iter_mut().for_each(|it| it.resume());
        self.current_marks.iter_mut().for_each(|it| it.resume());
        self.loop_entries.iter_mut().for_each(|it| it.resume());
    }

    /// A fresh id for registers and references; never 0.
    pub(crate) fn new_id(&mut self) -> u32 {
        self.id_gen += 1;
        self.id_gen
    }
}

fn current_marks(rules: &Behaviours) -> Option<CurrentMarks> {
    let stay = !rules.marks_forgotten;
    (stay || rules.current_state_marked).then(|| CurrentMarks::new(stay))
}

/// When memory use is checked for the first time: never if there is no limit.
fn first_memory_check(config: &Config) -> u32 {
    if config.mem_bytes_max.is_none() { u32::MAX } else { CHECK_INSNS }
}
