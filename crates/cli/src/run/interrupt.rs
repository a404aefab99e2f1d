//! Ctrl-C while programs run: the runs end, and their results so far are shown. A second Ctrl-C
//! ends the process immediately.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ASKED: AtomicBool = AtomicBool::new(false);

/// While this exists, SIGINT sets a flag and does not end the process.
#[derive(Debug)]
pub struct Guard {
    before: Option<libc::sigaction>,
}

extern "C" fn note(_: c_int) {
    ASKED.store(true, Relaxed);
}

impl Guard {
    /// Installs the handler. If the host refuses, the signal ends the process as usual.
    #[expect(clippy::new_without_default, reason = "it changes the process")]
    pub fn new() -> Guard {
        ASKED.store(false, Relaxed);
        // SAFETY: all zeros are a valid `sigaction`: no flags, no signal blocked, the default
        // action.
        let (mut ours, mut before): (libc::sigaction, libc::sigaction) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        ours.sa_sigaction = note as extern "C" fn(c_int) as libc::sighandler_t;
        // The next signal has the default action; interrupted system calls are restarted.
        ours.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        // SAFETY: both are complete; the handler only stores to an atomic word.
        let done = unsafe { libc::sigaction(libc::SIGINT, &raw const ours, &raw mut before) };
        Guard { before: (done == 0).then_some(before) }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: the previous action, which is valid.
            unsafe { libc::sigaction(libc::SIGINT, before, std::ptr::null_mut()) };
        }
    }
}

/// Whether the user has interrupted the runs.
pub fn is_asked() -> bool {
    ASKED.load(Relaxed)
}

/// Whether a read of the file would return within this many milliseconds.
pub(super) fn is_readable(fd: RawFd, wait_ms: c_int) -> bool {
    let mut file = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which is valid until the call returns.
    let ready = unsafe { libc::poll(&raw mut file, 1, wait_ms) };
    // A file that cannot be polled reports its error when it is read.
    ready > 0 || (ready < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted)
}
