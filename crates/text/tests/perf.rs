//! What profilers see: functions do not overlap, and records follow their specification.

use object::{Object, ObjectSection, ObjectSymbol};
use skep_jit::{Linkage, Tuning};
use skep_text::elf_symbols::elf_symbols;
use skep_text::perf::{Moment, jitdump_header, jitdump_records, perf_map};
use skep_text::{MachineCode, compile};
use skep_verifier::Xlated;

fn code() -> MachineCode {
    let text = "r6 = r1\ncall sub\nr0 += r6\nexit\nsub:\nr0 = 7\nexit";
    let assembly = skep_insn::asm::assemble(text, &|_| None).unwrap();
    let xlated = Xlated::bare(&assembly.insns).unwrap();
    compile(&xlated, &Linkage::default(), &Tuning::default()).unwrap()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

#[test]
fn the_map_file_has_a_line_a_function() {
    let code = code();
    let text = perf_map(&code, "main");
    let mut end = code.address();
    for line in text.lines() {
        let mut fields = line.split(' ');
        let mut hex = || u64::from_str_radix(fields.next().unwrap(), 16).unwrap();
        let (address, size) = (hex(), hex());
        assert!(address >= end && size > 0, "{text}");
        end = address + size;
        assert!(fields.next().unwrap().starts_with("bpf_prog_main"));
    }
    assert_eq!(text.lines().count(), 2);
    assert_eq!(end, code.address() + code.bytes().len() as u64);
}

#[test]
fn jitdump_records_hold_the_code() {
    let code = code();
    let moment = Moment { pid: 10, tid: 11, time_ns: 12 };
    let header = jitdump_header(moment);
    assert_eq!((word(&header, 0), word(&header, 4)), (0x4a69_5444, 1));
    assert_eq!((word(&header, 8) as usize, word(&header, 12)), (header.len(), 62));
    assert_eq!((word(&header, 20), long(&header, 24)), (10, 12));
    let records = jitdump_records(&code, "main", moment, 5);
    let (mut at, mut functions) = (0, 0);
    while at < records.len() {
        let record = &records[at..at + word(&records, at + 4) as usize];
        assert_eq!((word(record, 0), long(record, 8)), (0, 12));
        assert_eq!((word(record, 16), word(record, 20)), (10, 11));
        let (address, size, index) = (long(record, 32), long(record, 40), long(record, 48));
        assert_eq!(index, 5 + functions);
        let name_end = 56 + record[56..].iter().position(|byte| *byte == 0).unwrap();
        let off = (address - code.address()) as usize;
        assert_eq!(record[name_end + 1..], code.bytes()[off..off + size as usize]);
        at += record.len();
        functions += 1;
    }
    assert_eq!(functions, 2);
}

#[test]
fn moments_do_not_go_back() {
    let (a, b) = (Moment::now(), Moment::now());
    assert!(a.time_ns <= b.time_ns && a.pid == std::process::id());
}

#[test]
fn the_image_for_debuggers_has_a_symbol_a_function() {
    let code = code();
    let image = elf_symbols(&code, "main");
    let file = object::File::parse(&*image).unwrap();
    let text = file.section_by_name(".text").unwrap();
    assert_eq!((text.address(), text.size()), (code.address(), code.bytes().len() as u64));
    let found: Vec<(&str, u64, u64)> =
        file.symbols().map(|of| (of.name().unwrap(), of.address(), of.size())).collect();
    let wanted: Vec<(u64, u64)> = code
        .symbols()
        .iter()
        .map(|symbol| (code.address() + u64::from(symbol.off), u64::from(symbol.len)))
        .collect();
    assert_eq!(found.iter().map(|of| (of.1, of.2)).collect::<Vec<_>>(), wanted);
    assert_eq!(found[0].0, "bpf_prog_main");
    assert!(found[1].0.starts_with("bpf_prog_main"), "{found:?}");
}
