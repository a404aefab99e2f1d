//! The memory that a verification uses, and its limit.

use crate::env::store::CHECK_INSNS;
use crate::env::{Env, Facts, Learned, Setup, Store, Walk};
use crate::log::Log;
use crate::memory::capacity_bytes;
use crate::rejection::{Check, Stop};
use crate::stats::MemBytes;

/// The parts of a working set that use memory.
pub(crate) struct Held<'h> {
    facts: &'h Facts<'h>,
    walk: &'h Walk,
    store: &'h Store,
    learned: &'h Learned,
    log: &'h Log,
}

impl Setup<'_> {
    /// Stops the verification if it uses more than the limit before the walk.
    pub(crate) fn check_memory(&self) -> Check {
        let Setup { facts, walk, store, learned, trace } = self;
        Held { facts, walk, store, learned, log: &trace.log }.check()
    }
}

impl Env<'_> {
    /// Stops the verification if it uses more than the limit.
    pub(crate) fn check_memory(&mut self) -> Check {
        let next = self.store.stats.insns_processed.saturating_add(CHECK_INSNS);
        self.store.memory_check_at = next;
        self.held().check()
    }

    pub(crate) fn held(&self) -> Held<'_> {
        let Env { facts, walk, store, learned, trace } = self;
        Held { facts, walk, store, learned, log: &trace.log }
    }
}

impl Held<'_> {
    fn check(&self) -> Check {
        let max = self.facts.config.mem_bytes_max;
        match max.is_some_and(|max| self.peak().total() > max) {
            true => Err(Stop::out_of_memory()),
            false => Ok(()),
        }
    }

    /// The memory that the walk has allocated; called at its end.
    pub(crate) fn peak(&self) -> MemBytes {
        let [frames, stack] = self.store.arena.bytes();
        MemBytes {
            frames,
            stack,
            checkpoints: self.store.ckpts.bytes()
                + self.store.branches.bytes()
                + self.store.reads.as_ref().map_or(0, |reads| reads.bytes())
                + self.store.current_marks.as_ref().map_or(0, |marks| marks.bytes()),
            history: self.walk.cur.history.bytes() + self.store.ckpts.own_history_peak_bytes(),
            idmap: self.store.idmap.bytes(),
            transfers: self.store.transfers.bytes(),
            insns: self.insn_bytes(),
            log: self.log.bytes_peak(),
        }
    }

    /// The part of that memory that is in use.
    pub(crate) fn in_use(&self) -> MemBytes {
        let [frames, stack] = self.store.arena.bytes_in_use();
        MemBytes {
            frames,
            stack,
            checkpoints: self.store.ckpts.bytes_in_use(),
            history: self.store.ckpts.own_history_bytes(),
            idmap: self.store.idmap.bytes(),
            transfers: self.store.transfers.bytes(),
            insns: self.insn_bytes(),
            log: self.log.bytes(),
        }
    }

    fn insn_bytes(&self) -> u64 {
        capacity_bytes(&self.learned.aux)
            + capacity_bytes(&self.store.explored)
            + capacity_bytes(&self.store.concerns)
            + self.learned.live_stack.bytes()
            + self.facts.stack_use.bytes()
    }
}
