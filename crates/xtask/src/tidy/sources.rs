//! Rules for every source file: a header, a meaningful name, lines that fit, no paths of one
//! machine.

use super::tree::{Breaches, File};

/// Names that do not say what a file decides.
const EMPTY_NAMES: [&str; 5] = ["utils.rs", "util.rs", "common.rs", "types.rs", "helpers.rs"];
/// Maximum number of columns.
pub(super) const COLUMNS_MAX: usize = 100;
/// Prefixes of paths that exist only on a particular machine. Split, so that this file may contain
/// them.
const MACHINE_PATHS: [&str; 3] =
    [concat!("/wor", "k/"), concat!("/hom", "e/"), concat!("/roo", "t/")];

/// The file with the kernel's limits.
const LIMITS: &str = "crates/uapi/src/limits.rs";

pub(super) fn check(files: &[File], breaches: &mut Breaches) {
    limits(files, breaches);
    for file in files {
        machine_paths(file, breaches);
        if file.is_rust() {
            header(file, breaches);
            columns(file, breaches);
            let name = file.path.rsplit('/').next().unwrap_or_default();
            if EMPTY_NAMES.contains(&name) {
                breaches.push(format!("{}: name it for what it decides", file.path));
            }
        }
    }
}

/// A limit of the kernel is defined in one place only.
fn limits(files: &[File], breaches: &mut Breaches) {
    let constant = |line: &str| {
        let (_, rest) = line.split_once("const ")?;
        Some(rest.split_once(':')?.0.to_owned())
    };
    let table = files.iter().find(|file| file.path == LIMITS);
    let names: Vec<String> =
        table.iter().flat_map(|file| file.text.lines()).filter_map(constant).collect();
    for file in files.iter().filter(|file| file.is_rust() && file.path != LIMITS) {
        for (number, line) in (1..).zip(file.text.lines()) {
            if constant(line).is_some_and(|name| names.contains(&name)) {
                breaches.push(format!("{}:{number}: this limit is defined in {LIMITS}", file.path));
            }
        }
    }
}

fn machine_paths(file: &File, breaches: &mut Breaches) {
    for (number, line) in (1..).zip(file.text.lines()) {
        if let Some(path) = MACHINE_PATHS.iter().find(|path| line.contains(**path)) {
            breaches.push(format!("{}:{number}: {path}: a path of one machine", file.path));
        }
    }
}

fn header(file: &File, breaches: &mut Breaches) {
    if !file.text.starts_with("//! ") {
        breaches.push(format!("{}:1: no `//!` header: say what it is and why", file.path));
    }
}

/// Only comments are checked: rustfmt handles code, and rows of tables may be long.
fn columns(file: &File, breaches: &mut Breaches) {
    for (number, line) in (1..).zip(file.text.lines()) {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX && line.trim_start().starts_with("//") {
            breaches.push(format!(
                "{}:{number}: {columns} columns, {COLUMNS_MAX} fit; tidy --wrap",
                file.path
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> usize {
        let mut found = Breaches::new();
        check(&[File { path: path.to_owned(), text: text.to_owned() }], &mut found);
        found.len()
    }

    #[test]
    fn a_limit_is_defined_once() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let table = file(LIMITS, "pub const MAX_FRAMES: usize = 8;\n");
        let other = file("crates/jit/src/a.rs", "pub(crate) const MAX_FRAMES: u32 = 8;\n");
        let mut found = Breaches::new();
        limits(&[table, other], &mut found);
        assert_eq!(found, [format!("crates/jit/src/a.rs:1: this limit is defined in {LIMITS}")]);
    }

    #[test]
    fn each_rule_finds_its_breach() {
        assert_eq!(breaches("a.rs", "//! What.\n"), 0);
        assert_eq!(breaches("a.rs", "use a;\n"), 1);
        assert_eq!(breaches("types.rs", "//! What.\n"), 1);
        assert_eq!(breaches("a.rs", &format!("//! {}\n", "x".repeat(97))), 1);
        assert_eq!(breaches("a.md", &format!("see {}x\n", MACHINE_PATHS[0])), 1);
    }
}
