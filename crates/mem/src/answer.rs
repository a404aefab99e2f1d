//! `Answer`: a cached property of the host, determined once.

use rustix::io::Errno;
use std::sync::atomic::{AtomicI32, Ordering};

/// Whether the host refuses something. Threads that do not know yet ask, each by itself, and the
/// first to know sets it: nobody waits for another thread, which a child of `fork` may not have.
#[derive(Debug)]
pub struct Answer(AtomicI32);

const UNKNOWN: i32 = -1;
const ALLOWED: i32 = 0;

impl Answer {
    /// The host has not been asked yet.
    pub const fn unknown() -> Answer {
        Answer(AtomicI32::new(UNKNOWN))
    }

    /// The error, if the host refuses.
    pub fn get(&self, ask: impl FnOnce() -> Option<Errno>) -> Option<Errno> {
        let mut known = self.0.load(Ordering::Acquire);
        if known == UNKNOWN {
            let mine = ask().map_or(ALLOWED, Errno::raw_os_error);
            let (set, read) = (Ordering::AcqRel, Ordering::Acquire);
            known = self.0.compare_exchange(UNKNOWN, mine, set, read).err().unwrap_or(mine);
        }
        (known != ALLOWED).then(|| Errno::from_raw_os_error(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_answer_stays() {
        let (yes, no) = (Answer::unknown(), Answer::unknown());
        assert_eq!((yes.get(|| None), yes.get(|| Some(Errno::PERM))), (None, None));
        assert_eq!(no.get(|| Some(Errno::NOSYS)), Some(Errno::NOSYS));
        assert_eq!(no.get(|| None), Some(Errno::NOSYS));
        let late = Answer::unknown();
        assert_eq!(late.get(|| late.get(|| Some(Errno::PERM)).and(None)), Some(Errno::PERM));
    }
}
