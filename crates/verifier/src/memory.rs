//! The bytes that a verification holds, by what they are for.

use crate::env::Env;
use crate::stats::MemBytes;

/// Appends to a table that may become large, and tells where: where it must grow, by a quarter and
/// not to the double.
pub(crate) fn push_tight<T>(items: &mut Vec<T>, item: T) -> u32 {
    if items.len() == items.capacity() {
        items.reserve_exact(items.len() / 4 + 16);
    }
    items.push(item);
    items.len() as u32 - 1
}

/// Bytes allocated by a vector.
pub(crate) fn capacity_bytes<T>(items: &Vec<T>) -> u64 {
    (items.capacity() * size_of::<T>()) as u64
}

impl Env<'_> {
    /// What the walk has allocated; called when it has ended.
    pub(crate) fn mem_peak(&self) -> MemBytes {
        let [frames, stack] = self.arena.bytes();
        MemBytes {
            frames,
            stack,
            checkpoints: self.ckpts.bytes() + self.branches.bytes(),
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
    }
}
