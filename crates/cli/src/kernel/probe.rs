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
    use skep::kernel::Judged;
    use skep::program::Program;
    use skep_kernel::wire::Load;

    /// Statistics, and the messages of a rejection.
    const LOG_LEVEL: u32 = 4;
    let mut judge = |program: &Program| match Load::new(program, LOG_LEVEL).map(|it| it.load_here())
    {
        Ok(told) => {
            let stats = told.stats();
            Judged {
                judged: told.judged,
                accepted: told.accepted,
                with_btf: told.with_btf,
                insns: stats.insns_processed,
                peak_states: stats.peak_states,
                message: told.message(),
            }
        }
        Err(why) => Judged { message: why.to_string(), ..Judged::default() },
    };
    Kernel::probe(if facts_only { None } else { Some(&mut judge) })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: bool) -> Result<Probed, Error> {
    Kernel::probe(None)
}
