//! The answers of tested kernels to the witnesses of rules: whether an answer shows that a rule
//! holds, shows that it does not, or fits neither.
//!
//! A kernel with backports may reject a witness for a reason that no tested kernel has: that says
//! nothing about the rule. `known.tsv` lists the answers of the tables of `tests/kernels/asked`
//! (a test compares them) and, after its second comment, those of 6.18.44, which has no table.
//!
//! In an answer, numbers are `N`, because ids and offsets differ between builds, and `inv` is
//! `scalar`, which older kernels call it so.

use skep_uapi::{Behaviour, Judged, Shows};

const TABLE: &str = include_str!("known.tsv");

/// Whether the answer shows that the rule holds; `None` if it fits no known value.
pub(super) fn holds(row: &Behaviour, told: &Judged) -> Option<bool> {
    let is_verdict = matches!(row.shows, Shows::Accepted | Shows::Refused);
    let is_known =
        (told.accepted && is_verdict) || listed(row.name).any(|it| it == text(row, told));
    is_known.then(|| row.shows.is(told))
}

/// The listed answers to a rule's witness.
fn listed(rule: &str) -> impl Iterator<Item = &'static str> {
    let rows = TABLE.lines().filter_map(|line| line.split_once('\t'));
    rows.filter(move |(of, _)| *of == rule).map(|(_, answer)| answer)
}

/// The answer, as the table has it.
fn text(row: &Behaviour, told: &Judged) -> String {
    match (told.accepted, row.shows) {
        (true, Shows::Insns(_)) => format!("accepted {}", told.insns),
        (true, Shows::Peak(_)) => format!("accepted, peak {}", told.peak_states),
        (true, _) => "accepted".to_owned(),
        (false, _) => match without_numbers(last_message(told.message.trim())) {
            said if said.is_empty() || NOT_MESSAGES.contains(&&*said) => "rejected".to_owned(),
            said => format!("rejected {said}"),
        },
    }
}

/// The message without a remark before it that ends no line, as Linux 6.12.117 has one.
fn last_message(message: &str) -> &str {
    message.rsplit_once(REMARK).map_or(message, |(_, last)| last)
}

const REMARK: &str = "as scalar as it may encode error";

/// Last lines of the logs of kernels that refuse without a message; with statistics only, such a
/// log has none.
const NOT_MESSAGES: [&str; 3] = ["func#N @N", "N: safe", "N: (N) exit"];

fn without_numbers(message: &str) -> String {
    let message = message.replace("'inv'", "'scalar'");
    let mut text = String::new();
    let mut in_number = false;
    for c in message.chars() {
        let is_digit = c.is_ascii_digit();
        match (is_digit, in_number) {
            (true, true) => {}
            (true, false) => text.push('N'),
            (false, _) => text.push(c),
        }
        in_number = is_digit;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use skep_uapi::BEHAVIOURS;
    use std::collections::BTreeSet;
    use std::ffi::OsStr;
    use std::fs::{self, File};
    use std::io::Read;

    fn row(rule: &str) -> &'static Behaviour {
        BEHAVIOURS.iter().find(|row| row.name == rule).expect("a rule")
    }

    fn told(message: &str) -> Judged {
        let accepted = message.is_empty();
        Judged { judged: true, accepted, message: message.to_owned(), ..Judged::default() }
    }

    #[test]
    fn an_answer_that_no_kernel_gave_is_not_known() {
        let rule = row("timers_in_tracing");
        assert_eq!(holds(rule, &told("")), Some(true));
        assert_eq!(holds(rule, &told("tracing progs cannot use bpf_timer yet")), Some(false));
        assert_eq!(holds(rule, &told("invalid func unknown#169\n")), Some(false));
        assert_eq!(holds(rule, &told("R1 type=ctx expected=fp")), None);
        let rule = row("ld_abs_ends_function");
        assert_eq!(holds(rule, &told("R6 invalid mem access 'inv'")), Some(true), "an older word");
        assert_eq!(holds(rule, &told("unknown opcode 30")), None);
        let rule = row("precision_crosses_calls");
        let insns = |insns| holds(rule, &Judged { insns, ..told("") });
        assert_eq!([39, 60, 61].map(insns), [Some(true), Some(false), None]);
        let rule = row("read_locks_denied");
        let silent = ["", "func#0 @0"]
            .map(|message| holds(rule, &Judged { accepted: false, ..told(message) }));
        assert_eq!(silent, [Some(true); 2], "with statistics only, the log is empty");
        let rule = row("signal_infos_are_numbers");
        let remark = "marking pointer arg1 as scalar as it may encode error";
        let glued = format!("{remark}R1 invalid mem access 'scalar'");
        assert_eq!(holds(rule, &told(&glued)), Some(true), "6.12.117 with statistics only");
        let rule = row("struct_ops_awake");
        assert_eq!(holds(rule, &told("")), Some(false));
    }

    /// The fields of a line of a table.
    fn fields(line: &str) -> Vec<String> {
        let (mut all, mut quoted) = (vec![String::new()], false);
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => all.push(String::new()),
                c => all.last_mut().expect("one").push(c),
            }
        }
        all
    }

    /// Answers of a kernel to the witnesses, as the table has them.
    fn answers(release: &str, table: &str) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for line in table.lines() {
            let fields = fields(line);
            let [object, program, verdict, _, insns, _, peak, _, message, _] = &fields[..] else {
                continue;
            };
            let rules = BEHAVIOURS
                .iter()
                .filter(|row| row.witness.object == object && row.witness.program == program);
            for row in rules.filter(|row| row.is_shown_on(release)) {
                let told = Judged {
                    judged: matches!(&verdict[..], "accepted" | "rejected"),
                    accepted: verdict == "accepted",
                    insns: insns.parse().unwrap_or_default(),
                    peak_states: peak.parse().unwrap_or_default(),
                    message: message.clone(),
                    ..Judged::default()
                };
                let is_verdict = matches!(row.shows, Shows::Accepted | Shows::Refused);
                if told.judged && !(told.accepted && is_verdict) {
                    all.insert(format!("{}\t{}", row.name, text(row, &told)));
                }
            }
        }
        all
    }

    #[test]
    fn the_known_answers_are_those_of_the_tables() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/asked");
        let mut all = BTreeSet::new();
        for entry in fs::read_dir(folder).expect("tables") {
            let path = entry.expect("a table").path();
            let name = path.file_name().and_then(OsStr::to_str).expect("a release");
            let Some(release) = name.strip_suffix(".csv.gz") else { continue };
            if release.ends_with(".baseline") {
                continue;
            }
            let mut table = String::new();
            let file = File::open(&path).expect("a table");
            GzDecoder::new(file).read_to_string(&mut table).expect("text");
            all.extend(answers(release, &table));
        }
        let ours = |part: &'static str| -> BTreeSet<String> {
            let rows = part.lines().filter(|line| line.contains('\t'));
            rows.map(str::to_owned).collect()
        };
        let (of_tables, of_reference) = TABLE.split_once("# 6.18.44").expect("two parts");
        let (of_tables, of_reference) = (ours(of_tables), ours(of_reference));
        if of_tables != all {
            let text: String = all.iter().map(|line| format!("{line}\n")).collect();
            let path = std::env::temp_dir().join("known.tsv");
            fs::write(&path, text).expect("a temporary file");
            panic!("known.tsv differs from the tables: what they say is in {}", path.display());
        }
        assert!(of_reference.is_disjoint(&all), "{of_reference:?}");
        for line in &of_reference {
            assert!(BEHAVIOURS.iter().any(|row| line.starts_with(&format!("{}\t", row.name))));
        }
    }
}
