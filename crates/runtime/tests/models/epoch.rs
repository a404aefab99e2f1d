//! `epoch/protocol.rs`: memory that a run may hold is not reused before it ends.

use super::{NO_BARRIERS, REFUSED, breaks, breaks_on, heavy_barrier, model, model_on};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use loom::thread;

/// Those of the models, under the name by which the file knows its own.
mod barriers {
    pub(super) use crate::{heavy_barrier, light_barrier};
}
#[path = "../../../mem/src/epoch/protocol.rs"]
#[expect(dead_code, reason = "the product's file; not all of it is modelled")]
pub(super) mod protocol;

use protocol::{Epochs, IDLE, Slot, crowd};

/// The epochs and the slots of two threads.
pub(super) struct Threads {
    pub(super) epochs: Epochs,
    pub(super) slots: [Slot; 2],
}

impl Threads {
    pub(super) fn new() -> Threads {
        let epochs = Epochs { global: AtomicU64::new(1), oldest: AtomicU64::new(1) };
        let slot = || Slot {
            epoch: AtomicU64::new(IDLE),
            taken: AtomicBool::new(false),
            lone: AtomicBool::new(false),
        };
        Threads { epochs, slots: [slot(), slot()] }
    }

    /// A run in slot `at`.
    pub(super) fn run<T>(&self, at: usize, work: impl FnOnce() -> T) -> T {
        self.slots[at].enter(&self.epochs);
        let result = work();
        self.slots[at].leave();
        result
    }

    /// Whether memory unlinked before is free, according to a single check.
    pub(super) fn is_free_now(&self) -> bool {
        let tag = self.epochs.tag();
        self.epochs.look(|| &self.slots);
        self.epochs.is_free(tag)
    }
}

/// Two objects, one of which is linked. Runs read the object that they find, and a freed object is
/// written: loom reports a race if both happen.
fn unlinked_things_are_kept(runners: usize) {
    let threads = Arc::new(Threads::new());
    let things = Arc::new([UnsafeCell::new(7u64), UnsafeCell::new(7)]);
    let link = Arc::new(AtomicUsize::new(0));
    let runners: Vec<_> = (0..runners)
        .map(|at| {
            let (threads, things, link) = (threads.clone(), things.clone(), link.clone());
            thread::spawn(move || {
                threads.run(at, || {
                    // SAFETY: what the model checks; loom detects races.
                    things[link.load(Acquire)].with(|thing| assert_eq!(unsafe { *thing }, 7));
                });
            })
        })
        .collect();
    link.store(1, Release);
    if threads.is_free_now() {
        // SAFETY: as above.
        things[0].with_mut(|thing| unsafe { *thing = 0 });
    }
    runners.into_iter().for_each(|runner| runner.join().unwrap());
}

#[test]
fn what_a_run_may_hold_is_kept() {
    model(10, || unlinked_things_are_kept(1));
    model(3, || unlinked_things_are_kept(2));
    assert!(breaks_on(NO_BARRIERS, || unlinked_things_are_kept(1)));
}

#[test]
fn nothing_is_free_where_barriers_are_refused() {
    model_on(3, REFUSED, || {
        let threads = Threads::new();
        assert!(!threads.is_free_now());
    });
}

/// The first thread takes a lock with plain stores while it is alone, `sections` times in one run;
/// a second one announces itself, and waits for the current section, not for the run.
fn who_is_alone(sections: usize, waits: bool) {
    let threads = Arc::new(Threads::new());
    let (crowded, lock) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let value = Arc::new(UnsafeCell::new(0u64));
    // SAFETY: what the model checks; loom detects races.
    let add = |value: &UnsafeCell<u64>| value.with_mut(|value| unsafe { *value += 1 });
    let first = {
        let (threads, crowded) = (threads.clone(), crowded.clone());
        let (lock, value) = (lock.clone(), value.clone());
        thread::spawn(move || {
            threads.run(0, || {
                for _ in 0..sections {
                    if threads.slots[0].begin_lone(&crowded) {
                        lock.store(true, Relaxed);
                        add(&value);
                        lock.store(false, Release);
                        threads.slots[0].end_lone();
                    } else if lock.compare_exchange(false, true, Acquire, Relaxed).is_ok() {
                        add(&value);
                        lock.store(false, Release);
                    }
                }
            });
        })
    };
    let alone_no_more = match waits {
        true => crowd(&crowded, &threads.slots, thread::yield_now),
        false => {
            crowded.store(true, Release);
            heavy_barrier()
        }
    };
    if alone_no_more {
        threads.run(1, || {
            if lock.compare_exchange(false, true, Acquire, Relaxed).is_ok() {
                add(&value);
                lock.store(false, Release);
            }
        });
    }
    first.join().unwrap();
}

#[test]
fn who_is_alone_is_so_until_its_section_ends() {
    model(8, || who_is_alone(1, true));
    model(3, || who_is_alone(2, true));
    assert!(breaks(|| who_is_alone(1, false)));
    assert!(breaks_on(NO_BARRIERS, || who_is_alone(1, true)));
}

#[test]
fn nobody_comes_where_barriers_are_refused() {
    model_on(3, REFUSED, || {
        let threads = Threads::new();
        assert!(!crowd(&AtomicBool::new(false), &threads.slots, thread::yield_now));
    });
}
