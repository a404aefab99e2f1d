//! The memory that a verification uses, and its limit.

use crate::env::Env;
use crate::memory::capacity_bytes;
use crate::rejection::{Check, Stop};
use crate::stats::MemBytes;

/// Insns between two looks at the bytes held: what they can add in the meantime, a state and a page
/// of stack each, stays below a megabyte.
pub(crate) const CHECK_INSNS: u32 = 256;

/// When the bytes held are looked at first: never, where there is no limit.
pub(crate) fn first_check(config: &crate::Config) -> u32 {
    if config.mem_bytes_max == u64::MAX { u32::MAX } else { 0 }
}

impl Env<'_> {
    /// Ends a verification that holds more than it may.
    pub(crate) fn check_memory(&mut self) -> Check {
        if self.config.mem_bytes_max == u64::MAX {
            return Ok(());
        }
        self.memory_check_at = self.stats.insns_processed.saturating_add(CHECK_INSNS);
        match self.mem_peak().total() > self.config.mem_bytes_max {
            true => Err(Stop::OutOfMemory),
            false => Ok(()),
        }
    }

    /// What the walk has allocated; called when it has ended.
    pub(crate) fn mem_peak(&self) -> MemBytes {
        let [frames, stack] = self.arena.bytes();
        MemBytes {
            frames,
            stack,
            checkpoints: self.ckpts.bytes()
                + self.branches.bytes()
                + self.reads.as_ref().map_or(0, |reads| reads.bytes()),
            history: self.cur.history.bytes() + self.ckpts.own_history_peak_bytes(),
            idmap: self.idmap.bytes(),
            transfers: self.transfers.bytes(),
            insns: self.insn_bytes(),
            log: self.log.bytes_peak(),
        }
    }

    /// What of it is in use.
    pub(crate) fn mem_final(&self) -> MemBytes {
        let [frames, stack] = self.arena.bytes_in_use();
        MemBytes {
            frames,
            stack,
            checkpoints: self.ckpts.bytes_in_use(),
            history: self.ckpts.own_history_bytes(),
            idmap: self.idmap.bytes(),
            transfers: self.transfers.bytes(),
            insns: self.insn_bytes(),
            log: self.log.bytes(),
        }
    }

    fn insn_bytes(&self) -> u64 {
        capacity_bytes(&self.aux)
            + capacity_bytes(&self.explored)
            + capacity_bytes(&self.concerns)
            + self.live_stack.bytes()
            + self.stack_use.bytes()
    }
}
