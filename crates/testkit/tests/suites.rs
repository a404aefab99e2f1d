//! Runs every case of `tests/verifier` and `tests/refusals` on every engine that can judge it.
//!
//! `[kernel]`: the host kernel's result matches the case (ignored if bpf(2) is not permitted or the
//! kernel is another one, which is reported).
//! `[ours, other ids]`: cases that refer to kernel types, verified with kernel BTF in which every
//! id is different: expected values must not depend on the ids of one build.
//! `[ours]`: our verifier's result matches the case and, if the kernel is available, our log equals
//! the kernel's. A case with `known_gap` must fail on ours: when it no longer does, the option must
//! be removed.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use libtest_mimic::{Arguments, Failed, Trial};
use skep::btf::Btf;
use skep::program::Program;
use skep_kernel::kernel_log::{first_difference, normalise};
use skep_testkit::judge::Judge;
use skep_testkit::suite::{self, Case, Evidence};
use std::sync::{Arc, OnceLock};

fn main() {
    let args = Arguments::from_args();
    let judge = Judge::here();
    judge.skips().iter().for_each(|line| eprintln!("skipped: {line}"));
    let kernel = judge.answers.is_ok();
    let moved = judge.renumbered();
    let mut trials = Vec::new();
    let refusals = suite::read_folder("refusals").into_iter();
    let refusals = refusals.map(|(name, cases)| (format!("refusals/{name}"), cases));
    for (name, cases) in suite::read_folder("verifier").into_iter().chain(refusals) {
        let cases = match cases {
            Ok(cases) => cases,
            Err(error) => {
                trials.push(Trial::test(format!("{name} [reads]"), move || Err(error.into())));
                continue;
            }
        };
        for case in cases {
            let case = Arc::new(Judged { case, answer: OnceLock::new() });
            let title = |engine: &str| format!("{name} / {} [{engine}]", case.case.name);
            let (on_kernel, on_ours) = (Arc::clone(&case), Arc::clone(&case));
            let (a, b) = (judge.btf().cloned(), judge.btf().cloned());
            let lacks = judge.lacks_types_of(&case.case);
            let ours_ignored = lacks || !kernel && case.case.options.known_gap.is_some();
            trials.extend([
                Trial::test(title("kernel"), move || judged(&on_kernel, a.as_ref()))
                    .with_ignored_flag(lacks || !kernel),
                Trial::test(title("ours"), move || verified(&on_ours, b.as_ref(), kernel))
                    .with_ignored_flag(ours_ignored),
            ]);
            if let Some(moved) = moved.clone().filter(|_| suite::names_types_of_kernel(&case.case))
            {
                let case = Arc::clone(&case);
                let trial = move || verified(&case, Some(&moved), false);
                trials.push(Trial::test(title("ours, other ids"), trial));
            }
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

type BtfRef<'a> = Option<&'a Arc<Btf>>;

/// A case, and the kernel's result for it.
struct Judged {
    case: Case,
    /// Computed once by the first trial that needs it.
    answer: OnceLock<Result<Evidence, String>>,
}

impl Judged {
    fn ask(&self, program: &Program) -> Result<&Evidence, String> {
        let asked = self.answer.get_or_init(|| suite::on_kernel(&self.case, program));
        asked.as_ref().map_err(String::clone)
    }
}

fn judged(judged: &Judged, btf: BtfRef<'_>) -> Result<(), Failed> {
    let case = &judged.case;
    let (program, assembly) = suite::program(case, btf)?;
    match (judged.ask(&program), &case.options.unjudged) {
        (Err(why), Some(_)) if why.starts_with("not judged: ") => Ok(()),
        (answer, _) => fail_if(suite::check(case, &assembly, answer?)?),
    }
}

fn verified(judged: &Judged, btf: BtfRef<'_>, kernel: bool) -> Result<(), Failed> {
    let wrong = wrong_on_ours(judged, btf, kernel);
    let case = &judged.case;
    match (&case.options.known_gap, wrong) {
        (None, Ok(wrong)) => fail_if(wrong),
        (None, Err(error)) => Err(error.into()),
        (Some(gap), Ok(wrong)) if wrong.is_empty() => {
            Err(format!("passes; remove `known_gap = \"{gap}\"`").into())
        }
        (Some(_), _) => Ok(()),
    }
}

fn wrong_on_ours(judged: &Judged, btf: BtfRef<'_>, kernel: bool) -> Result<String, String> {
    let case = &judged.case;
    let (program, assembly) = suite::program(case, btf)?;
    let ours = suite::on_ours(case, &program)?;
    let wrong = suite::check(case, &assembly, &ours)?;
    if !wrong.is_empty() || !kernel {
        return Ok(wrong);
    }
    let theirs = match judged.ask(&program) {
        Err(why) if why.starts_with("not judged: ") && case.options.unjudged.is_some() => {
            return Ok(wrong);
        }
        theirs => theirs?,
    };
    let a = normalise(&ours.log, &program.insns);
    let b = normalise(&theirs.log, &program.insns);
    Ok(first_difference(&a, &b).map_or(String::new(), |parted| {
        let line = parted.line;
        let (ours, kernels) = (parted.ours.unwrap_or("(end)"), parted.theirs.unwrap_or("(end)"));
        format!("log line {line}\n  - {ours}\n  + {kernels}\nthe kernel's log:\n{b}")
    }))
}

fn fail_if(wrong: String) -> Result<(), Failed> {
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}
