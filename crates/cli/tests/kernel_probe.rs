//! `skep kernel probe` on the running kernel: what it answers is what is built in for its release.
//! Where programs may not be loaded, what can be known without is kept.

#![cfg(target_os = "linux")]

use skep::Kernel;
use skep::uapi::{BEHAVIOURS, nearest_asked};
use std::process::Command;

fn probe(more: &[&str]) -> (Kernel, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.kernel");
    let mut command = Command::new(env!("CARGO_BIN_EXE_skep"));
    let output = command.args(["kernel", "probe", "-o"]).arg(&file).args(more).output();
    let output = output.expect("skep");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    (Kernel::open(&file.to_string_lossy()).expect("a kernel file"), said)
}

#[test]
fn the_running_kernel_answers_as_its_release() {
    let (kernel, said) = probe(&[]);
    let Some(answers) = kernel.answers() else {
        assert!(said.contains("not known: facts that require loading programs"), "{said}");
        return;
    };
    assert!(said.contains("probed "), "{said}");
    if !kernel.release().starts_with(nearest_asked(kernel.release())) {
        return;
    }
    for rule in BEHAVIOURS {
        let builds_agree = !rule.differs_between_builds(kernel.release());
        if let Some(holds) = answers.holds(rule.name).filter(|_| builds_agree) {
            assert_eq!(holds, rule.holds_on(kernel.release()), "{}", rule.name);
        }
    }
}

#[test]
fn without_loading_its_facts_are_kept() {
    let (kernel, said) = probe(&["--facts-only"]);
    assert!(kernel.answers().is_none(), "{said}");
    assert!(said.contains("not known: modules"), "{said}");
}
