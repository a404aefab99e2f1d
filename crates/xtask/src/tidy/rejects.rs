//! Every message with which the verifier rejects a program is expected by a case of the suites.
//!
//! Messages without such a case are listed in `untested-rejects.txt`, which may only shrink.

use super::tree::{Breaches, File};
use skep_verifier::RejectKind;
use std::collections::BTreeSet;
use std::path::Path;

const LIST: &str = "untested-rejects.txt";

/// The suites whose lines are searched.
const SUITES: [&str; 2] = ["tests/verifier/", "tests/refusals/"];

/// Compares the messages with the suites and the list.
pub(super) fn check(root: &Path, files: &[File], breaches: &mut Breaches) {
    let untested = untested(files);
    let listed = read_list(root);
    for text in untested.difference(&listed) {
        breaches.push(format!(
            "crates/verifier: no case of tests/verifier expects \"{text}\"; write one whose \
             refusal the kernel has seen"
        ));
    }
    for text in listed.difference(&untested) {
        breaches.push(format!("{LIST}: \"{text}\" is tested or gone; cargo xtask tidy --shrink"));
    }
}

/// Removes tested or deleted messages from the list; adds some only if the list does not exist.
pub(super) fn shrink(root: &Path, files: &[File]) -> std::io::Result<()> {
    let untested = untested(files);
    let path = root.join(LIST);
    let kept: Vec<String> = match path.exists() {
        true => read_list(root).intersection(&untested).cloned().collect(),
        false => untested.into_iter().collect(),
    };
    std::fs::write(path, kept.join("\n") + "\n")
}

fn read_list(root: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(root.join(LIST)).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Messages that no line of a suite matches.
fn untested(files: &[File]) -> BTreeSet<String> {
    let suites: Vec<&str> = files
        .iter()
        .filter(|f| SUITES.iter().any(|folder| f.path.starts_with(folder)))
        .flat_map(|f| f.text.lines())
        .collect();
    RejectKind::rows()
        .map(|row| row.text.replace('\n', " "))
        .map(|text| (pieces(&text), text))
        .filter(|(pieces, _)| pieces.iter().any(|piece| piece.len() > 3))
        .filter(|(pieces, _)| !suites.iter().any(|line| matches(pieces, line)))
        .map(|(_, text)| text)
        .collect()
}

/// The fixed parts of a format string, trimmed.
fn pieces(template: &str) -> Vec<String> {
    let escaped = template.replace("{{", "\u{1}").replace("}}", "\u{2}");
    let mut pieces = Vec::new();
    let mut rest = escaped.as_str();
    while let Some((fixed, after)) = rest.split_once('{') {
        pieces.push(fixed.to_owned());
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    pieces.push(rest.to_owned());
    let plain = |p: String| p.trim().replace('\u{1}', "{").replace('\u{2}', "}");
    pieces.into_iter().map(plain).collect()
}

/// Whether the line contains the fixed parts in order.
fn matches(pieces: &[String], line: &str) -> bool {
    let mut rest = line;
    pieces.iter().all(|piece| match rest.find(piece.as_str()) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_match_what_they_print() {
        let matches = |template, line| matches(&pieces(template), line);
        assert!(matches("R{regno} !read_ok", "  r1 = r2   //~ reject: R2 !read_ok"));
        assert!(!matches("R{regno} !read_ok", "R2 is ok"));
        assert!(!matches("b {x} a", "a b"));
    }
}
