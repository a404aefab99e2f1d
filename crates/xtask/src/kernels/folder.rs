//! The folder of a kernel's answers and facts.

use super::initrd;
use super::machine::Machine;
use skep::{Host, Kernel};
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of a kernel's answers.
pub(super) fn folder(machine: &Machine) -> PathBuf {
    machine.out.join(&machine.kernel)
}

/// The file of answers in it, which `kernels ask` writes.
pub(super) const ANSWERS: &str = "answers.csv";

/// The releases with answers among the folders of `out`.
pub(super) fn answered(out: &Path) -> io::Result<Vec<String>> {
    let mut releases: Vec<String> = fs::read_dir(out)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| out.join(name).join(ANSWERS).exists())
        .collect();
    releases.sort();
    Ok(releases)
}

/// The facts in it.
pub(super) fn host(folder: &Path) -> Result<Host, String> {
    Host::read_folder(&folder.join("facts")).map_err(|e| e.to_string())
}

/// The kernel with these facts, and what is known about its release.
pub(super) fn kernel(folder: &Path, release: &str) -> Result<(Host, Kernel), Box<dyn Error>> {
    let host = host(folder)?;
    Ok((host, Kernel::import(&folder.join("facts/btf/vmlinux"), Some(release))?))
}

/// The package's configuration.
pub(super) fn config(machine: &Machine) -> Option<PathBuf> {
    let package = machine.cache.join(&machine.kernel);
    let names = [
        package.join("boot").join(format!("config-{}", machine.kernel)),
        initrd::modules_folder(machine).unwrap_or_default().join("config"),
    ];
    names.into_iter().find(|path| path.exists())
}
