//! Loops by their entries, as kernels before 6.17 find them.
//!
//! A path that comes back to a checkpoint on it closes a loop, of which that checkpoint is an
//! entry. Each state keeps the outermost entry that paths from it have come back to; once all of
//! them are verified, so does the state before it. The marks of a verified state are incomplete
//! while there are paths from its entry left. No marks are propagated along back-edges.
//!
//! After Wei, Mao, Zou and Chen, "A New Algorithm for Identifying Loops in Decompilation" (2007).

use crate::env::Env;
use crate::state::ids::CkptId;

impl Env<'_> {
    /// Whether marks of the checkpoint may be missing because of a loop that is not finished;
    /// `None` if this kernel does not go by entries.
    pub(super) fn is_in_open_loop(&mut self, id: CkptId) -> Option<bool> {
        let entry = self.store.loop_entries.as_mut()?.find_outermost(id);
        Some(entry.is_some_and(|entry| self.store.ckpts.hot(entry).branches > 0))
    }

    /// The current path ends at a checkpoint of an unfinished loop; false if this kernel does not
    /// go by entries.
    pub(super) fn ends_in_loop(&mut self, id: CkptId) -> bool {
        let Some(entries) = &self.store.loop_entries else { return false };
        let is_on_path = self.store.ckpts.hot(id).branches > 0;
        let entry = if is_on_path { Some(id) } else { entries.outermost(id) };
        self.join_entry(None, entry);
        true
    }

    /// All paths from a checkpoint, or the current one if there is none, are verified: its entry
    /// is handed to the checkpoint before it.
    pub(super) fn hand_entry_on(&mut self, from: Option<CkptId>, to: Option<CkptId>) {
        let (Some(entries), Some(to)) = (&self.store.loop_entries, to) else { return };
        let entry = entries.of(from).filter(|&entry| entry != to || entries.renewed);
        self.join_entry(Some(to), entry);
    }

    /// Keeps the entry for a state if it is on the current path, before the one known so far.
    fn join_entry(&mut self, of: Option<CkptId>, entry: Option<CkptId>) {
        let (Some(entries), Some(entry)) = (&mut self.store.loop_entries, entry) else { return };
        let ckpts = &self.store.ckpts;
        let depth = |id: CkptId| ckpts.get(id).state.meta.dfs_depth;
        let is_kept = if entries.renewed {
            // The loops around both decide, and a state may become its own entry: while the loop
            // around it is not finished, its marks are then taken for complete.
            let known = match of {
                Some(id) => depth(entries.find_outermost(id).unwrap_or(id)),
                None => match entries.of(None) {
                    Some(known) => depth(entries.find_outermost(known).unwrap_or(known)),
                    None => self.walk.cur.meta.dfs_depth,
                },
            };
            let outermost = entries.find_outermost(entry).unwrap_or(entry);
            ckpts.hot(outermost).branches > 0 && depth(outermost) <= known
        } else {
            ckpts.hot(entry).branches > 0
                && entries.of(of).is_none_or(|known| depth(entry) < depth(known))
        };
        if is_kept {
            entries.set(of, entry);
        }
    }
}
