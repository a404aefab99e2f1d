//! Nothing stays behind when runtimes, programs and maps go, whatever their runs ended with: not
//! memory, not mappings of code and maps, not files.
//!
//! One test in a process of its own, as it looks at the whole process.

use skep_object::{Object, OpenOptions};
use skep_program::Program;
use skep_runtime::{Ctx, Engine, LoadOptions, Options, Runtime};
use skep_uapi::{KernelProfile, ProgType};
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::path::Path;

const FILES: [&str; 4] = ["loops.bpf.o", "map_kinds.bpf.o", "timer.bpf.o", "xdp_count.bpf.o"];
/// Rounds before the first look: caches are filled then.
const WARM_UP: u32 = 40;
const ROUNDS: u32 = 400;
/// What 400 rounds may add, pages: far below one page a round.
const PAGES_MAX: u64 = 200;

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

/// Loads everything and runs it: to the end, without fuel, interrupted, on a wrong context.
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

/// Resident pages, mappings, files of this process.
fn held() -> (u64, usize, usize) {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages = statm.split(' ').nth(1).unwrap().parse().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    (pages, maps, std::fs::read_dir("/proc/self/fd").unwrap().count())
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
    for engine in [Engine::Interp, Engine::Jit] {
        (0..WARM_UP).for_each(|_| round(&objects, &engine));
        let (pages, maps, files) = held();
        (0..ROUNDS).for_each(|_| round(&objects, &engine));
        let (pages_now, maps_now, files_now) = held();
        assert!(pages_now < pages + PAGES_MAX, "{engine:?}: {pages} to {pages_now} pages");
        // The allocator may have one arena more or less, a timer's thread its stack.
        assert!(maps_now < maps + 8, "{engine:?}: {maps} to {maps_now} mappings");
        assert_eq!(files_now, files, "{engine:?}");
    }
}
