//! Ctrl-C while programs run: the runs end, and what was done is shown. A second one ends the
//! process, as it would have done at once.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ASKED: AtomicBool = AtomicBool::new(false);

/// While this lives, SIGINT is noted and ends nothing.
#[derive(Debug)]
pub struct Guard {
    before: Option<libc::sigaction>,
}

extern "C" fn note(_: c_int) {
    ASKED.store(true, Relaxed);
}

impl Guard {
    /// From now on. Where the host refuses, the signal ends the process as always.
    #[expect(clippy::new_without_default, reason = "it changes the process")]
    pub fn new() -> Guard {
        ASKED.store(false, Relaxed);
        // SAFETY: all zeros are a `sigaction`: no flags, no signal blocked, the default action.
        let (mut ours, mut before): (libc::sigaction, libc::sigaction) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        ours.sa_sigaction = note as extern "C" fn(c_int) as libc::sighandler_t;
        // The next one finds the default action; what waits goes on waiting.
        ours.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        // SAFETY: both are whole; the handler only stores to an atomic word.
        let done = unsafe { libc::sigaction(libc::SIGINT, &raw const ours, &raw mut before) };
        Guard { before: (done == 0).then_some(before) }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: what was there before.
            unsafe { libc::sigaction(libc::SIGINT, before, std::ptr::null_mut()) };
        }
    }
}

/// Whether the user wants the runs to end.
pub fn is_asked() -> bool {
    ASKED.load(Relaxed)
}

/// Whether a read of the file would not wait, now or in so many milliseconds.
pub(super) fn is_readable(fd: RawFd, wait_ms: c_int) -> bool {
    let mut file = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which is there until the call returns.
    let ready = unsafe { libc::poll(&raw mut file, 1, wait_ms) };
    // A file that cannot be waited for says so when it is read.
    ready > 0 || (ready < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted)
}
