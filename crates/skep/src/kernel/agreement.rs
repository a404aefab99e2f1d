//! How far skep's verdicts agree with those of tested kernels: how reliable a result for such a
//! kernel is.
//!
//! `agreement.csv` is written by `cargo xtask parity` from the committed baselines
//! (`tests/kernels/asked`), and checked with `docs/parity.md`.

use super::{Kernel, Source};
use skep_uapi::{BEHAVIOURS, RulesOf};
use std::fmt;

/// Verdicts on the programs of the open corpus that a kernel judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Programs that the kernel's verifier judged.
    pub judged: u32,
    /// Those with the same verdict here.
    pub same: u32,
    /// Those accepted here but rejected by the kernel.
    pub false_accepts: u32,
}

const TABLE: &str = include_str!("agreement.csv");

impl Agreement {
    fn of(release: &str) -> Option<Agreement> {
        let row = TABLE.lines().find_map(|line| line.strip_prefix(release)?.strip_prefix(','))?;
        let mut numbers = row.split(',').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Agreement { judged: next()?, same: next()?, false_accepts: next()? })
    }

    /// The share of verdicts that are the same, in percent: 100 only if all are.
    pub fn percent(&self) -> f64 {
        let share = 100.0 * f64::from(self.same) / f64::from(self.judged).max(1.0);
        if self.same == self.judged { share } else { share.min(99.9) }
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Agreement { judged, false_accepts, .. } = self;
        let share = self.percent();
        write!(f, "{share:.1} % of {judged} programs got the same verdict there, ")?;
        match false_accepts {
            0 => f.write_str("none accepted here was rejected"),
            1 => f.write_str("1 accepted here was rejected"),
            several => write!(f, "{several} accepted here were rejected"),
        }
    }
}

impl Kernel {
    /// The agreement of verdicts, if this kernel judged programs.
    pub fn agreement(&self) -> Option<Agreement> {
        Agreement::of(&self.release).filter(|_| self.was_asked())
    }

    /// How reliable "accepted" is for this kernel; must be reported with every result.
    pub fn promise(&self) -> String {
        match (self.source, self.answers()) {
            (Source::Asked, _) => format!("tested: {}; {}", self.rules_tested(), self.compared()),
            (Source::Table, _) => {
                let (as_of, rules, risk) = (self.taken_over(), self.rules_between(), self.risk());
                format!("not tested: {as_of}{rules}; {risk}")
            }
            (Source::File, Some(answers)) => {
                let (rules, of) = (answers.counts()[2], BEHAVIOURS.len());
                let others = "the others are those of the release";
                format!("probed: {rules} of {of} rules shown by it, {others}; {MAY_REJECT}")
            }
            (Source::File, None) if self.rules_known().1.is_none() => {
                let how = "imported, or probed without privileges";
                format!("{how}: {}; {}", self.rules_between(), self.risk())
            }
            (Source::File, None) => {
                let how = "imported, or probed without privileges; not tested";
                let (as_of, rules, risk) = (self.taken_over(), self.rules_between(), self.risk());
                format!("{how}: {as_of}{rules}, backports are not known; {risk}")
            }
        }
    }

    /// The number of its verifier rules that are known, and what is used instead of the others.
    pub fn rules_known(&self) -> (usize, Option<String>) {
        let known = BEHAVIOURS.iter().filter(|rule| self.holds(rule).is_some()).count();
        let others = match RulesOf::release(&self.rules) {
            RulesOf::Itself => None,
            RulesOf::Series(name) => Some(format!("those of {name}, of the same series")),
            RulesOf::Several(names) => {
                let (last, others) = names.split_last().unwrap_or((&"", &[]));
                let others = others.join(", ");
                Some(format!("those of {others} and {last}"))
            }
            RulesOf::Oldest(name) => Some(format!("those of {name}, the oldest tested kernel")),
            RulesOf::Newest(name) => Some(format!("those of {name}, the newest tested kernel")),
        };
        (known, others)
    }

    /// Whether its own verifier was asked: a kernel of this release was tested, or it was probed.
    /// Results for others are marked.
    pub fn is_tested(&self) -> bool {
        self.was_asked() || self.answers().is_some()
    }

    /// What "accepted" leaves open.
    fn risk(&self) -> &'static str {
        match self.newer_rules() {
            Some(_) => "whether it accepts what they accept is not known",
            None => MAY_REJECT,
        }
    }

    /// Whose BPF a distribution's kernel is taken to have.
    fn taken_over(&self) -> String {
        match self.is_composed() {
            true => format!("composed of the BPF of {}, ", self.rules),
            false => String::new(),
        }
    }

    /// Whether the verdict is that of several tested kernels, where they agree.
    fn is_between(&self) -> bool {
        matches!(RulesOf::release(&self.rules), RulesOf::Several(_))
    }

    /// The oldest tested kernel, whose rules are used for an untested one before it.
    pub(super) fn newer_rules(&self) -> Option<&'static str> {
        match RulesOf::release(&self.rules) {
            RulesOf::Oldest(name) if !self.is_tested() => Some(name),
            _ => None,
        }
    }

    fn compared(&self) -> String {
        match self.agreement() {
            Some(agreement) => agreement.to_string(),
            None => format!("its verdicts were not compared, so {MAY_REJECT}"),
        }
    }

    /// The rules of a kernel that was tested.
    fn rules_tested(&self) -> String {
        match (self.rules_known().0, BEHAVIOURS.len()) {
            (known, of) if known == of => "all rules known".to_owned(),
            (known, of) => format!("{known} of {of} rules known, the others as on 6.18"),
        }
    }

    /// The rules of a kernel that was not tested.
    fn rules_between(&self) -> String {
        let of = BEHAVIOURS.len();
        match self.rules_known() {
            (_, None) => "rules as tested on this release".to_owned(),
            (0, Some(whose)) => format!("rules not known, {whose}, are used"),
            (known, Some(whose)) if known == of => format!("rules are {whose}"),
            (known, Some(whose)) if self.is_between() => {
                format!("{known} of {of} rules known; verdicts are {whose}, where these agree")
            }
            (known, Some(whose)) => format!("{known} of {of} rules known, otherwise {whose}"),
        }
    }
}

/// Of a kernel that was not compared.
const MAY_REJECT: &str = "the kernel may reject what is accepted here";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ASKED;
    use crate::kernel::fit::tests::fitting;
    use std::sync::Arc;

    #[test]
    fn only_the_kernel_that_agreed_gets_the_credit() {
        let claims = |release: &str, btf| {
            let version = release.parse().expect("a release");
            let kernel = Kernel::new(release, btf, version);
            assert_eq!((kernel.agreement(), kernel.name()), (None, release));
            assert!(!kernel.promise().contains("same verdict"), "{}", kernel.promise());
        };
        let btf = fitting(211).build().map(Arc::new).expect("valid");
        for (_, release) in ASKED {
            claims(release, Some(btf.clone()));
            claims(release, None);
        }
    }

    #[test]
    fn all_are_the_same_only_if_none_differs() {
        let told = |same| Agreement { judged: 4860, same, false_accepts: 0 }.to_string();
        assert!(told(4860).starts_with("100.0 % of 4860 "), "{}", told(4860));
        assert!(told(4859).starts_with("99.9 % of 4860 "), "{}", told(4859));
    }

    #[test]
    fn every_answer_says_what_it_is_worth() {
        for kernel in Kernel::builds() {
            let (promise, agreement) = (kernel.promise(), kernel.agreement());
            assert!(agreement.is_none_or(|it| it.same <= it.judged), "{promise}");
            assert_eq!(promise.starts_with("not tested: "), !kernel.is_tested());
            let is_counted = kernel.was_asked() && agreement.is_some();
            let leaves = [" may reject ", " is not known"];
            assert_eq!(leaves.iter().any(|it| promise.contains(it)), !is_counted, "{promise}");
        }
        let old = Kernel::open("5.10").expect("asked").agreement().expect("compared");
        assert!(old.judged > 2_000 && old.false_accepts < old.judged - old.same + 1);
        assert_eq!(Agreement::of("5.10"), None, "a release is whole");
    }

    #[test]
    fn rules_of_other_kernels_are_named() {
        let known = |name| Kernel::open(name).expect("a kernel").rules_known();
        let oldest = "those of 5.10.0-30, the oldest tested kernel";
        assert_eq!(known("5.4"), (0, Some(oldest.to_owned())));
        assert_eq!(known("6.12"), (BEHAVIOURS.len(), None));
        let (some, others) = known("6.6");
        assert!(some > 0 && some < BEHAVIOURS.len(), "{some}");
        assert!(
            others.is_some_and(|it| it.starts_with("those of 6.5, 6.8.0-31 and later kernels"))
        );
        let promise = |name| Kernel::open(name).expect("a kernel").promise();
        let used = "rules not known, those of 5.10.0-30, the oldest tested kernel, are used";
        assert!(promise("5.4").contains(used), "{}", promise("5.4"));
        assert!(promise("5.4").ends_with("whether it accepts what they accept is not known"));
        let others = "verdicts are those of 6.5, 6.8.0-31 and later kernels, where these agree";
        assert!(promise("6.6").contains(others), "{}", promise("6.6"));
    }
}
