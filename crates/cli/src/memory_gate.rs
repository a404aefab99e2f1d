//! `--mem-limit`: limits how many programs are verified at once and how much memory each may use,
//! so that the process stays below a bound.
//!
//! The bound is on the peak resident set of the whole process. What is resident after reading the
//! kernel's BTF is measured; a reserve is set aside for the kernel's symbols, opened files and
//! allocator overhead, and results that are kept are counted. The rest is shared by the threads,
//! whose number is chosen so that the share is enough for nearly every known program. A
//! verification that needs more is repeated when no other runs, with all the memory left; if that
//! is not enough either, the program has no verdict, which is reported as an error.

use crate::Error;
use crate::flags::InputFlags;
use skep::Verification;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// What is used before the first program differs from run to run by less than this, MiB.
const SPREAD_MIB: u64 = 4;
/// Reserve for memory that is neither measured at the start nor counted.
const RESERVE_BYTES: u64 = 14 << 20;
/// Minimum memory for a verification.
const SHARE_BYTES_MIN: u64 = 4 << 20;
/// Share of each of several threads: enough for all but the heaviest programs.
const SHARE_BYTES: u64 = 32 << 20;
/// Memory of an open file, as a multiple of its size.
const OPEN_FACTOR: u64 = 4;
/// Memory of passes and rewrites per insn, in addition to what the verifier counts.
const INSN_BYTES: u64 = 100;
/// Waiting results may take up to this fraction of the limit, and a log up to half of that.
const WAITING_PART: u64 = 8;

/// What a command keeps of each program, besides a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Nothing long.
    Little,
    /// Logs waiting to be printed.
    Logs,
}

/// Memory of a program besides its verification.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Size {
    /// Of the file that it is in.
    pub(crate) file_bytes: usize,
    pub(crate) insns: usize,
}

impl Size {
    /// The part of a share for the verification; never 0, which would mean no limit.
    fn left_of(self, share_bytes: u64) -> u64 {
        let open_bytes = (self.file_bytes as u64).saturating_mul(OPEN_FACTOR);
        let insn_bytes = self.insns as u64 * INSN_BYTES;
        share_bytes.saturating_sub(open_bytes.saturating_add(insn_bytes)).max(1)
    }
}

/// Lets programs in.
#[derive(Debug)]
pub(crate) struct MemoryGate {
    threads: usize,
    limit: Option<Limit>,
    inside: Mutex<Inside>,
    left: Condvar,
}

/// What there is to share.
#[derive(Debug)]
struct Limit {
    limit_bytes: u64,
    /// Without what is resident and reserved.
    rest_bytes: u64,
    /// Results that stay.
    kept_bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Inside {
    programs: usize,
    /// Programs that run alone, or wait to.
    alone: usize,
}

/// Admission of a program; dropped when it is done.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    gate: &'a MemoryGate,
    /// Limit for its verification; 0 means none.
    pub(crate) bytes_max: u64,
    alone: bool,
}

impl MemoryGate {
    /// A gate for a process with a limit, or an open one. Created after everything that is read
    /// once has been read.
    ///
    /// # Errors
    ///
    /// A limit that leaves no memory for programs.
    pub(crate) fn new(flags: &InputFlags, kept: Kept) -> Result<MemoryGate, Error> {
        let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
        let wanted = flags.jobs.unwrap_or_else(cpus).max(1);
        let Some(limit_bytes) = flags.mem_limit else { return Ok(MemoryGate::open(wanted)) };
        crate::allocator::return_memory_early();
        MemoryGate::limited(limit_bytes, resident_bytes(), wanted, kept)
    }

    fn open(threads: usize) -> MemoryGate {
        MemoryGate { threads, limit: None, inside: Mutex::default(), left: Condvar::new() }
    }

    fn limited(
        limit_bytes: u64,
        there_bytes: u64,
        wanted: usize,
        kept: Kept,
    ) -> Result<MemoryGate, Error> {
        let waiting_bytes = if kept == Kept::Logs { 2 * limit_bytes / WAITING_PART } else { 0 };
        let taken_bytes = there_bytes + RESERVE_BYTES + waiting_bytes;
        let rest_bytes = limit_bytes.saturating_sub(taken_bytes);
        if rest_bytes < SHARE_BYTES_MIN {
            let fixed_bytes = there_bytes + RESERVE_BYTES + SHARE_BYTES_MIN;
            let least = match kept {
                Kept::Little => fixed_bytes,
                Kept::Logs => fixed_bytes / (WAITING_PART - 2) * WAITING_PART,
            };
            return Err(format!(
                "--mem-limit: {limit_bytes} bytes is too small; the minimum here is {}M ({}M are \
                 used before the first program: kernel BTF; less with --btf none)",
                least.div_ceil(1 << 20) + SPREAD_MIB,
                there_bytes.div_ceil(1 << 20),
            )
            .into());
        }
        let threads = usize::try_from(rest_bytes / SHARE_BYTES).unwrap_or(usize::MAX);
        let limit = Limit { limit_bytes, rest_bytes, kept_bytes: AtomicU64::new(0) };
        Ok(MemoryGate { limit: Some(limit), ..MemoryGate::open(threads.clamp(1, wanted)) })
    }

    /// Number of threads: as requested, or as the limit allows.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Maximum size of waiting results.
    pub(crate) fn waiting_bytes_max(&self) -> usize {
        const UNLIMITED: u64 = 256 << 20;
        let part = |limit: &Limit| limit.limit_bytes / WAITING_PART;
        usize::try_from(self.limit.as_ref().map_or(UNLIMITED, part)).unwrap_or(usize::MAX)
    }

    /// Maximum size of a log.
    pub(crate) fn log_bytes(&self, wanted: usize) -> usize {
        wanted.min(self.waiting_bytes_max() / 2)
    }

    /// Counts memory that is kept until the end.
    pub(crate) fn keep(&self, bytes: usize) {
        if let Some(limit) = &self.limit {
            limit.kept_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Whether there is memory to open a file.
    ///
    /// # Errors
    ///
    /// One line.
    pub(crate) fn admits(&self, path: &Path) -> Result<(), Error> {
        let Some(limit) = &self.limit else { return Ok(()) };
        // Errors are left to the reader of the file.
        let bytes = fs::metadata(path).map_or(0, |file| file.len());
        match bytes.saturating_mul(OPEN_FACTOR) > self.share_bytes(limit) {
            true => {
                Err(format!("{}: too large for --mem-limit ({bytes} bytes)", path.display()).into())
            }
            false => Ok(()),
        }
    }

    fn share_bytes(&self, limit: &Limit) -> u64 {
        let rest = limit.rest_bytes.saturating_sub(limit.kept_bytes.load(Ordering::Relaxed));
        rest / self.threads as u64
    }

    /// Admits a program, with its share.
    pub(crate) fn enter(&self, size: Size) -> Pass<'_> {
        let Some(limit) = &self.limit else {
            return Pass { gate: self, bytes_max: 0, alone: false };
        };
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        while inside.alone > 0 {
            inside = self.left.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
        inside.programs += 1;
        let bytes_max = size.left_of(self.share_bytes(limit));
        Pass { gate: self, bytes_max, alone: false }
    }

    /// Waits until no other program is admitted, and admits this one with all the memory left.
    pub(crate) fn enter_alone(&self, size: Size) -> Pass<'_> {
        let Some(limit) = &self.limit else { return self.enter(size) };
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.alone += 1;
        while inside.programs > 0 {
            inside = self.left.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
        inside.programs += 1;
        // The other threads' files are part of the resident set.
        let left = limit.limit_bytes.saturating_sub(resident_bytes() + RESERVE_BYTES);
        let bytes_max = left.max(size.left_of(self.share_bytes(limit)));
        Pass { gate: self, bytes_max, alone: true }
    }
}

impl Pass<'_> {
    /// Whether the program would get more memory if admitted alone.
    pub(crate) fn others_may_be_inside(&self) -> bool {
        self.gate.threads > 1
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.gate.limit.is_none() {
            return;
        }
        let mut inside = self.gate.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.programs -= 1;
        inside.alone -= usize::from(self.alone);
        self.gate.left.notify_all();
    }
}

/// The error for a program that has no verdict because of the limit.
pub fn over_limit(verification: &Verification) -> String {
    let bytes = verification.counts.mem_peak_bytes;
    format!("memory limit: needs at least {bytes} bytes, more than --mem-limit allows")
}

/// Resident memory of this process; 0 if /proc is not available.
fn resident_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MIB: u64 = 1 << 20;

    fn limited(limit: u64, wanted: usize, kept: Kept) -> Result<MemoryGate, Error> {
        MemoryGate::limited(limit * MIB, 16 * MIB, wanted, kept)
    }

    #[test]
    fn who_wants_to_be_alone_waits_for_the_others_and_they_for_him() {
        let gate = limited(200, 2, Kept::Little).unwrap();
        let first = gate.enter(Size::default());
        let share = (200 - 16 - 14) * MIB / 2;
        assert_eq!(first.bytes_max, share);
        std::thread::scope(|scope| {
            let alone = scope.spawn(|| {
                let pass = gate.enter_alone(Size::default());
                assert!(pass.bytes_max >= share);
                std::thread::sleep(Duration::from_millis(20));
                assert_eq!(gate.inside.lock().unwrap().programs, 1);
            });
            std::thread::sleep(Duration::from_millis(20));
            assert!(!alone.is_finished());
            let next = scope.spawn(|| drop(gate.enter(Size::default())));
            std::thread::sleep(Duration::from_millis(5));
            assert!(!next.is_finished());
            drop(first);
        });
        let inside = gate.inside.lock().unwrap();
        assert_eq!((inside.programs, inside.alone), (0, 0));
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        let gate = MemoryGate::open(8);
        let passes: Vec<_> = (0..8).map(|_| gate.enter(Size::default())).collect();
        assert!(passes.iter().all(|pass| pass.bytes_max == 0));
        assert_eq!(gate.threads(), 8);
    }

    #[test]
    fn the_limit_decides_on_threads_and_shares() {
        assert_eq!(limited(64, 8, Kept::Little).unwrap().threads(), 1);
        assert_eq!(limited(100, 8, Kept::Little).unwrap().threads(), 2);
        assert_eq!(limited(1000, 8, Kept::Little).unwrap().threads(), 8);
        let gate = limited(64, 1, Kept::Little).unwrap();
        gate.keep(8 << 20);
        assert_eq!(gate.enter(Size::default()).bytes_max, 26 * MIB);
        let size = Size { file_bytes: 1 << 20, insns: 0 };
        assert_eq!(gate.enter(size).bytes_max, 22 * MIB);
        assert_eq!(gate.enter(Size { insns: 1 << 20, ..size }).bytes_max, 1);
        let wide = MemoryGate::limited(u64::MAX / 2, 0, 2, Kept::Logs).unwrap();
        assert!(wide.enter(Size::default()).bytes_max > 1 << 40);
    }

    #[test]
    fn a_limit_that_leaves_nothing_is_an_error_that_names_the_least_that_works() {
        for kept in [Kept::Little, Kept::Logs] {
            let error = limited(20, 2, kept).unwrap_err().to_string();
            let least = error.split("minimum here is ").nth(1).unwrap().split('M').next().unwrap();
            let least: u64 = least.parse().unwrap();
            assert!(limited(least, 2, kept).is_ok(), "{error}");
            assert!(limited(least - SPREAD_MIB - 2, 2, kept).is_err(), "{error}");
        }
    }
}
