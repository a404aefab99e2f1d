//! Backward liveness analysis of one function.

use super::touch::Uses;
use crate::passes::postorder::successors;
use crate::passes::stack_use::touches::Halves;
use crate::passes::worklist::{Predecessors, Way, Worklist};
use skep_insn::Insn;
use skep_uapi::limits::MAX_CALL_FRAMES;

/// By frame: what is live before each of the `len` insns of the function that begins at `start`.
pub(super) fn backwards(
    insns: &[Insn],
    order: &[u32],
    start: u32,
    len: usize,
    uses: &Uses,
) -> [Vec<Halves>; MAX_CALL_FRAMES] {
    std::array::from_fn(|frame| {
        let uses = &uses.0[frame];
        if uses.iter().all(|&(_, reads, _)| reads == 0) {
            return Vec::new();
        }
        let mut effects = vec![(0, 0); len];
        for &(idx, reads, writes) in uses {
            effects[(idx - start) as usize] = (reads, writes);
        }
        let mut live: Vec<Halves> = vec![0; len];
        let before = Predecessors::new(insns, order);
        let mut todo = Worklist::new(order, start, len, Way::Backwards);
        uses.iter().for_each(|&(idx, ..)| todo.push(idx));
        while let Some(idx) = todo.pop() {
            let next = successors(insns, idx as usize);
            let after =
                next.as_slice().iter().fold(0, |all, next| all | live[(next - start) as usize]);
            let (reads, writes) = effects[(idx - start) as usize];
            let now = (after & !writes) | reads;
            let known = &mut live[(idx - start) as usize];
            if std::mem::replace(known, now) != now {
                before.of(idx).for_each(|idx| todo.push(idx));
            }
        }
        live
    })
}
