//! What used up the budget, for rejections because of a limit: loops, branches, calls. Registers
//! are not relevant.

mod chain;
mod loops;
mod round;

use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{Described, since};
use crate::insn_text::insn_with_map;
use crate::program::Program;
use crate::{Profile, Refusal, Verification};
use std::collections::HashMap;

/// Maximum number of branches named.
const BRANCHES_MAX: usize = 3;
/// Lines with less than one in this many of the branches are not named.
const LEAST_SHARE: usize = 20;

/// Notes for a rejection because of a limit.
pub(crate) struct Spending {
    pub(crate) notes: Vec<Note>,
    /// The insn at which the budget was used up; it may be any insn.
    pub(crate) at: Option<usize>,
}

/// `None` if a rejection has another reason. `spent` verifies the program once more, to measure the
/// cost.
pub(crate) fn spending(
    refusal: &Refusal,
    verification: &Verification,
    program: &Program,
    spent: impl FnOnce() -> Option<Profile>,
) -> Option<Spending> {
    let describe = |idx| Some((insn_with_map(program, idx)?, program.source_place(idx)));
    let path = verification.path.as_ref();
    let chain = &verification.call_chain;
    let (notes, at) = match refusal.kind.as_str() {
        "too-many-insns" => loops::notes(program, &spent()?, &describe),
        "too-many-jumps" | "too-many-waiting-branches" => {
            let waiting =
                path.map(|path| path.waiting().map(|idx| idx as usize).collect::<Vec<_>>());
            let (mut notes, most) = branches(&waiting.unwrap_or_default(), &describe);
            let here = most.and_then(|idx| loops::around(program, idx));
            let iterator = here.as_ref().filter(|insns| loops::has_iterator(insns, &describe));
            let text = "they are in a loop over an iterator";
            notes.extend(iterator.map(|_| Note { text: text.into(), at: None }));
            (notes, here.and_then(|insns| loops::head(&insns, &describe)).or(most))
        }
        "infinite-loop" => round::notes(path?, program, &describe),
        "call-stack-too-deep" => (chain::of_path(path?, program), None),
        "recursive-call" => (Vec::new(), chain::recursive(program, refusal)),
        "calls-too-deep" => (chain::notes(chain, program, &describe), None),
        "stack-too-large-for-tail-call" => (chain::notes(chain, program, &describe), None),
        "combined-stack-too-large" | "function-stack-too-large" => {
            (chain::notes(chain, program, &describe), chain::largest(chain))
        }
        _ => return None,
    };
    Some(Spending { notes, at })
}

/// Pending branches by source line, the most frequent first: an unrolled loop has the same line
/// many times.
fn branches(
    waiting: &[usize],
    describe: &impl Fn(usize) -> Described,
) -> (Vec<Note>, Option<usize>) {
    let mut lines: HashMap<(String, usize), (usize, usize)> = HashMap::new();
    for &idx in waiting {
        let spot = describe(idx).and_then(|(_, spot)| spot).filter(|spot| spot.line > 0);
        let line = spot.map_or((String::new(), idx), |spot| (spot.file, spot.line as usize));
        let (first, times) = lines.entry(line).or_insert((idx, 0));
        *first = idx.min(*first);
        *times += 1;
    }
    let mut lines: Vec<(usize, usize)> = lines.into_values().collect();
    lines.sort_by_key(|&(first, times)| (std::cmp::Reverse(times), first));
    let all = waiting.len();
    // The few of other lines would not matter without the many.
    let count = |&(_, times): &(usize, usize)| times * LEAST_SHARE >= all;
    let lines: Vec<(usize, usize)> = lines.into_iter().filter(count).collect();
    let note = |&(first, times): &(usize, usize)| {
        since(&format!("{times} of {all} pending branches are from the line of"), first, describe)
    };
    let most = lines.first().map(|&(first, _)| first);
    (lines.iter().take(BRANCHES_MAX).map(note).collect(), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not tested with a program: kernels crash on such programs.
    #[test]
    fn branches_that_wait_most_come_first() {
        let waiting: Vec<usize> =
            (0..10).flat_map(|round| [4, if round < 3 { 7 } else { 4 }]).collect();
        let (told, most) = branches(&waiting, &|_| None);
        assert_eq!(most, Some(4));
        let texts: Vec<&str> = told.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "17 of 20 pending branches are from the line of insn 4",
                "3 of 20 pending branches are from the line of insn 7"
            ]
        );
    }
}
