//! Every command of docs/tour.md runs as it is printed there: on objects with the programs that it
//! names, and with stand-ins for the tools that it pipes into. Where output is printed, it is the
//! beginning of the command's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names of tools, and what stands in for each.
const TOOLS: [(&str, &str); 5] = [
    // Of late.bpf.c, as it is and as the tour changes it.
    ("clang", "grep -q '= ktime_get_ns()' late.bpf.c && cp mended.bpf.o late.bpf.o"),
    ("dot", "cat"),
    ("tcpdump", "cat in.pcap"),
    ("tshark", "cat >/dev/null"),
    // perf record -k mono COMMAND...
    ("perf", "shift 3; exec \"$@\""),
];

/// Commands of another crate's binary, which its own tests run.
const ELSEWHERE: &str = "skep-bench ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Mark of commands that fail, as they should.
const FAILS: &str = "# exit 1: ";

/// The commands of the console blocks of a document, and the beginning of what each prints.
fn commands(document: &str) -> Vec<(&str, String)> {
    let blocks = document.split("```console\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command, String::new())),
            (None, Some((_, output))) => *output = format!("{output}{line}\n"),
            (None, None) => panic!("output of no command: {line}"),
        }
    }
    found
}

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A capture of one packet.
fn capture() -> Vec<u8> {
    let mut bytes = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    bytes.extend([2, 0, 4, 0]);
    for field in [0u32, 0, 262_144, 1, 0, 0, 60, 60] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend([0; 60]);
    bytes
}

/// A folder in which the commands find what they name.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let object = root().join("tests/cli/tour/prog.bpf.o");
    fs::create_dir(at("bin")).unwrap();
    fs::create_dir(at("build")).unwrap();
    for name in ["late.bpf.c", "late.bpf.o", "mended.bpf.o"] {
        fs::copy(root().join("tests/cli/tour").join(name), at(name)).unwrap();
    }
    for name in ["prog.bpf.o", "build/prog.bpf.o", "some-tool"] {
        fs::copy(&object, at(name)).unwrap();
    }
    fs::write(at("in.pcap"), capture()).unwrap();
    fs::write(at("ports.json"), r#"[{"key": 7, "value": 1}]"#).unwrap();
    let mut old = Command::new(env!("CARGO_BIN_EXE_skep"));
    old.args(["stat", "-o", "csv"]).arg(at("build"));
    fs::write(at("old.csv"), old.output().unwrap().stdout).unwrap();
    script(&at("bin/skep"), &format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_skep")));
    for (name, text) in TOOLS {
        script(&at("bin").join(name), text);
    }
    folder
}

#[test]
fn every_command_runs_as_printed() {
    let tour = fs::read_to_string(root().join("docs/tour.md")).unwrap();
    let folder = folder();
    let mut path = folder.path().join("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let all = commands(&tour);
    assert!(all.len() > 20, "{all:?}");
    let mut failed = Vec::new();
    for (command, begins) in all.into_iter().filter(|it| !it.0.starts_with(ELSEWHERE)) {
        // A file of somebody's system, which need not be on this one.
        let here = command.replace("/usr/sbin/some-tool", "./some-tool");
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(&here).current_dir(folder.path()).env("PATH", &path);
        let output = shell.stdin(Stdio::null()).output().unwrap();
        let code = i32::from(command.contains(FAILS));
        let said = String::from_utf8_lossy(&output.stdout);
        if output.status.code() != Some(code) || !said.starts_with(&begins) {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            failed.push(format!("{command}: {}: {error}{said}", output.status));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
