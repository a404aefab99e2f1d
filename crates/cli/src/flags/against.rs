//! Kernel and loader flags of commands that have only one kernel.

use super::loader::LoaderFlag;
use clap::Args;
use std::ffi::OsString;

/// The kernel and loader that an object is for.
#[derive(Debug, Clone, Default, Args)]
pub struct AgainstFlags {
    /// Kernel BTF: a file, or `none`; the running kernel's by default
    #[arg(long, value_name = "FILE|none")]
    pub btf: Option<OsString>,
    /// Another kernel: a name (`skep kernel list`), or a kernel file
    #[arg(long, value_name = "KERNEL", conflicts_with = "btf", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// Loader whose rules apply: libbpf's, or any (Go, Rust, ...)
    #[arg(long, value_name = "WHOSE", default_value = "libbpf")]
    pub loader: LoaderFlag,
}
