//! Checks that passes preserve all accesses to shared memory.
//!
//! Each block is run twice on random registers, before and after the passes. Loads, stores and
//! atomics on shared memory, and calls, must be the same, in the same order: kind, width, address,
//! value. With random 64-bit registers, two addresses are equal only if they always are.
//!
//! # Invariants
//! 1. Only transformations that passes may make are accepted: an access of the program stays in its
//!    block, and after the jump that it followed.
//!
//! Tests: former errors of passes, by hand; the random programs of `tests/random.rs` and of `xtask
//! exec-diff` are all compiled with the check.

mod model;

use super::fills::WORD;
use super::unroll::Loop;
use crate::flow::Flow;
use crate::op::Op;
use crate::{Error, Linkage};
use model::{Event, Model};

/// The original ops, if passes are checked.
pub(super) struct Before(Option<Vec<Op>>);

impl Before {
    pub(super) fn new(ops: &[Op], checked: bool) -> Before {
        Before(checked.then(|| ops.to_vec()))
    }

    /// Compares with the output of passes that work on blocks.
    pub(super) fn compare(
        &self,
        after: &[Op],
        flow: &Flow,
        linkage: &Linkage,
        what: &'static str,
    ) -> Result<(), Error> {
        let Some(before) = &self.0 else { return Ok(()) };
        let mut start = 0;
        while start < after.len() {
            let ends = |at: &usize| flow.is_target[*at] || after[*at - 1].is_end();
            let end = (start + 1..after.len()).find(ends).unwrap_or(after.len());
            let touches = |at: usize| before[at].is_shared_access() || after[at].is_shared_access();
            if (start..end).any(touches) {
                // A jump with a known outcome counts as none.
                let jumps = |at: usize| matches!(after[at], Op::Br { .. });
                let run = |ops: &[Op], sharing: &[Event]| {
                    let mut model = Model::new(start as u64, linkage).sharing(sharing);
                    flow.held_at(start).for_each(|held| model.hold(held.reg, held.value));
                    (start..end).for_each(|at| model.step(at, ops[at], jumps(at)));
                    model.events
                };
                // Checks that no pass turns shared memory into private memory.
                let shared = run(before, &[]);
                if !is_same(&run(before, &shared), &run(after, &shared)) {
                    return Err(Error::bug(start, what));
                }
            }
            start = end;
        }
        Ok(())
    }

    /// Compares with the output of a pass that does not affect such memory.
    pub(super) fn is_untouched(&self, after: &[Op], what: &'static str) -> Result<(), Error> {
        let Some(before) = &self.0 else { return Ok(()) };
        let touches = |op: &Op| op.is_shared_access() || op.is_call();
        let differs = |(a, b): (&Op, &Op)| (touches(a) || touches(b)) && a != b;
        match before.iter().zip(after).position(differs) {
            Some(at) => Err(Error::bug(at, what)),
            None => Ok(()),
        }
    }
}

/// Whether the shared accesses are the same, one by one, except for words of zeros stored at once.
fn is_same(before: &[Event], after: &[Event]) -> bool {
    let mut before = before.iter();
    let same = after.iter().all(|now| match *now {
        Event::Store { bytes: WORD, at, value: 0 } => is_word(&mut before, at),
        _ => before.next() == Some(now),
    });
    same && before.next().is_none()
}

/// Takes the stores of zeros that together form a word.
fn is_word<'a>(before: &mut impl Iterator<Item = &'a Event>, start: u64) -> bool {
    let mut covered = 0_u32;
    while covered != u32::from(u8::MAX) {
        let Some(Event::Store { bytes, at, value: 0 }) = before.next() else { return false };
        let from = at.wrapping_sub(start);
        if from.saturating_add(u64::from(*bytes)) > u64::from(WORD) {
            return false;
        }
        let mask = ((1 << bytes) - 1) << from;
        if covered & mask != 0 {
            return false;
        }
        covered |= mask;
    }
    true
}

/// Compares the copies in unrolled loops with the original loops.
pub(crate) fn check_loops(ops: &[Op], loops: &[Loop], linkage: &Linkage) -> Result<(), Error> {
    for looped in loops {
        let mut plain = Model::new(looped.rounds.head as u64, linkage);
        let mut rounds = Model::new(looped.rounds.head as u64, linkage);
        if let Some(sum) = &looped.sum {
            rounds.step(looped.rounds.head, sum.started(), false);
        }
        for round in 0..looped.rounds.times {
            for (at, op) in
                (looped.rounds.head..).zip(&ops[looped.rounds.head..=looped.rounds.latch])
            {
                // An iteration that cannot be the last one has no exit.
                let known = at == looped.rounds.latch && !looped.rounds.may_end_in(round);
                let jumps = matches!(op, Op::Br { .. }) && !known;
                plain.step(at, *op, jumps);
                let (front, op) = looped.in_round(at, *op, round);
                front.into_iter().for_each(|front| rounds.step(at, front, false));
                rounds.step(at, op, jumps);
            }
        }
        if plain.events != rounds.events {
            return Err(Error::bug(looped.rounds.head, "unrolling changed what other threads see"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::Width;
    use crate::op::{Addr, AluOp, Cond, Reg, ShiftOp, Size, Space, Src, Test};

    fn at(disp: i16, space: Space) -> Addr {
        Addr::new(Reg::R1, disp, space)
    }

    fn load(size: Size, dst: Reg, addr: Addr) -> Op {
        Op::Load { size, sign: false, big: false, dst, addr }
    }

    fn is_refused(before: &[Op], after: &[Op]) -> bool {
        let (mut flow, linkage) = (Flow::default(), Linkage::default());
        flow.find_targets(after);
        let kept = Before::new(before, true);
        assert!(kept.compare(before, &flow, &linkage, "itself").is_ok(), "{before:?}");
        kept.compare(after, &flow, &linkage, "changed").is_err()
    }

    /// Former errors of each pass, and other transformations that are not allowed; the same
    /// transformations are allowed on private memory.
    #[test]
    fn what_no_pass_may_do_to_shared_memory_is_refused() {
        let (r0, r2, r3, nop) = (Reg::R0, Reg::R2, Reg::R3, Op::Nop);
        let sub = |src| Op::Alu { op: AluOp::Sub, width: Width::W64, dst: r0, src };
        let test = Test { cond: Cond::Gt, width: Width::W64, a: r2, b: Src::Imm(7) };
        let check = Op::Br { test, to: 3 };
        let by = Src::Imm(32);
        let half = Op::Shift { op: ShiftOp::Shr, width: Width::W64, dst: r2, src: r2, by };
        let store = |disp, space| Op::Store {
            size: Size::B1,
            big: false,
            addr: at(disp, space),
            src: Src::Imm(1),
        };
        let wide = |space| Op::Store {
            size: Size::B2,
            big: false,
            addr: at(0, space),
            src: Src::Imm(0x101),
        };
        for space in [Space::Shared, Space::Own] {
            let word = load(Size::B8, r2, at(0, space));
            let other = load(Size::B8, r0, at(8, space));
            let low = load(Size::B1, r0, at(0, space));
            let high = load(Size::B1, r3, at(1, space));
            let cases = [
                // Loaded again, after a check and without one.
                (
                    vec![word, check, half, Op::Exit],
                    vec![word, check, load(Size::B4, r2, at(4, space)), Op::Exit],
                ),
                (vec![word, half], vec![word, load(Size::B4, r2, at(4, space))]),
                // The same, treated as private.
                (
                    vec![word, check, half, Op::Exit],
                    vec![word, check, load(Size::B4, r2, at(4, Space::Own)), Op::Exit],
                ),
                // Two loads merged, one split, one narrowed.
                (vec![low, high], vec![nop, load(Size::B2, r0, at(0, space))]),
                (vec![load(Size::B2, r0, at(0, space)), nop], vec![low, high]),
                (vec![word, nop], vec![load(Size::B4, r2, at(0, space)), nop]),
                // Moved after another load, after a check; removed.
                (
                    vec![word, other, sub(Src::Reg(r2))],
                    vec![nop, other, sub(Src::Mem(at(0, space)))],
                ),
                (vec![word, check, other, Op::Exit], vec![nop, check, other, word]),
                (vec![word, other], vec![nop, other]),
                // Stores merged, removed, reordered.
                (vec![store(0, space), store(1, space)], vec![nop, wide(space)]),
                (vec![store(0, space), store(0, space)], vec![nop, store(0, space)]),
                (vec![store(0, space), store(1, space)], vec![store(1, space), store(0, space)]),
                // Stored from another register.
                (vec![word], vec![load(Size::B8, r2, at(16, space))]),
            ];
            for (before, after) in cases {
                let refused = is_refused(&before, &after);
                assert_eq!(refused, space == Space::Shared, "{before:?}: {after:?}");
            }
        }
    }

    #[test]
    fn another_way_to_the_same_address_is_none() {
        let (r2, r3) = (Reg::R2, Reg::R3);
        let add = |dst, src| Op::Alu { op: AluOp::Add, width: Width::W64, dst, src };
        let copy = Op::Mov { width: Width::W64, dst: r2, src: Src::Reg(Reg::R1) };
        let before = [
            copy,
            add(r2, Src::Imm(8)),
            add(r2, Src::Reg(r3)),
            load(Size::B4, Reg::R0, Addr::new(r2, 4, Space::Shared)),
        ];
        let index = Some((r3, 0));
        let direct = Addr { base: Reg::R1, index, disp: 12, space: Space::Shared };
        let nop = Op::Nop;
        assert!(!is_refused(&before, &[nop, nop, nop, load(Size::B4, Reg::R0, direct)]));
        let wrong = Addr { index: Some((r3, 1)), ..direct };
        assert!(is_refused(&before, &[nop, nop, nop, load(Size::B4, Reg::R0, wrong)]));
    }

    #[test]
    fn zeros_of_a_word_may_be_stored_at_once() {
        let zeros = |size, disp, value| {
            let addr = at(disp, Space::Shared);
            Op::Store { size, big: false, addr, src: Src::Imm(value) }
        };
        let word = zeros(Size::B8, 16, 0);
        let (nop, low, high) = (Op::Nop, zeros(Size::B4, 16, 0), zeros(Size::B4, 20, 0));
        assert!(!is_refused(&[low, high], &[nop, word]));
        assert!(!is_refused(&[high, low], &[nop, word]));
        assert!(!is_refused(&[word, low, high], &[word, nop, word]));
        let other = load(Size::B8, Reg::R2, at(0, Space::Shared));
        for before in [
            vec![low, nop],
            vec![low, low],
            vec![low, zeros(Size::B4, 20, 1)],
            vec![low, zeros(Size::B4, 24, 0)],
            vec![low, zeros(Size::B2, 20, 0)],
            vec![low, other, high],
            vec![word, word],
            vec![word, low],
            vec![zeros(Size::B4, 20, 0), zeros(Size::B4, 18, 0)],
        ] {
            let mut after = vec![nop; before.len() - 1];
            after.push(word);
            assert!(is_refused(&before, &after), "{before:?}");
        }
        // Bytes stored in between are preserved.
        let one = zeros(Size::B8, 64, 1);
        assert!(is_refused(&[low, one, high], &[nop, one, word]));
    }
}
