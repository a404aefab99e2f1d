//! Runs both verifiers on one program, and compares the results.
//!
//! # Invariants
//! 1. The kernel only sees programs that our verifier walked completely before: not those that it
//!    calls too complex (6.18.44 dereferences NULL then) or that are close to that limit, nor those
//!    that are not modelled or crash it.
//! 2. Accepted programs are not run.

use super::difference::last_message;
pub(super) use super::difference::{Compared, Difference, Kind, Loader};
use super::long::compare_long;
use crate::cpu_time::cpu_time;
use crate::kernel_diff::shape;
use skep::program::Program;
use skep_kernel::bpf::{self, errno_name};
use skep_kernel::judge::{Answer, Judgement};
use skep_kernel::kernel_log;
use skep_testkit::engine::{self, OurVerdict, Ours};

/// Programs with longer walks are skipped: their logs would take most of the time.
pub(super) const WALK_MAX: u64 = 6_000;
/// The kernel must stay far below its limit of 8,192 pending branches.
const WAITING_MAX: u32 = 7000;

/// Runs both; `kernel` loads the program with a log level. Long walks are skipped.
pub(super) fn compare(
    program: &Program,
    loader: Loader,
    kernel: &mut dyn FnMut(u32) -> Answer,
) -> Compared {
    compare_also_long(program, loader, false, kernel)
}

/// The same, including long walks if `long`.
pub(super) fn compare_also_long(
    program: &Program,
    loader: Loader,
    long: bool,
    kernel: &mut dyn FnMut(u32) -> Answer,
) -> Compared {
    let privileges = loader.privileges();
    let start = cpu_time();
    // The message for a program without insns contains the limit.
    let quick = match long || program.insns.is_empty() {
        true => engine::verify_with(program, 4, privileges),
        false => engine::verify_within(program, privileges, WALK_MAX + 1),
    };
    let time = cpu_time() - start;
    if let Some(left) = left_out(&quick) {
        return left;
    }
    if quick.stats.insns_processed.max(program.insns.len() as u64) > WALK_MAX {
        return match long {
            true => compare_long(loader, &quick, time, kernel),
            false => Compared::Left("long".to_owned()),
        };
    }
    let ours = engine::verify_with(program, 6, privileges);
    if let Some(difference) = short_walk(&quick, &ours) {
        return Compared::Different(Box::new(difference));
    }
    let answer = match loader {
        Loader::Root => Ok(kernel(6)),
        Loader::Bpf => bpf::lowered_to_cap_bpf(|| kernel(6)),
    };
    match answer {
        Ok(Answer::Judged(theirs)) => judged(program, &ours, &theirs),
        Ok(Answer::NotJudged(why)) => unlogged(&ours, why.reason),
        Err(errno) => Compared::Left(format!("capabilities: {errno}")),
    }
}

/// Without a log, the walk uses shortcuts that must not change the result.
fn short_walk(quick: &Ours, logged: &Ours) -> Option<Difference> {
    let walked = |it: &Ours| {
        let stats = &it.stats;
        (stats.insns_processed, stats.total_states, stats.peak_states, stats.max_states_per_insn)
    };
    let said = |it: &Ours| format!("{} {:?}", it.verdict.name(), walked(it));
    let same = quick.verdict == logged.verdict && walked(quick) == walked(logged);
    (!same).then(|| Difference {
        kind: Kind::Counts,
        key: "without a log".to_owned(),
        ours: said(quick),
        kernel: format!("with a log {}", said(logged)),
        ..Difference::none()
    })
}

fn left_out(quick: &Ours) -> Option<Compared> {
    if let Some(why) = quick.must_not_load() {
        return Some(Compared::Left(why.to_owned()));
    }
    match &quick.verdict {
        OurVerdict::Unsupported(what) => {
            Some(Compared::Left(format!("not supported yet: {}", shape(what))))
        }
        OurVerdict::Bug(why) => Some(Compared::Different(Box::new(Difference {
            kind: Kind::Bug,
            key: format!("bug {}", shape(why)),
            ours: why.clone(),
            ..Difference::none()
        }))),
        _ if quick.waiting_max >= WAITING_MAX => Some(Compared::Left("too complex".to_owned())),
        _ => None,
    }
}

/// The kernel refused before its verifier produced a log.
fn unlogged(ours: &Ours, reason: String) -> Compared {
    let Some(errno) = reason.strip_suffix(" without log") else {
        return Compared::Left(reason);
    };
    let line = last_message(&ours.log).to_owned();
    let (kind, text) = match &ours.verdict {
        OurVerdict::Accepted => (Kind::FalseAccept, "accepted".to_owned()),
        OurVerdict::Rejected(_) if errno_name(ours.errno) == errno && line.is_empty() => {
            return Compared::Equal { accepted: false };
        }
        OurVerdict::Rejected(_) => (Kind::Message, "refused".to_owned()),
        OurVerdict::Unsupported(_) | OurVerdict::Bug(_) => return Compared::Left(reason),
    };
    Compared::Different(Box::new(Difference {
        kind,
        key: format!("{reason} | {}", shape(&text)),
        ours: text,
        kernel: reason,
        line: 1,
        line_ours: line,
        line_kernel: String::new(),
    }))
}

fn judged(program: &Program, ours: &Ours, theirs: &Judgement) -> Compared {
    let accepted = ours.verdict == OurVerdict::Accepted;
    let told = accepted == theirs.accepted && ours.errno == theirs.errno;
    if told && same(program, &ours.log, &theirs.log) {
        return Compared::Equal { accepted };
    }
    // Names that are not UTF-8 are printed unchanged by the kernel.
    let text = |log: &str| kernel_log::normalise(log, &program.insns).replace('\u{fffd}', "?");
    let (a, b) = (text(&ours.log), text(&theirs.log));
    if told && a == b {
        return Compared::Equal { accepted };
    }
    let first = kernel_log::first_difference(&a, &b).unwrap_or_default();
    let (line, mine) = (first.line, first.ours.unwrap_or_default());
    let kernels = first.theirs.unwrap_or_default();
    let (why, why_kernel) = (last_message(&a), last_message(&b));
    let counted = |log: &str| {
        log.lines().rev().find(|line| line.starts_with("processed ")).map(str::to_owned)
    };
    let kind = match (accepted, theirs.accepted) {
        (true, false) => Kind::FalseAccept,
        (false, true) => Kind::FalseReject,
        (false, false) if why != why_kernel => Kind::Message,
        _ if counted(&a) != counted(&b) => Kind::Counts,
        _ if a == b => Kind::Errno,
        _ => Kind::Log,
    };
    let errnos = (errno_name(ours.errno), errno_name(theirs.errno));
    let key = match kind {
        Kind::FalseAccept => format!("{} {}", errnos.1, shape(why_kernel)),
        Kind::FalseReject => shape(why),
        // If one refuses and the other continues, what happens later does not matter.
        Kind::Message if kernels == why_kernel && mine != why => format!("| {}", shape(why_kernel)),
        Kind::Message if mine == why && kernels != why_kernel => format!("{} |", shape(why)),
        Kind::Message => format!("{} | {}", shape(why), shape(why_kernel)),
        Kind::Errno => format!("{} | {} | {}", errnos.0, errnos.1, shape(why)),
        Kind::Counts | Kind::Log | Kind::Bug | Kind::Slow => parted(mine, kernels),
    };
    let side = |accepted: bool, errno: &str, why: &str| match accepted {
        true => "accepted".to_owned(),
        false => format!("{errno}: {why}"),
    };
    Compared::Different(Box::new(Difference {
        kind,
        key,
        ours: side(accepted, &errnos.0, why),
        kernel: side(theirs.accepted, &errnos.1, why_kernel),
        line,
        line_ours: mine.to_owned(),
        line_kernel: kernels.to_owned(),
    }))
}

/// Whether two logs are equal line by line after normalisation; most lines are equal already. A
/// message that the kernel does not end would make equal lines differ.
fn same(program: &Program, ours: &str, kernel: &str) -> bool {
    let is_time = |line: &&str| line.starts_with("verification time ");
    let mut a = ours.lines().filter(|line| !is_time(line));
    let mut b = kernel.lines().filter(|line| !is_time(line));
    loop {
        match (a.next(), b.next()) {
            (None, None) => return true,
            (Some(x), Some(y)) if x == y => {}
            (Some(x), Some(y)) => {
                let insns = &program.insns;
                if kernel_log::normalise(x, insns) != kernel_log::normalise(y, insns) {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

/// The first words in which two lines differ.
fn parted(ours: &str, kernel: &str) -> String {
    let insn = |line: &str| line.split_once(" ;").map_or(line, |(insn, _)| insn).to_owned();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (a, b) = (words(ours), words(kernel));
    let at = a.iter().zip(&b).position(|(x, y)| x != y);
    let word = |words: &[String]| at.and_then(|at| words.get(at)).cloned().unwrap_or_default();
    let form = match insn(ours) == insn(kernel) {
        true => insn(ours)
            .split_once(" (")
            .map_or("", |(_, rest)| rest.get(..2).unwrap_or(""))
            .to_owned(),
        false => format!("{} / {}", shape(&insn(ours)), shape(&insn(kernel))),
    };
    format!("{form}: {} | {}", shape(&word(&a)), shape(&word(&b)))
}
