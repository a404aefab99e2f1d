//! How far skep's verdicts agree with those of tested kernels: how reliable a result for such a
//! kernel is.
//!
//! `agreement.csv` is written by `cargo xtask parity` from the committed baselines
//! (`tests/kernels/asked`), and checked with `docs/parity.md`.

use super::{ASKED, Kernel, Source};
use skep_uapi::{BEHAVIOURS, asked_around};
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
        match (self.source, self.answers()) {
            (Source::Asked, _) => format!("tested: {}; {}", self.rules_tested(), self.compared()),
            (Source::Table, _) => {
                format!("from the table, not tested: {}; {MAY_REJECT}", self.rules_between())
            }
            (Source::File, Some(answers)) => {
                let (rules, of) = (answers.counts()[2], BEHAVIOURS.len());
                let others = "the others are those of the release";
                format!("probed: {rules} of {of} rules shown by it, {others}; {MAY_REJECT}")
            }
            (Source::File, None) => {
                let how = "imported, or probed without privileges; not tested";
                format!("{how}: {}, backports are not known; {MAY_REJECT}", self.rules_between())
            }
        }
    }

    /// Whether its own verifier was asked: a kernel of this release was tested, or it was probed.
    /// Results for others are marked.
    pub fn is_tested(&self) -> bool {
        self.was_asked() || self.answers().is_some()
    }

    fn compared(&self) -> String {
        match self.agreement() {
            Some(agreement) => agreement.to_string(),
            None => format!("its verdicts were not compared, so {MAY_REJECT}"),
        }
    }

    /// The rules of a kernel that was tested.
    fn rules_tested(&self) -> String {
        match (self.rules_known(), BEHAVIOURS.len()) {
            (known, of) if known == of => "all rules known".to_owned(),
            (known, of) => format!("{known} of {of} rules known, the others as on 6.18"),
        }
    }

    /// The rules of a kernel whose neighbours were tested.
    fn rules_between(&self) -> String {
        let (known, of) = (self.rules_known(), BEHAVIOURS.len());
        let [before, after] = asked_around(&self.release).map(short);
        match before == after {
            true => format!("rules are those of {before}, the nearest tested kernel"),
            false => format!(
                "{known} of {of} rules known, on which {before} and {after} agree; where they \
                 differ, both are tried"
            ),
        }
    }

    fn rules_known(&self) -> usize {
        BEHAVIOURS.iter().filter(|rule| self.holds(rule).is_some()).count()
    }
}

/// Of a kernel that was not compared.
const MAY_REJECT: &str = "that kernel may reject what is accepted here";

/// `6.12` of `6.12.117`, except where two were tested.
fn short(release: &str) -> &str {
    let named = ASKED.iter().find(|(_, asked)| asked.starts_with(release));
    named.map_or(release, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_says_what_it_is_worth() {
        for kernel in Kernel::all() {
            let (promise, agreement) = (kernel.promise(), kernel.agreement());
            assert!(agreement.is_none_or(|it| it.same <= it.judged), "{promise}");
            assert_eq!(promise.starts_with("from the table, not tested: "), !kernel.is_tested());
            let is_counted = kernel.was_asked() && agreement.is_some();
            assert_eq!(promise.contains(" may reject "), !is_counted, "{promise}");
        }
        let old = Kernel::open("5.10").expect("asked").agreement().expect("compared");
        assert!(old.judged > 2_000 && old.false_accepts < old.judged - old.same + 1);
        assert_eq!(Agreement::of("5.10"), None, "a release is whole");
    }
}
