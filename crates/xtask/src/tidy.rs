//! `cargo xtask tidy`: the house rules that matter, as checks of the source tree. Also a test.
//!
//! Each rule's message says what to do instead. Sizes have a stored list of exceptions
//! (`tidy-exceptions.toml`), which only shrinks.

mod crates;
mod documents;
mod imports;
mod layers;
mod manifests;
mod modules;
mod rejects;
mod sizes;
mod sources;
mod wrap;

use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Lower the stored sizes to what they are now; never raises one.
    #[arg(long)]
    shrink: bool,
    /// Break the comment lines that are too long.
    #[arg(long)]
    wrap: bool,
    /// Print the files of every circle of imports.
    #[arg(long)]
    circles: bool,
}

/// A text file of the tree.
pub(super) struct File {
    /// From the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// One breach, as `path:line: what; what instead`.
pub(super) type Breaches = Vec<String>;

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let root = crate::root();
    if args.wrap {
        wrap::wrap(&root, &read_tree(&root)?)?;
    }
    let files = read_tree(&root)?;
    if args.shrink {
        sizes::shrink(&root, &files)?;
        rejects::shrink(&root, &files)?;
        layers::shrink(&root, &files)?;
    }
    let breaches = check(&root, &files);
    breaches.iter().for_each(|breach| println!("{breach}"));
    layers::report(&files, args.circles).iter().for_each(|line| println!("{line}"));
    println!("tidy: {} files, {} breaches", files.len(), breaches.len());
    Ok(breaches.is_empty().into())
}

fn check(root: &Path, files: &[File]) -> Breaches {
    let mut breaches = Breaches::new();
    crates::check(files, &mut breaches);
    crates::check_list(files, &mut breaches);
    crates::check_internal(files, &mut breaches);
    manifests::check(files, &mut breaches);
    sources::check(files, &mut breaches);
    sizes::check(root, files, &mut breaches);
    documents::check(root, files, &mut breaches);
    rejects::check(root, files, &mut breaches);
    layers::check(root, files, &mut breaches);
    breaches
}

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 5] = [".git", "target", "corpus", "artifacts", "node_modules"];

fn read_tree(root: &Path) -> std::io::Result<Vec<File>> {
    let mut files = Vec::new();
    let walk = walkdir::WalkDir::new(root).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|e| !SKIPPED.contains(&e.file_name().to_string_lossy().as_ref()))
    {
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

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// The numbers (from 1) and texts of the lines of a source before its tests at the end.
pub(super) fn lines_before_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).take_while(|(_, line)| *line != "#[cfg(test)]")
}

/// Where a path that a document names might be.
pub(super) fn exists(root: &Path, from: &str, path: &str) -> bool {
    let beside = Path::new(from).parent().map(PathBuf::from).unwrap_or_default();
    root.join(path).exists() || root.join(beside).join(path).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let root = crate::root();
        let breaches = check(&root, &read_tree(&root).expect("the tree is readable"));
        assert!(breaches.is_empty(), "{}", breaches.join("\n"));
    }
}
