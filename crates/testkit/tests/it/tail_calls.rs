//! Slots of a prog array that change while programs run: a tail call jumps to a program that was in
//! the slot, or fails. From a program and from its function, with constant indices and with
//! variable ones, with both kinds of prologue.

use skep_jit::{PokeMode, Prologue, Tuning};
use skep_runtime::map::UpdateFlags;
use skep_runtime::{Ctx, Engine, ErrorKind, Instance, LoadOptions, ObjectMaps, Options, Runtime};
use skep_testkit::{engine, objects, suite};
use std::sync::atomic::{AtomicBool, Ordering};

const SUITE: &str = "# Tail calls

```toml
prog_type = \"xdp\"
btf = true
[map.jmp]
type = \"prog_array\"
value = 4
max = 2
[map.at]
contents = \"0000000001000000\"
[target]
one = '''
    *(u64 *)(r10 - 8) = 1
    r0 = *(u64 *)(r10 - 8)
    exit
'''
two = '''
    r6 = r1
    r7 = 2
    r8 = 0
    r9 = 0
    *(u64 *)(r10 - 512) = 1
    r0 = r7
    r0 += r8
    r0 += r9
    exit
'''
```

## Main

```bpf
    r6 = r1
    r2 = map[jmp]
    FIRST
    call bpf_tail_call
    r1 = r6
    call sub
    exit
sub:
    *(u64 *)(r10 - 16) = 3
    r6 = r1
    r2 = map[jmp]
    SECOND
    call bpf_tail_call
    r0 = *(u64 *)(r10 - 16)
    exit
```
";

struct Loaded {
    _runtime: Runtime,
    maps: ObjectMaps,
    main: Instance,
    targets: Vec<Instance>,
}

/// How programs are compiled.
#[derive(Clone)]
struct Way {
    engine: Engine,
    /// Whether indices come from a map.
    at_run_time: bool,
    /// Prologues of the first program, and of its targets.
    prologues: [Prologue; 2],
    poke: PokeMode,
}

const JIT: Way = Way {
    engine: Engine::MachineCode,
    at_run_time: false,
    prologues: [Prologue::Minimal; 2],
    poke: PokeMode::Patch,
};
const INTERP: Way = Way { engine: Engine::Interpreter, ..JIT };

/// All variants of machine code.
fn compiled() -> impl Iterator<Item = Way> {
    let (minimal, full) = (Prologue::Minimal, Prologue::Full);
    let pairs = [[minimal; 2], [full; 2], [minimal, full], [full, minimal]];
    let ways = [(false, PokeMode::Patch), (true, PokeMode::Patch), (false, PokeMode::Flag)];
    ways.into_iter().flat_map(move |(at_run_time, poke)| {
        pairs.map(|prologues| Way { at_run_time, prologues, poke, ..JIT })
    })
}

fn load(way: &Way) -> Loaded {
    let index = |n: u32| match way.at_run_time {
        true => format!("r3 = map_value[at]+{}\nr3 = *(u32 *)(r3 + 0)", 4 * n),
        false => format!("r3 = {n}"),
    };
    let text = SUITE.replace("FIRST", &index(0)).replace("SECOND", &index(1));
    let case = suite::read(&text).expect("reads").remove(0);
    let programs = suite::programs(&case, None).expect("assembles");
    let runtime = Runtime::new(Options { cpus: 4, ..Options::default() }).expect("a runtime");
    let maps = runtime.create_maps(&programs[0].maps, programs[0].btf.as_ref());
    let mut instances = programs.iter().enumerate().map(|(at, program)| {
        let verified = engine::verified(program).expect("verifies");
        let prologue = way.prologues[at.min(1)];
        let tuning = Tuning { prologue, poke: way.poke, checked: true, ..Tuning::default() };
        let options = LoadOptions { engine: way.engine.clone(), tuning, ..LoadOptions::default() };
        runtime.load(&verified, &maps, &options).expect("loads")
    });
    let main = instances.next().expect("main");
    let targets = instances.collect();
    Loaded { maps, main, targets, _runtime: runtime }
}

/// Runs on two threads while a third fills and clears the slots.
fn replaced_while_running(way: &Way, runs: u32) {
    let loaded = load(way);
    let slots = loaded.maps.get("jmp").expect("the map");
    let done = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let runner = || {
            let mut ctx = Ctx::packet(loaded.main.prog_type(), &[0; 64]).expect("a packet");
            let mut seen = [0u32; 4];
            for _ in 0..runs {
                let r0 = loaded.main.run(&mut ctx).expect("runs").r0;
                seen[r0 as usize] += 1;
            }
            seen
        };
        let runners = [scope.spawn(runner), scope.spawn(runner)];
        scope.spawn(|| {
            for round in 0u32.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let key = (round % 2).to_ne_bytes();
                let id = loaded.targets[(round / 2 % 2) as usize].id().to_ne_bytes();
                let changed = match round % 3 {
                    0 => slots.delete(&key),
                    _ => slots.update(&key, &id, UpdateFlags::Any),
                };
                // Clearing an empty slot fails.
                assert!(changed.is_ok() || round % 3 == 0);
                if round % 64 == 0 {
                    std::thread::yield_now();
                }
            }
        });
        let seen = runners.map(|runner| runner.join().expect("no fault"));
        done.store(true, Ordering::Relaxed);
        seen
    });
    let all: u32 = seen.iter().flatten().sum();
    assert_eq!(all, 2 * runs);
    assert!(seen.iter().all(|seen| seen[0] == 0), "{seen:?}");
}

#[test]
fn slots_change_under_machine_code() {
    replaced_while_running(&JIT, 3_000_000);
}

#[test]
fn slots_change_under_machine_code_of_every_kind() {
    for way in compiled() {
        replaced_while_running(&way, 300_000);
    }
}

#[test]
fn slots_change_under_the_interpreter() {
    replaced_while_running(&INTERP, 30_000);
    replaced_while_running(&Way { at_run_time: true, ..INTERP }, 30_000);
}

#[test]
fn slots_say_what_runs() {
    for way in compiled().chain([INTERP, Way { at_run_time: true, ..INTERP }]) {
        let loaded = load(&way);
        let slots = loaded.maps.get("jmp").expect("the map");
        let mut ctx = Ctx::packet(loaded.main.prog_type(), &[0; 64]).expect("a packet");
        let mut run = || loaded.main.run(&mut ctx).expect("runs").r0;
        let id = |target: usize| loaded.targets[target].id().to_ne_bytes();
        let key = |slot: u32| slot.to_ne_bytes();
        assert_eq!(run(), 3);
        slots.update(&key(1), &id(1), UpdateFlags::Any).expect("fills");
        assert_eq!(run(), 2);
        slots.update(&key(0), &id(0), UpdateFlags::Any).expect("fills");
        assert_eq!(run(), 1);
        slots.delete(&key(0)).expect("empties");
        assert_eq!(run(), 2);
        slots.update(&key(1), &id(0), UpdateFlags::Any).expect("replaces");
        assert_eq!(run(), 1);
        slots.delete(&key(1)).expect("empties");
        assert_eq!(run(), 3);
    }
}

/// A callback that tail calls its own program: each round begins another. The run stops before the
/// thread's stack is full, however much fuel it has.
#[test]
fn callbacks_that_tail_call_do_not_nest_without_end() {
    let Ok(host) = skep::Host::read(&skep::KernelBtf::Running) else { return };
    let object = objects::open(&host, "kernels/witnesses/later.bpf.o");
    let entry = object.programs.iter().find(|entry| &*entry.name == "callback_calls_tail");
    let verified = engine::verified(entry.unwrap().program.as_ref().unwrap()).unwrap();
    for engine in [Engine::Interpreter, Engine::MachineCode] {
        let runtime = Runtime::new(Options::default()).unwrap();
        let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
        let options = LoadOptions { engine, fuel: Some(1 << 40), ..LoadOptions::default() };
        let program = runtime.load(&verified, &maps, &options).unwrap();
        maps.set_program("programs", 0, &program).unwrap();
        let mut ctx = Ctx::packet(program.prog_type(), &[0; 64]).unwrap();
        for _ in 0..2 {
            let why = program.run(&mut ctx).unwrap_err();
            assert_eq!(why.kind(), ErrorKind::Stopped, "{why}");
            assert!(why.to_string().contains("calls nested too deep"), "{why}");
        }
        // The next run is another one.
        maps.get("programs").unwrap().clear_program(0).unwrap();
        program.run(&mut ctx).unwrap();
    }
}
