//! Broken files: an error or less of an object, never a panic, never long.

use proptest::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use skep_object::{LoadClass, Loader, Object, ObjectProgram, OpenOptions, scan};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const FILES: [&str; 6] = [
    "object/externs.bpf.o",
    "object/kinds_of_map.bpf.be.o",
    "object/linking.bpf.o",
    "object/other_loaders.bpf.o",
    "programs/stress_map_in_map.bpf.o",
    "programs/xdp_parse.bpf.o",
];

fn read(file: &str) -> Vec<u8> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    std::fs::read(tests.join(file)).unwrap()
}

fn error_of(bytes: &[u8]) -> String {
    match Object::open(bytes, &OpenOptions::default()) {
        Err(error) => error.to_string(),
        Ok(object) => panic!("{} programs", object.programs.len()),
    }
}

#[test]
fn what_is_no_object_is_told_in_one_line() {
    assert_eq!(error_of(b""), "the file is empty");
    assert_eq!(error_of(b"#!/bin/sh\n"), "not an ELF file");
    let good = read(FILES[0]);
    let mut x86 = good.clone();
    x86[18] = 62;
    assert_eq!(error_of(&x86), "not a BPF object: ELF machine 62, expected 247");
    let mut executable = good.clone();
    executable[16] = 2;
    assert_eq!(error_of(&executable), "not a relocatable object: ELF type 2, expected 1");
    for len in [5, 63, 64, 200, good.len() - 1] {
        let error = error_of(&good[..len]);
        assert!(!error.contains('\n') && error.starts_with("read "), "{len}: {error}");
    }
}

#[test]
fn the_error_of_a_parser_is_the_source() {
    let good = read("programs/map_kinds.bpf.o");
    let opened = |bytes: &[u8]| {
        Object::open(bytes, &OpenOptions { loader: Loader::Any, ..OpenOptions::default() })
    };
    let shortened = |name: &str, bytes: u64| {
        let mut copy = good.clone();
        let size_at = section_header(&good, name) + 32;
        copy[size_at..size_at + 8].copy_from_slice(&bytes.to_le_bytes());
        opened(&copy).unwrap_err()
    };
    let cut = opened(&good[..200]).unwrap_err();
    let elf = cut.source().and_then(|it| it.downcast_ref::<object::read::Error>()).unwrap();
    assert!(cut.to_string().ends_with(&format!(": {elf}")), "{cut}");
    let error = shortened(".BTF", 12);
    let btf = error.source().and_then(|it| it.downcast_ref::<skep_btf::Error>()).unwrap();
    assert!(error.to_string().ends_with(&format!(": {btf}")), "{error}");
    let error = shortened("tc", 15);
    let insns = error.source().and_then(|it| it.downcast_ref::<skep_insn::Error>()).unwrap();
    assert_eq!(error.to_string(), format!("read programs: section tc: {insns}"));
    assert!(opened(b"").unwrap_err().source().is_none());
}

#[test]
fn errors_name_section_and_offset() {
    let good = read("programs/loops.bpf.o");
    let with = |at: usize, bytes: &[u8]| {
        let mut copy = good.clone();
        copy[at..at + bytes.len()].copy_from_slice(bytes);
        error_of(&copy)
    };
    let header = |name| section_header(&good, name);
    let file = good.len();
    let far = (1u64 << 32).to_le_bytes();
    for (error, begin, end) in [
        (error_of(&good[..63]), "read ELF header: the file ends in the header, ", "after 63 bytes"),
        (with(4, &[1]), "read ELF header: offset 0x4: ", "ELF class 1 is not supported"),
        (with(5, &[3]), "read ELF header: offset 0x5: ", "ELF byte order 3 is not supported"),
        (with(5, &[2]), "read ELF header: offset 0x5: ", "does not match the file"),
        (with(40, &[0xff; 8]), "read sections: section table, offset 0xffffffffffffffff: ", ""),
        (with(60, &[0xff; 2]), "read sections: section table, offset 0x", ""),
        (with(header(".BTF") + 24, &far), "read section .BTF (", "extend past the end of the file"),
        (
            with(header(".symtab") + 32, &far),
            "read section .symtab (",
            "extend past the end of the file",
        ),
        (with(header(".rel.text") + 32, &[1; 1]), "read section .rel.text (3), offset 0x", ""),
    ] {
        let error = error.trim_end_matches(&format!(" ({file:#x} bytes)"));
        assert!(error.starts_with(begin) && error.ends_with(end), "{error}");
    }
}

/// Offset of the header of the section of this name, and the section's index.
fn section_header(bytes: &[u8], name: &str) -> usize {
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let table = u64_at(40);
    let names = u64_at(table + 64 * usize::from(bytes[62]) + 24);
    let named = |at: &usize| bytes[names + u32_at(*at)..].starts_with(name.as_bytes());
    (0..usize::from(bytes[60])).map(|n| table + 64 * n).find(named).unwrap()
}

#[test]
fn what_is_never_read_may_be_broken() {
    let mut bytes = read("programs/loops.bpf.o");
    for name in [".debug_line", ".rel.debug_line", ".rel.BTF"] {
        let size = section_header(&bytes, name) + 32;
        bytes[size..size + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    }
    let object = Object::open(&bytes, &OpenOptions::default()).unwrap();
    assert!(object.refused.is_none() && object.programs.iter().all(|it| it.program.is_ok()));
}

/// libbpf 1.5 and 1.7 open such files: libelf does not look at these fields.
#[test]
fn sizes_of_headers_are_those_of_the_class_whatever_the_file_says() {
    let good = read("programs/loops.bpf.o");
    for (at, what) in [(52, "e_ehsize"), (54, "e_phentsize"), (58, "e_shentsize")] {
        for stated in [0, 1, 63, 65, 128, u16::MAX] {
            let mut bytes = good.clone();
            bytes[at..at + 2].copy_from_slice(&stated.to_le_bytes());
            let object = Object::open(&bytes, &OpenOptions::default())
                .unwrap_or_else(|error| panic!("{what} {stated}: {error}"));
            assert!(
                object.refused.is_none() && object.programs.iter().all(|it| it.program.is_ok())
            );
        }
    }
}

/// Bytes of the symbol of a function or variable of `loops.bpf.o`.
fn symbol_of(bytes: &[u8], section: u16, value: u64) -> usize {
    let header = section_header(bytes, ".symtab");
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (start, size) = (u64_at(header + 24) as usize, u64_at(header + 32) as usize);
    let of = |at: &usize| bytes[at + 6..at + 8] == section.to_le_bytes();
    let typed = |at: &usize| matches!(bytes[at + 4] & 0xf, 1 | 2);
    let mut symbols = (start..start + size).step_by(24).filter(of).filter(typed);
    symbols.find(|at| u64_at(at + 8) == value).unwrap()
}

/// Each was seen to be refused by libbpf 1.5 when it opens the object.
#[test]
fn what_libbpf_does_not_open_has_no_program() {
    let good = read("programs/loops.bpf.o");
    let table = symbol_of(&good, 6, 0);
    let relocations = {
        let header = section_header(&good, ".reltc");
        u64::from_le_bytes(good[header + 24..header + 32].try_into().unwrap()) as usize
    };
    for (at, byte, why) in [
        (table + 4, 0x01, "no global symbol of an object has the name table"),
        (table + 4, 0x14, "no global symbol of an object has the name table"),
        (table + 6, 7, "symbol table is of section license, of no map"),
        (relocations, 0x14, "no insn begins here"),
        (relocations + 4, 0x7f, "no insn begins here"),
        (relocations + 12, 0x7f, "symbol 127 does not exist"),
        (relocations + 12, 0x0e, "symbol loop_constant is of section tc, of no map"),
    ] {
        let mut bytes = good.clone();
        bytes[at] = byte;
        let object = Object::open(&bytes, &OpenOptions::default()).unwrap();
        let refused = object.refused.map_or_else(String::new, |error| error.to_string());
        assert!(refused.contains(why), "{why}: {refused}");
        assert!(object.programs.iter().all(|it| it.program.is_err()));
    }
}

/// What is wrong with the object as a whole.
fn told(bytes: &[u8]) -> String {
    match Object::open(bytes, &OpenOptions::default()) {
        Err(error) => error.to_string(),
        Ok(object) => {
            assert!(object.programs.iter().all(|it| it.program.is_err()));
            object.refused.map_or_else(String::new, |error| error.to_string())
        }
    }
}

/// Offsets in the header of a section.
const TYPE: usize = 4;
const SIZE: usize = 32;
const INFO: usize = 44;
const ENTRY: usize = 56;

/// Each was seen to be refused by libbpf 1.5 when it opens the object.
#[test]
fn a_section_has_the_type_that_its_name_asks_for() {
    let good = read("programs/loops.bpf.o");
    for (section, at, value, why) in [
        (".bss", TYPE, 1, "symbol table is of section .bss, of no map"),
        (".text", TYPE, 7, "symbol  is of section .text, of no map"),
        (".BTF", TYPE, 7, "section .BTF: its type is 7, not PROGBITS"),
        (".BTF.ext", TYPE, 7, "section .BTF.ext: its type is 7, not PROGBITS"),
        (".symtab", ENTRY, 16, "read symbols: an entry has 16 bytes, expected 24"),
        (".reltc", ENTRY, 8, "its entries have 8 bytes, expected 16"),
        (".reltc", SIZE, 24, "its size 0x18 is no multiple of 16"),
        ("license", TYPE, 2, "its size 0x4 is no multiple of 24"),
    ] {
        let mut bytes = good.clone();
        let header = section_header(&good, section);
        bytes[header + at] = value;
        assert!(told(&bytes).contains(why), "{section}: {}", told(&bytes));
    }
    // A second table of symbols.
    let mut bytes = good.clone();
    let (copied, table) =
        (section_header(&good, ".symtab"), section_header(&good, ".llvm_addrsig"));
    bytes.copy_within(copied + TYPE..copied + 64, table + TYPE);
    assert!(told(&bytes).ends_with("the file has several symbol tables"), "{}", told(&bytes));
}

/// libbpf 1.5 finds no program in them, and nothing to refuse.
#[test]
fn only_contents_of_the_file_are_programs() {
    let good = read("programs/loops.bpf.o");
    for number in [0, 3, 5, 7, 8] {
        let mut bytes = good.clone();
        bytes[section_header(&good, "tc") + TYPE] = number;
        let object = Object::open(&bytes, &OpenOptions::default()).unwrap();
        let loaded = object.programs.iter().any(|it| it.program.is_ok());
        assert!(object.refused.is_none() && !loaded, "type {number}");
    }
}

/// Each was seen to be refused by libbpf 1.5 when it opens the object.
#[test]
fn functions_have_names_and_their_addresses_are_relative_to_sections() {
    let good = read("programs/loops.bpf.o");
    let (mix, range) = (symbol_of(&good, 2, 0), symbol_of(&good, 4, 120));
    let relocations = {
        let header = section_header(&good, ".reltc");
        u64::from_le_bytes(good[header + 24..header + 32].try_into().unwrap()) as usize
    };
    for (at, byte, why) in [
        (mix + 3, 1, "section .text: the function at offset 0x0 has no valid name"),
        (range + 3, 1, "section tc: the function at offset 0x78 has no valid name"),
        (relocations + 16 + 12, 4, "the address of mix, which is local"),
        // No program is left, although the relocation is of one only.
        (relocations, 8, "table: an insn with opcode 0x61 is not relocated"),
    ] {
        let mut bytes = good.clone();
        bytes[at] = byte;
        assert!(told(&bytes).contains(why), "{why}: {}", told(&bytes));
    }
}

/// Each was seen to be refused by libbpf 1.5 when it opens the object: string tables of another
/// type or compressed, relocations of a section without insns, what is called an extern but is not
/// a global or weak symbol, an extern that BTF declares under another name.
#[test]
fn names_and_externs_are_in_the_tables_that_are_for_them() {
    const FLAGS: usize = 8;
    const RELOCATED: usize = 44;
    // Where the file says which section has their names; here, .BTF.
    const NAMES: usize = 62;
    let loops = read("programs/loops.bpf.o");
    let externs = read("object/externs.bpf.o");
    let declared = undefined_symbol(&externs);
    for (good, at, byte, why) in [
        (&loops, section_header(&loops, ".strtab") + TYPE, 1, "Invalid ELF string section type"),
        (&loops, section_header(&loops, ".strtab") + FLAGS + 1, 8, "it has no valid name"),
        (&loops, NAMES, 18, "section 1: it has no valid name"),
        (&externs, section_header(&externs, ".reltc") + RELOCATED, 2, "no insn begins here"),
        (&externs, declared + 4, 0xa0, "no undefined symbol is called CONFIG_BPF_SYSCALL"),
        (&externs, declared, 1, "no undefined symbol is called CONFIG_BPF_SYSCALL"),
    ] {
        let mut bytes = good.clone();
        bytes[at] = byte;
        assert!(told(&bytes).contains(why), "{why}: {}", told(&bytes));
    }
}

/// Which of the two it is, the symbol's binding says. libbpf 1.5: "extern 'CONFIG_SKEP_NUMBER'
/// (strong): not resolved".
#[test]
fn an_option_that_is_not_configured_may_be_missed_by_weak_externs_only() {
    let mut bytes = read("object/externs.bpf.o");
    let options = OpenOptions {
        kconfig: Some("CONFIG_BPF_SYSCALL=y\n".into()),
        is_partial: true,
        ..OpenOptions::default()
    };
    let refused = |bytes: &[u8]| {
        let refused = Object::open(bytes, &options).unwrap().refused;
        refused.map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(!refused(&bytes).contains("CONFIG"), "{}", refused(&bytes));
    // Weak, of no type; two symbols after the first.
    let binding = undefined_symbol(&bytes) + 2 * 24 + 4;
    assert_eq!(bytes[binding], 0x20);
    bytes[binding] = 0x10;
    let error = refused(&bytes);
    assert!(error.contains("CONFIG_SKEP_NUMBER (strong): not resolved"), "{error}");
}

/// Offset of the first undefined global symbol.
fn undefined_symbol(bytes: &[u8]) -> usize {
    let header = section_header(bytes, ".symtab");
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let start = u64_at(header + 24);
    let mut symbols = (start..start + u64_at(header + SIZE)).step_by(24);
    symbols.find(|at| bytes[at + 4] == 0x10 && bytes[at + 6..at + 8] == [0, 0]).unwrap()
}

/// Each was seen with libbpf 1.5 and 1.7, in both orders.
#[test]
fn of_several_relocations_of_an_insn_the_last_counts() {
    let good = read("object/relocated_again.bpf.o");
    let header = section_header(&good, ".reltc");
    let u64_at = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap());
    let table = u64_at(header + 24) as usize;
    let place = |row: usize| u64_at(table + 16 * row);
    // The relocation of `row` applies to the insn of `to`, and is listed first if `swapped`.
    let moved = |row: usize, to: usize, swapped: bool| {
        let mut bytes = good.clone();
        bytes[table + 16 * row..][..8].copy_from_slice(&place(to).to_le_bytes());
        if swapped {
            let rows = [row, to].map(|row| good[table + 16 * row + 8..][..8].to_vec());
            bytes[table + 16 * row + 8..][..8].copy_from_slice(&rows[1]);
            bytes[table + 16 * to + 8..][..8].copy_from_slice(&rows[0]);
        }
        let options =
            OpenOptions { kconfig: Some("CONFIG_HZ=250\n".into()), ..OpenOptions::default() };
        let object = Object::open(&bytes, &options).unwrap();
        let slot = place(to) as usize / 8;
        let found = object.program("prog").map(|it| (it.insns[slot].src, it.insns[slot].imm));
        found.map_err(|error| error.to_string())
    };
    let [first, second, data, option] = [0, 1, 2, 3];
    let alone = |row: usize| moved(row, row, false).unwrap();
    let kconfig = alone(option);
    assert_eq!(moved(second, first, false).unwrap(), alone(second));
    assert_eq!(moved(second, first, true).unwrap(), alone(first));
    for swapped in [false, true] {
        assert_eq!(moved(option, first, swapped).unwrap(), kconfig);
        assert_eq!(moved(option, data, swapped).unwrap(), kconfig);
        let error = moved(data, first, swapped).unwrap_err();
        assert!(error.ends_with("not supported yet: several relocations of one insn"), "{error}");
    }
}

/// Loaded by libbpf 1.5: bytes after the last whole insn; the same relocation twice. BTF with
/// bytes after its strings is not taken by the kernel, and libbpf goes on without it.
#[test]
fn what_belongs_to_no_function_or_is_said_twice_does_not_matter() {
    let good = read("programs/map_kinds.bpf.o");
    let opened = |bytes: &[u8]| Object::open(bytes, &OpenOptions::default()).unwrap();
    let insns = |object: &Object| -> Vec<Vec<skep_insn::Insn>> {
        object.programs.iter().map(|it| it.program.as_ref().unwrap().insns.clone()).collect()
    };
    let expected = insns(&opened(&good));
    let mut ragged = good.clone();
    ragged[section_header(&good, ".text") + SIZE] += 5;
    assert_eq!(insns(&opened(&ragged)), expected);
    let maps = read("programs/xdp_count.bpf.o");
    let mut twice = maps.clone();
    let (of, table) = (section_header(&maps, ".relxdp"), section_header(&maps, ".llvm_addrsig"));
    twice.copy_within(of + TYPE..of + 64, table + TYPE);
    assert_eq!(insns(&opened(&twice)), insns(&opened(&maps)));
    let mut long = good.clone();
    long[section_header(&good, ".BTF") + SIZE] += 1;
    let note = opened(&long).note.map(|note| note.to_string()).unwrap_or_default();
    assert!(note.ends_with("bytes are left after the strings"), "{note}");
}

/// libbpf 1.8: "missing BPF prog type, check ELF section name '.text'".
#[test]
fn functions_of_all_sections_text_but_the_last_are_programs_of_no_type() {
    let good = read("object/exception_hidden.bpf.o");
    let mut twice = good.clone();
    let (text, over) = (section_header(&good, ".text"), section_header(&good, ".debug_frame"));
    twice.copy_within(text..text + 64, over);
    let classes = |bytes: &[u8]| -> Vec<(String, Option<LoadClass>)> {
        let object = Object::open(bytes, &OpenOptions::default()).unwrap();
        let class = |it: &ObjectProgram| it.program.as_ref().err().and_then(|e| e.class());
        object.programs.iter().map(|it| (it.name.clone(), class(it))).collect()
    };
    let row = |name: &str, class| (name.to_owned(), class);
    let (prog, another) = (row("prog", Some(LoadClass::Open)), row("another", None));
    assert_eq!(classes(&good), [prog.clone(), another.clone()]);
    assert_eq!(classes(&twice), [row("callback", Some(LoadClass::Section)), prog, another]);
}

/// libbpf 1.8: "struct_ops reloc ops: cannot find prog at shdr_idx 3 to relocate func ptr first".
#[test]
fn a_member_of_a_struct_ops_map_is_set_to_a_function() {
    let mut bytes = read("object/against_kernel.bpf.o");
    let first = section_header(&bytes, ".symtab") + 24;
    let first = u64::from_le_bytes(bytes[first..first + 8].try_into().unwrap()) as usize;
    let kind = first + 16 * 24 + 4;
    assert_eq!(bytes[kind], 0x12);
    bytes[kind] = 0x11;
    assert!(told(&bytes).ends_with("it does not point to a function"), "{}", told(&bytes));
}

/// libbpf 1.8: "map 'outer': failed to initialize slot [0] to map 'larger'".
#[test]
fn a_slot_is_filled_by_the_name_of_its_symbol() {
    let mut bytes = read("object/slot_of_other_size.bpf.o");
    let why = "max_entries of larger is not the template's";
    assert!(told(&bytes).ends_with(why), "{}", told(&bytes));
    let maps = (section_header(&bytes, ".maps") - section_header(&bytes, "\0")) / 64;
    let larger = symbol_of(&bytes, maps as u16, 0);
    bytes[larger + 8] += 8;
    assert!(told(&bytes).ends_with(why), "{}", told(&bytes));
}

/// libbpf 1.8: "sec '.rel.maps': invalid offset 0x38 for relo #0".
#[test]
fn a_relocation_lies_in_its_section() {
    let mut bytes = read("object/hash_of_maps_key.bpf.o");
    let license = (section_header(&bytes, "license") - section_header(&bytes, "\0")) / 64;
    let of = section_header(&bytes, ".rel.maps") + INFO;
    bytes[of] = license as u8;
    assert!(told(&bytes).contains("section license, offset "), "{}", told(&bytes));
    assert!(told(&bytes).ends_with("no insn begins here"), "{}", told(&bytes));
}

/// libbpf 1.8 opens it.
#[test]
fn the_null_section_may_have_any_size() {
    let mut bytes = read("programs/loops.bpf.o");
    let size = section_header(&bytes, "\0") + SIZE;
    bytes[size..size + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    let object = Object::open(&bytes, &OpenOptions::default()).unwrap();
    assert!(object.refused.is_none() && object.programs.iter().all(|it| it.program.is_ok()));
}

/// libbpf 1.8 opens them, and loads what does not refer to the section.
#[test]
fn sections_that_are_not_supported_concern_only_who_refers_to_them() {
    let good = read("object/kinds_of_map.bpf.o");
    let known: &[u8] = b".data.hidden";
    for (name, what) in
        [(b".percpu.each", "variables of each CPU"), (b".jumptables\0", "jump tables")]
    {
        let mut bytes = good.clone();
        for at in (0..good.len() - known.len()).filter(|&at| good[at..].starts_with(known)) {
            bytes[at..at + name.len()].copy_from_slice(name);
        }
        let object = Object::open(&bytes, &OpenOptions { cpus: 1, ..OpenOptions::default() });
        let object = object.unwrap();
        assert!(object.program("target").is_ok(), "{what}: {:?}", object.refused);
        let error = object.program("uses").unwrap_err();
        assert!(error.to_string().ends_with(&format!("not supported yet: {what}")), "{error}");
        assert_eq!(error.class(), None);
    }
}

#[test]
fn four_gigabytes_of_bss_are_refused_before_they_are_allocated() {
    let mut bytes = read("programs/loops.bpf.o");
    let size = section_header(&bytes, ".bss") + 32;
    bytes[size..size + 8].copy_from_slice(&(1u64 << 32).to_le_bytes());
    assert_eq!(
        error_of(&bytes),
        "section .bss, offset 0x0: too large for a map (4294967296 bytes)"
    );
    let mut with = |bss: u64| {
        bytes[size..size + 8].copy_from_slice(&bss.to_le_bytes());
        Object::open(&bytes, &OpenOptions::default()).unwrap()
    };
    let object = with(1 << 30);
    assert!(object.maps.iter().any(|map| map.value_size == 1 << 30 && map.contents.is_empty()));
    // The kernel does not create the map.
    for bss in [1u64 << 31, 0xffff_fff8] {
        let refused = with(bss).refused.unwrap();
        assert_eq!(refused.class(), Some(LoadClass::Map));
        assert!(
            refused
                .to_string()
                .contains(&format!(".bss (array) cannot be created: value_size is {bss}")),
            "{refused}"
        );
    }
}

#[test]
fn sections_may_lie_over_others_but_not_many_times() {
    let mut bytes = read("programs/loops.bpf.o");
    let all = (bytes.len() as u64).to_le_bytes();
    let mut cover = |name: &str| {
        let header = section_header(&bytes, name);
        bytes[header + 24..header + 32].copy_from_slice(&0u64.to_le_bytes());
        bytes[header + 32..header + 40].copy_from_slice(&all);
        bytes.clone()
    };
    let one = cover(".debug_abbrev");
    assert!(Object::open(&one, &OpenOptions::default()).is_ok());
    let names = [".debug_info", ".debug_loclists", ".debug_rnglists", ".debug_str_offsets"];
    let names = names.iter().chain(&[".debug_addr", ".debug_frame", ".debug_line", ".BTF.ext"]);
    let objects: Vec<Vec<u8>> = names.map(|name| cover(name)).collect();
    let error = error_of(objects.last().expect("objects"));
    assert!(error.contains("more overlap than is supported"), "{error}");
}

/// The CPU time of this thread, whatever else the machine does.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn time_to_open(bytes: &[u8]) -> Duration {
    let start = cpu_time();
    let options = OpenOptions { name: "x.o".into(), cpus: 1, ..OpenOptions::default() };
    if let Ok(object) = Object::open(bytes, &options) {
        for program in object.programs {
            let _ = program.program.map_err(|error| error.to_string());
        }
    }
    scan(bytes);
    cpu_time() - start
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn changed_bytes_are_survived(
        file in 0..FILES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        in_header in any::<bool>(),
    ) {
        let mut bytes = read(FILES[file]);
        for (at, value) in changes {
            let table = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
            let at = match (in_header, bytes.get(table..)) {
                (true, Some(rest)) if !rest.is_empty() => table + at.index(rest.len()),
                _ => at.index(bytes.len()),
            };
            bytes[at] = value;
        }
        prop_assert!(time_to_open(&bytes) < Duration::from_secs(2));
    }

    #[test]
    fn cut_files_are_survived(file in 0..FILES.len(), at in any::<prop::sample::Index>()) {
        let bytes = read(FILES[file]);
        prop_assert!(time_to_open(&bytes[..at.index(bytes.len())]) < Duration::from_secs(2));
    }
}

/// libbpf 1.8: "extern 'schedule___flavor' (strong): not resolved", and the same of one of two
/// externs of one name.
#[test]
fn an_address_of_the_kernel_is_that_of_the_whole_name_and_of_one_extern() {
    let good = read("object/ksym_flavor.bpf.o");
    let known = |name: &str| (name == "schedule").then_some(0x1234);
    let options = OpenOptions { kallsyms: Some(Arc::new(known)), ..OpenOptions::default() };
    let open = |bytes: &[u8]| Object::open(bytes, &options).unwrap();
    let object = open(&good);
    let insns = &object.program("prog").unwrap().insns;
    let addresses = insns.iter().filter(|it| it.is_ld_imm64()).map(|it| it.imm);
    assert_eq!(addresses.collect::<Vec<_>>(), [0, 0x1234]);
    // The file's name, then the section's, the weak extern and the strong one.
    let symbols = section_header(&good, ".symtab") + 24;
    let symbols = u64::from_le_bytes(good[symbols..symbols + 8].try_into().unwrap()) as usize;
    let strong = undefined_symbol(&good);
    let weak = strong - 24;
    let mut flavored = good.clone();
    flavored[weak + 4] = 0x10;
    let refused = |bytes: &[u8]| open(bytes).refused.map(|it| (it.class(), it.to_string()));
    let absent = |why: &str| Some((Some(LoadClass::Extern), why.to_owned()));
    let why = "extern (ksym) 'schedule___flavor': not found among the kernel's symbols";
    assert_eq!(refused(&flavored), absent(why));
    let mut twice = good.clone();
    twice.copy_within(strong..strong + 24, symbols + 24);
    assert_eq!(refused(&twice), absent("extern 'schedule' (strong): not resolved"));
    twice[symbols + 24 + 4] = 0x20;
    let error = open(&twice).program("prog").unwrap_err().to_string();
    assert!(error.ends_with("not supported yet: several externs 'schedule'"), "{error}");
}
