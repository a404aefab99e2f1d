//! Sizes of files and functions, with a list of exceptions that may only shrink.

use super::outside_tests::lines_outside_tests;
use super::ratchet::{Numbers, Ratchet};
use super::tree::{Breaches, File};
use std::path::Path;

/// Lines of code in a file.
const FILE_MAX: usize = 800;
/// Lines of a function; single-line match arms do not count.
const FUNCTION_MAX: usize = 70;
/// The exceptions: `"path" = lines` and `"path:function" = lines`.
const EXCEPTIONS: Ratchet =
    Ratchet { file: "tidy-exceptions.toml", head: "", fewer: "has become smaller" };

pub(super) fn check(root: &Path, files: &[File], breaches: &mut Breaches) {
    EXCEPTIONS.check(root, &oversized(files), breaches, |what, lines, limit| {
        let max = if what.contains(".rs:") { FUNCTION_MAX } else { FILE_MAX };
        format!("{what}: {lines} lines, at most {}; split it", limit.max(max))
    });
}

/// Lowers the stored sizes, and removes entries that are no longer exceptions.
pub(super) fn shrink(root: &Path, files: &[File]) -> Result<(), Box<dyn std::error::Error>> {
    EXCEPTIONS.shrink(root, &oversized(files))
}

/// Everything above its limit, with its number of lines.
fn oversized(files: &[File]) -> Numbers {
    let mut sizes = Numbers::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        if file.text.lines().count() > FILE_MAX {
            let code = lines_outside_tests(&file.text).filter(|(_, line)| is_code(line)).count();
            if code > FILE_MAX {
                sizes.insert(file.path.clone(), code);
            }
        }
        for (name, lines) in functions(&file.text).filter(|(_, lines)| *lines > FUNCTION_MAX) {
            let size = sizes.entry(format!("{}:{name}", file.path)).or_default();
            *size = lines.max(*size);
        }
    }
    sizes
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

/// Name and counted lines of each function. Relies on rustfmt: a function ends at the first line
/// that consists of its indentation and a brace.
fn functions(text: &str) -> impl Iterator<Item = (String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        if line.ends_with('}') || line.ends_with(';') {
            continue;
        }
        let indentation = line.len() - line.trim_start().len();
        let end = format!("{}}}", " ".repeat(indentation));
        let body = lines.iter().skip(at).take_while(|line| **line != end);
        found.push((name.to_owned(), body.filter(|line| counts(line)).count() + 1));
    }
    found.into_iter()
}

fn counts(line: &str) -> bool {
    let line = line.trim_end();
    is_code(line) && !(line.contains(" => ") && line.ends_with(','))
}

/// The name in the first line of a function.
fn function_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let (before, after) = line.split_once("fn ")?;
    let qualifier = |word: &str| {
        word.starts_with("pub") || ["const", "async", "unsafe", "extern"].contains(&word)
    };
    let only_qualifiers = before
        .split_whitespace()
        .all(|word| qualifier(word) || word.starts_with('"') || word.ends_with(')'));
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    let name = after.get(..end)?;
    (only_qualifiers && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_without_rows_comments_and_blanks() {
        let text = "    pub(crate) fn a() {\n        // why\n\n        match x {\n            1 => 2,\n        }\n    }\n";
        assert_eq!(functions(text).collect::<Vec<_>>(), [("a".to_owned(), 4)]);
        assert_eq!(functions("let fn_ = 1;\nfn b() {}\n").count(), 0);
    }

    #[test]
    fn a_long_function_is_a_breach_unless_it_is_a_stored_exception() {
        let text = format!("//! x\nfn long() {{\n{}}}\n", "    a();\n".repeat(80));
        let files = [File { path: "a.rs".to_owned(), text }];
        let root = tempfile::tempdir().expect("a folder");
        let count = || {
            let mut breaches = Breaches::new();
            check(root.path(), &files, &mut breaches);
            breaches.len()
        };
        assert_eq!(count(), 1);
        std::fs::write(root.path().join(EXCEPTIONS.file), "\"a.rs:long\" = 90\n").expect("written");
        assert_eq!(count(), 1, "90 is more than there is");
        shrink(root.path(), &files).expect("shrunk");
        assert_eq!(count(), 0);
    }
}
