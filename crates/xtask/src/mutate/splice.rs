//! Insertion and removal of insns, adjusting jumps, calls, func and line info.
//!
//! # Invariants
//! 1. A jump that is not itself inserted or removed keeps its target, unless that is removed: then
//!    it jumps to what follows.

use skep::insn::code::*;
use skep::insn::{Insn, InsnIdx};
use skep::program::Program;

/// Fields in which an insn stores the distance to another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Distance {
    Off,
    Imm,
}

fn distance(insn: &Insn) -> Option<Distance> {
    if insn.is_ld_imm64() {
        return (insn.src == BPF_PSEUDO_FUNC).then_some(Distance::Imm);
    }
    match (insn.class(), insn.op()) {
        (BPF_JMP | BPF_JMP32, BPF_EXIT) => None,
        (BPF_JMP | BPF_JMP32, BPF_CALL) => (insn.src == BPF_PSEUDO_CALL).then_some(Distance::Imm),
        (BPF_JMP32, BPF_JA) => Some(Distance::Imm),
        (BPF_JMP | BPF_JMP32, _) => Some(Distance::Off),
        _ => None,
    }
}

/// Inserts `new` before the insn `at`.
pub(super) fn insert(program: &mut Program, at: usize, new: &[Insn]) {
    let at = at.min(program.insns.len());
    let len = new.len() as i64;
    move_all(program, &|old| if old >= at as i64 { old + len } else { old });
    program.insns.splice(at..at, new.iter().copied());
}

/// Removes `count` insns from `at` on.
pub(super) fn delete(program: &mut Program, at: usize, count: usize) {
    let at = at.min(program.insns.len());
    let end = (at + count).min(program.insns.len());
    let (first, last) = (at as i64, end as i64);
    let moved = |old: i64| match old {
        old if old >= last => old - (last - first),
        old if old >= first => first,
        old => old,
    };
    move_all(program, &moved);
    program.insns.drain(at..end);
}

/// Rewrites all references to insns with their new indices from `moved`; the insns themselves are
/// not moved.
fn move_all(program: &mut Program, moved: &dyn Fn(i64) -> i64) {
    for (i, insn) in program.insns.iter_mut().enumerate() {
        let Some(distance) = distance(insn) else { continue };
        let i = i as i64;
        let old = match distance {
            Distance::Off => i64::from(insn.off),
            Distance::Imm => i64::from(insn.imm),
        };
        let new = moved(i + 1 + old) - moved(i) - 1;
        match distance {
            Distance::Off => insn.off = i16::try_from(new).unwrap_or(insn.off),
            Distance::Imm => insn.imm = i32::try_from(new).unwrap_or(insn.imm),
        }
    }
    let row = |at: InsnIdx| InsnIdx(moved(i64::from(at.0)) as u32);
    program.func_info.iter_mut().for_each(|info| info.insn_off = row(info.insn_off));
    program.func_info.dedup_by_key(|info| info.insn_off);
    program.line_info.iter_mut().for_each(|info| info.insn_off = row(info.insn_off));
    program.line_info.dedup_by_key(|info| info.insn_off);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        let nop = Insn { code: BPF_ALU64 | BPF_MOV, ..Insn::default() };
        let jump = |off| Insn { code: BPF_JMP | BPF_JA, off, ..Insn::default() };
        Program { insns: vec![jump(2), nop, nop, jump(-3)], ..Program::default() }
    }

    fn offs(program: &Program) -> Vec<i16> {
        program.insns.iter().filter(|insn| insn.code == BPF_JMP).map(|insn| insn.off).collect()
    }

    #[test]
    fn jumps_lead_where_they_led() {
        let mut it = program();
        insert(&mut it, 2, &[Insn::default(); 5]);
        assert_eq!(offs(&it), [7, -8]);
        delete(&mut it, 2, 5);
        assert_eq!(offs(&it), [2, -3]);
        assert_eq!(it.insns, program().insns);
    }

    #[test]
    fn a_jump_to_what_is_gone_leads_behind_it() {
        let mut it = program();
        delete(&mut it, 1, 1);
        assert_eq!(offs(&it), [1, -2]);
    }
}
