//! As many threads and CPUs as on large hosts: all run at once, each with its own counters.

use skep_insn::asm::assemble;
use skep_program::{MapDef, Program};
use skep_runtime::{Ctx, Engine, LoadOptions, Options, Runtime};
use skep_runtime::{StatsOptions, THREADS_MAX};
use skep_uapi::helper::HelperId;
use skep_uapi::{KernelProfile, MapType, ProgType};
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

const THREADS: usize = 600;
const CPUS: u32 = 480;
const RUNS: u64 = 50;
/// Adds 1 to its CPU's value.
const COUNTS: &str = "r1 = 0
    *(u32 *)(r10 - 4) = r1
    r2 = r10
    r2 += -4
    r1 = map[values]
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r1 = *(u64 *)(r0 + 0)
    r1 += 1
    *(u64 *)(r0 + 0) = r1
out:
    call bpf_get_smp_processor_id
    exit";

fn maps() -> Arc<[MapDef]> {
    let [key_size, value_size, max_entries] = [4, 8, 1];
    let map_type = MapType::PercpuArray;
    let name = "values".into();
    [MapDef { name, map_type, key_size, value_size, max_entries, ..MapDef::default() }].into()
}

fn program(nr_cpu_ids: u32) -> VerifiedProgram {
    let helper = |name: &str| HelperId::from_name(name).map(|id| id as u32);
    let insns = assemble(COUNTS, &helper).unwrap().insns;
    let (prog_type, license) = (ProgType::Xdp, "GPL".into());
    let program = Program { prog_type, license, insns, maps: maps(), ..Program::default() };
    let config = Config { nr_cpu_ids, ..Config::privileged(KernelProfile::v6_18()) };
    match verify(&program, &config).verdict {
        Verdict::Accepted(program) => *program,
        other => panic!("{other:?}"),
    }
}

/// 600 threads at once: as many run as there are CPUs, the others wait. Each run is counted.
fn all_at_once(cpus: u32, engine: Engine) {
    let runtime = Runtime::new(Options { cpus, ..Options::default() }).unwrap();
    let maps = runtime.create_maps(&maps(), None);
    let options = LoadOptions { engine, ..LoadOptions::default() };
    let program = runtime.load(&program(cpus), &maps, &options).unwrap();
    let _on = runtime.enable_stats(StatsOptions::default()).unwrap();
    let (all, moved) = (Barrier::new(THREADS), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
                let first = program.run(&mut ctx);
                let first = first.unwrap();
                assert!(first.r0 < cpus.into());
                // No thread exits and frees its slot before all have one.
                all.wait();
                for _ in 1..RUNS {
                    let next = program.run(&mut ctx).unwrap();
                    moved.fetch_add((next.r0 != first.r0).into(), Ordering::Relaxed);
                }
            });
        }
    });
    let runs = THREADS as u64 * RUNS;
    assert_eq!(program.stats().run_cnt, runs);
    let values = maps.get("values").unwrap().typed::<u32, u64>().unwrap();
    let values = values.get_percpu(&0).unwrap();
    assert_eq!(values.len(), cpus as usize);
    assert_eq!(values.iter().sum::<u64>(), runs, "{values:?}");
    if cpus as usize >= THREADS {
        assert_eq!(moved.into_inner(), 0);
        assert!(values.iter().take(THREADS).all(|value| *value == RUNS), "{values:?}");
    }
}

#[test]
fn more_threads_than_a_large_host_has() {
    for engine in [Engine::MachineCode, Engine::Interpreter] {
        for cpus in [1, CPUS, THREADS as u32, THREADS_MAX as u32] {
            all_at_once(cpus, engine.clone());
        }
    }
}

#[test]
fn a_runtime_has_at_least_one_cpu_and_at_most_as_many_as_threads() {
    const { assert!(THREADS_MAX >= 4096) };
    for (cpus, is_good) in [(0, false), (1, true), (4096, true), (THREADS_MAX as u32 + 1, false)] {
        let made = Runtime::new(Options { cpus, ..Options::default() });
        assert_eq!(made.map(drop).map_err(|why| why.kind()).is_ok(), is_good);
    }
    assert!(Options::default().cpus as usize <= THREADS_MAX);
    Runtime::new(Options::default()).unwrap();
}

/// Per-thread memory is only committed for threads that have used it.
#[test]
fn programs_take_no_memory_for_threads_that_do_not_run() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        status.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let runtime = Runtime::new(Options { cpus: 2, ..Options::default() }).unwrap();
    let maps = runtime.create_maps(&maps(), None);
    let program = program(2);
    let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
    let mut run = || {
        let one = runtime.load(&program, &maps, &LoadOptions::default()).unwrap();
        let on = one.enable_stats(StatsOptions::default()).unwrap();
        one.run(&mut ctx).unwrap();
        (one, on)
    };
    let first = run();
    let before = resident();
    let rest: Vec<_> = (0..64).map(|_| run()).collect();
    let each = resident().saturating_sub(before) / rest.len();
    // Its slots alone are 2 MiB; other tests' threads may start meanwhile.
    assert!(each < 512 << 10, "{each} bytes");
    drop((first, rest));
}
