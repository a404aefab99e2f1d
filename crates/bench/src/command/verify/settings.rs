//! `Run`: the parsed flags of `skep-bench verify`.

use super::sides::{self, Side};
use crate::Rounds;
use crate::command::flags::{Reference, VerifyFlags};
use skep::VerifyOptions;
use skep_cli::Error;
use skep_cli::Exit;
use skep_cli::interrupt;
use skep_cli::judge_files::Plan;
use std::time::Duration;

/// Default time per program, in seconds.
const SECONDS_DEFAULT: f64 = 3.0;

/// The parsed flags.
pub(super) struct Run<'a> {
    pub(super) flags: &'a VerifyFlags,
    pub(super) plan: Plan,
    pub(super) sides: Vec<Side>,
    pub(super) rounds: Rounds,
}

/// Whether the user interrupted the run, which then stops before the next program: the results so
/// far are shown, and the exit status says so.
pub(super) fn is_ended(exit: &mut Exit) -> bool {
    let is_asked = interrupt::is_asked();
    if is_asked {
        exit.raise(Exit::Interrupted);
    }
    is_asked
}

/// An error unless the running kernel is of this release: with the rules of another, the two would
/// do different work.
fn is_running(release: &str) -> Result<(), Error> {
    let running = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    match running.trim() {
        running if running == release => Ok(()),
        "" => {
            Err(format!("--vs kernel: it is not known if the running kernel is {release}").into())
        }
        running => Err(format!(
            "--vs kernel measures the running kernel, {running}, which is not that of --kernel, \
             {release}"
        )
        .into()),
    }
}

impl Run<'_> {
    pub(super) fn new(flags: &VerifyFlags) -> Result<Run<'_>, Error> {
        if flags.input.files.is_empty() {
            return Err("no file given".into());
        }
        let sides = match flags.worker {
            Some(_) => sides::alone(&flags.a)?,
            None => sides::read(&flags.a, &flags.b)?,
        };
        let plan = Plan::to_verify(&flags.input, &flags.filter)?;
        if let (Some(Reference::Kernel), Some(kernel)) = (flags.vs, &plan.session.kernel) {
            is_running(kernel.release())?;
        }
        let time = Duration::from_secs_f64(flags.time.unwrap_or(SECONDS_DEFAULT));
        let rounds = flags.repeat.map_or(Rounds::Time(time), Rounds::Repeat);
        Ok(Run { flags, plan, sides, rounds })
    }

    /// The verifier's configuration of a side.
    pub(super) fn config(&self, side: &Side) -> skep_verifier::Config {
        let options = VerifyOptions { tuning: side.tuning, ..self.plan.options };
        self.plan.session.config(&options)
    }
}
