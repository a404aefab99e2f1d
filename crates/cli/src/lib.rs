//! The command `skep`, as a library: `main` only connects it to the process.
//!
//! Reading order: `flags` (the table of all options), `stat`, `check`, `dump` (one module per
//! command), then the shared parts: `inputs`, `judge_files`, `in_order`, `memory_gate`, `globals`.
//!
//! The public parts are for `skep-bench`, which takes the same files, and may change in any
//! release. To embed skep, depend on the crate `skep`.

#![deny(unsafe_code)]

mod alike;
mod allocator;
mod baseline;
mod check;
mod choice;
mod diagnostic;
mod digits;
mod dump;
mod error;
mod exit;
mod explain;
pub mod flags;
mod folded;
mod globals;
mod html_file;
mod in_order;
pub mod inputs;
mod joined;
pub mod judge_files;
mod kernel;
mod kernels;
mod matrix;
mod memory_gate;
mod pages;
mod process;
mod profile;
#[cfg(all(feature = "run", target_os = "linux"))]
mod prog;
#[cfg(all(feature = "run", target_os = "linux"))]
mod run;
mod sources;
mod stat;
mod streams;
#[cfg(all(feature = "run", target_os = "linux"))]
mod suite;
mod sweep;
mod target;
mod threads;
pub mod tuning;
mod variables;

pub use error::Error;
pub use exit::Exit;
pub use flags::{Cli, Command};
pub use in_order::Weigh;
pub use memory_gate::over_limit;
pub use process::run_in_process;
#[cfg(all(feature = "run", target_os = "linux"))]
pub use run::interrupt;
pub use streams::Streams;

use clap::Parser;
#[cfg(all(feature = "run", target_os = "linux"))]
use flags::run::RunsCommand;
use std::ffi::OsString;
use std::io;

/// Runs a command line.
///
/// # Errors
///
/// Only those of the streams; the caller decides about a broken pipe.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    streams: &mut Streams<'_>,
) -> io::Result<Exit> {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => return print_usage(&e, streams),
    };
    streams.style = cli.color.style(streams.style);
    streams.progress &= !cli.command.is_quiet();
    match &cli.command {
        Command::Stat(flags) => stat::run(flags, streams),
        Command::Check(flags) if matrix::is_wanted(flags) => matrix::run(flags, streams),
        Command::Check(flags) => check::run(flags, streams),
        Command::Explain(flags) => explain::run(flags, streams),
        Command::Baseline(command) => baseline::run(command, streams),
        Command::Globals(flags) => variables::run(flags, streams),
        Command::Profile(flags) => profile::run(flags, streams),
        Command::Dump(flags) => dump::run(flags, streams),
        #[cfg(all(feature = "run", target_os = "linux"))]
        Command::Runs(RunsCommand::Run(flags)) => run::run(flags, streams),
        #[cfg(all(feature = "run", target_os = "linux"))]
        Command::Runs(RunsCommand::Prog(command)) => prog::run(command, streams),
        #[cfg(all(feature = "run", target_os = "linux"))]
        Command::Runs(RunsCommand::Test(flags)) => suite::run(flags, streams),
        Command::Kernel(command) => kernel::run(command, streams),
        Command::Completions { shell } => {
            pages::completions(streams.out, *shell).map(|()| Exit::Success)
        }
        Command::Man { command } => match pages::man(streams.out, command)? {
            Some(()) => Ok(Exit::Success),
            None => {
                streams.error("no such subcommand")?;
                Ok(Exit::Input)
            }
        },
    }
}

/// Help and version are results; everything else is an error of the command line.
///
/// # Errors
///
/// Those of the streams.
pub fn print_usage(error: &clap::Error, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let text = match streams.style {
        skep_report::Style::Plain => error.render().to_string(),
        skep_report::Style::Coloured => error.render().ansi().to_string(),
    };
    if error.use_stderr() {
        write!(streams.err, "{text}")?;
        return Ok(Exit::Input);
    }
    write!(streams.out, "{text}")?;
    Ok(Exit::Success)
}
