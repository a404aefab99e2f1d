//! No version test in the verifier: it asks for rules (`Behaviours`), fields and words, each a fact
//! with a witness, and never for a kernel's release. Distribution kernels carry backports, so a
//! version proves nothing.

use super::imports::{Source, code_of};
use super::tree::{Breaches, File};
use std::collections::BTreeSet;

/// Where the rule applies, outside of tests.
const VERIFIER: &str = "crates/verifier/src/";
/// Names by which a release gets into code.
const NAMES: [&str; 11] = [
    "Release",
    "column_of",
    "of_column",
    "of_release",
    "nearest_asked",
    "asked_around",
    "asked_later",
    "known_on",
    "holds_on",
    "is_shown_on",
    "kernel_version",
];
/// The same, where only the method of a kernel is meant: others release frames and references.
const CALLS: [&str; 3] = [".release()", ".version()", "utsname"];
/// The table of releases.
const SINCE: &str = "skep_uapi::since";

pub(super) fn check(files: &[File], breaches: &mut Breaches) {
    let is_walk = |file: &&File| {
        file.path.starts_with(VERIFIER) && file.is_rust() && !file.path.ends_with("/tests.rs")
    };
    for file in files.iter().filter(is_walk) {
        let source = Source::of(&file.text);
        let mut lines: BTreeSet<usize> = source.lines_that_name(SINCE).into_iter().collect();
        lines.extend(source.lines.iter().filter(|(_, line)| asks(line)).map(|(number, _)| number));
        breaches.extend(lines.iter().map(|number| {
            let instead = "a rule is a row of uapi::Behaviours, with a witness";
            format!("{}:{number}: the verifier does not ask for a release; {instead}", file.path)
        }));
    }
}

fn asks(line: &str) -> bool {
    let code = code_of(line);
    let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| NAMES.contains(&word))
        || CALLS.iter().any(|call| code.contains(call))
        || code.split('"').skip(1).step_by(2).any(is_version)
}

/// `6.12`, `6.12.0-rc1`.
fn is_version(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((major, rest)) = text.trim_start_matches('v').split_once('.') else { return false };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    is_number(major) && is_number(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<String> {
        let mut found = Breaches::new();
        check(&[File { path: path.to_owned(), text: text.to_owned() }], &mut found);
        let number = |breach: &String| breach.split(':').nth(1).map(str::to_owned);
        found.iter().filter_map(number).collect()
    }

    const MADE_UP: &str = r#"//! As on "6.12".
use skep_uapi::since::Release;
#[cfg(test)]
mod tests;
// Since 6.9, says column_of.
fn walk(env: &Env) {
    if env.kernel.release().starts_with("6.12.1") {}
    if env.host.kernel_version >= 0x60c00 {}
    let rules = Behaviours::of_release(name);
    env.refs.release(id);
    let released = release_reference(env); // "6.12"
    let text = "R1 6.12"; let old = name < "v5.10-rc1";
    if env.rules.kfuncs {}
}
#[cfg(test)]
mod more {
    const OLD: &str = "5.10";
}
"#;

    #[test]
    fn a_version_test_is_found() {
        assert_eq!(lines("crates/verifier/src/made_up.rs", MADE_UP), ["2", "7", "8", "9", "12"]);
        assert!(lines("crates/verifier/src/made_up/tests.rs", MADE_UP).is_empty());
        assert!(lines("crates/skep/src/made_up.rs", MADE_UP).is_empty());
    }
}
