//! The protocols between threads, with every order in which their loads and stores can happen
//! (`loom` tries them all): when memory is free (`epoch`), when a direct tail call may be entered
//! (`poke::DirectCalls`), what a batch leaves (`poke::Batch`), what is read of counters (`stats`).
//!
//! Each model is the protocol's steps in small; each has a broken twin, which must be found out. A
//! process-wide `membarrier` is a full fence in every thread wherever it happens to be: here both
//! sides change one word ([`Barrier`]), which loom explores the orders of (it does not of fences),
//! the light side at the place of its compiler fence, or between two fetches of code. Code that is
//! fetched is a relaxed load.

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, fence};
use loom::sync::{Arc, Mutex};
use loom::thread;

fn model(steps: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(steps);
}

/// Whether some order breaks it.
fn breaks(steps: impl Fn() + Send + Sync + 'static) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model(steps))).is_err()
}

/// Whoever comes second sees all that the first did before.
#[derive(Default)]
struct Barrier(AtomicU64);

impl Barrier {
    fn pass(&self) {
        self.0.fetch_add(1, AcqRel);
    }
}

const IDLE: u64 = 0;

/// One thread's slot, and the global epoch.
struct Epoch {
    global: AtomicU64,
    slot: AtomicU64,
    barrier: Barrier,
    /// The broken twin leaves barriers out.
    barriers: bool,
}

impl Epoch {
    fn new(barriers: bool) -> Epoch {
        let (global, slot) = (AtomicU64::new(1), AtomicU64::new(IDLE));
        Epoch { global, slot, barrier: Barrier::default(), barriers }
    }

    fn barrier(&self) {
        if self.barriers {
            self.barrier.pass();
        }
    }

    fn enter(&self) {
        self.slot.store(self.global.load(Acquire), Relaxed);
        self.barrier();
    }

    fn leave(&self) {
        self.slot.store(IDLE, Release);
    }

    /// Whether what was unlinked before is free, as far as one look tells.
    fn is_free(&self) -> bool {
        let tag = self.global.load(Acquire);
        for _ in 0..2 {
            self.global.fetch_add(1, AcqRel);
            self.barrier();
        }
        let now = self.global.load(Acquire);
        let epoch = self.slot.load(Acquire);
        let oldest = if epoch == IDLE { now } else { epoch };
        tag + 1 < oldest
    }
}

/// Two things, one of which is linked; who is in a run reads what it finds, and what is free is
/// written: loom calls both at once a race.
fn unlinked_things_are_kept(barriers: bool) {
    let epoch = Arc::new(Epoch::new(barriers));
    let things = Arc::new([UnsafeCell::new(7u64), UnsafeCell::new(7)]);
    let link = Arc::new(AtomicUsize::new(0));
    let runner = {
        let (epoch, things, link) = (epoch.clone(), things.clone(), link.clone());
        thread::spawn(move || {
            epoch.enter();
            // SAFETY: what the model is about; loom watches.
            things[link.load(Acquire)].with(|thing| assert_eq!(unsafe { *thing }, 7));
            epoch.leave();
        })
    };
    link.store(1, Release);
    if epoch.is_free() {
        // SAFETY: as above.
        things[0].with_mut(|thing| unsafe { *thing = 0 });
    }
    runner.join().unwrap();
}

#[test]
fn what_a_run_may_hold_is_kept() {
    model(|| unlinked_things_are_kept(true));
    assert!(breaks(|| unlinked_things_are_kept(false)));
}

#[derive(Clone, Copy, PartialEq)]
enum Install {
    Right,
    /// The call is open before its target is there.
    FlippedFirst,
    /// Both in one batch.
    OneBarrier,
}

/// A call that is vacant and whose jump goes to what is freed already is filled, then emptied, and
/// what was in the slot is freed, while a run comes by.
fn a_call_is_installed_and_removed(install: Install) {
    let epoch = Arc::new(Epoch::new(true));
    // The target that was freed long ago, and the new one; 7 is code.
    let code = Arc::new([UnsafeCell::new(0u64), UnsafeCell::new(7)]);
    let vacant = Arc::new(AtomicBool::new(true));
    let jump = Arc::new(AtomicUsize::new(0));
    let runner = {
        let (epoch, code) = (epoch.clone(), code.clone());
        let (vacant, jump) = (vacant.clone(), jump.clone());
        thread::spawn(move || {
            epoch.enter();
            if !vacant.load(Relaxed) {
                // Where a barrier of the other side finds this thread.
                epoch.barrier();
                // SAFETY: what the model is about; loom watches.
                code[jump.load(Relaxed)].with(|code| assert_eq!(unsafe { *code }, 7));
            }
            epoch.leave();
        })
    };
    match install {
        Install::Right => {
            jump.store(1, Relaxed);
            epoch.barrier();
            vacant.store(false, Relaxed);
        }
        Install::OneBarrier => {
            jump.store(1, Relaxed);
            vacant.store(false, Relaxed);
        }
        Install::FlippedFirst => {
            vacant.store(false, Relaxed);
            epoch.barrier();
            jump.store(1, Relaxed);
        }
    }
    epoch.barrier();
    vacant.store(true, Relaxed);
    epoch.barrier();
    if epoch.is_free() {
        // SAFETY: as above.
        code[1].with_mut(|code| unsafe { *code = 0 });
    }
    runner.join().unwrap();
}

#[test]
fn a_tail_call_enters_what_is_there() {
    model(|| a_call_is_installed_and_removed(Install::Right));
    assert!(breaks(|| a_call_is_installed_and_removed(Install::FlippedFirst)));
    // Stores in order are enough on x86, where loads of data are in order too; nothing says that of
    // fetches, so there is a barrier.
    assert!(breaks(|| a_call_is_installed_and_removed(Install::OneBarrier)));
}

/// A slot's program is replaced and the old one freed, while a run comes by.
fn a_call_is_retargeted(barrier: bool) {
    let epoch = Arc::new(Epoch::new(true));
    let code = Arc::new([UnsafeCell::new(7u64), UnsafeCell::new(7)]);
    let jump = Arc::new(AtomicUsize::new(0));
    let runner = {
        let (epoch, code, jump) = (epoch.clone(), code.clone(), jump.clone());
        thread::spawn(move || {
            epoch.enter();
            // SAFETY: what the model is about; loom watches.
            code[jump.load(Relaxed)].with(|code| assert_eq!(unsafe { *code }, 7));
            epoch.leave();
        })
    };
    jump.store(1, Relaxed);
    if barrier {
        epoch.barrier();
    }
    // The twin frees without waiting for runs.
    if !barrier || epoch.is_free() {
        // SAFETY: as above.
        code[0].with_mut(|code| unsafe { *code = 0 });
    }
    runner.join().unwrap();
}

#[test]
fn a_tail_call_is_retargeted_to_what_is_there() {
    model(|| a_call_is_retargeted(true));
    assert!(breaks(|| a_call_is_retargeted(false)));
}

/// Two batches want two sites that are off: one of them gets both, the other none. A third thread
/// that looks after a commit sees what was committed.
fn batches_meet(checks_first: bool) {
    let sites = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let lock = Arc::new(Mutex::new(()));
    let committed = Arc::new(AtomicUsize::new(0));
    let commit = |order: [usize; 2]| {
        let (sites, lock, committed) = (sites.clone(), lock.clone(), committed.clone());
        move || {
            let held = lock.lock().unwrap();
            if !checks_first {
                // The twin checks each site when it writes it, and does not hold the lock.
                drop(held);
                for site in order {
                    if sites[site].swap(true, AcqRel) {
                        return;
                    }
                }
                committed.fetch_add(1, AcqRel);
                return;
            }
            if order.iter().all(|site| !sites[*site].load(Relaxed)) {
                order.iter().for_each(|site| sites[*site].store(true, Release));
                committed.fetch_add(1, AcqRel);
            }
            drop(held);
        }
    };
    let other = thread::spawn(commit([1, 0]));
    commit([0, 1])();
    if committed.load(Acquire) > 0 {
        assert!(sites.iter().all(|site| site.load(Relaxed)));
    }
    other.join().unwrap();
    assert_eq!(committed.load(Acquire), 1);
    assert!(sites.iter().all(|site| site.load(Relaxed)));
}

#[test]
fn a_batch_is_all_or_nothing() {
    model(|| batches_meet(true));
    assert!(breaks(|| batches_meet(false)));
}

/// What a thread counts of a program: runs, and of those that are timed number and time, which
/// change together.
#[derive(Default)]
struct Counts {
    taken: AtomicBool,
    runs: AtomicU64,
    timed: AtomicU64,
    ticks: AtomicU64,
    seq: AtomicU64,
}

impl Counts {
    /// A run of 5 ticks, after `before` others: plain stores, as machine code makes them. (It loads
    /// what it adds to; loom would then look at fewer orders.)
    fn run(&self, before: u64) {
        self.runs.store(before + 1, Release);
        self.seq.store(2 * before + 1, Relaxed);
        fence(Release);
        self.timed.store(before + 1, Relaxed);
        self.ticks.store(5 * (before + 1), Relaxed);
        self.seq.store(2 * (before + 1), Release);
    }

    /// Runs, timed runs, ticks; `None` if a run was just ending.
    fn read(&self, checks: bool) -> Option<(u64, u64, u64)> {
        let seq = self.seq.load(Acquire);
        let (timed, ticks) = (self.timed.load(Relaxed), self.ticks.load(Relaxed));
        fence(Acquire);
        let moved = seq % 2 == 1 || self.seq.load(Relaxed) != seq;
        (!checks || !moved).then(|| (self.runs.load(Acquire), timed, ticks))
    }
}

/// A thread counts and ends, another one takes its slot and goes on, a third reads.
fn slots_are_folded(checks: bool, hands_over: bool) {
    let counts = Arc::new(Counts { taken: AtomicBool::new(true), ..Counts::default() });
    let first = {
        let counts = counts.clone();
        thread::spawn(move || {
            counts.run(0);
            counts.taken.store(false, if hands_over { Release } else { Relaxed });
        })
    };
    let second = {
        let counts = counts.clone();
        thread::spawn(move || {
            let order = if hands_over { AcqRel } else { Relaxed };
            let took = counts.taken.compare_exchange(false, true, order, Relaxed).is_ok();
            if took {
                let before = counts.runs.load(Relaxed);
                assert_eq!(before, 1);
                counts.run(before);
            }
            u64::from(took)
        })
    };
    if let Some((runs, timed, ticks)) = counts.read(checks) {
        assert!(ticks == 5 * timed && timed <= runs && runs <= 2);
    }
    first.join().unwrap();
    let all = 1 + second.join().unwrap();
    assert_eq!(counts.read(true), Some((all, all, 5 * all)));
}

#[test]
fn counts_are_whole_and_none_is_lost() {
    model(|| slots_are_folded(true, true));
    assert!(breaks(|| slots_are_folded(false, true)));
    assert!(breaks(|| slots_are_folded(true, false)));
}
