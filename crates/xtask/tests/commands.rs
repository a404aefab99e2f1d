//! Commands in documents exist: each `cargo xtask COMMAND`, according to its `--help`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn documents() -> Vec<PathBuf> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let of = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let mut files = of(root);
    files.extend(of(&root.join("docs")));
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files
}

/// The command names after `cargo xtask`: `bench guard` has two.
fn commands(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.split("cargo xtask ").skip(1).map(|rest| {
        let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let line = rest.split(['`', '\n', ')', ',', '.', '<', '|']).next().unwrap_or_default();
        let names =
            line.split_whitespace().take_while(|word| is_name(word) && !word.starts_with('-'));
        names.take(2).collect()
    })
}

#[test]
fn commands_of_the_documents_exist() {
    let help = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.args(words).arg("--help").output().expect("xtask starts").status.success()
    };
    let mut named = BTreeSet::new();
    for path in documents() {
        let text = std::fs::read_to_string(&path).expect("a document");
        named.extend(commands(&text).map(|words| words.join(" ")));
    }
    named.remove("");
    assert!(named.len() > 20, "{named:?}");
    for words in &named {
        let words: Vec<&str> = words.split(' ').collect();
        // The second word may be an argument.
        assert!(help(&words) || help(&words[..1]), "cargo xtask {}", words.join(" "));
    }
}
