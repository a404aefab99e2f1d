//! Loops by their entries, as kernels before 6.17 find them.
//!
//! A path that comes back to a checkpoint on it closes a loop, of which that checkpoint is an entry.
//! Each state keeps the outermost entry that paths from it have come back to; once all of them are
//! verified, so does the state before it. The marks of a verified state are incomplete while there
//! are paths from its entry left. No marks are propagated along back-edges.
//!
//! After Wei, Mao, Zou and Chen, "A New Algorithm for Identifying Loops in Decompilation" (2007).

use crate::env::{Env, Store};
use crate::memory::push_tight;
use crate::state::ids::CkptId;

/// The entries of the loops that states are in.
#[derive(Default)]
pub(crate) struct LoopEntries {
    /// By the checkpoint's place.
    saved: Vec<Saved>,
    current: Option<CkptId>,
    /// Those of the pending branches.
    waiting: Vec<Option<CkptId>>,
}

#[derive(Clone, Copy, Default)]
struct Saved {
    entry: Option<CkptId>,
    /// It is an entry itself, and stays.
    is_entry: bool,
}

impl LoopEntries {
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
        self.saved[place] = Saved { entry: self.current, is_entry: false };
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
        self.current = self.waiting.pop().flatten();
    }

    pub(super) fn is_entry(&self, id: CkptId) -> bool {
        self.saved[id.place() as usize].is_entry
    }

    /// The entry of the outermost loop that the checkpoint is known to be in.
    fn outermost(&self, id: CkptId) -> Option<CkptId> {
        let entry = |id: CkptId| self.saved[id.place() as usize].entry;
        std::iter::successors(entry(id), |&outer| entry(outer)).last()
    }
}

impl Env<'_> {
    /// Whether marks of the checkpoint may be missing because of a loop that is not finished;
    /// `None` if this kernel does not go by entries.
    pub(super) fn is_in_open_loop(&self, id: CkptId) -> Option<bool> {
        let entry = self.store.loop_entries.as_ref()?.outermost(id);
        Some(entry.is_some_and(|entry| self.store.ckpts.hot(entry).branches > 0))
    }

    /// The current path ends at a checkpoint of an unfinished loop; false if this kernel does not
    /// go by entries.
    pub(super) fn ends_in_loop(&mut self, id: CkptId) -> bool {
        let Some(entries) = &self.store.loop_entries else { return false };
        let is_on_path = self.store.ckpts.hot(id).branches > 0;
        let entry = if is_on_path { Some(id) } else { entries.outermost(id) };
        let current = entries.current;
        if let Some(entry) = entry.filter(|&entry| self.store.is_further_out(entry, current)) {
            self.store.set_entry(None, entry);
        }
        true
    }

    /// All paths from a checkpoint, or the current one if there is none, are verified.
    pub(super) fn hand_entry_on(&mut self, from: Option<CkptId>, to: Option<CkptId>) {
        let (Some(entries), Some(to)) = (&self.store.loop_entries, to) else { return };
        let entry = from.map_or(entries.current, |id| entries.saved[id.place() as usize].entry);
        let known = entries.saved[to.place() as usize].entry;
        let entry = entry.filter(|&entry| entry != to && self.store.is_further_out(entry, known));
        if let Some(entry) = entry {
            self.store.set_entry(Some(to), entry);
        }
    }
}

impl Store {
    /// Whether the entry is on the current path, before the one known so far.
    fn is_further_out(&self, entry: CkptId, known: Option<CkptId>) -> bool {
        let depth = |id: CkptId| self.ckpts.get(id).state.meta.dfs_depth;
        self.ckpts.hot(entry).branches > 0 && known.is_none_or(|known| depth(entry) < depth(known))
    }

    /// Sets the entry of a checkpoint, or of the current state.
    fn set_entry(&mut self, of: Option<CkptId>, entry: CkptId) {
        let Some(entries) = &mut self.loop_entries else { return };
        entries.saved[entry.place() as usize].is_entry = true;
        match of {
            Some(id) => entries.saved[id.place() as usize].entry = Some(entry),
            None => entries.current = Some(entry),
        }
    }
}
