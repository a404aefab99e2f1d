//! Interned registers: equal registers have the same eight-byte name.
//!
//! Ids are kept outside of the interned value because they differ between otherwise equal
//! registers, and so are ranges of packet pointers. A constant of up to 30 bits is encoded in its
//! name and not stored. Values that nothing refers to any more are collected when there are many.
//!
//! # Invariants
//! 1. Two `PackedReg` with the same `val` have equal registers except for id and range, and equal
//!    registers have the same `val`.
//! 2. `vals[0]` is the uninitialized register, `vals[1]` the unknown scalar.
//! 3. A name keeps its meaning as long as a frame, or another root of [`Values::sweep`], holds it.

use super::ranges::{Ranges, has_range};
use super::reg::{Extra, IterState, Reg};
use super::reg_type::{Base, RegType};
use crate::memory::{capacity_bytes, push_tight};
use skep_domain::{Scalar, Wrapped};
use std::hash::{BuildHasher, RandomState};

/// An interned register: value and id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PackedReg {
    /// Index into the interned values, or the name of a constant ([`constant_name`]).
    pub(crate) val: u32,
    /// `Reg::id`; for a packet pointer with a range, the name of both ([`Values::id`]).
    pub(crate) id: u32,
}

impl PackedReg {
    /// The uninitialized register.
    pub(crate) const NOT_INIT: PackedReg = PackedReg { val: 0, id: 0 };
    /// The unknown scalar.
    pub(crate) const UNKNOWN: PackedReg = PackedReg { val: 1, id: 0 };
}

/// Names from here on encode constants.
const CONSTANTS: u32 = 1 << 31;
/// The smallest constant with such a name is minus this; the largest is below this minus 1, so that
/// `u32::MAX` is not a name.
const CONSTANTS_BIAS: i64 = 1 << 30;

/// The name that encodes a constant, if it is small enough.
#[inline]
pub(crate) fn constant_name(value: u64) -> Option<u32> {
    let place = (value as i64).wrapping_add(CONSTANTS_BIAS);
    (0..i64::from(CONSTANTS - 1)).contains(&place).then_some(CONSTANTS | place as u32)
}

/// Whether the name encodes a constant.
#[inline]
pub(crate) fn is_constant(name: u32) -> bool {
    name >= CONSTANTS
}

/// The constant that the name encodes.
#[inline]
pub(crate) fn named_constant(name: u32) -> Option<u64> {
    let value = i64::from(name & !CONSTANTS) - CONSTANTS_BIAS;
    is_constant(name).then_some(value as u64)
}

/// Index in an empty place of the table.
const EMPTY: u32 = u32::MAX;
/// Maximum probe length before the table is rehashed once: at a load factor of two thirds, a
/// million well-hashed values have no cluster of a quarter of this length.
const CLUSTER_MAX: usize = 1 << 10;
/// Number of values below which nothing is collected.
const COLLECT_MIN: usize = 5 << 8;

/// A scalar.
pub(crate) const SCALAR: u8 = 1;
/// All bits are known.
pub(crate) const CONST: u8 = 2;
/// The bounds do not contradict each other.
pub(crate) const SANE: u8 = 4;
/// Refers to a reference.
pub(crate) const REFERS: u8 = 8;
pub(crate) const SANE_SCALAR: u8 = SANE | SCALAR;

fn kind_of(reg: &Reg) -> u8 {
    let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
    flag(reg.is_scalar(), SCALAR)
        | flag(reg.val.var_off.is_const(), CONST)
        | flag(reg.val.violated_rule().is_none(), SANE)
        | flag(reg.ref_obj_id != 0, REFERS)
}

/// Mixes two words into one in which every bit depends on all bits of both.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The variant as a number, and its fields as a word.
fn extra_words(extra: Extra) -> (u8, u64) {
    match extra {
        Extra::None => (0, 0),
        Extra::Range(range) => (1, u64::from(range as u32)),
        Extra::Map { map, uid } => (2, u64::from(map) << 32 | u64::from(uid)),
        Extra::Btf { id, in_prog } => (3, u64::from(id) << 1 | u64::from(in_prog)),
        Extra::Mem { size, dynptr_id } => (4, u64::from(size) << 32 | u64::from(dynptr_id)),
        Extra::Dynptr { kind, first_slot } => (5, (kind as u64) << 1 | u64::from(first_slot)),
        Extra::Iter { btf_id, active: IterState::Active, depth } => {
            (6, u64::from(btf_id) << 32 | u64::from(depth))
        }
        Extra::Iter { btf_id, active: IterState::Drained, depth } => {
            (7, u64::from(btf_id) << 32 | u64::from(depth))
        }
        Extra::IrqFlag { is_lock } => (8, u64::from(is_lock)),
        Extra::Frame(n) => (9, u64::from(n)),
        Extra::Subprog(n) => (10, u64::from(n)),
    }
}

/// Wrapping ranges as a word; 0 if there are none.
#[inline]
fn wrapped_word(wrapped: &Wrapped) -> u64 {
    if *wrapped == Wrapped::NONE {
        return 0;
    }
    let [base, size, half] = wrapped.words();
    fold(base ^ 0x2ffd_72db_d01a_dfb7, size ^ 0xb8e1_afed_6a26_7e96)
        .wrapping_add(fold(half ^ 0xba7c_9045_f12c_7f99, 0x24a1_9947_b391_6cf7))
}

/// A hash of everything except ids: a program may create thousands of values that differ in a
/// single bound.
fn hash_of(reg: &Reg, seed: u64) -> u32 {
    const PI: [u64; 12] = [
        0x243f_6a88_85a3_08d3,
        0x1319_8a2e_0370_7344,
        0xa409_3822_299f_31d0,
        0x082e_fa98_ec4e_6c89,
        0x4528_21e6_38d0_1377,
        0xbe54_66cf_34e9_0c6c,
        0xc0ac_29b7_c97c_50dd,
        0x3f84_d5b5_b547_0917,
        0x9216_d5d9_8979_fb1b,
        0xd131_0ba6_98df_b5ac,
        0x2ffd_72db_d01a_dfb7,
        0xb8e1_afed_6a26_7e96,
    ];
    let v = &reg.val;
    let pair = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    let (tag, extra) = extra_words(reg.extra);
    let flags = u64::from(reg.ty.flags.bits());
    let words = [
        v.var_off.value,
        v.var_off.mask,
        v.umin,
        v.umax,
        v.smin as u64,
        v.smax as u64,
        pair(v.u32_min, v.u32_max),
        pair(v.s32_min as u32, v.s32_max as u32),
        pair(reg.off as u32, reg.ref_obj_id),
        flags << 16 | u64::from(tag) << 8 | reg.ty.base as u64,
        extra ^ wrapped_word(&v.wrapped),
        seed,
    ];
    let key = |i: usize| words[i] ^ PI[i] ^ seed;
    let h = (0..6).fold(0_u64, |h, i| h.wrapping_add(fold(key(2 * i), key(2 * i + 1))));
    (h >> 32) as u32 ^ h as u32
}

/// Its name, if it is a plain constant encoded in the name.
#[inline]
fn name_of_constant(reg: &Reg) -> Option<u32> {
    let value = reg.val.var_off.value;
    if reg.val.var_off.mask != 0 || !reg.is_scalar() || reg.off != 0 || reg.ref_obj_id != 0 {
        return None;
    }
    let plain = reg.extra == Extra::None && reg.ty == RegType::SCALAR;
    if plain && reg.val == Scalar::constant(value) { constant_name(value) } else { None }
}

/// Whether the registers have the same name.
#[inline]
fn same_but_id(a: &Reg, b: &Reg) -> bool {
    a.val == b.val
        && a.ty == b.ty
        && a.off == b.off
        && a.extra == b.extra
        && a.ref_obj_id == b.ref_obj_id
}

/// Values that exist, by name.
pub(crate) struct Marks(Vec<bool>);

impl Marks {
    /// Whether the name is still valid; that of a constant always is.
    pub(crate) fn stays(&self, name: u32) -> bool {
        is_constant(name) || self.0.get(name as usize).is_some_and(|&mark| mark)
    }
}

/// All interned values.
pub(crate) struct Values {
    vals: Vec<Reg>,
    /// Properties of each value: [`SCALAR`] and the following flags.
    kinds: Vec<u8>,
    /// Hash and index; open addressing, power of two.
    table: Vec<(u32, u32)>,
    /// Free places of collected values.
    free: Vec<u32>,
    /// Number of values in use at which to collect.
    collect_at: usize,
    ranges: Ranges,
    /// 0, so that every walk of a program is the same, unless its values were chosen to collide.
    seed: u64,
}

impl Values {
    /// Contains only the two predefined values.
    pub(crate) fn new() -> Values {
        let mut values = Values {
            vals: Vec::new(),
            kinds: Vec::new(),
            table: vec![(0, EMPTY); 64],
            free: Vec::new(),
            collect_at: COLLECT_MIN,
            ranges: Ranges::default(),
            seed: 0,
        };
        values.pack(&Reg::not_init());
        values.pack(&Reg::unknown());
        values
    }

    /// The name of `reg`: equal values have equal names.
    #[inline]
    pub(crate) fn pack(&mut self, reg: &Reg) -> PackedReg {
        if let Some(val) = name_of_constant(reg) {
            return PackedReg { val, id: reg.id };
        }
        match reg.extra {
            Extra::Range(range) if range != 0 && reg.ty.is_packet() => {
                let bare = self.intern(&Reg { extra: Extra::Range(0), ..*reg });
                PackedReg { id: self.ranges.name(reg.id, range), ..bare }
            }
            _ => self.intern(reg),
        }
    }

    /// `Reg::id` of that register.
    #[inline]
    pub(crate) fn id(&self, name: PackedReg) -> u32 {
        self.ranges.pair(name.id).0
    }

    /// Whether its id is 0.
    #[inline(always)]
    pub(crate) fn has_no_id(&self, name: PackedReg) -> bool {
        name.id == 0 || has_range(name.id) && self.id(name) == 0
    }

    /// Its range, if it is a packet pointer.
    #[inline]
    pub(crate) fn range(&self, name: PackedReg) -> i32 {
        self.ranges.pair(name.id).1
    }

    /// The packet pointer with at least that range; `None` if it is not a packet pointer of type
    /// `ty` with `id`.
    pub(crate) fn with_range(
        &mut self,
        name: PackedReg,
        ty: RegType,
        id: u32,
        range: i32,
    ) -> Option<PackedReg> {
        if is_constant(name.val) || self.vals[name.val as usize].ty != ty || self.id(name) != id {
            return None;
        }
        let range = self.range(name).max(range);
        Some(PackedReg { id: self.ranges.name(id, range), ..name })
    }

    fn intern(&mut self, reg: &Reg) -> PackedReg {
        let mut hash = hash_of(reg, self.seed);
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        let mut steps = 0;
        loop {
            steps += 1;
            if steps == CLUSTER_MAX {
                self.reseed(RandomState::new().hash_one(()));
                hash = hash_of(reg, self.seed);
                at = hash as usize & mask;
            }
            match self.table[at] {
                (_, EMPTY) => break,
                (h, val) if h == hash && same_but_id(&self.vals[val as usize], reg) => {
                    return PackedReg { val, id: reg.id };
                }
                _ => at = (at + 1) & mask,
            }
        }
        let val = self.add(reg);
        self.table[at] = (hash, val);
        if self.in_use() * 3 > self.table.len() * 2 {
            self.grow_table();
        }
        PackedReg { val, id: reg.id }
    }

    fn add(&mut self, reg: &Reg) -> u32 {
        let val = match self.free.pop() {
            Some(val) => {
                self.vals[val as usize] = *reg;
                self.kinds[val as usize] = kind_of(reg);
                val
            }
            None => {
                push_tight(&mut self.kinds, kind_of(reg));
                push_tight(&mut self.vals, *reg)
            }
        };
        self.vals[val as usize].id = 0;
        val
    }

    /// Rebuilds the table with another hash seed.
    #[cold]
    fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        for entry in self.table.iter_mut().filter(|entry| entry.1 != EMPTY) {
            entry.0 = hash_of(&self.vals[entry.1 as usize], seed);
        }
        self.fill_table(self.table.len(), |_| true);
    }

    fn grow_table(&mut self) {
        let len = self.table.len() * 2;
        self.fill_table(len, |_| true);
    }

    /// Rebuilds the table with the values for which `keep` holds.
    fn fill_table(&mut self, len: usize, keep: impl Fn(u32) -> bool) {
        let old = std::mem::replace(&mut self.table, vec![(0, EMPTY); len]);
        for entry in old.into_iter().filter(|e| e.1 != EMPTY && keep(e.1)) {
            let mut at = entry.0 as usize & (len - 1);
            while self.table[at].1 != EMPTY {
                at = (at + 1) & (len - 1);
            }
            self.table[at] = entry;
        }
    }

    fn in_use(&self) -> usize {
        self.vals.len() - self.free.len()
    }

    /// Whether there are enough values to make a collection worthwhile.
    #[inline]
    pub(crate) fn wants_sweep(&self) -> bool {
        self.in_use() >= self.collect_at
    }

    /// Removes the values that are not in `named`, the names held by `holders` holders; returns
    /// which remain.
    pub(crate) fn sweep(&mut self, named: impl Iterator<Item = u32>, holders: usize) -> Marks {
        let mut marks = vec![false; self.vals.len()];
        marks[..2].fill(true);
        named.for_each(|name| {
            if let Some(mark) = marks.get_mut(name as usize) {
                *mark = true;
            }
        });
        self.free.clear();
        self.free.extend((0..marks.len() as u32).rev().filter(|&val| !marks[val as usize]));
        self.fill_table(self.table.len(), |val| marks[val as usize]);
        // Amortizes the visit of all holders over at least as many new values.
        self.collect_at = (2 * self.in_use()).max(self.in_use() + 2 * holders).max(COLLECT_MIN);
        Marks(marks)
    }

    /// Whether the value has all these properties.
    #[inline]
    pub(crate) fn is(&self, name: PackedReg, kinds: u8) -> bool {
        let known = self.kinds.get(name.val as usize).copied().unwrap_or(CONST | SANE_SCALAR);
        known & kinds == kinds
    }

    /// Whether the register is uninitialized.
    #[inline]
    pub(crate) fn is_not_init(&self, name: PackedReg) -> bool {
        !is_constant(name.val) && self.vals[name.val as usize].ty.base == Base::NotInit
    }

    /// The fixed offset of the value.
    #[inline(always)]
    pub(crate) fn off(&self, val: u32) -> i32 {
        if is_constant(val) { 0 } else { self.vals[val as usize].off }
    }

    /// The value with that name, with id and range 0.
    #[inline(always)]
    pub(crate) fn val(&self, val: u32) -> Reg {
        match named_constant(val) {
            Some(value) => Reg::constant(value),
            None => self.vals[val as usize],
        }
    }

    /// The value with that name, without a copy; a constant is created in `room`.
    #[inline]
    pub(crate) fn view<'a>(&'a self, val: u32, room: &'a mut Option<Reg>) -> &'a Reg {
        match named_constant(val) {
            Some(value) => room.insert(Reg::constant(value)),
            None => &self.vals[val as usize],
        }
    }

    /// The scalar value, or the variable offset of a pointer.
    #[inline]
    pub(crate) fn known(&self, val: u32) -> Option<u64> {
        named_constant(val).or_else(|| {
            let bits = self.vals[val as usize].val.var_off;
            bits.is_const().then_some(bits.value)
        })
    }

    /// The register with that name.
    #[inline(always)]
    pub(crate) fn reg(&self, packed: PackedReg) -> Reg {
        let reg = self.val(packed.val);
        if has_range(packed.id) {
            let (id, range) = self.ranges.pair(packed.id);
            return Reg { id, extra: Extra::Range(range), ..reg };
        }
        Reg { id: packed.id, ..reg }
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        capacity_bytes(&self.vals)
            + capacity_bytes(&self.kinds)
            + capacity_bytes(&self.table)
            + capacity_bytes(&self.free)
            + self.ranges.bytes()
    }

    /// Bytes in use, of those allocated.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        (self.in_use() * (size_of::<Reg>() + 1 + size_of::<(u32, u32)>())) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_domain::{JmpOp, refine_wrapped};

    /// Registers with the same bounds and known bits: each lacks a different value.
    #[test]
    fn ranges_that_wrap_tell_values_apart() {
        let mut values = Values::new();
        let left_out = |n: u64| {
            let mut reg = Reg::unknown();
            refine_wrapped(JmpOp::Ne, false, &mut reg.val, &mut Scalar::constant(n));
            reg
        };
        let names: Vec<u32> = (1..50_000).map(|n| values.pack(&left_out(n)).val).collect();
        assert_eq!(values.in_use(), names.len() + 2);
        assert_eq!(values.pack(&left_out(7)).val, names[6]);
    }
}
