//! Probing the running kernel: its release, BTF and configuration, and for privileged users the
//! results of loading small programs ([`Kernel::asked`]).

use super::ask::Judge;
use super::{Kernel, parse};
use crate::host::release;
use crate::{Error, Host, KernelBtf};
use std::path::Path;

const STEP: &str = "probing the running kernel";

/// A kernel, and what could not be determined.
#[derive(Clone, Debug)]
pub struct Probed {
    /// What is known.
    pub kernel: Kernel,
    /// What is unknown, and why; one line each.
    pub not_known: Vec<String>,
}

impl Kernel {
    /// Probes the running kernel; without `judge` no program is loaded, and no root needed. What
    /// cannot be determined is reported as not known.
    ///
    /// # Errors
    ///
    /// The kernel's release is unknown, or its BTF is malformed.
    pub fn probe(judge: Option<&mut Judge<'_>>) -> Result<Probed, Error> {
        const RELEASE: &str = "/proc/sys/kernel/osrelease";
        let told = release().ok_or_else(|| Error::new(Path::new(RELEASE), STEP, "not told"))?;
        let version = parse(&told)?;
        let host = Host::read(&KernelBtf::Running)?;
        let kernel = Kernel::new(&told, host.kernel_btf, version);
        Ok(probed(Kernel { kconfig: host.kconfig, ..kernel }, judge))
    }
}

fn probed(facts: Kernel, judge: Option<&mut Judge<'_>>) -> Probed {
    let mut not_known = Vec::new();
    let told = judge.map(|judge| facts.clone().asked(judge));
    let kernel = match told {
        Some(Ok(kernel)) => kernel,
        Some(Err(why)) => {
            not_known
                .push(format!("facts that require loading programs, and verifier rules: {why}"));
            facts
        }
        None => facts,
    };
    not_known.extend(lacking(&kernel).into_iter().map(str::to_owned));
    Probed { kernel, not_known }
}

/// What is unknown about a kernel, one line each.
fn lacking(kernel: &Kernel) -> Vec<&'static str> {
    let mut not_known = Vec::new();
    if kernel.btf.is_none() {
        not_known
            .push("BTF, helpers and types: no /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)");
    }
    if kernel.kconfig.is_none() {
        not_known.push("configuration: neither /boot/config nor /proc/config.gz can be read");
    }
    if !kernel.was_asked() && kernel.answers().is_none() {
        not_known.push("insns that are newer than the release: BTF does not list them");
    }
    not_known.push("modules: their BTF and kfuncs are not included");
    not_known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Judged;

    #[test]
    fn what_is_not_told_is_named() {
        let bare = || Kernel::new("5.14.0-503.el9", None, parse("5.14").expect("a release"));
        let refused = probed(bare(), Some(&mut |_| Judged::default()));
        assert_eq!(refused.not_known.len(), 5, "{:?}", refused.not_known);
        let bare = probed(bare(), None);
        assert_eq!(bare.not_known.len(), 4, "{:?}", bare.not_known);
        let asked = probed(Kernel::open("6.12").expect("asked"), None);
        assert_eq!(asked.not_known.len(), 3, "{:?}", asked.not_known);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_running_kernel_says_its_release() {
        let Ok(Probed { kernel, .. }) = Kernel::probe(None) else { return };
        assert_eq!(Some(kernel.release().to_owned()), release());
    }
}
