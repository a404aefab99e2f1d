//! What was known about registers, and since where, from the path that led to a refusal.

use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::Program;
use skep::{Register, WalkedPath};
use skep_report::{Note, SourceSpot};
use std::collections::HashMap;

/// Registers explained at most: an insn and its message rarely name more.
const REGS_MAX: usize = 4;

/// A register's value now, and as it was when an insn made it anew.
#[derive(Debug, Clone, Copy)]
struct Known<'p> {
    now: &'p Register,
    made: &'p Register,
}

/// The path, folded to what holds at its end.
#[derive(Debug, Default)]
pub(crate) struct History<'p> {
    known: HashMap<(u32, u8), Known<'p>>,
    frame: u32,
}

impl<'p> History<'p> {
    /// Folds a path of a program.
    pub(crate) fn of(path: &'p WalkedPath, program: &Program) -> History<'p> {
        let mut history = History { frame: path.frame(), ..History::default() };
        for now in path.registers() {
            let by = now.by.and_then(|idx| program.insns.get(idx as usize));
            let made_anew = by.is_none_or(|insn| written_register(insn) == Some(now.regno));
            let at = (now.frame, now.regno);
            let made = match history.known.get(&at) {
                Some(before) if before.now.value == now.value && !made_anew => continue,
                Some(before) if !made_anew => before.made,
                _ => now,
            };
            history.known.insert(at, Known { now, made });
        }
        history
    }

    /// What is known of registers: those that a message `names`, and those that the insn reads.
    /// `describe` knows the text of an insn and its place.
    pub(crate) fn notes(
        &self,
        names: &[u8],
        insn: Option<&Insn>,
        describe: impl Fn(usize) -> Option<(String, Option<SourceSpot>)>,
    ) -> Vec<Note> {
        let mut regs = names.to_vec();
        regs.extend(insn.into_iter().flat_map(read_registers));
        let mut seen = 0u32;
        regs.retain(|&reg| {
            let first_time = seen & 1 << reg == 0;
            seen |= 1 << reg;
            first_time
        });
        let mut notes = Vec::new();
        for reg in regs.into_iter().take(REGS_MAX) {
            let Some(Known { now, made }) = self.known.get(&(self.frame, reg)) else { continue };
            if std::ptr::eq(*now, *made) {
                notes.push(note("is", made, &describe));
            } else {
                notes.push(note("was", made, &describe));
                notes.push(note("is", now, &describe));
            }
        }
        notes
    }
}

fn note(
    verb: &str,
    fact: &Register,
    describe: impl Fn(usize) -> Option<(String, Option<SourceSpot>)>,
) -> Note {
    let Register { by, regno, value, .. } = fact;
    let (since, at) = match by {
        None => ("from the start".to_owned(), None),
        Some(idx) => match describe(*idx as usize) {
            Some((insn, at)) => (format!("since insn {idx}: {insn}"), at),
            None => (format!("since insn {idx}"), None),
        },
    };
    Note { text: format!("R{regno} {verb} {value}, {since}"), at }
}

/// The register that an insn makes anew: that of a load or a move, r0 of a call; not that of `+=`.
fn written_register(insn: &Insn) -> Option<u8> {
    match insn.class() {
        BPF_LDX => Some(insn.dst),
        BPF_LD if insn.is_ld_imm64() => Some(insn.dst),
        BPF_LD => Some(0),
        BPF_JMP if insn.op() == BPF_CALL => Some(0),
        BPF_ALU | BPF_ALU64 if insn.op() == BPF_MOV => {
            // A move onto itself changes what is there.
            (!insn.is_src_reg() || insn.src != insn.dst).then_some(insn.dst)
        }
        BPF_STX if insn.mode() == BPF_ATOMIC && insn.imm == BPF_LOAD_ACQ => Some(insn.dst),
        _ => None,
    }
}

/// The registers that an insn reads, in the order in which it names them; of calls none.
fn read_registers(insn: &Insn) -> Vec<u8> {
    let (dst, src) = (insn.dst, insn.src);
    let operand = if insn.is_src_reg() { Some(src) } else { None };
    match insn.class() {
        BPF_LDX => vec![src],
        BPF_LD if insn.mode() == BPF_IND => vec![src],
        BPF_ST => vec![dst],
        BPF_STX if insn.mode() == BPF_ATOMIC => read_by_atomic(insn),
        BPF_STX => vec![dst, src],
        BPF_ALU | BPF_ALU64 => match insn.op() {
            BPF_MOV => operand.into_iter().collect(),
            BPF_NEG | BPF_END => vec![dst],
            _ => [Some(dst), operand].into_iter().flatten().collect(),
        },
        BPF_JMP | BPF_JMP32 => match insn.op() {
            BPF_JA | BPF_CALL | BPF_EXIT | BPF_JCOND => Vec::new(),
            _ => [Some(dst), operand].into_iter().flatten().collect(),
        },
        _ => Vec::new(),
    }
}

fn read_by_atomic(insn: &Insn) -> Vec<u8> {
    let (dst, src) = (insn.dst, insn.src);
    match insn.imm {
        BPF_LOAD_ACQ => vec![src],
        BPF_CMPXCHG => vec![0, dst, src],
        BPF_STORE_REL => vec![dst, src],
        imm if imm & BPF_FETCH != 0 => vec![src, dst],
        _ => vec![dst, src],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::insn::asm::assemble;

    #[test]
    fn what_an_insn_makes_anew_and_what_it_reads() {
        for (text, written, read) in [
            ("r3 = 1", Some(3), &[][..]),
            ("r1 = *(u8 *)(r1 + 0)", Some(1), &[1]),
            ("r2 = r4", Some(2), &[4]),
            ("r2 += -4", None, &[2]),
            ("r2 = -r2", None, &[2]),
            ("r1 = be16 r1", None, &[1]),
            ("*(u64 *)(r10 - 8) = r1", None, &[10, 1]),
            ("if r1 == 0 goto +3", None, &[1]),
            ("if r1 > r2 goto +3", None, &[1, 2]),
            ("exit", None, &[]),
        ] {
            let insn = assemble(text, &|_| None).expect(text).insns[0];
            assert_eq!(written_register(&insn), written, "{text}");
            assert_eq!(read_registers(&insn), read, "{text}");
        }
    }
}
