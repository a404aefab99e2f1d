//! The notation of test suites: what each form means, and the errors for invalid text.

use skep_insn::asm::{Assembly, SymbolRef, assemble};
use skep_insn::{Insn, InsnIdx};

fn helper_id(name: &str) -> Option<u32> {
    match name {
        "bpf_map_lookup_elem" => Some(1),
        "bpf_get_prandom_u32" => Some(7),
        _ => None,
    }
}

fn read(text: &str) -> Assembly {
    assemble(text, &helper_id).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// `code dst src off imm`
fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { code, dst, src, off, imm }
}

fn symbol(insn: u32, name: &str) -> SymbolRef {
    SymbolRef { insn: InsnIdx(insn), name: name.to_owned() }
}

#[test]
fn a_case_of_a_suite_reads() {
    let read = read(
        "
    call bpf_get_prandom_u32
    r1 = r0
    r1 = 200                    ; r1=200
    if r0 > 7 goto out
    r2 = r10
    r2 += r1                    ; r2=fp200
    r0 = *(u8 *)(r2 - 8)        //~ reject: invalid read from stack R2 off=192 size=1
out:
    r0 = 0
    exit
",
    );
    let want = [
        insn(0x85, 0, 0, 0, 7),
        insn(0xbf, 1, 0, 0, 0),
        insn(0xb7, 1, 0, 0, 200),
        insn(0x25, 0, 0, 3, 7),
        insn(0xbf, 2, 10, 0, 0),
        insn(0x0f, 2, 1, 0, 0),
        insn(0x71, 0, 2, -8, 0),
        insn(0xb7, 0, 0, 0, 0),
        insn(0x95, 0, 0, 0, 0),
    ];
    assert_eq!(read.insns, want);
    assert_eq!(read.lines, [2, 3, 4, 5, 6, 7, 8, 10, 11]);
    assert_eq!(read.labels, [symbol(7, "out")]);
    assert_eq!(read.label("out"), Some(InsnIdx(7)));
}

#[test]
fn other_spellings_read_as_the_same_insn() {
    for (text, want) in [
        ("if w1 s< -3 goto +2", insn(0xc6, 1, 0, 2, -3)),
        ("if w1 s< 0xfffffffd goto pc+2", insn(0xc6, 1, 0, 2, -3)),
        ("if r1 == 0xfffffffe goto -1", insn(0x15, 1, 0, -1, -2)),
        ("if r1 & r2 goto pc-2", insn(0x4d, 1, 2, -2, 0)),
        ("goto pc+3", insn(0x05, 0, 0, 3, 0)),
        ("gotol -70000", insn(0x06, 0, 0, 0, -70000)),
        ("may_goto +1", insn(0xe5, 0, 0, 1, 0)),
        ("*(u32 *)(r10 - 4) = 7", insn(0x62, 10, 0, -4, 7)),
        ("*(u32*)(r10-4)=w7", insn(0x63, 10, 7, -4, 0)),
        ("*(u32 *)(r10 + -4) = 0xffffffff", insn(0x62, 10, 0, -4, -1)),
        ("*(u64 *)(r1) = r2", insn(0x7b, 1, 2, 0, 0)),
        ("w1 = *(u32 *)(r2 + 0x10)", insn(0x61, 1, 2, 16, 0)),
        ("r1 = *(s16 *)(r2 +0)", insn(0x89, 1, 2, 0, 0)),
        ("r0 = *(u8 *)skb[r7]", insn(0x50, 0, 7, 0, 0)),
        ("r0 = *(u16 *)skb[r7 - 2]", insn(0x48, 0, 7, 0, -2)),
        ("r0 = *(u32 *)skb[-4096]", insn(0x20, 0, 0, 0, -4096)),
        ("w1 = 0xffffffff", insn(0xb4, 1, 0, 0, -1)),
        ("w1 s/= w2", insn(0x3c, 1, 2, 1, 0)),
        ("r1 s%= -5", insn(0x97, 1, 0, 1, -5)),
        ("r1 s>>= 4", insn(0xc7, 1, 0, 0, 4)),
        ("r1 = -r1", insn(0x87, 1, 0, 0, 0)),
        ("r1 = (s32)r2", insn(0xbf, 1, 2, 32, 0)),
        ("r1 = bswap64 r1", insn(0xd7, 1, 0, 0, 64)),
        ("r1 = addr_space_cast(r2, 1, 0)", insn(0xbf, 1, 2, 1, 0x10000)),
        ("lock *(u64 *)(r10 - 8) += r1", insn(0xdb, 10, 1, -8, 0)),
        ("r0 = atomic_cmpxchg((u32 *)(r10 -8), r0, r1)", insn(0xc3, 10, 1, -8, 0xf1)),
        ("r1 = load_acquire((u8 *)(r2 +0))", insn(0xd3, 1, 2, 0, 0x100)),
        ("call bpf_map_lookup_elem#1", insn(0x85, 0, 0, 0, 1)),
        ("call 181", insn(0x85, 0, 0, 0, 181)),
        ("call unknown#-1", insn(0x85, 0, 0, 0, -1)),
        ("call bpf_cpumask_create#63679", insn(0x85, 0, 2, 0, 63679)),
        ("call pc+5", insn(0x85, 0, 1, 0, 5)),
        ("0: (95) exit ; R0=0", insn(0x95, 0, 0, 0, 0)),
        (".insn 0x8d, 1, 0, 0, 0xffffffff", insn(0x8d, 1, 0, 0, -1)),
        (".insn 141 15 15 -32768 -2147483648", insn(0x8d, 15, 15, -32768, i32::MIN)),
    ] {
        assert_eq!(read(text).insns, [want], "{text}");
    }
}

#[test]
fn ld_imm64_takes_two_slots_of_one_line() {
    for (text, src, value) in [
        ("r1 = 5 ll", 0, 5),
        ("r1 = -1 ll", 0, u64::MAX),
        ("r1 = 0xffffffffffffffff ll", 0, u64::MAX),
        ("(18) r1 = 0x1122334455667788", 0, 0x1122_3344_5566_7788),
        ("r1 = map[.data.a]", 1, 0),
        ("r1 = map_value[m]+8 ll", 2, 8 << 32),
        ("r1 = ksym[jiffies] ll", 3, 0),
    ] {
        let read = read(text);
        assert_eq!(read.insns, Insn::ld_imm64(1, src, value), "{text}");
        assert_eq!(read.lines, [1, 1]);
    }
}

#[test]
fn names_are_listed_for_the_caller_and_labels_resolved() {
    let read = read(
        "
        r2 = map[hash]
        r3 = map_value[.bss]+4
        call kfunc[bpf_rdonly_cast]
        r2 = func[cb]
        call sub
        goto end
sub: cb: exit
        r1 = ksym[bpf_prog_active]
        gotol sub
end:
",
    );
    assert_eq!(read.map_refs, [symbol(0, "hash"), symbol(2, ".bss")]);
    assert_eq!(read.kfunc_refs, [symbol(4, "bpf_rdonly_cast")]);
    assert_eq!(read.ksym_refs, [symbol(10, "bpf_prog_active")]);
    assert_eq!(read.labels, [symbol(9, "sub"), symbol(9, "cb"), symbol(13, "end")]);
    assert_eq!(read.insns[5], insn(0x18, 2, 4, 0, 3));
    assert_eq!(read.insns[7], insn(0x85, 0, 1, 0, 1));
    assert_eq!(read.insns[8], insn(0x05, 0, 0, 4, 0));
    assert_eq!(read.insns[12], insn(0x06, 0, 0, 0, -4));
}

#[test]
fn what_cannot_be_read_is_named_with_its_place() {
    for (text, want) in [
        ("exit\n  frob r1", "line 2:3: expected an insn, found `frob`"),
        ("r1 = 5 6", "line 1:8: expected the end of the insn, found `6`"),
        ("r1 = w2", "line 1:6: expected a 64-bit register (`r0`), found `w2`"),
        ("r16 = 1", "line 1:1: expected an insn, found `r16`"),
        ("r1 = 0x80000000", "line 1:6: does not fit 32 bits with sign; `rN = VALUE ll` has 64"),
        ("w1 += 0x100000000", "line 1:7: does not fit 32 bits"),
        ("r1 = -r2", "line 1:7: expected `r1` again, found `r2`"),
        ("r1 ==", "line 1:4: expected `=` or an operator such as `+=`, found `==`"),
        ("r1 = *(u8 *)(r2 + 40000)", "line 1:19: 40000 is not in -32768..=32767"),
        ("r1 = *(u64 *)skb[0]", "line 1:18: loads from the packet are of u8, u16 or u32"),
        ("r1 = *(u8 *)skb[0]", "line 1:17: loads from the packet are to r0"),
        ("r1 = *(s64 *)(r2 +0)", "line 1:8: expected `u8` to `u64` or `s8` to `s32`, found `s64`"),
        (
            "w1 = *(u64 *)(r2 +0)",
            "line 1:8: expected `u8` to `u32` for a 32-bit register, found `u64`",
        ),
        ("lock *(u8 *)(r2 +0) += r1", "line 1:7: there is no such atomic of this width"),
        (
            "r1 = atomic_xchg((u64 *)(r2 +0), r1)",
            "line 1:18: there is no such atomic of this width",
        ),
        ("r1 = atomic_cmpxchg((u32 *)(r2 +0), r0, r1)", "line 1:6: cmpxchg returns in r0"),
        ("goto out", "line 1:1: no label `out`"),
        ("call bpf_frob", "line 1:1: no label or helper `bpf_frob`"),
        ("call bpf_map_lookup_elem#2", "line 1:6: helper bpf_map_lookup_elem has number 1, not 2"),
        ("out:\nout: exit", "line 2:1: label `out` is defined twice"),
        ("r1: exit", "line 1:1: `r1` is a register and cannot be a label"),
        ("(b7) w0 = 1", "line 1:6: this insn is (b4), not (b7)"),
        ("(x) exit", "line 1:1: expected an opcode of two hexadecimal digits, as in `(b7)`"),
        ("3: exit", "line 1:1: this is insn 0"),
        ("if r1 > 2", "line 1:10: expected `goto` before the end of the line"),
        ("w1 = 5 ll", "line 1:10: a value of 64 bits needs a 64-bit register"),
        (".insn 256 0 0 0 0", "line 1:7: 256 is not in 0..=255"),
        ("r1 @ r2", "line 1:4: stray character '@'"),
    ] {
        assert_eq!(assemble(text, &helper_id).unwrap_err().to_string(), want, "{text}");
    }
    let far = format!("goto out\n{}out: exit", "r0 = 0\n".repeat(32768));
    let want = "line 1:1: label `out` is too far for 16 bits; `gotol` has 32";
    assert_eq!(assemble(&far, &helper_id).unwrap_err().to_string(), want);
}
