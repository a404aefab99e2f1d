//! `stats/counts.rs`: what is read from slots is consistent, and counted once, while threads exit;
//! `stats/slot_registry.rs`: nothing is lost or counted twice in a child of `fork`, either;
//! `stats/rate.rs`: a run picked at a rate has the weight of that rate.

use super::{breaks, model};
use loom::sync::atomic;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicBool, AtomicU64};
use loom::sync::{Arc, Mutex};
use loom::thread;

#[path = "../../src/stats/counts.rs"]
mod counts;
#[path = "../../../jit/src/stats/rate.rs"]
#[expect(unreachable_pub, reason = "the product's file")]
mod rate;
#[path = "../../../jit/src/stats/slot.rs"]
#[expect(unreachable_pub, reason = "the product's file")]
mod slot;
#[path = "../../src/stats/slot_registry.rs"]
#[expect(dead_code, reason = "the product's file; not all of it is modelled")]
mod slot_registry;

use counts::{Counts, add_timed};
use rate::Rate;
use slot::StatsSlot;
use slot_registry::{SlotRegistry, Slots};
use std::cell::Cell;
use std::num::NonZeroU32;

/// A smaller histogram: loom tracks every word.
const BUCKETS: usize = 2;

fn pause(_turns: &mut u32) {
    thread::yield_now();
}

/// One slot of one program, and the folded counts of exited threads.
struct ProgSlot {
    slot: StatsSlot,
    taken: AtomicBool,
    folded: Mutex<Counts>,
    /// Runs that have ended.
    ran: AtomicU64,
}

impl ProgSlot {
    fn new(taken: bool) -> Arc<ProgSlot> {
        let (folded, taken) = (Mutex::new(Counts::ZERO), AtomicBool::new(taken));
        Arc::new(ProgSlot { slot: StatsSlot::default(), taken, folded, ran: AtomicU64::new(0) })
    }

    /// A timed run of 5 ticks, as the interpreter and machine code count it.
    fn run(&self) {
        let number = self.slot.run_cnt.load(Relaxed) + 1;
        self.slot.run_cnt.store(number, Relaxed);
        add_timed(&self.slot, 5, Some(0), 1);
    }

    /// The thread of the slot exits.
    fn end(&self, hands_over: bool) {
        self.folded.lock().unwrap().fold(&self.slot);
        self.taken.store(false, if hands_over { Release } else { Relaxed });
    }

    fn read(&self) -> Counts {
        let folded = self.folded.lock().unwrap();
        let mut sum = folded.clone();
        sum.add(&self.slot);
        sum
    }
}

fn exactly(runs: u64) -> Counts {
    let (ticks, buckets) = (5 * runs, [runs, 0]);
    Counts { runs, ticks, timed: runs, buckets, bucket_ticks: ticks, ..Counts::ZERO }
}

/// A thread runs twice while another reads.
fn counts_are_whole(checks: bool) {
    let program = ProgSlot::new(true);
    let reader = {
        let program = program.clone();
        thread::spawn(move || {
            let seen = match checks {
                true => program.read(),
                // The incorrect variant ignores the sequence.
                false => {
                    let [ticks, timed] = [&program.slot.ticks, &program.slot.timed_cnt];
                    Counts { ticks: ticks.load(Relaxed), timed: timed.load(Relaxed), ..exactly(2) }
                }
            };
            assert_eq!(seen.ticks, 5 * seen.timed);
            assert!(seen.timed <= seen.runs && seen.runs <= 2);
        })
    };
    (0..2).for_each(|_| program.run());
    reader.join().unwrap();
    assert_eq!(program.read(), exactly(2));
}

#[test]
fn counts_are_read_whole() {
    model(3, || counts_are_whole(true));
    assert!(breaks(|| counts_are_whole(false)));
}

#[test]
#[ignore = "takes over a minute: for changes of the counts (cargo test -p skep-runtime --test models -- --ignored)"]
fn counts_are_read_whole_with_four_preemptions() {
    model(4, || counts_are_whole(true));
}

#[derive(Clone, Copy, PartialEq)]
enum Reader {
    Right,
    /// Reads the slot after it has unlocked the folded counts.
    FoldedFirst,
    /// Reads the slot first.
    SlotFirst,
}

/// A thread runs and exits while another reads: the run is counted once it has ended, and only
/// once.
fn a_slot_is_folded(reader: Reader) {
    let program = ProgSlot::new(true);
    let runner = {
        let program = program.clone();
        thread::spawn(move || {
            program.run();
            program.ran.store(1, Release);
            program.end(true);
        })
    };
    let ran = program.ran.load(Acquire);
    let seen = match reader {
        Reader::Right => program.read(),
        Reader::FoldedFirst => {
            let mut sum = program.folded.lock().unwrap().clone();
            sum.add(&program.slot);
            sum
        }
        Reader::SlotFirst => {
            let mut sum = Counts::ZERO;
            sum.add(&program.slot);
            let folded = program.folded.lock().unwrap();
            sum.runs += folded.runs;
            sum
        }
    };
    assert!(ran <= seen.runs && seen.runs <= 1, "{ran} {seen:?}");
    runner.join().unwrap();
    assert_eq!(program.read(), exactly(1));
}

#[test]
fn a_run_is_in_its_slot_or_folded() {
    model(6, || a_slot_is_folded(Reader::Right));
    assert!(breaks(|| a_slot_is_folded(Reader::FoldedFirst)));
    assert!(breaks(|| a_slot_is_folded(Reader::SlotFirst)));
}

/// A thread exits, and another takes its slot; the counts of both are complete.
fn a_slot_is_handed_over(hands_over: bool) {
    let program = ProgSlot::new(true);
    program.run();
    let first = {
        let program = program.clone();
        thread::spawn(move || program.end(hands_over))
    };
    let order = if hands_over { AcqRel } else { Relaxed };
    let took = program.taken.compare_exchange(false, true, order, Relaxed).is_ok();
    if took {
        program.run();
        assert_eq!(program.read(), exactly(2));
    }
    first.join().unwrap();
    assert_eq!(program.read(), exactly(1 + u64::from(took)));
}

#[test]
fn a_slot_starts_anew_with_its_next_thread() {
    model(8, || a_slot_is_handed_over(true));
    assert!(breaks(|| a_slot_is_handed_over(false)));
}

/// A child of `fork` finds the slot of a thread that does not exist in it, in any state.
#[test]
fn a_child_folds_what_others_were_writing() {
    model(3, || {
        for (seq, ticks) in [(0, 0), (1, 0), (1, 5), (2, 5)] {
            let program = ProgSlot::new(true);
            program.slot.run_cnt.store(1, Relaxed);
            program.slot.seq.store(seq, Relaxed);
            program.slot.ticks.store(ticks, Relaxed);
            counts::settle(&program.slot);
            program.folded.lock().unwrap().fold(&program.slot);
            assert_eq!(program.read(), Counts { runs: 1, ticks, ..Counts::ZERO });
            program.run();
            assert_eq!(program.read().runs, 2);
        }
    });
}

thread_local! {
    /// Whether slots are being copied by `fork`. All of loom's threads run on this thread.
    static FORKS: Cell<bool> = const { Cell::new(false) };
}

/// The slots of two threads.
struct Memory(Arc<[StatsSlot; 2]>);

impl Clone for Memory {
    /// The same slots; for a child, each word has its current or an earlier value, while other
    /// threads continue.
    fn clone(&self) -> Memory {
        if !FORKS.get() {
            return Memory(self.0.clone());
        }
        let copies = [StatsSlot::default(), StatsSlot::default()];
        for (slot, copy) in self.0.iter().zip(&copies) {
            let words = [
                (&slot.run_cnt, &copy.run_cnt),
                (&slot.folded_cnt, &copy.folded_cnt),
                (&slot.ticks, &copy.ticks),
                (&slot.timed_cnt, &copy.timed_cnt),
                (&slot.bucket_ticks, &copy.bucket_ticks),
                (&slot.buckets.0[0], &copy.buckets.0[0]),
            ];
            words.into_iter().for_each(|(from, to)| to.store(from.load(Relaxed), Relaxed));
            copy.seq.store(slot.seq.load(Relaxed), Relaxed);
        }
        Memory(Arc::new(copies))
    }
}

impl Slots for Memory {
    fn all(&self) -> &[StatsSlot] {
        &self.0[..]
    }
}

/// The registry in a child.
fn forked(registry: &SlotRegistry<Memory>) -> SlotRegistry<Memory> {
    FORKS.set(true);
    let child = registry.clone();
    FORKS.set(false);
    child
}

/// A thread runs and exits, and its counts are folded, while another forks: a run that had ended is
/// counted in the child, consistently and once, and in the parent.
fn a_process_forks(holds: bool) {
    let slots = Memory(Arc::new([StatsSlot::default(), StatsSlot::default()]));
    let mut registry = SlotRegistry::new();
    registry.open(0, &slots);
    let (registry, ran) = (Arc::new(Mutex::new(registry)), Arc::new(AtomicU64::new(0)));
    let runner = {
        let (registry, ran) = (registry.clone(), ran.clone());
        thread::spawn(move || {
            slots.0[1].run_cnt.store(1, Relaxed);
            add_timed(&slots.0[1], 5, Some(0), 1);
            ran.store(1, Release);
            registry.lock().unwrap().fold(1);
        })
    };
    let held = registry.lock().unwrap();
    let has_run = ran.load(Acquire) == 1;
    let mut child = if holds {
        let child = forked(&held);
        drop(held);
        child
    } else {
        // The incorrect variant unlocks before everything has been copied.
        let seen = held.clone();
        drop(held);
        forked(&seen)
    };
    child.fold_others(0, 2);
    let seen = child.read(0, 2);
    assert!(seen.runs <= 1 && (!has_run || seen == exactly(1)), "{seen:?}");
    runner.join().unwrap();
    assert_eq!(registry.lock().unwrap().read(0, 2), exactly(1));
}

#[test]
fn a_child_has_what_was_counted_before() {
    model(4, || a_process_forks(true));
    assert!(breaks(|| a_process_forks(false)));
}

/// The rate changes from every run to one in four, or back, while a run begins that is not one of
/// the four: it is timed with weight 1, or not at all.
fn a_run_is_weighed_at_its_rate(from: u32, to: u32, is_one_word: bool) {
    const NUMBER: u64 = 1;
    let sample = move |n: u32| NonZeroU32::new(n).unwrap();
    let (rates, words) = (Arc::new([Rate::default(), Rate::default()]), usize::from(!is_one_word));
    // The incorrect variant has threshold and weight in separate words.
    let set = move |rates: &[Rate; 2], n: u32| (0..=words).for_each(|at| rates[at].set(sample(n)));
    set(&rates, from);
    let changer = {
        let rates = rates.clone();
        thread::spawn(move || set(&rates, to))
    };
    let picked = rates[0].weight(NUMBER);
    let weight = match is_one_word {
        true => picked,
        // Number 0 is picked at every rate.
        false => picked.and_then(|_| rates[1].weight(0)),
    };
    assert!(weight.is_none_or(|weight| weight == 1), "{weight:?}");
    changer.join().unwrap();
}

#[test]
fn a_run_is_weighed_at_the_rate_that_it_was_picked_at() {
    for (from, to) in [(1, 4), (4, 1)] {
        model(6, move || a_run_is_weighed_at_its_rate(from, to, true));
        assert!(breaks(move || a_run_is_weighed_at_its_rate(from, to, false)));
    }
}
