//! Which programs a prog array accepts: those that all its callers can call.
//!
//! The rejections are those of the kernel (6.18, bpf(2)): the first program that refers to the
//! array or is stored in it determines the others, for the lifetime of the array; EINVAL otherwise.

use skep_insn::asm::assemble;
use skep_jit::{Prologue, Tuning};
use skep_program::{MapDef, Program};
use skep_runtime::map::UpdateFlags;
use skep_runtime::poke::PokeMode;
use skep_runtime::{
    Ctx, Engine, Errno, Error, ErrorKind, Instance, LoadOptions, ObjectMaps, Options, Runtime,
};
use skep_uapi::helper::HelperId;
use skep_uapi::{KernelProfile, MapType, ProgFlags, ProgType};
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

const CALLS: &str = "r2 = map[jmp]\nr3 = 0\ncall bpf_tail_call\nr0 = 7\nexit";
const CALLS_BY_INDEX: &str =
    "r3 = *(u64 *)(r1 + 0)\nr2 = map[jmp]\ncall bpf_tail_call\nr0 = 7\nexit";
const REFERS: &str = "r1 = map[jmp]\nr0 = 0\nexit";
const LOOPS: &str = "r6 = 0\nagain:\nr6 += 1\nif r6 < 100 goto again\nr0 = 2\nexit";
/// Signals that it has begun, and tail calls when told to; a counter ends it eventually.
const WAITS: &str = "r6 = r1
    r7 = map_value[words]+0
    r1 = 1
    *(u32 *)(r7 + 0) = r1
again:
    may_goto out
    call bpf_ktime_get_ns
    call bpf_ktime_get_ns
    call bpf_ktime_get_ns
    call bpf_ktime_get_ns
    r1 = *(u32 *)(r7 + 4)
    if r1 == 0 goto again
    r1 = r6
    r2 = map[jmp]
    r3 = 0
    call bpf_tail_call
    r0 = 7
    exit
out:
    r0 = 8
    exit";
const ARGUMENTS: ProgType = ProgType::RawTracepoint;

fn map(name: &str, map_type: MapType) -> MapDef {
    let [key_size, value_size, max_entries] = [4, 4, 2];
    MapDef { name: name.into(), map_type, key_size, value_size, max_entries, ..MapDef::default() }
}

/// How a program is loaded.
#[derive(Clone)]
struct Kind {
    prog_type: ProgType,
    expected_attach_type: u32,
    prog_flags: ProgFlags,
    options: LoadOptions,
}

fn kind(prog_type: ProgType) -> Kind {
    let (prog_flags, options) = (ProgFlags::empty(), LoadOptions::default());
    Kind { prog_type, expected_attach_type: 0, prog_flags, options }
}

fn of(engine: Engine, fuel: Option<u64>) -> Kind {
    let options = LoadOptions { engine, fuel, ..LoadOptions::default() };
    Kind { options, ..kind(ProgType::Xdp) }
}

/// Retained memory is per process: tests that run programs hold this shared, tests that examine
/// what is retained hold it exclusively.
static RUNS: RwLock<()> = RwLock::new(());

fn alone() -> RwLockWriteGuard<'static, ()> {
    RUNS.write().unwrap_or_else(PoisonError::into_inner)
}

struct World {
    runtime: Runtime,
    maps: ObjectMaps,
    defs: Arc<[MapDef]>,
    _runs: Option<RwLockReadGuard<'static, ()>>,
}

impl World {
    fn new() -> World {
        let runs = RUNS.read().unwrap_or_else(PoisonError::into_inner);
        World { _runs: Some(runs), ..World::unguarded() }
    }

    fn unguarded() -> World {
        let runtime = Runtime::new(Options { cpus: 8, ..Options::default() }).unwrap();
        let progs = ["jmp", "far"].map(|name| map(name, MapType::ProgArray));
        let words = MapDef { value_size: 8, max_entries: 1, ..map("words", MapType::Array) };
        let defs: Arc<[MapDef]> = progs.into_iter().chain([words]).collect();
        World { maps: runtime.create_maps(&defs, None), runtime, defs, _runs: None }
    }

    fn verified(&self, kind: &Kind, text: &str) -> VerifiedProgram {
        let helper = |name: &str| HelperId::from_name(name).map(|id| id as u32);
        let mut assembly = assemble(text, &helper).unwrap();
        for reference in &assembly.map_refs {
            let index = self.defs.iter().position(|map| map.name == reference.name).unwrap();
            assembly.insns[reference.insn.index()].imm = index as i32;
        }
        let program = Program {
            name: "one".into(),
            prog_type: kind.prog_type,
            expected_attach_type: kind.expected_attach_type,
            prog_flags: kind.prog_flags,
            license: "GPL".into(),
            insns: assembly.insns,
            maps: self.defs.clone(),
            ..Program::default()
        };
        match verify(&program, &Config::privileged(KernelProfile::v6_18())).verdict {
            Verdict::Accepted(program) => *program,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn load(&self, kind: &Kind, text: &str) -> Result<Instance, Error> {
        self.runtime.load(&self.verified(kind, text), &self.maps, &kind.options)
    }

    fn put(&self, array: &str, slot: u32, program: &Instance) -> Result<(), Errno> {
        let (key, id) = (slot.to_ne_bytes(), program.id().to_ne_bytes());
        self.maps.get(array).unwrap().update(&key, &id, UpdateFlags::Any)
    }
}

/// A program, and how it is applied to an array.
#[derive(Clone, Copy)]
struct Applied<'a> {
    how: &'a str,
    kind: &'a Kind,
}

/// Applies two programs to an array in this order; returns whether both are accepted.
fn takes(first: Applied<'_>, second: Applied<'_>) -> bool {
    let world = World::new();
    let came = |Applied { how, kind }: Applied<'_>| {
        let text = match how {
            "calls" => CALLS,
            "refers" => REFERS,
            _ => "r0 = 2\nexit",
        };
        let loaded = world.load(kind, text);
        if let Err(why) = &loaded {
            assert_eq!(why.kind(), ErrorKind::Input);
            assert!(why.to_string().contains("prog array 'jmp': EINVAL: "), "{why}");
            return Err(Errno::EINVAL);
        }
        let loaded = loaded.unwrap();
        if how == "put" { world.put("jmp", 0, &loaded).map(|()| loaded) } else { Ok(loaded) }
    };
    // It determines the array's owner although it is removed.
    came(first).unwrap();
    let second = came(second).map(drop);
    assert!(matches!(second, Ok(()) | Err(Errno::EINVAL)), "{second:?}");
    second.is_ok()
}

/// Whether both orders are accepted, with every way of using the programs.
fn agree(one: &Kind, two: &Kind) -> bool {
    let mut all = Vec::new();
    for first in ["calls", "refers", "put"] {
        for second in ["calls", "refers", "put"] {
            for (kind, other) in [(one, two), (two, one)] {
                let first = Applied { how: first, kind };
                all.push(takes(first, Applied { how: second, kind: other }));
            }
        }
    }
    assert!(all.iter().all(|takes| *takes == all[0]), "{all:?}");
    all[0]
}

#[test]
fn programs_of_an_array_are_of_one_type() {
    let types = [ProgType::Xdp, ProgType::SchedCls, ProgType::SchedAct, ARGUMENTS];
    for one in types {
        for two in types {
            assert_eq!(agree(&kind(one), &kind(two)), one == two, "{one} {two}");
        }
    }
    let xdp = kind(ProgType::Xdp);
    // BPF_XDP_DEVMAP, BPF_XDP.
    for expected_attach_type in [35, 37] {
        assert!(!agree(&xdp, &Kind { expected_attach_type, ..xdp.clone() }));
    }
    let prog_flags = ProgFlags::XDP_HAS_FRAGS;
    assert!(!agree(&xdp, &Kind { prog_flags, ..xdp.clone() }));
}

#[test]
fn programs_of_an_array_are_run_by_one_engine_and_agree_in_fuel() {
    let all = [Engine::Interpreter, Engine::MachineCode]
        .map(|engine| [None, Some(5), Some(1000)].map(|fuel| of(engine.clone(), fuel)));
    for one in all.iter().flatten() {
        for two in all.iter().flatten() {
            let same = one.options.engine == two.options.engine
                && one.options.fuel.is_some() == two.options.fuel.is_some();
            assert_eq!(agree(one, two), same, "{:?} {:?}", one.options, two.options);
        }
    }
}

/// A loop counts in a register, which is lost when the frame is left: by a tail call with a
/// constant index or another one, and at the end.
#[test]
fn what_was_counted_before_a_tail_call_is_not_lost() {
    let text = "r6 = r1
        r7 = 0
        r8 = 0
    again:
        r7 += 1
        r0 = r7
        r0 &= 3
        if r0 != 3 goto next
        r8 += 1
    next:
        if r7 < 40 goto again
        r1 = r6
        r2 = map[jmp]
        INDEX
        call bpf_tail_call
        r0 = 7
        exit";
    for index in ["r3 = 0", "r3 = *(u32 *)(r1 + 12)\nr3 &= 0"] {
        let text = text.replace("INDEX", index);
        let counted = [Engine::Interpreter, Engine::MachineCode].map(|engine| {
            let world = World::new();
            let options = LoadOptions { engine, coverage: true, ..LoadOptions::default() };
            let kind = Kind { options, ..kind(ProgType::Xdp) };
            let caller = world.load(&kind, &text).unwrap();
            let target = world.load(&kind, LOOPS).unwrap();
            let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
            let mut run = || caller.run(&mut ctx).unwrap().retval;
            let empty = run();
            world.put("jmp", 0, &target).unwrap();
            let results = [empty, run(), run()];
            (results, [&caller, &target].map(|instance| instance.coverage().unwrap()))
        });
        assert_eq!(counted[0], counted[1], "{text}");
        let runs = |at: usize| counted[1].1[at].insns.iter().map(|insn| insn.runs).max();
        assert_eq!([runs(0), runs(1)], [Some(3 * 40), Some(2 * 100)]);
    }
}

/// Frame size and switches may differ between programs.
#[test]
fn programs_of_an_array_may_be_compiled_differently() {
    let tunings = [Prologue::Minimal, Prologue::Full].map(|prologue| {
        [PokeMode::Patch, PokeMode::Flag].map(|poke| Tuning { prologue, poke, ..Tuning::default() })
    });
    let all: Vec<Kind> = tunings
        .into_iter()
        .flatten()
        .map(|tuning| {
            let options = LoadOptions { tuning, ..LoadOptions::default() };
            Kind { options, ..kind(ProgType::Xdp) }
        })
        .collect();
    for one in &all {
        for two in &all {
            assert!(agree(one, two));
            let world = World::new();
            let (caller, target) = (world.load(one, CALLS), world.load(two, LOOPS));
            world.put("jmp", 0, &target.unwrap()).unwrap();
            let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
            assert_eq!(caller.unwrap().run(&mut ctx).unwrap().r0, 2);
        }
    }
}

#[test]
fn fuel_is_the_first_programs() {
    for engine in [Engine::Interpreter, Engine::MachineCode] {
        let world = World::new();
        let [little, much] = [50, 1000].map(|fuel| of(engine.clone(), Some(fuel)));
        let [short, long] = [&little, &much].map(|kind| world.load(kind, CALLS).unwrap());
        for kind in [&little, &much] {
            world.put("jmp", 0, &world.load(kind, LOOPS).unwrap()).unwrap();
            let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
            assert_eq!(short.run(&mut ctx).unwrap_err().kind(), ErrorKind::Stopped);
            let ran = long.run(&mut ctx).unwrap();
            assert_eq!((ran.r0, ran.fuel), (2, Some(99)));
        }
    }
}

/// A program's context must be long enough for everything that it may tail call, through several
/// arrays, whatever the order in which they are filled.
#[test]
fn contexts_are_as_long_as_what_is_tail_called_needs() {
    for engine in [Engine::Interpreter, Engine::MachineCode] {
        for outer_first in [false, true] {
            let world = World::new();
            let options = LoadOptions { engine: engine.clone(), ..LoadOptions::default() };
            let kind = Kind { options, ..kind(ARGUMENTS) };
            let load = |text: &str| world.load(&kind, text).unwrap();
            let (main, middle) = (load(CALLS), load(&CALLS.replace("jmp", "far")));
            let end = load("r0 = *(u64 *)(r1 + 88)\nexit");
            let fill = || world.put("far", 1, &end).and_then(|()| world.put("far", 0, &end));
            if outer_first {
                world.put("jmp", 0, &middle).unwrap();
                fill().unwrap();
            } else {
                fill().unwrap();
                world.put("jmp", 0, &middle).unwrap();
            }
            // A program that is loaded now knows its need at once.
            let late = load(CALLS);
            for program in [&main, &middle, &late] {
                assert_eq!(program.ctx_bytes(), 0);
                let why = program.run(&mut Ctx::raw(ARGUMENTS, &[1; 88]).unwrap()).unwrap_err();
                assert_eq!(why.kind(), ErrorKind::Input);
                let text = "program 'one' may tail call a program that needs a context of 96 bytes, got 88";
                assert_eq!(why.to_string(), text);
                let mut enough = Ctx::raw(ARGUMENTS, &[1; 96]).unwrap();
                assert_eq!(program.run(&mut enough).unwrap().r0, 0x0101_0101_0101_0101);
            }
            // A program that cannot reach it has no need.
            let apart = load("r0 = 3\nexit");
            assert_eq!(apart.run(&mut Ctx::raw(ARGUMENTS, &[]).unwrap()).unwrap().r0, 3);
        }
    }
}

/// A run that began with a context that was long enough at that time.
#[test]
fn what_needs_a_longer_context_waits_for_runs() {
    for engine in [Engine::MachineCode, Engine::Interpreter] {
        let world = World::new();
        let options = LoadOptions { engine, ..LoadOptions::default() };
        let kind = Kind { options, ..kind(ARGUMENTS) };
        let main = world.load(&kind, WAITS).unwrap();
        let far = world.load(&kind, "r0 = *(u64 *)(r1 + 88)\nexit").unwrap();
        let words = world.maps.get("words").unwrap().typed::<u32, [u32; 2]>().unwrap();
        let is_in = AtomicBool::new(false);
        let has_begun = || words.get(&0).unwrap().unwrap()[0] == 1;
        let ready = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // A thread's first access waits for runs, too.
                assert!(!has_begun());
                ready.wait();
                while !has_begun() {
                    std::thread::yield_now();
                }
                world.put("jmp", 0, &far).unwrap();
                is_in.store(true, Ordering::Relaxed);
            });
            ready.wait();
            let run =
                scope.spawn(|| main.run(&mut Ctx::raw(ARGUMENTS, &[0; 8]).unwrap()).unwrap().r0);
            while !has_begun() {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(20));
            let (is_in, has_ended) = (is_in.load(Ordering::Relaxed), run.is_finished());
            assert!(!is_in || has_ended);
            words.set(&0, &[1, 1], UpdateFlags::Any).unwrap();
            // The slot was empty, unless the run ended by itself before.
            assert!([7, 8].contains(&run.join().unwrap()));
        });
        assert!(is_in.into_inner());
        let mut ctx = Ctx::raw(ARGUMENTS, &[1; 96]).unwrap();
        assert_eq!(main.run(&mut ctx).unwrap().r0, 0x0101_0101_0101_0101);
    }
}

/// While threads run with short and long contexts, a program that needs the long one is stored,
/// after others that do not: no run with a short one enters it.
#[test]
fn no_run_enters_what_its_context_is_too_short_for() {
    for text in [CALLS, CALLS_BY_INDEX] {
        for engine in [Engine::MachineCode, Engine::Interpreter] {
            for round in 0..20 {
                let options = LoadOptions { engine: engine.clone(), ..LoadOptions::default() };
                race(&Kind { options, ..kind(ARGUMENTS) }, text, round);
            }
        }
    }
}

fn race(kind: &Kind, text: &str, round: u64) {
    let world = World::new();
    let (main, near) = (world.load(kind, text).unwrap(), world.load(kind, "r0 = 3\nexit").unwrap());
    let far = world.load(kind, "r0 = *(u64 *)(r1 + 88)\nexit").unwrap();
    world.put("jmp", 0, &near).unwrap();
    let (done, refused) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for bytes in [8, 96] {
            let (main, done, refused) = (&main, &done, &refused);
            scope.spawn(move || {
                let mut ctx = Ctx::raw(ARGUMENTS, &vec![0; bytes]).unwrap();
                while !done.load(Ordering::Relaxed) {
                    match main.run(&mut ctx) {
                        // The last argument is 0; the memory after a short context need not be.
                        Ok(ran) => assert!(ran.r0 == 3 || bytes == 96 && ran.r0 == 0),
                        Err(why) => {
                            assert!(bytes == 8 && why.kind() == ErrorKind::Input, "{why}");
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_micros(100 * round));
        for _ in 0..20 {
            world.put("jmp", 0, &far).unwrap();
            world.put("jmp", 0, &near).unwrap();
        }
        while refused.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Threads run a program while others repeatedly try to store one that it must not call.
#[test]
fn nothing_else_gets_in_while_threads_run() {
    let wrong = [
        of(Engine::MachineCode, Some(1000)),
        of(Engine::Interpreter, None),
        kind(ProgType::SchedCls),
        Kind { expected_attach_type: 37, ..kind(ProgType::Xdp) },
    ];
    let world = World::new();
    let right = kind(ProgType::Xdp);
    let main = world.load(&right, CALLS).unwrap();
    let fine = ["r0 = 2\nexit", LOOPS].map(|text| world.load(&right, text).unwrap());
    let wrong = wrong.map(|kind| world.load(&kind, "r0 = 9\nexit").unwrap());
    let left = AtomicU64::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..2000 {
                    world.put("jmp", 0, &fine[round % 2]).unwrap();
                    assert_eq!(world.put("jmp", 0, &wrong[round % 4]), Err(Errno::EINVAL));
                }
                left.fetch_sub(1, Ordering::Relaxed);
            });
            scope.spawn(|| {
                let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
                while left.load(Ordering::Relaxed) > 0 {
                    assert!([2, 7].contains(&main.run(&mut ctx).unwrap().r0));
                }
            });
        }
    });
}

/// Which programs an array takes is decided when its callers are loaded.
#[test]
fn a_prog_array_is_no_inner_map() {
    let runtime = Runtime::new(Options::default()).unwrap();
    for map_type in [MapType::ArrayOfMaps, MapType::HashOfMaps] {
        for (inner, errno) in [(MapType::ProgArray, "ENOTSUPP"), (MapType::ArrayOfMaps, "EINVAL")] {
            let inner = Some(Box::new(map("inner", inner)));
            let why = runtime.create_map(&MapDef { inner, ..map("outer", map_type) }, None);
            assert!(why.unwrap_err().to_string().contains(errno));
        }
    }
}

/// Programs to which only the array refers.
#[test]
fn what_was_replaced_goes_when_no_run_can_use_it() {
    let (_alone, world) = (alone(), World::unguarded());
    let kind = kind(ARGUMENTS);
    let programs = || world.runtime.programs().len();
    let replace = |rounds: u32| {
        for round in 0..rounds {
            let text = format!("r0 = {round}\nexit");
            world.put("jmp", 0, &world.load(&kind, &text).unwrap()).unwrap();
        }
    };
    let main = world.load(&kind, WAITS).unwrap();
    replace(12);
    assert_eq!(programs(), 2);
    world.maps.get("jmp").unwrap().delete(&[0; 4]).unwrap();
    assert_eq!(programs(), 1);
    // While a run is in progress, all programs that it may have seen are kept; after it has ended
    // they are freed without a further change.
    let words = world.maps.get("words").unwrap().typed::<u32, [u32; 2]>().unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| main.run(&mut Ctx::raw(ARGUMENTS, &[0; 8]).unwrap()).unwrap().r0);
        while words.get(&0).unwrap().unwrap()[0] == 0 {
            std::thread::yield_now();
        }
        replace(12);
        assert_eq!(programs(), 13);
        words.set(&0, &[1, 1], UpdateFlags::Any).unwrap();
        assert_eq!(run.join().unwrap(), 11);
    });
    assert_eq!(programs(), 2);
}

#[test]
fn inner_maps_that_were_replaced_go() {
    let _alone = alone();
    let runtime = Runtime::new(Options::default()).unwrap();
    let inner = map("inner", MapType::Array);
    for map_type in [MapType::ArrayOfMaps, MapType::HashOfMaps] {
        let def = MapDef { inner: Some(Box::new(inner.clone())), ..map("outer", map_type) };
        let outer = runtime.create_map(&def, None).unwrap();
        let bytes = runtime.memory_bytes();
        for _ in 0..12 {
            let one = runtime.create_map(&inner, None).unwrap();
            outer.update(&[0; 4], &one.map().id().to_ne_bytes(), UpdateFlags::Any).unwrap();
        }
        assert_eq!(runtime.maps().len(), 2);
        outer.delete(&[0; 4]).unwrap();
        assert_eq!(runtime.memory_bytes(), bytes);
        assert_eq!(runtime.maps().len(), 1);
    }
}
