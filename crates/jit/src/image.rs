//! Where machine code lives: memory that is writable at one address and executable at another,
//! never both at one.
//!
//! One pool of memory from a `memfd` is shared by the programs of the process: mapped for writing,
//! then sealed against any further writable mapping, then mapped for execution, near the program's
//! own text so that helpers are called directly.
//!
//! # Invariants
//! 1. No mapping is ever writable and executable; the executable one can never become writable
//!    (`F_SEAL_FUTURE_WRITE`).
//! 2. A range belongs to one [`Image`]; only that writes it, and before anyone runs it.
//! 3. A range is used again only after all threads have synchronised their instruction streams.

#![allow(unsafe_code)]

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::thread::{MembarrierCommand, membarrier};
use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// Size of a pool, bytes. Only pages that hold code take memory.
const POOL_BYTES: usize = 32 << 20;
/// Ranges are multiples of a cache line.
const GRAIN: usize = 64;
/// What a `rel32` reaches, less what the code itself is long.
const REACH: u64 = (1 << 31) - (1 << 20);
/// Filler: `int3`.
const TRAP: u8 = 0xcc;

/// Memory for machine code.
#[derive(Debug)]
pub(crate) struct Pool {
    writable: *mut u8,
    executable: *mut u8,
    len: usize,
    /// Ranges that no image has, in order.
    free: Mutex<Vec<Range<usize>>>,
    /// Where never used memory starts.
    fresh: Mutex<usize>,
}

// SAFETY: the pointers are to mappings that live as long as the pool; writes go to ranges that one
// image owns (invariant 2), the lists are behind locks.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

static POOLS: Mutex<Vec<Arc<Pool>>> = Mutex::new(Vec::new());

impl Pool {
    /// A pool with room for `bytes`, and the addresses that calls from it reach.
    pub(crate) fn with_room(bytes: usize) -> Result<Arc<Pool>, Errno> {
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.iter().find(|pool| pool.has_room(bytes)) {
            return Ok(Arc::clone(pool));
        }
        let pool = Arc::new(Pool::new(POOL_BYTES.max(bytes.next_multiple_of(POOL_BYTES)))?);
        pools.push(Arc::clone(&pool));
        Ok(pool)
    }

    fn has_room(&self, bytes: usize) -> bool {
        let bytes = bytes.next_multiple_of(GRAIN);
        let fresh = *self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        self.len - fresh >= bytes || free.iter().any(|range| range.len() >= bytes)
    }

    fn new(len: usize) -> Result<Pool, Errno> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernels before 6.3 do not know the flag, and need none.
        let file = memfd_create("skep-jit", flags | MemfdFlags::EXEC)
            .or_else(|_| memfd_create("skep-jit", flags))?;
        ftruncate(&file, len as u64)?;
        let writes = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let writable = unsafe { mmap(ptr::null_mut(), len, writes, MapFlags::SHARED, &file, 0)? };
        let seals = SealFlags::FUTURE_WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, seals)?;
        let runs = ProtFlags::READ | ProtFlags::EXEC;
        // SAFETY: a new mapping; the address is a hint, nothing that exists is replaced.
        let executable = unsafe { mmap(hint(len), len, runs, MapFlags::SHARED, &file, 0) };
        let executable = match executable {
            Ok(executable) => executable,
            Err(errno) => {
                // SAFETY: the mapping was made above, and no one has its address.
                unsafe { munmap(writable, len)? };
                return Err(errno);
            }
        };
        // SAFETY: advice on the whole of our own mapping. A child has no use for the code: its
        // threads, counters and maps are the parent's.
        unsafe { madvise(executable, len, Advice::LinuxDontFork)? };
        let register = MembarrierCommand::RegisterPrivateExpeditedSyncCore;
        // A kernel that refuses makes `synchronise` fail, and ranges are not used again.
        let _ = membarrier(register);
        Ok(Pool {
            writable: writable.cast(),
            executable: executable.cast(),
            len,
            free: Mutex::default(),
            fresh: Mutex::new(0),
        })
    }

    /// Addresses that a call from anywhere in the pool reaches.
    pub(crate) fn reach(&self) -> Range<u64> {
        let start = self.executable as u64;
        (start + self.len as u64).saturating_sub(REACH)..start.saturating_add(REACH)
    }

    /// Takes a range.
    fn take(&self, bytes: usize) -> Option<Range<usize>> {
        let bytes = bytes.next_multiple_of(GRAIN);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = free.iter().position(|range| range.len() >= bytes)
            && membarrier(MembarrierCommand::PrivateExpeditedSyncCore).is_ok()
        {
            let range = free[at].start..free[at].start + bytes;
            free[at].start = range.end;
            if free[at].is_empty() {
                free.remove(at);
            }
            return Some(range);
        }
        let mut fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        let range = *fresh..fresh.checked_add(bytes)?;
        if range.end > self.len {
            return None;
        }
        *fresh = range.end;
        Some(range)
    }

    fn give_back(&self, range: Range<usize>) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let at = free.partition_point(|other| other.start < range.start);
        free.insert(at, range);
        if at + 1 < free.len() && free[at].end == free[at + 1].start {
            free[at].end = free[at + 1].end;
            free.remove(at + 1);
        }
        if at > 0 && free[at - 1].end == free[at].start {
            free[at - 1].end = free[at].end;
            free.remove(at);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: both mappings are ours, and every image that points into them holds the pool.
        unsafe {
            let _ = munmap(self.writable.cast(), self.len);
            let _ = munmap(self.executable.cast(), self.len);
        }
    }
}

/// An address not far from this program's own text, so that helpers are within reach of `call`.
fn hint(len: usize) -> *mut c_void {
    let text = hint as *const () as usize;
    let away = 256 << 20;
    let at = text.checked_sub(away + len).filter(|at| *at > 1 << 32).unwrap_or(text + away);
    ptr::without_provenance_mut(at & !((2 << 20) - 1))
}

/// A range of a pool with the code in it.
#[derive(Debug)]
pub(crate) struct Image {
    pool: Arc<Pool>,
    range: Range<usize>,
    len: usize,
}

impl Image {
    /// Takes a range, lets `place` fill in what depends on the address, and writes the code.
    pub(crate) fn new(
        pool: &Arc<Pool>,
        code: &mut [u8],
        place: impl FnOnce(&mut [u8], u64),
    ) -> Option<Image> {
        let range = pool.take(code.len())?;
        let image = Image { pool: Arc::clone(pool), len: code.len(), range };
        place(code, image.address());
        // SAFETY: the range is inside the writable mapping and this image's alone (invariant 2); no
        // one knows its address yet.
        unsafe {
            let to = image.pool.writable.add(image.range.start);
            ptr::copy_nonoverlapping(code.as_ptr(), to, code.len());
            ptr::write_bytes(to.add(code.len()), TRAP, image.range.len() - code.len());
        }
        Some(image)
    }

    /// Where the code can be executed.
    pub(crate) fn address(&self) -> u64 {
        self.pool.executable as u64 + self.range.start as u64
    }

    /// The code.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        // SAFETY: `len` bytes from `range.start` are inside the executable mapping, which is
        // readable; no one writes to it while this crate only reserves patch sites.
        unsafe {
            let from = self.pool.executable.add(self.range.start);
            ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), self.len);
        }
        bytes
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        self.pool.give_back(self.range.clone());
    }
}

/// A mapping of a jitdump file that tells `perf record` of it; no one reads it or runs it.
#[derive(Debug)]
pub struct JitdumpMarker {
    at: *mut c_void,
}

/// `perf` looks for any executable mapping of the file.
const MARKER_BYTES: usize = 4096;

impl JitdumpMarker {
    /// Maps the start of the file.
    ///
    /// # Errors
    ///
    /// If the host does not let it.
    pub fn new(file: &std::fs::File) -> std::io::Result<JitdumpMarker> {
        let runs = ProtFlags::READ | ProtFlags::EXEC;
        // SAFETY: a new private mapping at an address of the kernel's choice; the file holds what
        // this process wrote, and nothing jumps there.
        let at = unsafe { mmap(ptr::null_mut(), MARKER_BYTES, runs, MapFlags::PRIVATE, file, 0)? };
        Ok(JitdumpMarker { at })
    }
}

impl Drop for JitdumpMarker {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no one has its address.
        unsafe {
            let _ = munmap(self.at, MARKER_BYTES);
        }
    }
}
