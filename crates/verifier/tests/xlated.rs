//! The rewrites of programs: program in, rewritten program out.

use skep_insn::asm::assemble;
use skep_insn::{NoNames, write_insn};
use skep_program::{MapDef, Program};
use skep_uapi::{KernelProfile, MapType, ProgType};
use skep_verifier::{Config, Verdict, VerifiedProgram, Xlated, verify};

fn verified(prog_type: ProgType, text: &str) -> VerifiedProgram {
    let helper = |name: &str| skep_uapi::helper::HelperId::from_name(name).map(|id| id as u32);
    // The only map, with index 0.
    let map = MapDef {
        name: "values".to_owned(),
        map_type: MapType::Array,
        key_size: 4,
        value_size: 8,
        max_entries: 1,
        ..MapDef::default()
    };
    let program = Program {
        name: "main".to_owned(),
        prog_type,
        license: "GPL".to_owned(),
        insns: assemble(text, &helper).expect(text).insns,
        maps: vec![map].into(),
        ..Program::default()
    };
    match verify(&program, &Config::privileged(KernelProfile::v6_18())).verdict {
        Verdict::Accepted(verified) => *verified,
        other => panic!("{other:?}: {text}"),
    }
}

fn lines(xlated: &Xlated) -> Vec<String> {
    let insns = xlated.insns();
    let second = |at: usize| at > 0 && insns[at - 1].is_ld_imm64();
    let print = |at: usize| {
        let mut text = String::new();
        write_insn(&mut text, &insns[at..], &NoNames, true).expect("a string takes all");
        // Without the opcode.
        text.split_once(") ").map(|(_, insn)| insn.to_owned()).unwrap_or(text)
    };
    (0..insns.len()).filter(|&at| !second(at)).map(print).collect()
}

#[track_caller]
fn becomes(prog_type: ProgType, text: &str, expected: &[&str]) {
    let verified = verified(prog_type, text);
    assert_eq!(lines(verified.xlated().expect(text)), expected, "{text}");
}

/// Compares the first lines of insns that are only printed.
#[track_caller]
fn bare(text: &str, expected: &[&str]) {
    let insns = assemble(&format!("{text}\nexit"), &|_| None).expect(text).insns;
    let lines = lines(&Xlated::bare(&insns).expect(text));
    assert_eq!(lines[..lines.len() - 1], *expected, "{text}");
}

#[test]
fn divisions_cannot_trap() {
    bare("r1 /= r2", &["if r2 != 0x0 goto pc+2", "w1 = 0", "goto pc+1", "r1 /= r2"]);
    bare("w1 /= w2", &["if w2 != 0x0 goto pc+2", "w1 = 0", "goto pc+1", "w1 /= w2"]);
    bare("r1 %= r2", &["if r2 == 0x0 goto pc+1", "r1 %= r2"]);
    bare("w1 %= w2", &["if w2 == 0x0 goto pc+2", "w1 %= w2", "goto pc+1", "w1 = w1"]);
    bare("r1 /= 7", &["r1 /= 7"]);
    bare("r1 s/= -1", &["r1 = -r1"]);
    bare("w1 s%= -1", &["w1 = 0"]);
    let signed = [
        "if r2 == 0x0 goto pc+5",
        "if r2 == 0xffffffff goto pc+2",
        "r1 s/= r2",
        "goto pc+3",
        "r1 = -r1",
        "goto pc+1",
        "w1 = 0",
    ];
    bare("r1 s/= r2", &signed);
    let signed = [
        "if r2 == 0x0 goto pc+4",
        "if r2 == 0xffffffff goto pc+2",
        "r1 s%= r2",
        "goto pc+1",
        "w1 = 0",
    ];
    bare("r1 s%= r2", &signed);
}

#[test]
fn jumps_land_where_they_did() {
    let lines = [
        "if r1 == 0x0 goto pc+5",
        "if r2 != 0x0 goto pc+2",
        "w1 = 0",
        "goto pc+1",
        "r1 /= r2",
        "r0 = 0",
    ];
    bare("if r1 == 0 goto out\nr1 /= r2\nr0 = 0\nout:", &lines);
    let back = ["if r2 == 0x0 goto pc+1", "r1 %= r2", "if r1 != 0x0 goto pc-3"];
    bare("again: r1 %= r2\nif r1 != 0 goto again", &back);
}

#[test]
fn dead_code_is_gone() {
    let text = "r0 = 1\nif r0 == 1 goto out\nr0 = 2\nr0 *= 3\nout: exit";
    becomes(ProgType::Xdp, text, &["r0 = 1", "exit"]);
    let text = "r0 = 1\nif r0 != 1 goto dead\nexit\ndead: r0 = 2\nexit";
    becomes(ProgType::Xdp, text, &["r0 = 1", "exit"]);
    let text = "r0 = 1\ngoto b\na: exit\nb: r0 += 1\ngoto a";
    becomes(ProgType::Xdp, text, &["r0 = 1", "goto pc+1", "exit", "r0 += 1", "goto pc-3"]);
    let text = "r0 = 1\nif r0 == 1 goto over\ncall sub\nover: exit\nsub: r0 = 2\nexit";
    let verified = verified(ProgType::Xdp, text);
    let xlated = verified.xlated().expect("is translated");
    assert_eq!(lines(xlated), ["r0 = 1", "exit"]);
    assert_eq!(xlated.subprogs().len(), 1);
}

#[test]
fn contexts_are_those_in_memory() {
    let text = "r2 = *(u32 *)(r1 + 0)\nr3 = *(u32 *)(r1 + 4)\nr4 = *(u32 *)(r1 + 12)\nr0 = 2\nexit";
    let expected =
        ["r2 = *(u64 *)(r1 +0)", "r3 = *(u64 *)(r1 +8)", "r4 = *(u32 *)(r1 +36)", "r0 = 2", "exit"];
    becomes(ProgType::Xdp, text, &expected);
    let text = "r2 = *(u32 *)(r1 + 76)\nr0 = *(u8 *)(r1 + 17)\n*(u32 *)(r1 + 44) = r0\nexit";
    let expected =
        ["r2 = *(u64 *)(r1 +0)", "r0 = *(u8 *)(r1 +57)", "*(u16 *)(r1 +84) = r0", "exit"];
    becomes(ProgType::SchedCls, text, &expected);
    let text = "r0 = *(u64 *)(r1 + 88)\nr0 = 0\nexit";
    let verified = verified(ProgType::RawTracepoint, text);
    assert_eq!(verified.xlated().expect("is translated").ctx_bytes(), 96);
}

#[test]
fn packet_loads_are_calls() {
    let text = "r6 = r1\nr0 = *(u16 *)skb[12]\nexit";
    let expected = [
        "r6 = r1",
        "w2 = 12",
        "r1 = r6",
        "call unknown#-2",
        "if r0 s>= 0x0 goto pc+2",
        "w0 = 0",
        "exit",
        "exit",
    ];
    becomes(ProgType::SocketFilter, text, &expected);
}

#[test]
fn loops_that_may_end_count_in_the_frame() {
    let text = "r0 = 0\nagain: may_goto out\nr0 += 1\ngoto again\nout: r0 = 0\nexit";
    let expected = [
        "*(u64 *)(r10 -8) = 8388608",
        "r0 = 0",
        "r11 = *(u64 *)(r10 -8)",
        "if r11 == 0x0 goto pc+4",
        "r11 -= 1",
        "*(u64 *)(r10 -8) = r11",
        "r0 += 1",
        "goto pc-6",
        "r0 = 0",
        "exit",
    ];
    let verified = verified(ProgType::Xdp, text);
    let xlated = verified.xlated().expect("is translated");
    assert_eq!(lines(xlated), expected);
    assert_eq!(xlated.subprogs()[0].stack_depth_bytes, 8);
    assert_eq!(xlated.origin(4), 1);
}

#[test]
fn a_comparison_of_32_bits_leaves_zeros() {
    let text = "r0 = atomic_cmpxchg((u32 *)(r1 + 0), r0, r2)";
    bare(text, &["r0 = atomic_cmpxchg((u32 *)(r1 +0), r0, r2)", "w0 = w0"]);
    let text = "r0 = atomic64_cmpxchg((u64 *)(r1 + 0), r0, r2)";
    bare(text, &["r0 = atomic64_cmpxchg((u64 *)(r1 +0), r0, r2)"]);
}

/// A load may only be repeated or reordered if on every path the memory is private.
#[test]
fn memory_of_the_run_alone_is_said_to_be() {
    let text = "r6 = r1
        r7 = *(u32 *)(r6 +0)
        r8 = *(u32 *)(r6 +4)
        r0 = *(u32 *)(r6 +8)
        r1 = r7
        r1 += 8
        if r1 > r8 goto out
        r1 = *(u8 *)(r7 +0)
        *(u64 *)(r10 -8) = r1
        r9 = map_value[values]+0
        r2 = *(u64 *)(r9 +0)
        *(u64 *)(r9 +0) = 1
        r3 = r10
        r3 += -8
        if r2 == 1 goto either
        r3 = r7
        either:
        r4 = *(u8 *)(r3 +1)
        if r2 == 2 goto any
        r3 = r9
        any:
        r4 = *(u8 *)(r3 +2)
        r3 = r9
        if r2 == 3 goto again
        r3 = r10
        r3 += -8
        again:
        r4 = *(u8 *)(r3 +3)
        lock *(u64 *)(r10 -8) += r2
        r4 = load_acquire((u64 *)(r10 -8))
        out:
        r0 = 0
        exit";
    let verified = verified(ProgType::Xdp, text);
    let xlated = verified.xlated().expect(text);
    let own: Vec<String> = (lines_and_facts(xlated).into_iter())
        .filter(|(line, _)| line.contains("*(") || line.contains("load_acquire"))
        .map(|(line, own)| format!("{} {line}", if own { "own   " } else { "shared" }))
        .collect();
    let expected = [
        "own    r7 = *(u64 *)(r6 +0)",
        "own    r8 = *(u64 *)(r6 +8)",
        "own    r0 = *(u64 *)(r6 +16)",
        "own    r1 = *(u8 *)(r7 +0)",
        "own    *(u64 *)(r10 -8) = r1",
        "shared r2 = *(u64 *)(r9 +0)",
        "shared *(u64 *)(r9 +0) = 1",
        "own    r4 = *(u8 *)(r3 +1)",
        "shared r4 = *(u8 *)(r3 +2)",
        "shared r4 = *(u8 *)(r3 +3)",
        "shared lock *(u64 *)(r10 -8) += r2",
        "shared r4 = load_acquire((u64 *)(r10 -8))",
    ];
    assert_eq!(own, expected);
    // Nothing is known about unverified insns.
    let bare = Xlated::bare(&assemble("r0 = *(u8 *)(r10 -1)\nexit", &|_| None).unwrap().insns);
    assert!(!bare.unwrap().facts(0).own_mem);
}

fn lines_and_facts(xlated: &Xlated) -> Vec<(String, bool)> {
    let insns = xlated.insns();
    let firsts = (0..insns.len()).filter(|&at| at == 0 || !insns[at - 1].is_ld_imm64());
    lines(xlated).into_iter().zip(firsts.map(|at| xlated.facts(at).own_mem)).collect()
}
