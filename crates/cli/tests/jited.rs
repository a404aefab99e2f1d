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
    if skep_jit::patching_is_refused().is_some() {
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
