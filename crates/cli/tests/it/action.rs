//! What `action.yml` runs, as a workflow of two lines would: on objects that are as they were, and
//! on one that has grown.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The job of a workflow, in a folder of its own: the exit status, the annotations, the summary.
fn job(dir: &Path, settings: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let skep = Path::new(env!("CARGO_BIN_EXE_skep"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(skep.parent().expect("a folder").to_owned());
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&path))).expect("a path");
    let summary = dir.join("summary.md");
    let output = Command::new("bash")
        .arg(root().join(".github/verify.sh"))
        .current_dir(dir)
        .env("PATH", path)
        .env("FILES", "build/*.bpf.o")
        .env("OPTIONS", "--btf none")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .envs(settings.iter().copied())
        .stderr(Stdio::inherit())
        .output()
        .expect("bash");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    (output.status.code(), said, std::fs::read_to_string(summary).expect("a summary"))
}

/// A checkout with one object, and a baseline in which it costs `insns`.
fn checkout(insns: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(dir.path().join("build")).expect("a folder");
    let object = root().join("tests/programs/calls.bpf.o");
    std::fs::copy(object, dir.path().join("build/calls.bpf.o")).expect("an object");
    let written = Command::new(env!("CARGO_BIN_EXE_skep"))
        .args(["baseline", "write", "--btf", "none", "build/calls.bpf.o"])
        .current_dir(dir.path())
        .status();
    assert!(written.expect("skep").success());
    let baseline = dir.path().join("skep-baseline.csv");
    let text = std::fs::read_to_string(&baseline).expect("the baseline");
    let (header, row) = text.split_once('\n').expect("a row");
    let (before, now) = row.trim_end().rsplit_once(',').expect("insns");
    let insns = if insns.is_empty() { now } else { insns };
    std::fs::write(&baseline, format!("{header}\n{before},{insns}\n")).expect("the baseline");
    dir
}

#[test]
fn a_build_as_it_was_passes() {
    let dir = checkout("");
    let (code, said, summary) = job(dir.path(), &[]);
    assert_eq!((code, said.as_str()), (Some(0), ""), "{summary}");
    assert!(summary.contains("## eBPF programs") && summary.contains("| calls.bpf.o |"));
    assert!(summary.contains("skep-baseline.csv"), "{summary}");
}

#[test]
fn a_program_that_has_grown_fails_the_job_and_is_an_annotation() {
    let dir = checkout("1");
    let (code, said, summary) = job(dir.path(), &[]);
    assert_eq!(code, Some(1), "{said}{summary}");
    assert!(said.starts_with("::error title=skep baseline::calls.bpf.o/"), "{said}");
    assert!(said.contains("insns_pct>10"), "{said}");
    // A condition of one's own.
    let (code, said, _) = job(dir.path(), &[("FAIL_IF", "insns>1000000")]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    // Another name, under which there is no file.
    let (code, ..) = job(dir.path(), &[("BASELINE", "none.csv")]);
    assert_eq!(code, Some(2));
}

/// The table of all programs and the baseline are of one kernel, whatever kernels are checked.
#[test]
fn kernels_are_checked_and_the_baseline_stays_that_of_one() {
    let dir = checkout("");
    let object = root().join("tests/programs/loops.bpf.o");
    std::fs::copy(object, dir.path().join("build/loops.bpf.o")).expect("an object");
    let kernels = [("KERNELS", "5.10, 5.15,6.6"), ("OPTIONS", "")];
    let (code, said, summary) = job(dir.path(), &kernels);
    assert_eq!(code, Some(1), "{said}{summary}");
    let refused = "::loop_callback: note: 5.10, 5.15: bpf_loop: helper since 5.17";
    assert!(said.contains(refused), "{said}");
    assert!(said.contains("::notice title=6.6*::6.6*: not tested"), "{said}");
    assert!(!said.contains("skep baseline::calls"), "{said}");
    let matrix = "| build/loops.bpf.o | loop\\_callback | refused | refused | ok |";
    assert!(summary.contains(matrix), "{summary}");
    assert!(summary.contains("| loops.bpf.o | loop\\_callback | success |"), "{summary}");
    let (code, said, summary) = job(dir.path(), &[("KERNELS", "6.1"), ("OPTIONS", "")]);
    assert_eq!(code, Some(0), "{said}{summary}");
    assert!(said.contains("loops.bpf.o/loop_callback: new, not in the baseline"), "{said}");
}

#[test]
fn without_a_baseline_programs_are_verified_alone() {
    let dir = checkout("1");
    std::fs::remove_file(dir.path().join("skep-baseline.csv")).expect("the baseline");
    let (code, said, summary) = job(dir.path(), &[]);
    assert_eq!((code, said.as_str()), (Some(0), ""), "{summary}");
    let object = root().join("tests/programs/refused.bpf.o");
    std::fs::copy(object, dir.path().join("build/refused.bpf.o")).expect("an object");
    let (code, said, _) = job(dir.path(), &[]);
    assert_eq!(code, Some(1));
    assert!(said.starts_with("::error file=refused.bpf.c,line="), "{said}");
}
