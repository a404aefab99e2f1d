//! The committed objects are what their sources compile to.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Rebuilds all objects where the compiler that built them is present; elsewhere says that it
/// did not.
#[test]
fn objects_are_built_from_their_sources() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let Ok(version) = Command::new(&clang).arg("--version").output() else {
        return eprintln!("skipped: no {clang}");
    };
    let version = String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or("").to_owned();
    let fresh = tempfile::tempdir().unwrap();
    let built = Command::new(dir.join("build.sh")).arg(fresh.path()).status().unwrap();
    assert!(built.success(), "build.sh failed");
    let mut compared = 0;
    let bench = dir.join("bench");
    for entry in fs::read_dir(&dir).unwrap().chain(fs::read_dir(bench).unwrap()) {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "o") {
            continue;
        }
        let committed = fs::read(&path).unwrap();
        // Objects name their compiler; another release may choose other insns.
        if !String::from_utf8_lossy(&committed).contains(&version) {
            return eprintln!("skipped: built by another release than {version}");
        }
        let fresh = fs::read(fresh.path().join(path.strip_prefix(&dir).unwrap())).unwrap();
        assert!(committed == fresh, "{}: run tests/programs/build.sh", path.display());
        compared += 1;
    }
    assert!(compared >= 32, "only {compared} objects");
}
