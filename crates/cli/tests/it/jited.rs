//! `skep dump --stage jited`: machine code under the insns and source lines, with the places named
//! where it is patched. What the insns are depends on the host; what stands where does not.

use skep_cli::{Exit, Streams};
use skep_report::Style;

fn dump(file: &str, program: &str) -> String {
    let path = format!("{}/../../tests/programs/bench/{file}", env!("CARGO_MANIFEST_DIR"));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    let args = ["skep", "dump", "--btf", "none", "--stage", "jited", &path, program];
    let exit = skep_cli::run(args.iter().map(Into::into), &mut streams).unwrap();
    assert_eq!(exit, Exit::Success, "{}", String::from_utf8_lossy(&err));
    String::from_utf8(out).unwrap()
}

/// Mnemonics of the insns that are marked, and the marks.
fn marked(listing: &str) -> Vec<(&str, &str)> {
    let marked = listing.lines().filter_map(|line| line.split_once(" <- "));
    marked.map(|(insn, mark)| (insn.split_whitespace().nth(2).unwrap(), mark)).collect()
}

#[test]
fn places_that_are_patched_are_named() {
    if skep_text::patching_is_refused().is_some() {
        return;
    }
    let constant = dump("tail_calls.bpf.o", "self_const");
    let expected = [
        ("push", "entry"),
        ("mov", "entry of tail calls <- switch: statistics"),
        ("jmp", "switch: progs[0] is empty"),
        ("test", "switch: statistics, at a tail call"),
        ("jmp", "retarget: progs[0]"),
    ];
    assert_eq!(marked(&constant), expected, "{constant}");
    // A tail call from a function ends no time of the caller's.
    let callee = dump("tail_calls.bpf.o", "in_callee");
    let marks: Vec<&str> = marked(&callee).iter().map(|(_, mark)| *mark).collect();
    assert_eq!(marks[2..], ["switch: progs[2] is empty", "retarget: progs[2]"]);
    assert!(callee.contains("\ncallee:\n") && callee.contains("\nstats (stub):\n"), "{callee}");
}

/// Source line, insn, machine code, in this order.
#[test]
fn source_insns_and_machine_code_are_interleaved() {
    let listing = dump("csum.bpf.o", "csum");
    let lines: Vec<&str> = listing.lines().collect();
    let load = lines.iter().position(|line| line.contains("r5 = *(u32 *)(r5 +0)")).unwrap();
    assert!(lines[load - 1].starts_with("; return *(const u32 *)p;"), "{listing}");
    assert!(lines[load + 1].starts_with("        ") && lines[load + 1].contains(" mov "));
}

/// What bpftool has: functions with prototypes, insns with opcodes, the source lines that start.
#[test]
fn the_json_has_every_byte_and_every_line() {
    let text = stdout(&[
        "dump",
        "--btf",
        "none",
        &object("calls.bpf.o"),
        "calls",
        "--stage",
        "jited",
        "-j",
    ]);
    let functions: serde_json::Value = serde_json::from_str(&text).unwrap();
    let functions = functions.as_array().unwrap();
    let names: Vec<&str> = functions.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names[..5], ["calls", "widen", "clamp", "length_of", "scaled"]);
    assert_eq!(functions[2]["proto"], "u32 clamp(u32 value, struct window *window)");
    let mut next = 0;
    let mut lines = std::collections::BTreeSet::new();
    for insn in functions.iter().flat_map(|one| one["insns"].as_array().unwrap()) {
        let pc = insn["pc"].as_str().and_then(|pc| pc.strip_prefix("0x")).unwrap();
        assert_eq!(usize::from_str_radix(pc, 16), Ok(next), "{insn}");
        next += insn["opcodes"].as_array().unwrap().len();
        lines.extend(insn["line_num"].as_u64());
        assert_eq!(insn["line_num"].is_null(), insn["src"].is_null(), "{insn}");
    }
    // Not line 31: the check of a divisor is a part of the division's code.
    assert!([40, 42, 43, 46, 20, 13, 15, 18, 36, 27, 29].iter().all(|line| lines.contains(line)));
}

#[test]
fn a_size_is_of_what_is_accepted() {
    let objects = ["xdp_count.bpf.o", "refused.bpf.o"].map(object);
    let args = ["stat", "--btf", "none", "-o", "csv", "-e", "prog,verdict,jited_size"];
    let text = stdout(&[&args[..], &[&objects[0], &objects[1]]].concat());
    for row in text.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let size: u64 = cells[2].parse().unwrap();
        assert_eq!(size > 0, cells[1] == "success", "{row}");
        assert!(size < 2000, "{row}");
    }
}

fn object(name: &str) -> String {
    format!("{}/../../tests/programs/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn stdout(args: &[&str]) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let style = Style::Plain;
    let mut streams = Streams { out: &mut out, err: &mut err, style, progress: false };
    skep_cli::run(["skep"].iter().chain(args).map(Into::into), &mut streams).unwrap();
    String::from_utf8(out).unwrap()
}
