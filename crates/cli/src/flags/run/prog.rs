//! Flags of `skep prog`.

use super::poke::Poke;
use crate::flags::against::AgainstFlags;
use crate::flags::output::TextFormat;
use clap::{Args, Subcommand};
use skep::runtime::Engine;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Subcommands of `skep prog`.
#[derive(Debug, Subcommand)]
pub enum ProgCommand {
    /// List the loaded programs
    Show(ProgFlags),
    /// Run each program with statistics on, then list it
    Stat(ProgFlags),
}

/// Flags of `skep prog show` and `skep prog stat`.
#[derive(Debug, Clone, Args)]
pub struct ProgFlags {
    /// BPF object files
    #[arg(value_name = "OBJ", required = true)]
    pub files: Vec<PathBuf>,
    /// Print JSON on one line (bpftool's -j)
    #[arg(short, long)]
    pub json: bool,
    /// Print indented JSON
    #[arg(short, long)]
    pub pretty: bool,
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: TextFormat,
    /// Runs of each program, on zeroed input; default 1000 for `stat`, 0 for `show`
    #[arg(long, value_name = "N")]
    pub repeat: Option<NonZeroU32>,
    /// Time only one run in N, count all: times are estimates
    #[arg(long, value_name = "N", default_value = "1")]
    pub stats_sample: NonZeroU32,
    /// Interpret instead of running machine code
    #[arg(long)]
    pub interp: bool,
    /// How statistics and tail calls are switched in running code
    #[arg(long, value_name = "MODE", default_value = "patch")]
    pub poke: Poke,
    /// The kernel and loader.
    #[command(flatten)]
    pub against: AgainstFlags,
}

impl ProgFlags {
    /// The requested engine, or this processor's default.
    pub(crate) fn engine(&self) -> Engine {
        if self.interp { Engine::Interpreter } else { Engine::default() }
    }
}
