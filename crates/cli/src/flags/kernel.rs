//! Flags of `skep kernel`.

use super::output::FormatFlag;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What is done with kernels.
#[derive(Debug, Subcommand)]
pub enum KernelCommand {
    /// The kernels that were asked: names for --kernel
    List {
        /// How that is printed.
        #[command(flatten)]
        format: FormatFlag,
    },
    /// What is known of a kernel
    Show {
        /// A name, or a kernel file
        #[arg(value_name = "NAME|FILE")]
        kernel: String,
        /// How that is printed.
        #[command(flatten)]
        format: FormatFlag,
    },
    /// What one kernel has and another has not
    Diff {
        /// A name, or a kernel file
        #[arg(value_name = "A")]
        one: String,
        /// Another
        #[arg(value_name = "B")]
        other: String,
        /// How that is printed.
        #[command(flatten)]
        format: FormatFlag,
    },
    /// Make a kernel file of a package, vmlinuz, vmlinux or BTF (/sys/kernel/btf/vmlinux)
    Import(KernelImportFlags),
    /// Make a kernel file of the running kernel: as root by loading small programs, else of what it
    /// says to anybody
    Probe {
        /// Load nothing
        #[arg(long)]
        facts_only: bool,
        /// The kernel file to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

/// Flags of `skep kernel import`.
#[derive(Debug, Clone, Args)]
pub struct KernelImportFlags {
    /// A package (deb, rpm), vmlinuz, vmlinux or BTF, packed or not
    pub file: PathBuf,
    /// What `uname -r` says there; a vmlinux says it itself
    #[arg(long, value_name = "RELEASE")]
    pub release: Option<String>,
    /// The kernel file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}
