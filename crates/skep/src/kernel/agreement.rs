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
    /// The agreement of verdicts, if a kernel of this release judged programs.
    pub fn agreement(&self) -> Option<Agreement> {
        Agreement::of(&self.release)
    }

    /// How reliable "accepted" is for this kernel; must be reported with every result.
    pub fn promise(&self) -> String {
        let may = match RulesOf::release(&self.release) {
            RulesOf::Oldest(_) | RulesOf::Newest(_) => "it may decide differently",
            _ => "it may reject what is accepted here",
        };
        let rules = self.rules();
        match (self.source, self.agreement()) {
            (_, Some(agreement)) => format!("{rules}: {agreement}"),
            (Source::Asked, None) => format!("{rules}: its verdicts were not compared"),
            (Source::Table, None) => format!("from the table, not tested; {rules}: {may}"),
            (Source::File, None) => match self.answers() {
                Some(answers) => {
                    let (probed, of) = (answers.counts()[2], BEHAVIOURS.len());
                    format!("probed, with {probed} of {of} rules; {rules}: {may}")
                }
                None => format!("not tested; {rules}: {may}"),
            },
        }
    }

    /// Whose verifier rules are used for it.
    fn rules(&self) -> String {
        let others =
            if self.answers().is_some() { "other verifier rules" } else { "verifier rules" };
        match RulesOf::release(&self.release) {
            RulesOf::Itself => {
                "verifier rules as tested on this kernel, otherwise those of 6.18".to_owned()
            }
            RulesOf::Series(name) => {
                format!("{others} as tested on {name}, of the same series, otherwise those of 6.18")
            }
            RulesOf::Both([one, other]) => {
                format!(
                    "{others} as tested on {one} and {other}, no verdict where they decide \
                         differently, otherwise those of 6.18"
                )
            }
            RulesOf::Oldest(name) => {
                format!("{others} not known, those of {name}, the oldest kernel that was tested")
            }
            RulesOf::Newest(name) => {
                format!("{others} not known, those of {name}, the newest kernel that was tested")
            }
        }
    }

    /// The number of its verifier rules that are known, and what is used instead of the others.
    pub fn rules_known(&self) -> (usize, Option<String>) {
        let known = BEHAVIOURS.iter().filter(|rule| self.holds(rule).is_some()).count();
        let others = match RulesOf::release(&self.release) {
            RulesOf::Itself => None,
            RulesOf::Series(name) => Some(format!("those of {name}, of the same series")),
            RulesOf::Both([one, other]) => {
                Some(format!("those of {one} and {other}, which must agree on a program"))
            }
            RulesOf::Oldest(name) => {
                Some(format!("those of {name}, the oldest kernel that was tested"))
            }
            RulesOf::Newest(name) => {
                Some(format!("those of {name}, the newest kernel that was tested"))
            }
        };
        (known, others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_says_what_it_is_worth() {
        for kernel in Kernel::all() {
            let (promise, agreement) = (kernel.promise(), kernel.agreement());
            let is_old = kernel.name() == "5.4";
            assert!(promise.contains(if is_old { "not known" } else { "6.18" }), "{promise}");
            assert!(agreement.is_none_or(|it| it.same <= it.judged), "{promise}");
        }
        let old = Kernel::open("5.10").expect("asked").agreement().expect("compared");
        assert!(old.judged > 2_000 && old.false_accepts < old.judged - old.same + 1);
        assert_eq!(Agreement::of("5.10"), None, "a release is whole");
    }

    #[test]
    fn rules_of_other_kernels_are_named() {
        let known = |name| Kernel::open(name).expect("a kernel").rules_known();
        let oldest = "those of 5.10, the oldest kernel that was tested";
        assert_eq!(known("5.4"), (0, Some(oldest.to_owned())));
        assert_eq!(known("6.12"), (BEHAVIOURS.len(), None));
        let (some, others) = known("6.6");
        assert!(some > 0 && some < BEHAVIOURS.len(), "{some}");
        assert!(others.is_some_and(|it| it.starts_with("those of 6.1 and 6.12")));
        let promise = |name| Kernel::open(name).expect("a kernel").promise();
        assert!(promise("5.4").contains("not known, those of 5.10, the oldest"));
        assert!(promise("6.6").contains("6.1 and 6.12, no verdict where they decide differently"));
    }
}
