//! Slots of a prog array that change while programs run: whatever a run jumps to is a program that
//! was in the slot, or none.

use skep_runtime::map::UpdateFlags;
use skep_runtime::{Ctx, Engine, Instance, LoadOptions, ObjectMaps, Options, Runtime};
use skep_testkit::{engine, suite};
use std::sync::atomic::{AtomicBool, Ordering};

const SUITE: &str = "# Tail calls

```toml
prog_type = \"xdp\"
btf = true
[map.jmp]
type = \"prog_array\"
value = 4
max = 2
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
    r3 = 0
    call bpf_tail_call
    r1 = r6
    call sub
    exit
sub:
    *(u64 *)(r10 - 16) = 3
    r6 = r1
    r2 = map[jmp]
    r3 = 1
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

fn load(engine: Engine) -> Loaded {
    let case = suite::read(SUITE).expect("reads").remove(0);
    let programs = suite::programs(&case, None).expect("assembles");
    let runtime = Runtime::new(Options { cpus: 4, ..Options::default() }).expect("a runtime");
    let maps = runtime.create_maps(&programs[0].maps, programs[0].btf.as_ref());
    let options = LoadOptions { engine, ..LoadOptions::default() };
    let mut instances = programs.iter().map(|program| {
        let verified = engine::verified(program).expect("verifies");
        runtime.load(&verified, &maps, &options).expect("loads")
    });
    let main = instances.next().expect("main");
    let targets = instances.collect();
    Loaded { maps, main, targets, _runtime: runtime }
}

/// Runs on two threads while a third fills and empties the slots.
fn replaced_while_running(engine: Engine, runs: u32) {
    let loaded = load(engine);
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
                // An empty slot cannot be emptied.
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
    replaced_while_running(Engine::Jit, 3_000_000);
}

#[test]
fn slots_change_under_the_interpreter() {
    replaced_while_running(Engine::Interp, 30_000);
}

#[test]
fn slots_say_what_runs() {
    for engine in [Engine::Jit, Engine::Interp] {
        let loaded = load(engine);
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
