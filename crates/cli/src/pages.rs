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
pub(crate) fn man(out: &mut dyn Write, subcommand: Option<&str>) -> io::Result<Option<()>> {
    let mut top = Cli::command();
    top.build();
    let command = match subcommand {
        None => Some(top),
        Some(name) => top.find_subcommand(name).map(|c| c.clone().bin_name(format!("skep {name}"))),
    };
    let Some(command) = command else { return Ok(None) };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    out.write_all(&page)?;
    Ok(Some(()))
}
