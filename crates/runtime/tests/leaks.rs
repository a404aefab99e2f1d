//! Runtimes, programs and maps leave nothing behind when they are dropped, however their runs
//! ended: no heap blocks, no memory, no mappings of code or maps, no files.
//!
//! A single test in a separate process, because it counts resources of the whole process. `cargo
//! xtask leaks` also runs it under LeakSanitizer, which reports where a block was allocated.

use skep_object::{Object, OpenOptions};
use skep_program::Program;
use skep_runtime::{Ctx, Engine, LoadOptions, Options, Runtime};
use skep_uapi::{KernelProfile, ProgType};
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

const FILES: [&str; 4] = ["loops.bpf.o", "map_kinds.bpf.o", "timer.bpf.o", "xdp_count.bpf.o"];
/// Rounds before the first measurement: caches are filled then.
const WARM_UP: u32 = 40;
const ROUNDS: u32 = 400;
/// Pages that 400 rounds may add: far less than one page per round.
const PAGES_MAX: u64 = 200;

/// Allocated blocks and bytes of the heap.
static BLOCKS: AtomicI64 = AtomicI64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);

/// Blocks that may remain after 400 rounds, for the test's own bookkeeping.
const BLOCKS_MAX: i64 = 8;
const BYTES_MAX: i64 = 4096;

struct Counted;

#[global_allocator]
static HEAP: Counted = Counted;

// SAFETY: forwards to the system's allocator; the counters do not affect it.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.fetch_add(1, Relaxed);
        BYTES.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BLOCKS.fetch_sub(1, Relaxed);
        BYTES.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

fn open(file: &str) -> Object {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(file);
    let options = OpenOptions { name: file.to_owned(), cpus: 2, ..OpenOptions::default() };
    Object::open(&std::fs::read(path).unwrap(), &options).unwrap()
}

fn verified(program: &Program) -> Option<VerifiedProgram> {
    match verify(program, &Config::privileged(KernelProfile::v6_18())).verdict {
        Verdict::Accepted(program) => Some(*program),
        _ => None,
    }
}

/// Loads everything and runs it: to the end, without fuel, interrupted, with a wrong context.
fn round(objects: &[(Object, Vec<VerifiedProgram>)], engine: &Engine) {
    for (object, programs) in objects {
        let runtime = Runtime::new(Options { cpus: 2, ..Options::default() }).unwrap();
        let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
        for (program, fuel) in programs.iter().flat_map(|p| [(p, None), (p, Some(1))]) {
            let options = LoadOptions { engine: engine.clone(), fuel, ..LoadOptions::default() };
            let instance = runtime.load(program, &maps, &options).unwrap();
            let mut wrong = Ctx::raw(ProgType::Syscall, &[0; 8]).unwrap();
            assert!(instance.run(&mut wrong).is_err());
            let Ok(mut ctx) = Ctx::packet(instance.prog_type(), &[1; 60]) else { continue };
            let _ = instance.run(&mut ctx);
            ctx.interrupter().interrupt();
            let _ = instance.run(&mut ctx);
        }
    }
}

/// Errors while loading: a map that is too large, a missing map.
fn round_of_errors(objects: &[(Object, Vec<VerifiedProgram>)]) {
    let mut errors = 0;
    for (object, programs) in objects {
        let options = Options { cpus: 2, memory_bytes_max: 4096, ..Options::default() };
        let runtime = Runtime::new(options).unwrap();
        let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
        let none = runtime.create_maps(&std::sync::Arc::from([]), None);
        for program in programs {
            let options = LoadOptions::default();
            for maps in [&maps, &none] {
                errors += u32::from(runtime.load(program, maps, &options).is_err());
            }
        }
    }
    assert!(errors > 4, "{errors}");
}

/// Resident pages, mappings, files of this process.
fn held() -> (u64, usize, usize) {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages = statm.split(' ').nth(1).unwrap().parse().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    (pages, maps, std::fs::read_dir("/proc/self/fd").unwrap().count())
}

/// Blocks and bytes once they have been stable for a while: the timer thread may drop the last
/// reference to a runtime.
fn at_rest() -> (i64, i64) {
    let look = || (BLOCKS.load(Relaxed), BYTES.load(Relaxed));
    let (mut seen, mut same) = (look(), 0);
    while same < 20 {
        std::thread::sleep(std::time::Duration::from_millis(5));
        let now = look();
        same = if now == seen { same + 1 } else { 0 };
        seen = now;
    }
    seen
}

#[test]
fn nothing_stays_behind() {
    let objects: Vec<_> = FILES.map(open).into_iter().collect();
    let with_programs = objects.into_iter().map(|object| {
        let entries = object.programs.iter().filter_map(|entry| entry.program.as_ref().ok());
        let programs: Vec<_> = entries.filter_map(verified).collect();
        assert!(!programs.is_empty());
        (object, programs)
    });
    let objects: Vec<_> = with_programs.collect();
    for engine in [Engine::Interpreter, Engine::MachineCode] {
        let rounds = |count| {
            (0..count).for_each(|_| {
                round(&objects, &engine);
                round_of_errors(&objects);
            });
        };
        rounds(WARM_UP);
        let (pages, maps, files) = held();
        let (blocks, bytes) = at_rest();
        rounds(ROUNDS);
        let now = at_rest();
        let (more, more_bytes) = (now.0 - blocks, now.1 - bytes);
        assert!(more <= BLOCKS_MAX, "{engine:?}: {more} blocks, {more_bytes} bytes");
        assert!(more_bytes <= BYTES_MAX, "{engine:?}: {more} blocks, {more_bytes} bytes");
        let (pages_now, maps_now, files_now) = held();
        assert!(pages_now < pages + PAGES_MAX, "{engine:?}: {pages} to {pages_now} pages");
        // The allocator may have an arena more or less, and a timer thread its stack.
        assert!(maps_now < maps + 8, "{engine:?}: {maps} to {maps_now} mappings");
        assert_eq!(files_now, files, "{engine:?}");
    }
}
