//! Runs the shipped objects on both engines.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use skep_object::{Object, OpenOptions};
use skep_program::Program;
use skep_runtime::map::MapHandle;
use skep_runtime::{Ctx, Engine, Instance, LoadOptions, ObjectMaps, Options, Runtime};
use skep_uapi::KernelProfile;
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::path::Path;
use std::time::{Duration, Instant};

const ENGINES: [Engine; 2] = [Engine::Interpreter, Engine::MachineCode];

fn open(file: &str) -> Object {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(file);
    let bytes = std::fs::read(path).unwrap();
    let options = OpenOptions { name: file.to_owned(), cpus: 2, ..OpenOptions::default() };
    Object::open(&bytes, &options).unwrap()
}

fn verified(program: &Program) -> VerifiedProgram {
    let outcome = verify(program, &Config::privileged(KernelProfile::v6_18()));
    match outcome.verdict {
        Verdict::Accepted(program) => *program,
        other => panic!("{}: {other:?}", program.name),
    }
}

struct Loaded {
    _runtime: Runtime,
    maps: ObjectMaps,
    instances: Vec<Instance>,
}

fn load(file: &str, engine: &Engine) -> Loaded {
    let object = open(file);
    let runtime = Runtime::new(Options { cpus: 4, ..Options::default() }).unwrap();
    let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
    let options = LoadOptions { engine: engine.clone(), ..LoadOptions::default() };
    let programs = object.programs.iter().map(|entry| verified(entry.program.as_ref().unwrap()));
    let instances = programs.map(|program| runtime.load(&program, &maps, &options).unwrap());
    let instances = instances.collect();
    Loaded { _runtime: runtime, maps, instances }
}

fn udp(len: usize) -> Vec<u8> {
    let mut packet = vec![0; len.max(42)];
    packet[12..14].copy_from_slice(&[8, 0]);
    packet[14] = 0x45;
    packet[23] = 17;
    packet
}

#[test]
fn xdp_counts_packets() {
    for engine in &ENGINES {
        let loaded = load("xdp_count.bpf.o", engine);
        for instance in &loaded.instances {
            let mut ctx = Ctx::packet(instance.prog_type(), &udp(60)).unwrap();
            let first = instance.run(&mut ctx).unwrap();
            for _ in 0..9 {
                ctx.set_packet(&udp(60)).unwrap();
                let again = instance.run(&mut ctx).unwrap();
                assert_eq!((again.retval, again.insns), (first.retval, first.insns));
            }
        }
        // The packet's protocol is UDP; one run each of two programs was counted.
        let packets = loaded.maps.get("packets").unwrap().typed::<u32, u64>().unwrap();
        assert_eq!(packets.get_percpu(&17).unwrap().iter().sum::<u64>(), 10);
        assert_eq!(packets.get_percpu(&6).unwrap().iter().sum::<u64>(), 0);
    }
}

/// The timers of an array and of a hash expire five times; then there is nothing to cancel.
#[test]
fn timers_expire_on_a_thread_of_the_runtime() {
    for engine in &ENGINES {
        let loaded = load("timer.bpf.o", engine);
        let find = |name: &str| loaded.instances.iter().find(|i| i.name() == name).unwrap();
        let (begin, end) = (find("timer_begin"), find("timer_end"));
        let mut ctx = Ctx::packet(begin.prog_type(), &udp(60)).unwrap();
        // Not started, so there is nothing to cancel: EINVAL.
        assert_eq!(end.run(&mut ctx).unwrap().retval as i32, -22);
        assert_eq!(begin.run(&mut ctx).unwrap().retval, 0);
        let ticks = |map: &str, key: u32| {
            let map = loaded.maps.get(map).unwrap().typed::<u32, [u64; 3]>().unwrap();
            map.get(&key).unwrap().unwrap()
        };
        let started = Instant::now();
        while (ticks("timers", 0)[0], ticks("named", 7)[0]) != (5, 5) {
            assert!(started.elapsed() < Duration::from_secs(20), "{engine:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        // User space does not see the contents of the timer.
        assert_eq!(ticks("timers", 0)[1..], [0, 0]);
        assert_eq!(end.run(&mut ctx).unwrap().retval, 0);
        // Started twice: EBUSY.
        assert_eq!(begin.run(&mut ctx).unwrap().retval, 2);
    }
}

/// A timer's callback is no longer called when its program is gone, even if another program is at
/// its address.
#[test]
fn a_timer_does_not_outlive_its_program() {
    let object = open("timer.bpf.o");
    let program = verified(object.programs[0].program.as_ref().unwrap());
    for engine in &ENGINES {
        for _ in 0..200 {
            let runtime = Runtime::new(Options { cpus: 2, ..Options::default() }).unwrap();
            let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
            // The code with fuel is different: the callback is at another address.
            let load = |fuel| {
                let engine = engine.clone();
                let options = LoadOptions { engine, fuel, ..LoadOptions::default() };
                runtime.load(&program, &maps, &options).unwrap()
            };
            let first = load(None);
            let mut ctx = Ctx::packet(first.prog_type(), &udp(60)).unwrap();
            assert_eq!(first.run(&mut ctx).unwrap().retval, 0);
            drop(first);
            let second = load(Some(1 << 20));
            let timers = maps.get("timers").unwrap().typed::<u32, [u64; 3]>().unwrap();
            let ticks = || timers.get(&0).unwrap().unwrap()[0];
            let before = ticks();
            std::thread::sleep(Duration::from_millis(2));
            // One call may have been in progress.
            assert!(ticks() <= before + 1, "{engine:?}");
            drop(second);
        }
    }
}

/// Fuel runs out at the same point on both engines, with the same effects so far.
#[test]
fn both_engines_stop_at_the_same_place() {
    // Iterations of a loop; of one bounded by the packet; callbacks; calls.
    let mut taken = Vec::new();
    for file in ["loops.bpf.o", "calls.bpf.o", "map_kinds.bpf.o"] {
        let object = open(file);
        let all = object.programs.iter().filter_map(|entry| entry.program.as_ref().ok());
        for program in all.map(verified) {
            let run = |engine: &Engine, fuel| {
                let runtime = Runtime::new(Options { cpus: 1, ..Options::default() }).unwrap();
                let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
                let (engine, fuel) = (engine.clone(), Some(fuel));
                let options = LoadOptions { engine, fuel, ..LoadOptions::default() };
                let instance = runtime.load(&program, &maps, &options).unwrap();
                let mut ctx = Ctx::packet(instance.prog_type(), &udp(60)).unwrap();
                // The callback goes on while the sum, which starts with it, is not 0.
                ctx.set_field("hash", 1).unwrap();
                let result = instance.run(&mut ctx).map(|ran| (ran.retval, ran.fuel.unwrap()));
                let held: Vec<_> = maps.all().iter().flatten().map(contents).collect();
                let stopped = result.map_err(|e| e.to_string().contains("out of fuel"));
                (stopped, ctx.packet_bytes(), held)
            };
            let [by_interp, by_jit] = ENGINES.each_ref().map(|engine| run(engine, 1 << 20));
            assert_eq!(by_interp, by_jit, "{}", program.program().name);
            let (_, used) = by_interp.0.unwrap();
            let near = [1, used / 2, used.saturating_sub(1), used];
            for fuel in near.into_iter().filter(|fuel| *fuel <= used) {
                let [by_interp, by_jit] = ENGINES.each_ref().map(|engine| run(engine, fuel));
                assert_eq!(by_interp, by_jit, "{} {fuel}", program.program().name);
                assert_eq!(by_interp.0.is_ok(), fuel == used);
                assert_ne!(by_interp.0, Err(false));
            }
            taken.push((program.program().name.clone(), used));
        }
    }
    let of = |name: &str| taken.iter().find(|(other, _)| other == name).map(|(_, used)| *used);
    assert_eq!((of("loop_constant"), of("loop_callback")), (Some(63), Some(1000)));
}

/// The contents of a map, as far as user space can read them.
fn contents(map: &MapHandle) -> Vec<(Vec<u8>, Vec<u8>)> {
    map.entries().collect()
}

/// The callback has no loop of its own.
#[test]
fn a_run_is_stopped_between_callbacks() {
    let object = open("loops.bpf.o");
    let named = object.programs.iter().find(|entry| entry.name == "loop_callback").unwrap();
    let program = verified(named.program.as_ref().unwrap());
    for engine in &ENGINES {
        let runtime = Runtime::new(Options::default()).unwrap();
        let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
        let load = |fuel| {
            let engine = engine.clone();
            let options = LoadOptions { engine, fuel: Some(fuel), ..LoadOptions::default() };
            runtime.load(&program, &maps, &options).unwrap()
        };
        let (little, enough) = (load(500), load(1 << 20));
        let mut ctx = Ctx::packet(enough.prog_type(), &udp(60)).unwrap();
        // The callback goes on while the sum, which starts with it, is not 0.
        ctx.set_field("hash", 1).unwrap();
        let error = little.run(&mut ctx).unwrap_err().to_string();
        assert!(error.contains("out of fuel"), "{error}");
        ctx.interrupter().interrupt();
        let error = enough.run(&mut ctx).unwrap_err().to_string();
        assert!(error.contains("interrupted"), "{error}");
        assert!(enough.run(&mut ctx).is_ok());
    }
}

/// The tag of each shipped program equals that computed by the host kernel (from 6.18 on).
#[test]
fn tags_are_the_kernels() {
    if let Err(why) = skep_kernel::reference::answers(&KernelProfile::v6_18()) {
        return eprintln!("skipped: {why}");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let mut compared = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        if !file.ends_with(".bpf.o") {
            continue;
        }
        let object = open(&file);
        for program in object.programs.iter().filter_map(|entry| entry.program.as_ref().ok()) {
            let Ok(prepared) = skep_kernel::judge::Prepared::new(program) else { continue };
            let Some(tag) = prepared.tag() else { continue };
            assert_eq!(program.tag(), tag, "{file}: {}", program.name);
            compared += 1;
        }
    }
    assert!(compared > 0);
}
