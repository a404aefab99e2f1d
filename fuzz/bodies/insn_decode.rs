//! Insns of any bytes, in both byte orders: written out as they came, printed, read from the print.

use skep_insn::asm::assemble;
use skep_insn::code::{BPF_ATOMIC, BPF_STX};
use skep_insn::{Endian, NoNames, Opcode, decode_all, encode_all, write_insn};

/// No panic; encoding is the inverse of decoding; a print is one line.
pub(crate) fn run(data: &[u8]) {
    for endian in [Endian::Little, Endian::Big] {
        let Ok(insns) = decode_all(data, endian) else {
            return assert!(!data.len().is_multiple_of(8));
        };
        assert_eq!(encode_all(&insns, endian), data);
        for (at, &insn) in insns.iter().enumerate() {
            let mut text = String::new();
            write_insn(&mut text, &insns[at..], &NoNames, at % 2 == 0).expect("strings take all");
            assert!(!text.is_empty() && !text.contains('\n'));
            // The operation of an atomic is in its immediate; the rest is known by the opcode.
            let atomic = insn.class() == BPF_STX && insn.mode() == BPF_ATOMIC;
            let known = !Opcode::all_of(insn.code).is_empty();
            assert!(atomic || known != text.starts_with("BUG_"), "{text}");
            let _ = assemble(&text, &|_| None);
        }
    }
}
