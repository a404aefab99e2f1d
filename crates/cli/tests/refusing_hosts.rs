//! Hosts that give less than is asked for: threads, system calls, a reader, names in UTF-8.

mod refuse;

use refuse::refuse;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SKEP: &str = env!("CARGO_BIN_EXE_skep");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn skep(args: &[&str]) -> Command {
    let mut command = Command::new(SKEP);
    command.args(args).current_dir(root());
    command
}

/// What it prints, and how it exits.
fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The process may not make these calls: they fail with EPERM.
fn without(mut command: Command, calls: &'static [libc::c_long]) -> Command {
    // SAFETY: only system calls between `fork` and `exec`, and no memory is allocated.
    unsafe { command.pre_exec(|| calls.iter().try_for_each(|call| refuse(*call))) };
    command
}

const CLONES: &[libc::c_long] = &[libc::SYS_clone, libc::SYS_clone3];
const SLEEPS: &[libc::c_long] = &[libc::SYS_clock_nanosleep, libc::SYS_nanosleep];
/// Many objects with short programs: the matter is threads.
const STAT: [&str; 7] =
    ["stat", "--btf=none", "-e", "file,prog,verdict,insns", "-o", "csv", "tests/refusals"];

#[test]
fn files_are_judged_with_the_threads_that_there_are() {
    let wanted = said(&skep(&STAT).output().unwrap());
    for jobs in ["1", "7", "1000000"] {
        let more = |mut command: Command| command.args(["--jobs", jobs]).output().unwrap();
        assert_eq!(said(&more(skep(&STAT))), wanted, "--jobs {jobs}");
        assert_eq!(said(&more(without(skep(&STAT), CLONES))), wanted, "--jobs {jobs}, no clone");
        assert_eq!(said(&more(without(skep(&STAT), SLEEPS))), wanted, "--jobs {jobs}, no sleep");
    }
    // Address space for a few stacks.
    let limited = format!("ulimit -v 700000; exec {SKEP} {} --jobs 200", STAT.join(" "));
    let output = Command::new("sh").args(["-c", &limited]).current_dir(root()).output().unwrap();
    assert_eq!(said(&output), wanted, "little address space");
}

#[cfg(all(feature = "run", target_os = "linux"))]
const RUN: [&str; 5] = ["run", "--btf=none", "tests/programs/xdp_count.bpf.o", "xdp_count", "-j"];

#[test]
#[cfg(all(feature = "run", target_os = "linux"))]
fn programs_run_on_the_threads_that_there_are() {
    for more in [&["--threads=2"][..], &["--interp"], &["--fuel=1000"], &["--stats", "--top"]] {
        let command = || {
            let mut command = skep(&RUN);
            command.args(more);
            command
        };
        for (what, calls) in [("clone", CLONES), ("sleep", SLEEPS)] {
            let (code, out, err) = said(&without(command(), calls).output().unwrap());
            assert!(out.contains("\"retval\":2"), "no {what}, {more:?}: {out}{err}");
            // Threads that were asked for by number are missed.
            let missed = (what, more) == ("clone", &["--threads=2"][..]);
            let missed = missed.then_some("only 1 of 2 threads started");
            assert_eq!(code, Some(if missed.is_some() { 2 } else { 0 }), "{what} {more:?}: {err}");
            assert!(err.contains(missed.unwrap_or_default()), "{err}");
        }
    }
}

/// Exit status when nobody reads what is printed.
fn unread(args: &[&str]) -> (Option<i32>, String) {
    let mut child =
        skep(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process");
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("UTF-8");
    (child.wait().expect("ends").code(), err)
}

#[test]
fn the_exit_status_is_the_verdicts_though_nobody_reads() {
    let files = ["tests/programs/refused.bpf.o", "tests/programs/xdp_count.bpf.o"];
    for format in ["text", "sarif", "json", "github"] {
        let check = |file| unread(&["check", "-q", "--btf=none", "--format", format, file]);
        assert_eq!(check(files[0]), (Some(1), String::new()), "{format}");
        assert_eq!(check(files[1]), (Some(0), String::new()), "{format}");
    }
    let stat = ["stat", "--btf=none", "-v", "no/such.o", files[0]];
    let (code, err) = unread(&stat);
    assert_eq!(code, Some(2));
    assert_eq!(err, "error: no/such.o: while reading the file: no such file or directory\n");
    // Nobody reads the errors, either, and there is more to be done after the first one.
    let mut child = skep(&stat).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    let mut out = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("UTF-8");
    assert_eq!(child.wait().expect("ends").code(), Some(2));
    assert!(out.contains("no_null_check"), "{out}");
}

#[test]
fn names_are_any_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
    let object = named(b"caf\xe9\x1b.bpf.o");
    std::fs::copy(root().join("tests/programs/xdp_count.bpf.o"), &object).unwrap();
    let list = named(b"list\xff");
    let line = [object.as_os_str().as_bytes(), b"\n"].concat();
    std::fs::write(&list, [b"# of files\n\n".as_slice(), &line].concat()).unwrap();
    let at_list = OsStr::from_bytes(&[b"@", list.as_os_str().as_bytes()].concat()).to_owned();

    let stat = |path: &OsStr| {
        let mut command = skep(&["stat", "--btf=none", "-e", "file,prog,verdict", "-o", "csv"]);
        said(&command.arg(path).output().unwrap())
    };
    for path in [object.as_os_str(), folder.path().as_os_str(), &at_list] {
        let (code, out, err) = stat(path);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{path:?}");
        // A terminal gets no control characters.
        assert!(out.contains("\ncaf\u{fffd}\\u{1b}.bpf.o,xdp_count,success\n"), "{out:?}");
    }
    let mut target = object.clone().into_os_string();
    target.push(":nope");
    let mut check = skep(&["check", "--btf=none", "--target"]);
    let (code, _, err) = said(&check.arg(&target).arg(&object).output().unwrap());
    assert_eq!(code, Some(2));
    assert!(err.contains("no program 'nope' in it, but: xdp_count"), "{err}");
    let btf = named(b"btf\xff");
    let mut dump = skep(&["dump", "--btf"]);
    let (code, _, err) = said(&dump.arg(&btf).arg(&object).output().unwrap());
    assert_eq!(code, Some(2));
    assert!(err.contains("while reading kernel BTF: no such file or directory"), "{err}");
}
