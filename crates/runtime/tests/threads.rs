//! Interactions between threads: maps under contention, programs of a prog array replaced while
//! they run, runs that are stopped.

use skep_insn::asm::assemble;
use skep_program::{MapDef, Program};
use skep_runtime::map::{MapHandle, UpdateFlags};
use skep_runtime::{Ctx, Engine, ErrorKind, Instance, LoadOptions, ObjectMaps, Options, Runtime};
use skep_runtime::{StatsOptions, THREADS_MAX};
use skep_uapi::helper::HelperId;
use skep_uapi::{KernelProfile, MapType, ProgFlags, ProgType};
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

const ENGINES: [Engine; 2] = [Engine::Interpreter, Engine::MachineCode];

fn map(name: &str, map_type: MapType, value: u32, entries: u32) -> MapDef {
    MapDef {
        name: name.into(),
        map_type,
        key_size: 4,
        value_size: value,
        max_entries: entries,
        ..MapDef::default()
    }
}

/// Assembles and verifies a program whose maps are `maps`.
fn program(name: &str, prog_type: ProgType, text: &str, maps: &Arc<[MapDef]>) -> VerifiedProgram {
    let helper = |name: &str| HelperId::from_name(name).map(|id| id as u32);
    let mut assembly = assemble(text, &helper).unwrap();
    for reference in &assembly.map_refs {
        let index = maps.iter().position(|map| map.name == reference.name).unwrap();
        assembly.insns[reference.insn.index()].imm = index as i32;
    }
    let syscall = prog_type == ProgType::Syscall;
    let program = Program {
        name: name.to_owned(),
        prog_type,
        prog_flags: if syscall { ProgFlags::SLEEPABLE } else { ProgFlags::empty() },
        license: "GPL".into(),
        insns: assembly.insns,
        maps: maps.clone(),
        ..Program::default()
    };
    let outcome = verify(&program, &Config::privileged(KernelProfile::v6_18()));
    match outcome.verdict {
        Verdict::Accepted(program) => *program,
        other => panic!("{name}: {other:?}"),
    }
}

fn runtime() -> Runtime {
    Runtime::new(Options { cpus: 8, ..Options::default() }).unwrap()
}

fn options(engine: &Engine, fuel: Option<u64>) -> LoadOptions {
    LoadOptions { engine: engine.clone(), fuel, ..LoadOptions::default() }
}

fn load(
    runtime: &Runtime,
    maps: &ObjectMaps,
    program: &VerifiedProgram,
    engine: &Engine,
) -> Instance {
    runtime.load(program, maps, &options(engine, None)).unwrap()
}

/// Increments a value in place atomically; the first thread creates the entry.
const COUNT: &str = "
    r6 = 0
    *(u64 *)(r10 - 8) = r6
    r6 = *(u32 *)(r1 + 4)
    *(u32 *)(r10 - 12) = r6
    r1 = map[counts]
    r2 = r10
    r2 += -12
    r3 = r10
    r3 += -8
    r4 = 1
    call bpf_map_update_elem
    r1 = map[counts]
    r2 = r10
    r2 += -12
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r1 = 1
    lock *(u64 *)(r0 + 0) += r1
out:
    r0 = 0
    exit
";

/// Instances can be sent to and shared between threads.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Instance>();
    is_shared::<Runtime>();
    is_shared::<MapHandle>();
};

#[test]
fn counts_of_threads_are_not_lost() {
    const THREADS: u64 = 4;
    const RUNS: u64 = 5_000;
    for map_type in [MapType::Hash, MapType::LruHash, MapType::Array] {
        for engine in &ENGINES {
            let maps: Arc<[MapDef]> = [map("counts", map_type, 8, 16)].into();
            let runtime = runtime();
            let object = runtime.create_maps(&maps, None);
            let program = program("count", ProgType::Syscall, COUNT, &maps);
            let instance = load(&runtime, &object, &program, engine);
            let _on = runtime.enable_stats(StatsOptions::default()).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let instance = &instance;
                    scope.spawn(move || {
                        for run in 0..RUNS {
                            let key = (run + thread) as u32 % 8;
                            let words = [0, key].map(u32::to_ne_bytes).concat();
                            let mut ctx = Ctx::raw(ProgType::Syscall, &words).unwrap();
                            instance.run(&mut ctx).unwrap();
                        }
                    });
                }
            });
            let counts = object.get("counts").unwrap().typed::<u32, u64>().unwrap();
            let total: u64 = (0..8).map(|key| counts.get(&key).unwrap().unwrap()).sum();
            assert_eq!(total, THREADS * RUNS, "{map_type} {engine:?}");
            assert_eq!(instance.stats().run_cnt, THREADS * RUNS);
        }
    }
}

/// Values consist of the same word four times; a reader may see an old or a new value, never a
/// mixture, although entries are constantly replaced, deleted and created.
#[test]
fn values_are_replaced_as_a_whole() {
    let runtime = runtime();
    for map_type in [MapType::Hash, MapType::LruHash] {
        let def = map("words", map_type, 32, 64);
        let handle = runtime.create_map(&def, None).unwrap();
        let words = handle.typed::<u32, [u64; 4]>().unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..2u64)
                .map(|writer| {
                    let words = words.clone();
                    scope.spawn(move || {
                        for n in 0..60_000u64 {
                            let key = (n * 7 + writer) as u32 % 100;
                            if n % 5 == 0 {
                                let _ = words.remove(&key);
                            } else {
                                let value = [n << 1 | writer; 4];
                                let _ = words.set(&key, &value, UpdateFlags::Any);
                            }
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                let mut seen = 0u64;
                // Once more at the end: on a busy machine this thread may start when the others
                // have finished.
                let mut last = false;
                while !last {
                    last = done.load(Ordering::Relaxed);
                    for key in 0..100 {
                        let Some(value) = words.get(&key).unwrap() else { continue };
                        assert_eq!(value, [value[0]; 4]);
                        seen += 1;
                    }
                }
                assert!(seen > 0);
            });
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            done.store(true, Ordering::Relaxed);
        });
        assert!(handle.entries().count() <= 64);
    }
}

#[test]
fn a_full_lru_map_takes_new_keys_and_keeps_what_is_used() {
    let runtime = runtime();
    let handle = runtime.create_map(&map("lru", MapType::LruHash, 8, 100), None).unwrap();
    let lru = handle.typed::<u32, u64>().unwrap();
    let maps: Arc<[MapDef]> = [map("counts", MapType::LruHash, 8, 100)].into();
    let object = runtime.create_maps(&maps, None);
    for key in 0..10_000u32 {
        lru.set(&key, &u64::from(key), UpdateFlags::NoExist).unwrap();
    }
    assert_eq!(handle.entries().count(), 100);
    // A key that programs look up between all insertions is not evicted.
    let program = program("count", ProgType::Syscall, COUNT, &maps);
    let instance = load(&runtime, &object, &program, &Engine::MachineCode);
    let count = |key: u32| {
        let words = [0, key].map(u32::to_ne_bytes).concat();
        instance.run(&mut Ctx::raw(ProgType::Syscall, &words).unwrap()).unwrap();
    };
    for key in 0..1_000 {
        count(7);
        count(1_000 + key);
    }
    let counts = object.get("counts").unwrap().typed::<u32, u64>().unwrap();
    // All had been looked up when the map became full for the first time: then any may be evicted.
    assert!(counts.get(&7).unwrap() >= Some(900));
}

const JUMP: &str = "
    r6 = r1
    r2 = map[jump]
    r3 = 0
    call bpf_tail_call
    r0 = 1
    exit
";

#[test]
fn a_target_is_replaced_while_threads_jump_to_it() {
    for engine in &ENGINES {
        let maps: Arc<[MapDef]> = [map("jump", MapType::ProgArray, 4, 2)].into();
        let runtime = runtime();
        let object = runtime.create_maps(&maps, None);
        let caller = program("caller", ProgType::Xdp, JUMP, &maps);
        let caller = load(&runtime, &object, &caller, engine);
        let jump = object.get("jump").unwrap();
        let _on = runtime.enable_stats(StatsOptions::default()).unwrap();
        let mut executions = 0;
        let (done, started) = (AtomicBool::new(false), Barrier::new(3));
        std::thread::scope(|scope| {
            let runners: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 60]).unwrap();
                        let mut seen = [0u64; 4];
                        seen[caller.run(&mut ctx).unwrap().retval as usize] += 1;
                        started.wait();
                        while !done.load(Ordering::Relaxed) {
                            let retval = caller.run(&mut ctx).unwrap().retval;
                            seen[retval as usize] += 1;
                        }
                        seen
                    })
                })
                .collect();
            started.wait();
            for round in 0..400u32 {
                let text = format!("r0 = {}\nexit\n", 2 + round % 2);
                let target = program("target", ProgType::Xdp, &text, &maps);
                let target = load(&runtime, &object, &target, engine);
                jump.update(&[0; 4], &target.id().to_ne_bytes(), UpdateFlags::Any).unwrap();
                // The instance is dropped; the slot keeps the program alive.
                drop(target);
                if round % 8 == 7 {
                    jump.delete(&[0; 4]).unwrap();
                }
            }
            done.store(true, Ordering::Relaxed);
            for runner in runners {
                let seen = runner.join().unwrap();
                assert_eq!(seen[0], 0);
                assert!(seen.iter().sum::<u64>() > 0);
                executions += seen.iter().sum::<u64>();
            }
        });
        assert_eq!(caller.stats().run_cnt, executions);
        assert_eq!(
            caller.run(&mut Ctx::packet(ProgType::Xdp, &[0; 60]).unwrap()).unwrap().retval,
            1
        );
    }
}

#[test]
fn a_chain_has_33_links() {
    // The number of programs that ran is stored in the first byte of the packet.
    let step = |next: u32| {
        format!(
            "r6 = r1
            r7 = *(u32 *)(r1 + 0)
            r8 = *(u32 *)(r1 + 4)
            r2 = r7
            r2 += 14
            if r2 > r8 goto out
            r2 = *(u8 *)(r7 + 0)
            r2 += 1
            *(u8 *)(r7 + 0) = r2
            r1 = r6
            r2 = map[jump]
            r3 = {next}
            call bpf_tail_call
        out:
            r0 = 2
            exit"
        )
    };
    for engine in &ENGINES {
        for (length, wanted) in [(2, 3), (33, 34), (34, 34), (40, 34)] {
            let maps: Arc<[MapDef]> = [map("jump", MapType::ProgArray, 4, 64)].into();
            let runtime = runtime();
            let object = runtime.create_maps(&maps, None);
            let jump = object.get("jump").unwrap();
            let mut instances = Vec::new();
            for at in 0..=length {
                let program = program("step", ProgType::Xdp, &step(at), &maps);
                let instance = load(&runtime, &object, &program, engine);
                if at > 0 {
                    let (key, id) = ((at - 1).to_ne_bytes(), instance.id().to_ne_bytes());
                    jump.update(&key, &id, UpdateFlags::Any).unwrap();
                }
                instances.push(instance);
            }
            let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 60]).unwrap();
            instances[0].run(&mut ctx).unwrap();
            assert_eq!(ctx.packet_bytes()[0], wanted, "{length} {engine:?}");
        }
    }
}

/// Counts down from the first word, in a loop with `may_goto`, which is walked once.
const LONG: &str = "
    r6 = 0
again:
    r6 += 1
    may_goto done
    goto again
done:
    r0 = 7
    exit
";

#[test]
fn fuel_and_interruption_end_a_run() {
    let maps: Arc<[MapDef]> = [].into();
    for engine in &ENGINES {
        let runtime = runtime();
        let object = runtime.create_maps(&maps, None);
        let program = program("long", ProgType::Syscall, LONG, &maps);
        let limited = runtime.load(&program, &object, &options(engine, Some(1000))).unwrap();
        let mut ctx = Ctx::raw(ProgType::Syscall, &[0; 8]).unwrap();
        for _ in 0..2 {
            let error = limited.run(&mut ctx).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Stopped);
            assert!(error.to_string().contains("out of fuel"), "{error}");
        }
        let enough = runtime.load(&program, &object, &options(engine, Some(1 << 40))).unwrap();
        assert_eq!(enough.run(&mut ctx).unwrap().retval, 7);
    }
    // Between two backward jumps.
    let runtime = runtime();
    let object = runtime.create_maps(&maps, None);
    let program = program("long", ProgType::Syscall, LONG, &maps);
    let instance =
        runtime.load(&program, &object, &options(&Engine::MachineCode, Some(1 << 40))).unwrap();
    let mut ctx = Ctx::raw(ProgType::Syscall, &[0; 8]).unwrap();
    let interrupter = ctx.interrupter();
    let stopper = std::thread::spawn(move || {
        for _ in 0..1_000 {
            interrupter.interrupt();
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let stopped = (0..500).any(|_| match instance.run(&mut ctx) {
        Err(error) => error.to_string().contains("interrupted"),
        Ok(_) => false,
    });
    assert!(stopped);
    drop(stopper);
}

/// A loop that touches no memory.
const ONLY_REGISTERS: &str = "
    r0 = 0
    r1 = 0
again:
    r0 += r1
    r1 += 1
    if r1 < 300000 goto again
    r0 = 7
    exit
";

#[test]
fn runs_that_touch_no_memory_are_stopped_too() {
    let maps: Arc<[MapDef]> = [].into();
    for engine in &ENGINES {
        let runtime = runtime();
        let object = runtime.create_maps(&maps, None);
        let program = program("long", ProgType::Syscall, ONLY_REGISTERS, &maps);
        let load = |fuel| runtime.load(&program, &object, &options(engine, Some(fuel))).unwrap();
        let mut ctx = Ctx::raw(ProgType::Syscall, &[0; 8]).unwrap();
        let error = load(1000).run(&mut ctx).unwrap_err().to_string();
        assert!(error.contains("out of fuel"), "{engine:?}: {error}");
        let long = load(1 << 40);
        ctx.interrupter().interrupt();
        let error = long.run(&mut ctx).unwrap_err().to_string();
        assert!(error.contains("interrupted"), "{engine:?}: {error}");
        assert_eq!(long.run(&mut ctx).unwrap().retval, 7);
    }
}

#[test]
fn repeated_runs_without_a_loop_can_be_interrupted() {
    let maps: Arc<[MapDef]> = [].into();
    let program = program("short", ProgType::Syscall, "r0 = 7\nexit", &maps);
    for engine in &ENGINES {
        for fuel in [None, Some(1000)] {
            let runtime = runtime();
            let object = runtime.create_maps(&maps, None);
            let instance = runtime.load(&program, &object, &options(engine, fuel)).unwrap();
            let mut ctx = Ctx::raw(ProgType::Syscall, &[0; 8]).unwrap();
            ctx.interrupter().interrupt();
            let done = instance.test_run(&mut ctx, u32::MAX).unwrap();
            assert_eq!((done.runs, done.result.retval), (1, 7));
            let done = instance.test_run(&mut ctx, 2).unwrap();
            assert_eq!((done.runs, done.result.retval), (2, 7));
        }
    }
}

#[test]
fn what_does_not_fit_together_is_an_error() {
    let maps: Arc<[MapDef]> = [].into();
    let runtime =
        Runtime::new(Options { cpus: 1, memory_bytes_max: 1 << 20, ..Options::default() }).unwrap();
    let object = runtime.create_maps(&maps, None);
    let xdp = program("xdp", ProgType::Xdp, "r0 = 2\nexit\n", &maps);
    let xdp = load(&runtime, &object, &xdp, &Engine::MachineCode);
    let mut other = Ctx::raw(ProgType::Syscall, &[0; 8]).unwrap();
    let error = xdp.run(&mut other).unwrap_err().to_string();
    assert!(error.contains("has type xdp, but the context is for syscall"), "{error}");

    let reads = program("reads", ProgType::Syscall, "r0 = *(u64 *)(r1 + 8)\nexit\n", &maps);
    let reads = load(&runtime, &object, &reads, &Engine::MachineCode);
    let error = reads.run(&mut other).unwrap_err().to_string();
    assert!(error.contains("needs a context of 16 bytes, got 8"), "{error}");

    let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 60]).unwrap();
    xdp.run(&mut ctx).unwrap();
    let second = xdp.clone();
    // No thread owns the only CPU permanently.
    let ran = std::thread::spawn(move || {
        let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 60]).unwrap();
        second.run(&mut ctx).map(|result| result.retval)
    });
    assert_eq!(ran.join().unwrap(), Ok(2));
    xdp.run(&mut ctx).unwrap();

    let large = map("large", MapType::Array, 1 << 20, 16);
    let error = runtime.create_map(&large, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert!(error.to_string().starts_with("map 'large' (array): ENOMEM"), "{error}");
    let storage = MapDef { map_type: MapType::TaskStorage, max_entries: 0, ..large.clone() };
    let error = runtime.create_map(&storage, None).unwrap_err().to_string();
    assert!(error.contains("map 'large' (task_storage)"), "{error}");
    assert!(runtime.create_map(&MapDef { value_size: 0, ..large }, None).is_err());
    assert!(Ctx::packet(ProgType::Kprobe, &[0; 60]).is_err());
    assert!(Ctx::raw(ProgType::Xdp, &[0; 60]).is_err());
    for prog_type in
        [ProgType::CgroupSockopt, ProgType::StructOps, ProgType::Netfilter, ProgType::SockOps]
    {
        let error = Ctx::raw(prog_type, &[0; 64]).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported, "{error}");
    }
}

thread_local! {
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
}

/// Uses a map and a program while its thread exits.
struct Late {
    map: MapHandle,
    instance: Instance,
    seen: Arc<AtomicU64>,
}

impl Drop for Late {
    fn drop(&mut self) {
        let value = self.map.lookup(&0u32.to_ne_bytes()).unwrap();
        self.seen.fetch_add(u64::from(value[0]), Ordering::Relaxed);
        // A slot may no longer be available.
        let _ = self.instance.run(&mut Ctx::packet(ProgType::Xdp, &[0; 60]).unwrap());
    }
}

/// More threads, one after another, than may run programs at once: none keeps a slot, even if it
/// runs a program in a destructor after it has freed its slot.
#[test]
fn destructors_of_threads_leave_nothing_behind() {
    let maps: Arc<[MapDef]> = [map("one", MapType::Array, 8, 1)].into();
    let runtime = runtime();
    let object = runtime.create_maps(&maps, None);
    let one = object.get("one").unwrap();
    one.update(&0u32.to_ne_bytes(), &1u64.to_ne_bytes(), UpdateFlags::Any).unwrap();
    let program = program("late", ProgType::Xdp, "r0 = 2\nexit\n", &maps);
    let instance = load(&runtime, &object, &program, &Engine::MachineCode);
    let _on = instance.enable_stats(StatsOptions::default()).unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let threads = 2 * THREADS_MAX as u64;
    for _ in 0..threads {
        let late = Late { map: one.clone(), instance: instance.clone(), seen: seen.clone() };
        let run = instance.clone();
        let thread = std::thread::spawn(move || {
            // Set before the thread runs anything, so that it is dropped last.
            LATE.set(Some(late));
            run.run(&mut Ctx::packet(ProgType::Xdp, &[0; 60]).unwrap()).unwrap();
        });
        thread.join().unwrap();
    }
    assert_eq!(seen.load(Ordering::Relaxed), threads);
    assert!(instance.stats().run_cnt >= threads);
}
