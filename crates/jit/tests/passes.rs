//! What each pass makes of an example, as an independent disassembler reads it, and what stands
//! there without the pass. `BLESS=1` prints both.

#![allow(clippy::print_stdout, reason = "what is to be expected is printed on request")]

#[path = "passes/examples.rs"]
mod examples;
#[path = "passes/loops.rs"]
mod loops;

use examples::{EXAMPLES, Example};
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter, Mnemonic, Register};
use skep_jit::{CpuFeatures, Linkage, MapLink, Passes, Tuning, compile};
use skep_object::{Object, OpenOptions};
use skep_verifier::{Config, Verdict, Xlated};

fn examples() -> impl Iterator<Item = &'static Example> {
    EXAMPLES.iter().chain(loops::LOOPS)
}

/// The code of a program, one insn a line; jump targets are offsets.
fn listing(text: &str, passes: Passes) -> String {
    let assembly = skep_insn::asm::assemble(text, &|_| None).expect(text);
    let xlated = Xlated::bare(&assembly.insns).expect(text).on_own_memory();
    let cpu = CpuFeatures { bmi2: true, movbe: true };
    let tuning = Tuning { cpu, passes, checked: true, ..Tuning::default() };
    // An address for examples that have one.
    let maps = vec![MapLink { values: 0x12_3456_7890, ..MapLink::default() }];
    let linkage = Linkage { maps, ..Linkage::default() };
    disassembly(&compile(&xlated, &linkage, &tuning, 0..0).expect(text).code)
}

fn disassembly(bytes: &[u8]) -> String {
    let mut formatter = IntelFormatter::new();
    let mut lines = String::new();
    for insn in Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE) {
        let mut line = String::new();
        formatter.format(&insn, &mut line);
        lines += &line;
        lines += "\n";
    }
    lines
}

/// Programs on memory that others see. The first of each pair is the whole program; the second what
/// it does to that memory, in order: bytes of an access and where it is.
const SHARED: [(&str, &[(usize, u64)]); 12] = [
    // A check is on the value that was loaded: nothing is loaded again after it.
    (
        "r0 = 0\n\
         r2 = *(u64 *)(r1 +8)\n\
         if r2 > 7 goto out\n\
         r2 >>= 32\n\
         r0 = r2\n\
         out:\n\
         exit",
        &[(8, 8)],
    ),
    // Bytes are not put together, halves not taken from memory.
    (
        "r0 = *(u8 *)(r1 +0)\n\
         r2 = *(u8 *)(r1 +1)\n\
         r2 <<= 8\n\
         r0 |= r2\n\
         exit",
        &[(1, 0), (1, 1)],
    ),
    ("r0 = *(u64 *)(r1 +0)\n w0 = w0\n exit", &[(8, 0)]),
    // Loads stay in order.
    (
        "r2 = *(u64 *)(r1 +0)\n\
         r0 = *(u64 *)(r1 +128)\n\
         r0 -= r2\n\
         exit",
        &[(8, 0), (8, 128)],
    ),
    (
        "r2 = load_acquire((u64 *)(r1 +0))\n\
         r0 = *(u64 *)(r1 +128)\n\
         r0 -= r2\n\
         exit",
        &[(8, 0), (8, 128)],
    ),
    // So do a load in front of what only waits for it, and what does not.
    (
        "r2 = *(u64 *)(r1 +0)\n\
         r3 = *(u32 *)(r1 +8)\n\
         r4 = *(u32 *)(r1 +16)\n\
         r0 = r3\n\
         if r0 != r2 goto out\n\
         r0 = r4\n\
         out:\n\
         exit",
        &[(8, 0), (4, 8), (4, 16)],
    ),
    // Which of two loads is an operand does not matter to a sum: they stay in order.
    (
        "r2 = *(u64 *)(r1 +128)\n\
         r0 = *(u64 *)(r1 +0)\n\
         r0 += r2\n\
         exit",
        &[(8, 128), (8, 0)],
    ),
    // A load is one, whether its value is read or not.
    ("r2 = *(u32 *)(r1 +4)\n r2 = 1\n r0 = r2\n exit", &[(4, 4)]),
    // Stores of one value, or of bytes of one, are as many as there are.
    (
        "*(u8 *)(r1 +0) = 1\n\
         *(u8 *)(r1 +1) = 1\n\
         *(u8 *)(r1 +0) = 1\n\
         r0 = 0\n\
         exit",
        &[(1, 0), (1, 1), (1, 0)],
    ),
    // Nothing is known of where zeros are stored; where it is, a block is not an aligned one, or
    // not stored in a row.
    (
        "*(u64 *)(r1 +0) = 0\n\
         *(u64 *)(r1 +8) = 0\n\
         r0 = 0\n\
         exit",
        &[(8, 0), (8, 8)],
    ),
    (
        "r1 = 4096 ll\n\
         *(u64 *)(r1 +8) = 0\n\
         *(u64 *)(r1 +16) = 0\n\
         *(u64 *)(r1 +32) = 0\n\
         *(u32 *)(r1 +64) = 0\n\
         *(u64 *)(r1 +40) = 0\n\
         *(u64 *)(r1 +80) = 0\n\
         r0 = *(u64 *)(r1 +80)\n\
         *(u64 *)(r1 +88) = 0\n\
         exit",
        &[(8, 8), (8, 16), (8, 32), (4, 64), (8, 40), (8, 80), (8, 80), (8, 88)],
    ),
    // The swap of a value's bytes is part of its load or store.
    (
        "r2 = *(u32 *)(r1 +0)\n\
         r2 = be32 r2\n\
         r3 = *(u32 *)(r1 +8)\n\
         r3 = be32 r3\n\
         *(u32 *)(r1 +16) = r3\n\
         r0 = r2\n\
         exit",
        &[(4, 0), (4, 8), (4, 16)],
    ),
];

/// What machine code accesses, but for its stack.
fn accesses(bytes: &[u8]) -> Vec<(usize, u64)> {
    let insns = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).into_iter();
    let accesses = insns.filter(|insn| {
        let memory = insn.memory_base() != Register::None && insn.memory_base() != Register::RSP;
        memory && !matches!(insn.mnemonic(), Mnemonic::Lea | Mnemonic::Nop)
    });
    accesses.map(|insn| (insn.memory_size().size(), insn.memory_displacement64())).collect()
}

/// All passes, none, each alone and all but each.
fn pass_sets() -> Vec<(String, Passes)> {
    let mut sets = vec![("all".to_owned(), Passes::ALL), ("none".to_owned(), Passes::NONE)];
    for name in Passes::NAMES {
        let (mut with, mut without) = (Passes::NONE, Passes::ALL);
        *with.by_name(name).expect(name) = true;
        *without.by_name(name).expect(name) = false;
        sets.extend([(format!("only {name}"), with), (format!("all but {name}"), without)]);
    }
    sets
}

/// The order of two loads costs a sum no insn.
#[test]
fn the_second_of_two_loads_is_an_operand() {
    let listed = |text: &str| {
        let assembly = skep_insn::asm::assemble(text, &|_| None).expect(text);
        let xlated = Xlated::bare(&assembly.insns).expect(text);
        let tuning = Tuning { sites: false, checked: true, ..Tuning::default() };
        disassembly(&compile(&xlated, &Linkage::default(), &tuning, 0..0).expect(text).code)
    };
    let loads = |last: &str| format!("r2 = *(u64 *)(r1 +8)\n r0 = *(u64 *)(r1 +0)\n {last}\n exit");
    assert_eq!(listed(&loads("r0 ^= r2")), "mov rax,[rdi+8]\nxor rax,[rdi]\nret\n");
    let three = "mov rsi,[rdi+8]\nmov rax,[rdi]\n";
    assert_eq!(listed(&loads("r0 -= r2")), format!("{three}sub rax,rsi\nret\n"));
    // What is read once more, or has to be there for the second load, stays where it is.
    let twice = loads("r0 += r2\n r0 *= r2");
    assert_eq!(listed(&twice), format!("{three}add rax,rsi\nimul rax,rsi\nret\n"));
    let chain = "r2 = *(u64 *)(r1 +8)\n r0 = *(u64 *)(r2 +0)\n r0 += r2\n exit";
    assert_eq!(listed(chain), "mov rsi,[rdi+8]\nmov rax,[rsi]\nadd rax,rsi\nret\n");
}

#[test]
fn what_others_see_is_what_the_program_says() {
    for (text, expected) in SHARED {
        let assembly = skep_insn::asm::assemble(text, &|_| None).expect(text);
        let xlated = Xlated::bare(&assembly.insns).expect(text);
        for (set, passes) in pass_sets() {
            let tuning = Tuning { passes, sites: false, checked: true, ..Tuning::default() };
            let code = compile(&xlated, &Linkage::default(), &tuning, 0..0).expect(text);
            assert_eq!(accesses(&code.code), expected, "{set}:\n{text}");
        }
    }
}

/// Zeros in an aligned word of memory that others see are stored at once, in any order and size.
#[test]
fn an_aligned_word_of_zeros_is_stored_at_once() {
    let text = "r1 = 4096 ll\n\
         *(u32 *)(r1 +12) = 0\n\
         *(u16 *)(r1 +8) = 0\n\
         *(u16 *)(r1 +10) = 0\n\
         *(u64 *)(r1 +16) = 0\n\
         r2 = 1\n\
         *(u32 *)(r1 +4) = 0\n\
         *(u32 *)(r1 +8) = 0\n\
         *(u32 *)(r1 +32) = 0\n\
         *(u32 *)(r1 +36) = r2\n\
         r0 = 0\n\
         exit";
    let looped = "r6 = 4096 ll\n\
         r0 = 3\n\
         again:\n\
         *(u32 *)(r6 +4) = 0\n\
         *(u32 *)(r6 +0) = 0\n\
         r0 -= 1\n\
         if r0 != 0 goto again\n\
         exit";
    let two = looped.replace("r0 -= 1", "r0 -= 1\n r6 += 4");
    for (text, seen) in [
        (text, vec![(8, 8), (8, 16), (4, 4), (4, 8), (4, 32), (4, 36)]),
        (looped, vec![(8, 0)]),
        // In the next round it is elsewhere.
        (&two, vec![(4, 4), (4, 0)]),
    ] {
        let assembly = skep_insn::asm::assemble(text, &|_| None).expect(text);
        let xlated = Xlated::bare(&assembly.insns).expect(text);
        let passes = Passes { counters: false, unroll: false, ..Passes::ALL };
        let tuning = Tuning { passes, sites: false, checked: true, ..Tuning::default() };
        let code = compile(&xlated, &Linkage::default(), &tuning, 0..0).expect(text);
        assert_eq!(accesses(&code.code), seen, "{text}");
    }
}

/// Only this pass, what removes the remains, and the unrolling of loops for those that improve it.
fn only(name: &str) -> Passes {
    let unroll = ["trips", "counters", "sums"].contains(&name);
    let mut passes = Passes { dead: true, unroll, ..Passes::NONE };
    *passes.by_name(name).expect(name) = true;
    passes
}

#[test]
fn passes_make_what_they_say() {
    let bless = std::env::var_os("BLESS").is_some();
    for example in examples() {
        let mut without = only(example.pass);
        *without.by_name(example.pass).expect("it was there") = false;
        let with = listing(example.program, only(example.pass));
        let without = listing(example.program, without);
        if bless {
            println!("== {}\n-- with\n{with}-- without\n{without}", example.pass);
            continue;
        }
        assert_eq!(with, example.with, "with {}", example.pass);
        assert_eq!(without, example.without, "without {}", example.pass);
    }
}

#[test]
fn every_pass_that_rewrites_has_an_example() {
    for name in Passes::NAMES {
        // What becomes of calls depends on facts of a verified program.
        let calls = ["lookup", "direct"].contains(name);
        let known = calls || examples().any(|example| example.pass == *name);
        assert!(known, "no example of {name}");
    }
}

/// A program of `tests/programs/bench/maps.bpf.o` with made-up addresses.
fn maps_program(name: &str, passes: Passes) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/bench/maps.bpf.o");
    let object = Object::open(&std::fs::read(path).unwrap(), &OpenOptions::default()).unwrap();
    let entry = object.programs.iter().find(|entry| entry.name == name).expect(name);
    let program = entry.program.as_ref().unwrap();
    let config = Config::privileged(skep_uapi::KernelProfile::v6_18());
    let Verdict::Accepted(verified) = skep_verifier::verify(program, &config).verdict else {
        panic!("{name}: not accepted");
    };
    let xlated = verified.xlated().unwrap();
    let linkage = Linkage::placeholder(xlated, &program.maps);
    let tuning = Tuning { passes, sites: false, checked: true, ..Tuning::default() };
    disassembly(&compile(xlated, &linkage, &tuning, 0..0).unwrap().code)
}

/// Of the insns that a listing has one after the other, those from the first that starts like this.
fn from<'a>(listing: &'a str, start: &str, count: usize) -> Vec<&'a str> {
    let lines = listing.lines().skip_while(|line| !line.starts_with(start));
    let found: Vec<&str> = lines.take(count).collect();
    assert_eq!(found.len(), count, "no {start} in\n{listing}");
    found
}

#[test]
fn lookups_in_arrays_call_nothing() {
    let without = Passes { lookup: false, ..Passes::ALL };
    let calls = |listing: &str| listing.lines().filter(|line| line.starts_with("call")).count();
    assert_eq!(calls(&maps_program("array_lookup", without)), 1);
    let array = maps_program("array_lookup", Passes::ALL);
    assert_eq!(calls(&array), 0);
    // The key, compared with how many there are, times the distance of two values.
    let found = from(&array, "cmp r11d,", 5);
    assert_eq!(found[0], "cmp r11d,100h");
    assert!(found[1].starts_with("jae "));
    assert_eq!(&found[2..], ["shl r11,3", "mov rax,30000000000h", "add rax,r11"]);
    assert_eq!(calls(&maps_program("percpu_lookup", without)), 1);
    let percpu = maps_program("percpu_lookup", Passes::ALL);
    assert_eq!(calls(&percpu), 0);
    // The thread's number, compared with how many there are, times the distance of their values.
    let found = from(&percpu, "add r10,fs:[", 5);
    assert_eq!(found[1], "cmp r10d,2");
    assert!(found[2].starts_with("jae "));
    assert_eq!(&found[3..], ["imul r10,1000h", "add r11,r10"]);
}

/// The addresses are those of `Linkage::placeholder`: of the helper, 10000000000h and 16 times its
/// number; of what replaces it for hash maps, 40000000000h and 16 more.
#[test]
fn operations_on_hash_maps_are_called_directly() {
    let without = Passes { direct: false, ..Passes::ALL };
    let call = |name, passes| from(&maps_program(name, passes), "mov rax,", 2).join("; ");
    assert_eq!(call("hash_lookup", Passes::ALL), "mov rax,40000000000h; call rax");
    assert_eq!(call("hash_lookup", without), "mov rax,10000000010h; call rax");
    assert_eq!(call("hash_update", Passes::ALL), "mov rax,40000000010h; call rax");
    assert_eq!(call("hash_update", without), "mov rax,10000000020h; call rax");
}
