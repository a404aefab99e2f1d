//! Runs that count and time themselves: what is in a slot after runs of every kind.

use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use skep_jit::stats::{StatsControl, StatsLink, StatsSlot};
use skep_jit::{Linkage, Passes, PokeMode, Prologue, RunEnv, Tuning};
use skep_mem::thread_word;
use skep_text::compile;
use skep_text::{Edits, MachineCode, TextLock};
use skep_verifier::Xlated;
use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(1000) };
    static STEP: Cell<u64> = const { Cell::new(7) };
}

/// A clock that goes on by `STEP` each time it is looked at.
extern "C" fn clock() -> u64 {
    let now = NOW.get();
    NOW.set(now.wrapping_add(STEP.get()));
    now
}

extern "C" fn timed(slot: &StatsSlot, _: &StatsControl, elapsed: u64, weight: u64, now: u64) {
    assert_eq!(now, NOW.get() - STEP.get());
    slot.ticks.fetch_add(elapsed * weight, Relaxed);
    slot.timed_cnt.fetch_add(1, Relaxed);
    slot.buckets.0[elapsed.ilog2() as usize].fetch_add(weight, Relaxed);
}

/// The prog array is one word, whose address is the map's handle.
extern "C" fn lookup(word: &AtomicU64, index: u32) -> u64 {
    if index == 0 { word.load(Relaxed) } else { 0 }
}

/// What the helper does, once.
type Hook = Box<dyn FnOnce()>;

thread_local! {
    static HOOK: Cell<Option<Hook>> = const { Cell::new(None) };
}

extern "C" fn hook() -> u64 {
    if let Some(work) = HOOK.take() {
        work();
    }
    0
}

struct Prog {
    slots: Box<[StatsSlot; 2]>,
    control: Box<StatsControl>,
    code: MachineCode,
}

impl Prog {
    fn new(text: &str, array: Option<&AtomicU64>, clock: u64, tuning: Tuning) -> Prog {
        let (slots, control): (Box<[StatsSlot; 2]>, Box<StatsControl>) = Default::default();
        control.rate.set(NonZeroU32::MIN);
        let link = StatsLink {
            slots: slots.as_ptr() as u64,
            control: std::ptr::from_ref(&*control) as u64,
            thread_word: thread_word::offset(),
            clock,
            timed: timed as *const () as u64,
        };
        let mut linkage = Linkage { stats: Some(link), ..Linkage::default() };
        linkage.helpers.insert(1, hook as *const () as u64);
        linkage.tail_call_lookup = lookup as *const () as u64;
        let handle = array.map_or(1 << 40, |word| word.as_ptr() as u64);
        let text = text.replace("HANDLE", &format!("{handle} ll"));
        let assembly = skep_insn::asm::assemble(&text, &|_| None);
        let xlated = Xlated::bare(&assembly.expect(&text).insns).expect(&text);
        let code = compile(&xlated, &linkage, &tuning).expect(&text);
        Prog { slots, control, code }
    }

    /// What may be called while the program runs.
    fn switch_later(&self, on: bool) -> Hook {
        // SAFETY: `self` has what the program was linked with, and outlives the hook's runs.
        let (entry, tail_calls) = unsafe { self.code.stats_switches() };
        Box::new(move || {
            let mut edits = Edits::default();
            entry.iter().chain(&tail_calls).for_each(|switch| edits.switch(switch, None, on));
            edits.apply(&TextLock::take()).unwrap();
        })
    }

    fn switch(&self, on: bool) {
        self.switch_later(on)();
    }

    fn run(&self) -> u64 {
        let mut ctx = [0u8; 64];
        let mut env = RunEnv { fuel: (1 << 20).into(), ..RunEnv::default() };
        // SAFETY: the programs here touch nothing but their stack.
        unsafe { self.code.entry()(ctx.as_mut_ptr(), &mut env) }
    }

    /// Runs, ticks, timed runs, jumps of the clock.
    fn counts(&self, slot: usize) -> [u64; 4] {
        let slot = &self.slots[slot];
        assert_eq!(slot.seq.load(Relaxed) % 2, 0);
        [&slot.run_cnt, &slot.ticks, &slot.timed_cnt, &slot.clock_jumps].map(|n| n.load(Relaxed))
    }
}

fn tunings() -> [Tuning; 4] {
    let base = Tuning::default();
    let full = Tuning { prologue: Prologue::Full, ..base.clone() };
    let flag = Tuning { poke: PokeMode::Flag, ..base.clone() };
    [base.clone(), Tuning { fuel: true, ..base }, full, flag]
}

const SHORT: &str = "r0 = 7\nexit";
const LONG: &str = "r6 = 3\nr7 = 4\n*(u64 *)(r10 - 8) = 5\nr1 = 2\ncall f\nr0 += r6\nr0 += r7\n\
                    r1 = *(u64 *)(r10 - 8)\nr0 += r1\nexit\nf:\nr6 = r1\nr0 = r6\nexit";

fn fake() -> u64 {
    clock as *const () as u64
}

#[test]
fn runs_are_counted_while_it_is_on() {
    for tuning in tunings() {
        for (text, r0) in [(SHORT, 7), (LONG, 14)] {
            for source in [0, fake()] {
                let prog = Prog::new(text, None, source, tuning.clone());
                assert_eq!(prog.run(), r0);
                assert_eq!(prog.counts(0), [0; 4]);
                prog.switch(true);
                (0..10).for_each(|_| assert_eq!(prog.run(), r0));
                prog.switch(false);
                assert_eq!(prog.run(), r0);
                let [runs, ticks, timed, jumps] = prog.counts(0);
                assert_eq!((runs, timed, jumps), (10, 10, 0));
                assert!(if source == 0 { ticks > 0 } else { ticks == 70 }, "{ticks}");
            }
        }
    }
}

/// First insns of every length, and programs that jump back to where they start.
const STARTS: [(&str, bool); 7] = [
    (SHORT, true),
    (LONG, true),
    ("r6 = r1\nr0 = r6\nr0 = 7\nexit", true),
    ("r0 = r10\nr0 = 7\nexit", true),
    ("r0 = 0x123456789abc ll\nr0 = 7\nexit", true),
    ("r1 += 1\nif r1 & 7 goto -2\nr0 = 7\nexit", false),
    ("if r1 == 0 goto +1\nr0 = 7\nr0 = 7\nexit", true),
];

#[test]
fn a_program_that_is_not_counted_is_as_without_a_site() {
    for passes in [Passes::ALL, Passes::NONE] {
        for prologue in [Prologue::Minimal, Prologue::Full] {
            for (text, as_without) in STARTS {
                let tuning = Tuning { prologue, passes, ..Tuning::default() };
                let bare = Tuning { sites: false, ..tuning.clone() };
                let [with, without] =
                    [tuning, bare].map(|tuning| Prog::new(text, None, fake(), tuning).code);
                let program = |code: &MachineCode| {
                    let off = (code.tail_entry() - code.address()) as usize;
                    assert_eq!(off % 64, 0, "{text}");
                    code.bytes()[off..].to_vec()
                };
                // SAFETY: nothing is switched.
                let entry = |code: &MachineCode| unsafe { code.stats_switches() }.0;
                assert_eq!(entry(&without).map(|switch| switch.site()), None);
                let site = entry(&with).expect("a site").site();
                if prologue == Prologue::Full || as_without {
                    let (with, without) = (program(&with), program(&without));
                    assert_eq!(with[..without.len()], without, "{text}");
                    assert!(site.is_insn());
                } else {
                    assert!(!site.is_insn(), "{text}");
                }
            }
        }
    }
}

#[test]
fn a_switch_that_is_an_insn_jumps_to_the_jump_in_front_of_it() {
    let prog = Prog::new(LONG, None, fake(), Tuning::default());
    let at = (prog.code.tail_entry() - prog.code.address()) as usize;
    let (off, decode) = (prog.code.bytes(), |code: &[u8], at: usize| {
        Decoder::with_ip(64, &code[at..], at as u64, DecoderOptions::NONE).decode()
    });
    prog.switch(true);
    let on = prog.code.bytes();
    // Two bytes have changed, of which both are of the first insn.
    let changed = (0..on.len()).filter(|at| on[*at] != off[*at]);
    assert!(changed.eq([at, at + 1]));
    let (first, hop) = (decode(&off, at), decode(&on, at));
    assert_eq!((first.mnemonic(), first.len()), (Mnemonic::Push, 2));
    assert_eq!((hop.mnemonic(), hop.near_branch64()), (Mnemonic::Jmp, at as u64 - 5));
    let front = decode(&on, at - 5);
    assert_eq!((front.mnemonic(), front.len()), (Mnemonic::Jmp, 5));
    // The stub has a copy of the insn, and continues after it.
    let mut insns = Decoder::with_ip(64, &on, 0, DecoderOptions::NONE);
    insns.set_position(front.near_branch64() as usize).unwrap();
    insns.set_ip(front.near_branch64());
    let stub: Vec<_> = insns.into_iter().collect();
    let goes_on = stub.iter().position(|insn| insn.near_branch64() == at as u64 + 2).unwrap();
    assert_eq!(stub[goes_on].mnemonic(), Mnemonic::Jmp);
    let again = stub[goes_on - 1];
    assert_eq!((again.mnemonic(), again.op0_register()), (Mnemonic::Push, first.op0_register()));
    prog.switch(false);
    assert_eq!(prog.code.bytes(), off);
}

#[test]
fn every_start_is_counted_once() {
    for tuning in tunings() {
        for (text, _) in STARTS {
            let prog = Prog::new(text, None, fake(), tuning.clone());
            prog.switch(true);
            let r0 = if text == LONG { 14 } else { 7 };
            (0..5).for_each(|_| assert_eq!(prog.run(), r0, "{text}"));
            assert_eq!(prog.counts(0)[0], 5, "{text}");
            prog.switch(false);
            assert_eq!(prog.run(), r0);
            assert_eq!(prog.counts(0)[0], 5, "{text}");
        }
    }
}

const HOOKED: &str = "r6 = r1\ncall 1\nr0 = r6\nr0 = 3\nexit";

#[test]
fn a_run_counts_if_it_was_counted_when_it_began() {
    for tuning in tunings() {
        let prog = Prog::new(HOOKED, None, fake(), tuning);
        HOOK.set(Some(prog.switch_later(true)));
        assert_eq!(prog.run(), 3);
        assert_eq!(prog.counts(0), [0; 4]);
        HOOK.set(Some(prog.switch_later(false)));
        assert_eq!(prog.run(), 3);
        assert_eq!(prog.counts(0), [1, 7, 1, 0]);
        assert_eq!(prog.run(), 3);
        assert_eq!(prog.counts(0), [1, 7, 1, 0]);
    }
}

const CALLER: &str = "r6 = r1\ncall 1\nr1 = r6\nr2 = HANDLE\nr3 = 0\ncall 12\nr0 = 1\nexit";
const FROM_A_CALLEE: &str = "r6 = 5\ncall f\nr0 += r6\nexit\n\
                             f:\nr2 = HANDLE\nr3 = 0\ncall 12\nr0 = 1\nexit";

#[test]
fn a_tail_call_ends_the_time_of_the_caller() {
    for tuning in tunings() {
        let slot = AtomicU64::new(0);
        let caller = Prog::new(CALLER, Some(&slot), fake(), tuning.clone());
        let target = Prog::new(SHORT, None, fake(), tuning.clone());
        let both = |on| [&caller, &target].iter().for_each(|prog| prog.switch(on));
        both(true);
        assert_eq!(caller.run(), 1);
        assert_eq!((caller.counts(0), target.counts(0)), ([1, 7, 1, 0], [0; 4]));
        slot.store(target.code.tail_entry(), Relaxed);
        assert_eq!(caller.run(), 7);
        assert_eq!((caller.counts(0), target.counts(0)), ([2, 14, 2, 0], [1, 7, 1, 0]));
        // Only the caller; only the target.
        target.switch(false);
        assert_eq!(caller.run(), 7);
        assert_eq!((caller.counts(0), target.counts(0)), ([3, 21, 3, 0], [1, 7, 1, 0]));
        both(false);
        target.switch(true);
        assert_eq!(caller.run(), 7);
        assert_eq!((caller.counts(0), target.counts(0)), ([3, 21, 3, 0], [2, 14, 2, 0]));
        // Switched on in the middle of the caller, whose run does not count.
        HOOK.set(Some(caller.switch_later(true)));
        assert_eq!(caller.run(), 7);
        assert_eq!((caller.counts(0), target.counts(0)), ([3, 21, 3, 0], [3, 21, 3, 0]));

        let caller = Prog::new(FROM_A_CALLEE, Some(&slot), fake(), tuning);
        caller.switch(true);
        assert_eq!(caller.run(), 12);
        // Four looks at the clock: the caller's run lasts from the first to the last.
        assert_eq!((caller.counts(0), target.counts(0)), ([1, 21, 1, 0], [4, 28, 4, 0]));
    }
}

#[test]
fn a_program_that_tail_calls_itself_is_counted_each_time() {
    for tuning in tunings() {
        let slot = AtomicU64::new(0);
        let prog = Prog::new(CALLER, Some(&slot), fake(), tuning);
        slot.store(prog.code.tail_entry(), Relaxed);
        prog.switch(true);
        assert_eq!(prog.run(), 1);
        // 33 tail calls, as many as there may be.
        assert_eq!(prog.counts(0), [34, 34 * 7, 34, 0]);
    }
}

#[test]
fn one_in_n_is_timed_and_each_is_counted() {
    for n in [1u32, 2, 3, 10, 64, 1000] {
        let prog = Prog::new(SHORT, None, fake(), Tuning::default());
        prog.switch(true);
        prog.control.rate.set(NonZeroU32::new(n).unwrap());
        let runs = 20_000;
        // Time that has been saved up is enough for runs that are timed early.
        NOW.set(1 << 40);
        (0..runs).for_each(|_| {
            assert_eq!(prog.run(), 7);
            NOW.set(NOW.get() + 7);
        });
        let [counted, ticks, timed, _] = prog.counts(0);
        assert_eq!((counted, ticks), (runs, timed * 7 * u64::from(n)));
        assert!(timed.abs_diff(runs / u64::from(n)) <= 2, "1 in {n}: {timed} of {runs}");
    }
}

#[test]
fn a_clock_that_jumps_gives_no_time() {
    for step in [0u64.wrapping_sub(1), 1 << 42, i64::MIN as u64] {
        let prog = Prog::new(SHORT, None, fake(), Tuning::default());
        prog.switch(true);
        STEP.set(step);
        assert_eq!(prog.run(), 7);
        assert_eq!(prog.counts(0), [1, 0, 0, 1]);
        STEP.set(7);
        assert_eq!(prog.run(), 7);
        assert_eq!(prog.counts(0), [2, 7, 1, 1]);
    }
}

#[test]
fn a_histogram_has_every_timed_run() {
    for tuning in tunings() {
        let slot = AtomicU64::new(0);
        let prog = Prog::new(CALLER, Some(&slot), fake(), tuning);
        slot.store(prog.code.tail_entry(), Relaxed);
        prog.switch(true);
        prog.control.has_histogram.store(1, Relaxed);
        assert_eq!(prog.run(), 1);
        assert_eq!(prog.counts(0), [34, 34 * 7, 34, 0]);
        assert_eq!(prog.slots[0].buckets.0[2].load(Relaxed), 34);
    }
}

#[test]
fn a_run_that_is_stopped_was_one() {
    let text = "r1 = 5\nagain:\nr1 += 1\nif r1 > 1 goto again\nr0 = 0\nexit";
    let tuning = Tuning { fuel: true, ..Tuning::default() };
    let prog = Prog::new(text, None, fake(), tuning);
    prog.switch(true);
    assert_eq!(prog.run(), 1);
    assert_eq!(prog.counts(0), [1, 7, 1, 0]);
}

#[test]
fn each_thread_counts_in_its_own_slot() {
    let prog = Prog::new(SHORT, None, 0, Tuning::default());
    prog.switch(true);
    let prog = &prog;
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            scope.spawn(move || {
                // SAFETY: the slots are there, one for each thread.
                unsafe { thread_word::set(thread * size_of::<StatsSlot>() as u64) };
                (0..1000 * (thread + 1)).for_each(|_| assert_eq!(prog.run(), 7));
            });
        }
    });
    assert_eq!((prog.counts(0)[0], prog.counts(1)[0]), (1000, 2000));
}
