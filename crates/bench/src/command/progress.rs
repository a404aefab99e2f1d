//! Shared by all commands: results, JSON, a progress bar.

use indicatif::{ProgressBar, ProgressStyle};
use skep_cli::Error;
use skep_cli::{Exit, Streams};
use std::io;

/// The inner error is a message about the input, the outer one an error of the streams.
pub(super) type Outcome = io::Result<Result<Exit, Error>>;

/// Writes a result as JSON, with a newline at the end.
pub(super) fn write_json(
    answer: &impl serde::Serialize,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *streams.out, answer)?;
    writeln!(streams.out)
}

/// A progress bar over all programs, 1,000 steps each.
pub(super) struct Progress {
    pub(super) bar: ProgressBar,
}

const PROGRAM_TICKS: u64 = 1_000;

impl Progress {
    pub(super) fn new(streams: &Streams<'_>, programs: usize) -> Progress {
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

    pub(super) fn program(&self, index: usize, name: &str) -> impl Fn(f64) + use<> {
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
