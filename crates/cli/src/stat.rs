//! `skep stat`: veristat without root.

pub(crate) mod live;
pub(crate) mod replay;
mod top_src_lines;
mod wanted;

use crate::exit::Exit;
use crate::flags::StatFlags;
use crate::streams::Streams;
use std::io;
pub(crate) use wanted::Wanted;

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &StatFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let outcome = match Wanted::new(flags) {
        Ok(wanted) if flags.compare => replay::compare(flags, &wanted, streams)?,
        Ok(wanted) if flags.replay => replay::replay(flags, &wanted, streams)?,
        Ok(wanted) => live::run(flags, &wanted, streams)?,
        Err(e) => Err(e),
    };
    match outcome {
        Ok(exit) => Ok(exit),
        Err(message) => {
            streams.error(&message)?;
            Ok(Exit::Input)
        }
    }
}
