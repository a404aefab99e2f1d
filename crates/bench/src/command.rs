//! The command `skep-bench`: verification in `verify`, running programs in `running`, switching
//! running code in `poking`.
//!
//! It is a binary of its own: it traps signals, writes to running code in wrong ways on purpose,
//! and asks compilers and other engines, none of which belongs in the tool that people ship.

mod figures;
mod flags;
mod poking;
mod running;
mod verify;

use clap::Parser;
use flags::{BenchCommand, Cli};
use indicatif::{ProgressBar, ProgressStyle};
use skep_cli::{Exit, Streams};
use std::ffi::OsString;
use std::io;

/// Runs a command line.
///
/// # Errors
///
/// Only those of the streams; a broken pipe is the caller's to forgive.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    streams: &mut Streams<'_>,
) -> io::Result<Exit> {
    match Cli::try_parse_from(args) {
        Err(e) => skep_cli::print_usage(&e, streams),
        Ok(cli) => {
            let outcome = match &cli.command {
                BenchCommand::Verify(flags) => verify::run(flags, streams)?,
                BenchCommand::Run(flags) => running::run(flags, streams)?,
                BenchCommand::Poke(flags) => poking::run(flags, streams)?,
            };
            outcome.or_else(|message| streams.error(&message).map(|()| Exit::Input))
        }
    }
}

/// The inner error is a line about the input; the outer one of the streams.
type Outcome = io::Result<Result<Exit, String>>;

/// An answer as JSON, the last line of it ended.
fn write_json(answer: &impl serde::Serialize, streams: &mut Streams<'_>) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *streams.out, answer)?;
    writeln!(streams.out)
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
