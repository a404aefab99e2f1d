//! How far skep's verdicts agree with those of tested kernels: how reliable a result for such a
//! kernel is.
//!
//! `agreement.csv` is written by `cargo xtask parity` from the committed baselines
//! (`tests/kernels/asked`), and checked with `docs/parity.md`.

use super::{Kernel, Source};
use skep_uapi::BEHAVIOURS;
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
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Agreement { judged, same, false_accepts } = self;
        let share = 100.0 * f64::from(*same) / f64::from(*judged).max(1.0);
        let one = if *false_accepts == 1 { "was" } else { "were" };
        write!(f, "{share:.1} % of {judged} verdicts agreed, ")?;
        write!(f, "{false_accepts} accepted here {one} rejected there")
    }
}

impl Kernel {
    /// The agreement of verdicts, if this kernel judged programs.
    pub fn agreement(&self) -> Option<Agreement> {
        Agreement::of(&self.release).filter(|_| self.was_asked())
    }

    /// How reliable "accepted" is for this kernel; must be reported with every result.
    pub fn promise(&self) -> String {
        const RULES: &str = "verifier rules as tested on this kernel, otherwise those of 6.18";
        let rules = self.answers().map(|answers| answers.counts()[2]);
        match (self.source, self.agreement()) {
            (_, Some(agreement)) => format!("{RULES}: {agreement}"),
            (Source::Asked, None) => format!("{RULES}: its verdicts were not compared"),
            (Source::Table, None) => {
                format!("from the table, not tested; {RULES}: it may reject what is accepted here")
            }
            (Source::File, None) if rules.is_some() => {
                let (rules, of) = (rules.unwrap_or_default(), BEHAVIOURS.len());
                format!(
                    "probed, with {rules} of {of} rules; {RULES}: it may reject what is accepted \
                     here"
                )
            }
            (Source::File, None) => {
                format!("not tested; {RULES}: it may reject what is accepted here")
            }
        }
    }
}

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
            assert!(!kernel.promise().contains("agreed"), "{}", kernel.promise());
        };
        let btf = fitting(211).build().map(Arc::new).expect("valid");
        for (_, release) in ASKED {
            claims(release, Some(btf.clone()));
            claims(release, None);
        }
    }

    #[test]
    fn every_answer_says_what_it_is_worth() {
        for kernel in Kernel::all() {
            let (promise, agreement) = (kernel.promise(), kernel.agreement());
            assert!(promise.contains("6.18"), "{promise}");
            assert!(agreement.is_none_or(|it| it.same <= it.judged), "{promise}");
        }
        let old = Kernel::open("5.10").expect("asked").agreement().expect("compared");
        assert!(old.judged > 2_000 && old.false_accepts < old.judged - old.same + 1);
        assert_eq!(Agreement::of("5.10"), None, "a release is whole");
    }
}
