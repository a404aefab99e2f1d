//! The entries of the loops that states are in, on kernels before 6.17.

use super::ids::CkptId;
use crate::memory::push_tight;
use skep_uapi::Behaviours;

/// An entry known for each state; the outermost one is at the end of a chain of them.
pub(crate) struct LoopEntries {
    /// By the checkpoint's place.
    saved: Vec<Saved>,
    current: Option<CkptId>,
    /// Those of the pending branches.
    waiting: Vec<Option<CkptId>>,
    /// An entry that begins at the same state as the known one replaces it.
    pub(crate) renewed: bool,
    /// A path begins with the entry of the path before it, and a saved state without one.
    left_over: bool,
}

#[derive(Clone, Copy, Default)]
struct Saved {
    entry: Option<CkptId>,
    /// It is an entry itself, and stays.
    is_entry: bool,
}

impl LoopEntries {
    /// Those of a kernel, if it goes by entries.
    pub(crate) fn of_kernel(rules: &Behaviours) -> Option<Box<LoopEntries>> {
        (!rules.loops_are_components).then(|| {
            Box::new(LoopEntries {
                saved: Vec::new(),
                current: None,
                waiting: Vec::new(),
                renewed: rules.loop_entries_renewed,
                left_over: rules.loop_entries_left_over,
            })
        })
    }

    /// A function is verified from its start.
    pub(crate) fn begin(&mut self) {
        self.current = None;
    }

    /// The current state was saved.
    pub(crate) fn save(&mut self, id: CkptId) {
        let place = id.place() as usize;
        while self.saved.len() <= place {
            push_tight(&mut self.saved, Saved::default());
        }
        let entry = self.current.filter(|_| !self.left_over);
        self.saved[place] = Saved { entry, is_entry: false };
    }

    /// Pushes the current state as a branch.
    pub(crate) fn wait(&mut self) {
        push_tight(&mut self.waiting, self.current);
    }

    /// Pushes a state without predecessors.
    pub(crate) fn wait_anew(&mut self) {
        push_tight(&mut self.waiting, None);
    }

    /// Pops the last branch.
    pub(crate) fn resume(&mut self) {
        let waited = self.waiting.pop().flatten();
        if !self.left_over {
            self.current = waited;
        }
    }

    /// Whether the checkpoint is an entry of a loop.
    pub(crate) fn is_entry(&self, id: CkptId) -> bool {
        self.saved[id.place() as usize].is_entry
    }

    /// The entry known for a checkpoint, or for the current state.
    pub(crate) fn of(&self, state: Option<CkptId>) -> Option<CkptId> {
        state.map_or(self.current, |id| self.saved[id.place() as usize].entry)
    }

    /// Sets it.
    pub(crate) fn set(&mut self, state: Option<CkptId>, entry: CkptId) {
        self.saved[entry.place() as usize].is_entry = true;
        match state {
            Some(id) => self.saved[id.place() as usize].entry = Some(entry),
            None => self.current = Some(entry),
        }
    }

    /// The entry of the outermost loop that the checkpoint is known to be in.
    pub(crate) fn outermost(&self, id: CkptId) -> Option<CkptId> {
        let outer = |&id: &CkptId| self.of(Some(id)).filter(|&outer| outer != id);
        std::iter::successors(self.of(Some(id)), outer).last()
    }

    /// The same; kernels whose entries are renewed keep it for the checkpoint.
    pub(crate) fn find_outermost(&mut self, id: CkptId) -> Option<CkptId> {
        let found = self.outermost(id);
        if self.renewed {
            self.saved[id.place() as usize].entry = found;
        }
        found
    }
}
