//! `skep kernel probe` on the running kernel: what it answers is what is built in for its release.
//! Where programs may not be loaded, what can be known without is kept.

#![cfg(target_os = "linux")]

use skep::Kernel;
use skep::kernel::{Answers, Item};
use skep::uapi::{BEHAVIOURS, ProgType, nearest_asked};
use std::path::Path;
use std::process::Command;

const SKEP: &str = env!("CARGO_BIN_EXE_skep");

fn probe(more: &[&str]) -> (Kernel, String) {
    let (kernel, said) = probe_as(&[SKEP], more);
    (kernel.unwrap_or_else(|| panic!("{said}")), said)
}

/// The same, started by this command; `None` if that fails.
fn probe_as(start: &[&str], more: &[&str]) -> (Option<Kernel>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.kernel");
    let mut command = Command::new(start[0]);
    command.args(&start[1..]).args(["kernel", "probe", "-o"]).arg(&file).args(more);
    let Ok(output) = command.output() else { return (None, "not installed".to_owned()) };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (Kernel::open(&file.to_string_lossy()).ok(), said)
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
        assert!(!answers.is_unfit(rule.name), "{}: an answer that is not known", rule.name);
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

fn skep(args: &[&str]) -> (bool, String) {
    let output = Command::new(SKEP).args(args).output().expect("skep");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn differences_name_what_is_not_known() {
    let (_, few) = skep(&["kernel", "diff", "6.6", "6.12"]);
    let count = few.lines().find_map(|line| line.strip_prefix("rules unknown for one of them: "));
    let (count, hint) = count.and_then(|it| it.split_once(' ')).expect("not all are known");
    assert_eq!(hint, "(--unknown lists them)");
    let (_, all) = skep(&["kernel", "diff", "6.6", "6.12", "--unknown"]);
    let named = all.lines().filter(|line| line.starts_with("unknown: rule: ")).count();
    assert_eq!(named.to_string(), count);
    let (_, json) = skep(&["kernel", "diff", "6.6", "6.12", "-o", "json"]);
    assert!(json.contains("\"unknown\": ["), "{json}");
}

/// What both kernels answer must be the same.
fn assert_no_other_answer(whole: &Answers, part: &Answers) {
    for item in Item::all().filter(|item| part.has(*item).is_some()) {
        assert_eq!(part.has(item), whole.has(item), "{item}");
    }
    for rule in BEHAVIOURS {
        let holds = part.holds(rule.name);
        assert!(holds.is_none() || holds == whole.holds(rule.name), "{}", rule.name);
        assert!(!part.is_unfit(rule.name), "{}", rule.name);
    }
}

/// Root in a container: without CAP_NET_ADMIN and CAP_SYS_ADMIN, or without CAP_PERFMON. What may
/// be asked is asked, with the same answers.
#[test]
fn what_the_loader_may_not_ask_is_not_known() {
    let (whole, said) = probe(&[]);
    let Some(all) = whole.answers() else { return };
    for (dropped, asks_rules) in [("-net_admin,-sys_admin", true), ("-perfmon,-sys_admin", false)] {
        let caps = [&format!("--bounding-set={dropped}"), &format!("--inh-caps={dropped}")];
        let (part, said_then) = probe_as(&["setpriv", caps[0], caps[1], SKEP], &[]);
        let Some(part) = part else { return };
        let answers = part.answers().unwrap_or_else(|| panic!("{said}{said_then}"));
        assert!(said_then.contains("not known: program types: "), "{said_then}");
        let [things, callers, rules] = answers.counts();
        assert!(things > 200, "{things}");
        assert_eq!([callers > 0, rules > 0], [asks_rules; 2], "{callers} {rules}");
        assert_no_other_answer(all, answers);
    }
}

/// Without the kernel's BTF nothing is known of programs that attach to its functions.
#[test]
fn without_btf_what_attaches_to_functions_is_not_asked() {
    let whole = probe(&[]).0;
    let Some(all) = whole.answers() else { return };
    const HIDDEN: &str = "mount -t tmpfs none /sys && exec \"$0\" \"$@\"";
    let (part, said) = probe_as(&["unshare", "-m", "sh", "-c", HIDDEN, SKEP], &[]);
    let Some(part) = part.filter(|part| part.btf().is_none()) else { return };
    let answers = part.answers().unwrap_or_else(|| panic!("{said}"));
    for of in [ProgType::Tracing, ProgType::Lsm] {
        assert_eq!(answers.has(Item::Prog(of)), None, "{said}");
        assert_ne!(part.has(Item::Prog(of)), Some(false), "{said}");
    }
    assert_no_other_answer(all, answers);
}

/// The running kernel's BTF is not that of the kernel whose name it is given.
#[test]
fn btf_gets_no_credit_for_a_name() {
    const BTF: &str = "/sys/kernel/btf/vmlinux";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("any.kernel");
    if !Path::new(BTF).exists() || !cfg!(target_arch = "x86_64") {
        return;
    }
    let path = file.to_string_lossy();
    const RELEASE: &str = "5.10.0-46-cloud-amd64";
    let (is_done, said) = skep(&["kernel", "import", BTF, "--release", RELEASE, "-o", &path]);
    assert!(is_done && said.contains("its BTF has what came after this release"), "{said}");
    let (_, shown) = skep(&["kernel", "show", &path]);
    assert!(!shown.contains("agreed") && !shown.contains("determined on"), "{shown}");
    assert!(!shown.contains("rules known    all"), "{shown}");
    // No BTF lists insns, and an older kernel may have received them.
    assert!(shown.contains("\nabsent insns: not known: gotol, ldsx, movsx, "), "{shown}");
    assert!(shown.contains("\nabsent helpers: none\n"), "{shown}");
    // Results are distinguished by release: a second file of one is not dropped silently.
    let twin = folder.path().join("twin.kernel");
    std::fs::copy(&file, &twin).expect("a copy");
    let both = format!("{path},{}", twin.to_string_lossy());
    let object = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/loops.bpf.o");
    let (is_done, said) = skep(&["check", "--kernel", &both, object]);
    assert!(!is_done && said.contains("another kernel file of the same release"), "{said}");
    let (_, said) = skep(&["check", "--kernel", &format!("{path},{path}"), object]);
    assert!(!said.contains("another kernel file"), "{said}");
    for hostile in ["6.1\nconfig: 3", "6.1\u{1b}[31m"] {
        let (is_done, said) = skep(&["kernel", "import", BTF, "--release", hostile, "-o", &path]);
        assert!(!is_done && said.contains("letters, digits"), "{said}");
    }
    // An archive like BTFHub's: the file's name states the release.
    let (bare, archive) = (folder.path().join("5.4.0-1-x.btf"), folder.path().join("any.tar"));
    std::fs::copy(BTF, bare).expect("a copy");
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(folder.path()).arg("-cf").arg(&archive).arg("5.4.0-1-x.btf");
    if !tar.status().is_ok_and(|status| status.success()) {
        return;
    }
    let archive = archive.to_string_lossy();
    let (is_done, said) = skep(&["kernel", "import", &archive, "-o", &path]);
    assert!(is_done && said.contains("5.4.0-1-x: its BTF has what came"), "{said}");
    let (is_done, said) = skep(&["kernel", "import", &archive, "--release", "6.1", "-o", &path]);
    assert!(!is_done && said.contains("it is the BTF of 5.4.0-1-x, not that of"), "{said}");
}
