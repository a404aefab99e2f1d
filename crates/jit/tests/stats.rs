//! Runs that count and time themselves: what is in a slot after runs of every kind.

use skep_jit::stats::{StatsControl, StatsLink, StatsSlot};
use skep_jit::{Edits, Linkage, MachineCode, MapLink, PokeMode, ProgArrayLink, Prologue, RunEnv};
use skep_jit::{TextLock, Tuning, compile, thread_word};
use skep_verifier::Xlated;
use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(1000) };
    static STEP: Cell<u64> = const { Cell::new(7) };
}

/// A clock that goes on by `STEP` each time it is looked at.
extern "sysv64" fn clock() -> u64 {
    let now = NOW.get();
    NOW.set(now.wrapping_add(STEP.get()));
    now
}

extern "sysv64" fn timed(slot: &StatsSlot, elapsed: u64, weight: u64) {
    slot.ticks.fetch_add(elapsed * weight, Relaxed);
    slot.timed_cnt.fetch_add(1, Relaxed);
    slot.buckets.0[elapsed.ilog2() as usize].fetch_add(weight, Relaxed);
}

struct Prog {
    slots: Box<[StatsSlot; 2]>,
    control: Box<StatsControl>,
    code: MachineCode,
}

impl Prog {
    fn new(text: &str, array: Option<&[AtomicU64]>, (clock, tuning): (u64, Tuning)) -> Prog {
        let (slots, control): (Box<[StatsSlot; 2]>, Box<StatsControl>) = Default::default();
        control.threshold.store(u32::MAX, Relaxed);
        control.weight.store(1, Relaxed);
        let link = StatsLink {
            slots: slots.as_ptr() as u64,
            control: std::ptr::from_ref(&*control) as u64,
            thread_word: thread_word::offset(),
            clock,
            timed: timed as *const () as u64,
        };
        let prog_array = array.map(|words| ProgArrayLink {
            slots: words.as_ptr() as u64,
            max_entries: words.len() as u32,
            patched: false,
        });
        let map = MapLink { handle: 0x1000, prog_array, ..MapLink::default() };
        let linkage = Linkage { maps: vec![map], stats: Some(link), ..Linkage::default() };
        let assembly = skep_insn::asm::assemble(text, &|name| (name == "map").then_some(0));
        let xlated = Xlated::bare(&assembly.expect(text).insns).expect(text);
        let code = compile(&xlated, &linkage, &tuning).expect(text);
        Prog { slots, control, code }
    }

    fn switch(&self, on: bool) {
        let (entry, tail_calls) = self.code.stats_switches();
        let mut edits = Edits::default();
        entry.iter().chain(&tail_calls).for_each(|switch| edits.switch(switch, Some(!on), on));
        edits.apply(&TextLock::take()).unwrap();
    }

    fn run(&self) -> u64 {
        let mut ctx = [0u8; 64];
        let mut env = RunEnv { fuel: 1 << 20, ..RunEnv::default() };
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
                let prog = Prog::new(text, None, (source, tuning.clone()));
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
