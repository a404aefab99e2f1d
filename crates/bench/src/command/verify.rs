//! `skep-bench verify`: what verification costs.
//!
//! One module a mode: `in_turn` (two settings, or one), `versus` (the host kernel), `saturate`
//! (several processes at once), `counted` (callgrind). `subjects` says which programs, `worker` is
//! the child process of those that need one.

mod counted;
mod in_turn;
mod saturate;
mod sides;
mod subjects;
mod versus;
mod worker;

use crate::Rounds;
use crate::command::flags::VerifyFlags;
use crate::command::progress::Outcome;
use sides::Side;
use skep::VerifyOptions;
use skep_cli::Exit;
use skep_cli::Streams;
use skep_cli::interrupt;
use skep_cli::judge_files::Plan;
use std::time::Duration;

/// Seconds per program where nothing is said.
const SECONDS_DEFAULT: f64 = 3.0;

/// The flags, read.
struct Run<'a> {
    flags: &'a VerifyFlags,
    plan: Plan,
    sides: Vec<Side>,
    rounds: Rounds,
}

/// Runs the command.
pub(crate) fn run(flags: &VerifyFlags, streams: &mut Streams<'_>) -> Outcome {
    // What was measured by then is shown.
    let _guard = interrupt::Guard::new();
    Ok(match Run::new(flags) {
        Err(message) => Err(message),
        Ok(run) if flags.worker.is_some() => worker::run(&run, streams)?,
        Ok(run) if flags.vs.is_some() => versus::run(&run, streams)?,
        Ok(run) if flags.saturate.is_some() => saturate::run(&run, streams)?,
        Ok(run) if flags.callgrind => counted::run(&run, streams)?,
        Ok(run) => in_turn::run(&run, streams)?,
    })
}

/// Whether the user ended the run, which is to stop at the next program: what was measured is
/// shown, and the exit status says so.
fn is_ended(exit: &mut Exit) -> bool {
    let is_asked = interrupt::is_asked();
    if is_asked {
        exit.raise(Exit::Interrupted);
    }
    is_asked
}

impl Run<'_> {
    fn new(flags: &VerifyFlags) -> Result<Run<'_>, String> {
        if flags.input.files.is_empty() {
            return Err("no file given".to_owned());
        }
        let sides = match flags.worker {
            Some(_) => sides::alone(&flags.a)?,
            None => sides::read(&flags.a, &flags.b)?,
        };
        let plan = Plan::to_verify(&flags.input, &flags.filter)?;
        let time = Duration::from_secs_f64(flags.time.unwrap_or(SECONDS_DEFAULT));
        let rounds = flags.repeat.map_or(Rounds::Time(time), Rounds::Repeat);
        Ok(Run { flags, plan, sides, rounds })
    }

    /// The verifier's configuration of a side.
    fn config(&self, side: &Side) -> skep_verifier::Config {
        let options = VerifyOptions { tuning: side.tuning, ..self.plan.options };
        self.plan.session.config(&options)
    }
}
