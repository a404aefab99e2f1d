//! What only the process shows: exit codes, colours, a reader that leaves early.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn skep() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skep"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

#[test]
fn exit_codes() {
    let code = |args: &[&str]| skep().args(args).output().unwrap().status.code();
    assert_eq!(code(&["--version"]), Some(0));
    assert_eq!(code(&["stat", "--help"]), Some(0));
    assert_eq!(code(&["stat", "-R", "tests/cli/base.csv"]), Some(0));
    assert_eq!(code(&["stat", "no/such.o"]), Some(2));
    assert_eq!(code(&["nonsense"]), Some(2));
    assert_eq!(code(&[]), Some(2));
}

/// To find the rule that decides, programs are verified under mixes of rules that no kernel has.
#[test]
fn mixes_of_rules_do_not_panic() {
    let object = "tests/kernels/witnesses/midway.bpf.o";
    let program = "named_in_part_and_read_beside";
    let sources = "--source-root=tests/kernels/witnesses";
    let args = ["check", "--kernel=6.17", sources, "-f", program, object];
    let output = skep().args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains(program));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn results_go_to_stdout_and_errors_to_stderr() {
    let output = skep().args(["stat", "-o", "csv", "no/such.o"]).output().unwrap();
    assert!(output.stdout.starts_with(b"file_name,prog_name,verdict,"));
    assert_eq!(
        output.stderr,
        b"error: no/such.o: while reading the file: no such file or directory\n"
    );
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    // More than a pipe holds, so that a write must meet the closed end.
    let mut child = skep()
        .args(["dump", "--btf", "none", "tests/programs/stress_backtrack.bpf.o"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("program backtrack "), "{first}");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

/// What ran before an interrupt is shown; the second interrupt would end the process.
#[test]
#[cfg(all(feature = "run", target_os = "linux"))]
fn an_interrupted_run_says_what_was_done() {
    for engine in [&["--jit"][..], &["--interp"], &["--fuel", "1000"], &["--threads", "2"]] {
        let mut command = skep();
        command.args(["run", "--btf", "none", "tests/programs/xdp_count.bpf.o", "xdp_count"]);
        // The first table says that it runs.
        command.args(["--repeat", "4000000000", "--top"]).args(engine);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process");
        let mut err = BufReader::new(child.stderr.take().unwrap());
        err.read_line(&mut String::new()).unwrap();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let said: Vec<String> = err.lines().map_while(Result::ok).collect();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{engine:?}: {said:?}");
        assert!(said.iter().any(|line| line.starts_with("error: interrupted after ")), "{said:?}");
        assert!(output.stdout.starts_with(b"retval: XDP_PASS\n"), "{engine:?}");
    }
}

#[test]
fn colours_obey_the_environment() {
    let coloured = |key: &str| {
        let help = skep().args(["stat", "--help"]).env(key, "1").output().unwrap();
        help.stdout.contains(&0x1b)
    };
    assert!(!coloured("UNRELATED"), "a pipe gets none");
    assert!(!coloured("NO_COLOR"));
    assert!(coloured("CLICOLOR_FORCE"));
}

/// A limit that cannot be kept names one that can; below a tight one the verdict comes, or an
/// error says that memory was too little.
#[test]
fn a_memory_limit_is_kept_or_is_an_error() {
    let verdicts = |limit: &str| {
        let mut command = skep();
        command.args(["stat", "--quiet", "--btf=none", "-e", "file,prog,verdict", "-o", "csv"]);
        let output = command.args(["--mem-limit", limit, "tests/programs"]).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), errors)
    };
    // How much that is depends on what of the executable is in memory.
    let least = |errors: &str| {
        let after = errors.split("the minimum here is ").nth(1);
        let least = after.and_then(|rest| rest.split(' ').next());
        least.unwrap_or_else(|| panic!("{errors}")).to_owned()
    };
    let (code, _, errors) = verdicts("1M");
    assert_eq!(code, Some(2));

    let (_, wanted, _) = verdicts("1G");
    let (_, tight, _) = verdicts(&least(&errors));
    assert_eq!(wanted.lines().count(), tight.lines().count());
    for (wanted, tight) in wanted.lines().zip(tight.lines()) {
        assert!(wanted == tight || tight.ends_with(",error"), "{wanted} / {tight}");
    }
    // The beginning of this log cannot be kept without all of it.
    let log = |limit: &str| {
        let mut command = skep();
        command.args(["stat", "-v", "--log-level=2", "--log-fixed", "--btf=none", "--mem-limit"]);
        let output =
            command.args([limit, "tests/programs/stress_backtrack.bpf.o"]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, errors) = log(&least(&log("1M").1));
    let over = "program 'backtrack': memory limit: ";
    assert!(code == Some(2) && errors.contains(over), "{errors}");
}
