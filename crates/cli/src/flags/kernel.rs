//! Flags of `skep kernel`.

use super::output::FormatFlag;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Subcommands about kernels.
#[derive(Debug, Subcommand)]
pub enum KernelCommand {
    /// List the built-in kernels, names for --kernel (show NAME: what verdicts for one are worth)
    List {
        /// Output format.
        #[command(flatten)]
        format: FormatFlag,
    },
    /// Show the facts known about a kernel
    Show {
        /// A name, or a kernel file
        #[arg(value_name = "NAME|FILE")]
        kernel: String,
        /// Output format.
        #[command(flatten)]
        format: FormatFlag,
    },
    /// Show the differences between two kernels
    Diff {
        /// A name, or a kernel file
        #[arg(value_name = "A")]
        one: String,
        /// Another name or kernel file
        #[arg(value_name = "B")]
        other: String,
        /// List what is not known about one of them
        #[arg(long)]
        unknown: bool,
        /// Output format.
        #[command(flatten)]
        format: FormatFlag,
    },
    /// Create a kernel file from a package, vmlinuz, vmlinux or BTF (/sys/kernel/btf/vmlinux)
    Import(KernelImportFlags),
    /// Create a kernel file for the running kernel: as root, by loading small programs; otherwise,
    /// from unprivileged information
    Probe {
        /// Load no programs
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
    /// A package (deb, rpm), vmlinuz, vmlinux or BTF, compressed or not
    pub file: PathBuf,
    /// The kernel's `uname -r`; not needed for a vmlinux or a package, which state it
    #[arg(long, value_name = "RELEASE")]
    pub release: Option<String>,
    /// The kernel file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}
