//! The files of the repository for the rules.

use std::fs;
use std::path::{Path, PathBuf};

/// A text file of the tree.
pub(super) struct File {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// Violations, as `path:line: what; what instead`.
pub(super) type Breaches = Vec<String>;

/// Workspaces beside that of `crates`, with folders of their own for data.
const NEIGHBOURS: [&str; 2] = ["fuzz/", "peers/"];
/// Folders of a workspace that are not part of the repository. A module may be called the same.
const SKIPPED: [&str; 5] = [".git", "target", "corpus", "artifacts", "node_modules"];

pub(super) fn read_tree(root: &Path) -> std::io::Result<Vec<File>> {
    let mut files = Vec::new();
    let walk = walkdir::WalkDir::new(root).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|e| !is_skipped(&relative(root, e.path()))) {
        let entry = entry?;
        let known = ["rs", "md", "toml", "c", "h", "sh", "csv"];
        let extension = entry.path().extension().map(|e| e.to_string_lossy().into_owned());
        let is_script = relative(root, entry.path()).starts_with(".ci/");
        if entry.file_type().is_file()
            && (is_script || extension.is_some_and(|e| known.contains(&e.as_str())))
        {
            let text = String::from_utf8_lossy(&fs::read(entry.path())?).into_owned();
            files.push(File { path: relative(root, entry.path()), text });
        }
    }
    Ok(files)
}

fn is_skipped(path: &str) -> bool {
    let beside = NEIGHBOURS.iter().find_map(|folder| path.strip_prefix(folder));
    SKIPPED.contains(&beside.unwrap_or(path))
}

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// Whether a path in a document exists.
pub(super) fn exists(root: &Path, from: &str, path: &str) -> bool {
    let beside = Path::new(from).parent().map(PathBuf::from).unwrap_or_default();
    root.join(path).exists() || root.join(beside).join(path).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_whatever_their_folder_is_called() {
        let root = tempfile::tempdir().expect("a folder");
        let read = ["crates/a/src/corpus/b.rs", "crates/target/src/lib.rs", "fuzz/bodies/b.rs"];
        let data = ["target/debug/a.rs", "corpus/src/a.c", "fuzz/corpus/a.c", "peers/target/a.rs"];
        for path in read.iter().chain(&data) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, "//! What.\n").expect("written");
        }
        let files = read_tree(root.path()).expect("the tree is readable");
        assert_eq!(files.iter().map(|file| &*file.path).collect::<Vec<_>>(), read);
    }
}
