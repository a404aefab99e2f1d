//! Counts of both results by class, and the differences.

use super::answer::Answer;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Longest reason that is printed.
const REASON_CHARS: usize = 400;

/// The name under which a whole object is listed.
pub(super) const WHOLE: &str = "(object)";

/// Both results for each program.
#[derive(Default)]
pub(super) struct Table {
    /// Programs, and objects as a whole, by libbpf's class and by ours.
    counts: BTreeMap<(&'static str, &'static str), [usize; 2]>,
    differing: Vec<String>,
    all: Vec<String>,
    attributes_compared: usize,
    /// Objects that libbpf does not survive.
    faults: Vec<String>,
}

impl Table {
    /// Adds a program; `None` if libbpf does not find it.
    pub(super) fn add(&mut self, object: &str, name: &str, theirs: Option<&Answer>, ours: &Answer) {
        let theirs = theirs.unwrap_or(&Answer::Absent);
        let counts = self.counts.entry((theirs.name(), ours.name())).or_default();
        counts[usize::from(name == WHOLE)] += 1;
        let cut = |text: &str| text.chars().take(REASON_CHARS).collect::<String>();
        let (a, b) = (theirs.name(), ours.name());
        self.all.push(format!("{object}:{name}: libbpf {a}, skep {b}"));
        let differs = match (theirs, ours) {
            (Answer::Loaded(a), Answer::Loaded(b)) => {
                let compared = b != "freplace";
                self.attributes_compared += usize::from(compared && name != WHOLE);
                compared && a != b
            }
            // Functions that libbpf does not treat as programs are not loaded by skep either.
            (Answer::Absent, Answer::Refused(..)) => false,
            _ => a != b || a == "other",
        };
        if differs {
            let (theirs, ours) = (cut(theirs.text()), cut(ours.text()));
            self.differing
                .push(format!("{object}:{name}: libbpf {a}: {theirs}\n  skep {b}: {ours}"));
        }
    }

    /// Adds an object of which nothing is known: what it does to libbpf ends it.
    pub(super) fn fault(&mut self, object: &str, signal: &str) {
        self.faults.push(format!("{object}: not compared: libbpf ended with '{signal}'"));
    }

    pub(super) fn agrees(&self) -> bool {
        self.differing.is_empty()
    }

    pub(super) fn text(&self, verbose: bool) -> String {
        let mut text = String::new();
        for line in if verbose { &self.all } else { &self.differing } {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{line}");
        }
        for line in &self.faults {
            let _ = writeln!(text, "{line}");
        }
        let _ = writeln!(text, "programs  objects  libbpf       skep");
        for ((theirs, ours), [programs, objects]) in &self.counts {
            let _ = writeln!(text, "{programs:>8}  {objects:>7}  {theirs:<12} {ours}");
        }
        let programs: usize = self.counts.values().map(|counts| counts[0]).sum();
        let _ = writeln!(text, "{programs:>8}  programs in all");
        let compared = self.attributes_compared;
        let _ = writeln!(text, "attributes of {compared} loaded programs compared");
        let _ = writeln!(text, "{} differences", self.differing.len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::LoadClass;

    fn differs(theirs: Option<&Answer>, ours: &Answer) -> bool {
        let mut table = Table::default();
        table.add("o", "p", theirs, ours);
        !table.agrees()
    }

    #[test]
    fn classes_and_attributes_are_compared() {
        let loaded = |text: &str| Answer::Loaded(text.to_owned());
        let refused = |class| Answer::Refused(class, String::new());
        let (map, open) = (refused(LoadClass::Map), refused(LoadClass::Open));
        assert!(!differs(Some(&map), &Answer::Refused(LoadClass::Map, "why".to_owned())));
        assert!(differs(Some(&map), &refused(LoadClass::Core)));
        assert!(differs(Some(&map), &loaded("")) && differs(Some(&loaded("")), &map));
        assert!(differs(Some(&loaded("type=1")), &loaded("type=2")));
        assert!(!differs(Some(&loaded("type=1")), &loaded("type=1")));
        assert!(!differs(None, &open) && differs(None, &loaded("")));
        assert!(differs(Some(&map), &Answer::Absent));
        let other = Answer::Other("x".to_owned());
        assert!(differs(Some(&other), &other));
    }
}
