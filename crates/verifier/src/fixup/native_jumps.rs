//! Whether the kernel's JIT compiler may give up because it does not find the lengths of jumps.
//!
//! A jump within 127 bytes is shorter than another. The compiler goes over a function until its
//! length stays the same, taking the addresses before a jump from this round and those after it
//! from the last, and then once more to write the code. A forward jump that gets longer makes a
//! jump back to a place behind it look shorter: if each crosses the other and both are of about
//! that length, the last round may need another length than the one before, and the program is
//! refused.
//!
//! The rounds are those of the kernel, but not all lengths of native code are known. Where some are
//! not, several are tried: if the program is refused with one of them there is no verdict, and one
//! that would be refused with others goes unnoticed.
//!
//! Source: the results of the kernels; lengths of instructions from Intel's manual.

use super::left;
use super::native_bytes::{Bytes, native_bytes};
use crate::env::Env;
use crate::rejection::{Check, FlowFault, reject, unsupported};
use skep_insn::code::*;
use std::ops::Range;

/// The distances, in bytes, at which the length of a jump may change: 127 forward and 128 back,
/// give or take the growth of other jumps.
const NEAR: (u32, u32) = (112, 144);
const ROUNDS_MAX: usize = 20;
/// The round from which a jump that gets shorter is filled up.
const FILLED_FROM: usize = 15;
/// The length that every insn has at first.
const FIRST: i64 = 64;
/// Lengths that are tried where some are not known.
const TRIES_MAX: u32 = 112;

/// Checks a walked program, for kernels that do not always find the lengths.
pub(super) fn check(env: &mut Env<'_>) -> Check {
    let is_left = left::insns_left(env);
    let facts = env.facts;
    for range in facts.layout.ranges() {
        let function = Function::new(env, range, &is_left);
        let Some(insn_idx) = function.crossing() else { continue };
        env.walk.insn_idx = insn_idx as u32;
        match function.settles() {
            Settles::Always => {}
            Settles::Never => reject!(ENOTSUPP, FlowFault::JumpsNotCompiled),
            Settles::NotKnown => {
                return unsupported(
                    "jumps across each other whose lengths this kernel's JIT compiler may not find",
                );
            }
        }
    }
    Ok(())
}

/// Whether the lengths are found.
enum Settles {
    Always,
    Never,
    /// Not with each length of an instruction whose length is not known.
    NotKnown,
}

/// What is left of a function.
struct Function {
    natives: Vec<Native>,
}

struct Native {
    insn_idx: usize,
    /// Without the jump.
    bytes: Bytes,
    jump: Option<Jump>,
}

#[derive(Clone, Copy)]
struct Jump {
    is_conditional: bool,
    /// Position in the function.
    target: usize,
}

impl Jump {
    /// The bytes to jump that far.
    fn bytes(self, distance: i64) -> i64 {
        match (self.is_conditional, distance) {
            (false, 0) => 0,
            (_, -128..=127) => 2,
            (false, _) => 5,
            (true, _) => 6,
        }
    }
}

impl Function {
    fn new(env: &Env<'_>, range: Range<usize>, is_left: &[bool]) -> Function {
        let insns = &env.facts.insns;
        let is_second = |idx: usize| idx > range.start && insns[idx - 1].is_ld_imm64();
        let first = |&idx: &usize| is_left[idx] && !is_second(idx);
        // The position of the first insn that is left at or after each.
        let mut at = Vec::with_capacity(range.len() + 1);
        let mut position = 0;
        for idx in range.clone() {
            at.push(position);
            position += usize::from(first(&idx));
        }
        at.push(position);
        let is_exit = |idx: &usize| insns[*idx].code == BPF_JMP | BPF_EXIT;
        let exit = range.clone().filter(first).find(is_exit);
        let natives = range.clone().filter(first).map(|idx| {
            let insn = insns[idx];
            let target = insn.jump_target(idx).filter(|target| range.contains(target));
            let always = target.is_some() && left::always_jumps(env, idx);
            let jump = target
                .map(|target| Jump { is_conditional: !always, target: at[target - range.start] });
            // Every `exit` but the first jumps to that.
            let leaves = exit.filter(|&exit| is_exit(&idx) && exit != idx);
            let leaves =
                leaves.map(|exit| Jump { is_conditional: false, target: at[exit - range.start] });
            let bytes = if always || leaves.is_some() { (0, 0) } else { native_bytes(env, idx) };
            Native { insn_idx: idx, bytes, jump: jump.or(leaves) }
        });
        let mut function = Function { natives: natives.collect() };
        function.settle_beside();
        function
    }

    /// Takes one length for what no jump goes over: any will do.
    fn settle_beside(&mut self) {
        let mut change = vec![0; self.natives.len() + 1];
        for (at, jump) in self.jumps() {
            change[jump.target.min(at + 1)] += 1;
            change[jump.target.max(at + 1)] -= 1;
        }
        let mut over = 0;
        for (native, change) in self.natives.iter_mut().zip(change) {
            over += change;
            if over == 0 {
                native.bytes.1 = native.bytes.0;
            }
        }
    }

    fn jumps(&self) -> impl Iterator<Item = (usize, Jump)> {
        self.natives.iter().enumerate().filter_map(|(at, native)| Some((at, native.jump?)))
    }

    /// A jump back that may cross a forward one, both about as long as the short form reaches.
    fn crossing(&self) -> Option<usize> {
        let mut sum = (0, 0);
        let after = self.natives.iter().map(|native| {
            let most = native.jump.map_or(0, |jump| if jump.is_conditional { 6 } else { 5 });
            sum = (sum.0 + native.bytes.0, sum.1 + native.bytes.1 + most);
            sum
        });
        let at: Vec<Bytes> = std::iter::once((0, 0)).chain(after).collect();
        let is_near = |from: usize, to: usize| {
            at[to].0 - at[from].0 <= NEAR.1 && at[to].1 - at[from].1 >= NEAR.0
        };
        let forward: Vec<(usize, usize)> = self
            .jumps()
            .filter(|&(from, jump)| jump.target > from && is_near(from + 1, jump.target))
            .map(|(from, jump)| (from, jump.target))
            .collect();
        let is_crossed = |head: usize| {
            let is_too_far = |&(from, _): &(usize, usize)| at[head].0 > at[from + 1].0 + NEAR.1;
            forward[forward.partition_point(is_too_far)..]
                .iter()
                .take_while(|&&(from, _)| from < head)
                .any(|&(_, to)| head < to)
        };
        self.jumps()
            .filter(|&(from, jump)| jump.target <= from && is_near(jump.target, from + 1))
            .find(|(_, back)| is_crossed(back.target))
            .map(|(from, _)| self.natives[from].insn_idx)
    }

    fn settles(&self) -> Settles {
        let unknown = self.natives.iter().map(|native| native.bytes.1 - native.bytes.0);
        let tries = unknown.max().unwrap_or(0).min(TRIES_MAX);
        let all = (0..=tries).all(|n| {
            let bytes = |(least, most): Bytes| i64::from(least + (most - least) * n / tries.max(1));
            let native = |native: &Native| (bytes(native.bytes), native.jump);
            settles(&self.natives.iter().map(native).collect::<Vec<_>>())
        });
        match (all, tries) {
            (true, _) => Settles::Always,
            (false, 0) => Settles::Never,
            (false, _) => Settles::NotKnown,
        }
    }
}

/// Whether the compiler finds the lengths.
fn settles(natives: &[(i64, Option<Jump>)]) -> bool {
    // The end of each insn; the first is that of what precedes them all.
    let mut ends: Vec<i64> = (1..=natives.len() as i64 + 1).map(|n| n * FIRST).collect();
    let mut last = 0;
    for round in 0..ROUNDS_MAX {
        let Some(length) = go_over(natives, &mut ends, round >= FILLED_FROM) else { return false };
        if length == last {
            let filled = round + 1 >= FILLED_FROM;
            return go_over(natives, &mut ends, filled) == Some(length);
        }
        last = length;
    }
    false
}

/// One round; the length of the function. `None` if a jump cannot be filled up.
fn go_over(natives: &[(i64, Option<Jump>)], ends: &mut [i64], fills: bool) -> Option<i64> {
    let mut length = 0;
    ends[0] = 0;
    for (at, &(bytes, jump)) in natives.iter().enumerate() {
        let mut native = bytes;
        if let Some(jump) = jump {
            let needed = jump.bytes(ends[jump.target] - ends[at + 1]);
            // As the compiler computes it, although one of the two ends is of this round.
            let had = ends[at + 1] - ends[at] - bytes;
            native += match (jump.is_conditional, needed) {
                _ if !fills => needed,
                (true, 2) => Some(had).filter(|had| [2, 6].contains(had))?,
                (false, 2) => Some(had).filter(|had| [2, 5].contains(had))?,
                (false, 0) => Some(had).filter(|had| [0, 2, 5].contains(had))?,
                _ => needed,
            };
        }
        length += native;
        ends[at + 1] = length;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The programs of `tests/kernels/witnesses/jumps.bpf.c`: `moves` instructions of three bytes
    /// between the jump back and its target, `after` bytes before that of the forward jump.
    fn settles_across(moves: usize, after: &[i64]) -> bool {
        let plain = |bytes: i64| (bytes, None);
        let jump = |bytes, is_conditional, target| (bytes, Some(Jump { is_conditional, target }));
        let out = 8 + moves + 1;
        let end = out + 1 + after.len();
        let mut natives = vec![plain(5), plain(3), plain(5), plain(5)];
        natives.extend([jump(4, true, 8), jump(4, true, out), plain(4), jump(0, false, end)]);
        natives.extend(std::iter::repeat_n(plain(3), moves));
        natives.extend([jump(0, false, 6), plain(5)]);
        natives.extend(after.iter().copied().map(plain));
        natives.extend([plain(2), plain(16)]);
        settles(&natives)
    }

    /// As 5.13, 5.15.0-25, 5.19 and 6.8.0-31 answered.
    #[test]
    fn lengths_of_jumps_across_each_other_are_found_but_at_one_distance() {
        let mut given_up = Vec::new();
        for moves in 28..=41 {
            for after in [&[][..], &[2], &[3], &[2, 2], &[2, 3]] {
                if !settles_across(moves, after) {
                    given_up.push((moves, after.iter().sum::<i64>()));
                }
            }
        }
        assert_eq!(given_up, [(38, 4), (38, 5)]);
    }
}
