//! Runs that are stopped while they hold resources (`tests/programs/kfuncs/held.bpf.c`): the next
//! run can acquire all of them again, on either engine, wherever the previous one was stopped.

use skep::object::Object;
use skep::program::Program;
use skep::{Host, KernelBtf};
use skep_runtime::{Ctx, Engine, ErrorKind, Instance, LoadOptions};
use skep_runtime::{ObjectMaps, Options, Runtime};
use skep_testkit::{engine, objects};
use std::sync::mpsc;
use std::time::Duration;

const ENGINES: [Engine; 2] = [Engine::Interpreter, Engine::MachineCode];
/// More fuel than any of the programs needs.
const ENOUGH: u64 = 10_000;
/// A lock that is never released would be waited for forever.
const PATIENCE: Duration = Duration::from_secs(120);

/// The object, if the kfuncs' types are available.
fn object() -> Option<Object> {
    let host = Host::read(&KernelBtf::Running).ok()?;
    host.kernel_btf.as_ref()?;
    Some(objects::open(&host, "programs/kfuncs/held.bpf.o"))
}

struct Loaded {
    runtime: Runtime,
    maps: ObjectMaps,
    program: Program,
    engine: Engine,
}

impl Loaded {
    fn new(object: &Object, name: &str, engine: &Engine) -> Loaded {
        let runtime =
            Runtime::new(Options { cpus: skep::possible_cpus(), ..Options::default() }).unwrap();
        let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
        let entry = object.programs.iter().find(|entry| &*entry.name == name).unwrap();
        let program = entry.program.as_ref().unwrap().clone();
        Loaded { runtime, maps, program, engine: engine.clone() }
    }

    fn with_fuel(&self, fuel: u64) -> Instance {
        let verified = engine::verified(&self.program).unwrap();
        let options =
            LoadOptions { engine: self.engine.clone(), fuel: Some(fuel), ..LoadOptions::default() };
        self.runtime.load(&verified, &self.maps, &options).unwrap()
    }

    fn ctx(&self) -> Ctx {
        Ctx::packet(self.program.prog_type, &[0; 64]).unwrap()
    }

    fn consumed(&self) -> usize {
        self.maps.get("ring").unwrap().consume(|_| true).unwrap()
    }
}

/// Ends the process if `work` does not finish: a spinning thread cannot be joined.
fn in_time(work: impl FnOnce()) {
    let (done, waits) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if waits.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                std::process::abort();
            }
        });
        work();
        drop(done);
    });
}

#[test]
fn a_run_that_is_stopped_gives_back_what_it_holds() {
    let Some(object) = object() else { return };
    let programs = [
        "lock",
        "lock_in_callee",
        "record",
        "record_in_callback",
        "record_of_dynptr",
        "object",
        "object_of_value",
        "tree_of_objects",
    ];
    for (name, engine) in programs.iter().flat_map(|name| ENGINES.iter().map(move |e| (name, e))) {
        in_time(|| {
            let loaded = Loaded::new(&object, name, engine);
            let full = loaded.with_fuel(ENOUGH);
            let needs = full.run(&mut loaded.ctx()).unwrap().fuel.unwrap();
            let records = loaded.consumed();
            let objects = loaded.runtime.objects();
            for fuel in 0..needs {
                let stopped = loaded.with_fuel(fuel).run(&mut loaded.ctx()).unwrap_err();
                assert_eq!(stopped.kind(), ErrorKind::Stopped, "{name}, {engine:?}, {fuel}");
                assert_eq!(loaded.consumed(), 0, "{name}, {engine:?}, {fuel}");
                let in_tree = loaded.runtime.objects();
                let whole = full.run(&mut loaded.ctx()).unwrap();
                assert_eq!(whole.retval, 0, "{name}, {engine:?}, {fuel}");
                assert_eq!(loaded.consumed(), records, "{name}, {engine:?}, {fuel}");
                // Nodes in a tree stay there, and a value may have lost its object.
                let more = if *name == "tree_of_objects" { in_tree } else { objects };
                assert_eq!(loaded.runtime.objects(), more, "{name}, {engine:?}, {fuel}");
            }
            assert!(needs >= 19, "{name}, {engine:?}: {needs}");
        });
    }
}

/// Objects that a stopped run inserted into a tree stay there; those that it held are released.
#[test]
fn only_what_is_in_the_tree_stays() {
    let Some(object) = object() else { return };
    for engine in &ENGINES {
        let loaded = Loaded::new(&object, "tree_of_objects", engine);
        let full = loaded.with_fuel(ENOUGH);
        let needs = full.run(&mut loaded.ctx()).unwrap().fuel.unwrap();
        let mut most = 0;
        for fuel in 0..needs {
            let fresh = Loaded::new(&object, "tree_of_objects", engine);
            fresh.with_fuel(fuel).run(&mut fresh.ctx()).unwrap_err();
            let left = fresh.runtime.objects();
            assert!(left <= 4, "{engine:?}, {fuel}: {left}");
            most = most.max(left);
            drop(fresh);
        }
        // All four were in the tree before the first was removed.
        assert!(most >= 3, "{engine:?}: {most}");
    }
}

/// A sample at which a run was stopped is delivered to the next run.
#[test]
fn samples_of_a_stopped_drain_are_there_again() {
    let Some(object) = object() else { return };
    for engine in &ENGINES {
        let loaded = Loaded::new(&object, "drain", engine);
        let samples = loaded.maps.get("samples").unwrap();
        let put = || (0..3).for_each(|n| samples.user_ringbuf_write(&[n; 8]).unwrap());
        put();
        let full = loaded.with_fuel(ENOUGH);
        let whole = full.run(&mut loaded.ctx()).unwrap();
        assert_eq!(whole.retval, 3);
        let each = whole.fuel.unwrap() / 3;
        for fuel in 0..whole.fuel.unwrap() {
            put();
            let stopped = loaded.with_fuel(fuel).run(&mut loaded.ctx()).unwrap_err();
            assert_eq!(stopped.kind(), ErrorKind::Stopped, "{engine:?}, {fuel}");
            let left = full.run(&mut loaded.ctx()).unwrap().retval;
            assert_eq!(u64::from(left), 3 - fuel / each, "{engine:?}, {fuel}");
        }
    }
}

/// A global function that throws ends the run of its caller, which holds an object.
#[test]
fn a_thrown_run_gives_back_what_its_callers_hold() {
    let Some(_) = object() else { return };
    let host = Host::read(&KernelBtf::Running).unwrap();
    let object = objects::open(&host, "kernels/witnesses/newer.bpf.o");
    for engine in &ENGINES {
        let loaded = Loaded::new(&object, "throws_with_object", engine);
        let program = loaded.with_fuel(ENOUGH);
        for mark in [0, 9] {
            let mut ctx = loaded.ctx();
            ctx.set_field("mark", mark).unwrap();
            assert_eq!(program.run(&mut ctx).unwrap().r0, if mark > 5 { mark } else { 0 });
            assert_eq!(loaded.runtime.objects(), 0, "{engine:?}, {mark}");
        }
    }
}
