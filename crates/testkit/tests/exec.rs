//! Runs every case of `tests/exec/*.md` on every engine that can run it.
//!
//! `[kernel]`: the host kernel produces the `run` block (ignored if bpf(2) is not permitted or the
//! kernel is another one, which is reported).
//! `[interp]`, `[jit]`, `[runtime, ...]`: so do the interpreter and machine code, alone and in the
//! runtime with its maps and helpers: with both kinds of prologue, and with alternating kinds in
//! programs that tail call each other; without any pass; with nothing patched. `[counted, ...]`:
//! also with statistics enabled, which must count every run. A case with `known_gap` must fail on
//! these: when it no longer does, the option must be removed.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use libtest_mimic::{Arguments, Failed, Trial};
use skep::btf::Btf;
use skep::program::Program;
use skep_jit::{Passes, PokeMode, Prologue, Tuning};
use skep_runtime::Engine as Runs;
use skep_testkit::exec::{self, Way};
use skep_testkit::judge::Judge;
use skep_testkit::suite::{self, Case, TranscriptKind};
use std::sync::Arc;

/// A name, and the result of an engine for a case: `None` if it cannot run it.
type Engine = (&'static str, fn(&Case, &[Program]) -> Result<Option<String>, String>);

const ENGINES: [Engine; 12] = [
    ("kernel", on_kernel),
    ("interp", exec::on_interp),
    ("jit", |case, programs| exec::on_jit(case, programs, &checked())),
    ("jit, full prologue", |case, programs| exec::on_jit(case, programs, &full_prologue())),
    ("runtime, interp", |case, programs| exec::on_runtime(case, programs, INTERP)),
    ("runtime, jit", on_default_runtime),
    ("runtime, jit, full prologue", |case, programs| {
        exec::on_runtime(case, programs, Way { tuning: |_| full_prologue(), ..JIT })
    }),
    ("runtime, jit, prologues in turn", |case, programs| {
        let tuning = |at| if at % 2 == 0 { checked() } else { full_prologue() };
        exec::on_runtime(case, programs, Way { tuning, ..JIT })
    }),
    ("runtime, jit, no passes", |case, programs| {
        let tuning = |_| Tuning { passes: Passes::NONE, ..checked() };
        exec::on_runtime(case, programs, Way { tuning, ..JIT })
    }),
    ("runtime, jit, flags", |case, programs| {
        let tuning = |_| Tuning { poke: PokeMode::Flag, ..checked() };
        exec::on_runtime(case, programs, Way { tuning, ..JIT })
    }),
    ("counted, interp", |case, programs| {
        exec::on_runtime(case, programs, Way { counted: true, ..INTERP })
    }),
    ("counted, jit", |case, programs| {
        exec::on_runtime(case, programs, Way { counted: true, ..JIT })
    }),
];

/// Machine code for cases that refer to kernel types, with kernel BTF in which every id is
/// different: expected values must not depend on the ids of one build.
const OTHER_IDS: &str = "runtime, jit, other ids";
const INTERP: Way = Way { engine: Runs::Interpreter, counted: false, tuning: |_| checked() };
const JIT: Way = Way { engine: Runs::MachineCode, ..INTERP };

/// Also checks the accesses of the passes to shared memory.
fn checked() -> Tuning {
    Tuning { checked: true, ..Tuning::default() }
}

fn full_prologue() -> Tuning {
    Tuning { prologue: Prologue::Full, ..checked() }
}

/// The result of machine code in the runtime.
fn on_default_runtime(case: &Case, programs: &[Program]) -> Result<Option<String>, String> {
    exec::on_runtime(case, programs, JIT)
}

/// The kernel's result, or that it does not run the case.
fn on_kernel(case: &Case, programs: &[Program]) -> Result<Option<String>, String> {
    match case.options.unjudged {
        Some(_) => exec::unjudged_by_kernel(case, programs).map(|()| None),
        None => exec::on_kernel(case, programs).map(Some),
    }
}

fn main() {
    let args = Arguments::from_args();
    let judge = Judge::here();
    judge.skips().iter().for_each(|line| eprintln!("skipped: {line}"));
    let moved = judge.renumbered();
    let mut trials = Vec::new();
    for (name, cases) in suite::read_folder("exec") {
        let cases = match cases {
            Ok(cases) => cases,
            Err(error) => {
                trials.push(Trial::test(format!("{name} [reads]"), move || Err(error.into())));
                continue;
            }
        };
        for case in cases.into_iter().map(Arc::new) {
            let lacks = judge.lacks_types_of(&case);
            if let Some(moved) = moved.clone().filter(|_| suite::names_types_of_kernel(&case)) {
                let case = Arc::clone(&case);
                let title = format!("{name} / {} [{OTHER_IDS}]", case.name);
                let engine = (OTHER_IDS, on_default_runtime as fn(&_, &_) -> _);
                trials.push(Trial::test(title, move || holds(&case, engine, Some(&moved))));
            }
            for engine in ENGINES {
                let (case, btf) = (Arc::clone(&case), judge.btf().cloned());
                let title = format!("{name} / {} [{}]", case.name, engine.0);
                let trial = Trial::test(title, move || holds(&case, engine, btf.as_ref()));
                let unasked = engine.0 == "kernel" && judge.answers.is_err();
                trials.push(trial.with_ignored_flag(lacks || unasked));
            }
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

fn holds(case: &Case, engine: Engine, btf: Option<&Arc<Btf>>) -> Result<(), Failed> {
    let expected = case.transcripts.iter().find(|part| part.kind == TranscriptKind::Run);
    let expected = expected.ok_or("a case without a `run` block")?;
    let programs = suite::programs(case, btf)?;
    let gap = case.options.known_gap.as_ref().filter(|_| engine.0 != "kernel");
    match (engine.1(case, &programs)?, gap) {
        (None, _) => Ok(()),
        (Some(text), None) if text == expected.text => Ok(()),
        (Some(text), Some(gap)) if text == expected.text => {
            Err(format!("agrees; remove `known_gap = \"{gap}\"`").into())
        }
        (Some(_), Some(_)) => Ok(()),
        (Some(text), None) => {
            let line = text.lines().zip(expected.text.lines()).find(|(a, b)| a != b);
            let (ours, theirs) = line.unwrap_or(("(the end)", "(the end)"));
            Err(format!("  - {ours}\n  + {theirs}\nall of it:\n{text}").into())
        }
    }
}
