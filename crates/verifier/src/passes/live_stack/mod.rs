//! Which stack slots may still be read, per insn and call chain, on any path.
//!
//! The walk reports, for each insn, the slots that it reads and those that it certainly overwrites,
//! in its own frame or in a caller's. From these marks, liveness is computed backwards over the
//! control flow graph when a path ends or a function returns; a callee's effects on the frames of
//! its callers are attributed to the call. A slot that is not live is ignored when two states are
//! compared.
//!
//! A function that is called from two places, or through two call chains, has two *instances* with
//! separate marks. Instances form a tree; the walk stores the id of each frame's instance in the
//! frame and looks up the callee's when it enters a call.
//!
//! # Invariants
//!
//! 1. A frame's masks exist in an instance only after a mark for that frame was made in it.
//! 2. An insn whose inputs changed since its masks were computed is dirty; recomputing the masks of
//!    all other insns would not change them.
//! 3. `updated` is false only if a full pass would change nothing (by the kernel's criteria).
//!
//! Kernel: `kernel/bpf/liveness.c`, 6.18. It processes all insns of an instance; here a pass visits
//! only the dirty ones, in the same order, which gives the same masks, counts and log.

mod flow;
mod update;

use super::cfg::Cfg;
use super::postorder::Postorder;
use super::subprogs::Subprogs;
use crate::memory::capacity_bytes;
use crate::passes::live_stack::flow::NONE;
use flow::Flow;
use rustc_hash::FxHashMap;
use skep_insn::Insn;
use skep_uapi::limits::MAX_CALL_FRAMES;

/// Set of stack slots of a frame: bit `spi` is the slot at `-8 * (spi + 1)`.
pub(crate) type SlotMask = u64;

/// Id of an instance: a function as reached through one call chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FuncInstanceId(u32);

/// Marks and results for one insn and one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct InsnMasks {
    /// Read on some visit.
    may_read: SlotMask,
    /// Overwritten on every visit.
    must_write: SlotMask,
    /// Overwritten by this insn or later, on every path through the function.
    must_write_acc: SlotMask,
    /// May be read before it is overwritten, as seen before this insn.
    live_before: SlotMask,
}

/// Masks of one frame for all insns of an instance.
#[derive(Clone, Debug)]
struct FrameMasks {
    /// One for each insn of the subprog, from its first.
    insns: Vec<InsnMasks>,
    /// Set of positions in the subprog's postorder.
    dirty: Vec<u64>,
}

/// Flag of [`Instance::insn_flags`]: the writes of this insn have been committed before. The low
/// eight bits are the frames in which `must_write` is not empty.
const COMMITTED: u16 = 1 << 8;

/// A function as reached through one call chain.
#[derive(Clone, Debug)]
struct Instance {
    /// The caller's instance, or [`NONE`].
    parent: u32,
    /// The call insn in the caller.
    callsite: u32,
    subprog: usize,
    /// First insn of the subprog.
    start: u32,
    /// Number of callers; the function's own frame.
    curframe: usize,
    /// Index in `LiveStack::frames`, or [`NONE`].
    frames: [u32; MAX_CALL_FRAMES],
    insn_flags: Vec<u16>,
    updated: bool,
    must_write_dropped: bool,
}

/// Writes of the current insn, until they are committed.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    instance: u32,
    insn: u32,
    /// Frames with a non-empty mask.
    frames: u8,
    masks: [SlotMask; MAX_CALL_FRAMES],
    active: bool,
}

/// The instances of a program, their marks, and the results.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveStack {
    flow: Flow,
    instances: Vec<Instance>,
    /// By caller's instance (or [`NONE`]), call site and first insn.
    ids: FxHashMap<(u32, u32, u32), FuncInstanceId>,
    frames: Vec<FrameMasks>,
    pending: Pending,
}

impl LiveStack {
    /// No instances yet. Precondition: `check_cfg` has accepted the program.
    ///
    /// With `leave`, tail calls may end their function: what follows them need not be done.
    pub(crate) fn new(
        insns: &[Insn],
        subprogs: &Subprogs,
        cfg: &Cfg,
        order: Postorder,
        leave: bool,
    ) -> LiveStack {
        LiveStack {
            flow: Flow::new(insns, subprogs, cfg, order, leave),
            instances: Vec::new(),
            ids: FxHashMap::default(),
            frames: Vec::new(),
            pending: Pending::default(),
        }
    }

    /// The instance of a function that nothing calls: the main one, a global one verified on its
    /// own, or a callback that runs later. `start` is its first insn.
    pub(crate) fn root(&mut self, start: u32) -> FuncInstanceId {
        self.intern(NONE, 0, start)
    }

    /// The instance of the function that begins at `start`, called by the insn `callsite` of
    /// `caller`. Nesting is limited to eight.
    pub(crate) fn callee(
        &mut self,
        caller: FuncInstanceId,
        callsite: u32,
        start: u32,
    ) -> FuncInstanceId {
        self.intern(caller.0, callsite, start)
    }

    fn intern(&mut self, parent: u32, callsite: u32, start: u32) -> FuncInstanceId {
        let LiveStack { flow, instances, ids, .. } = self;
        *ids.entry((parent, callsite, start)).or_insert_with(|| {
            let subprog = flow.subprog_of(start);
            let curframe = instances.get(parent as usize).map_or(0, |p| p.curframe + 1);
            instances.push(Instance {
                parent,
                callsite,
                subprog,
                start,
                curframe: curframe.min(MAX_CALL_FRAMES - 1),
                frames: [NONE; MAX_CALL_FRAMES],
                insn_flags: vec![0; flow.insn_cnt(subprog)],
                updated: false,
                must_write_dropped: false,
            });
            FuncInstanceId(instances.len() as u32 - 1)
        })
    }

    /// The walk is about to process `insn` in the function `instance`; its marks follow.
    pub(crate) fn begin_insn(&mut self, instance: FuncInstanceId, insn: u32) {
        self.abandon_writes();
        self.pending.instance = instance.0;
        self.pending.insn = insn;
        self.pending.active = true;
    }

    /// The insn of [`begin_insn`](Self::begin_insn) overwrites these slots of `frame`.
    pub(crate) fn mark_write(&mut self, frame: usize, mask: SlotMask) {
        if mask != 0 && frame < MAX_CALL_FRAMES {
            self.pending.masks[frame] |= mask;
            self.pending.frames |= 1 << frame;
        }
    }

    /// The insn of [`begin_insn`](Self::begin_insn) may read these slots of `frame`.
    pub(crate) fn mark_read(&mut self, frame: usize, mask: SlotMask) {
        if mask != 0 && self.pending.active {
            self.add_read(self.pending.instance, self.pending.insn, frame, mask);
        }
    }

    /// The walk has finished the insn: its writes on this visit are committed, so that only those
    /// made on all visits count. Not called for an insn that entered or left a function, or that
    /// was refused.
    pub(crate) fn commit_writes(&mut self) {
        if !self.pending.active {
            return;
        }
        let Pending { instance, insn, frames, masks, .. } = self.pending;
        let at = &mut self.instances[instance as usize];
        let local = (insn - at.start) as usize;
        let flags = at.insn_flags[local];
        if frames == 0 && flags & 0xff == 0 {
            at.insn_flags[local] = flags | COMMITTED;
            self.pending.active = false;
            return;
        }
        self.commit(instance, insn, &masks);
        self.abandon_writes();
    }

    /// Drops the writes since [`begin_insn`](Self::begin_insn).
    pub(crate) fn abandon_writes(&mut self) {
        if self.pending.frames != 0 {
            self.pending.masks = [0; MAX_CALL_FRAMES];
            self.pending.frames = 0;
        }
        self.pending.active = false;
    }

    /// Slots of `frame` that are live in a state at `insn` of the function `instance`, according to
    /// the marks included by [`update`](Self::update).
    ///
    /// For a caller's frame: live in the function itself, or in a caller after the call. A call
    /// with callbacks may run the next one, so there the state before the call is used.
    pub(crate) fn live_mask(&self, instance: FuncInstanceId, insn: u32, frame: usize) -> SlotMask {
        let mut at = &self.instances[instance.0 as usize];
        let mut live = self.live_before(at, insn, frame);
        while at.curframe > frame {
            let Some(caller) = self.instances.get(at.parent as usize) else {
                break;
            };
            let again = self.flow.calls_callback(at.callsite);
            live |= self.live_before(caller, at.callsite + u32::from(!again), frame);
            at = caller;
        }
        live
    }

    fn live_before(&self, instance: &Instance, insn: u32, frame: usize) -> SlotMask {
        let frame = instance.frames.get(frame).and_then(|&f| self.frames.get(f as usize));
        let local = insn.wrapping_sub(instance.start) as usize;
        frame.and_then(|f| f.insns.get(local)).map_or(0, |masks| masks.live_before)
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        let of_instance = |i: &Instance| capacity_bytes(&i.insn_flags);
        let of_frame = |f: &FrameMasks| capacity_bytes(&f.insns) + capacity_bytes(&f.dirty);
        self.flow.bytes()
            + capacity_bytes(&self.instances)
            + capacity_bytes(&self.frames)
            + self.instances.iter().map(of_instance).sum::<u64>()
            + self.frames.iter().map(of_frame).sum::<u64>()
    }

    /// The masks of `frame` in an instance; created on first use.
    fn frame_masks(&mut self, instance: u32, frame: usize) -> &mut FrameMasks {
        let at = &mut self.instances[instance as usize];
        if at.frames[frame] == NONE {
            at.frames[frame] = self.frames.len() as u32;
            let insn_cnt = at.insn_flags.len();
            self.frames.push(FrameMasks {
                insns: vec![InsnMasks::default(); insn_cnt],
                dirty: vec![0; insn_cnt.div_ceil(64)],
            });
        }
        &mut self.frames[at.frames[frame] as usize]
    }

    fn add_read(&mut self, instance: u32, insn: u32, frame: usize, mask: SlotMask) {
        let at = &self.instances[instance as usize];
        let local = (insn - at.start) as usize;
        if frame > at.curframe {
            return;
        }
        let position = self.flow.position(insn);
        let frame = self.frame_masks(instance, frame);
        let masks = &mut frame.insns[local];
        if masks.may_read & mask == mask {
            return;
        }
        masks.may_read |= mask;
        let news = masks.may_read & !masks.live_before != 0;
        set(&mut frame.dirty, position);
        self.instances[instance as usize].updated |= news;
    }

    /// Intersects the writes of an insn with those of its earlier visits.
    fn commit(&mut self, instance: u32, insn: u32, writes: &[SlotMask; MAX_CALL_FRAMES]) {
        let at = &self.instances[instance as usize];
        let local = (insn - at.start) as usize;
        let mut flags = at.insn_flags[local];
        let is_first = flags & COMMITTED == 0;
        let curframe = at.curframe;
        let position = self.flow.position(insn);
        for (frame, &mask) in writes.iter().enumerate().take(curframe + 1) {
            let bit = 1 << frame;
            if flags & bit == 0 && (mask == 0 || !is_first) {
                continue;
            }
            let frame = self.frame_masks(instance, frame);
            let masks = &mut frame.insns[local];
            let old = masks.must_write;
            let new = if is_first { mask } else { old & mask };
            if new == old {
                continue;
            }
            masks.must_write = new;
            set(&mut frame.dirty, position);
            flags = if new == 0 { flags & !bit } else { flags | bit };
            let at = &mut self.instances[instance as usize];
            at.updated = true;
            at.must_write_dropped |= old & !new != 0;
        }
        self.instances[instance as usize].insn_flags[local] = flags | COMMITTED;
    }
}

fn set(bits: &mut [u64], position: usize) {
    bits[position / 64] |= 1 << (position % 64);
}

#[cfg(test)]
mod tests;
