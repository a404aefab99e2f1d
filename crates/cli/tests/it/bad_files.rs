//! Broken files: one line each, exit 2, the other files still processed, nothing slow.

use skep_report::Style;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const GOOD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/xdp_count.bpf.o");

struct Ran {
    out: String,
    err: String,
    exit: u8,
}

fn skep(args: &[&str]) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        skep_cli::Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    let args = std::iter::once("skep").chain(args.iter().copied()).map(Into::into);
    let exit = skep_cli::run(args, &mut streams).expect("memory takes all").code();
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { out: text(out), err: text(err), exit }
}

/// Runs `stat` on a broken file and a good one.
fn stat_with_good(bad: &Path) -> Ran {
    let bad = bad.to_str().expect("UTF-8 path");
    skep(&["stat", "--btf", "none", "-o", "csv", "-e", "file,prog,size", bad, GOOD])
}

#[test]
fn the_other_files_are_processed() {
    let dir = tempfile::tempdir().unwrap();
    let good = fs::read(GOOD).unwrap();
    let mut no_sections = good.clone();
    no_sections[40..48].fill(0xff);
    let mut other_machine = good.clone();
    other_machine[18] = 62;
    for (name, bytes) in [
        ("empty", &b""[..]),
        ("text", b"hello"),
        ("magic", b"\x7fELF"),
        ("cut", &good[..good.len() / 2]),
        ("header", &good[..64]),
        ("no_sections", &no_sections),
        ("other_machine", &other_machine),
    ] {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        let ran = stat_with_good(&path);
        assert_eq!(ran.exit, 2, "{name}");
        let about = |line: &&str| line.contains(&format!("/{name}: while "));
        assert_eq!(ran.err.lines().filter(about).count(), 1, "{name}: {}", ran.err);
        assert!(ran.err.lines().all(|line| line.starts_with("error: ")), "{name}: {}", ran.err);
        assert!(ran.out.contains("xdp_count.bpf.o,xdp_reflect,32\n"), "{name}: {}", ran.out);
    }
}

#[test]
fn what_is_no_regular_file_is_not_read() {
    for (path, words) in [("/dev/zero", "not a regular file"), ("/no/such", "no such file")] {
        let ran = stat_with_good(Path::new(path));
        assert_eq!(ran.exit, 2);
        assert!(ran.err.contains(&format!("error: {path}: while reading the file: {words}")));
        assert!(ran.out.contains("xdp_reflect"));
    }
}

/// A file of /proc states no size; reading this one would wait for the kernel's next message.
#[test]
fn what_has_no_size_is_not_read() {
    let ran = stat_with_good(Path::new("/proc/kmsg"));
    assert_eq!(ran.exit, 2);
    let line = "error: /proc/kmsg: while opening the object: the file is empty\n";
    assert!(ran.err.contains(line), "{}", ran.err);
    assert!(ran.out.contains("xdp_reflect"));
}

#[test]
fn lists_and_results_without_end_are_not_read_to_the_end() {
    for args in [
        &["test", "/dev/zero"][..],
        &["stat", "@/dev/zero"],
        &["stat", "-R", "/dev/zero"],
        &["stat", "-f@/dev/zero", GOOD],
    ] {
        let ran = skep(args);
        assert!(ran.exit == 2 && ran.err.len() < 200, "{args:?}: {} {}", ran.exit, ran.err);
    }
}

/// Every header field, and bytes all over the file, replaced by extremes: no panic, no long run.
#[test]
fn mutants_end_soon_and_never_as_our_fault() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mutant.bpf.o");
    let good = fs::read(GOOD).unwrap();
    let offsets = (0..64).chain((64..good.len()).step_by(good.len() / 128));
    let begun = Instant::now();
    for offset in offsets {
        for byte in [0x00, 0x7f, 0xff] {
            let mut mutant = good.clone();
            mutant[offset] = byte;
            fs::write(&path, &mutant).unwrap();
            let ran = skep(&["check", "--btf", "none", path.to_str().unwrap()]);
            assert!(ran.exit <= 2, "offset {offset:#x} = {byte:#x}: {} {}", ran.err, ran.out);
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
}

#[test]
fn objects_inside_other_files_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let good = fs::read(GOOD).unwrap();
    let path = dir.path().join("tool");
    fs::write(&path, [b"#!/bin/sh\n".as_slice(), &good, b"tail", &good].concat()).unwrap();
    let path = path.to_str().unwrap();
    let args = ["stat", "--btf", "none", "-o", "csv", "-e", "file,prog,size"];
    let ran = skep(&[args.as_slice(), &["--scan", path]].concat());
    let second = format!("tool@{:#x},xdp_count,30\n", 10 + good.len() + 4);
    assert!(
        ran.out.contains("tool@0xa,xdp_count,30\n") && ran.out.contains(&second),
        "{}",
        ran.out
    );
    assert_eq!(skep(&[args.as_slice(), &[path]].concat()).exit, 2, "not without --scan");
}

#[test]
fn results_do_not_depend_on_threads() {
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs");
    let run = |jobs: &str| {
        let emit = "file,prog,verdict,insns,states,peak_states,size,prog_type,stack";
        skep(&["stat", "--btf", "none", "-e", emit, "--jobs", jobs, programs]).out
    };
    let alone = run("1");
    assert!(alone.lines().count() > 20, "{alone}");
    assert_eq!(alone, run("4"));
}

/// The object without its program sections: they are data now.
fn without_programs() -> Vec<u8> {
    let mut bytes = fs::read(GOOD).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (headers, count) = (word(40), usize::from(bytes[60]));
    for flags in (0..count).map(|index| headers + index * 64 + 8) {
        bytes[flags] &= !4;
    }
    bytes
}

#[test]
fn a_file_without_programs_is_an_error_where_it_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("maps.bpf.o");
    fs::write(&path, without_programs()).unwrap();
    let ran = stat_with_good(&path);
    assert_eq!(ran.exit, 2);
    let line = format!("error: {}: no BPF program inside\n", path.display());
    assert_eq!(ran.err, line);
    assert!(ran.out.contains("xdp_count.bpf.o,xdp_reflect,32\n"), "{}", ran.out);
    // In a folder there may be such files.
    let ran = skep(&["stat", "--btf", "none", "-q", dir.path().to_str().unwrap()]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
}

#[test]
fn a_baseline_is_read_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("base.csv");
    let file = file.to_str().unwrap();
    let ran = skep(&["baseline", "write", "--btf", "none", "-b", file, GOOD]);
    assert_eq!((ran.exit, ran.out), (0, format!("{file}: 2 programs\n")));
    let written = fs::read_to_string(file).unwrap();
    let ran = skep(&["baseline", "check", "--btf", "none", "-b", file, GOOD]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, "2 programs, as in the baseline\n"));
    // Nothing is written over it by a run that failed.
    let ran = skep(&["baseline", "write", "--btf", "none", "-b", file, GOOD, "no/such.bpf.o"]);
    assert_eq!(ran.exit, 2);
    assert_eq!(fs::read_to_string(file).unwrap(), written);
}

/// The refused programs, whose names, paths and lines have what a terminal obeys in them.
fn with_control_characters() -> Vec<u8> {
    let object = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/refused.bpf.o");
    let mut bytes = fs::read(object).unwrap();
    let names: [(&[u8], &[u8]); 4] = [
        (b"no_null_check", b"no\x1b[31m\ncheck"),
        (b"counter\0", b"co\x1b]0;\x07\0"),
        (b"refused.bpf.c", b"../\x1b[2J\r\n.b.c"),
        (b"*count += 1;", b"*co\x1b[31m\r+1;"),
    ];
    for (from, to) in names {
        assert_eq!(from.len(), to.len());
        let places = bytes.windows(from.len()).enumerate();
        let found = places.filter(|(_, at)| *at == from).map(|(at, _)| at).collect::<Vec<_>>();
        assert!(!found.is_empty(), "{from:?}");
        for at in found {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

#[test]
fn nothing_in_an_object_reaches_a_terminal_as_a_control_character() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a\x1b[31m\n.bpf.o");
    fs::write(&path, with_control_characters()).unwrap();
    let path = path.to_str().unwrap();
    for command in [
        "check",
        "check -o github",
        "check -o json",
        "check -o sarif",
        "check --kernel 5.10,6.12",
        "check --kernel 5.10,6.12 -o github",
        "check --kernel 5.10,6.12 -o markdown",
        "stat -v -l 2",
        "stat -q -o csv",
        "stat -q -o markdown",
        "stat -q --top-src-lines 3",
        "profile",
        "profile -o json",
        "profile -o folded",
        "profile -o svg",
        "globals",
        "dump --stage elf",
        "dump --stage xlated",
    ] {
        let btf = if command.contains("--kernel") { "" } else { " --btf none" };
        let command = format!("{command}{btf}");
        let ran = skep(&command.split(' ').chain([path]).collect::<Vec<_>>());
        for text in [&ran.out, &ran.err] {
            let shown = text.replace(['\n', '\t'], "");
            assert!(!shown.contains(char::is_control), "{command}: {shown:?}");
        }
        assert!(!(ran.out + &ran.err).is_empty(), "{command}");
    }
}

#[test]
fn a_log_of_a_million_lines_is_cut() {
    let object =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/stress_backtrack.bpf.o");
    let ran = skep(&["stat", "--btf", "none", "-v", "-l", "2", "-e", "prog", object]);
    assert!(ran.out.len() > 16 << 20, "{} bytes are no long log", ran.out.len());
    assert!(ran.out.len() < (16 << 20) + 65_536, "{} bytes", ran.out.len());
}
