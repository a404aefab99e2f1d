//! Liveness of registers and stack slots, as recorded on the walked paths.
//!
//! Kernels before 6.18 learn during the walk which parts of a saved state are needed: a read is
//! propagated backwards along the path, up to the checkpoint before which the value was written,
//! and marks each checkpoint on the way. Each register or slot of a state has a link to its origin
//! in the last checkpoint; a write since then stops the propagation. Whatever is unmarked when all
//! paths from a checkpoint have been walked is cleared from it.
//!
//! Other kernels do not have this: `Store::reads` is `None`.
//!
//! # Invariants
//! 1. A mark in a checkpoint is also in all earlier checkpoints, unless a write or a missing link
//!    stops it.
//! 2. `waiting` has an entry for each pending branch, in the same order.
//!
//! Source: the kernel's documentation ("Register liveness tracking"), and logs of those kernels.

use crate::memory::{capacity_bytes, push_tight};
use crate::state::ids::CkptId;
use skep_uapi::limits::MAX_CALL_FRAMES;
use smallvec::SmallVec;

/// Number of registers with marks: all but the frame pointer.
const MARKED: u8 = 10;
/// Callee-saved registers.
const CALLEE_SAVED: std::ops::Range<u8> = 6..MARKED;

/// A register of a saved state.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    ckpt: Option<CkptId>,
    frame: u8,
    reg: u8,
}

/// Marks of one frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameReads {
    links: [Link; MARKED as usize],
    /// Registers that were read after this state was saved.
    regs_read: u16,
    /// Registers that were written between the last checkpoint and this state.
    regs_written: u16,
    /// Slots that come from the last checkpoint.
    slots_linked: u8,
    slots_read: u64,
    slots_written: u64,
}

impl FrameReads {
    /// The liveness suffix of register `i` in the log.
    pub(crate) fn of_reg(&self, i: usize) -> &'static str {
        let at = |marks: u16| i < MARKED as usize && marks >> i & 1 == 1;
        shown(at(self.regs_read), at(self.regs_written))
    }

    /// The same for slot `spi`.
    pub(crate) fn of_slot(&self, spi: usize) -> &'static str {
        let at = |marks: u64| marks >> spi & 1 == 1;
        shown(at(self.slots_read), at(self.slots_written))
    }
}

fn shown(read: bool, written: bool) -> &'static str {
    match (read, written) {
        (true, true) => "_rw",
        (true, false) => "_r",
        (false, true) => "_w",
        (false, false) => "",
    }
}

/// The marks of all frames of a state.
pub(crate) type StateReads = SmallVec<[FrameReads; 1]>;

/// A checkpoint.
#[derive(Clone, Debug, Default)]
struct Saved {
    parent: Option<CkptId>,
    frames: StateReads,
}

/// The marks of all states.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// Those of the current state; entries beyond its frames are stale.
    cur: [FrameReads; MAX_CALL_FRAMES],
    /// By index of the checkpoint.
    saved: Vec<Saved>,
    waiting: Vec<StateReads>,
    /// The largest number of checkpoints that one read marked.
    longest_walk: u32,
}

/// A register of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameReg {
    pub(crate) frame: usize,
    pub(crate) regno: u8,
}

impl Reads {
    /// Starts the walk of a function.
    pub(crate) fn begin(&mut self) {
        self.cur[0] = FrameReads::default();
        self.waiting.clear();
    }

    /// Enters a frame, which has no earlier values.
    pub(crate) fn enter(&mut self, frame: usize) {
        self.cur[frame] = FrameReads::default();
    }

    /// Passes a register's value from one frame to another.
    pub(crate) fn pass(&mut self, from: FrameReg, to: FrameReg) {
        let (source, target) = (from.regno, to.regno);
        if source >= MARKED || target >= MARKED {
            return;
        }
        let from = self.cur[from.frame];
        let written = from.regs_written >> source & 1;
        let to = &mut self.cur[to.frame];
        to.links[target as usize] = from.links[source as usize];
        to.regs_written = to.regs_written & !(1 << target) | written << target;
    }

    /// Saves the current state as `id`, and continues from there.
    #[inline(never)]
    pub(crate) fn save(&mut self, id: CkptId, parent: Option<CkptId>, slots: &[usize]) {
        let place = id.place() as usize;
        while self.saved.len() <= place {
            push_tight(&mut self.saved, Saved::default());
        }
        let last = slots.len() - 1;
        self.saved[place] = Saved { parent, frames: self.cur[..=last].into() };
        for (i, (frame, &slots)) in self.cur.iter_mut().zip(slots).enumerate() {
            let linked = if i == last { 0..MARKED } else { CALLEE_SAVED };
            for reg in linked {
                frame.links[reg as usize] = Link { ckpt: Some(id), frame: i as u8, reg };
            }
            (frame.regs_read, frame.regs_written) = (0, 0);
            (frame.slots_read, frame.slots_written) = (0, 0);
            frame.slots_linked = slots as u8;
        }
    }

    /// The marks of the current state with this many frames.
    pub(crate) fn current(&self, frames: usize) -> StateReads {
        self.cur[..frames].into()
    }

    /// Pushes the current state as a branch.
    #[inline(never)]
    pub(crate) fn wait(&mut self, frames: usize) {
        push_tight(&mut self.waiting, self.cur[..frames].into());
    }

    /// Pushes a state without predecessors.
    pub(crate) fn wait_anew(&mut self) {
        push_tight(&mut self.waiting, SmallVec::from_elem(FrameReads::default(), 1));
    }

    /// Pops the last branch.
    #[inline(never)]
    pub(crate) fn resume(&mut self) {
        if let Some(frames) = self.waiting.pop() {
            self.cur[..frames.len()].copy_from_slice(&frames);
        }
    }

    /// The marks of a frame of the current state.
    pub(crate) fn of_current(&self, frame: usize) -> &FrameReads {
        &self.cur[frame]
    }

    /// The marks of a frame of a checkpoint.
    pub(crate) fn of_saved(&self, id: CkptId, frame: usize) -> FrameReads {
        let saved = self.saved.get(id.place() as usize);
        saved.and_then(|saved| saved.frames.get(frame)).copied().unwrap_or_default()
    }

    /// Registers and slots of a checkpoint's frame that were read.
    pub(crate) fn needed(&self, id: CkptId, frame: usize) -> (u16, u64) {
        let frame = self.of_saved(id, frame);
        (frame.regs_read, frame.slots_read)
    }

    /// A register of the current state is overwritten.
    pub(crate) fn write_reg(&mut self, frame: usize, reg: u8) {
        self.cur[frame].regs_written |= 1 << reg;
    }

    /// Whole slots of the current state are overwritten.
    pub(crate) fn write_slots(&mut self, frame: usize, slots: u64) {
        self.cur[frame].slots_written |= slots;
    }

    /// A register of the current state is read.
    pub(crate) fn read_reg(&mut self, frame: usize, reg: u8) {
        if reg < MARKED {
            let at = self.cur[frame];
            self.mark_reg(&at, reg);
        }
    }

    /// Slots of the current state are read.
    #[inline(never)]
    pub(crate) fn read_slots(&mut self, frame: usize, slots: u64, parent: Option<CkptId>) {
        let at = self.cur[frame];
        for spi in bits(slots) {
            self.mark_slot(&at, frame, spi, parent);
        }
    }

    /// Propagates the read of a register after state `at` to the checkpoints from which its value
    /// comes.
    fn mark_reg(&mut self, at: &FrameReads, reg: u8) {
        let mut steps = 0;
        let (mut written, mut link) = (at.regs_written, at.links[reg as usize]);
        let mut reg = reg;
        while written >> reg & 1 == 0
            && let Some(id) = link.ckpt
            && let Some(saved) = self.saved.get_mut(id.place() as usize)
            && let Some(frame) = saved.frames.get_mut(link.frame as usize)
        {
            reg = link.reg;
            if frame.regs_read >> reg & 1 == 1 {
                break;
            }
            frame.regs_read |= 1 << reg;
            (written, link) = (frame.regs_written, frame.links[reg as usize]);
            steps += 1;
        }
        self.longest_walk = self.longest_walk.max(steps);
    }

    /// The same for a slot; `parent` is the last checkpoint before `at`.
    fn mark_slot(&mut self, at: &FrameReads, frame: usize, spi: usize, mut parent: Option<CkptId>) {
        let mut steps = 0;
        let (mut written, mut linked) = (at.slots_written, at.slots_linked);
        while written >> spi & 1 == 0
            && spi < linked as usize
            && let Some(id) = parent
            && let Some(saved) = self.saved.get_mut(id.place() as usize)
            && let Some(frame) = saved.frames.get_mut(frame)
        {
            if frame.slots_read >> spi & 1 == 1 {
                break;
            }
            frame.slots_read |= 1 << spi;
            (written, linked) = (frame.slots_written, frame.slots_linked);
            parent = saved.parent;
            steps += 1;
        }
        self.longest_walk = self.longest_walk.max(steps);
    }

    /// What was read after checkpoint `old` counts as read after the current state, which it
    /// covers.
    pub(crate) fn join(&mut self, old: CkptId, parent: Option<CkptId>, slots: &[usize]) {
        let mut cur = self.current(slots.len());
        self.join_state(old, &mut cur, parent, slots);
    }

    /// The same for a state other than the current one. True if it gets a new mark.
    pub(crate) fn join_state(
        &mut self,
        old: CkptId,
        state: &mut StateReads,
        parent: Option<CkptId>,
        slots: &[usize],
    ) -> bool {
        let mut changed = false;
        let last = slots.len() - 1;
        for (i, &slots) in slots.iter().enumerate() {
            let read = self.of_saved(old, i);
            let outer = if i == last { 0 } else { CALLEE_SAVED.start };
            let regs = read.regs_read & !0 << outer & !state[i].regs_read;
            let there = 1_u64.checked_shl(slots as u32).unwrap_or(0).wrapping_sub(1);
            let slots = read.slots_read & there & !state[i].slots_read;
            state[i].regs_read |= regs;
            state[i].slots_read |= slots;
            changed |= regs != 0 || slots != 0;
            let at = state[i];
            for reg in bits(u64::from(regs)) {
                self.mark_reg(&at, reg as u8);
            }
            for spi in bits(slots) {
                self.mark_slot(&at, i, spi, parent);
            }
        }
        changed
    }

    /// The largest number of checkpoints that one read marked.
    pub(crate) fn longest_walk(&self) -> u32 {
        self.longest_walk
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        let spilled = |frames: &StateReads| match frames.spilled() {
            true => (frames.capacity() * size_of::<FrameReads>()) as u64,
            false => 0,
        };
        capacity_bytes(&self.saved)
            + capacity_bytes(&self.waiting)
            + self.saved.iter().map(|saved| spilled(&saved.frames)).sum::<u64>()
            + self.waiting.iter().map(spilled).sum::<u64>()
    }
}

/// The indices of the set bits.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ckpt(place: u32) -> CkptId {
        CkptId::of(place)
    }

    /// Two checkpoints on a path of one frame with two slots, then `walked`.
    fn path(between: impl Fn(&mut Reads), walked: impl Fn(&mut Reads)) -> [(u16, u64); 2] {
        let mut reads = Reads::default();
        reads.begin();
        reads.save(ckpt(0), None, &[2]);
        between(&mut reads);
        reads.save(ckpt(1), Some(ckpt(0)), &[2]);
        walked(&mut reads);
        [0, 1].map(|place| reads.needed(ckpt(place), 0))
    }

    #[test]
    fn a_read_goes_back_to_where_the_value_was_made() {
        let read = |reads: &mut Reads| {
            reads.read_reg(0, 6);
            reads.read_slots(0, 0b10, Some(ckpt(1)));
        };
        assert_eq!(path(|_| {}, read), [(1 << 6, 0b10); 2]);
        let write = |reads: &mut Reads| {
            reads.write_reg(0, 6);
            reads.write_slots(0, 0b10);
        };
        assert_eq!(path(write, read), [(0, 0), (1 << 6, 0b10)]);
        let write_and_read = |reads: &mut Reads| {
            write(reads);
            read(reads);
        };
        assert_eq!(path(|_| {}, write_and_read), [(0, 0); 2]);
    }

    #[test]
    fn an_argument_is_read_where_the_caller_had_it() {
        let call = |reads: &mut Reads| {
            reads.enter(1);
            reads.pass(FrameReg { frame: 0, regno: 3 }, FrameReg { frame: 1, regno: 1 });
            reads.read_reg(1, 1);
            reads.read_reg(1, 6);
            reads.read_slots(1, 0b1, Some(ckpt(1)));
        };
        assert_eq!(path(|_| {}, call), [(1 << 3, 0); 2]);
    }

    #[test]
    fn what_a_covering_state_needs_the_covered_one_needs() {
        let mut reads = Reads::default();
        reads.begin();
        reads.save(ckpt(0), None, &[1]);
        reads.wait(1);
        reads.save(ckpt(1), Some(ckpt(0)), &[1]);
        reads.read_reg(0, 7);
        reads.read_reg(0, 8);
        reads.resume();
        reads.write_reg(0, 8);
        reads.join(ckpt(1), Some(ckpt(0)), &[1]);
        assert_eq!(reads.needed(ckpt(0), 0), (1 << 7 | 1 << 8, 0));
        reads.wait_anew();
        reads.resume();
        reads.read_reg(0, 9);
        assert_eq!(reads.needed(ckpt(0), 0), (1 << 7 | 1 << 8, 0));
    }
}
