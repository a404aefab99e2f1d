//! Watches the mappings of the process while a test goes on, again and again: none is ever writable
//! and executable, and memory for code has its two mappings, one of either kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that looks until this ends.
pub(crate) struct Watch {
    done: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Watch {
    pub(crate) fn start() -> Watch {
        let done = Arc::new(AtomicBool::new(false));
        let until = done.clone();
        let thread = std::thread::spawn(move || {
            let mut looks = 0;
            while !until.load(Ordering::Relaxed) {
                no_memory_is_writable_and_executable();
                looks += 1;
                std::thread::sleep(Duration::from_micros(100));
            }
            looks
        });
        Watch { done, thread }
    }

    /// Fails if it ever saw what must not be.
    pub(crate) fn end(self) {
        self.done.store(true, Ordering::Relaxed);
        assert!(self.thread.join().expect("the watcher saw nothing wrong") > 0);
        no_memory_is_writable_and_executable();
    }
}

pub(crate) fn no_memory_is_writable_and_executable() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    for line in maps.lines() {
        let perms = line.split(' ').nth(1).unwrap();
        assert!(!(perms.contains('w') && perms.contains('x')), "{line}");
        // The copy that a child of `fork` makes reads its parent's for a moment.
        let is_alias = ["rw-s", "r-xs", "r--p"].contains(&perms);
        assert!(is_alias || !line.contains("memfd:skep-jit"), "{line}");
    }
}
