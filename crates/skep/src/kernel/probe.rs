//! Probing the running kernel: its release, BTF and configuration, and for privileged users the
//! results of loading small programs ([`Kernel::asked`]).

use super::ask::{Answers, Judge, MAPS, PROGS};
use super::{Item, Kernel, fit, release as named};
use crate::host::release;
use crate::{Error, Host, KernelBtf};
use skep_uapi::{BEHAVIOURS, Behaviour};
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
    /// The kernel's release is unknown, its BTF is malformed, or it is not an x86-64 kernel's.
    pub fn probe(judge: Option<&mut Judge<'_>>) -> Result<Probed, Error> {
        const RELEASE: &str = "/proc/sys/kernel/osrelease";
        let told = release().ok_or_else(|| Error::new(Path::new(RELEASE), STEP, "not told"))?;
        let version =
            named::parse(&told).map_err(|why| Error::new(Path::new(RELEASE), STEP, why))?;
        let host = Host::read(&KernelBtf::Running)?;
        let fits = host.kernel_btf.as_ref().map_or(Ok(()), |btf| fit::check(btf, version));
        fits.map_err(|why| Error::of(Path::new(RELEASE), STEP, why))?;
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
    not_known.extend(kernel.answers().map_or(Vec::new(), not_answered));
    not_known.extend(lacking(&kernel).into_iter().map(str::to_owned));
    Probed { kernel, not_known }
}

/// What could not be asked, or got no usable answer; one line each.
fn not_answered(answers: &Answers) -> Vec<String> {
    let not_asked = |item: &Item| answers.has(*item).is_none();
    let progs = PROGS.map(|(of, _)| Item::Prog(of)).into_iter().filter(not_asked);
    let maps = MAPS.map(|(of, _)| Item::Map(of)).into_iter().filter(not_asked);
    let unfit = BEHAVIOURS.iter().filter(|rule| answers.is_unfit(rule.name));
    let is_open =
        |rule: &&Behaviour| answers.holds(rule.name).is_none() && !answers.is_unfit(rule.name);
    let open = BEHAVIOURS.iter().filter(is_open);
    let (unfit, open) = (unfit.map(|rule| rule.name), open.map(|rule| rule.name));
    let [_, callers, _] = answers.counts();
    let calls = if callers == 0 { vec!["who may call which helper"] } else { Vec::new() };
    let parts: [(&str, Vec<&str>, &str); 5] = [
        ("program types: ", progs.map(Item::name).collect(), "not permitted, or no BTF"),
        ("map types: ", maps.map(Item::name).collect(), "not permitted"),
        ("", calls, "not permitted (CAP_PERFMON)"),
        ("rules: ", unfit.collect(), "the answers fit no known value"),
        ("rules: ", open.collect(), "not asked; as known for the release"),
    ];
    let told = parts.into_iter().filter(|(_, names, _)| !names.is_empty());
    told.map(|(what, names, why)| format!("{what}{}: {why}", listed(&names))).collect()
}

/// As many names are listed.
const NAMES_MAX: usize = 10;

fn listed(names: &[&str]) -> String {
    let (first, more) = names.split_at(names.len().min(NAMES_MAX));
    match more.len() {
        0 => first.join(", "),
        n => format!("{} and {n} more", first.join(", ")),
    }
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
    use skep_uapi::ProgType;

    #[test]
    fn what_is_not_told_is_named() {
        let bare = || Kernel::new("5.14.0-503.el9", None, named::parse("5.14").expect("a release"));
        let refused = probed(bare(), Some(&mut |_| Judged::default()));
        assert_eq!(refused.not_known.len(), 5, "{:?}", refused.not_known);
        let some = probed(
            bare(),
            Some(&mut |program| match program.prog_type {
                ProgType::SchedCls => Judged { message: "EPERM".to_owned(), ..Judged::default() },
                _ => Judged { judged: true, accepted: true, ..Judged::default() },
            }),
        );
        let says = |what: &str| some.not_known.iter().any(|line| line.starts_with(what));
        assert!(says("program types: sched_cls, tracing, lsm: not permitted"), "{some:?}");
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
