//! The arena of the walk: interned registers, and frames at rest with their pages of stack.
//!
//! A saved frame names its registers and its pages of eight stack slots. Pages are shared: saving a
//! frame copies those that changed since it was last saved or loaded.
//!
//! # Invariants
//! 1. A frame and a page are shared by reference count and never changed while shared.
//! 2. `Frame::base` holds a reference to a saved frame; its pages equal those of the frame but for
//!    the stale ones.

use super::frame::{Frame, FrameMeta};
use super::reg::Reg;
use super::stack::Slot;
use super::values::{REFERS, Values};
use crate::memory::{capacity_bytes, push_tight};
use std::ops::{Deref, DerefMut};

pub(crate) use super::values::PackedReg;

/// Stack slots of a page.
pub(crate) const PAGE_SLOTS: usize = 8;
/// Pages of the deepest stack.
pub(crate) const PAGES_MAX: usize = 8;

/// Name of a packed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameId(u32);

/// Name of a page.
pub(crate) type PageId = u32;

/// A frame at rest.
#[derive(Clone, Debug)]
pub(crate) struct PackedFrame {
    pub(crate) regs: [PackedReg; 11],
    pub(crate) meta: FrameMeta,
    pub(crate) pages: [PageId; PAGES_MAX],
    /// Slots in use; the pages after them are none.
    pub(crate) slots_len: u32,
}

/// Eight slots of stack at rest.
#[derive(Clone, Debug)]
struct Page {
    slots: [Slot; PAGE_SLOTS],
    refs: u32,
    /// A register spilled here has an id or refers to something acquired.
    has_ids: bool,
}

/// All that saved states are made of.
pub(crate) struct Arena {
    values: Values,
    frames: Vec<PackedFrame>,
    frame_refs: Vec<u32>,
    frames_free: Vec<u32>,
    pages: Vec<Page>,
    pages_free: Vec<PageId>,
}

impl Deref for Arena {
    type Target = Values;
    fn deref(&self) -> &Values {
        &self.values
    }
}

impl DerefMut for Arena {
    fn deref_mut(&mut self) -> &mut Values {
        &mut self.values
    }
}

impl Arena {
    /// For a program of so many insns.
    pub(crate) fn new(insns: usize) -> Arena {
        Arena {
            values: Values::new(insns),
            frames: Vec::with_capacity((insns / 4).clamp(16, 512)),
            frame_refs: Vec::with_capacity((insns / 4).clamp(16, 512)),
            frames_free: Vec::new(),
            pages: Vec::new(),
            pages_free: Vec::new(),
        }
    }

    /// A frame with nothing but its frame pointer.
    pub(crate) fn new_frame(&mut self, meta: FrameMeta) -> Frame {
        let mut frame = Frame::new(meta);
        self.set_reg(&mut frame, 10, &Reg::frame_pointer(meta.frameno));
        frame
    }

    /// Register `i` of `frame` becomes `reg`.
    pub(crate) fn set_reg(&mut self, frame: &mut Frame, i: u8, reg: &Reg) {
        let name = self.pack(reg);
        frame.set_name(i, name);
    }

    /// Saves `frame`, sharing what has not changed since it was last saved or loaded.
    pub(crate) fn save_frame(&mut self, frame: &mut Frame) -> FrameId {
        if let (Some(base), false) = (frame.base, frame.is_changed()) {
            self.retain(base);
            return base;
        }
        let mut pages = [0; PAGES_MAX];
        let base_pages = frame.base.map_or([0; PAGES_MAX], |base| self.frame(base).pages);
        for (p, slots) in frame.slots().chunks(PAGE_SLOTS).enumerate() {
            pages[p] = if frame.is_stale(p) {
                self.add_page(slots)
            } else {
                self.retain_page(base_pages[p])
            };
        }
        let id = self.add_frame(PackedFrame {
            regs: *frame.names(),
            meta: frame.meta,
            pages,
            slots_len: frame.slots().len() as u32,
        });
        self.rebase(frame, id);
        id
    }

    /// `frame` equals the saved one now.
    fn rebase(&mut self, frame: &mut Frame, id: FrameId) {
        self.retain(id);
        if let Some(old) = frame.base.replace(id) {
            self.release(old);
        }
        frame.settle();
    }

    /// Makes `frame` equal to the saved one.
    pub(crate) fn load_frame(&mut self, id: FrameId, frame: &mut Frame) {
        let packed = &self.frames[id.0 as usize];
        let old_pages = frame.base.map(|base| self.frame(base).pages);
        let len = packed.slots_len as usize;
        frame.restore(&packed.regs, packed.meta, len);
        for p in 0..len.div_ceil(PAGE_SLOTS) {
            let page = packed.pages[p];
            if !frame.is_stale(p) && old_pages.is_some_and(|old| old[p] == page) {
                continue;
            }
            let from = p * PAGE_SLOTS;
            let to = len.min(from + PAGE_SLOTS);
            let slots = &self.pages[page as usize].slots[..to - from];
            frame.restore_slots(from, slots);
        }
        self.rebase(frame, id);
    }

    /// Lets go of what a frame that is left held.
    pub(crate) fn drop_frame(&mut self, frame: Frame) {
        if let Some(base) = frame.base {
            self.release(base);
        }
    }

    /// The frame of that name.
    #[inline]
    pub(crate) fn frame(&self, id: FrameId) -> &PackedFrame {
        &self.frames[id.0 as usize]
    }

    /// A stack slot of it.
    #[inline]
    pub(crate) fn frame_slot(&self, id: FrameId, spi: usize) -> Option<&Slot> {
        let frame = self.frame(id);
        let page = || frame.pages[spi / PAGE_SLOTS];
        (spi < frame.slots_len as usize)
            .then(|| &self.pages[page() as usize].slots[spi % PAGE_SLOTS])
    }

    /// Its stack slots.
    pub(crate) fn frame_slots(&self, id: FrameId) -> impl Iterator<Item = &Slot> {
        let frame = self.frame(id);
        let len = frame.slots_len as usize;
        let pages = frame.pages[..len.div_ceil(PAGE_SLOTS)].iter();
        pages.flat_map(|&page| &self.pages[page as usize].slots).take(len)
    }

    /// Whether page `p` of `cur` is the very one of `old`, with nothing in it that has an identity.
    #[inline]
    pub(crate) fn is_same_page(&self, old: &PackedFrame, cur: &Frame, p: usize) -> bool {
        let Some(base) = cur.base else { return false };
        !cur.is_stale(p)
            && self.frame(base).pages[p] == old.pages[p]
            && cur.slots().len() >= (old.slots_len as usize).min((p + 1) * PAGE_SLOTS)
            && !self.pages[old.pages[p] as usize].has_ids
    }

    /// A changed copy of a saved frame replaces `id` in its holder.
    pub(crate) fn edit_frame(
        &mut self,
        id: FrameId,
        edit: impl FnOnce(&mut [PackedReg; 11], &mut [Slot]),
    ) -> FrameId {
        let mut packed = self.frame(id).clone();
        let len = packed.slots_len as usize;
        let mut slots = [Slot::default(); PAGES_MAX * PAGE_SLOTS];
        for (slot, old) in slots.iter_mut().zip(self.frame_slots(id)) {
            *slot = *old;
        }
        edit(&mut packed.regs, &mut slots[..len]);
        let mut same = packed.regs == self.frame(id).regs;
        for (p, slots) in slots[..len].chunks(PAGE_SLOTS).enumerate() {
            let old = packed.pages[p];
            if self.pages[old as usize].slots[..slots.len()] == *slots {
                self.retain_page(old);
            } else {
                packed.pages[p] = self.add_page(slots);
                same = false;
            }
        }
        if same {
            self.release_pages(&packed);
            return id;
        }
        let edited = self.add_frame(packed);
        self.release(id);
        edited
    }

    fn add_frame(&mut self, frame: PackedFrame) -> FrameId {
        match self.frames_free.pop() {
            Some(id) => {
                self.frames[id as usize] = frame;
                self.frame_refs[id as usize] = 1;
                FrameId(id)
            }
            None => {
                push_tight(&mut self.frames, frame);
                push_tight(&mut self.frame_refs, 1);
                FrameId(self.frames.len() as u32 - 1)
            }
        }
    }

    pub(crate) fn retain(&mut self, id: FrameId) {
        self.frame_refs[id.0 as usize] += 1;
    }

    pub(crate) fn release(&mut self, id: FrameId) {
        let refs = &mut self.frame_refs[id.0 as usize];
        *refs -= 1;
        if *refs == 0 {
            let frame = &self.frames[id.0 as usize];
            if frame.slots_len != 0 {
                let frame = frame.clone();
                self.release_pages(&frame);
            }
            self.frames_free.push(id.0);
        }
    }

    fn add_page(&mut self, slots: &[Slot]) -> PageId {
        let has_ids = slots.iter().any(|s| s.spill.id != 0 || self.is(s.spill, REFERS));
        let mut page = Page { slots: Default::default(), refs: 1, has_ids };
        page.slots[..slots.len()].copy_from_slice(slots);
        match self.pages_free.pop() {
            Some(id) => {
                self.pages[id as usize] = page;
                id
            }
            None => {
                push_tight(&mut self.pages, page);
                self.pages.len() as u32 - 1
            }
        }
    }

    fn retain_page(&mut self, id: PageId) -> PageId {
        self.pages[id as usize].refs += 1;
        id
    }

    fn release_pages(&mut self, frame: &PackedFrame) {
        for &id in &frame.pages[..(frame.slots_len as usize).div_ceil(PAGE_SLOTS)] {
            let page = &mut self.pages[id as usize];
            page.refs -= 1;
            if page.refs == 0 {
                self.pages_free.push(id);
            }
        }
    }

    /// Forgets the values that neither a frame at rest nor one of `roots` names.
    pub(crate) fn collect_values(&mut self, roots: impl Iterator<Item = u32>) {
        let held = self.frames.iter().zip(&self.frame_refs).filter(|(_, refs)| **refs != 0);
        let regs = held.flat_map(|(frame, _)| &frame.regs).map(|name| name.val);
        let pages = self.pages.iter().filter(|page| page.refs != 0);
        let spills = pages.flat_map(|page| &page.slots).map(|slot| slot.spill.val);
        self.values.sweep(roots.chain(regs).chain(spills));
    }

    /// Bytes allocated: registers and frames, pages of stack.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        let refs = capacity_bytes(&self.frame_refs) + capacity_bytes(&self.frames_free);
        [
            self.values.bytes() + capacity_bytes(&self.frames) + refs,
            capacity_bytes(&self.pages) + capacity_bytes(&self.pages_free),
        ]
    }

    /// Bytes in use of them.
    pub(crate) fn bytes_in_use(&self) -> [u64; 2] {
        let frames = self.frames.len() - self.frames_free.len();
        let pages = self.pages.len() - self.pages_free.len();
        [
            self.values.bytes_in_use() + (frames * (size_of::<PackedFrame>() + 4)) as u64,
            (pages * size_of::<Page>()) as u64,
        ]
    }
}
