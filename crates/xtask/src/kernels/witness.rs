//! Every rule that differs between kernels has a witness program, and the kernels' answers to it
//! are committed.

use super::{agree, probe, surface};
use crate::answers;
use skep::uapi::words::{SPELLINGS, WORDS};
use skep::uapi::{BEHAVIOURS, Shows, Witness};
use std::error::Error;

#[test]
fn witnesses_answered_as_the_table_of_behaviours_says() -> Result<(), Box<dyn Error>> {
    let mut tables = Vec::new();
    for release in agree::releases() {
        let table = answers::read(&agree::folder().join(format!("{release}{}", agree::END)))?;
        tables.push((release, table));
    }
    let mut wrong = Vec::new();
    for row in BEHAVIOURS {
        let Witness { object, program } = row.witness;
        let key = (object.to_owned(), program.to_owned());
        let mut seen = [false; 2];
        for (release, table) in &tables {
            let Some(answer) = table.get(&key).filter(|it| it.is_judged()) else {
                if row.is_shown_on(release) {
                    wrong.push(format!("{} on {release}: the witness was not judged", row.name));
                }
                continue;
            };
            let accepted = answer.verdict == "accepted";
            let holds = match row.shows {
                Shows::Accepted => accepted,
                Shows::Refused => !accepted,
                Shows::Insns(n) => answer.insns == n,
                Shows::Peak(n) => answer.peak == n,
                Shows::Says(text) => answer.message == text,
            };
            seen[usize::from(holds)] = true;
            if holds != row.holds_on(release) && row.is_shown_on(release) {
                wrong.push(format!("{} on {release}: {}", row.name, answer.message));
            }
        }
        // Rules that hold only on 6.18.44 are tested with the running kernel (`kernel-diff`).
        let here = usize::from(row.holds_on("6.18.44"));
        let only_here = match row.differs_between_builds("6.18.44") {
            true => seen != [false; 2],
            false => !seen[here] && seen[1 - here],
        };
        if seen != [true; 2] && !only_here {
            wrong.push(format!("{}: seen {seen:?}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// `skep kernel probe` tests all rules: their witnesses are in this repository, with sources.
#[test]
fn every_rule_has_a_witness_of_ours() {
    let mut absent = Vec::new();
    for row in BEHAVIOURS {
        let object = probe::witness_path(row.witness.object);
        let source = object.with_extension("c");
        let names = |text: String| text.contains(row.witness.program);
        if !object.exists() || !std::fs::read_to_string(source).is_ok_and(names) {
            absent.push(format!("{}: {}", row.name, row.witness.object));
        }
    }
    assert!(absent.is_empty(), "{}", absent.join("\n"));
}

/// Whether the message contains the parts of the template between operands, in order.
fn is_said(template: &str, message: &str) -> bool {
    let mut rest = message;
    for part in template.split('{').map(|it| it.split_once('}').map_or(it, |it| it.1)) {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// Kernels that were asked about fewer programs were asked about part of the corpus.
const WHOLE_CORPUS: usize = 4000;

/// Words that no program of the corpus has made a kernel say.
#[rustfmt::skip]
const UNSAID: [(&str, &[&str]); 6] = [
    ("5.13", &["mem, alloc_mem, buf", "alloc_mem", "At async callback the"]),
    ("5.15.0-25", &["mem, alloc_mem, buf", "alloc_mem"]),
    ("5.19", &["arg#{nth} pointer type STRUCT bpf_dynptr_kern not to stack"]),
    ("6.2", &["bpf_rcu_read_unlock is missing", "BUG regs {regs:x}",
        "expected an initialized iter_{name} as arg #{nth+1}",
        "expected uninitialized iter_{name} as arg #{nth+1}"]),
    ("6.5", &["pseudo btf_id {id} in ldimm64 isn't KIND_VAR."]),
    ("7.2.6", &["expected an initialized irq flag as R{nth+1}",
        "kernel function {name} R{nth+1} pointer type {kind} {to} is not supported",
        "R{nth+1} doesn't point to a type with bpf_refcount field"]),
];

#[test]
fn other_kernels_say_what_the_table_of_words_says() -> Result<(), Box<dyn Error>> {
    let mut wrong = Vec::new();
    for release in agree::releases_with(surface::END) {
        let table = answers::read(&agree::folder().join(format!("{release}{}", agree::END)))?;
        if table.len() < WHOLE_CORPUS {
            continue;
        }
        let unsaid = UNSAID.iter().find(|(name, _)| *name == agree::short(&release));
        for row in WORDS.iter().chain(SPELLINGS).filter(|row| row.is_said_on(&release)) {
            let is_seen = table.values().any(|answer| is_said(row.text, &answer.message));
            if is_seen == unsaid.is_some_and(|(_, words)| words.contains(&row.text)) {
                wrong.push(format!("{release} {}: {}: said: {is_seen}", row.of, row.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn words_have_operands_that_the_errors_have() -> Result<(), Box<dyn Error>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../verifier/src/rejection");
    let mut errors = String::new();
    for entry in std::fs::read_dir(folder)? {
        errors += &std::fs::read_to_string(entry?.path())?;
    }
    let mut wrong = Vec::new();
    for row in WORDS {
        let (code, condition) = row.of.split_once(' ').unwrap_or((row.of, ""));
        let before = errors.split_once(&format!("\"{code}\"")).map(|it| it.0);
        // `Kind { operand: type, .. } "code"`, after the one before it.
        let kind = before.and_then(|it| it.rsplit(';').next()).unwrap_or_default();
        let in_braces = row.text.split('{').skip(1).filter_map(|it| it.split('}').next());
        let compared = condition.split_once('=').map(|it| it.0);
        for operand in in_braces.chain(compared) {
            let name = operand.split(['+', '-', ':']).next().unwrap_or_default();
            // `off` is not `min_off`.
            let is_it = |before: &str| !before.ends_with(|c: char| c == '_' || c.is_alphanumeric());
            let label = format!("{name}: ");
            if !kind.match_indices(&label).any(|(at, _)| is_it(&kind[..at])) {
                wrong.push(format!("{}: {name}", row.of));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
