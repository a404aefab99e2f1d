//! `Image`: the placed code of one program, and the allocation of ranges in the pools.
//!
//! # Invariants
//! 1. A range belongs to one [`Image`], which writes it before it is run; afterwards only patch
//!    sites change (see `text`).
//! 2. A range is reused only after all threads have synchronised their instruction streams. If the
//!    host does not provide that, it is reused only while no thread runs code, and each thread
//!    serialises its own instruction stream when it begins a run and [`generation`] has changed
//!    ([`reuse_when`]).

#![allow(unsafe_code)]

use crate::answer::Answer;
use crate::pool::{Copied, Pool, Region, memfd_is_refused};
use crate::text::{FlagLine, Text, TextLock};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::{MembarrierCommand, membarrier};
use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Size of a pool, bytes. Only pages with code take memory.
const POOL_BYTES: usize = 32 << 20;
/// Ranges are multiples of a cache line.
const GRAIN: usize = 64;
/// Filler: `int3`.
const TRAP: u8 = 0xcc;

/// All memory for machine code.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    region: Option<Region>,
    pools: Vec<Share>,
}

/// A pool and its free ranges.
#[derive(Debug)]
struct Share {
    pool: Pool,
    /// In order.
    free: Vec<Range<usize>>,
    /// Start of the unused memory.
    fresh: usize,
}

static MEMORY: Mutex<Memory> = Mutex::new(Memory { region: None, pools: Vec::new() });

/// The text lock.
pub(crate) fn lock() -> MutexGuard<'static, Memory> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why the host does not allow patching, if so: it denies sealed `memfd`s, or core-synchronising
/// `membarrier`. Checked once.
pub fn patching_is_refused() -> Option<(&'static str, Errno)> {
    let memfd = memfd_is_refused_here().map(|errno| ("memfd_create", errno));
    memfd.or_else(|| synchronising_is_refused().map(|errno| ("membarrier", errno)))
}

/// Why [`synchronise`] fails on this host, if it does. Checked once, which also registers the
/// process for it.
pub fn synchronising_is_refused() -> Option<Errno> {
    static ANSWER: Answer = Answer::unknown();
    ANSWER.get(|| {
        let registered = membarrier(MembarrierCommand::RegisterPrivateExpeditedSyncCore);
        registered.and_then(|()| synchronise()).err()
    })
}

/// Returns once all threads of the process have serialised their instruction streams.
///
/// # Errors
///
/// The host refuses.
pub fn synchronise() -> Result<(), Errno> {
    membarrier(MembarrierCommand::PrivateExpeditedSyncCore)
}

/// Incremented before code is placed in reused memory, on a host that does not allow
/// [`synchronise`]. A thread that begins to run code and has not seen the value yet serialises its
/// own instruction stream: it announces the run, executes a fence, then reads the value.
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// On a host that does not allow [`synchronise`], memory is reused if `quiet` says that no thread
/// runs code. The first function set is kept.
///
/// # Safety
///
/// If `quiet` returns true, no thread runs code of this crate, and none can begin to without
/// reading [`generation`] and, if that has changed, serialising. `quiet` executes a fence before it
/// checks: a thread that it does not see running sees the new [`generation`].
pub unsafe fn reuse_when(quiet: fn() -> bool) {
    let _ = QUIET.set(quiet);
}

static QUIET: OnceLock<fn() -> bool> = OnceLock::new();

/// Whether memory of freed code may be reused: no thread has any of it in its pipeline.
fn may_reuse() -> bool {
    if synchronising_is_refused().is_none() {
        return synchronise().is_ok();
    }
    GENERATION.fetch_add(1, Ordering::SeqCst);
    QUIET.get().is_some_and(|quiet| quiet())
}

/// Addresses that a call can reach from any possible position of code.
pub(crate) fn reach() -> Result<Range<u64>, Errno> {
    if crate::fork::is_lost() {
        return Err(Errno::NOMEM);
    }
    let mut memory = lock();
    let region = match memory.region.take() {
        Some(region) => region,
        None => Region::new()?,
    };
    let reach = region.reach();
    memory.region = Some(region);
    Ok(reach)
}

impl Memory {
    /// Before `fork`: a copy of all code, for the child.
    pub(crate) fn copy(&self) -> Result<Vec<Copied>, Errno> {
        self.pools.iter().map(|share| share.pool.copy(share.fresh)).collect()
    }

    /// In a child: puts its copy in place.
    pub(crate) fn adopt(&mut self, copies: Vec<Copied>) -> Result<(), Errno> {
        if self.pools.is_empty() {
            return Ok(());
        }
        // As in the parent, since it is not documented to be inherited.
        let registered = membarrier(MembarrierCommand::RegisterPrivateExpeditedSyncCore);
        if synchronising_is_refused().is_none() {
            registered?;
        }
        let mut pools = self.pools.iter_mut().zip(copies);
        pools.try_for_each(|(share, copy)| share.pool.adopt(copy))
    }

    /// Allocates a range: pool and offset.
    fn take(&mut self, bytes: usize) -> Result<(usize, Range<usize>), Errno> {
        let bytes = bytes.next_multiple_of(GRAIN);
        let used_before = |share: &Share| share.free.iter().position(|free| free.len() >= bytes);
        let found = self.pools.iter().enumerate();
        let found = found.filter_map(|(number, share)| Some((number, used_before(share)?))).next();
        if let Some((number, at)) = found
            && may_reuse()
        {
            let free = &mut self.pools[number].free;
            let range = free[at].start..free[at].start + bytes;
            free[at].start = range.end;
            if free[at].is_empty() {
                free.remove(at);
            }
            return Ok((number, range));
        }
        let has_room = |share: &Share| share.pool.len - share.fresh >= bytes;
        let number = match self.pools.iter().position(has_room) {
            Some(number) => number,
            None => {
                let region = self.region.as_mut().ok_or(Errno::NOMEM)?;
                let len = POOL_BYTES.max(bytes.next_multiple_of(POOL_BYTES));
                let pool = Pool::new(region, len, memfd_is_refused_here().is_none())?;
                crate::fork::watch();
                self.pools.push(Share { pool, free: Vec::new(), fresh: 0 });
                self.pools.len() - 1
            }
        };
        let fresh = &mut self.pools[number].fresh;
        let range = *fresh..*fresh + bytes;
        *fresh = range.end;
        Ok((number, range))
    }

    fn give_back(&mut self, (pool, range): (usize, Range<usize>)) {
        let Some(share) = self.pools.get_mut(pool) else { return };
        let free = &mut share.free;
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

/// The placed code of a program.
#[derive(Debug)]
pub(crate) struct Image {
    text: Arc<Text>,
    /// The pool's index, and the range in it.
    place: (usize, Range<usize>),
}

impl Image {
    /// Allocates memory, lets `place` fill in everything that depends on the address, and writes
    /// the code, which can be patched or has `flags`.
    pub(crate) fn new(
        code: &mut [u8],
        flags: Box<[FlagLine]>,
        place: impl FnOnce(&mut [u8], u64),
    ) -> Result<Image, Errno> {
        let len = code.len() as u32;
        reach()?;
        let mut memory = lock();
        let (number, range) = memory.take(code.len())?;
        let pool = &memory.pools[number].pool;
        // SAFETY: the range is inside both mappings.
        let (writable, executable) =
            unsafe { (pool.writable.add(range.start), pool.executable.add(range.start)) };
        place(code, executable as u64);
        // SAFETY: the range is inside the writable mapping and belongs to this image only
        // (invariant 1); its address is not known to others yet.
        unsafe {
            ptr::copy_nonoverlapping(code.as_ptr(), writable, code.len());
            ptr::write_bytes(writable.add(code.len()), TRAP, range.len() - code.len());
        }
        let text = Text::new((writable, executable as u64), len, flags);
        Ok(Image { text: Arc::new(text), place: (number, range) })
    }

    /// Where the code can be executed.
    pub(crate) fn address(&self) -> u64 {
        self.text.executable
    }

    pub(crate) fn text(&self) -> &Arc<Text> {
        &self.text
    }

    /// The code; zeros if it is lost.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let _no_writer = TextLock::take();
        let mut bytes = vec![0; self.text.len as usize];
        if crate::fork::is_lost() {
            return bytes;
        }
        // SAFETY: the code is readable where it is executable; the lock excludes writers.
        unsafe {
            let from = self.text.executable as *const u8;
            ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len());
        }
        bytes
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let mut memory = lock();
        self.text.freed.store(true, Ordering::Release);
        memory.give_back(self.place.clone());
    }
}

/// Why a `memfd` is denied, if it is. Checked once.
pub(crate) fn memfd_is_refused_here() -> Option<Errno> {
    static ANSWER: Answer = Answer::unknown();
    ANSWER.get(memfd_is_refused)
}

impl Text {
    fn new((writable, executable): (*mut u8, u64), len: u32, flags: Box<[FlagLine]>) -> Text {
        Text { writable, executable, len, freed: AtomicBool::new(false), flags }
    }
}

/// A mapping of a jitdump file, by which `perf record` finds it; it is neither read nor run.
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
    /// The host refuses the mapping.
    pub fn new(file: &std::fs::File) -> std::io::Result<JitdumpMarker> {
        let runs = ProtFlags::READ | ProtFlags::EXEC;
        // SAFETY: a new private mapping at an address chosen by the kernel; the file contains what
        // this process wrote, and nothing jumps there.
        let at = unsafe { mmap(ptr::null_mut(), MARKER_BYTES, runs, MapFlags::PRIVATE, file, 0)? };
        Ok(JitdumpMarker { at })
    }
}

impl Drop for JitdumpMarker {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and its address is not known to others.
        unsafe {
            let _ = munmap(self.at, MARKER_BYTES);
        }
    }
}
