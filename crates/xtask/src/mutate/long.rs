//! Walks too long to be logged: compared by verdict, counts, last message, and time. An input for
//! which skep is slower than the kernel is a fault of skep.

use super::difference::{Compared, Difference, Kind, Loader, last_message};
use crate::cpu_time::cpu_time;
use crate::kernel_diff::shape;
use skep_kernel::bpf;
use skep_kernel::judge::Answer;
use skep_testkit::engine::{OurVerdict, Ours};
use std::time::Duration;

/// Shorter times are ignored.
const NOTICED: Duration = Duration::from_millis(100);

/// Loads the program into the kernel without a log, and compares verdict and time.
pub(super) fn compare_long(
    loader: Loader,
    ours: &Ours,
    time: Duration,
    kernel: &mut dyn FnMut(u32) -> Answer,
) -> Compared {
    let start = cpu_time();
    let answer = match loader {
        Loader::Root => kernel(4),
        Loader::Bpf => match bpf::lowered_to_cap_bpf(|| kernel(4)) {
            Ok(answer) => answer,
            Err(errno) => return Compared::Left(format!("capabilities: {errno}")),
        },
    };
    let kernel_time = cpu_time() - start;
    let theirs = match answer {
        Answer::Judged(theirs) => theirs,
        Answer::NotJudged(why) => return Compared::Left(why.reason),
    };
    let accepted = ours.verdict == OurVerdict::Accepted;
    let stats = theirs.stats.unwrap_or_default();
    let counts = |it: &skep_kernel::kernel_log::KernelStats| {
        (it.insns_processed, it.total_states, it.peak_states, it.max_states_per_insn)
    };
    let (why, why_kernel) = (last_message(&ours.log), last_message(&theirs.log));
    let kind = match (accepted, theirs.accepted) {
        (true, false) => Kind::FalseAccept,
        (false, true) => Kind::FalseReject,
        _ if counts(&ours.stats) != counts(&stats) => Kind::Counts,
        (false, false) if why != why_kernel => Kind::Message,
        _ if time > kernel_time && time > NOTICED => Kind::Slow,
        _ => return Compared::Equal { accepted },
    };
    let side = |accepted: bool, why: &str, counts: String, time: Duration| {
        let verdict = if accepted { "accepted" } else { why };
        format!("{verdict} {counts} {} ms", time.as_millis())
    };
    let key = match kind {
        Kind::Slow => "long".to_owned(),
        _ => format!("long: {} | {}", shape(why), shape(why_kernel)),
    };
    Compared::Different(Box::new(Difference {
        kind,
        key,
        ours: side(accepted, why, format!("{:?}", counts(&ours.stats)), time),
        kernel: side(theirs.accepted, why_kernel, format!("{:?}", counts(&stats)), kernel_time),
        ..Difference::none()
    }))
}
