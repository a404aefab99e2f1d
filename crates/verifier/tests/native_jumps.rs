//! Programs for kernels whose JIT compiler does not always find the lengths of jumps, as 5.13,
//! 5.19 and 6.5 answered: they refuse them with the given fill and no other, for they take what is
//! written next to it for 114 bytes together.

use skep_insn::asm::assemble;
use skep_program::{MapDef, Program};
use skep_uapi::helper::HelperId;
use skep_uapi::{KernelProfile, MapType, ProgType};
use skep_verifier::{Config, Verdict, verify};

/// Instructions of so many bytes.
fn fill(bytes: usize) -> String {
    let halves = [0, 2, 1][bytes % 3];
    "r8 = r6\n".repeat((bytes - 2 * halves) / 3) + &"w0 = w6\n".repeat(halves)
}

/// A jump back to `back` over the fill and `body`, across a forward one that goes as far.
fn across(first: &str, body: &str, bytes: usize, after: &str) -> String {
    format!(
        "r7 = r1
        call bpf_get_prandom_u32
        r6 = r0
        call bpf_get_prandom_u32
        {first}
        if r6 == 5 goto far
        if r0 == 2 goto on
    back:
        r6 += 1
        goto end
    far:
        {body}
        {}
        goto back
    on:
        r6 = 3
        {after}
    end:
        r0 = 0
        exit
        {CALLEE}",
        fill(bytes)
    )
}

const CALLEE: &str = "callee:\nr0 = 1\nexit";
const TWO_HALVES: &str = "w2 = w6\nw2 = w6";
const EXIT: &str = "if r0 == 77 goto over\nr0 = 0\nexit\nover:";
const TAIL_CALL: &str = "r1 = r7\nr2 = map[progs]\nr3 = 0\ncall bpf_tail_call";
const TAIL_CALL_BEFORE: &str = "if r0 != 9 goto next\nr1 = r7\nr2 = map[progs]\nr3 = 0\n\
    call bpf_tail_call\ncall bpf_get_prandom_u32\nnext:";

#[derive(Debug, PartialEq)]
enum Said {
    Accepted,
    Rejected,
    Unsupported,
}

fn said(text: &str) -> Said {
    let helper = |name: &str| HelperId::from_name(name).map(|id| id as u32);
    let called = text.contains("call callee");
    let text = if called { text } else { text.strip_suffix(CALLEE).expect("it ends with it") };
    let progs = MapDef {
        name: "progs".to_owned(),
        map_type: MapType::ProgArray,
        key_size: 4,
        value_size: 4,
        max_entries: 4,
        ..MapDef::default()
    };
    let program = Program {
        name: "main".to_owned(),
        prog_type: ProgType::SocketFilter,
        license: "GPL".to_owned(),
        insns: assemble(text, &helper).expect(text).insns,
        maps: vec![progs].into(),
        ..Program::default()
    };
    let mut profile = KernelProfile::v6_18();
    profile.behaviours.jumps_always_compiled = false;
    match verify(&program, &Config::privileged(profile)).verdict {
        Verdict::Accepted(_) => Said::Accepted,
        Verdict::Rejected(why) => {
            assert_eq!(why.kind.code(), "jumps-not-compiled", "{text}");
            Said::Rejected
        }
        Verdict::Unsupported(_) => Said::Unsupported,
        other => panic!("{other:?}: {text}"),
    }
}

#[test]
fn jumps_over_known_lengths_are_refused_at_one_distance() {
    for (body, refused) in [("", 114), ("call bpf_get_prandom_u32", 109), ("call callee", 109)] {
        for bytes in refused - 8..=refused + 8 {
            let expected = if bytes == refused { Said::Rejected } else { Said::Accepted };
            let found = said(&across("", body, bytes, TWO_HALVES));
            assert_eq!(found, expected, "{body} {bytes}");
        }
    }
}

/// Where a length depends on the kernel and on the processor, there is no verdict.
#[test]
fn jumps_over_other_lengths_have_no_verdict_where_some_kernel_refuses_them() {
    // As 6.5 answered, and what 5.13 refuses instead.
    let cases = [
        ("", TAIL_CALL, TWO_HALVES, [63, 63]),
        ("r9 = 1", TAIL_CALL, TWO_HALVES, [61, 61]),
        ("*(u64 *)(r10 - 256) = r6", TAIL_CALL, TWO_HALVES, [56, 56]),
        (TAIL_CALL_BEFORE, "call callee", TWO_HALVES, [102, 102]),
        (TAIL_CALL_BEFORE, "call bpf_get_prandom_u32", TWO_HALVES, [102, 102]),
        ("", EXIT, "", [101, 102]),
        ("r9 = 1", EXIT, "", [99, 100]),
        (TAIL_CALL_BEFORE, EXIT, "", [101, 102]),
    ];
    for (first, body, after, refused) in cases {
        for bytes in refused {
            let found = said(&across(first, body, bytes, after));
            assert_eq!(found, Said::Unsupported, "{first} {body} {bytes}");
        }
    }
}

/// What no jump goes over may have any length.
#[test]
fn lengths_beside_all_jumps_do_not_matter() {
    let text = across(&format!("{TAIL_CALL}\nr0 = r6"), "", 114, TWO_HALVES);
    assert_eq!(said(&text), Said::Rejected);
}
