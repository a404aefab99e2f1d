//! The printer against texts that the kernel wrote (`kernel_notation.txt`).

use skep_insn::{Endian, Insn, InsnNames, NoNames, Opcode, decode_all, table, write_insn};
use std::collections::BTreeSet;

const SEEN: &str = include_str!("kernel_notation.txt");

/// The names that occur in the file.
struct Names;

impl InsnNames for Names {
    fn helper_name(&self, id: i32) -> Option<&str> {
        match id {
            0 => Some("bpf_unspec"),
            1 => Some("bpf_map_lookup_elem"),
            5 => Some("bpf_ktime_get_ns"),
            181 => Some("bpf_loop"),
            211 => Some("bpf_cgrp_storage_delete"),
            _ => None,
        }
    }
    fn kfunc_name(&self, insn: Insn) -> Option<&str> {
        (insn.imm == 65477).then_some("bpf_rdonly_cast")
    }
}

fn print(insns: &[Insn], names: &dyn InsnNames, allow_ptr_leaks: bool) -> String {
    let mut text = String::new();
    write_insn(&mut text, insns, names, allow_ptr_leaks).unwrap();
    text
}

/// The lines of the file, with their number.
fn seen() -> impl Iterator<Item = (usize, Vec<Insn>, &'static str)> {
    SEEN.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(
        |(at, line)| {
            let (hex, text) = line.split_once("  ").unwrap();
            let bytes: Vec<u8> = (0..hex.trim().len() / 2)
                .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
                .collect();
            (at + 1, decode_all(&bytes, Endian::Little).unwrap(), text.trim_start())
        },
    )
}

#[test]
fn every_line_prints_as_the_kernel_printed_it() {
    for (line, insns, text) in seen() {
        assert_eq!(print(&insns, &Names, true), text, "line {line}");
    }
}

#[test]
fn every_form_has_a_line() {
    let have: BTreeSet<String> = seen()
        .filter_map(|(_, insns, _)| Opcode::of(insns[0]))
        .map(|row| format!("{row:?}"))
        .collect();
    for row in table::OPCODES {
        let is_pseudo = row.form == table::Form::LdImm64 && row.select != table::Select::Src(0);
        assert!(is_pseudo || have.contains(&format!("{row:?}")), "{row:?}");
    }
}

#[test]
fn map_pointers_are_hidden_from_who_must_not_see_pointers() {
    let shown = |src| {
        let insns = Insn::ld_imm64(1, src, 0xffff_8881_0434_bc00);
        (print(&insns, &NoNames, true), print(&insns, &NoNames, false))
    };
    let (open, hidden) = ("(18) r1 = 0xffff88810434bc00".to_owned(), "(18) r1 = 0x0".to_owned());
    for src in [1, 2] {
        assert_eq!(shown(src), (open.clone(), hidden.clone()));
    }
    for src in [0, 4, 5, 6] {
        assert_eq!(shown(src), (open.clone(), open.clone()));
    }
}

#[test]
fn what_the_kernel_does_not_know_prints_as_a_bug() {
    let callx = Insn { code: 0x8d, dst: 1, ..Insn::default() };
    assert_eq!(print(&[callx], &NoNames, true), "BUG_8d");
    assert_eq!(print(&[], &NoNames, true), "");
    assert_eq!(print(&Insn::ld_imm64(1, 0, 5)[..1], &NoNames, true), "(18) r1 = 0x5");
}
