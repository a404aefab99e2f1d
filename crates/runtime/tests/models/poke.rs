//! `poke/batch.rs`, `poke/direct.rs` `edit.rs`: what a batch leaves, when a tail call
//! may be entered; and the order in which `stats/requests.rs` switches.

use super::epoch::Threads;
use super::{Fetched, NO_BARRIERS, REFUSED, breaks, breaks_on, model, model_on};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic;
use loom::sync::atomic::Ordering::{Acquire, Release};
use loom::sync::atomic::{AtomicU64, AtomicUsize};
use loom::thread;

#[path = "../../../text/src/poke/batch.rs"]
#[expect(dead_code, unreachable_pub, reason = "the product's file; not all of it is modelled")]
mod batch;
#[path = "../../../text/src/poke/direct.rs"]
#[expect(unreachable_pub, reason = "the product's file")]
mod direct;
#[path = "../../../text/src/edit.rs"]
#[expect(unreachable_pub, reason = "the product's file")]
mod edit;
#[path = "../../../jit/src/sites.rs"]
#[expect(dead_code, unreachable_pub, reason = "the product's file; not all of it is modelled")]
mod sites;
mod text;

use batch::{Batch, Error};
use direct::DirectCalls;
use edit::{EditError, Edits};
use sites::SwitchSite;
use text::{Jump, MachineCode, Switch, TailCall, Target, TextLock, synchronise};

fn is_on(word: u32) -> bool {
    word == u32::from(SwitchSite::ON)
}

/// Two batches change the same two sites, which are off: one batch changes both, the other none.
fn batches_meet(in_one: bool) {
    let sites = Arc::new([Switch::new(false), Switch::new(false)]);
    let wins = Arc::new(AtomicUsize::new(0));
    let commit = |order: [usize; 2]| {
        let (sites, wins) = (sites.clone(), wins.clone());
        move || {
            let mut batch = Batch::new();
            batch.add_from(&sites[order[0]], false, true);
            if !in_one {
                // The incorrect variant uses two batches.
                if batch.commit().is_err() {
                    return;
                }
                batch = Batch::new();
            }
            batch.add_from(&sites[order[1]], false, true);
            match batch.commit() {
                Ok(()) => {
                    wins.fetch_add(1, Release);
                    assert!(sites.iter().all(|site| is_on(site.word())));
                }
                Err(why) => assert!(matches!(why, Error::Edit(EditError::Stale { .. }))),
            }
        }
    };
    let other = thread::spawn(commit([1, 0]));
    commit([0, 1])();
    other.join().unwrap();
    assert_eq!(wins.load(Acquire), 1);
    assert!(sites.iter().all(|site| is_on(site.word())));
}

#[test]
fn a_batch_is_all_or_nothing() {
    model(10, || batches_meet(true));
    assert!(breaks(|| batches_meet(false)));
}

/// The process forks while a batch of two sites is committed: the child's copy of the code has both
/// changes or none.
fn code_is_copied(holds: bool) {
    let sites = Arc::new([Switch::new(false), Switch::new(false)]);
    let committer = {
        let sites = sites.clone();
        thread::spawn(move || {
            let mut batch = Batch::new();
            sites.iter().for_each(|site| batch.add(site, true));
            batch.commit().unwrap();
        })
    };
    let held = holds.then(TextLock::take);
    // The kernel copies one page now and the other later.
    let copy = [1, 0].map(|at: usize| {
        thread::yield_now();
        sites[at].word()
    });
    drop(held);
    assert_eq!(copy[0], copy[1]);
    committer.join().unwrap();
}

#[test]
fn a_child_has_all_of_a_batch_or_nothing() {
    model(10, || code_is_copied(true));
    assert!(breaks(|| code_is_copied(false)));
}

/// A processor that has fetched a site at any earlier time executes its old or current state, and
/// only the current one after `commit` has returned; also if another thread had changed it already,
/// without waiting.
fn a_commit_is_seen(is_changed_already: bool) {
    let site = Arc::new(Switch::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let other = is_changed_already.then(|| {
        let site = site.clone();
        thread::spawn(move || {
            let mut batch = Batch::new();
            batch.add(&site, true);
            batch.commit_nowait().unwrap();
        })
    });
    let committer = {
        let (site, done) = (site.clone(), done.clone());
        thread::spawn(move || {
            let mut batch = Batch::new();
            batch.add(&site, true);
            batch.commit().unwrap();
            done.store(1, Release);
        })
    };
    let fetched = Fetched::new(site.text.site());
    let is_done = done.load(Acquire) == 1;
    let ran = fetched.execute(site.text.site());
    assert!(is_on(ran) || !is_done);
    committer.join().unwrap();
    other.into_iter().for_each(|other| other.join().unwrap());
}

#[test]
fn nothing_is_stale_after_commit() {
    model(10, || a_commit_is_seen(false));
    assert!(breaks_on(NO_BARRIERS, || a_commit_is_seen(false)));
    // Nothing is left to change, but a barrier is needed all the same.
    model(5, || a_commit_is_seen(true));
    assert!(breaks_on(NO_BARRIERS, || a_commit_is_seen(true)));
}

/// If the barrier is refused, sites keep their state, whoever else changes them.
fn a_commit_is_taken_back() {
    let sites = Arc::new([Switch::new(false), Switch::new(true)]);
    let other = {
        let sites = sites.clone();
        thread::spawn(move || {
            let mut batch = Batch::new();
            batch.add_from(&sites[0], false, true);
            batch.add_from(&sites[1], true, false);
            batch.commit_nowait()
        })
    };
    let mut batch = Batch::new();
    batch.add(&sites[0], true);
    batch.add(&sites[1], false);
    assert!(matches!(batch.commit(), Err(Error::Barrier(_))));
    // The other thread's changes are made before or after, and not reverted with these.
    assert_eq!(other.join().unwrap(), Ok(()));
    assert_eq!([0, 1].map(|at: usize| is_on(sites[at].word())), [true, false]);
}

#[test]
fn a_commit_that_is_refused_changes_nothing() {
    model_on(8, REFUSED, || {
        let site = Switch::new(false);
        let mut batch = Batch::new();
        batch.add(&site, true);
        assert!(matches!(batch.commit(), Err(Error::Barrier(_))));
        assert!(!is_on(site.word()));
    });
    model_on(8, REFUSED, a_commit_is_taken_back);
}

#[derive(Clone, Copy, PartialEq)]
enum Install {
    Right,
    /// The call is enabled before its target is set.
    FlippedFirst,
    /// Both in one batch.
    OneBatch,
}

/// Code that is written when freed: loom reports a race if it is executed then.
struct Programs {
    code: [UnsafeCell<u64>; 2],
    targets: [Target; 2],
}

impl Programs {
    fn new() -> Programs {
        Programs { code: [UnsafeCell::new(7), UnsafeCell::new(7)], targets: Target::two() }
    }

    fn run(&self, target: usize) {
        // SAFETY: what the models check; loom detects races.
        self.code[target].with(|code| assert_eq!(unsafe { *code }, 7));
    }

    fn free(&self, target: usize) {
        // SAFETY: as above.
        self.code[target].with_mut(|code| unsafe { *code = 0 });
    }
}

/// A caller with a direct call through slot 0.
struct Called {
    threads: Threads,
    programs: Programs,
    code: MachineCode,
}

impl Called {
    /// The call is disabled; its jump goes to program 0.
    fn new(vacant: bool) -> Called {
        let programs = Programs::new();
        let code = MachineCode::new(Switch::new(vacant), Jump::to(&programs.targets[0]));
        Called { threads: Threads::new(), programs, code }
    }

    /// A run, on a processor that has fetched its code at any earlier time.
    fn run(&self) {
        self.threads.run(0, || {
            let (vacant, jump) = (self.code.vacant.text.site(), self.code.jump.text.site());
            let (first, second) = (Fetched::new(vacant), Fetched::new(jump));
            if !is_on(first.execute(vacant)) {
                let word = second.execute(jump);
                let target = self.code.jump.target(word, &self.programs.targets);
                self.programs.run(target);
            }
        });
    }

    fn calls(&self) -> DirectCalls {
        let mut calls = DirectCalls::default();
        // SAFETY: a model: it has no code.
        unsafe { calls.add(&self.code, |_| true, |_| None) }.unwrap();
        calls
    }
}

/// A disabled call whose jump goes to a freed program is enabled, then disabled, and the program of
/// the slot is freed, during a run.
fn a_call_is_installed_and_removed(install: Install) {
    let called = Arc::new(Called::new(true));
    called.programs.free(0);
    let runner = {
        let called = called.clone();
        thread::spawn(move || called.run())
    };
    let (calls, target) = (called.calls(), &called.programs.targets[1]);
    let mut flip = Batch::new();
    flip.add(&called.code.vacant, false);
    let mut send = Batch::new();
    send.retarget(&called.code.jump, target);
    match install {
        // SAFETY: as above.
        Install::Right => unsafe { calls.point(0, false, Some(target)) }.unwrap(),
        Install::OneBatch => {
            flip.retarget(&called.code.jump, target);
            flip.commit().unwrap();
        }
        Install::FlippedFirst => {
            flip.commit().unwrap();
            send.commit().unwrap();
        }
    }
    // SAFETY: as above.
    unsafe { calls.point(0, true, None) }.unwrap();
    if called.threads.is_free_now() {
        called.programs.free(1);
    }
    runner.join().unwrap();
}

#[test]
fn a_tail_call_enters_what_is_there() {
    model(6, || a_call_is_installed_and_removed(Install::Right));
    assert!(breaks(|| a_call_is_installed_and_removed(Install::FlippedFirst)));
    assert!(breaks(|| a_call_is_installed_and_removed(Install::OneBatch)));
    assert!(breaks_on(NO_BARRIERS, || a_call_is_installed_and_removed(Install::Right)));
}

/// The program of a slot is replaced and the old one freed, during a run.
fn a_call_is_retargeted(waits: bool) {
    let called = Arc::new(Called::new(false));
    let runner = {
        let called = called.clone();
        thread::spawn(move || called.run())
    };
    let calls = called.calls();
    // SAFETY: as above.
    unsafe { calls.point(0, true, Some(&called.programs.targets[1])) }.unwrap();
    // The incorrect variant frees it without waiting for runs.
    if !waits || called.threads.is_free_now() {
        called.programs.free(0);
    }
    runner.join().unwrap();
}

#[test]
fn a_tail_call_is_retargeted_to_what_is_there() {
    model(7, || a_call_is_retargeted(true));
    assert!(breaks(|| a_call_is_retargeted(false)));
    assert!(breaks_on(NO_BARRIERS, || a_call_is_retargeted(true)));
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// `StatsRequests`: tail calls on, entry on; entry off, runs end, tail calls off.
    Right,
    EntryFirst,
    /// Tail calls off without waiting.
    AtOnce,
}

/// Statistics are switched on and off during a run: if it is counted at its entry, the site at its
/// tail call is on, which ends its time.
fn statistics_are_switched(order: Order) {
    let threads = Arc::new(Threads::new());
    let sites = Arc::new([Switch::new(false), Switch::new(false)]);
    let runner = {
        let (threads, sites) = (threads.clone(), sites.clone());
        thread::spawn(move || {
            threads.run(0, || {
                let [entry, tail_call] = [0, 1].map(|at: usize| sites[at].text.site());
                let (first, second) = (Fetched::new(entry), Fetched::new(tail_call));
                let is_counted = is_on(first.execute(entry));
                assert!(!is_counted || is_on(second.execute(tail_call)));
            });
        })
    };
    let turn = |at: usize, on: bool| {
        let mut batch = Batch::new();
        batch.add(&sites[at], on);
        batch
    };
    let switched_on = if order == Order::EntryFirst { [0, 1] } else { [1, 0] };
    switched_on.into_iter().for_each(|at| turn(at, true).commit().unwrap());
    turn(0, false).commit().unwrap();
    if order == Order::AtOnce || threads.is_free_now() {
        turn(1, false).commit_nowait().unwrap();
    }
    runner.join().unwrap();
}

#[test]
fn a_run_that_is_counted_can_end_at_its_tail_call() {
    model(6, || statistics_are_switched(Order::Right));
    assert!(breaks(|| statistics_are_switched(Order::EntryFirst)));
    assert!(breaks(|| statistics_are_switched(Order::AtOnce)));
    assert!(breaks_on(NO_BARRIERS, || statistics_are_switched(Order::Right)));
}
