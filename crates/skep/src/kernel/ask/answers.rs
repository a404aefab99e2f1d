//! Results of probing a kernel, and their format in a kernel file: one line per result, fields
//! separated by tabs.
//!
//! ```text
//! + helper bpf_loop
//! - insn may_goto
//! + rule half_of_map_value
//! ? rule kfuncs
//! - BTF kind enum64
//! calls kprobe bpf_d_path bpf_loop
//! ```
//!
//! `?` is an answer that fits no known value: whether the rule holds there is not known.

use super::judged::Judge;
use super::questions::{Asked, Calls, Question, hook_name};
use crate::kernel::item::Item;
use skep_btf::Kind;
use skep_uapi::helper::{HelperId, HookKey};
use skep_uapi::{BEHAVIOURS, Behaviours};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Results by probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// By kind and name.
    is_there: BTreeMap<(String, String), bool>,
    /// Rules whose witness gets an answer that fits no known value.
    unfit: BTreeSet<String>,
    /// Helpers that a program type may not call, though it may on 6.18.
    refused: BTreeMap<String, BTreeSet<String>>,
}

/// Helpers that the kernel keeps from programs of a loader without CAP_SYS_ADMIN: a refusal says
/// nothing about the kernel.
const OF_THE_ASKER: [HelperId; 1] = [HelperId::ProbeWriteUser];

const RULE: &str = "rule";
const BTF_KIND: &str = "BTF kind";
const CALLS: &str = "calls";
const UNFIT: &str = "?";

impl Answers {
    fn get(&self, kind: &str, name: &str) -> Option<bool> {
        self.is_there.get(&(kind.to_owned(), name.to_owned())).copied()
    }

    fn put(&mut self, kind: &str, name: &str, is_there: bool) {
        self.is_there.insert((kind.to_owned(), name.to_owned()), is_there);
    }

    /// Whether the kernel has the item, if probed.
    pub fn has(&self, item: Item) -> Option<bool> {
        self.get(item.kind(), item.name())
    }

    /// Whether a rule applies, if its witness was loaded and the answer fits a known value.
    pub fn holds(&self, rule: &str) -> Option<bool> {
        self.get(RULE, rule)
    }

    /// Whether the answer of a rule's witness fits no known value.
    pub fn is_unfit(&self, rule: &str) -> bool {
        self.unfit.contains(rule)
    }

    /// Whether it knows a BTF kind, if probed.
    pub fn knows_kind(&self, kind: Kind) -> Option<bool> {
        self.get(BTF_KIND, kind.name())
    }

    /// Whether a program type may not call a helper; `None` if not probed.
    pub fn refuses_call(&self, hook: &HookKey<'_>, id: HelperId) -> Option<bool> {
        let name = hook_name(hook.prog_type, hook.attach_type);
        self.refused.get(&name).map(|names| names.contains(id.name()))
    }

    /// The number of items, program types and rules probed.
    pub fn counts(&self) -> [usize; 3] {
        let rules = self.is_there.keys().filter(|(kind, _)| kind == RULE).count();
        [self.is_there.len() - rules, self.refused.len(), rules]
    }

    /// The rules as probed, the others unchanged.
    pub(in crate::kernel) fn correct(&self, behaviours: &mut Behaviours) {
        for row in BEHAVIOURS {
            if let Some(holds) = self.holds(row.name) {
                behaviours.set(row.name, holds);
            }
        }
    }

    pub(super) fn say(&mut self, question: &Question, is_there: bool) {
        match question.asked {
            Asked::Item(item) => {
                // Insns introduced together have several probes: if one fails, the kernel lacks
                // them.
                let before = self.has(item).unwrap_or(true);
                self.put(item.kind(), item.name(), before && is_there);
            }
            Asked::BtfKind(kind) => self.put(BTF_KIND, kind.name(), is_there),
        }
    }

    /// `None` is an answer that fits no known value.
    pub(super) fn say_rule(&mut self, rule: &str, holds: Option<bool>) {
        match holds {
            Some(holds) => self.put(RULE, rule, holds),
            None => drop(self.unfit.insert(rule.to_owned())),
        }
    }

    /// Probes each helper that a program type may call on 6.18.
    pub(super) fn calls(&mut self, calls: Calls, judge: &mut Judge<'_>) {
        let mut was_judged = false;
        let mut refused = BTreeSet::new();
        for id in calls.helpers() {
            let told = judge(&calls.program(id));
            was_judged |= told.judged;
            if Calls::is_refused(&told) && !OF_THE_ASKER.contains(&id) {
                refused.insert(id.name().to_owned());
            }
        }
        if was_judged {
            self.refused.insert(hook_name(calls.prog_type, calls.attach_type), refused);
        }
    }

    /// In the format of kernel files.
    pub(in crate::kernel) fn to_text(&self) -> String {
        let mut text = String::new();
        for ((kind, name), is_there) in &self.is_there {
            let sign = if *is_there { '+' } else { '-' };
            let _ = writeln!(text, "{sign}\t{kind}\t{name}");
        }
        for rule in &self.unfit {
            let _ = writeln!(text, "{UNFIT}\t{RULE}\t{rule}");
        }
        for (hook, names) in &self.refused {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let _ = writeln!(text, "{CALLS}\t{hook}\t{}", names.join(" "));
        }
        text
    }

    /// Parses that format; `None` if a line is invalid.
    pub(in crate::kernel) fn parse(text: &str) -> Option<Answers> {
        let mut answers = Answers::default();
        for line in text.lines() {
            let (sign, rest) = line.split_once('\t')?;
            let (kind, name) = rest.split_once('\t')?;
            match sign {
                "+" | "-" => answers.put(kind, name, sign == "+"),
                UNFIT if kind == RULE => drop(answers.unfit.insert(name.to_owned())),
                CALLS => {
                    let names = name.split_whitespace().map(str::to_owned).collect();
                    answers.refused.insert(kind.to_owned(), names);
                }
                _ => return None,
            }
        }
        Some(answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_were_written() {
        let text = "-\tinsn\tmay_goto\n+\trule\tkfuncs\n?\trule\tfastcall\n\
                    calls\tkprobe\tbpf_d_path bpf_loop\n";
        let answers = Answers::parse(text).expect("ours");
        assert_eq!(answers.to_text(), text);
        assert_eq!(answers.counts(), [1, 1, 1]);
        assert_eq!(answers.holds("kfuncs"), Some(true));
        assert_eq!((answers.holds("fastcall"), answers.is_unfit("fastcall")), (None, true));
        for broken in ["x", "+\tinsn", "?\tinsn\tmay_goto", "\t\t\n\n"] {
            assert_eq!(Answers::parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn what_is_answered_stands_and_the_rest_is_the_releases() {
        let mut rules = Behaviours::of_release("5.10.0-46-cloud-amd64");
        assert!(!rules.kfuncs && !rules.swaps_known);
        Answers::parse("+\trule\tkfuncs\n+\trule\tno_such_rule\n")
            .expect("ours")
            .correct(&mut rules);
        assert!(rules.kfuncs && !rules.swaps_known);
    }
}
