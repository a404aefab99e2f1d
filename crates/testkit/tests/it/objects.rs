//! The results of programs that allocate objects (`tests/programs/kfuncs`), in the kernel and here.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use skep::program::Program;
use skep::uapi::ProgType;
use skep::{Host, KernelBtf};
use skep_kernel::bpf::RunInput;
use skep_kernel::judge::as_loaded;
use skep_kernel::run::Loaded;
use skep_runtime::{Ctx, Engine, LoadOptions, Options, Runtime};
use skep_testkit::judge::Judge;
use skep_testkit::{engine, objects};

/// Results of two runs, the second of which finds what the first left in lists, trees and values;
/// from Linux 6.18.
const WANTED: [(&str, &str, [i32; 2]); 9] = [
    ("objects", "list_order", [54_542_319; 2]),
    ("objects", "tree_order", [10_112_360; 2]),
    ("objects", "two_places", [4242; 2]),
    ("objects", "in_values", [30_008, 530_008]),
    ("owners", "owns_others", [104_725; 2]),
    ("owners", "tree_search", [52_741_648; 2]),
    ("owners", "each_cpu", [41; 2]),
    ("owners", "set_in_value", [123; 2]),
    ("shapes", "tree_shape", [-669_222_767, 965_933_355]),
];

#[test]
fn objects_go_where_they_are_put() {
    // Kfuncs need the kernel's BTF.
    let judge = Judge::here();
    judge.skips().iter().for_each(|line| eprintln!("skipped: {line}"));
    if judge.btf().is_none() {
        return;
    }
    let host = Host::read(&KernelBtf::Running).unwrap();
    stay_on_this_cpu();
    for (file, name, wanted) in WANTED {
        let object = objects::open(&host, format!("programs/kfuncs/{file}.bpf.o"));
        let entry = object.programs.iter().find(|entry| &*entry.name == name).unwrap();
        let program = as_loaded(entry.program.as_ref().unwrap());
        if judge.answers.is_ok() {
            let loaded = Loaded::new(std::slice::from_ref(&program)).unwrap();
            let packet = RunInput { data: &[0; 64], repeat: 1, ..RunInput::default() };
            for (run, wanted) in wanted.into_iter().enumerate() {
                let input = match program.prog_type {
                    ProgType::Syscall => RunInput::default(),
                    _ => packet,
                };
                let ran = loaded.run(&input).unwrap().retval as i32;
                assert_eq!(ran, wanted, "{name} in the kernel, run {run}");
            }
        }
        for engine in [Engine::Interpreter, Engine::MachineCode] {
            runs_here(&program, engine, name, wanted);
        }
    }
}

/// A tree that grows does so within the limit of the runtime.
#[test]
fn objects_count_as_memory() {
    let judge = Judge::here();
    if judge.btf().is_none() {
        return;
    }
    let host = Host::read(&KernelBtf::Running).unwrap();
    let object = objects::open(&host, "programs/kfuncs/shapes.bpf.o");
    let program = as_loaded(object.programs[0].program.as_ref().unwrap());
    let verified = engine::verified(&program).unwrap();
    for (limit, least) in [(64 << 20, 10), (64 << 10, 0)] {
        let options = Options { cpus: 1, memory_bytes_max: limit, ..Options::default() };
        let runtime = Runtime::new(options).unwrap();
        let maps = runtime.create_maps(&program.maps, program.btf.as_ref());
        let instance = runtime.load(&verified, &maps, &LoadOptions::default()).unwrap();
        let before = runtime.memory_bytes();
        let mut ctx = Ctx::packet(program.prog_type, &[0; 64]).unwrap();
        for _ in 0..3 {
            instance.run(&mut ctx).unwrap();
            let (objects, bytes) = (runtime.objects(), runtime.memory_bytes());
            assert!(objects >= least && objects <= limit / 500, "{objects} objects");
            assert!(bytes >= before + 500 * objects && bytes <= limit, "{before}, {bytes} bytes");
        }
    }
}

/// Binds the thread to a CPU: per-CPU maps depend on the CPU that runs the kernel's test.
fn stay_on_this_cpu() {
    let mut here = CpuSet::new();
    here.set(sched_getcpu());
    sched_setaffinity(None, &here).unwrap();
}

fn runs_here(program: &Program, engine: Engine, name: &str, wanted: [i32; 2]) {
    let verified = engine::verified(program).unwrap();
    let runtime = Runtime::new(Options { cpus: 2, ..Options::default() }).unwrap();
    let maps = runtime.create_maps(&program.maps, program.btf.as_ref());
    let options = LoadOptions { engine: engine.clone(), ..LoadOptions::default() };
    let instance = runtime.load(&verified, &maps, &options).unwrap();
    for (run, wanted) in wanted.into_iter().enumerate() {
        let mut ctx = match program.prog_type {
            ProgType::Syscall => Ctx::raw(ProgType::Syscall, &[]).unwrap(),
            prog_type => Ctx::packet(prog_type, &[0; 64]).unwrap(),
        };
        let ran = instance.run(&mut ctx).unwrap().retval as i32;
        assert_eq!(ran, wanted, "{name}, {engine:?}, run {run}");
    }
}
