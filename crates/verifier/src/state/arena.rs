//! Arenas of the walk: interned registers, packed frames and their stack slots.
//!
//! A register value is stored once: `PackedReg` names it in 8 bytes, so a saved frame is some
//! hundred bytes and copying one is cheap. Ids are kept outside of the interned value because they
//! differ between otherwise equal registers.
//!
//! # Invariants
//! 1. Two `PackedReg` with the same `val` have equal registers but for `Reg::id`.
//! 2. `vals[0]` is the register that was never written, `vals[1]` the unknown scalar.
//! 3. A packed frame is shared by reference count and never changed while shared.

use super::frame::{Frame, FrameMeta};
use super::reg::{Extra, Reg};
use super::reg_type::Base;
use super::stack::Slot;

/// A register by name: interned value and id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PackedReg {
    /// Index into the interned values.
    pub(crate) val: u32,
    /// `Reg::id`.
    pub(crate) id: u32,
}

impl PackedReg {
    /// The register that was never written.
    pub(crate) const NOT_INIT: PackedReg = PackedReg { val: 0, id: 0 };
    /// The scalar of which nothing is known.
    pub(crate) const UNKNOWN: PackedReg = PackedReg { val: 1, id: 0 };
}

/// Name of a packed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameId(u32);

/// A frame at rest.
#[derive(Clone, Debug)]
pub(crate) struct PackedFrame {
    pub(crate) regs: [PackedReg; 11],
    pub(crate) meta: FrameMeta,
    slots_start: u32,
    slots_len: u32,
}

/// All that saved states are made of.
pub(crate) struct Arena {
    vals: Vec<Reg>,
    /// What kind of value each is: [`SCALAR`] and those that follow.
    kinds: Vec<u8>,
    /// Hash and index; open addressing, power of two.
    table: Vec<(u32, u32)>,
    frames: Vec<PackedFrame>,
    frame_refs: Vec<u32>,
    frames_free: Vec<u32>,
    slots: Vec<Slot>,
    /// Free runs of slots by length.
    slots_free: Vec<Vec<u32>>,
}

/// Index of an empty place of the table.
const EMPTY: u32 = u32::MAX;

/// A scalar.
pub(crate) const SCALAR: u8 = 1;
/// All bits are known.
pub(crate) const CONST: u8 = 2;
/// The bounds do not contradict each other.
pub(crate) const SANE: u8 = 4;
/// Refers to something acquired.
pub(crate) const REFERS: u8 = 8;
pub(crate) const SANE_SCALAR: u8 = SANE | SCALAR;

fn kind_of(reg: &Reg) -> u8 {
    let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
    flag(reg.is_scalar(), SCALAR)
        | flag(reg.val.var_off.is_const(), CONST)
        | flag(reg.val.violated_rule().is_none(), SANE)
        | flag(reg.ref_obj_id != 0, REFERS)
}

/// A hash of all that tells registers apart as a rule; what it leaves out is compared.
fn hash_of(reg: &Reg) -> u32 {
    const MUL: u64 = 0x9e37_79b9_7f4a_7c15;
    let v = &reg.val;
    let extra = match reg.extra {
        Extra::None => 0,
        Extra::Range(range) => u64::from(range as u32) << 1,
        Extra::Map { map, uid } => u64::from(map) << 32 | u64::from(uid),
        Extra::Btf { id, .. } => u64::from(id) << 3,
        Extra::Mem { size, dynptr_id } => u64::from(size) << 32 | u64::from(dynptr_id),
        Extra::Iter { btf_id, depth, .. } => u64::from(btf_id) << 32 | u64::from(depth),
        Extra::Frame(n) | Extra::Subprog(n) => u64::from(n) << 4,
        Extra::Dynptr { .. } | Extra::IrqFlag { .. } => 5,
    };
    let kind = (reg.ty.base as u64) << 32 | u64::from(reg.off as u32);
    let mut h = 0_u64;
    for word in [
        v.var_off.value,
        v.var_off.mask ^ v.umax.rotate_left(17),
        v.umin ^ (v.smin as u64).rotate_left(31) ^ (v.smax as u64).rotate_left(47),
        kind ^ u64::from(reg.ref_obj_id) << 40 ^ extra.rotate_left(13),
    ] {
        h = (h ^ word).wrapping_mul(MUL);
        h ^= h >> 29;
    }
    (h >> 32) as u32 ^ h as u32
}

/// Whether the registers have one name.
#[inline]
fn same_but_id(a: &Reg, b: &Reg) -> bool {
    a.val == b.val
        && a.ty == b.ty
        && a.off == b.off
        && a.extra == b.extra
        && a.ref_obj_id == b.ref_obj_id
}

impl Arena {
    /// For a program of so many insns.
    pub(crate) fn new(insns: usize) -> Arena {
        let vals = insns.clamp(64, 4096);
        let mut arena = Arena {
            vals: Vec::with_capacity(vals),
            kinds: Vec::with_capacity(vals),
            table: vec![(0, EMPTY); vals.next_power_of_two()],
            frames: Vec::new(),
            frame_refs: Vec::new(),
            frames_free: Vec::new(),
            slots: Vec::new(),
            slots_free: vec![Vec::new(); 65],
        };
        arena.pack(&Reg::not_init());
        arena.pack(&Reg::unknown());
        arena
    }

    /// The name of `reg`: the same name for the same value.
    pub(crate) fn pack(&mut self, reg: &Reg) -> PackedReg {
        let hash = hash_of(reg);
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.table[at] {
                (_, EMPTY) => break,
                (h, val) if h == hash && same_but_id(&self.vals[val as usize], reg) => {
                    return PackedReg { val, id: reg.id };
                }
                _ => at = (at + 1) & mask,
            }
        }
        let val = self.vals.len() as u32;
        self.vals.push(Reg { id: 0, ..*reg });
        self.kinds.push(kind_of(reg));
        self.table[at] = (hash, val);
        if self.vals.len() * 2 > self.table.len() {
            self.grow_table();
        }
        PackedReg { val, id: reg.id }
    }

    fn grow_table(&mut self) {
        let len = self.table.len() * 4;
        let old = std::mem::replace(&mut self.table, vec![(0, EMPTY); len]);
        for entry in old.into_iter().filter(|e| e.1 != EMPTY) {
            let mut at = entry.0 as usize & (len - 1);
            while self.table[at].1 != EMPTY {
                at = (at + 1) & (len - 1);
            }
            self.table[at] = entry;
        }
    }

    /// Whether the value is of all these kinds.
    #[inline]
    pub(crate) fn is(&self, name: PackedReg, kinds: u8) -> bool {
        self.kinds[name.val as usize] & kinds == kinds
    }

    /// The register was never written.
    #[inline]
    pub(crate) fn is_not_init(&self, name: PackedReg) -> bool {
        self.vals[name.val as usize].ty.base == Base::NotInit
    }

    /// The interned value, with `id` 0.
    #[inline]
    pub(crate) fn val(&self, val: u32) -> &Reg {
        &self.vals[val as usize]
    }

    /// The register of that name.
    #[inline]
    pub(crate) fn reg(&self, packed: PackedReg) -> Reg {
        Reg { id: packed.id, ..self.vals[packed.val as usize] }
    }

    /// Saves `frame`, sharing the last saved copy where nothing changed since.
    pub(crate) fn save_frame(&mut self, frame: &mut Frame) -> FrameId {
        self.forget_stale(frame);
        if let Some(saved) = frame.saved {
            self.retain(saved);
            return saved;
        }
        let slots_start = self.alloc_slots(frame.slots());
        let packed = PackedFrame {
            regs: *frame.names(),
            meta: frame.meta,
            slots_start,
            slots_len: frame.slots().len() as u32,
        };
        let id = match self.frames_free.pop() {
            Some(id) => {
                self.frames[id as usize] = packed;
                self.frame_refs[id as usize] = 1;
                id
            }
            None => {
                self.frames.push(packed);
                self.frame_refs.push(1);
                self.frames.len() as u32 - 1
            }
        };
        // One reference for the saved state, one for the cache in `frame`.
        self.frame_refs[id as usize] += 1;
        frame.saved = Some(FrameId(id));
        FrameId(id)
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

    /// Lets go of the saved copy of a frame that has changed since.
    fn forget_stale(&mut self, frame: &mut Frame) {
        if frame.take_changed()
            && let Some(stale) = frame.saved.take()
        {
            self.release(stale);
        }
    }

    /// Makes `frame` equal to the saved one.
    pub(crate) fn load_frame(&mut self, id: FrameId, frame: &mut Frame) {
        if let Some(stale) = frame.saved.take() {
            self.release(stale);
        }
        let packed = &self.frames[id.0 as usize];
        let (start, len) = (packed.slots_start as usize, packed.slots_len as usize);
        frame.restore(&packed.regs, packed.meta, &self.slots[start..start + len]);
        self.retain(id);
        frame.saved = Some(id);
    }

    /// Lets go of what a frame that is left held.
    pub(crate) fn drop_frame(&mut self, frame: Frame) {
        if let Some(saved) = frame.saved {
            self.release(saved);
        }
    }

    /// The frame of that name.
    pub(crate) fn frame(&self, id: FrameId) -> &PackedFrame {
        &self.frames[id.0 as usize]
    }

    /// Its stack slots.
    pub(crate) fn frame_slots(&self, id: FrameId) -> &[Slot] {
        let f = &self.frames[id.0 as usize];
        &self.slots[f.slots_start as usize..(f.slots_start + f.slots_len) as usize]
    }

    /// A changed copy of a saved frame replaces `id` in its holder.
    pub(crate) fn edit_frame(
        &mut self,
        id: FrameId,
        edit: impl FnOnce(&mut [PackedReg; 11], &mut [Slot]),
    ) -> FrameId {
        let mut packed = self.frames[id.0 as usize].clone();
        let mut slots = self.frame_slots(id).to_vec();
        edit(&mut packed.regs, &mut slots);
        packed.slots_start = self.alloc_slots(&slots);
        self.release(id);
        match self.frames_free.pop() {
            Some(free) => {
                self.frames[free as usize] = packed;
                self.frame_refs[free as usize] = 1;
                FrameId(free)
            }
            None => {
                self.frames.push(packed);
                self.frame_refs.push(1);
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
            let f = &self.frames[id.0 as usize];
            if f.slots_len != 0 {
                self.slots_free[f.slots_len as usize].push(f.slots_start);
            }
            self.frames_free.push(id.0);
        }
    }

    fn alloc_slots(&mut self, slots: &[Slot]) -> u32 {
        if slots.is_empty() {
            return 0;
        }
        if let Some(start) = self.slots_free[slots.len()].pop() {
            self.slots[start as usize..start as usize + slots.len()].copy_from_slice(slots);
            return start;
        }
        self.slots.extend_from_slice(slots);
        (self.slots.len() - slots.len()) as u32
    }

    /// Bytes held: registers, frames, stack slots.
    pub(crate) fn bytes(&self) -> [usize; 3] {
        [
            self.vals.len() * size_of::<Reg>() + self.table.len() * size_of::<(u32, u32)>(),
            self.frames.len() * (size_of::<PackedFrame>() + 4),
            self.slots.len() * size_of::<Slot>(),
        ]
    }
}
