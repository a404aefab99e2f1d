//! The loops and functions in which the insns of the budget were spent, from the profile of the
//! walk.
//!
//! # Invariants
//! 1. The cost of a call is also part of the cost of the calling insn, so a loop's share includes
//!    the functions called in it.

use crate::diagnosis::held::successors;
use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{Described, since};
use crate::insn::code::{BPF_ADD, BPF_ALU, BPF_ALU64};
use crate::insn_text::function_name;
use crate::profile::{Apart, KeptApart, Profile};
use crate::program::Program;
use std::ops::{Range, RangeInclusive};

/// Minimum number of call paths to be mentioned.
const CALL_PATHS_MIN: u64 = 4;

/// A loop with less than one in this many insns is not named.
const LEAST_SHARE: u64 = 5;

/// Cost of each insn, including the functions it calls.
struct Costs {
    /// Insns.
    insns: Vec<u64>,
    /// Visits of the insn itself.
    visits: Vec<u64>,
    total: u64,
}

pub(super) fn notes(
    program: &Program,
    profile: &Profile,
    describe: &impl Fn(usize) -> Described,
) -> (Vec<Note>, Option<usize>) {
    let costs = Costs::of(program, profile);
    let total = costs.total;
    let mut notes = Vec::new();
    let loops = back_edges(program);
    let here = costs.smallest_half(&loops);
    let callback = costs.callback(program, profile).filter(|_| here.is_none());
    let here = here.or_else(|| costs.largest(&loops).filter(|_| callback.is_none()));
    if let Some((call, insns)) = callback {
        let share = percent(costs.insns[call], total);
        let name = function_name(program, insns.start);
        let says = format!("{share} % of {total} insns were in `{name}`, the callback of");
        notes.push(since(&says, call, describe));
        let place = insns.start..=insns.end;
        notes.extend(kept_apart(program, profile, &place, true, describe));
        return (notes, Some(call));
    }
    let head = here.as_ref().map(|insns| head(insns, describe).unwrap_or(*insns.end()));
    let is_iterator = here.as_ref().is_some_and(|insns| has_iterator(insns, describe));
    if let Some(insns) = &here {
        let (first, last) = (*insns.start(), *insns.end());
        let share = percent(costs.sum(insns), total);
        let rounds = costs.visits[first];
        let kind = if is_iterator { "a loop over an iterator" } else { "a loop" };
        let says = format!(
            "{share} % of {total} insns were in {rounds} iterations of {kind}, insns {first} to {last}; \
             its back-edge is at"
        );
        notes.push(since(&says, last, describe));
    }
    notes.extend(repeated_function(program, profile, &costs));
    let place = here.unwrap_or(0..=program.insns.len());
    notes.extend(kept_apart(program, profile, &place, is_iterator, describe));
    (notes, head)
}

/// Whether a loop asks an iterator for its next value.
pub(super) fn has_iterator(
    insns: &RangeInclusive<usize>,
    describe: &impl Fn(usize) -> Described,
) -> bool {
    let asks = |(text, _): (String, _)| text.contains("call bpf_iter_") && text.contains("_next#");
    insns.clone().any(|idx| describe(idx).is_some_and(asks))
}

impl Costs {
    fn of(program: &Program, profile: &Profile) -> Costs {
        // One more: a walk may end after the last insn.
        let mut insns = vec![0; program.insns.len() + 1];
        let mut visits = insns.clone();
        let paths = profile.paths();
        let mut of_path = vec![0; paths.len()];
        for spent in profile.costs() {
            let times = u64::from(spent.cost.insns);
            of_path[spent.path] += times;
            for of in [&mut insns, &mut visits] {
                of.get_mut(spent.insn_idx).into_iter().for_each(|sum| *sum += times);
            }
        }
        let total = of_path.iter().sum();
        // Parents precede their children.
        for (number, path) in paths.iter().enumerate().rev() {
            if let Some(parent) = path.parent {
                of_path[parent] += of_path[number];
            }
            if let Some(sum) = path.call.and_then(|call| insns.get_mut(call)) {
                *sum += of_path[number];
            }
        }
        Costs { insns, visits, total }
    }

    fn sum(&self, insns: &RangeInclusive<usize>) -> u64 {
        self.insns.get(insns.clone()).unwrap_or_default().iter().sum::<u64>().min(self.total)
    }

    /// The call of a helper in whose callback at least half of the total was spent, and the insns
    /// of the callback.
    fn callback(&self, program: &Program, profile: &Profile) -> Option<(usize, Range<usize>)> {
        let calls = profile.paths().iter().filter_map(|path| Some((path.call?, &path.insns)));
        let is_large = |(call, _): &(usize, &Range<usize>)| {
            let calls_helper = program.insns.get(*call).is_some_and(|insn| !insn.is_pseudo_call());
            calls_helper && self.insns[*call] * 2 >= self.total
        };
        let (call, insns) = calls.filter(is_large).min_by_key(|(call, _)| self.insns[*call])?;
        Some((call, insns.clone()))
    }

    /// The smallest loop with at least half of the total.
    fn smallest_half(&self, loops: &[RangeInclusive<usize>]) -> Option<RangeInclusive<usize>> {
        let large = loops.iter().filter(|insns| self.sum(insns) * 2 >= self.total);
        large.min_by_key(|insns| insns.end() - insns.start()).cloned()
    }

    /// The loop with most of the insns, if that is a share worth naming: what follows a loop is
    /// walked after each of its iterations.
    fn largest(&self, loops: &[RangeInclusive<usize>]) -> Option<RangeInclusive<usize>> {
        let largest = loops.iter().max_by_key(|insns| self.sum(insns))?;
        (self.sum(largest) * LEAST_SHARE >= self.total).then(|| largest.clone())
    }
}

/// Loops: from the target of a back edge to its jump. A jump backward to what does not lead to it
/// again, such as a common end, is not a back edge.
fn back_edges(program: &Program) -> Vec<RangeInclusive<usize>> {
    let insns = &program.insns;
    // Insns seen by a depth-first search, and those on its current path.
    let (mut seen, mut on_path) = (vec![false; insns.len()], vec![false; insns.len()]);
    let mut loops = Vec::new();
    for root in 0..insns.len() {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        on_path[root] = true;
        let mut path = vec![(root, successors(insns[root], root))];
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            match next.pop() {
                Some(to) if to >= insns.len() => {}
                Some(to) if on_path[to] && to <= at && insns[at].jump_target(at) == Some(to) => {
                    loops.push(to..=at);
                }
                Some(to) if !std::mem::replace(&mut seen[to], true) => {
                    on_path[to] = true;
                    path.push((to, successors(insns[to], to)));
                }
                Some(_) => {}
                None => {
                    on_path[at] = false;
                    path.pop();
                }
            }
        }
    }
    loops.sort_by_key(|insns| *insns.end());
    loops
}

/// The insn whose source line begins a loop: the last one before the back edge, because most loops
/// have their condition at the end, or the check before the first iteration; the jump itself, if no
/// line looks like a loop.
pub(super) fn head(
    insns: &RangeInclusive<usize>,
    describe: &impl Fn(usize) -> Described,
) -> Option<usize> {
    const BEGIN: [&str; 6] = ["for", "while", "do", "bpf_for", "bpf_for_each", "bpf_repeat"];
    /// Maximum distance of the check before the first iteration.
    const BEFORE: usize = 12;
    let begins = |idx: &usize| {
        let spot = describe(*idx).and_then(|(_, spot)| spot);
        spot.is_some_and(|spot| {
            let is_word = |c: char| c == '_' || c.is_alphanumeric();
            spot.text.split(|c| !is_word(c)).any(|word| BEGIN.contains(&word))
        })
    };
    let before = insns.start().saturating_sub(BEFORE)..*insns.start();
    insns.clone().rev().find(begins).or_else(|| before.rev().find(begins))
}

/// The smallest loop around an insn.
pub(super) fn around(program: &Program, idx: usize) -> Option<RangeInclusive<usize>> {
    let loops = back_edges(program).into_iter().filter(|insns| insns.contains(&idx));
    loops.min_by_key(|insns| insns.end() - insns.start())
}

/// The function with the highest cost, if it was walked on several call paths.
fn repeated_function(program: &Program, profile: &Profile, costs: &Costs) -> Option<Note> {
    let mut functions: std::collections::HashMap<usize, (u64, u64)> = Default::default();
    let paths = profile.paths();
    for (number, path) in paths.iter().enumerate() {
        let walked = functions.entry(path.insns.start).or_default();
        walked.0 += u64::from(path.parent.is_some() && number > 0);
    }
    for spent in profile.costs() {
        let start = paths[spent.path].insns.start;
        functions.entry(start).or_default().1 += u64::from(spent.cost.insns);
    }
    let (start, (paths, insns)) =
        functions.into_iter().max_by_key(|&(start, (_, insns))| (insns, start))?;
    let name = function_name(program, start);
    let share = percent(insns, costs.total);
    let text =
        format!("{share} % of insns were in `{name}`, which was verified on {paths} call paths");
    (paths >= CALL_PATHS_MIN).then_some(Note { text, at: None })
}

/// The most frequent difference between states compared at a place. One that is walked until its
/// state repeats is always compared with unfinished states, too.
fn kept_apart(
    program: &Program,
    profile: &Profile,
    place: &RangeInclusive<usize>,
    settles: bool,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    let all = profile.kept_apart();
    let tells = |reason: &&KeptApart| !settles || reason.why != Apart::Unfinished;
    let mut here = all.iter().filter(|reason| place.contains(&reason.insn_idx));
    let reason = here.find(tells)?;
    let times = reason.times;
    if reason.why == Apart::Unfinished {
        let text = format!(
            "no iteration was pruned: {times} comparisons were with unfinished states of the loop"
        );
        return Some(Note { text, at: None });
    }
    let named = counter(reason, program, describe).map(|name| format!("`{name}`, "));
    let (named, differs) = (named.unwrap_or_default(), difference(reason));
    let says = format!("{times} comparisons did not prune because of {named}{differs}");
    Some(match reason.needed_by {
        Some(by) => since(&format!("{says}, which is needed by"), by, describe),
        None => since(&format!("{says}, at"), reason.insn_idx, describe),
    })
}

/// What the source calls a register that differs, if the function that needs its value counts with
/// it: `i` where a line with `i++` adds to the register.
fn counter(
    reason: &KeptApart,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<String> {
    let Apart::Register { regno, .. } = reason.why else { return None };
    let by = reason.needed_by.unwrap_or(reason.insn_idx);
    let function = program.function_range(by);
    let adds = |idx: &usize| {
        let insn = &program.insns[*idx];
        let is_sum = matches!(insn.class(), BPF_ALU | BPF_ALU64) && insn.op() == BPF_ADD;
        is_sum && insn.dst == regno && !insn.is_src_reg()
    };
    let insns = function.start..function.end.min(program.insns.len());
    let lines = insns.filter(adds).filter_map(|idx| describe(idx)?.1);
    let mut names: Vec<String> =
        lines.filter_map(|spot| Some(counted(&spot.text)?.to_owned())).collect();
    names.dedup();
    names.pop().filter(|_| names.is_empty())
}

/// The one variable to which a line adds.
fn counted(line: &str) -> Option<&str> {
    let is_of_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let mut found: Option<&str> = None;
    for (at, _) in line.match_indices("++").chain(line.match_indices("+=")) {
        let before = line[..at].trim_end();
        let start = before.trim_end_matches(is_of_name).len();
        let after = &line[at + 2..];
        let end = after.len() - after.trim_start_matches(is_of_name).len();
        let name = if start < before.len() { &before[start..] } else { &after[..end] };
        let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
        if !is_name || found.is_some_and(|known| known != name) {
            return None;
        }
        found = Some(name);
    }
    found
}

/// What differs between two states, with its values in both.
fn difference(reason: &KeptApart) -> String {
    match (&reason.saved, &reason.current) {
        (Some(saved), Some(current)) => format!("{}: {saved} / {current}", reason.why),
        _ => reason.why.to_string(),
    }
}

fn percent(part: u64, total: u64) -> u64 {
    part.saturating_mul(100).checked_div(total).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Costs, back_edges, counted};
    use crate::insn::Insn;
    use crate::insn::code::{BPF_EXIT, BPF_JA, BPF_JEQ, BPF_JMP};
    use crate::program::Program;

    #[test]
    fn a_jump_back_to_a_common_end_is_no_loop() {
        let jump = |op: u8, off: i16| Insn { code: BPF_JMP | op, off, ..Insn::default() };
        let loops = |insns: Vec<Insn>| back_edges(&Program { insns, ..Program::default() });
        let end = [jump(BPF_JA, 1), jump(BPF_EXIT, 0)];
        let with = |rest: &[Insn]| loops(end.iter().chain(rest).copied().collect());
        assert_eq!(with(&[jump(BPF_JEQ, -2), jump(BPF_JA, -3)]), []);
        assert_eq!(with(&[jump(BPF_JEQ, -2), jump(BPF_JA, -2)]), [2..=3]);
        assert_eq!(with(&[jump(BPF_JA, -1)]), [2..=2]);
        assert_eq!(with(&[jump(BPF_JA, -100), jump(BPF_JEQ, 100)]), []);
    }

    #[test]
    fn the_loop_that_is_named() {
        // Two loops, and what is walked after each iteration of them.
        let insns = vec![1, 20, 20, 1, 4, 4, 50];
        let costs = Costs { visits: insns.clone(), insns, total: 100 };
        let loops = [1..=2, 4..=5];
        assert_eq!(costs.smallest_half(&loops), None);
        assert_eq!(costs.largest(&loops), Some(1..=2));
        assert_eq!(costs.largest(&loops[1..]), None, "too small a share");
        assert_eq!(costs.largest(&[]), None);
    }

    #[test]
    fn the_variable_that_a_line_counts_with() {
        for (line, name) in [
            ("for (int i = 0; i < 8; i++) {", Some("i")),
            ("for (i = 0; i < 8; ++i)", Some("i")),
            ("offset += len;", Some("offset")),
            ("i++, j++;", None),
            ("a[i] += 1;", None),
            ("x = y + 1;", None),
        ] {
            assert_eq!(counted(line), name, "{line}");
        }
    }
}
