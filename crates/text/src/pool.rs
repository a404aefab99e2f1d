//! Memory that is writable at one address and executable at another.
//!
//! A pool is a `memfd`: mapped for writing, then sealed against any further writable mapping, then
//! mapped for execution inside the [`Region`]: an address range near the program's own text, so
//! that helpers and programs can be reached with 32-bit displacements. If the host denies a
//! `memfd`, memory without a file is mapped twice.
//!
//! # Invariants
//! 1. No mapping is ever writable and executable; the executable one can never become writable
//!    (`F_SEAL_FUTURE_WRITE`; without a file, only with `mseal`). If the kernel has `mseal` (6.10),
//!    both mappings are fixed until the process ends: the writable one cannot become executable
//!    either, and neither can be replaced.
//! 2. All pools of a region are inside it: a `rel32` reaches any address in it from any other.
//! 3. Neither mapping is inherited by `fork`: a child must not write to its parent's code, nor run
//!    code that the parent changes.
//! 4. A range is free, or belongs to one [`Placed`]. Code in it is written before any thread
//!    executes it; afterwards only patch sites change (see `text`).
//! 5. A range that was freed is reused only after all threads have synchronised their instruction
//!    streams; if the host refuses that, only while no thread runs code
//!    ([`skep_mem::epoch::may_replace_code`]).

#![allow(unsafe_code)]

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{Errno, write};
use rustix::mm::{Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags, madvise, mmap};
use rustix::mm::{mmap_anonymous, mprotect, mremap, mremap_fixed, munmap};
use skep_mem::{Mem, PAGE_BYTES};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr;

/// Sizes of a region, in order of preference. They only reserve addresses, not memory.
const REGION_BYTES: [usize; 3] = [1 << 30, 256 << 20, 64 << 20];
/// Ranges are multiples of a cache line.
const GRAIN: usize = 64;
/// Filler: `int3`.
const TRAP: u8 = 0xcc;
/// The reach of a `rel32`, minus the length of the code itself.
const REACH: u64 = (1 << 31) - (1 << 20);

/// Addresses for pools.
#[derive(Debug)]
pub(crate) struct Region {
    start: usize,
    len: usize,
    used: usize,
}

impl Region {
    pub(crate) fn new() -> Result<Region, Errno> {
        let mut last = Errno::NOMEM;
        for len in REGION_BYTES {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: a new mapping of nothing; the address is a hint.
            match unsafe { mmap_anonymous(hint(len), len, ProtFlags::empty(), flags) } {
                Ok(at) => return Ok(Region { start: at as usize, len, used: 0 }),
                Err(errno) => last = errno,
            }
        }
        Err(last)
    }

    /// Addresses that a call from anywhere in the region reaches.
    pub(crate) fn reach(&self) -> Range<u64> {
        let (start, end) = (self.start as u64, (self.start + self.len) as u64);
        end.saturating_sub(REACH)..start.saturating_add(REACH)
    }

    /// Reserves `len` bytes of addresses; `None` if there are no more.
    fn take(&mut self, len: usize) -> Option<*mut c_void> {
        let end = self.used.checked_add(len).filter(|end| *end <= self.len)?;
        let at = self.start + std::mem::replace(&mut self.used, end);
        Some(ptr::without_provenance_mut(at))
    }
}

/// An address near this program's own text, so that helpers are within reach of `call`.
fn hint(len: usize) -> *mut c_void {
    let text = hint as *const () as usize;
    let away = 256 << 20;
    let at = text.checked_sub(away + len).filter(|at| *at > 1 << 32).unwrap_or(text + away);
    ptr::without_provenance_mut(at & !((2 << 20) - 1))
}

/// The two mappings of a memory file, all of whose descriptors are closed, and its free ranges.
#[derive(Debug)]
pub(crate) struct Pool {
    has_file: bool,
    writable: *mut u8,
    executable: *mut u8,
    len: usize,
    /// Ranges that were used before, sorted.
    freed: Vec<Range<usize>>,
    /// Start of the memory that was never used.
    fresh: usize,
}

/// Memory to put code into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supply {
    /// Used before, and [`skep_mem::epoch::may_replace_code`] has said that it may be used again.
    Freed,
    /// Never used.
    Fresh,
}

/// A range of a pool that holds code. Only [`Pool::put`] makes it, so it is its owner's alone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placed(Range<usize>);

/// Where placed code is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) writable: *mut u8,
    pub(crate) executable: u64,
}

// SAFETY: the pointers are to mappings that are never unmapped; writes are up to the owner of each
// range, under the text lock.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    /// `len` bytes, a multiple of the page size. They stay mapped as long as the process lives.
    pub(crate) fn new(region: &mut Region, len: usize, has_file: bool) -> Result<Pool, Errno> {
        if !has_file {
            return Pool::without_file(region, len);
        }
        let file = memory_file(len)?;
        let at = region.take(len).ok_or(Errno::NOMEM)?;
        // SAFETY: at an address that the kernel chooses.
        let writable = unsafe { map_writable(&file, ptr::null_mut(), MapFlags::empty(), len)? };
        // SAFETY: addresses of the region that no other pool has.
        if let Err(errno) = unsafe { seal_and_map_executable(&file, at, len) } {
            // SAFETY: the mapping was made above, and its address is not known to others.
            unsafe { munmap(writable, len)? };
            return Err(errno);
        }
        for mapping in [writable, at] {
            // SAFETY: made above, never unmapped.
            unsafe { seal_mapping(mapping, len) };
        }
        Ok(Pool::of(has_file, writable, at, len))
    }

    fn without_file(region: &mut Region, len: usize) -> Result<Pool, Errno> {
        let at = region.take(len).ok_or(Errno::NOMEM)?;
        // SAFETY: addresses of the region that no other pool has.
        let (executable, writable) = unsafe { map_twice(at, MapFlags::FIXED, len)? };
        for mapping in [executable, writable] {
            // SAFETY: the whole of our own mapping, which is never unmapped. Advice: invariant 3.
            unsafe {
                madvise(mapping, len, Advice::LinuxDontFork)?;
                seal_mapping(mapping, len);
            }
        }
        Ok(Pool::of(false, writable, executable, len))
    }

    fn of(has_file: bool, writable: *mut c_void, executable: *mut c_void, len: usize) -> Pool {
        let (writable, executable) = (writable.cast(), executable.cast());
        Pool { has_file, writable, executable, len, freed: Vec::new(), fresh: 0 }
    }

    /// Whether a freed range has room for `len` bytes.
    pub(crate) fn has_freed(&self, len: usize) -> bool {
        self.fits(len).is_some()
    }

    fn fits(&self, len: usize) -> Option<usize> {
        self.freed.iter().position(|range| range.len() >= len)
    }

    fn take(&mut self, len: usize, supply: Supply) -> Option<Range<usize>> {
        let bytes = len.next_multiple_of(GRAIN);
        if supply == Supply::Fresh {
            let range = self.fresh..self.fresh.checked_add(bytes).filter(|end| *end <= self.len)?;
            self.fresh = range.end;
            return Some(range);
        }
        let at = self.fits(bytes)?;
        let range = self.freed[at].start..self.freed[at].start + bytes;
        self.freed[at].start = range.end;
        if self.freed[at].is_empty() {
            self.freed.remove(at);
        }
        Some(range)
    }

    /// Writes code, which `relocate` adapts to its address, into free memory; `None` if there is
    /// none.
    pub(crate) fn put(
        &mut self,
        code: &mut [u8],
        supply: Supply,
        relocate: &dyn Fn(&mut [u8], u64),
    ) -> Option<(Placed, At)> {
        let range = self.take(code.len(), supply)?;
        // SAFETY: the range is inside both mappings.
        let (writable, executable) =
            unsafe { (self.writable.add(range.start), self.executable.add(range.start)) };
        relocate(code, executable as u64);
        // SAFETY: the range is inside the writable mapping, and free: no thread runs code there
        // (see `free`), and only the caller learns its address.
        unsafe {
            ptr::copy_nonoverlapping(code.as_ptr(), writable, code.len());
            ptr::write_bytes(writable.add(code.len()), TRAP, range.len() - code.len());
        }
        Some((Placed(range), At { writable, executable: executable as u64 }))
    }

    /// Frees a range: other code may be written there. That no thread still runs the old code is
    /// what the `unsafe` functions that give access to it require of their callers
    /// ([`crate::MachineCode::entry`]); edits look whether it was freed.
    pub(crate) fn free(&mut self, Placed(range): Placed) {
        let freed = &mut self.freed;
        let at = freed.partition_point(|other| other.start < range.start);
        freed.insert(at, range);
        if at + 1 < freed.len() && freed[at].end == freed[at + 1].start {
            freed[at].end = freed[at + 1].end;
            freed.remove(at + 1);
        }
        if at > 0 && freed[at - 1].end == freed[at].start {
            freed[at - 1].end = freed[at].end;
            freed.remove(at);
        }
    }

    /// A copy of all code, for a child about to be forked. It is made in advance, because the child
    /// must not see changes that the parent makes while the child starts.
    pub(crate) fn copy(&self) -> Result<Copied, Errno> {
        let mut code = vec![0; self.fresh];
        // SAFETY: readable as long as the process lives; written with atomic stores, or by `put`,
        // which borrows the pool mutably.
        unsafe { Mem::new(self.executable as u64, self.fresh) }.read(&mut code);
        if !self.has_file {
            let (at, fixed, len) = (ptr::null_mut(), MapFlags::empty(), self.len);
            // SAFETY: at an address that the kernel chooses.
            let (executable, writable) = unsafe { map_twice(at, fixed, len)? };
            let mapped = |at| Mapping { at, len };
            let twice = Twice { executable: mapped(executable), writable: mapped(writable), len };
            // SAFETY: the mapping has more bytes than this, and belongs to no one else.
            unsafe { ptr::copy_nonoverlapping(code.as_ptr(), writable.cast(), code.len()) };
            return Ok(Copied::Mapped(twice));
        }
        let file = memory_file(self.len)?;
        let mut rest = &*code;
        while !rest.is_empty() {
            let written = write(&file, rest)?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(Copied::File(file))
    }

    /// In a child: maps its copy at the parent's addresses.
    pub(crate) fn adopt(&mut self, copied: Copied) -> Result<(), Errno> {
        let (writable, executable) = (self.writable.cast(), self.executable.cast());
        claim(writable, self.len)?;
        claim(executable, self.len)?;
        match copied {
            Copied::File(file) => {
                // SAFETY: addresses of this pool, reserved above.
                unsafe {
                    map_writable(&file, writable, MapFlags::FIXED, self.len)?;
                    seal_and_map_executable(&file, executable, self.len)?;
                }
            }
            Copied::Mapped(twice) => {
                // It no longer exists when both have been moved.
                let twice = ManuallyDrop::new(twice);
                let moves = [(&twice.writable, writable), (&twice.executable, executable)];
                for (&Mapping { at: from, .. }, to) in moves {
                    let flags = MremapFlags::MAYMOVE;
                    // SAFETY: both are `len` long; the addresses at `to` were reserved above.
                    // Advice: invariant 3.
                    unsafe {
                        mremap_fixed(from, twice.len, twice.len, flags, to)?;
                        madvise(to, twice.len, Advice::LinuxDontFork)?;
                    }
                }
            }
        }
        for mapping in [writable, executable] {
            // SAFETY: mapped above, never unmapped.
            unsafe { seal_mapping(mapping, self.len) };
        }
        Ok(())
    }
}

/// Reserves the addresses in a child, where the parent's mappings were not inherited; an error if
/// another `fork` handler has mapped something there.
fn claim(at: *mut c_void, len: usize) -> Result<(), Errno> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
    // SAFETY: a new mapping that replaces none.
    let got = unsafe { mmap_anonymous(at, len, ProtFlags::empty(), flags)? };
    if got == at {
        return Ok(());
    }
    // Kernels before 4.17 treat the address as a hint. SAFETY: the mapping was just made, and its
    // address is not known to others.
    unsafe { munmap(got, len)? };
    Err(Errno::EXIST)
}

/// Whether the host provides memory for patched code.
pub(crate) fn memfd_is_refused() -> Option<Errno> {
    let file = match memory_file(PAGE_BYTES) {
        Ok(file) => file,
        Err(errno) => return Some(errno),
    };
    let seals = SealFlags::FUTURE_WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&file, seals).err()
}

fn memory_file(len: usize) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not have the flag, and do not need it.
    let file = memfd_create("skep-jit", flags | MemfdFlags::EXEC)
        .or_else(|_| memfd_create("skep-jit", flags))?;
    ftruncate(&file, len as u64)?;
    Ok(file)
}

/// Maps a file for writing.
///
/// # Safety
///
/// With `MapFlags::FIXED`, the addresses are reserved for this mapping, and nothing is in them.
unsafe fn map_writable(
    file: impl AsFd,
    at: *mut c_void,
    fixed: MapFlags,
    len: usize,
) -> Result<*mut c_void, Errno> {
    let writes = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: guaranteed by the caller.
    let at = unsafe { mmap(at, len, writes, MapFlags::SHARED | fixed, file, 0)? };
    // SAFETY: advice on the whole of our own mapping: invariant 3.
    unsafe { madvise(at, len, Advice::LinuxDontFork)? };
    Ok(at)
}

/// Maps a file for execution, after which it cannot be mapped for writing.
///
/// # Safety
///
/// The addresses are reserved for this mapping, and nothing is in them.
unsafe fn seal_and_map_executable(
    file: impl AsFd,
    at: *mut c_void,
    len: usize,
) -> Result<(), Errno> {
    let seals = SealFlags::FUTURE_WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    let runs = ProtFlags::READ | ProtFlags::EXEC;
    let flags = MapFlags::SHARED | MapFlags::FIXED;
    // SAFETY: guaranteed by the caller.
    unsafe { mmap(at, len, runs, flags, &file, 0)? };
    // SAFETY: advice on the whole of our own mapping: invariant 3.
    unsafe { madvise(at, len, Advice::LinuxDontFork) }
}

/// Seals a mapping that is never unmapped, so that neither its protection nor its contents can be
/// replaced. Older kernels do not support this, and nothing relies on it.
///
/// # Safety
///
/// The mapping is the caller's own, and lives as long as the process.
unsafe fn seal_mapping(at: *mut c_void, len: usize) {
    /// The number on all 64-bit machines; the C library's table may be older.
    const MSEAL: libc::c_long = 462;
    // SAFETY: changes no memory; the rest is guaranteed by the caller.
    unsafe { libc::syscall(MSEAL, at, len, 0) };
}

/// Memory without a file that is mapped twice, for when `memfd` is denied: executable at `at`, or
/// anywhere if that is null, and writable elsewhere. In this order, no rule against making memory
/// executable (`PR_SET_MDWE`) is violated.
///
/// # Safety
///
/// With `MapFlags::FIXED`, the addresses are reserved for this mapping, and nothing is in them.
unsafe fn map_twice(
    at: *mut c_void,
    fixed: MapFlags,
    len: usize,
) -> Result<(*mut c_void, *mut c_void), Errno> {
    let runs = ProtFlags::READ | ProtFlags::EXEC;
    let flags = MapFlags::SHARED | MapFlags::NORESERVE | fixed;
    // SAFETY: guaranteed by the caller.
    let executable = unsafe { mmap_anonymous(at, len, runs, flags)? };
    // SAFETY: an old length of 0 maps the same memory once more; its address is not known to
    // others.
    let writable = unsafe {
        let writable = mremap(executable, 0, len, MremapFlags::MAYMOVE)?;
        mprotect(writable, len, MprotectFlags::READ | MprotectFlags::WRITE)?;
        writable
    };
    Ok((executable, writable))
}

/// A pool's contents, for a child of `fork`.
#[derive(Debug)]
pub(crate) enum Copied {
    File(OwnedFd),
    Mapped(Twice),
}

/// Both mappings of memory without a file, at any address.
#[derive(Debug)]
pub(crate) struct Twice {
    executable: Mapping,
    writable: Mapping,
    len: usize,
}

/// A mapping that belongs to this value, and whose address is not known elsewhere.
#[derive(Debug)]
pub(crate) struct Mapping {
    at: *mut c_void,
    len: usize,
}

impl Mapping {
    /// The start of a file, as if for execution.
    pub(crate) fn executable(file: impl AsFd, len: usize) -> Result<Mapping, Errno> {
        let runs = ProtFlags::READ | ProtFlags::EXEC;
        // SAFETY: a new private mapping at an address chosen by the kernel, of which there is no
        // use but that it exists.
        let at = unsafe { mmap(ptr::null_mut(), len, runs, MapFlags::PRIVATE, file, 0)? };
        Ok(Mapping { at, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it belongs to this value, and its address is not known to others.
        unsafe {
            let _ = munmap(self.at, self.len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_ends() {
        let mut region = Region::new().expect("addresses");
        region.len = 2 * PAGE_BYTES;
        let pools =
            [true, false].map(|file| Pool::new(&mut region, PAGE_BYTES, file).expect("room"));
        assert_eq!(pools[0].executable as usize + PAGE_BYTES, pools[1].executable as usize);
        for file in [true, false] {
            assert_eq!(Pool::new(&mut region, PAGE_BYTES, file).err(), Some(Errno::NOMEM));
        }
        let most = usize::MAX & !(PAGE_BYTES - 1);
        assert_eq!(Pool::new(&mut region, most, true).err(), Some(Errno::INVAL));
        assert!(region.reach().contains(&(pools[0].executable as u64)));
    }
}
