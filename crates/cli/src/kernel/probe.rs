//! `skep kernel probe`: examines the running kernel, by loading small programs if permitted.

use skep::kernel::{Answers, Probed};
use skep::uapi::BEHAVIOURS;
use skep::{Error, Kernel};

/// What it answered, in few words.
pub(super) fn said(answers: &Answers) -> String {
    let [things, callers, rules] = answers.counts();
    let of = BEHAVIOURS.len();
    format!("probed {things} items, {callers} program types, {rules} of {of} rules")
}

#[cfg(target_os = "linux")]
pub(super) fn run(facts_only: bool) -> Result<Probed, Error> {
    let mut judge = skep_kernel::wire::ask;
    Kernel::probe(if facts_only { None } else { Some(&mut judge) })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: bool) -> Result<Probed, Error> {
    Kernel::probe(None)
}
