//! `Mem`: memory that a program and other threads may write at any time, as passed to helpers.
//!
//! There is no `&[u8]` to it: code that needs a value twice copies it ([`Bytes`]) and uses the
//! copy. As for a kernel helper, the copy may mix values of different times; aligned accesses of 1,
//! 2, 4 or 8 bytes never tear.
//!
//! # Invariants
//! 1. The memory of a `Mem` outlives it and is readable, and writable if its user writes. This
//!    crate accesses it only with atomics, or with single-insn loads.

#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::asm;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Shared memory; see the module header.
#[derive(Clone, Copy, Debug)]
pub struct Mem<'a> {
    start: *mut u8,
    len: usize,
    memory: PhantomData<&'a AtomicU8>,
}

impl<'a> Mem<'a> {
    /// # Safety
    ///
    /// Invariant 1, for `len` bytes from `addr` on.
    #[inline(always)]
    pub unsafe fn new(addr: u64, len: usize) -> Mem<'a> {
        let start = std::ptr::with_exposed_provenance_mut(addr as usize);
        Mem { start, len, memory: PhantomData }
    }

    /// The `len` bytes from `offset` on, which must be inside.
    #[inline(always)]
    pub fn part(self, offset: usize, len: usize) -> Mem<'a> {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.len));
        Mem { start: self.start.wrapping_add(offset), len, ..self }
    }

    /// The bytes at `at` that one access can read: 8, 4, 2 or 1.
    #[inline(always)]
    fn step(&self, at: usize) -> usize {
        let (addr, left) = (self.start as usize + at, self.len - at);
        if addr.is_multiple_of(8) && left >= 8 {
            8
        } else if addr.is_multiple_of(4) && left >= 4 {
            4
        } else if addr.is_multiple_of(2) && left >= 2 {
            2
        } else {
            1
        }
    }

    #[inline(always)]
    fn at<T>(&self, at: usize) -> *mut T {
        let place = self.start.wrapping_add(at).cast::<T>();
        assert!(at + size_of::<T>() <= self.len && place.is_aligned());
        place
    }

    #[inline(always)]
    fn u8(&self, at: usize) -> &AtomicU8 {
        // SAFETY: inside (asserted), live, and accessed with atomics only: invariant 1.
        unsafe { AtomicU8::from_ptr(self.at(at)) }
    }

    #[inline(always)]
    fn u16(&self, at: usize) -> &AtomicU16 {
        // SAFETY: as in `u8`, and aligned (asserted).
        unsafe { AtomicU16::from_ptr(self.at(at)) }
    }

    /// An aligned word.
    #[inline(always)]
    pub fn u32(&self, at: usize) -> &AtomicU32 {
        // SAFETY: as in `u8`, and aligned (asserted).
        unsafe { AtomicU32::from_ptr(self.at(at)) }
    }

    /// An aligned double word.
    #[inline(always)]
    pub fn u64(&self, at: usize) -> &AtomicU64 {
        // SAFETY: as in `u8`, and aligned (asserted).
        unsafe { AtomicU64::from_ptr(self.at(at)) }
    }

    /// Copies all of it to `to`, which must be as long.
    #[inline(always)]
    pub fn read(&self, to: &mut [u8]) {
        assert_eq!(to.len(), self.len);
        let mut at = 0;
        while at < self.len {
            at += match self.step(at) {
                8 => put(to, at, self.u64(at).load(Relaxed).to_ne_bytes()),
                4 => put(to, at, self.u32(at).load(Relaxed).to_ne_bytes()),
                2 => put(to, at, self.u16(at).load(Relaxed).to_ne_bytes()),
                _ => put(to, at, [self.u8(at).load(Relaxed)]),
            };
        }
    }

    /// Copies `from`, which must be no longer, to its start.
    #[inline(always)]
    pub fn write(&self, from: &[u8]) {
        let here = self.part(0, from.len());
        let mut at = 0;
        while at < here.len {
            let step = here.step(at);
            match step {
                8 => here.u64(at).store(u64::from_ne_bytes(get(from, at)), Relaxed),
                4 => here.u32(at).store(u32::from_ne_bytes(get(from, at)), Relaxed),
                2 => here.u16(at).store(u16::from_ne_bytes(get(from, at)), Relaxed),
                _ => here.u8(at).store(from[at], Relaxed),
            }
            at += step;
        }
    }

    /// Makes all of it `byte`.
    pub fn fill(&self, byte: u8) {
        let bytes = [byte; 64];
        let mut at = 0;
        while at < self.len {
            let step = (self.len - at).min(bytes.len());
            self.part(at, step).write(&bytes[..step]);
            at += step;
        }
    }

    /// A copy of its first bytes: mostly keys, whose words stay in registers.
    #[inline(always)]
    pub fn array<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        assert!(N <= self.len);
        if N == 4
            && let Some(word) = bytes.first_chunk_mut::<4>()
        {
            *word = (self.load(0, 4) as u32).to_ne_bytes();
        } else if N.is_multiple_of(8) {
            let (doubles, _) = bytes.as_chunks_mut::<8>();
            for (n, double) in doubles.iter_mut().enumerate() {
                *double = self.load(8 * n, 8).to_ne_bytes();
            }
        } else {
            self.part(0, N).read(&mut bytes);
        }
        bytes
    }

    /// Loads 2, 4 or 8 bytes, aligned or not, with a single access.
    #[inline(always)]
    pub(crate) fn load(&self, at: usize, size: usize) -> u64 {
        assert!(matches!(size, 2 | 4 | 8));
        let place = self.part(at, size).start;
        // SAFETY: inside (asserted), and live: invariant 1.
        unsafe { load_unaligned(place, size) }
    }

    /// Stores the low 2, 4 or 8 bytes, aligned or not, with a single access.
    pub(crate) fn store(&self, at: usize, size: usize, value: u64) {
        assert!(matches!(size, 2 | 4 | 8));
        let place = self.part(at, size).start;
        // SAFETY: as in `load`.
        unsafe { store_unaligned(place, size, value) }
    }

    /// A copy of all of it.
    #[inline(always)]
    pub fn copy(&self) -> Bytes {
        let mut bytes = Bytes { few: [0; FEW], many: Vec::new(), len: self.len };
        if self.len <= FEW {
            self.read(&mut bytes.few[..self.len]);
        } else {
            bytes.many = vec![0; self.len];
            self.read(&mut bytes.many);
        }
        bytes
    }
}

#[inline(always)]
fn put<const N: usize>(to: &mut [u8], at: usize, bytes: [u8; N]) -> usize {
    to[at..at + N].copy_from_slice(&bytes);
    N
}

#[inline(always)]
fn get<const N: usize>(from: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&from[at..at + N]);
    bytes
}

/// Loads 2, 4 or 8 bytes at any alignment as one insn, like machine code. Rust has no unaligned
/// accesses with which others may race.
///
/// # Safety
///
/// There are that many bytes at `from`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn load_unaligned(from: *const u8, size: usize) -> u64 {
    let value: u64;
    // SAFETY: guaranteed by the caller; concurrent writes may or may not be observed.
    unsafe {
        match size {
            2 => asm!("movzx {:e}, word ptr [{}]", out(reg) value, in(reg) from,
                options(nostack, preserves_flags, readonly)),
            4 => asm!("mov {:e}, dword ptr [{}]", out(reg) value, in(reg) from,
                options(nostack, preserves_flags, readonly)),
            _ => asm!("mov {}, qword ptr [{}]", out(reg) value, in(reg) from,
                options(nostack, preserves_flags, readonly)),
        }
    }
    value
}

/// Stores the low 2, 4 or 8 bytes at any alignment as one insn.
///
/// # Safety
///
/// There are that many bytes at `to`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn store_unaligned(to: *mut u8, size: usize, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            2 => asm!("mov word ptr [{}], {:x}", in(reg) to, in(reg) value,
                options(nostack, preserves_flags)),
            4 => asm!("mov dword ptr [{}], {:e}", in(reg) to, in(reg) value,
                options(nostack, preserves_flags)),
            _ => asm!("mov qword ptr [{}], {}", in(reg) to, in(reg) value,
                options(nostack, preserves_flags)),
        }
    }
}

/// On other processors an unaligned access is made byte by byte, in no order.
///
/// # Safety
///
/// There are that many bytes at `from`, which others access with atomics only.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn load_unaligned(from: *const u8, size: usize) -> u64 {
    use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Acquire};
    if (from as usize).is_multiple_of(size) && size >= 4 {
        // SAFETY: guaranteed by the caller, and aligned.
        return unsafe {
            match size {
                4 => AtomicU32::from_ptr(from.cast_mut().cast()).load(Acquire).into(),
                _ => AtomicU64::from_ptr(from.cast_mut().cast()).load(Acquire),
            }
        };
    }
    // SAFETY: the caller's promise.
    let byte = |i| unsafe { AtomicU8::from_ptr(from.cast_mut().add(i)) }.load(Acquire);
    (0..size).rev().fold(0, |value, i| value << 8 | u64::from(byte(i)))
}

/// The same.
///
/// # Safety
///
/// There are that many bytes at `to`, which others access with atomics only.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn store_unaligned(to: *mut u8, size: usize, value: u64) {
    use std::sync::atomic::{AtomicU8, Ordering::Release};
    for (i, byte) in value.to_le_bytes().into_iter().take(size).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { AtomicU8::from_ptr(to.add(i)) }.store(byte, Release);
    }
}

/// Maximum length of a copy stored inline.
const FEW: usize = 64;

/// A copy of shared memory, which nobody else writes.
#[derive(Debug)]
pub struct Bytes {
    few: [u8; FEW],
    many: Vec<u8>,
    len: usize,
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        if self.len <= FEW { &self.few[..self.len] } else { &self.many }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_alignments_and_lengths_are_copied_whole_and_nothing_beside_them() {
        for start in 0..9 {
            for len in (0..20).chain([63, 64, 65, 200]) {
                let mut around: Vec<u64> = vec![u64::MAX; 40];
                let base = around.as_mut_ptr().expose_provenance();
                // SAFETY: inside `around`, to which nothing else has access while `mem` lives.
                let mem = unsafe { Mem::new((base + start) as u64, len) };
                let bytes: Vec<u8> = (0..len).map(|n| n as u8 + 1).collect();
                mem.write(&bytes);
                assert_eq!(*mem.copy(), *bytes);
                if len >= 3 {
                    assert_eq!(mem.part(1, len - 1).array::<2>(), [2, 3]);
                }
                if len >= 16 {
                    assert_eq!(mem.array::<4>(), bytes[..4]);
                    assert_eq!(mem.part(0, 9).array::<8>(), bytes[..8]);
                    assert_eq!(mem.array::<16>(), bytes[..16]);
                }
                if len >= 3 {
                    mem.part(1, 2).fill(7);
                    assert_eq!(mem.array::<3>(), [1, 7, 7]);
                }
                mem.fill(9);
                let all: Vec<u8> = around.iter().flat_map(|word| word.to_ne_bytes()).collect();
                let wanted = |at: usize| (start..start + len).contains(&at);
                let is = |(at, byte): (usize, &u8)| *byte == if wanted(at) { 9 } else { 255 };
                assert!(all.iter().enumerate().all(is), "{start} {len}");
            }
        }
    }

    #[test]
    fn low_bytes_are_loaded_and_stored() {
        for size in [2, 4, 8] {
            let mut bytes = [0xee_u8; 16];
            let value = 0x8877_6655_4433_2211_u64;
            let mask = u64::MAX >> (64 - 8 * size as u32);
            // One pointer for both: what others access with atomics is not borrowed.
            let at = bytes.as_mut_ptr().wrapping_add(3);
            // SAFETY: inside of the array.
            let seen = unsafe {
                store_unaligned(at, size, value);
                load_unaligned(at, size)
            };
            assert_eq!(seen, value & mask);
            let rest = bytes.iter().filter(|byte| **byte == 0xee).count();
            assert_eq!(rest, 16 - size);
        }
    }
}
