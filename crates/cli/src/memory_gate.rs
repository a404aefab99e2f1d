//! `--mem-limit`: how many programs are verified at once, so that the process stays below a bound.
//!
//! What a verification will take is not known before it is done, but it is bounded by what the
//! kernel's limits allow (a million insns, 8,192 pending branches). So each is let in with a share
//! set aside for it, by the size of the program; what those inside really take shows in the
//! resident set. One is always let in: the verdict comes, however small the limit.

use std::fs;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Set aside for a program of at most so many insns, bytes; the last is for any larger.
const SHARES: [(usize, u64); 3] = [(256, 1 << 20), (4_096, 16 << 20), (usize::MAX, 64 << 20)];
/// What an allocator keeps for a thread after the heaviest programs known.
const THREAD_BYTES: u64 = 96 << 20;
/// The resident set is looked at again after so long.
const PAUSE: Duration = Duration::from_millis(5);
const PAGE_BYTES: u64 = 4_096;

/// Lets programs in.
#[derive(Debug, Default)]
pub(crate) struct MemoryGate {
    limit_bytes: Option<u64>,
    inside: Mutex<Inside>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Inside {
    programs: usize,
    shares_bytes: u64,
}

/// A program that is inside; dropped when it is done.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    gate: &'a MemoryGate,
    share_bytes: u64,
}

impl MemoryGate {
    /// A gate for a process that is to stay below a limit, or an open one.
    pub(crate) fn new(limit_bytes: Option<u64>) -> MemoryGate {
        MemoryGate { limit_bytes, ..MemoryGate::default() }
    }

    /// How many threads at most: each may keep what its largest program took.
    pub(crate) fn threads(&self, wanted: usize) -> usize {
        let bearable = self.limit_bytes.map_or(u64::MAX, |limit| limit / THREAD_BYTES);
        wanted.min(usize::try_from(bearable).unwrap_or(usize::MAX)).max(1)
    }

    /// Bytes of results that may wait for their turn.
    pub(crate) fn waiting_bytes_max(&self) -> usize {
        const UNLIMITED: u64 = 256 << 20;
        let quarter = self.limit_bytes.map_or(UNLIMITED, |limit| limit / 4);
        usize::try_from(quarter).unwrap_or(usize::MAX)
    }

    /// Waits until a program of this size may be verified.
    pub(crate) fn enter(&self, insns: usize) -> Option<Pass<'_>> {
        let limit = self.limit_bytes?;
        let share = SHARES.iter().find(|(most, _)| insns <= *most).map_or(0, |(_, share)| *share);
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        // The shares of those inside may be in the resident set by now: counted twice, never less.
        while inside.programs > 0 && resident_bytes() + inside.shares_bytes + share > limit {
            let waited = self.left.wait_timeout(inside, PAUSE);
            inside = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        inside.programs += 1;
        inside.shares_bytes += share;
        Some(Pass { gate: self, share_bytes: share })
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut inside = self.gate.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.programs -= 1;
        inside.shares_bytes -= self.share_bytes;
        self.gate.left.notify_all();
    }
}

/// What the process has in memory; 0 where that is not told.
fn resident_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * PAGE_BYTES
}

/// `1048576`, `512M`, `2G`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || "not a number of bytes such as 1048576, 512M, 2G".to_owned();
    let shift = match text.chars().last() {
        Some('k' | 'K') => 10,
        Some('m' | 'M') => 20,
        Some('g' | 'G') => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|&bytes| bytes > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_program_is_always_let_in_and_the_next_waits_for_it() {
        let gate = MemoryGate::new(Some(1));
        let first = gate.enter(1 << 20);
        assert_eq!(gate.inside.lock().unwrap().programs, 1);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| drop(gate.enter(1)));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!second.is_finished());
            drop(first);
            second.join().unwrap();
        });
        let inside = gate.inside.lock().unwrap();
        assert_eq!((inside.programs, inside.shares_bytes), (0, 0));
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        assert!(MemoryGate::new(None).enter(usize::MAX).is_none());
        assert_eq!(MemoryGate::new(None).threads(8), 8);
        assert_eq!(MemoryGate::new(Some(200 << 20)).threads(8), 2);
        assert_eq!(MemoryGate::new(Some(1)).threads(8), 1);
        let wide = MemoryGate::new(Some(u64::MAX / 2));
        assert!(wide.enter(1).is_some() && wide.enter(usize::MAX).is_some());
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert_eq!(parse_bytes("512M"), Ok(512 << 20));
        assert_eq!(parse_bytes("2g"), Ok(2 << 30));
        for wrong in ["", "G", "0", "-1", "1T", "99999999999G", "é"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }
}
