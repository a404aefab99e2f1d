//! The imports of a source: `use` trees expanded to full paths. A rule about a path would otherwise
//! miss `use std::{fs}`, and `collections::HashMap` after `use std::collections`.

use super::outside_tests::lines_outside_tests;

/// One leaf of a `use` tree.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// Number of the line on which the statement begins.
    pub(super) line: usize,
    /// The whole path; ends in `::*` if all of a module is imported.
    pub(super) path: String,
    /// The local name.
    pub(super) name: String,
    /// Whether it is a re-export, which may not be used here.
    pub(super) is_public: bool,
}

impl Import {
    /// Whether it imports `path`, or something below it.
    fn brings(&self, path: &str) -> bool {
        let below = |outer: &str, inner: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let all = self.path.strip_suffix("::*");
        below(path, &self.path) || all.is_some_and(|module| below(module, path))
    }

    /// The rest of `path` after this import, if this is an outer module of it.
    fn inner_name(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(&self.path)?.strip_prefix("::")?;
        Some(format!("{}::{rest}", self.name))
    }
}

/// A source outside of its tests.
pub(super) struct Source<'a> {
    pub(super) imports: Vec<Import>,
    /// Numbers and texts of its lines.
    pub(super) lines: Vec<(usize, &'a str)>,
}

impl<'a> Source<'a> {
    pub(super) fn of(text: &'a str) -> Source<'a> {
        let lines: Vec<_> = lines_outside_tests(text).collect();
        Source { imports: split(&lines).0, lines }
    }

    /// The lines that refer to `path`, directly or through imports.
    pub(super) fn lines_that_name(&self, path: &str) -> Vec<usize> {
        let imports = &self.imports;
        let inner: Vec<String> =
            imports.iter().filter_map(|import| import.inner_name(path)).collect();
        let mut lines: Vec<usize> =
            imports.iter().filter(|import| import.brings(path)).map(|import| import.line).collect();
        for (number, line) in &self.lines {
            let code = code_of(line);
            if code.contains(path) || inner.iter().any(|name| has_path(code, name)) {
                lines.push(*number);
            }
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

/// The line without its comment.
pub(super) fn code_of(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// Whether the code contains `path`, not as the end of a longer one.
fn has_path(code: &str, path: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    code.match_indices(path).any(|(at, _)| !code[..at].ends_with(in_word))
}

/// All imports among lines, and the code of all other lines.
pub(super) fn split<'a>(lines: &[(usize, &'a str)]) -> (Vec<Import>, Vec<(usize, &'a str)>) {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    let mut open: Option<(usize, String)> = None;
    for &(number, line) in lines {
        let code = code_of(line).trim();
        let (begun, mut statement) = match open.take() {
            Some(open) => open,
            None if statement_of(code).is_some() => (number, String::new()),
            None => {
                others.push((number, code));
                continue;
            }
        };
        statement.push_str(code);
        statement.push(' ');
        match statement_of(&statement).and_then(|tree| tree.split_once(';')) {
            Some((tree, _)) => expand(
                Use { line: begun, is_public: statement.starts_with("pub") },
                "",
                tree,
                &mut found,
            ),
            None => open = Some((begun, statement)),
        }
    }
    (found, others)
}

/// The text after `use`, `pub use` or `pub(...) use`.
fn statement_of(code: &str) -> Option<&str> {
    let rest = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1,
        Some(rest) => rest,
        None => code,
    };
    rest.trim_start().strip_prefix("use ")
}

/// Where a `use` begins, and whether it is a `pub use`.
#[derive(Clone, Copy)]
struct Use {
    line: usize,
    is_public: bool,
}

/// The leaves of a tree under `prefix`.
fn expand(at: Use, prefix: &str, tree: &str, found: &mut Vec<Import>) {
    let tree = tree.trim().trim_start_matches("::");
    if let Some((outer, inner)) = tree.split_once('{') {
        let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
        let prefix = format!("{prefix}{}", outer.trim());
        branches(inner).for_each(|branch| expand(at, &prefix, branch, found));
    } else if !tree.is_empty() {
        let (path, alias) = match tree.split_once(" as ") {
            Some((path, alias)) => (path.trim(), Some(alias.trim())),
            None => (tree, None),
        };
        let path = format!("{prefix}{path}");
        let path = path.strip_suffix("::self").unwrap_or(&path).to_owned();
        let last = path.rsplit("::").next().unwrap_or_default();
        let name = alias.unwrap_or(last).to_owned();
        let Use { line, is_public } = at;
        found.push(Import { line, path, name, is_public });
    }
}

/// The parts of a list between its outer commas.
fn branches(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    list.split(move |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_taken_apart() {
        let text = "use a;\npub(crate) use b::{\n    self, // first\n    c::{d, e as f},\n};\n\
                    use ::g::*;\nlet used = 1;\n#[cfg(test)]\nuse h;\n";
        let found = Source::of(text).imports;
        let found: Vec<_> = found.iter().map(|i| (i.line, &*i.path, &*i.name)).collect();
        let wanted = [
            (1, "a", "a"),
            (2, "b", "b"),
            (2, "b::c::d", "d"),
            (2, "b::c::e", "f"),
            (6, "g::*", "*"),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_path_is_found_however_it_is_written() {
        for text in [
            "use std::fs;",
            "use std::fs::File;",
            "use std::{fs};",
            "use std::{io, fs::{self, File}};",
            "use std::*;",
            "use std::{\n    io,\n    fs as files,\n};",
            "let f = std::fs::read(p);",
            "use std as s;\nlet f = s::fs::read(p);",
        ] {
            assert_eq!(Source::of(text).lines_that_name("std::fs").len(), 1, "{text}");
        }
        let map = "std::collections::HashMap";
        for text in [
            "use std::collections::{BTreeMap, HashMap};",
            "use std::collections;\nlet m = collections::HashMap::new();",
            "use std::collections::*;",
        ] {
            assert_eq!(Source::of(text).lines_that_name(map).len(), 1, "{text}");
        }
        for text in [
            "use std::collections::BTreeMap;",
            "use std::{io, fmt};",
            "// use std::fs;",
            "use rustc_hash::FxHashMap;\nlet m = collections::HashMap::new();",
            "use std::collections;\nlet m = collections::BTreeMap::new();",
        ] {
            let none: [usize; 0] = [];
            assert_eq!(Source::of(text).lines_that_name(map), none, "{text}");
            assert_eq!(Source::of(text).lines_that_name("std::fs"), none, "{text}");
        }
    }
}
