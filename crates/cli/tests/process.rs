//! What only the process shows: exit codes, colours, a reader that leaves early.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
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

/// A child process measures; it is found as this binary.
#[test]
fn bench_measures_in_turn_in_new_processes_and_at_once() {
    let bench = |args: &[&str]| {
        let mut command = skep();
        command.args(["bench", "verify", "--btf=none", "tests/programs/xdp_count.bpf.o"]);
        let output = command.args(args).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let warm = bench(&["--a=state_alloc=heap", "--repeat=5"]);
    assert!(warm.contains("| wall-time, us ") && warm.contains("95 % interval"), "{warm}");
    let cold = bench(&["--cold", "--repeat=3", "--json"]);
    let cold: serde_json::Value = serde_json::from_str(&cold).unwrap();
    assert_eq!(cold["programs"][0]["rounds"], 3);
    assert!(cold["programs"][0]["metrics"][0]["sides"][0]["median"].as_f64() > Some(0.0));
    let at_once = bench(&["--saturate=2", "--time=0.05", "-f", "*/xdp_count"]);
    assert!(at_once.contains("Counter stats for 2 processes"), "{at_once}");
    assert!(at_once.contains("seconds time elapsed"), "{at_once}");
}

/// Each table of `skep bench run` has a row of each program, and engines that differ would end it.
#[test]
fn bench_run_measures_programs_on_what_is_here() {
    let bench = |args: &[&str]| {
        let output = skep().args(["bench", "run", "--rounds=3"]).args(args).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let own = bench(&["--only=compute,tails,maps", "--program=empty,calls", "--json"]);
    let own: serde_json::Value = serde_json::from_str(&own).unwrap();
    assert_eq!(own["compute"][1]["program"], "calls");
    assert_eq!(own["compute"][0]["engines"][1]["engine"], "skep");
    assert!(own["compute"][0]["engines"][1]["ns"]["median"].as_f64() > Some(0.0));
    assert_eq!(own["tails"].as_array().map(Vec::len), Some(7));
    assert_eq!(own["maps"][0]["name"], "nothing");
    let given = bench(&["tests/programs/xdp_count.bpf.o", "--no-kernel"]);
    assert!(given.contains("| xdp_reflect ") && !given.contains("kernel"), "{given}");
    // Another engine is a process; one that gives no answer is said to run nothing.
    let peer = bench(&["--only=compute", "--program=empty", "--peer=none:v3=true"]);
    let has_clang = peer.contains("Native code and bytecode:");
    let why = if has_clang { "it has died" } else { "no clang here" };
    assert!(peer.contains(&format!("Not run by none: all: {why}")), "{peer}");
}

/// Nothing goes wrong where it must not, and everything that has to does.
#[test]
fn bench_poke_checks_every_execution_and_its_check_has_teeth() {
    let bench = |args: &[&str]| {
        let output = skep().args(["bench", "poke", "--json"]).args(args).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{args:?}: {errors}{text}");
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let quick = ["--sites=16", "--threads=2", "--time=0.05", "--checked=1000000", "--rounds=3"];
    let answer = bench(&[&quick[..], &["--only=toggles,library,sharing,checked"]].concat());
    let toggles = answer["toggles"].as_array().unwrap();
    let count = |kind: &str| toggles.iter().filter(|row| row["kind"] == kind).count();
    assert_eq!(["Switch", "Insn", "Retarget", "Mixed"].map(count), [7, 3, 6, 3]);
    assert_eq!(answer["library"][0]["calls"].as_array().map(Vec::len), Some(7));
    for checked in answer["checked"].as_array().unwrap() {
        assert_eq!(checked["seen"]["wrong"], 0);
        assert!(checked["seen"]["executions"].as_u64() >= Some(1_000_000));
    }
    assert_eq!(answer["checked"].as_array().map(Vec::len), Some(4));
    let answer = bench(&["--only=controls"]);
    let controls = answer["controls"].as_array().unwrap();
    assert!(controls.len() == 5 && controls.iter().all(|row| row["has_failed"] == true));
}

/// Where a filter refuses what patching needs, `bench poke` says once that it uses flags, and why,
/// and measures what it can.
#[test]
fn bench_poke_names_the_mode_that_it_falls_back_to() {
    let refused = [("membarrier", libc::SYS_membarrier), ("memfd_create", libc::SYS_memfd_create)];
    for (name, call) in refused {
        let bench = |args: &[&str]| {
            let mut command = skep();
            command.args(["bench", "poke", "--sites=16", "--threads=1", "--time=0.01"]).args(args);
            // SAFETY: between fork and exec the child makes system calls only.
            unsafe { command.pre_exec(move || refuse(call)) };
            let output = command.output().unwrap();
            let [out, err] = [output.stdout, output.stderr].map(|b| String::from_utf8(b).unwrap());
            (output.status.code(), out, err)
        };
        let (code, out, err) = bench(&["--only=toggles,library,costs", "--rounds=3", "--json"]);
        assert_eq!(code, Some(0), "{err}");
        let notice = format!("note: flag mode: the host refuses {name} (");
        assert_eq!(err.matches(&notice).count(), 1, "{err}");
        assert!(err.contains("not measured, since they patch code: toggles\n"), "{err}");
        let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(answer["library"].is_array() && answer["costs"].is_array(), "{out}");
        assert!(answer["toggles"].is_null() && answer["off"].is_null(), "{out}");
        let (code, out, err) = bench(&["--only=checked"]);
        assert_eq!((code, &*out), (Some(2), ""));
        assert!(err.contains(&notice) && err.contains("in flag mode"), "{err}");
    }
}

/// Has a system call fail with EPERM from now on.
fn refuse(call: libc::c_long) -> std::io::Result<()> {
    let statement =
        |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let returns = libc::BPF_RET | libc::BPF_K;
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, 1),
        statement(returns, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0),
        statement(returns, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the filter is read during the call; both change this process alone.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
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
    let (code, _, errors) = verdicts("1M");
    assert_eq!(code, Some(2));
    let least = errors.split("the minimum here is ").nth(1).and_then(|rest| rest.split(' ').next());
    let least = least.unwrap_or_else(|| panic!("{errors}"));

    let (_, wanted, _) = verdicts("1G");
    let (_, tight, _) = verdicts(least);
    assert_eq!(wanted.lines().count(), tight.lines().count());
    for (wanted, tight) in wanted.lines().zip(tight.lines()) {
        assert!(wanted == tight || tight.ends_with(",error"), "{wanted} / {tight}");
    }
    // The beginning of this log cannot be kept without all of it.
    let mut command = skep();
    command.args(["stat", "-v", "--log-level=2", "--log-fixed", "--btf=none", "--mem-limit=48M"]);
    let output = command.arg("tests/programs/stress_backtrack.bpf.o").output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let over = "program 'backtrack': memory limit: ";
    assert!(output.status.code() == Some(2) && errors.contains(over), "{errors}");
}
