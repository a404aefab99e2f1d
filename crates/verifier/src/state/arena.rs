//! The arena of the walk: interned registers, and saved frames with their stack pages.
//!
//! A saved frame refers to its registers and to its pages of eight stack slots by name. Pages are
//! shared: saving a frame copies those that changed since it was last saved or loaded.
//!
//! # Invariants
//! 1. A frame and a page are shared by reference count and never changed while shared.
//! 2. `Frame::base` holds a reference to a saved frame; its pages equal those of the frame except
//!    for the stale ones.

use super::frame::{Frame, FrameMeta};
use super::reg::Reg;
use super::slab::Slab;
use super::stack::Slot;
use super::values::{Marks, REFERS, SCALAR, Values};
use crate::memory::{capacity_bytes, push_tight};
use crate::state::frame::{PAGE_SLOTS, PAGES_MAX};
use crate::state::ids::FrameId;
use rustc_hash::FxHashMap;
use std::ops::{Deref, DerefMut};

pub(crate) use super::values::PackedReg;

/// Name of a page.
pub(crate) type PageId = u32;

/// Pages of the stack of a saved frame; none beyond its slots.
type Pages = [PageId; PAGES_MAX];

/// A saved frame.
#[derive(Clone, Debug)]
pub(crate) struct PackedFrame {
    pub(crate) regs: [PackedReg; 11],
    /// Index into `Arena::metas`.
    meta: u32,
    /// The page, if there is only one; otherwise an index into `Arena::stacks`.
    stack: u32,
    /// Slots in use.
    pub(crate) slots_len: u32,
    refs: u32,
}

impl PackedFrame {
    /// Pages of its stack.
    #[inline]
    pub(crate) fn pages(&self) -> usize {
        (self.slots_len as usize).div_ceil(PAGE_SLOTS)
    }
}

/// Eight saved stack slots.
#[derive(Clone, Debug)]
struct Page {
    slots: [Slot; PAGE_SLOTS],
    refs: u32,
    /// Whether the registers spilled here have ids or refer to references.
    ids: PageIds,
    /// Nothing was written here, or everything is dead.
    is_blank: bool,
}

/// Which ids a page contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PageIds {
    None,
    Scalars,
    Pointers,
}

/// The storage of all saved states.
pub(crate) struct Arena {
    values: Values,
    frames: Vec<PackedFrame>,
    frames_free: Vec<u32>,
    /// Deduplicated attributes of frames.
    metas: Vec<FrameMeta>,
    meta_names: FxHashMap<FrameMeta, u32>,
    stacks: Vec<Pages>,
    stacks_free: Vec<u32>,
    pages: Slab<Page>,
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
    /// Contains only the two predefined values.
    pub(crate) fn new() -> Arena {
        Arena {
            values: Values::new(),
            frames: Vec::new(),
            frames_free: Vec::new(),
            metas: Vec::new(),
            meta_names: FxHashMap::default(),
            stacks: Vec::new(),
            stacks_free: Vec::new(),
            pages: Slab::new(),
            pages_free: Vec::new(),
        }
    }

    /// A frame in which only the frame pointer is set.
    pub(crate) fn new_frame(&mut self, meta: FrameMeta) -> Frame {
        let mut frame = Frame::new(meta);
        self.set_reg(&mut frame, 10, &Reg::frame_pointer(meta.frameno));
        frame
    }

    /// Sets register `i` of `frame` to `reg`.
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
        let n = frame.slots().len();
        let stack = if n == 0 { 0 } else { self.save_stack(frame) };
        let meta = self.name_meta(frame);
        let regs = *frame.names();
        let id = self.add_frame(PackedFrame { regs, meta, stack, slots_len: n as u32, refs: 1 });
        self.rebase(frame, id);
        id
    }

    /// Saves the pages of `frame` that differ from those of its base.
    fn save_stack(&mut self, frame: &Frame) -> u32 {
        let mut pages = [0; PAGES_MAX];
        let base_pages = self.base_pages(frame);
        for (p, slots) in frame.slots().chunks(PAGE_SLOTS).enumerate() {
            pages[p] = if frame.is_stale(p) {
                self.add_page(slots)
            } else {
                self.retain_page(base_pages[p])
            };
        }
        self.add_stack(pages, frame.slots().len())
    }

    fn base_pages(&self, frame: &Frame) -> Pages {
        frame.base.map_or([0; PAGES_MAX], |base| self.pages_of(self.frame(base)))
    }

    fn pages_of(&self, frame: &PackedFrame) -> Pages {
        match frame.slots_len as usize {
            0..=PAGE_SLOTS => [frame.stack, 0, 0, 0, 0, 0, 0, 0],
            _ => self.stacks[frame.stack as usize],
        }
    }

    #[inline]
    fn page_of(&self, frame: &PackedFrame, p: usize) -> PageId {
        match frame.slots_len as usize {
            0..=PAGE_SLOTS => frame.stack,
            _ => self.stacks[frame.stack as usize][p],
        }
    }

    /// Stores the pages of this many slots.
    fn add_stack(&mut self, pages: Pages, slots: usize) -> u32 {
        if slots <= PAGE_SLOTS {
            return pages[0];
        }
        match self.stacks_free.pop() {
            Some(stack) => {
                self.stacks[stack as usize] = pages;
                stack
            }
            None => push_tight(&mut self.stacks, pages),
        }
    }

    /// The index of the frame's attributes.
    fn name_meta(&mut self, frame: &Frame) -> u32 {
        let known = frame.base.map(|base| self.frame(base).meta);
        if let Some(known) = known.filter(|&known| self.metas[known as usize] == frame.meta) {
            return known;
        }
        *self
            .meta_names
            .entry(frame.meta)
            .or_insert_with(|| push_tight(&mut self.metas, frame.meta))
    }

    /// Records that `frame` equals the saved one.
    fn rebase(&mut self, frame: &mut Frame, id: FrameId) {
        self.retain(id);
        if let Some(old) = frame.base.replace(id) {
            self.release(old);
        }
        frame.settle();
    }

    /// Sets `frame` to the saved one.
    pub(crate) fn load_frame(&mut self, id: FrameId, frame: &mut Frame) {
        let packed = &self.frames[id.0 as usize];
        let len = packed.slots_len as usize;
        frame.restore(&packed.regs, self.metas[packed.meta as usize], len);
        if len != 0 {
            self.load_stack(packed, frame);
        }
        self.rebase(frame, id);
    }

    fn load_stack(&self, packed: &PackedFrame, frame: &mut Frame) {
        let old_pages = frame.base.map(|base| self.pages_of(self.frame(base)));
        let pages = self.pages_of(packed);
        let len = packed.slots_len as usize;
        for p in 0..len.div_ceil(PAGE_SLOTS) {
            if !frame.is_stale(p) && old_pages.is_some_and(|old| old[p] == pages[p]) {
                continue;
            }
            let from = p * PAGE_SLOTS;
            let to = len.min(from + PAGE_SLOTS);
            let slots = &self.pages[pages[p]].slots[..to - from];
            frame.restore_slots(from, slots);
        }
    }

    /// Releases what a frame that is left refers to.
    pub(crate) fn drop_frame(&mut self, frame: Frame) {
        if let Some(base) = frame.base {
            self.release(base);
        }
    }

    /// The frame with that id.
    #[inline]
    pub(crate) fn frame(&self, id: FrameId) -> &PackedFrame {
        &self.frames[id.0 as usize]
    }

    /// Its attributes.
    #[inline]
    pub(crate) fn meta(&self, id: FrameId) -> &FrameMeta {
        &self.metas[self.frame(id).meta as usize]
    }

    /// One of its stack slots.
    #[inline]
    pub(crate) fn frame_slot(&self, id: FrameId, spi: usize) -> Option<&Slot> {
        let frame = self.frame(id);
        let page = || self.page_of(frame, spi / PAGE_SLOTS);
        (spi < frame.slots_len as usize).then(|| &self.pages[page()].slots[spi % PAGE_SLOTS])
    }

    /// Its stack slots.
    pub(crate) fn frame_slots(&self, id: FrameId) -> impl Iterator<Item = &Slot> {
        let frame = self.frame(id);
        (0..frame.pages()).flat_map(|page| self.page_slots(frame, page))
    }

    /// The slots in use on one of its pages.
    #[inline]
    pub(crate) fn page_slots(&self, frame: &PackedFrame, page: usize) -> &[Slot] {
        let used = PAGE_SLOTS.min(frame.slots_len as usize - page * PAGE_SLOTS);
        &self.pages[self.page_of(frame, page)].slots[..used]
    }

    /// Whether all of its slots on that page are empty.
    #[inline]
    pub(crate) fn is_blank(&self, frame: &PackedFrame, page: usize) -> bool {
        self.pages[self.page_of(frame, page)].is_blank
    }

    /// If both frames share page `p`, which ids the page contains.
    #[inline]
    pub(crate) fn same_page(&self, old: &PackedFrame, cur: &Frame, p: usize) -> Option<PageIds> {
        let base = cur.base?;
        let page = self.page_of(old, p);
        let same = !cur.is_stale(p)
            && cur.slots().len() >= (old.slots_len as usize).min((p + 1) * PAGE_SLOTS)
            && self.page_of(self.frame(base), p) == page;
        same.then(|| self.pages[page].ids)
    }

    /// Changes the saved frame `id`, or a copy of it if it is shared. `edit_page` gets the slots of
    /// each page in the mask, with the number of the first slot, and says whether it changed them.
    pub(crate) fn edit_frame(
        &mut self,
        id: FrameId,
        edit_regs: impl FnOnce(&mut [PackedReg; 11]),
        mask: u8,
        mut edit_page: impl FnMut(usize, &mut [Slot]) -> bool,
    ) -> FrameId {
        let frame = &mut self.frames[id.0 as usize];
        if frame.refs > 1 {
            return self.edit_copy(id, edit_regs, mask, edit_page);
        }
        edit_regs(&mut frame.regs);
        let (stack, len) = (frame.stack, frame.slots_len as usize);
        for p in (0..len.div_ceil(PAGE_SLOTS)).filter(|p| mask >> p & 1 == 1) {
            let used = PAGE_SLOTS.min(len - p * PAGE_SLOTS);
            let edit = |slots: &mut [Slot]| edit_page(p * PAGE_SLOTS, slots);
            match len {
                ..=PAGE_SLOTS => {
                    self.frames[id.0 as usize].stack = self.edit_page(stack, used, edit)
                }
                _ => {
                    let page = self.stacks[stack as usize][p];
                    self.stacks[stack as usize][p] = self.edit_page(page, used, edit);
                }
            }
        }
        id
    }

    /// Changes a page to which the caller has a reference, or replaces it by a copy if it is
    /// shared.
    fn edit_page(
        &mut self,
        id: PageId,
        used: usize,
        edit: impl FnOnce(&mut [Slot]) -> bool,
    ) -> PageId {
        let page = &mut self.pages[id];
        if page.refs > 1 {
            let mut slots = page.slots;
            if !edit(&mut slots[..used]) {
                return id;
            }
            page.refs -= 1;
            return self.add_page(&slots[..used]);
        }
        if edit(&mut page.slots[..used]) {
            (page.ids, page.is_blank) = contents(&self.values, &page.slots[..used]);
        }
        id
    }

    fn edit_copy(
        &mut self,
        id: FrameId,
        edit_regs: impl FnOnce(&mut [PackedReg; 11]),
        mask: u8,
        mut edit_page: impl FnMut(usize, &mut [Slot]) -> bool,
    ) -> FrameId {
        let mut packed = self.frame(id).clone();
        edit_regs(&mut packed.regs);
        let len = packed.slots_len as usize;
        let old_pages = self.pages_of(&packed);
        let (mut pages, mut new) = (old_pages, 0_u8);
        for p in (0..len.div_ceil(PAGE_SLOTS)).filter(|p| mask >> p & 1 == 1) {
            let mut slots = self.pages[pages[p]].slots;
            let slots = &mut slots[..PAGE_SLOTS.min(len - p * PAGE_SLOTS)];
            if edit_page(p * PAGE_SLOTS, slots) {
                pages[p] = self.add_page(slots);
                new |= 1 << p;
            }
        }
        if new == 0 && packed.regs == self.frame(id).regs {
            return id;
        }
        for p in (0..len.div_ceil(PAGE_SLOTS)).filter(|p| new >> p & 1 == 0) {
            self.retain_page(old_pages[p]);
        }
        if len != 0 {
            packed.stack = self.add_stack(pages, len);
        }
        packed.refs = 1;
        let edited = self.add_frame(packed);
        self.release(id);
        edited
    }

    fn add_frame(&mut self, frame: PackedFrame) -> FrameId {
        match self.frames_free.pop() {
            Some(id) => {
                self.frames[id as usize] = frame;
                FrameId(id)
            }
            None => FrameId(push_tight(&mut self.frames, frame)),
        }
    }

    pub(crate) fn retain(&mut self, id: FrameId) {
        self.frames[id.0 as usize].refs += 1;
    }

    pub(crate) fn release(&mut self, id: FrameId) {
        let frame = &mut self.frames[id.0 as usize];
        frame.refs -= 1;
        if frame.refs == 0 {
            let (len, stack) = (frame.slots_len as usize, frame.stack);
            if len != 0 {
                self.release_stack(stack, len);
            }
            self.frames_free.push(id.0);
        }
    }

    fn add_page(&mut self, slots: &[Slot]) -> PageId {
        let (ids, is_blank) = contents(&self.values, slots);
        let mut page = Page { slots: Default::default(), refs: 1, ids, is_blank };
        page.slots[..slots.len()].copy_from_slice(slots);
        match self.pages_free.pop() {
            Some(id) => {
                self.pages[id] = page;
                id
            }
            None => self.pages.push(page),
        }
    }

    fn retain_page(&mut self, id: PageId) -> PageId {
        self.pages[id].refs += 1;
        id
    }

    fn release_stack(&mut self, stack: u32, slots: usize) {
        if slots <= PAGE_SLOTS {
            self.release_page(stack);
            return;
        }
        for p in 0..slots.div_ceil(PAGE_SLOTS) {
            self.release_page(self.stacks[stack as usize][p]);
        }
        self.stacks_free.push(stack);
    }

    fn release_page(&mut self, id: PageId) {
        let page = &mut self.pages[id];
        page.refs -= 1;
        if page.refs == 0 {
            self.pages_free.push(id);
        }
    }

    /// Collects the values that neither a saved frame nor one of `roots` refers to.
    pub(crate) fn collect_values(&mut self, roots: impl Iterator<Item = u32>) -> Marks {
        let held = self.frames.iter().filter(|frame| frame.refs != 0);
        let regs = held.flat_map(|frame| &frame.regs).map(|name| name.val);
        let pages = self.pages.iter().filter(|page| page.refs != 0);
        let spills = pages.flat_map(|page| &page.slots).map(|slot| slot.spill.val);
        let holders = self.frames.len() + self.pages.len();
        self.values.sweep(roots.chain(regs).chain(spills), holders)
    }

    /// Bytes allocated: registers and frames, pages of stack.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        let frames = capacity_bytes(&self.frames) + capacity_bytes(&self.frames_free);
        let stacks = capacity_bytes(&self.stacks) + capacity_bytes(&self.stacks_free);
        let pages = self.pages.bytes() + capacity_bytes(&self.pages_free);
        [self.values.bytes() + frames + self.meta_bytes(), stacks + pages]
    }

    fn meta_bytes(&self) -> u64 {
        let names = self.meta_names.capacity() * size_of::<(FrameMeta, u32)>();
        capacity_bytes(&self.metas) + names as u64
    }

    /// Bytes in use, of those allocated.
    pub(crate) fn bytes_in_use(&self) -> [u64; 2] {
        let frames = self.frames.len() - self.frames_free.len();
        let pages = self.pages.len() - self.pages_free.len();
        let stacks = self.stacks.len() - self.stacks_free.len();
        [
            self.values.bytes_in_use() + (frames * size_of::<PackedFrame>()) as u64,
            (pages * size_of::<Page>() + stacks * size_of::<Pages>()) as u64,
        ]
    }
}

/// Which ids the slots contain, and whether they are all empty.
fn contents(values: &Values, slots: &[Slot]) -> (PageIds, bool) {
    let ids_of = |name: PackedReg| match values.is(name, SCALAR) {
        _ if values.id(name) == 0 && !values.is(name, REFERS) => PageIds::None,
        true => PageIds::Scalars,
        false => PageIds::Pointers,
    };
    let ids = slots.iter().map(|s| ids_of(s.spill)).max().unwrap_or(PageIds::None);
    (ids, slots.iter().all(|slot| *slot == Slot::default()))
}
