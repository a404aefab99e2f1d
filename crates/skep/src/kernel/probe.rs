//! What the running kernel says of itself to anybody: its release, its BTF, its configuration.
//!
//! No program is loaded and no root needed. What there is on a kernel is in the BTF, backports
//! included; insns are not, and the rules of its walk nobody is asked.

use super::{Kernel, parse};
use crate::host::release;
use crate::{Error, Host, KernelBtf};
use std::path::Path;

const STEP: &str = "asking the running kernel";

/// A kernel, and what it did not say.
#[derive(Clone, Debug)]
pub struct Probed {
    /// What is known.
    pub kernel: Kernel,
    /// What is not, and why; a line each.
    pub not_known: Vec<String>,
}

impl Kernel {
    /// Asks the running kernel. What it does not say is not known, and is told.
    ///
    /// # Errors
    ///
    /// It does not say of which release it is, or its BTF is malformed.
    pub fn probe() -> Result<Probed, Error> {
        const RELEASE: &str = "/proc/sys/kernel/osrelease";
        let told = release().ok_or_else(|| Error::new(Path::new(RELEASE), STEP, "not told"))?;
        let version = parse(&told)?;
        let host = Host::read(&KernelBtf::Running)?;
        Ok(probed(Kernel { kconfig: host.kconfig, ..Kernel::new(&told, host.kernel_btf, version) }))
    }
}

fn probed(kernel: Kernel) -> Probed {
    let mut not_known = Vec::new();
    if kernel.btf.is_none() {
        not_known
            .push("BTF, helpers and types: no /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)");
    }
    if kernel.kconfig.is_none() {
        not_known.push("configuration: neither /boot/config nor /proc/config.gz can be read");
    }
    if !kernel.was_asked() {
        not_known.push("insns that the table of releases says it lacks: BTF does not list them");
    }
    not_known.push("modules: their BTF and kfuncs are left out");
    Probed { kernel, not_known: not_known.into_iter().map(str::to_owned).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_named() {
        let bare = probed(Kernel::new("5.14.0-503.el9", None, parse("5.14").expect("a release")));
        assert_eq!(bare.not_known.len(), 4, "{:?}", bare.not_known);
        let asked = probed(Kernel::open("6.12").expect("asked"));
        assert_eq!(asked.not_known.len(), 3, "{:?}", asked.not_known);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_running_kernel_says_its_release() {
        let Ok(Probed { kernel, .. }) = Kernel::probe() else { return };
        assert_eq!(Some(kernel.release().to_owned()), release());
    }
}
