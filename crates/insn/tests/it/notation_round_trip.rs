//! What the printer writes reads back as the insn it was written of.

use proptest::prelude::*;
use skep_insn::asm::assemble;
use skep_insn::table::{Form, OPCODES, Select};
use skep_insn::{Insn, InsnNames, Opcode, code::*, write_insn};

/// Helpers 1 to 211, all with made-up names; every kfunc has one too.
struct Names;

const HELPERS: [&str; 3] = ["bpf_unspec", "bpf_one", "bpf_two"];

impl InsnNames for Names {
    fn helper_name(&self, id: i32) -> Option<&str> {
        HELPERS.get(usize::try_from(id).ok()?).copied()
    }
    fn kfunc_name(&self, _: Insn) -> Option<&str> {
        Some("bpf_kfunc")
    }
}

fn helper_id(name: &str) -> Option<u32> {
    HELPERS.iter().position(|helper| *helper == name).map(|id| id as u32)
}

fn print(insns: &[Insn]) -> String {
    let mut text = String::new();
    write_insn(&mut text, insns, &Names, true).unwrap();
    text
}

/// `insn` with only the fields that its form uses, where the notation shows all of them.
fn clean(insn: Insn, row: &Opcode) -> Option<Insn> {
    let Insn { code, dst, src, off, imm } = insn;
    let plain = match row.select {
        Select::Any => Insn { code, ..Insn::default() },
        Select::Src(src) => Insn { code, src, ..Insn::default() },
        Select::Off(off) => Insn { code, off, ..Insn::default() },
        Select::Imm(imm) => Insn { code, imm, ..Insn::default() },
    };
    let by_operand = if code & BPF_X != 0 { Insn { src, ..plain } } else { Insn { imm, ..plain } };
    Some(match row.form {
        Form::LdImm64 if plain.src != 0 => return None,
        Form::LdImm64 => Insn { dst, imm, ..plain },
        Form::LdAbs | Form::CallHelper | Form::CallSubprog | Form::CallKfunc | Form::Gotol => {
            Insn { imm, ..plain }
        }
        Form::LdInd => Insn { src, imm, ..plain },
        Form::St => Insn { dst, off, imm, ..plain },
        Form::Alu(_) | Form::Mov => Insn { dst, ..by_operand },
        Form::MovSx(_) | Form::PercpuAddr => Insn { dst, src, ..plain },
        Form::AddrSpaceCast => Insn { dst, src, imm, ..plain },
        Form::Neg | Form::Endian(_) => Insn { dst, ..plain },
        Form::Goto | Form::MayGoto => Insn { off, ..plain },
        Form::Cond(_) => Insn { dst, off, ..by_operand },
        Form::Exit => plain,
        _ => Insn { dst, src, off, ..plain },
    })
}

fn read_back(insns: &[Insn]) -> Result<(), TestCaseError> {
    let text = print(insns);
    let read = assemble(&text, &helper_id)
        .map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
    prop_assert_eq!(read.insns, insns, "{}", text);
    Ok(())
}

#[test]
fn every_form_reads_back_with_many_operands() {
    let regs = [(0, 0), (1, 2), (10, 9), (15, 11)];
    let offs = [0, 1, -1, 76, -8, i16::MAX, i16::MIN];
    let imms = [0, 1, -1, 2, -8, 0x1000, 65477, i32::MAX, i32::MIN];
    for row in OPCODES {
        for at in 0..regs.len() * offs.len() * imms.len() {
            let (dst, src) = regs[at % regs.len()];
            let off = offs[at / regs.len() % offs.len()];
            let imm = imms[at / regs.len() / offs.len()];
            let insn = Insn { code: row.code, dst, src, off, imm };
            let Some(insn) = clean(insn, row) else { continue };
            let second = Insn { imm: imm ^ 0x55, ..Insn::default() };
            read_back(&[insn, second][..1 + usize::from(insn.is_ld_imm64())]).unwrap();
        }
    }
}

proptest! {
    #[test]
    fn every_printed_insn_reads_back(
        row in 0..OPCODES.len(), regs in (0..16u8, 0..16u8), off: i16, imm: i32, high: i32,
    ) {
        let row = &OPCODES[row];
        let insn = Insn { code: row.code, dst: regs.0, src: regs.1, off, imm };
        if let Some(insn) = clean(insn, row) {
            let second = Insn { imm: high, ..Insn::default() };
            read_back(&[insn, second][..1 + usize::from(insn.is_ld_imm64())])?;
        }
    }

    #[test]
    fn any_text_is_read_or_refused_with_a_place(text in "[ -~é\n]{0,80}") {
        if let Err(error) = assemble(&text, &helper_id) {
            let (line, _) = error.line_column().unwrap();
            prop_assert!(line as usize <= text.lines().count());
        }
    }

    #[test]
    fn any_line_of_words_is_read_or_refused(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..12),
    ) {
        let text = words.join(" ");
        if let Ok(read) = assemble(&text, &helper_id) {
            prop_assert_eq!(read.insns.len(), read.lines.len());
        }
    }
}

const WORDS: &[&str] = &[
    "r0",
    "r1",
    "w1",
    "=",
    "+=",
    "s/=",
    "*",
    "(",
    ")",
    "u8",
    "s32",
    "u64",
    "skb",
    "[",
    "]",
    "+",
    "-",
    "4",
    "0xffffffff",
    "70000",
    "if",
    "goto",
    "gotol",
    "may_goto",
    "pc",
    "call",
    "kfunc",
    "map",
    "map_value",
    "func",
    "ksym",
    "out",
    "out:",
    "lock",
    "store_release",
    "load_acquire",
    ",",
    "#",
    "atomic64_fetch_add",
    "atomic_xchg",
    "atomic_cmpxchg",
    "ll",
    ".insn",
    "exit",
    "be16",
    "&",
    "s<",
    "void",
    "__percpu",
    "addr_space_cast",
    "(b7)",
    "0:",
    "==",
    "bpf_one",
];
