//! Statistics of programs: counts equal the number of runs, whatever is switched meanwhile.

use skep_btf::{BtfBuilder, FuncLinkage, IntEncoding, TypeId};
use skep_insn::InsnIdx;
use skep_insn::asm::assemble;
use skep_jit::{PokeMode, Tuning};
use skep_program::{FuncInfo, MapDef, Program};
use skep_runtime::map::UpdateFlags;
use skep_runtime::placed_code;
use skep_runtime::poke::{Batch, EditError, Error as PokeError};
use skep_runtime::{ClockError, ErrorKind, HostClock, StatsOptions};
use skep_runtime::{ClockSource, Ctx, Engine, Instance, LoadOptions, ObjectMaps, Options, Runtime};
use skep_text::MachineCode;
use skep_uapi::helper::HelperId;
use skep_uapi::{KernelProfile, MapType, ProgType};
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The interpreter, patched code, code that tests flags.
fn engines() -> [LoadOptions; 3] {
    let jit = LoadOptions::default();
    let flag = Tuning { poke: PokeMode::Flag, ..Tuning::default() };
    let interp = LoadOptions { engine: Engine::Interpreter, ..LoadOptions::default() };
    [interp, jit.clone(), LoadOptions { tuning: flag, ..jit }]
}

fn maps(runtime: &Runtime) -> ObjectMaps {
    runtime.create_maps(&defs(), None)
}

fn defs() -> Arc<[MapDef]> {
    let map_type = MapType::ProgArray;
    let [key_size, value_size, max_entries] = [4, 4, 4];
    let def = MapDef { map_type, key_size, value_size, max_entries, ..MapDef::default() };
    [MapDef { name: "progs".into(), ..def }].into()
}

fn program(text: &str) -> VerifiedProgram {
    let helper = |name: &str| HelperId::from_name(name).map(|id| id as u32);
    let assembly = assemble(text, &helper).unwrap();
    let mut program = Program {
        name: "counted".into(),
        prog_type: TYPE,
        license: "GPL".into(),
        insns: assembly.insns,
        maps: defs(),
        ..Program::default()
    };
    // Functions with tail calls must have BTF.
    if let Some(function) = assembly.labels.iter().find(|label| label.name == "f") {
        let mut btf = BtfBuilder::new();
        let int = btf.int("int", 4, IntEncoding::SIGNED);
        let ctx = btf.ptr(TypeId::VOID);
        let proto = btf.func_proto(int, &[("ctx", ctx)]);
        for (name, insn_off) in [("main", InsnIdx(0)), ("f", function.insn)] {
            let type_id = btf.func(name, proto, FuncLinkage::Static).0;
            program.func_info.push(FuncInfo { insn_off, type_id });
        }
        program.btf = Some(Arc::new(btf.build().unwrap()));
    }
    match verify(&program, &Config::privileged(KernelProfile::v6_18())).verdict {
        Verdict::Accepted(program) => *program,
        other => panic!("{text}: {other:?}"),
    }
}

const TYPE: ProgType = ProgType::RawTracepoint;

const PLAIN: &str = "r0 = 7\nexit";
/// Tail calls slot 0, by a constant index.
const CALLER: &str = "r2 = map[progs]\nr3 = 0\ncall bpf_tail_call\nr0 = 1\nexit";
/// The same with an index from the context.
const BY_INDEX: &str = "r3 = *(u64 *)(r1 + 0)\nr2 = map[progs]\ncall bpf_tail_call\nr0 = 1\nexit";

fn runtime() -> Runtime {
    Runtime::new(Options { cpus: 8, ..Options::default() }).unwrap()
}

struct Loaded {
    runtime: Runtime,
    maps: ObjectMaps,
    all: Vec<Instance>,
}

fn loaded(texts: &[&str], options: &LoadOptions) -> Loaded {
    let runtime = runtime();
    let maps = maps(&runtime);
    let load = |text: &&str| runtime.load(&program(text), &maps, options).unwrap();
    let all = texts.iter().map(load).collect();
    Loaded { runtime, maps, all }
}

impl Loaded {
    fn fill(&self, slot: u32, program: usize) {
        let array = self.maps.get("progs").unwrap();
        let id = self.all[program].id();
        array.update(&slot.to_ne_bytes(), &id.to_ne_bytes(), UpdateFlags::Any).unwrap();
    }
}

fn run(instance: &Instance) -> u32 {
    let mut ctx = Ctx::raw(TYPE, &[0; 8]).unwrap();
    instance.run(&mut ctx).unwrap().retval
}

fn every(n: u32) -> StatsOptions {
    StatsOptions::sampled(NonZeroU32::new(n).unwrap())
}

#[test]
fn all_programs_or_one_for_as_long_as_someone_wants() {
    for options in engines() {
        let loaded = loaded(&[PLAIN, PLAIN], &options);
        let counts = || loaded.all.iter().map(|one| one.stats().run_cnt).collect::<Vec<_>>();
        let run_all = || loaded.all.iter().for_each(|one| assert_eq!(run(one), 7));
        run_all();
        assert_eq!(counts(), [0, 0]);
        let first = loaded.runtime.enable_stats(StatsOptions::default()).unwrap();
        let second = loaded.runtime.enable_stats(StatsOptions::default()).unwrap();
        assert!(loaded.runtime.stats_enabled());
        run_all();
        drop(first);
        run_all();
        let one = loaded.all[1].enable_stats(StatsOptions::default()).unwrap();
        drop(second);
        assert!(!loaded.runtime.stats_enabled());
        run_all();
        drop(one);
        run_all();
        assert_eq!(counts(), [2, 3]);
        let [first, second] = [&loaded.all[0], &loaded.all[1]].map(Instance::stats);
        assert_eq!((first.timed_cnt, second.timed_cnt), (2, 3));
        assert!(first.run_time_ns > 0 && first.histogram == [0; 48]);
    }
}

#[test]
fn programs_that_are_loaded_later_are_counted_too() {
    for options in engines() {
        let mut loaded = loaded(&[], &options);
        let _on = loaded.runtime.enable_stats(every(1)).unwrap();
        loaded.all.push(loaded.runtime.load(&program(PLAIN), &loaded.maps, &options).unwrap());
        run(&loaded.all[0]);
        let infos = loaded.runtime.programs();
        assert_eq!((infos.len(), infos[0].stats.run_cnt, infos[0].id), (1, 1, loaded.all[0].id()));
        assert_eq!(infos[0].bytes_jited.is_some(), options.engine == Engine::MachineCode);
        assert!(infos[0].gpl_compatible && infos[0].bytes_memlock == 4096);
        assert_eq!((infos[0].bytes_xlated, &*infos[0].name), (16, "counted"));
        drop(infos);
        loaded.all.clear();
        assert!(loaded.runtime.programs().is_empty());
    }
}

#[test]
fn each_program_of_a_chain_is_counted() {
    for options in engines() {
        for caller in [CALLER, BY_INDEX] {
            let loaded = loaded(&[caller, PLAIN], &options);
            let _on = loaded.runtime.enable_stats(every(1)).unwrap();
            let counts = || [0, 1].map(|i: usize| loaded.all[i].stats().run_cnt);
            assert_eq!((run(&loaded.all[0]), counts()), (1, [1, 0]));
            loaded.fill(0, 1);
            assert_eq!((run(&loaded.all[0]), counts()), (7, [2, 1]));
            // Calls itself, as often as possible.
            loaded.fill(0, 0);
            assert_eq!((run(&loaded.all[0]), counts()), (1, [36, 1]));
            assert_eq!(loaded.all[0].stats().timed_cnt, 36);
        }
    }
}

#[test]
fn sampled_times_stand_for_all_runs() {
    for options in engines() {
        let loaded = loaded(&[PLAIN], &options);
        let on = loaded.runtime.enable_stats(StatsOptions { histogram: true, ..every(16) });
        (0..1600).for_each(|_| assert_eq!(run(&loaded.all[0]), 7));
        let stats = loaded.all[0].stats();
        assert!(stats.run_cnt == 1600 && stats.timed_cnt.abs_diff(100) <= 2, "{stats:?}");
        assert_eq!(stats.histogram.iter().sum::<u64>(), 16 * stats.timed_cnt);
        // Statistics of all programs are requested.
        let all = loaded.runtime.enable_stats(every(1)).unwrap();
        (0..100).for_each(|_| assert_eq!(run(&loaded.all[0]), 7));
        let later = loaded.all[0].stats().since(&stats);
        assert_eq!((later.run_cnt, later.timed_cnt), (100, 100));
        drop((on, all));
    }
}

#[test]
fn code_is_what_it_was_when_statistics_are_off_again() {
    for caller in [CALLER, BY_INDEX] {
        let loaded = loaded(&[caller, PLAIN], &LoadOptions::default());
        loaded.fill(0, 1);
        let bytes = |at: usize| loaded.all[at].machine_code().unwrap().bytes();
        let changed = |before: &[u8], at: usize| {
            let after = bytes(at);
            before.iter().zip(&after).filter(|(a, b)| a != b).count()
        };
        let before = [bytes(0), bytes(1)];
        let on = loaded.runtime.enable_stats(every(1)).unwrap();
        // Two bytes of each entry, one byte of the tail call's site.
        assert_eq!((changed(&before[0], 0), changed(&before[1], 1)), (3, 2));
        assert_eq!(run(&loaded.all[0]), 7);
        drop(on);
        // No run is in progress, so tail call sites are off, too. Runs of other tests may keep them
        // on.
        let settled = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            loaded.runtime.programs().len() == 2 && changed(&before[0], 0) == 0
        });
        assert!(settled && changed(&before[1], 1) == 0);
    }
}

/// Code that tests flags fails in the same way, without partial changes.
#[test]
fn flags_that_are_stale_or_gone_change_nothing() {
    let [_, _, options] = engines();
    let mut loaded = loaded(&[PLAIN, PLAIN], &options);
    // SAFETY: the runtime keeps the counters alive.
    let switches = |code: &MachineCode| unsafe { code.stats_switches() };
    let entry = |at: usize| switches(placed_code(&loaded.all[at]).unwrap()).0.unwrap();
    let (first, second) = (entry(0), entry(1));
    let mut batch = Batch::new();
    batch.add(&first, true);
    batch.add_from(&second, true, false);
    let stale = EditError::Stale { number: 1, expected: 1, found: 0 };
    assert_eq!(batch.commit(), Err(PokeError::Edit(stale)));
    loaded.all.truncate(1);
    assert!(second.is_freed());
    assert_eq!(batch.commit(), Err(PokeError::Edit(EditError::Freed(1))));
    assert_eq!(run(&loaded.all[0]), 7);
    assert_eq!(loaded.all[0].stats().run_cnt, 0);
}

/// The sum of `run_cnt` equals the number of runs on three threads, while a fourth switches
/// statistics: for all programs, for one, at changing rates.
#[test]
fn nothing_is_lost_or_counted_twice_under_toggling() {
    for options in engines() {
        let loaded = loaded(&[CALLER, PLAIN], &options);
        loaded.fill(0, 1);
        let _always = loaded.all[1].enable_stats(every(64)).unwrap();
        let (stop, runs) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut ctx = Ctx::raw(TYPE, &[0; 8]).unwrap();
                    let mut mine = 0;
                    while !stop.load(Relaxed) {
                        assert_eq!(loaded.all[0].run(&mut ctx).unwrap().retval, 7);
                        mine += 1;
                    }
                    runs.fetch_add(mine, Relaxed);
                });
            }
            let mut before = 0;
            for round in 0..100_000u32 {
                // On a busy host the threads may not have run yet.
                if round >= 300 && loaded.all[0].stats().run_cnt > 0 {
                    break;
                }
                let on = loaded.runtime.enable_stats(every(1 + round % 5)).unwrap();
                let caller = loaded.all[0].enable_stats(every(1)).unwrap();
                std::thread::sleep(Duration::from_micros(50));
                drop(if round % 2 == 0 { (Some(on), Some(caller)) } else { (None, None) });
                let now = loaded.all[1].stats().run_cnt;
                assert!(now >= before);
                before = now;
            }
            stop.store(true, Relaxed);
        });
        let [caller, target] = [0, 1].map(|i: usize| loaded.all[i].stats());
        assert_eq!(target.run_cnt, runs.load(Relaxed));
        assert!(caller.run_cnt > 0 && caller.run_cnt <= target.run_cnt, "{caller:?} {target:?}");
        assert!(caller.timed_cnt <= caller.run_cnt && caller.clock_jumps == 0);
    }
}

#[test]
fn what_threads_counted_is_there_when_they_have_ended() {
    for options in engines() {
        let loaded = loaded(&[PLAIN], &options);
        let _on = loaded.runtime.enable_stats(every(1)).unwrap();
        for _ in 0..20 {
            std::thread::scope(|scope| {
                (0..4).for_each(|_| {
                    drop(scope.spawn(|| (0..50).for_each(|_| assert_eq!(run(&loaded.all[0]), 7))))
                });
            });
        }
        assert_eq!(loaded.all[0].stats().run_cnt, 20 * 4 * 50);
    }
}

#[test]
fn either_clock_gives_the_time_of_a_run() {
    for clock in [ClockSource::Auto, ClockSource::Monotonic] {
        let runtime = Runtime::new(Options { clock, ..Options::default() }).unwrap();
        let maps = maps(&runtime);
        let text = "r6 = 10000\nagain:\nr6 -= 1\nif r6 != 0 goto again\nr0 = 0\nexit";
        let instance = runtime.load(&program(text), &maps, &LoadOptions::default()).unwrap();
        let _on = runtime.enable_stats(every(1)).unwrap();
        let started = std::time::Instant::now();
        (0..20).for_each(|_| assert_eq!(run(&instance), 0));
        let (real, stats) = (started.elapsed().as_nanos() as u64, instance.stats());
        assert!(stats.run_time_ns <= real && stats.run_time_ns > 20 * 1000, "{stats:?} of {real}");
    }
}

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
    static STEP: Cell<u64> = const { Cell::new(5) };
}

/// Advances by `STEP` on each reading.
extern "C" fn simulated() -> u64 {
    let now = NOW.get();
    NOW.set(now.wrapping_add(STEP.get()));
    now
}

/// Programs in a runtime with the clock above.
fn simulation(texts: &[&str], options: &LoadOptions) -> Loaded {
    let clock = ClockSource::Host(HostClock(simulated));
    let runtime = Runtime::new(Options { cpus: 8, clock, ..Options::default() }).unwrap();
    let maps = maps(&runtime);
    let load = |text: &&str| runtime.load(&program(text), &maps, options).unwrap();
    let all = texts.iter().map(load).collect();
    Loaded { runtime, maps, all }
}

/// Runs are counted and timed on every engine, however they end; so are their tail call targets and
/// all programs on the way: from a function, which continues afterwards.
#[test]
fn a_run_that_is_stopped_is_timed_until_then() {
    let text = "r6 = 10\nagain:\nr6 -= 1\nif r6 != 0 goto again\nr0 = 0\nexit";
    for options in engines() {
        STEP.set(5);
        let fuel = LoadOptions { fuel: Some(4), ..options };
        let loaded = simulation(&[text, CALLER, FROM_A_FUNCTION, PLAIN], &fuel);
        loaded.fill(0, 0);
        let on = loaded.runtime.enable_stats(StatsOptions { histogram: true, ..every(1) }).unwrap();
        let mut ctx = Ctx::raw(TYPE, &[0; 8]).unwrap();
        let counts = |which: usize| {
            let stats = loaded.all[which].stats();
            assert_eq!(stats.clock_jumps, 0);
            assert_eq!(stats.histogram.iter().sum::<u64>(), stats.timed_cnt);
            [stats.run_cnt, stats.timed_cnt, stats.run_time_ns]
        };
        let mut stop = |which: usize| {
            let stopped = loaded.all[which].run(&mut ctx).unwrap_err();
            assert_eq!(stopped.kind(), ErrorKind::Stopped);
        };
        stop(0);
        assert_eq!(counts(0), [1, 1, 5]);
        // The caller has ended when the target is stopped.
        stop(1);
        assert_eq!((counts(0), counts(1)), ([2, 2, 10], [1, 1, 5]));
        // The caller has not: its time is from the first of four clock readings to the last.
        stop(2);
        assert_eq!((counts(0), counts(2)), ([3, 3, 15], [1, 1, 15]));
        // Sampled: runs that are not timed have no effect, before and after runs that complete.
        drop(on);
        let _on = loaded.runtime.enable_stats(every(3)).unwrap();
        for _ in 0..10 {
            [0, 1, 2].into_iter().for_each(&mut stop);
            assert_eq!(run(&loaded.all[3]), 7);
        }
        let timed = [(0, 33), (1, 11), (2, 11)].map(|(which, runs)| {
            let [run_cnt, timed, ns] = counts_at_any_rate(&loaded.all[which]);
            assert_eq!(run_cnt, runs);
            assert!(ns >= 5 * timed && timed.abs_diff(runs / 3) <= 3, "{timed} of {runs}, {ns}");
            timed
        });
        assert!(timed.iter().all(|timed| *timed > 0));
    }
}

fn counts_at_any_rate(one: &Instance) -> [u64; 3] {
    let stats = one.stats();
    assert_eq!(stats.clock_jumps, 0);
    [stats.run_cnt, stats.timed_cnt, stats.run_time_ns]
}

#[test]
fn a_clock_that_jumps_is_an_error_where_times_are_read() {
    for options in engines() {
        let loaded = simulation(&[PLAIN], &options);
        let one = &loaded.all[0];
        let _on = loaded.runtime.enable_stats(StatsOptions { histogram: true, ..every(1) });
        STEP.set(5);
        assert_eq!(run(one), 7);
        let stats = one.try_stats().unwrap();
        assert_eq!((stats.run_cnt, stats.timed_cnt, stats.run_time_ns), (1, 1, 5));
        assert_eq!(stats.histogram.iter().position(|n| *n > 0), Some(2));
        // Backwards; far ahead. Such a run is counted without a time.
        for (jumps, step) in (1..).zip([0u64.wrapping_sub(5), 1 << 60]) {
            STEP.set(step);
            assert_eq!(run(one), 7);
            assert_eq!(one.try_stats(), Err(ClockError::Jumped(jumps)));
            let after = one.stats();
            assert_eq!((after.run_cnt, after.clock_jumps), (1 + jumps, jumps));
            assert_eq!(after.timed_cnt, 1);
            assert_eq!((after.run_time_ns, after.histogram), (5, stats.histogram));
        }
        // The difference since then does not report the jump again.
        STEP.set(3);
        let before = one.stats();
        assert_eq!(run(one), 7);
        let later = one.stats().since(&before);
        assert_eq!(later.check_clock(), Ok(()));
        assert_eq!((later.run_cnt, later.run_time_ns), (1, 3));
        let said = before.check_clock().unwrap_err().to_string();
        assert!(said.contains("2 timed runs"), "{said}");
    }
}

/// Each ns belongs to one program. In the kernel the time of a chain belongs to its first program;
/// here it is the sum.
#[test]
fn times_of_a_chain_add_up() {
    for options in engines() {
        STEP.set(5);
        let loaded = simulation(&[CALLER, PLAIN], &options);
        loaded.fill(0, 1);
        let _on = loaded.runtime.enable_stats(every(1)).unwrap();
        let started = NOW.get();
        assert_eq!(run(&loaded.all[0]), 7);
        let seen = [0, 1].map(|at: usize| {
            let stats = loaded.all[at].stats();
            (stats.run_cnt, stats.timed_cnt, stats.run_time_ns)
        });
        assert_eq!(seen, [(1, 1, 5), (1, 1, 5)]);
        // Four readings: the end of one program is not the start of the next.
        assert_eq!(NOW.get() - started, 4 * 5);
    }
}

/// Tail calls slot 0 from a function, and continues after it.
const FROM_A_FUNCTION: &str = "call f\nr0 = 5\nexit\n\
                               f:\nr2 = map[progs]\nr3 = 0\ncall bpf_tail_call\nr0 = 1\nexit";

/// The same, and the target tail calls slot 1.
const ON_TO_THE_NEXT: &str = "r2 = map[progs]\nr3 = 1\ncall bpf_tail_call\nr0 = 1\nexit";

/// As in the kernel, the time of a function's tail call target is included in the caller's. It is
/// also timed by itself, and so is its own target.
#[test]
fn what_a_function_tail_calls_is_in_its_time() {
    for options in engines() {
        STEP.set(5);
        let loaded = simulation(&[FROM_A_FUNCTION, PLAIN, ON_TO_THE_NEXT], &options);
        let seen = |which: usize| {
            let stats = loaded.all[which].stats();
            (stats.run_cnt, stats.timed_cnt, stats.run_time_ns)
        };
        loaded.fill(0, 1);
        let _on = loaded.runtime.enable_stats(every(1)).unwrap();
        assert_eq!(run(&loaded.all[0]), 5);
        // Two readings of the target are within the caller's time.
        assert_eq!([seen(0), seen(1)], [(1, 1, 15), (1, 1, 5)]);
        loaded.fill(0, 2);
        loaded.fill(1, 1);
        assert_eq!(run(&loaded.all[0]), 5);
        // And four of the targets.
        assert_eq!([seen(0), seen(1), seen(2)], [(2, 2, 40), (2, 2, 10), (1, 1, 5)]);
    }
}

/// Times measured without a histogram are not included in its time.
#[test]
fn the_time_of_the_histogram_is_that_of_its_runs() {
    for options in engines() {
        STEP.set(5);
        let loaded = simulation(&[PLAIN], &options);
        let one = &loaded.all[0];
        {
            let _on = one.enable_stats(StatsOptions::default()).unwrap();
            (0..10).for_each(|_| assert_eq!(run(one), 7));
        }
        let _on =
            one.enable_stats(StatsOptions { histogram: true, ..StatsOptions::default() }).unwrap();
        (0..3).for_each(|_| assert_eq!(run(one), 7));
        let stats = one.stats();
        assert_eq!((stats.run_cnt, stats.histogram.iter().sum::<u64>()), (13, 3));
        assert_eq!((stats.run_time_ns, stats.histogram_time_ns), (65, 15));
    }
}

/// 0 is a valid time: a clock may start at, stop at, or pass 0.
#[test]
fn a_clock_may_say_0() {
    for options in engines() {
        for fuel in [None, Some(100)] {
            for start in [0, 0u64.wrapping_sub(5)] {
                let options = LoadOptions { fuel, ..options.clone() };
                let loaded = simulation(&[CALLER, PLAIN, FROM_A_FUNCTION], &options);
                loaded.fill(0, 1);
                let _on = loaded.runtime.enable_stats(every(1)).unwrap();
                for step in [0, 5] {
                    NOW.set(start);
                    STEP.set(step);
                    let before: Vec<_> = loaded.all.iter().map(Instance::stats).collect();
                    assert_eq!(run(&loaded.all[0]), 7);
                    NOW.set(start);
                    run(&loaded.all[2]);
                    let after = loaded.all.iter().zip(before);
                    let since = after.map(|(one, before)| one.stats().since(&before));
                    let timed = since.map(|one| (one.run_cnt, one.timed_cnt, one.clock_jumps));
                    assert_eq!(timed.collect::<Vec<_>>(), [(1, 1, 0), (2, 2, 0), (1, 1, 0)]);
                }
            }
        }
    }
}

/// A timed run may have been preempted. It then represents only itself; and however often that
/// happens, the total time never exceeds the elapsed time.
#[test]
fn estimates_are_of_the_time_that_has_passed() {
    const LONG: u64 = 1 << 24;
    // Timed runs that are long: none, some, all.
    for (every, is_steady) in [(u64::MAX, true), (500, true), (50, false), (1, false)] {
        let mut of_engines = Vec::new();
        for options in engines() {
            NOW.set(1 << 40);
            STEP.set(100);
            let loaded = simulation(&[PLAIN], &options);
            let one = &loaded.all[0];
            let started = NOW.get();
            let _on = one.enable_stats(self::every(64)).unwrap();
            let (mut exact, mut before) = (0, one.stats());
            assert!(!before.is_estimate());
            for _ in 0..100_000 {
                let from = NOW.get();
                STEP.set(if before.timed_cnt % every == every - 1 { LONG } else { 100 });
                assert_eq!(run(one), 7);
                let is_timed = NOW.get() != from;
                let length = if is_timed { STEP.get() } else { 100 };
                NOW.set(from + length);
                if is_timed {
                    let stats = one.stats();
                    assert!(stats.run_time_ns >= before.run_time_ns);
                    assert!(stats.run_time_ns <= NOW.get() - started, "{every}: {stats:?}");
                    before = stats;
                }
                exact += length;
                NOW.set(NOW.get() + 300);
            }
            let stats = one.stats();
            assert!(stats.is_estimate() && stats.estimated_cnt == stats.timed_cnt);
            let is_near = stats.run_time_ns.abs_diff(exact) * 8 < exact;
            assert!(is_near || !is_steady, "{every}: {} of {exact}", stats.run_time_ns);
            of_engines.push((stats.timed_cnt, stats.run_time_ns));
        }
        of_engines.dedup();
        assert_eq!(of_engines.len(), 1, "{of_engines:?}");
    }
}

/// With the real clock, on more threads than there are processors.
#[test]
fn threads_have_no_more_time_than_passes() {
    let text = "r6 = 50\nagain:\nr6 -= 1\nif r6 != 0 goto again\nr0 = 0\nexit";
    for options in engines() {
        let loaded = loaded(&[text], &options);
        let started = std::time::Instant::now();
        let _on = loaded.runtime.enable_stats(every(64)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut ctx = Ctx::raw(TYPE, &[0; 8]).unwrap();
                    while started.elapsed() < Duration::from_millis(100) {
                        let mut run = || loaded.all[0].run(&mut ctx).unwrap().retval;
                        (0..100).for_each(|_| assert_eq!(run(), 0));
                    }
                });
            }
        });
        let (stats, real) = (loaded.all[0].stats(), started.elapsed().as_nanos() as u64);
        assert!(stats.run_time_ns > 0 && stats.run_time_ns <= 4 * real + real / 100, "{stats:?}");
    }
}
