//! A profile accounts for every insn and every state, and does not affect verification.

use rustix::time::{ClockId, clock_gettime};
use skep::profile::{Apart, CostAt, Profile};
use skep::program::Program;
use skep::{Counts, Host, KernelBtf, Session, Verdict, Verification, VerifyOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests");

/// All objects below a folder, without the kernel's types.
fn objects(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            objects(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "o") {
            found.push(path);
        }
    }
}

fn each_program(session: &Session, dir: &Path, mut work: impl FnMut(&Path, &Program)) {
    let mut files = Vec::new();
    objects(dir, &mut files);
    files.sort();
    for file in files {
        let Ok(object) = session.open_file(&file) else { continue };
        for entry in &object.programs {
            if let Ok(program) = &entry.program {
                work(&file, program);
            }
        }
    }
}

/// What does not depend on the machine.
fn answer(verification: &Verification) -> (String, Counts) {
    let verdict = match &verification.verdict {
        Verdict::Accepted(_) => "accepted".to_owned(),
        Verdict::Rejected(refusal) => refusal.message.clone(),
        other => format!("{other:?}"),
    };
    (verdict, verification.counts)
}

fn assert_all_is_told(session: &Session, file: &Path, program: &Program) -> Profile {
    let options = VerifyOptions::default();
    let alone = session.verify(program, &options);
    let (verification, profile) = session.profile(program, &options);
    let name = format!("{}: {}", file.display(), program.name);
    assert_eq!(answer(&verification), answer(&alone), "{name}");
    let (total, counts) = (profile.total(), verification.counts);
    assert_eq!(u64::from(total.insns), counts.insns_processed, "{name}");
    assert_eq!(u64::from(total.states), counts.total_states, "{name}");
    let told: u64 = profile.kept_apart().iter().map(|reason| reason.times).sum();
    assert_eq!(told, u64::from(total.apart), "{name}");
    for CostAt { path, insn_idx, .. } in profile.costs() {
        assert!(profile.paths()[path].insns.contains(&insn_idx), "{name}: insn {insn_idx}");
    }
    profile
}

#[test]
fn sums_are_those_of_the_verification() {
    let session = Session::default();
    let mut programs = 0;
    for dir in ["programs", "refusals"] {
        each_program(&session, &Path::new(TESTS).join(dir), |file, program| {
            assert_all_is_told(&session, file, program);
            programs += 1;
        });
    }
    assert!(programs > 100, "{programs}");
}

/// `SKEP_OBJECTS=DIR cargo test --release -p skep --test profile -- --ignored sums`
#[test]
#[ignore = "of a folder of objects that is named by SKEP_OBJECTS"]
fn sums_of_a_folder_are_those_of_the_verification() {
    let dir = std::env::var_os("SKEP_OBJECTS").expect("SKEP_OBJECTS");
    let session = Session::new(Host::read(&KernelBtf::Running).expect("the host"));
    let mut programs = 0;
    each_program(&session, Path::new(&dir), |file, program| {
        assert_all_is_told(&session, file, program);
        programs += 1;
    });
    assert!(programs > 0, "no programs");
}

fn profile_of(object: &str, name: &str) -> (Program, Profile) {
    let session = Session::default();
    let object = session.open_file(format!("{TESTS}/programs/{object}")).expect("an object");
    let program = object.program(name).expect("a program").clone();
    let profile = assert_all_is_told(&session, Path::new(TESTS), &program);
    (program, profile)
}

#[test]
fn a_function_has_a_path_for_each_way_to_it() {
    // Each of six functions calls the next one twice.
    let (_, profile) = profile_of("stress_frames.bpf.o", "frames");
    let starts = |insns: &std::ops::Range<usize>| insns.start;
    let mut counts = std::collections::BTreeMap::new();
    for path in profile.paths() {
        assert!(!path.is_rest);
        *counts.entry(starts(&path.insns)).or_insert(0) += 1;
    }
    let mut counts: Vec<u32> = counts.into_values().collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 1, 2, 4, 8, 16, 32, 64]);
    // Global ones are walked on their own.
    let (_, profile) = profile_of("mended/frames.bpf.o", "frames");
    assert!(profile.paths().len() > 7 && profile.paths().iter().all(|path| path.parent.is_none()));
}

#[test]
fn a_callback_is_called_by_who_passes_it_on() {
    let (_, profile) = profile_of("timer.bpf.o", "timer_begin");
    let callee = profile.paths().iter().find(|path| path.parent.is_some());
    let callee = callee.expect("the callback of the timer");
    assert!(callee.parent == Some(0) && callee.call.is_some_and(|call| call < callee.insns.start));
}

#[test]
fn what_keeps_states_apart_has_values_and_the_insn_that_needs_them() {
    let (_, profile) = profile_of("stress_parser.bpf.o", "parser");
    let reasons = profile.kept_apart();
    assert!(reasons.is_sorted_by_key(|reason| std::cmp::Reverse(reason.times)));
    let counter = reasons.first().expect("a reason");
    assert!(matches!(counter.why, Apart::Register { frame: 0, .. }), "{counter:?}");
    assert_ne!(counter.saved, counter.current);
    assert!(counter.saved.is_some() && counter.needed_by.is_some(), "{counter:?}");
}

/// What this thread has taken: a session verifies on the thread that calls it.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// `cargo test --release -p skep --test profile -- --ignored overhead`, of the objects in
/// the folder `PROGRAMS` if that is set.
#[test]
#[ignore = "measures time"]
#[expect(clippy::print_stdout, reason = "a measurement is for reading")]
fn overhead_is_at_most_30_percent_of_the_verification() {
    let session = Session::default();
    let (mut alone, mut profiled) = (Duration::ZERO, Duration::ZERO);
    let folder = std::env::var_os("PROGRAMS").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(TESTS).join("programs"));
    each_program(&session, &folder, |_, program| {
        let name = &program.name;
        let options = VerifyOptions::default();
        // The best of several, taken in turns, in CPU time: the machine may do other things.
        let (mut best_alone, mut best_profiled) = (Duration::MAX, Duration::MAX);
        for _ in 0..7 {
            let start = cpu_time();
            session.verify(program, &options);
            best_alone = best_alone.min(cpu_time() - start);
            let start = cpu_time();
            session.profile(program, &options);
            best_profiled = best_profiled.min(cpu_time() - start);
        }
        alone += best_alone;
        profiled += best_profiled;
        // What takes less is noise.
        if best_alone > Duration::from_millis(50) {
            let more = best_profiled.as_secs_f64() / best_alone.as_secs_f64() - 1.0;
            println!("{name}: {best_alone:?} alone, {:.0} % more with a profile", 100.0 * more);
        }
    });
    println!("{alone:?} alone, {profiled:?} with a profile");
    assert!(profiled.as_secs_f64() <= 1.3 * alone.as_secs_f64());
}
