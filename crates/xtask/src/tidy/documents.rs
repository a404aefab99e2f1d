//! Every file mentioned in a document exists.

use super::tree::{Breaches, File, exists};
use std::path::Path;

/// Words in backticks with these prefixes are paths in the repository.
const FOLDERS: [&str; 5] = ["crates/", "tests/", "docs/", ".ci/", "fuzz/"];

pub(super) fn check(root: &Path, files: &[File], breaches: &mut Breaches) {
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        let mut in_block = false;
        for (number, line) in (1..).zip(file.text.lines()) {
            in_block ^= line.trim_start().starts_with("```");
            if in_block {
                continue;
            }
            for path in links(line).chain(words(line)) {
                if !exists(root, &file.path, path) {
                    breaches.push(format!("{}:{number}: there is no {path}", file.path));
                }
            }
        }
    }
}

/// Targets of `[text](target)` that are files.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?;
        let file = target.split('#').next()?;
        (!file.is_empty() && !file.contains(':')).then_some(file)
    })
}

/// Words in backticks that are paths in the repository, without patterns and placeholders.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split('`').skip(1).step_by(2);
    code.flat_map(str::split_whitespace).filter(|word| {
        FOLDERS.iter().any(|folder| word.starts_with(folder))
            && !word.contains(['*', '<', '{', '$', ':'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_words_are_looked_up() {
        let line = "see [a](docs/a.md#b), [c](https://x.y/z), `crates/x/y.rs`, `tests/*.md`";
        assert_eq!(links(line).collect::<Vec<_>>(), ["docs/a.md"]);
        assert_eq!(words(line).collect::<Vec<_>>(), ["crates/x/y.rs"]);
    }

    #[test]
    fn a_file_that_is_not_there_is_a_breach() {
        let text = "`docs/no-such-file.md`\n```\n`docs/neither.md`\n```\n".to_owned();
        let mut breaches = Breaches::new();
        check(Path::new("."), &[File { path: "A.md".to_owned(), text }], &mut breaches);
        assert_eq!(breaches, ["A.md:1: there is no docs/no-such-file.md"]);
    }
}
