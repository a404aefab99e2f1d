//! `skep-bench verify`: the cost of verification.
//!
//! One module per mode: `in_turn` (two settings, or one), `versus` (the host kernel), `saturate`
//! (several processes at once), `counted` (callgrind). `subjects` chooses the programs, `worker` is
//! the child process of the modes that need one.

mod counted;
mod in_turn;
mod saturate;
mod settings;
mod sides;
mod subjects;
mod versus;
mod worker;

use crate::command::flags::VerifyFlags;
use crate::command::progress::Outcome;
use settings::Run;
use skep_cli::Streams;
use skep_cli::interrupt;

/// Runs the command.
pub(crate) fn run(flags: &VerifyFlags, streams: &mut Streams<'_>) -> Outcome {
    // After an interrupt, the results so far are shown.
    let _guard = interrupt::Guard::new();
    let run = Run::new(flags);
    if let (Ok(run), None) = (&run, &flags.worker) {
        run.plan.note_kernel(streams)?;
    }
    Ok(match run {
        Err(message) => Err(message),
        Ok(run) if flags.worker.is_some() => worker::run(&run, streams)?,
        Ok(run) if flags.vs.is_some() => versus::run(&run, streams)?,
        Ok(run) if flags.saturate.is_some() => saturate::run(&run, streams)?,
        Ok(run) if flags.callgrind => counted::run(&run, streams)?,
        Ok(run) => in_turn::run(&run, streams)?,
    })
}
