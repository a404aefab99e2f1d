//! `Machine`: the arguments of the commands that boot a kernel.

use std::path::PathBuf;

/// The kernel, and the parts of its guest.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Machine {
    /// Folder of unpacked packages, one per release; the packages stay there too.
    #[arg(long, value_name = "DIR")]
    pub(super) cache: PathBuf,
    /// Release, as in the package's name: `6.12.117+deb12-cloud-amd64`.
    #[arg(long, value_name = "RELEASE")]
    pub(super) kernel: String,
    /// Folder of answers: `RELEASE/facts` is from `ask`, and what a command finds goes beside it.
    #[arg(long, value_name = "DIR")]
    pub(super) out: PathBuf,
    /// The guest's init; built for x86_64-unknown-linux-musl.
    #[arg(long, value_name = "FILE")]
    pub(super) guest: Option<PathBuf>,
    /// Module files to load, with their BTF, after all others.
    #[arg(long, value_name = "FILE")]
    pub(super) module: Vec<PathBuf>,
    /// Memory of the guest, MiB.
    #[arg(long, default_value_t = 1280)]
    pub(super) memory_mib: u32,
}
