//! The backward pass: from marks to live slots, and from a callee to the call in its caller.
//!
//! Log level 2 shows each change at an insn that has marks, is a prune point or begins the
//! subprog, and the number of passes.
//!
//! Kernel: `bpf_update_live_stack`, `update_instance`, `propagate_to_outer_instance`, 6.18.

use super::flow::Flow;
use super::{FrameMasks, FuncInstanceId, InsnMasks, Instance, LiveStack, SlotMask, set};
use crate::passes::live_stack::flow::NONE;
use skep_uapi::limits::MAX_CALL_FRAMES;
use std::fmt::Write;

impl LiveStack {
    /// Includes all marks of `instance` and its callers. The walk calls this when a path ends (or
    /// is pruned) in `instance`, and before `instance` returns.
    ///
    /// `log` receives the lines of log level 2; `None` writes none.
    pub(crate) fn update(&mut self, instance: FuncInstanceId, mut log: Option<&mut String>) {
        self.abandon_writes();
        let mut at = instance.0;
        while at != NONE {
            if self.instances[at as usize].updated {
                self.update_instance(at, log.as_deref_mut());
            }
            at = self.instances[at as usize].parent;
        }
    }

    fn update_instance(&mut self, at: u32, mut log: Option<&mut String>) {
        if self.instances[at as usize].must_write_dropped {
            self.reset_accumulated(at);
        }
        let name = log.as_ref().map(|_| self.name(at)).unwrap_or_default();
        let LiveStack { flow, instances, frames, .. } = self;
        let instance = &mut instances[at as usize];
        let mut passes = 0;
        let mut changed = true;
        while changed {
            changed = false;
            passes += 1;
            for (frame, &masks) in instance.frames.iter().enumerate().take(instance.curframe + 1) {
                let Some(masks) = frames.get_mut(masks as usize) else {
                    continue;
                };
                let mut log = log.as_deref_mut().map(|text| Log { text, name: &name, frame });
                changed |= masks.pass(flow, instance, log.as_mut());
            }
        }
        if let Some(text) = log {
            let _ = writeln!(text, "{name} live stack update done in {passes} iterations");
        }
        instance.updated = false;
        instance.must_write_dropped = false;
        if instance.parent != NONE {
            self.propagate_to_outer_instance(at);
        }
    }

    /// After an insn was seen to overwrite less than before, recomputes what follows from it.
    fn reset_accumulated(&mut self, at: u32) {
        let instance = &self.instances[at as usize];
        let order = self.flow.order(instance.subprog);
        for &frame in &instance.frames {
            let Some(frame) = self.frames.get_mut(frame as usize) else {
                continue;
            };
            for masks in &mut frame.insns {
                masks.must_write_acc = 0;
            }
            for position in 0..order.len() {
                set(&mut frame.dirty, position);
            }
        }
    }

    /// Attributes the function's effects on callers' frames to the call.
    fn propagate_to_outer_instance(&mut self, at: u32) {
        let instance = &self.instances[at as usize];
        let (outer, callsite) = (instance.parent, instance.callsite);
        let mut entry = [InsnMasks::default(); MAX_CALL_FRAMES];
        for (frame, entry) in entry.iter_mut().enumerate().take(instance.curframe) {
            if let Some(frame) = self.frames.get(instance.frames[frame] as usize) {
                *entry = frame.insns[0];
            }
        }
        for (frame, entry) in entry.iter().enumerate() {
            if entry.live_before != 0 {
                self.add_read(outer, callsite, frame, entry.live_before);
            }
        }
        self.commit(outer, callsite, &entry.map(|masks| masks.must_write_acc));
    }

    /// `(CALLSITE,...,START)`: the calls from the outermost function on, then the first insn.
    fn name(&self, at: u32) -> String {
        let instance = &self.instances[at as usize];
        let mut callsites = Vec::with_capacity(MAX_CALL_FRAMES);
        let mut inner = instance;
        while let Some(outer) = self.instances.get(inner.parent as usize) {
            callsites.push(inner.callsite);
            inner = outer;
        }
        let mut name = String::from("(");
        for callsite in callsites.iter().rev() {
            let _ = write!(name, "{callsite},");
        }
        let _ = write!(name, "{})", instance.start);
        name
    }
}

/// The log for the changes of one frame.
struct Log<'a> {
    text: &'a mut String,
    name: &'a str,
    frame: usize,
}

impl FrameMasks {
    /// Visits the dirty insns in postorder; returns whether a result changed.
    ///
    /// An insn that a change makes dirty is visited in this pass if its position has not been
    /// passed.
    fn pass(&mut self, flow: &Flow, instance: &Instance, mut log: Option<&mut Log<'_>>) -> bool {
        let order = flow.order(instance.subprog);
        let mut changed = false;
        for word in 0..self.dirty.len() {
            let mut todo = u64::MAX;
            loop {
                let bits = self.dirty[word] & todo;
                if bits == 0 {
                    break;
                }
                let bit = bits.trailing_zeros();
                // Lower positions have been passed, including this one.
                todo = if bit == 63 { 0 } else { u64::MAX << (bit + 1) };
                self.dirty[word] &= !(1 << bit);
                let insn = order[word * 64 + bit as usize];
                if self.update_insn(flow, instance, insn, log.as_deref_mut()) {
                    changed = true;
                    flow.for_predecessors(insn, |before| {
                        set(&mut self.dirty, flow.position(before));
                    });
                }
            }
        }
        changed
    }

    fn update_insn(
        &mut self,
        flow: &Flow,
        instance: &Instance,
        insn: u32,
        log: Option<&mut Log<'_>>,
    ) -> bool {
        let local = |insn: u32| (insn - instance.start) as usize;
        let (mut live_after, mut written_after) = (0, SlotMask::MAX);
        let mut ends = true;
        for next in flow.successors(insn) {
            let next = &self.insns[local(next)];
            live_after |= next.live_before;
            written_after &= next.must_write_acc;
            ends = false;
        }
        if ends {
            return false;
        }
        if flow.may_leave(insn) {
            written_after = 0;
        }
        let masks = &mut self.insns[local(insn)];
        let live = (live_after & !masks.must_write) | masks.may_read;
        let written = written_after | masks.must_write;
        if live == masks.live_before && written == masks.must_write_acc {
            return false;
        }
        let shown = masks.may_read != 0
            || masks.must_write != 0
            || insn == instance.start
            || flow.is_prune_point(insn);
        if let Some(log) = log.filter(|_| shown) {
            log.change(insn, "live", masks.live_before, live);
            log.change(insn, "written", masks.must_write_acc, written);
        }
        masks.live_before = live;
        masks.must_write_acc = written;
        true
    }
}

impl Log<'_> {
    fn change(&mut self, insn: u32, what: &str, old: SlotMask, new: SlotMask) {
        if old == new {
            return;
        }
        let _ = write!(self.text, "{} frame {} insn {insn} ", self.name, self.frame);
        if new & !old != 0 {
            let _ = write!(self.text, "+{what} {} ", offsets(new & !old));
        }
        if old & !new != 0 {
            let _ = write!(self.text, "-{what} {}", offsets(old & !new));
        }
        self.text.push('\n');
    }
}

/// `-8,-16`: offsets of the slots of a mask.
fn offsets(mask: SlotMask) -> String {
    let slots = (0..SlotMask::BITS).filter(|spi| mask >> spi & 1 != 0);
    slots.map(|spi| format!("-{}", (spi + 1) * 8)).collect::<Vec<_>>().join(",")
}
