//! The command `skep-bench`: verification in `verify`, running programs in `running`, switching
//! running code in `poking`.
//!
//! It is a separate binary: it traps signals, patches running code incorrectly on purpose, and runs
//! compilers and other engines, none of which belongs in the released tool.

mod figures;
mod flags;
mod poking;
mod progress;
mod running;
mod verify;

use clap::Parser;
use flags::{BenchCommand, Cli};
use skep_cli::{Exit, Streams};
use std::ffi::OsString;
use std::io;

/// Runs a command line.
///
/// # Errors
///
/// Only those of the streams; the caller may ignore a broken pipe.
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
            outcome.or_else(|e| streams.error(&e).map(|()| Exit::Input))
        }
    }
}
