//! `skep bench`: honest figures; of verification here, of running programs in `running`, of
//! switching running code in `poking`.
//!
//! One module a mode: `in_turn` (two settings, or one), `versus` (the host kernel), `saturate`
//! (several processes at once), `counted` (callgrind). `subjects` says which programs, `worker` is
//! the child process of those that need one.

mod counted;
mod figures;
mod in_turn;
pub(crate) mod poking;
pub(crate) mod running;
mod saturate;
mod sides;
mod subjects;
mod versus;
mod worker;

use crate::exit::Exit;
use crate::flags::BenchVerifyFlags;
use crate::judge_files::Plan;
use crate::memory_gate::{Kept, MemoryGate};
use crate::stat::read_filters;
use crate::streams::Streams;
use indicatif::{ProgressBar, ProgressStyle};
use sides::Side;
use skep::VerifyOptions;
use skep::uapi::ProgFlags;
use skep_bench::Rounds;
use std::io;
use std::time::Duration;

/// Seconds per program where nothing is said.
const SECONDS_DEFAULT: f64 = 3.0;

/// The flags, read.
struct Run<'a> {
    flags: &'a BenchVerifyFlags,
    plan: Plan,
    sides: Vec<Side>,
    rounds: Rounds,
}

/// The inner error is a line about the input.
type Outcome = io::Result<Result<Exit, String>>;

/// An answer as JSON, the last line of it ended.
fn write_json(answer: &impl serde::Serialize, streams: &mut Streams<'_>) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *streams.out, answer)?;
    writeln!(streams.out)
}

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &BenchVerifyFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let outcome = match Run::new(flags) {
        Err(message) => Err(message),
        Ok(run) if flags.worker.is_some() => worker::run(&run, streams)?,
        Ok(run) if flags.vs.is_some() => versus::run(&run, streams)?,
        Ok(run) if flags.saturate.is_some() => saturate::run(&run, streams)?,
        Ok(run) if flags.callgrind => counted::run(&run, streams)?,
        Ok(run) => in_turn::run(&run, streams)?,
    };
    outcome.or_else(|message| {
        streams.error(&message)?;
        Ok(Exit::Input)
    })
}

impl Run<'_> {
    fn new(flags: &BenchVerifyFlags) -> Result<Run<'_>, String> {
        if flags.input.files.is_empty() {
            return Err("no file given".to_owned());
        }
        let sides = match flags.worker {
            Some(_) => sides::alone(&flags.a)?,
            None => sides::read(&flags.a, &flags.b)?,
        };
        let plan = Plan {
            session: Plan::session_of(&flags.input)?,
            filters: read_filters(&flags.filter)?,
            presets: Vec::new(),
            options: VerifyOptions::default(),
            prog_flags: ProgFlags::empty(),
            scan: flags.input.scan,
            gate: MemoryGate::new(&flags.input, Kept::Little)?,
            is_compiled: false,
        };
        let time = Duration::from_secs_f64(flags.time.unwrap_or(SECONDS_DEFAULT));
        let rounds = flags.repeat.map_or(Rounds::Time(time), Rounds::Repeat);
        Ok(Run { flags, plan, sides, rounds })
    }

    /// The verifier's configuration of a side.
    fn config(&self, side: &Side) -> skep::verifier::Config {
        let options = VerifyOptions { tuning: side.tuning, ..self.plan.options };
        self.plan.session.config(&options)
    }
}

/// A bar over all programs; each is 1,000 long.
struct Progress {
    bar: ProgressBar,
}

const PROGRAM_TICKS: u64 = 1_000;

impl Progress {
    fn new(streams: &Streams<'_>, programs: usize) -> Progress {
        if !streams.progress {
            return Progress { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::new(programs as u64 * PROGRAM_TICKS);
        let style = ProgressStyle::with_template("{bar:32} {percent} % {elapsed} {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Progress { bar }
    }

    fn program(&self, index: usize, name: &str) -> impl Fn(f64) + use<> {
        let start = index as u64 * PROGRAM_TICKS;
        self.bar.set_message(name.to_owned());
        let bar = self.bar.clone();
        move |part| bar.set_position(start + (part * PROGRAM_TICKS as f64) as u64)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
