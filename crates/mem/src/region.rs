//! `Region`: zeroed memory with a fixed address that programs and this crate share.
//!
//! Programs read and write it with plain loads and stores at any time; this crate uses relaxed
//! atomics, so that data races between programs are never undefined behaviour here. Aligned values
//! of 1, 2, 4 or 8 bytes never tear; longer ones are copied word by word, as the kernel does.
//!
//! # Invariants
//! 1. `base..base + len` is one live allocation, aligned to [`ALIGN`], until the region is
//!    dropped; it never moves.
//! 2. Every access of this file is inside (asserted) and atomic, except unaligned accesses of
//!    interpreted programs, which use the insn that machine code would use ([`Mem`]).

#![allow(unsafe_code)]

use crate::Mem;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize};

/// Alignment of a region: a pair of cache lines.
pub const ALIGN: usize = 128;

/// The smallest page of x86-64, the host of machine code. The page of the kernels whose rules are
/// modelled is another fact, `skep_uapi::limits::PAGE_SIZE_BYTES`.
pub const PAGE_BYTES: usize = 4096;

/// No memory, or none left of the budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMemory(String);

impl NoMemory {
    /// For an allocation of this many bytes.
    pub fn of(bytes: usize) -> NoMemory {
        NoMemory(format!("ENOMEM ({bytes} bytes requested)"))
    }
}

impl std::fmt::Display for NoMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoMemory {}

/// A limit on the bytes that maps, and data recorded by runs, may use together.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    bytes_max: usize,
}

impl Budget {
    /// A budget of this many bytes.
    pub fn new(bytes_max: usize) -> Arc<Budget> {
        Arc::new(Budget { used: AtomicUsize::new(0), bytes_max })
    }

    /// Bytes in use.
    pub fn used_bytes(&self) -> usize {
        self.used.load(Relaxed)
    }

    fn take(&self, len: usize) -> Result<(), NoMemory> {
        let add = |used: usize| used.checked_add(len).filter(|&sum| sum <= self.bytes_max);
        match self.used.fetch_update(Relaxed, Relaxed, add) {
            Ok(_) => Ok(()),
            Err(used) => Err(NoMemory(format!(
                "ENOMEM ({len} bytes requested, {used} of {} in use)",
                self.bytes_max
            ))),
        }
    }
}

/// Bytes of a budget, returned when dropped.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Share {
    /// A share of 0 bytes.
    pub fn new(budget: &Arc<Budget>) -> Share {
        Share { budget: budget.clone(), bytes: 0 }
    }

    /// Takes this many more bytes; false if the budget has fewer.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let taken = self.budget.take(bytes).is_ok();
        self.bytes += if taken { bytes } else { 0 };
        taken
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Relaxed);
    }
}

/// A struct of words as part of a region.
///
/// # Safety
///
/// It is made of atomic integers only.
pub unsafe trait AtomicWords {}

// SAFETY: so they are.
unsafe impl<const N: usize> AtomicWords for [AtomicU32; N] {}
// SAFETY: so they are.
unsafe impl<const N: usize> AtomicWords for [AtomicU64; N] {}

/// One group of words, and another one after it.
#[repr(C)]
#[derive(Debug)]
pub struct Pair<A, B>(pub A, pub B);

// SAFETY: both are, and padding between them is neither read nor written.
unsafe impl<A: AtomicWords, B: AtomicWords> AtomicWords for Pair<A, B> {}

/// Shared memory; see the module header.
#[derive(Debug)]
pub struct Region {
    base: NonNull<u8>,
    len: usize,
    budget: Arc<Budget>,
    source: Source,
}

/// Where the memory of a region is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// [`allocate`].
    Plain,
    /// [`map_ring`].
    Ring,
    /// [`map_guarded`].
    Guarded,
}

/// Whether new regions are guarded.
static GUARDED: AtomicBool = AtomicBool::new(false);
/// Number of guarded regions.
static GUARDS: AtomicUsize = AtomicUsize::new(0);
const GUARDS_MAX: usize = 8 << 10;

/// From now on, each new region of this process ends, rounded up to 8 bytes only, at a page that
/// cannot be accessed, and begins after one: for tests that look for accesses outside. Such a
/// region is aligned to the largest power of two that divides its length, at most [`ALIGN`]. Only
/// some thousands at a time: the system limits the number of mappings.
pub fn guard_regions() {
    GUARDED.store(true, Relaxed);
}

// SAFETY: the memory is owned, and reached through atomics only (invariant 2).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// `len` zero bytes, rounded up to [`ALIGN`]. Pages are the system's until they are touched.
    pub fn zeroed(len: usize, budget: &Arc<Budget>) -> Result<Region, NoMemory> {
        let too_much = || NoMemory::of(len);
        let (source, align) = match GUARDED.load(Relaxed) && GUARDS.load(Relaxed) < GUARDS_MAX {
            false => (Source::Plain, ALIGN),
            true => (Source::Guarded, 8),
        };
        let len = len.max(1).checked_next_multiple_of(align).ok_or_else(too_much)?;
        let layout = Layout::from_size_align(len, ALIGN).map_err(|_| too_much())?;
        budget.take(len)?;
        let base = match source {
            Source::Guarded => map_guarded(len),
            _ => allocate(layout),
        };
        let Some(base) = base else {
            budget.used.fetch_sub(len, Relaxed);
            return Err(too_much());
        };
        Ok(Region { base, len, budget: budget.clone(), source })
    }

    /// Only pages that are touched take memory, not those around them: for regions that are mostly
    /// unused.
    pub fn sparse(self) -> Region {
        if self.len >= PAGES_MIN && self.source == Source::Plain {
            let (base, len) = (self.base.as_ptr().cast(), self.len);
            // A system without huge pages returns an error. SAFETY: the region's own pages, whose
            // contents are kept.
            let _ = unsafe { madvise(base, len, Advice::LinuxNoHugepage) };
        }
        self
    }

    /// `head` bytes, then `data` bytes that can be reached twice, one after the other: what is
    /// written at the end of the first goes on at the beginning. Both are whole pages.
    pub fn ring(head: usize, data: usize, budget: &Arc<Budget>) -> Result<Region, NoMemory> {
        let too_much = || NoMemory::of(data);
        let twice = data.checked_mul(2).and_then(|bytes| bytes.checked_add(head));
        let len = twice.ok_or_else(too_much)?;
        budget.take(len)?;
        match map_ring(head, data) {
            Ok(base) => Ok(Region { base, len, budget: budget.clone(), source: Source::Ring }),
            Err(errno) => {
                budget.used.fetch_sub(len, Relaxed);
                Err(NoMemory(format!("{errno} ({data} bytes requested)")))
            }
        }
    }

    /// Address of byte `off`. Accesses through it are not covered by this file's invariants.
    #[inline]
    pub fn addr(&self, off: usize) -> u64 {
        self.base.as_ptr() as u64 + off as u64
    }

    /// Offset of an access of `size` bytes at `addr`, if it is inside.
    #[inline]
    pub fn offset_of(&self, addr: u64, size: usize) -> Option<usize> {
        let off = usize::try_from(addr.checked_sub(self.addr(0))?).ok()?;
        (off.checked_add(size)? <= self.len).then_some(off)
    }

    /// The same, with the region.
    #[inline]
    pub fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        Some((self, self.offset_of(addr, size)?))
    }

    /// Bytes, at least one [`ALIGN`].
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    fn mem(&self) -> Mem<'_> {
        // SAFETY: invariant 1.
        unsafe { Mem::new(self.addr(0), self.len) }
    }

    #[inline]
    fn u16(&self, off: usize) -> &AtomicU16 {
        assert!(off.is_multiple_of(2) && off <= self.len - 2);
        // SAFETY: inside (asserted), aligned since the base is, and only accessed atomically.
        unsafe { AtomicU16::from_ptr(self.base.as_ptr().add(off).cast()) }
    }

    /// A load of a program, of `size` bytes (1, 2, 4, 8) at any offset: one, and in order with its
    /// others, as machine code has it.
    #[inline]
    pub fn load(&self, off: usize, size: usize) -> u64 {
        match size {
            1 => self.u8(off).load(Acquire).into(),
            2 if off.is_multiple_of(2) => self.u16(off).load(Acquire).into(),
            4 if off.is_multiple_of(4) => self.u32(off).load(Acquire).into(),
            8 if off.is_multiple_of(8) => self.u64(off).load(Acquire),
            _ => self.mem().load(off, size),
        }
    }

    /// A store of a program, of the low `size` bytes (1, 2, 4, 8): one, and in order.
    #[inline]
    pub fn store(&self, off: usize, size: usize, value: u64) {
        match size {
            1 => self.u8(off).store(value as u8, Release),
            2 if off.is_multiple_of(2) => self.u16(off).store(value as u16, Release),
            4 if off.is_multiple_of(4) => self.u32(off).store(value as u32, Release),
            8 if off.is_multiple_of(8) => self.u64(off).store(value, Release),
            _ => self.mem().store(off, size, value),
        }
    }

    /// The region as values of a type, as many as fit.
    ///
    /// # Safety
    ///
    /// A `T` is made of atomic integers, and padding, only.
    pub unsafe fn all<T>(&self) -> &[T] {
        const { assert!(align_of::<T>() <= ALIGN && size_of::<T>() > 0) };
        let count = self.len / size_of::<T>();
        // SAFETY: inside, aligned since the base is; every pattern of bits is a value (the caller's
        // promise), and it is only accessed atomically.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().cast::<T>(), count) }
    }

    /// A word for links and counters.
    #[inline(always)]
    pub fn u32(&self, off: usize) -> &AtomicU32 {
        assert!(off.is_multiple_of(4) && off <= self.len - 4);
        // SAFETY: inside (asserted), aligned since the base is, and only accessed atomically.
        unsafe { AtomicU32::from_ptr(self.base.as_ptr().add(off).cast()) }
    }

    /// A double word.
    #[inline(always)]
    pub fn u64(&self, off: usize) -> &AtomicU64 {
        assert!(off.is_multiple_of(8) && off <= self.len - 8);
        // SAFETY: as for `u32`.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(off).cast()) }
    }

    /// A group of words, checked once.
    #[inline(always)]
    pub fn view<T: AtomicWords>(&self, off: usize) -> &T {
        const { assert!(size_of::<T>() <= ALIGN && align_of::<T>() <= 8) };
        assert!(off.is_multiple_of(8) && off <= self.len - size_of::<T>());
        // SAFETY: inside (asserted), aligned since the base is, and consists of atomics only.
        unsafe { self.base.byte_add(off).cast().as_ref() }
    }

    #[inline]
    fn u8(&self, off: usize) -> &AtomicU8 {
        assert!(off < self.len);
        // SAFETY: inside (asserted) and only accessed atomically.
        unsafe { AtomicU8::from_ptr(self.base.as_ptr().add(off)) }
    }

    /// Writes `bytes` at `off`, a multiple of 8.
    #[inline(always)]
    pub fn write(&self, off: usize, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for (i, word) in words.iter().enumerate() {
            self.u64(off + 8 * i).store(u64::from_ne_bytes(*word), Relaxed);
        }
        let mut at = off + 8 * words.len();
        let rest = match rest.split_first_chunk::<4>() {
            Some((word, rest)) => {
                self.u32(at).store(u32::from_ne_bytes(*word), Relaxed);
                at += 4;
                rest
            }
            None => rest,
        };
        for (i, byte) in rest.iter().enumerate() {
            self.u8(at + i).store(*byte, Relaxed);
        }
    }

    /// Writes `bytes` at any offset.
    #[inline]
    pub fn write_part(&self, off: usize, bytes: &[u8]) {
        let lead = (off.next_multiple_of(8) - off).min(bytes.len());
        let (first, rest) = bytes.split_at(lead);
        for (i, byte) in first.iter().enumerate() {
            self.u8(off + i).store(*byte, Relaxed);
        }
        self.write(off + lead, rest);
    }

    /// Reads into `bytes` from any offset.
    #[inline]
    pub fn read_part(&self, off: usize, bytes: &mut [u8]) {
        let lead = (off.next_multiple_of(8) - off).min(bytes.len());
        let (first, rest) = bytes.split_at_mut(lead);
        for (i, byte) in first.iter_mut().enumerate() {
            *byte = self.u8(off + i).load(Relaxed);
        }
        self.read(off + lead, rest);
    }

    /// Moves `len` bytes, which may overlap.
    pub fn copy_within(&self, from: usize, to: usize, len: usize) {
        let mut bytes = vec![0; len];
        self.read_part(from, &mut bytes);
        self.write_part(to, &bytes);
    }

    /// Reads into `bytes` from `off`, a multiple of 8.
    #[inline]
    pub fn read(&self, off: usize, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut::<8>();
        let mut at = off + 8 * words.len();
        for (i, word) in words.iter_mut().enumerate() {
            *word = self.u64(off + 8 * i).load(Relaxed).to_ne_bytes();
        }
        let rest = match rest.split_first_chunk_mut::<4>() {
            Some((word, rest)) => {
                *word = self.u32(at).load(Relaxed).to_ne_bytes();
                at += 4;
                rest
            }
            None => rest,
        };
        for (i, byte) in rest.iter_mut().enumerate() {
            *byte = self.u8(at + i).load(Relaxed);
        }
    }

    /// A copy of `len` bytes from `off`, a multiple of 8.
    #[inline]
    pub fn to_vec(&self, off: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.read(off, &mut bytes);
        bytes
    }

    /// Zeroes `len` bytes from `off`, both multiples of 8.
    #[inline]
    pub fn clear(&self, off: usize, len: usize) {
        (off..off + len).step_by(8).for_each(|at| self.u64(at).store(0, Relaxed));
    }

    /// Whether the bytes from `off` (a multiple of 8) on equal `bytes`.
    #[inline(always)]
    pub fn equals(&self, off: usize, bytes: &[u8]) -> bool {
        if let Ok(word) = <[u8; 4]>::try_from(bytes) {
            return self.u32(off).load(Relaxed) == u32::from_ne_bytes(word);
        }
        let (words, rest) = bytes.as_chunks::<8>();
        let same = |(i, word): (usize, &[u8; 8])| {
            self.u64(off + 8 * i).load(Relaxed) == u64::from_ne_bytes(*word)
        };
        let at = off + 8 * words.len();
        let same_byte = |(i, byte): (usize, &u8)| self.u8(at + i).load(Relaxed) == *byte;
        words.iter().enumerate().all(same) && rest.iter().enumerate().all(same_byte)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        match (self.source, Layout::from_size_align(self.len, ALIGN)) {
            (Source::Ring, _) => unmap(self.base, self.len),
            (Source::Guarded, _) => {
                GUARDS.fetch_sub(1, Relaxed);
                let all = guarded_bytes(self.len);
                // SAFETY: the start of the mapping that `map_guarded` made.
                unmap(unsafe { self.base.byte_sub(all - GUARD - self.len) }, all);
            }
            (Source::Plain, Ok(layout)) => release(self.base, layout),
            (Source::Plain, Err(_)) => {}
        }
        self.budget.used.fetch_sub(self.len, Relaxed);
    }
}

/// From this size on, memory is mapped directly: the allocator would touch all of it to align it.
const PAGES_MIN: usize = 64 << 10;

fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    if layout.size() < PAGES_MIN {
        // SAFETY: the layout has a size above 0.
        return NonNull::new(unsafe { alloc_zeroed(layout) });
    }
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a new mapping at an address chosen by the system.
    let pages = unsafe { mmap_anonymous(std::ptr::null_mut(), layout.size(), protection, flags) };
    NonNull::new(pages.ok()?.cast())
}

/// Bytes that cannot be accessed, on each side of a guarded region: at least a page.
const GUARD: usize = 64 << 10;

/// Bytes of the whole mapping of a guarded region.
fn guarded_bytes(len: usize) -> usize {
    len.next_multiple_of(GUARD) + 2 * GUARD
}

/// Zero bytes that end where an inaccessible page begins.
fn map_guarded(len: usize) -> Option<NonNull<u8>> {
    let all = len.checked_add(3 * GUARD).map(|_| guarded_bytes(len))?;
    let (none, flags) = (ProtFlags::empty(), MapFlags::PRIVATE);
    // SAFETY: a new mapping at an address chosen by the system.
    let base = unsafe { mmap_anonymous(std::ptr::null_mut(), all, none, flags) }.ok()?;
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, flags | MapFlags::FIXED);
    // SAFETY: replaces the inner part of the mapping made above, which is not in use yet.
    let inner = unsafe { base.byte_add(GUARD) };
    // SAFETY: as above.
    if unsafe { mmap_anonymous(inner, all - 2 * GUARD, protection, flags) }.is_err() {
        // SAFETY: mapped above, and not in use.
        let _ = unsafe { munmap(base, all) };
        return None;
    }
    GUARDS.fetch_add(1, Relaxed);
    // SAFETY: inside of the mapping.
    NonNull::new(unsafe { base.byte_add(all - GUARD - len) }.cast())
}

fn release(base: NonNull<u8>, layout: Layout) {
    if layout.size() < PAGES_MIN {
        // SAFETY: allocated with this layout in `allocate`, and freed once.
        unsafe { dealloc(base.as_ptr(), layout) };
        return;
    }
    unmap(base, layout.size());
}

fn unmap(base: NonNull<u8>, len: usize) {
    // SAFETY: mapped with this length in `allocate` or `map_ring`; called by `drop`, so there are
    // no references into it any more.
    let unmapped = unsafe { munmap(base.as_ptr().cast(), len) };
    debug_assert!(unmapped.is_ok());
}

fn map_ring(head: usize, data: usize) -> rustix::io::Result<NonNull<u8>> {
    let file = memfd_create("skep-ringbuf", MemfdFlags::CLOEXEC)?;
    ftruncate(&file, (head + data) as u64)?;
    let (protection, len) = (ProtFlags::READ | ProtFlags::WRITE, head + 2 * data);
    // SAFETY: a new mapping at an address chosen by the system.
    let base = unsafe {
        mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::empty(), MapFlags::PRIVATE)?
    };
    let map = |at: usize, bytes: usize, from: usize| {
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: replaces part of the mapping made above, which is not in use yet.
        unsafe { mmap(base.byte_add(at), bytes, protection, flags, &file, from as u64) }
    };
    let mapped = map(0, head + data, 0).and_then(|_| map(head + data, data, head));
    if let Err(errno) = mapped {
        // SAFETY: mapped above, and not in use.
        let _ = unsafe { munmap(base, len) };
        return Err(errno);
    }
    NonNull::new(base.cast()).ok_or(rustix::io::Errno::NOMEM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_length_come_back() {
        let budget = Budget::new(1 << 20);
        let region = Region::zeroed(64, &budget).unwrap();
        for len in 0..=32 {
            let bytes: Vec<u8> = (0..len as u8).map(|i| i + 1).collect();
            region.clear(0, 64);
            region.write(8, &bytes);
            assert_eq!(region.to_vec(8, len), bytes);
            assert!(region.equals(8, &bytes));
            assert_eq!(region.to_vec(8 + len.next_multiple_of(8), 8), [0; 8]);
            if len > 0 {
                let mut other = bytes.clone();
                other[len - 1] ^= 1;
                assert!(!region.equals(8, &other));
            }
        }
    }

    #[test]
    fn the_budget_is_kept() {
        let budget = Budget::new(1 << 12);
        let first = Region::zeroed(3000, &budget).unwrap();
        assert!(Region::zeroed(3000, &budget).unwrap_err().to_string().contains("ENOMEM"));
        drop(first);
        assert_eq!(budget.used_bytes(), 0);
        assert!(Region::zeroed(3000, &budget).is_ok());
        assert!(Region::zeroed(usize::MAX, &budget).is_err());
    }

    #[test]
    fn what_is_inside() {
        let budget = Budget::new(1 << 12);
        let region = Region::zeroed(128, &budget).unwrap();
        assert_eq!(region.offset_of(region.addr(120), 8), Some(120));
        assert_eq!(region.offset_of(region.addr(121), 8), None);
        assert_eq!(region.offset_of(region.addr(0) - 1, 1), None);
        assert_eq!(region.offset_of(u64::MAX, 8), None);
    }
}
