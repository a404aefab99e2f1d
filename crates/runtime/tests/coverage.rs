//! Coverage counts are complete, and the same on both engines.

use skep_object::{Object, OpenOptions};
use skep_program::Program;
use skep_runtime::{
    Coverage, Ctx, Engine, Instance, LoadOptions, Options, Runtime, Tuning, takes_packet,
};
use skep_uapi::KernelProfile;
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::path::{Path, PathBuf};

const ENGINES: [Engine; 2] = [Engine::Interpreter, Engine::MachineCode];
/// Programs with these helpers have results that depend on time or random numbers: they are not
/// compared.
const BY_CHANCE: [&str; 2] = ["bpf_ktime_get_ns", "bpf_get_prandom_u32"];

fn objects() -> Vec<(PathBuf, Object)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let mut paths: Vec<PathBuf> = [folder.clone(), folder.join("bench")]
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "o"))
        .collect();
    paths.sort();
    let open = |path: PathBuf| {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let options = OpenOptions { name, cpus: 2, ..OpenOptions::default() };
        Object::open(&bytes, &options).ok().map(|object| (path, object))
    };
    paths.into_iter().filter_map(open).collect()
}

fn verified(program: &Program) -> Option<VerifiedProgram> {
    let outcome = verify(program, &Config::privileged(KernelProfile::v6_18()));
    match outcome.verdict {
        Verdict::Accepted(program) => Some(*program),
        _ => None,
    }
}

fn is_by_chance(program: &Program) -> bool {
    let names = program.insns.iter().map(|insn| {
        let is_helper = insn.code == 0x85 && insn.src == 0;
        let id = u32::try_from(insn.imm).ok().filter(|_| is_helper);
        id.map_or(String::new(), |id| format!("bpf_{}", skep_uapi::helper::func_id_name(id)))
    });
    names.into_iter().any(|name| {
        BY_CHANCE.iter().any(|chance| name.ends_with(chance.trim_start_matches("bpf_")))
    })
}

/// The runs of all programs of an object, which may tail call each other, in sequence.
struct Ran {
    coverage: Vec<(String, Coverage)>,
    /// As counted by the interpreter; stopped runs are excluded.
    insns: Option<u64>,
}

fn run(object: &Object, programs: &[VerifiedProgram], engine: &Engine, fuel: Option<u64>) -> Ran {
    let runtime = Runtime::new(Options { cpus: 3, ..Options::default() }).unwrap();
    let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
    let options =
        LoadOptions { engine: engine.clone(), fuel, coverage: true, tuning: Tuning::default() };
    let load = |program: &VerifiedProgram| runtime.load(program, &maps, &options).ok();
    let instances: Vec<Instance> = programs.iter().filter_map(load).collect();
    let mut insns = Some(0);
    for instance in &instances {
        for seed in 0..3u8 {
            let bytes: Vec<u8> = (0..96u8).map(|at| at.wrapping_mul(seed)).collect();
            let ctx = match takes_packet(instance.prog_type()) {
                true => Ctx::packet(instance.prog_type(), &bytes),
                false => Ctx::raw(instance.prog_type(), &vec![0; instance.ctx_bytes()]),
            };
            let Ok(mut ctx) = ctx else { continue };
            match instance.run(&mut ctx) {
                Ok(result) => insns = insns.zip(result.insns).map(|(sum, of)| sum + of),
                Err(_) => insns = None,
            }
        }
    }
    let read = |instance: &Instance| (instance.name().to_owned(), instance.coverage().unwrap());
    Ran { coverage: instances.iter().map(read).collect(), insns }
}

#[test]
fn both_engines_count_the_same_and_all_of_it() {
    let (mut compared, mut branches, mut stopped) = (0, 0, 0);
    for (path, object) in objects() {
        let all = object.programs.iter().filter_map(|entry| entry.program.as_ref().ok());
        let all: Vec<_> = all.filter(|program| !is_by_chance(program)).collect();
        let programs: Vec<_> = all.into_iter().filter_map(verified).collect();
        // Timers expire at unpredictable times.
        if path.ends_with("timer.bpf.o") {
            continue;
        }
        for fuel in [None, Some(1 << 40), Some(100), Some(7)] {
            let [by_interp, by_jit] =
                ENGINES.each_ref().map(|engine| run(&object, &programs, engine, fuel));
            for (interp, jit) in by_interp.coverage.iter().zip(&by_jit.coverage) {
                assert_eq!(interp, jit, "{}, fuel {fuel:?}", path.display());
                compared += 1;
                branches += interp.1.insns.iter().filter(|insn| insn.taken > Some(0)).count();
            }
            assert_eq!(by_interp.coverage.len(), by_jit.coverage.len());
            let of = |coverage: &Coverage| coverage.insns.iter().map(|insn| insn.runs).sum::<u64>();
            let sum: u64 = by_interp.coverage.iter().map(|(_, coverage)| of(coverage)).sum();
            match by_interp.insns {
                Some(insns) => assert_eq!(sum, insns, "{}", path.display()),
                None => stopped += 1,
            }
        }
    }
    assert!(compared > 300 && branches > 1000 && stopped > 5, "{compared} {branches} {stopped}");
}

/// Threads that run the same program have separate counters.
#[test]
fn no_count_is_lost_between_threads() {
    let (_, object) =
        objects().into_iter().find(|(path, _)| path.ends_with("xdp_count.bpf.o")).unwrap();
    let program = verified(object.programs[0].program.as_ref().unwrap()).unwrap();
    for engine in &ENGINES {
        // If there are more threads than CPUs, they take turns.
        for cpus in [2, 4] {
            let runtime = Runtime::new(Options { cpus, ..Options::default() }).unwrap();
            let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
            let options =
                LoadOptions { engine: engine.clone(), coverage: true, ..LoadOptions::default() };
            let instance = runtime.load(&program, &maps, &options).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let mut ctx = Ctx::packet(instance.prog_type(), &[0; 60]).unwrap();
                        for _ in 0..5000 {
                            instance.run(&mut ctx).unwrap();
                        }
                    });
                }
            });
            assert_eq!(instance.coverage().unwrap().functions[0].calls, 20_000);
        }
    }
}

/// Without the option nothing is counted, and the code is unchanged.
#[test]
fn a_program_that_is_not_counted_is_the_same_to_the_byte() {
    for (_, object) in objects() {
        for entry in &object.programs {
            let Some(program) = entry.program.as_ref().ok().and_then(verified) else { continue };
            let Ok(xlated) = program.insns_to_run() else { continue };
            let maps = &program.program().maps;
            let compile = |coverage| {
                let linkage = skep_jit::Linkage::placeholder(xlated, maps);
                let linkage = skep_jit::Linkage { coverage, ..linkage };
                let code = skep_text::compile(xlated, &linkage, &Tuning::default()).ok()?;
                Some((code.bytes().to_vec(), code.symbols().to_vec()))
            };
            let plan = std::sync::Arc::new(skep_jit::coverage::Plan::new(xlated, false));
            let coverage = skep_jit::coverage::Coverage {
                plan,
                address: 6 << 40,
                stride_bytes: 0,
                cpu_word: 8,
            };
            let Some(before) = compile(None) else { continue };
            let counting = compile(Some(coverage)).unwrap();
            let counters = counting.0.windows(8).filter(|w| *w == (6u64 << 40).to_le_bytes());
            assert!(counters.count() > 0, "{}", entry.name);
            assert!(!before.0.windows(8).any(|w| w == (6u64 << 40).to_le_bytes()));
            assert_eq!(Some(before), compile(None));
        }
    }
}
