//! A program's verdict on each of the kernels that share one walk.

use crate::check::Answer;
use crate::diagnostic::{diagnostic, spot_of};
use crate::exit::Exit;
use crate::judge_files::{JudgeError, Judged, exit_of, not_loaded};
use crate::memory_gate::over_limit;
use skep::btf::Kind;
use skep::diagnosis::{DecidingRule, Diagnosis, Severity};
use skep::kernel::{NEEDS_BTF, Needs};
use skep::object::Error as LoadError;
use skep::program::Program;
use skep::uapi::Behaviour;
use skep::{Kernel, Refusal, Session, Verdict, Verification};
use skep_report::{CellReason, CellVerdict, Diagnostic};
use std::cell::OnceCell;
use std::sync::Arc;

/// A verdict, and the resulting exit code.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) verdict: CellVerdict,
    pub(super) reason: Option<CellReason>,
    pub(super) exit: Exit,
    /// A line for the error stream: an internal error.
    pub(super) trouble: Option<String>,
}

impl Cell {
    /// The initial value: the object cannot be opened for this kernel.
    pub(super) fn not_opened() -> Cell {
        Cell::not_known("not-opened", "the object cannot be opened for this kernel".to_owned())
    }

    fn accepted() -> Cell {
        let exit = Exit::Success;
        Cell { verdict: CellVerdict::Accepted, reason: None, exit, trouble: None }
    }

    fn not_known(rule: &str, message: String) -> Cell {
        let reason = reason(Diagnosis::of_code(Severity::Warning, rule, &message));
        let verdict = CellVerdict::NotKnown;
        Cell { verdict, reason: Some(reason), exit: Exit::Input, trouble: None }
    }

    fn refused(refusal: &Refusal, of: Option<Walked<'_>>) -> Cell {
        let at = refusal.insn_idx.and_then(|idx| of?.program.source_place(idx));
        let because = of.and_then(|walked| walked.verification.because.as_deref());
        let mut told = Diagnosis::from(refusal);
        (told.at, told.message) = (at, refusal.said(because));
        if let Some(since) = refusal.since() {
            told.message += &format!("; {since}");
        }
        let reason = reason(told);
        let verdict = CellVerdict::Refused;
        Cell { verdict, reason: Some(reason), exit: Exit::Refused, trouble: None }
    }
}

/// What a cell shows of a diagnosis.
fn reason(told: Diagnosis) -> CellReason {
    let Diagnostic { rule, message, insn_idx, at, advice, .. } = diagnostic("", "", told);
    CellReason { rule, message, insn_idx, at, decided_by: None, advice }
}

/// The verdicts, and the newest feature that the program needs, if the walk accepts it.
pub(super) fn cells<'k>(
    judged: &Judged<'_>,
    kernels: impl Iterator<Item = &'k Arc<Kernel>>,
    session: &Session,
) -> (Vec<Cell>, Option<String>) {
    match &judged.result {
        Err(e) => (kernels.map(|kernel| unloaded(e, kernel)).collect(), None),
        Ok((program, verification)) => {
            let needs = verification.verified().map(Needs::of);
            let refused = match &verification.verdict {
                Verdict::Rejected(why) => Needs::of_refused(program, &why.kind, why.insn_idx),
                _ => None,
            };
            let newest = needs.as_ref().or(refused.as_ref()).and_then(Needs::newest);
            let here = format!("{}: program '{}'", judged.file, judged.entry.name);
            let deciding = OnceCell::new();
            let cell = |kernel: &Arc<Kernel>| {
                let its = kernel.verdict(program, verification);
                let verdict = its.as_ref().unwrap_or(&verification.verdict);
                let mut cell = walked(verdict, Walked { program, verification }, &here);
                let decides = DecidingRule::may_decide(verdict);
                if let (true, Some(reason)) = (decides, &mut cell.reason) {
                    let insns = verification.counts.insns_processed;
                    let find = || session.deciding_rule(program, insns, verdict);
                    let found = deciding.get_or_init(find).as_ref();
                    reason.decided_by = found.map(|found| decided_by(kernel, session, found));
                }
                cell
            };
            (kernels.map(cell).collect(), newest.map(|(item, _)| item.to_string()))
        }
    }
}

/// The rule as a report has it.
fn decided_by(
    kernel: &Kernel,
    session: &Session,
    found: &'static Behaviour,
) -> skep_report::DecidingRule {
    let told = DecidingRule::on(kernel, session, found);
    skep_report::DecidingRule {
        line: told.to_string(),
        name: found.name.to_owned(),
        text: found.text.to_owned(),
        ceased: told.ceased,
        when: told.when,
    }
}

/// A program that was walked, with any verdict.
#[derive(Clone, Copy)]
struct Walked<'a> {
    program: &'a Program,
    verification: &'a Verification,
}

fn walked(verdict: &Verdict, of: Walked<'_>, here: &str) -> Cell {
    match verdict {
        Verdict::Accepted(_) => Cell::accepted(),
        Verdict::Rejected(refusal) => Cell::refused(refusal, Some(of)),
        Verdict::Unsupported(what) => Cell::not_known("unsupported", what.clone()),
        Verdict::OutOfMemory => Cell::not_known("out-of-memory", over_limit(of.verification)),
        Verdict::Bug(what) => Cell {
            exit: Exit::Bug,
            trouble: Some(format!("{here}: {what}")),
            ..Cell::not_known("internal-error", what.clone())
        },
    }
}

/// The result for a program that cannot be loaded: rejected, if enough is known of the kernel.
fn unloaded(e: &LoadError, kernel: &Kernel) -> Cell {
    let Some(refusal) = Refusal::of_load(e) else {
        let is_without = kernel.btf().is_none() && e.to_string().ends_with("needs kernel BTF");
        return match is_without {
            true => Cell::not_known("unsupported", NEEDS_BTF.to_owned()),
            false => Cell::not_known("unsupported", not_loaded(e)),
        };
    };
    match kernel.verdict_not_known(&refusal) {
        Some(Verdict::Unsupported(what)) => Cell::not_known("unsupported", what),
        _ => {
            let cell = Cell::refused(&refusal, None);
            let at = e.place().cloned().map(spot_of);
            let reason = cell.reason.map(|reason| CellReason { at, ..reason });
            Cell { exit: exit_of(&Err(e.clone())), reason, ..cell }
        }
    }
}

/// A file without programs, and why.
pub(super) fn unopened(problem: &JudgeError) -> Option<(String, CellReason)> {
    let told = Answer::of_problem(problem)?.diagnostic?;
    let Diagnostic { rule, message, insn_idx, at, advice, .. } = told;
    let reason = CellReason { rule, message, insn_idx, at, decided_by: None, advice };
    Some((told.object, reason))
}

/// Whether the object reads the kernel version.
pub(super) fn asks_version(judged: &Judged<'_>) -> bool {
    let Ok((program, _)) = &judged.result else { return false };
    const EXTERNS: [&str; 2] = ["LINUX_KERNEL_VERSION", "LINUX_HAS_BPF_COOKIE"];
    let asks = |btf: &Arc<skep::btf::Btf>| {
        EXTERNS.iter().any(|name| btf.find_by_name_kind(name, Kind::Var).is_some())
    };
    program.btf.as_ref().is_some_and(asks)
}
