//! The reader of insn text: what it reads prints, and what is printed reads back as it was printed.

use skep_insn::asm::{Assembly, assemble};
use skep_insn::{Insn, NoNames, Opcode, write_insn};

/// No panic; an error names a line of the text.
pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = match assemble(text, &helper_id) {
        Ok(read) => read,
        Err(error) => {
            let (line, _) = error.line_column().expect("an error has a place");
            return assert!(line as usize <= text.lines().count().max(1), "{error}");
        }
    };
    assert_eq!(read.insns.len(), read.lines.len());
    assert!(read.lines.is_sorted());
    reads_back(&read);
}

fn helper_id(name: &str) -> Option<u32> {
    name.strip_prefix("bpf_")?.len().try_into().ok()
}

/// An insn with a form prints as text which reads as an insn that prints as the same text.
fn reads_back(read: &Assembly) {
    let mut at = 0;
    while let Some(&insn) = read.insns.get(at) {
        let slots = 1 + usize::from(insn.is_ld_imm64());
        let rest = &read.insns[at..];
        at += slots;
        if Opcode::of(insn).is_none() || has_names(insn) || rest.len() < slots {
            continue;
        }
        let text = print(rest);
        let Ok(again) = assemble(&text, &|_| None) else { continue };
        assert_eq!(print(&again.insns), text, "{insn:?}");
    }
}

/// Calls and `ld_imm64` of a map print names and kinds which this reader is not given.
fn has_names(insn: Insn) -> bool {
    insn.src != 0 && insn.is_ld_imm64()
}

fn print(insns: &[Insn]) -> String {
    let mut text = String::new();
    write_insn(&mut text, insns, &NoNames, true).expect("strings take all");
    text
}
