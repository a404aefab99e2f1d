//! Records stack accesses for stack liveness and for fastcall patterns.
//!
//! Kernel: `bpf_mark_stack_read`, `bpf_mark_stack_write`, `check_fastcall_stack_contract` (6.18).

use crate::env::{Env, Walk};
use crate::state::stack::Slot;

impl Env<'_> {
    /// The insn reads the slots `mask` of frame `frameno`.
    pub(crate) fn mark_stack_read(&mut self, frameno: u32, mask: u64) {
        match &mut self.store.reads {
            Some(reads) => reads.read_slots(frameno as usize, mask, self.walk.cur.meta.parent),
            None => self.learned.live_stack.mark_read(frameno as usize, mask),
        }
    }

    /// The insn overwrites all of the slots `mask` of frame `frameno`.
    pub(crate) fn mark_stack_write(&mut self, frameno: u32, mask: u64) {
        match &mut self.store.reads {
            Some(reads) => reads.write_slots(frameno as usize, mask),
            None => self.learned.live_stack.mark_write(frameno as usize, mask),
        }
    }

    /// An access at `off` of frame `frameno`. Outside of a fastcall pattern, it invalidates the
    /// patterns of the subprog that use this slot.
    pub(crate) fn check_fastcall_stack_contract(&mut self, frameno: u32, off: i32) {
        let subprogno = self.walk.cur.frames[frameno as usize].meta.subprogno as usize;
        let idx = self.walk.insn_idx as usize;
        self.learned.fastcall.check_stack_contract(&self.facts.layout, subprogno, idx, off);
    }
}

impl Walk {
    /// Slot `spi` of frame `frameno`; invalid beyond the allocated stack.
    pub(crate) fn slot(&self, frameno: u32, spi: usize) -> Slot {
        self.cur.frames[frameno as usize].slot(spi).copied().unwrap_or_default()
    }

    /// The slot will be printed with the next state.
    pub(crate) fn mark_stack_slot_scratched(&mut self, spi: usize) {
        self.scratched_slots |= 1 << spi;
    }
}
