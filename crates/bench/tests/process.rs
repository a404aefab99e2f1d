//! What only the process shows: children that measure, wrong patching that must be noticed, a host
//! that refuses.

#[path = "../../cli/tests/refuse/mod.rs"]
mod refuse;

use refuse::refuse;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

fn skep_bench() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skep-bench"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command
}

/// A child process measures; it is found as this binary.
#[test]
fn bench_measures_in_turn_in_new_processes_and_at_once() {
    let bench = |args: &[&str]| {
        let mut command = skep_bench();
        command.args(["verify", "--btf=none", "tests/programs/xdp_count.bpf.o"]);
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

/// The running kernel is no reference for the rules of another one.
#[test]
fn the_running_kernel_is_not_measured_as_another() {
    let mut command = skep_bench();
    command.args(["verify", "--vs=kernel", "--kernel=5.10", "--repeat=1"]);
    let output = command.arg("tests/programs/xdp_count.bpf.o").output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains(", which is not that of --kernel, 5.10.0-46-cloud-amd64"), "{errors}");
}

/// What docs/tour.md prints is run if it takes no minutes, and is else at least a valid command.
#[test]
fn the_commands_of_the_tour_are_valid() {
    let tour = include_str!("../../../docs/tour.md");
    let mut seen = 0;
    for line in tour.lines().filter_map(|line| line.strip_prefix("$ skep-bench ")) {
        let words = line.split('#').next().unwrap_or_default().split_whitespace();
        let words = words.map(|word| match word {
            "prog.bpf.o" => "tests/cli/tour/prog.bpf.o",
            word => word,
        });
        let mut command = skep_bench();
        // Three rounds say as much as ten seconds of them.
        command.args(words).arg(if line.contains("--a ") { "--repeat=3" } else { "--help" });
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !output.stdout.is_empty(), "{line}: {errors}");
        seen += 1;
    }
    assert!(seen > 3, "{seen}");
}

/// Ctrl-C ends a measurement after the program that it is at: what was measured is shown.
#[test]
fn an_interrupted_measurement_shows_what_it_has() {
    for json in [false, true] {
        let mut command = skep_bench();
        command.args(["verify", "--btf=none", "tests/programs/xdp_count.bpf.o", "--time=1"]);
        command.args(json.then_some("--json")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("a process");
        std::thread::sleep(Duration::from_millis(500));
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let (out, err) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
        assert_eq!(output.status.code(), Some(130), "{err}");
        let out = String::from_utf8(out).unwrap();
        // The object has two programs.
        assert!(out.contains("xdp_count") != out.contains("xdp_reflect"), "{out}");
        assert!(!json || serde_json::from_str::<serde_json::Value>(&out).is_ok(), "{out}");
    }
}

/// Each table of `skep-bench run` has a row of each program, and engines that differ would end it.
#[test]
fn bench_run_measures_programs_on_what_is_here() {
    let bench = |args: &[&str]| {
        let output = skep_bench().args(["run", "--rounds=3"]).args(args).output().unwrap();
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
    // Another engine is a process; one that does not answer is reported as running nothing.
    let peer = bench(&["--only=compute", "--program=empty", "--peer=none:v3=true"]);
    let has_clang = peer.contains("Native code and bytecode:");
    let why = if has_clang { "it has died" } else { "no clang here" };
    assert!(peer.contains(&format!("Not run by none: all: {why}")), "{peer}");
}

/// Nothing goes wrong where it must not, and everything that has to does.
#[test]
fn bench_poke_checks_every_execution_and_its_check_has_teeth() {
    let bench = |args: &[&str]| {
        let output = skep_bench().args(["poke", "--json"]).args(args).output().unwrap();
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

/// A host that denies threads is an error; one that denies sleeping is not.
#[test]
fn bench_poke_ends_where_threads_or_sleeping_are_denied() {
    const CLONES: &[libc::c_long] = &[libc::SYS_clone, libc::SYS_clone3];
    const SLEEPS: &[libc::c_long] = &[libc::SYS_clock_nanosleep, libc::SYS_nanosleep];
    for only in ["toggles", "library", "sharing", "checked"] {
        for (calls, status) in [(CLONES, 2), (SLEEPS, 0)] {
            let mut command = skep_bench();
            command.args(["poke", "--sites=16", "--threads=2", "--time=0.01", "--rounds=3"]);
            command.args(["--checked=1000", "--only", only]);
            // SAFETY: between fork and exec the child makes system calls only.
            unsafe { command.pre_exec(|| calls.iter().try_for_each(|call| refuse(*call))) };
            let output = command.output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(status), "{only}: {err}");
            assert_eq!(err.contains("while starting a thread"), status != 0, "{only}: {err}");
        }
    }
}

/// Where a filter refuses what patching needs, `skep-bench poke` says once that it uses flags, and
/// why, and measures what it can.
#[test]
fn bench_poke_names_the_mode_that_it_falls_back_to() {
    let refused = [("membarrier", libc::SYS_membarrier), ("memfd_create", libc::SYS_memfd_create)];
    for (name, call) in refused {
        let bench = |args: &[&str]| {
            let mut command = skep_bench();
            command.args(["poke", "--sites=16", "--threads=1", "--time=0.01"]).args(args);
            // SAFETY: between fork and exec the child makes system calls only.
            unsafe { command.pre_exec(move || refuse(call)) };
            let output = command.output().unwrap();
            let [out, err] = [output.stdout, output.stderr].map(|b| String::from_utf8(b).unwrap());
            (output.status.code(), out, err)
        };
        let (code, out, err) = bench(&["--only=toggles,library,costs", "--rounds=3", "--json"]);
        assert_eq!(code, Some(0), "{err}");
        let notice = format!("note: flag mode: the host denies {name} (");
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
