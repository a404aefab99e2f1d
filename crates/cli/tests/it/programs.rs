//! The committed objects are what their sources compile to.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use walkdir::WalkDir;

#[test]
fn programs_are_built_from_their_sources() {
    rebuilt("programs", 34);
}

#[test]
fn refused_programs_are_built_from_their_sources() {
    rebuilt("refusals", 40);
}

/// Rebuilds all objects of a folder of tests, with its `build.sh`, where the compiler that built
/// them is present; elsewhere says that it did not. There are at least that many.
fn rebuilt(folder: &str, least: usize) {
    let dir = &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let Ok(version) = Command::new(&clang).arg("--version").output() else {
        return eprintln!("skipped: no {clang}");
    };
    let version = String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or("").to_owned();
    let committed = committed(dir);
    assert!(committed.len() >= least, "only {} objects", committed.len());
    // Objects name their compiler; another release may choose other insns, or refuse the sources.
    let built_by = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(&version);
    if let Some((other, _)) = committed.iter().find(|(_, bytes)| !built_by(bytes)) {
        let other = other.display();
        return eprintln!("skipped: {other} was built by another release than {version}");
    }
    let fresh = tempfile::tempdir().unwrap();
    let built = Command::new(dir.join("build.sh")).arg(fresh.path()).status().unwrap();
    assert!(built.success(), "build.sh failed");
    for (path, bytes) in committed {
        let fresh = fs::read(fresh.path().join(&path)).unwrap();
        assert!(bytes == fresh, "{}: run {}/build.sh", path.display(), dir.display());
    }
}

/// The committed objects, by their path under `dir`.
fn committed(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = WalkDir::new(dir).max_depth(2).into_iter();
    let paths = files.map(|entry| entry.unwrap().into_path());
    let objects = paths.filter(|path| path.extension().is_some_and(|extension| extension == "o"));
    objects
        .map(|path| (path.strip_prefix(dir).unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect()
}
