//! `skep baseline`: what it writes is what it compares with.

use skep_cli::{Exit, Streams};
use skep_report::Style;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

fn skep(args: &[&Path]) -> (Exit, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    let words = [Path::new("skep"), Path::new("baseline")].into_iter().chain(args.iter().copied());
    let exit = skep_cli::run(words.map(OsString::from), &mut streams).unwrap();
    (exit, String::from_utf8([out, err].concat()).unwrap())
}

/// A file that was written for another kernel explains what differs.
#[test]
fn a_baseline_of_another_kernel_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let object = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/calls.bpf.o");
    let file = folder.path().join("baseline.csv");
    let (b, old) = (Path::new("-b"), Path::new("--kernel=6.1"));
    let [write, check, none] = ["write", "check", "--btf=none"].map(Path::new);
    assert_eq!(skep(&[write, old, b, &file, &object]).0, Exit::Success);
    let told = "the baseline is of kernel 6.1, the programs are verified for 6.18";
    assert!(skep(&[check, none, b, &file, &object]).1.contains(told));
    assert!(!skep(&[check, old, b, &file, &object]).1.contains("the baseline is of"));
    // A file without the column.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(",kernel,", ",").replace(",6.1,", ",")).unwrap();
    assert!(!skep(&[check, none, b, &file, &object]).1.contains("the baseline is of"));
}

/// Control characters in names are escaped in the file.
#[cfg(unix)]
#[test]
fn a_name_with_a_control_character_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let object = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/calls.bpf.o");
    let (path, file) = (folder.path().join("a\nb.o"), folder.path().join("baseline.csv"));
    fs::copy(object, &path).unwrap();
    let [btf, baseline] = ["--btf=none", "-b"].map(Path::new);
    let (exit, text) = skep(&[Path::new("write"), btf, baseline, &file, &path]);
    assert_eq!(exit, Exit::Success, "{text}");
    let (exit, text) = skep(&[Path::new("check"), btf, baseline, &file, &path]);
    assert!(text.contains("as in the baseline"), "{text}");
    assert_eq!(exit, Exit::Success, "{text}");
}
