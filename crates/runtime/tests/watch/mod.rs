//! Watches the mappings of the process during a test: none is ever both writable and executable,
//! and memory for code has exactly two mappings, one of each kind.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that watches until this is dropped.
pub(crate) struct Watch {
    done: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    pub(crate) fn start() -> Watch {
        let done = Arc::new(AtomicBool::new(false));
        let until = done.clone();
        let (looked, first) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                no_memory_is_writable_and_executable();
                // After the first message nobody receives.
                let _ = looked.send(());
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        first.recv().expect("a look");
        Watch { done, thread }
    }

    /// Fails if it ever saw a violation.
    pub(crate) fn end(self) {
        self.done.store(true, Ordering::Relaxed);
        self.thread.join().expect("the watcher saw nothing wrong");
        no_memory_is_writable_and_executable();
    }
}

pub(crate) fn no_memory_is_writable_and_executable() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    for line in maps.lines() {
        let perms = line.split(' ').nth(1).unwrap();
        assert!(!(perms.contains('w') && perms.contains('x')), "{line}");
        let is_alias = ["rw-s", "r-xs"].contains(&perms);
        assert!(is_alias || !line.contains("memfd:skep-jit"), "{line}");
    }
}
