//! Flags of `skep kernel`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What is done with kernels.
#[derive(Debug, Subcommand)]
pub enum KernelCommand {
    /// The kernels that were asked: names for --kernel
    List,
    /// What is known of a kernel
    Show {
        /// A name, or a kernel file
        #[arg(value_name = "NAME|FILE")]
        kernel: String,
    },
    /// Make a kernel file of BTF (/sys/kernel/btf/vmlinux of that kernel) or of a vmlinux
    Import(KernelImportFlags),
}

/// Flags of `skep kernel import`.
#[derive(Debug, Clone, Args)]
pub struct KernelImportFlags {
    /// BTF, or a vmlinux with it
    pub file: PathBuf,
    /// What `uname -r` says there; a vmlinux says it itself
    #[arg(long, value_name = "RELEASE")]
    pub release: Option<String>,
    /// The kernel file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}
