//! One call frame of the state being walked: interned registers, stack, and call site.
//!
//! # Invariants
//! 1. `base` refers to an equal saved frame unless `changed` is set; its stack pages are equal
//!    unless they are stale.
//!
//! Kernel: `struct bpf_func_state` (6.18).

use super::chains::Chains;
use super::stack::{BPF_REG_SIZE, Slot};
use super::values::PackedReg;
use crate::passes::live_stack::FuncInstanceId;
use crate::state::ids::FrameId;

/// Call site of the main program.
pub(crate) const BPF_MAIN_FUNC: i32 = -1;

/// Values that a callback or program may return, inclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RetRange {
    pub(crate) min: i32,
    pub(crate) max: i32,
}

/// The attributes of a frame, apart from registers and stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FrameMeta {
    /// Insn of the call in the caller's frame; `BPF_MAIN_FUNC` for the entry frame.
    pub(crate) callsite: i32,
    /// Index of this frame, 0 for the entry frame.
    pub(crate) frameno: u32,
    pub(crate) subprogno: u32,
    /// The function as reached through this call chain, for stack liveness.
    pub(crate) instance: FuncInstanceId,
    /// Counts entries of async callbacks, so that they are not mistaken for loops.
    pub(crate) async_entry_cnt: u32,
    pub(crate) in_callback_fn: bool,
    pub(crate) in_async_callback_fn: bool,
    pub(crate) in_exception_callback_fn: bool,
    /// Values that the callback may return (if `in_callback_fn`).
    pub(crate) callback_ret_range: RetRange,
    /// How many times a callback has been walked at this call; bounds helpers like `bpf_loop`.
    pub(crate) callback_depth: u32,
}

/// One call frame.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    regs: [PackedReg; 11],
    changed: bool,
    /// Dependencies of the registers; see `state::chains`.
    pub(crate) chains: Chains,
    /// Bit p: page p of the stack differs from that of `base`.
    stale: u8,
    /// The frame as it was last saved or loaded.
    pub(super) base: Option<FrameId>,
    pub(crate) meta: FrameMeta,
    slots: Vec<Slot>,
}

impl Frame {
    /// A frame in which no register has been written; see [`super::arena::Arena::new_frame`].
    pub(super) fn new(meta: FrameMeta) -> Frame {
        let regs = [PackedReg::default(); 11];
        Frame {
            regs,
            changed: true,
            chains: Chains::LOST,
            stale: !0,
            base: None,
            meta,
            slots: Vec::new(),
        }
    }

    /// The interned register `i`.
    #[inline]
    pub(crate) fn name(&self, i: u8) -> PackedReg {
        self.regs[i as usize]
    }
    /// All registers, interned.
    #[inline]
    pub(crate) fn names(&self) -> &[PackedReg; 11] {
        &self.regs
    }
    /// Sets register `i` to an interned register.
    #[inline]
    pub(crate) fn set_name(&mut self, i: u8, name: PackedReg) {
        self.refine_name(i, name);
        self.chains.lose(i);
    }
    /// The same if the value is unchanged but what is known about it has changed.
    #[inline]
    pub(crate) fn refine_name(&mut self, i: u8, name: PackedReg) {
        self.changed |= self.regs[i as usize] != name;
        self.regs[i as usize] = name;
    }
    /// Mutable access to the frame's attributes.
    pub(crate) fn meta_mut(&mut self) -> &mut FrameMeta {
        self.changed = true;
        &mut self.meta
    }
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }
    pub(crate) fn slot(&self, spi: usize) -> Option<&Slot> {
        self.slots.get(spi)
    }
    pub(crate) fn slot_mut(&mut self, spi: usize) -> &mut Slot {
        self.changed = true;
        self.stale |= 1 << (spi / PAGE_SLOTS);
        &mut self.slots[spi]
    }
    /// Sets slot `spi`.
    #[inline]
    pub(crate) fn set_slot(&mut self, spi: usize, slot: Slot) {
        let old = &self.slots[spi];
        if old.spill != slot.spill || old.word() != slot.word() {
            *self.slot_mut(spi) = slot;
        }
    }
    /// Bytes of stack used so far, a multiple of 8.
    pub(crate) fn allocated_stack(&self) -> i32 {
        self.slots.len() as i32 * BPF_REG_SIZE
    }
    /// Makes the stack at least `bytes` deep; new bytes are invalid.
    pub(crate) fn grow_stack(&mut self, bytes: i32) {
        let n = (bytes.max(0) as usize).div_ceil(BPF_REG_SIZE as usize);
        if n > self.slots.len() {
            self.changed = true;
            for page in self.slots.len() / PAGE_SLOTS..n.div_ceil(PAGE_SLOTS) {
                self.stale |= 1 << page;
            }
            self.slots.resize(n, Slot::default());
        }
    }

    /// Whether it differs from `base`.
    pub(super) fn is_changed(&self) -> bool {
        self.changed
    }

    /// Whether page `p` of the stack differs from that of `base`.
    #[inline]
    pub(super) fn is_stale(&self, p: usize) -> bool {
        self.stale >> p & 1 == 1
    }

    /// Records that it equals `base` now.
    pub(super) fn settle(&mut self) {
        self.changed = false;
        self.stale = 0;
    }

    /// Restores a saved frame, except for its slots, of which there will be `slots_len`; slots of
    /// pages that are the same are kept.
    pub(super) fn restore(&mut self, regs: &[PackedReg; 11], meta: FrameMeta, slots_len: usize) {
        self.regs = *regs;
        self.meta = meta;
        self.chains = Chains::LOST;
        if self.slots.len() != slots_len {
            let shorter = self.slots.len().min(slots_len);
            for page in shorter / PAGE_SLOTS..PAGES_MAX {
                self.stale |= 1 << page;
            }
            self.slots.resize(slots_len, Slot::default());
        }
    }

    /// Sets the slots from `from` on, within a page.
    pub(super) fn restore_slots(&mut self, from: usize, slots: &[Slot]) {
        self.slots[from..from + slots.len()].copy_from_slice(slots);
    }
}

/// Stack slots of a page.
pub(crate) const PAGE_SLOTS: usize = 8;

/// Pages of the largest stack.
pub(crate) const PAGES_MAX: usize = 8;

/// The insn of frame `i` of a state: the current one, or the call into the next frame.
pub(crate) fn frame_insn_idx(
    i: usize,
    frames: usize,
    insn_idx: u32,
    callsite_of: impl Fn(usize) -> i32,
) -> u32 {
    if i + 1 == frames { insn_idx } else { callsite_of(i + 1) as u32 }
}
