//! Completions and manual pages, made from the flag table.

use crate::flags::Cli;
use clap::CommandFactory;
use std::io::{self, Write};

/// Writes the completion script for `shell`.
pub(crate) fn completions(out: &mut dyn Write, shell: clap_complete::Shell) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "skep", &mut script);
    out.write_all(&script)
}

/// Writes the manual page of skep or of a subcommand; `None` if there is no such subcommand.
pub(crate) fn man(out: &mut dyn Write, path: &[String]) -> io::Result<Option<()>> {
    let mut command = Cli::command();
    command.build();
    for name in path {
        let Some(found) = command.find_subcommand(name) else { return Ok(None) };
        let full = format!("{} {name}", command.get_bin_name().unwrap_or("skep"));
        command = found.clone().bin_name(full);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    out.write_all(&page)?;
    Ok(Some(()))
}
