//! Sizes of files and functions, with a list of exceptions that may only shrink.

use super::tree::{Breaches, File, lines_before_tests};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Lines of code in a file.
const FILE_MAX: usize = 800;
/// Lines of a function; single-line match arms do not count.
const FUNCTION_MAX: usize = 70;
/// The exceptions: `"path" = lines` and `"path:function" = lines`.
const EXCEPTIONS: &str = "tidy-exceptions.toml";

type Sizes = BTreeMap<String, usize>;

pub(super) fn check(root: &Path, files: &[File], breaches: &mut Breaches) {
    let stored = match read(root) {
        Ok(stored) => stored,
        Err(error) => return breaches.push(format!("{EXCEPTIONS}: {error}")),
    };
    let now = oversized(files);
    for (what, lines) in &now {
        let limit = stored.get(what).copied().unwrap_or(0);
        if *lines > limit {
            let max = if what.contains(".rs:") { FUNCTION_MAX } else { FILE_MAX };
            let limit = limit.max(max);
            breaches.push(format!("{what}: {lines} lines, at most {limit}; split it"));
        }
    }
    for (what, limit) in &stored {
        if now.get(what).is_none_or(|lines| lines < limit) {
            breaches.push(format!(
                "{EXCEPTIONS}: {what} has become smaller; run `cargo xtask tidy --shrink`"
            ));
        }
    }
}

/// Lowers the stored sizes, and removes entries that are no longer exceptions.
pub(super) fn shrink(root: &Path, files: &[File]) -> Result<(), Box<dyn std::error::Error>> {
    let now = oversized(files);
    let stored = read(root)?;
    let lower =
        |(what, limit): (String, usize)| now.get(&what).map(|&lines| (what, limit.min(lines)));
    let shrunk: Sizes = stored.into_iter().filter_map(lower).collect();
    Ok(fs::write(root.join(EXCEPTIONS), toml::to_string(&shrunk)?)?)
}

fn read(root: &Path) -> Result<Sizes, String> {
    match fs::read_to_string(root.join(EXCEPTIONS)) {
        Ok(text) => toml::from_str(&text).map_err(|e| e.to_string()),
        Err(_) => Ok(Sizes::new()),
    }
}

/// Everything above its limit, with its number of lines.
fn oversized(files: &[File]) -> Sizes {
    let mut sizes = Sizes::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let code = lines_before_tests(&file.text).filter(|(_, line)| is_code(line)).count();
        if code > FILE_MAX {
            sizes.insert(file.path.clone(), code);
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
        fs::write(root.path().join(EXCEPTIONS), "\"a.rs:long\" = 90\n").expect("written");
        assert_eq!(count(), 1, "90 is more than there is");
        shrink(root.path(), &files).expect("shrunk");
        assert_eq!(count(), 0);
    }
}
