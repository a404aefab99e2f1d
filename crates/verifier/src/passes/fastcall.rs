//! Spills and fills around calls that clobber fewer registers than usual (`bpf_fastcall`).
//!
//! A compiler that supports the attribute emits, for kernels that do not,
//!
//! ```text
//!   *(u64 *)(r10 - 16) = r1
//!   *(u64 *)(r10 - 8) = r2
//!   call bpf_get_smp_processor_id
//!   r2 = *(u64 *)(r10 - 8)
//!   r1 = *(u64 *)(r10 - 16)
//! ```
//!
//! with stack slots that are not used otherwise. This pass finds the pattern. The walk reports
//! every other access to those slots, which invalidates the patterns of the whole subprog; if none
//! was reported, the slots do not count towards the stack depth.
//!
//! Kernel: `mark_fastcall_patterns`, `check_fastcall_stack_contract`, 6.18; and the effect of
//! `remove_fastcall_spills_fills` on the stack depth (no insn is rewritten here).

use super::call_facts::Callees;
use super::live_regs::CALLER_SAVED;
use super::subprogs::Subprogs;
use skep_insn::code::*;
use skep_insn::{Insn, Reg};
use skep_uapi::limits::BPF_REG_SIZE_BYTES;

/// The patterns of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fastcall {
    /// For each insn: whether it is a spill or fill of a pattern (of any call, fastcall or not).
    in_pattern: Vec<bool>,
    /// For each insn: the number of spills around it, if it is a fastcall.
    spills: Vec<u8>,
    /// One for each subprog.
    subprogs: Vec<SubprogFastcall>,
}

/// Summary of the patterns of a subprog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SubprogFastcall {
    /// Stack slots below this offset (from `r10`) belong to patterns.
    stack_off: i16,
    /// A call that is not a fastcall (on this kernel) also uses the slots, so they stay.
    keep_stack: bool,
}

/// Size of a stack slot.
const BPF_REG_SIZE: i16 = BPF_REG_SIZE_BYTES as i16;
const R10: Reg = 10;

/// Finds the patterns.
pub(crate) fn mark_fastcall_patterns<C: Callees>(
    insns: &[Insn],
    subprogs: &Subprogs,
    callees: &C,
) -> Fastcall {
    let mut fastcall = Fastcall::none(insns, subprogs);
    for subprog in 0..subprogs.count() {
        let range = subprogs.start(subprog) as usize..subprogs.end(subprog) as usize;
        let spills = insns[range.clone()].iter().filter(|insn| is_spill(insn));
        let lowest_off = spills.map(|insn| insn.off).min().unwrap_or(0).min(0);
        for idx in range {
            if insns[idx].code == BPF_JMP | BPF_CALL {
                fastcall.mark_call(insns, callees, Call { subprog, idx, lowest_off });
            }
        }
    }
    fastcall
}

fn is_spill(insn: &Insn) -> bool {
    insn.code == BPF_STX | BPF_MEM | BPF_DW && insn.dst == R10
}

fn is_fill(insn: &Insn) -> bool {
    insn.code == BPF_LDX | BPF_MEM | BPF_DW && insn.src == R10
}

/// A call that may be in a pattern.
#[derive(Clone, Copy)]
struct Call {
    subprog: usize,
    idx: usize,
    /// The slots of its pattern are from here upwards.
    lowest_off: i16,
}

impl Fastcall {
    /// No patterns.
    pub(crate) fn none(insns: &[Insn], subprogs: &Subprogs) -> Fastcall {
        Fastcall {
            in_pattern: vec![false; insns.len()],
            spills: vec![0; insns.len()],
            subprogs: vec![SubprogFastcall::default(); subprogs.count()],
        }
    }

    /// Searches around the call for pairs of spill and fill.
    fn mark_call<C: Callees>(&mut self, insns: &[Insn], callees: &C, call: Call) {
        let Call { subprog, idx, lowest_off } = call;
        let facts = callees.of(&insns[idx]);
        let Some(num_params) = facts.num_params else {
            return;
        };
        let params = ((1u16 << (num_params.min(5) + 1)) - 1) & !1;
        let clobbered = params | u16::from(!facts.is_void);
        // Registers that the callee clobbers need not be saved, so they are in no pattern.
        let mut expected = CALLER_SAVED & !clobbered;
        let mut pairs: u8 = 0;
        let mut off = lowest_off;
        while pairs < 6 {
            let distance = usize::from(pairs) + 1;
            let before = idx.checked_sub(distance).map(|i| (i, &insns[i]));
            let after = insns.get(idx + distance).map(|insn| (idx + distance, insn));
            let (Some((spill_idx, spill)), Some((fill_idx, fill))) = (before, after) else {
                break;
            };
            let same_slot = spill.off == off && fill.off == off;
            let same_reg = spill.src == fill.dst && expected & (1 << spill.src) != 0;
            if !is_spill(spill) || !is_fill(fill) || !same_reg || !same_slot {
                break;
            }
            expected &= !(1 << spill.src);
            self.in_pattern[spill_idx] = true;
            self.in_pattern[fill_idx] = true;
            pairs += 1;
            off = off.saturating_add(BPF_REG_SIZE);
        }
        if pairs == 0 {
            return;
        }
        let of_subprog = &mut self.subprogs[subprog];
        if facts.fastcall {
            self.spills[idx] = pairs;
        } else {
            of_subprog.keep_stack = true;
        }
        of_subprog.stack_off = of_subprog.stack_off.min(off);
    }

    /// Reports an access to the stack of `subprog` at `off`, or from `off` upwards, by the insn at
    /// `idx` (of this function or of one that it calls): invalidates the patterns of the subprog if
    /// the access touches their slots.
    ///
    /// Kernel: `check_fastcall_stack_contract`.
    pub(crate) fn check_stack_contract(
        &mut self,
        subprogs: &Subprogs,
        subprog: usize,
        idx: usize,
        off: i32,
    ) {
        let of_subprog = &mut self.subprogs[subprog];
        if i32::from(of_subprog.stack_off) <= off || self.in_pattern[idx] {
            return;
        }
        of_subprog.stack_off = i16::MIN;
        let range = subprogs.start(subprog) as usize..subprogs.end(subprog) as usize;
        self.in_pattern[range.clone()].fill(false);
        self.spills[range].fill(0);
    }

    /// Number of removed spills before, and fills after, the insn at `idx`.
    pub(crate) fn spills_around(&self, idx: usize) -> usize {
        self.spills.get(idx).copied().unwrap_or(0).into()
    }

    /// Stack depth of `subprog` after the walk, which determined `depth`: without the slots of the
    /// patterns if they can be removed.
    ///
    /// Kernel: `remove_fastcall_spills_fills`.
    pub(crate) fn final_stack_depth(&self, subprogs: &Subprogs, subprog: usize, depth: u16) -> u16 {
        let range = subprogs.start(subprog) as usize..subprogs.end(subprog) as usize;
        let of_subprog = self.subprogs[subprog];
        if of_subprog.keep_stack || self.spills[range].iter().all(|&n| n == 0) {
            return depth;
        }
        of_subprog.stack_off.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::super::program_fixture::*;
    use super::*;

    /// Depth of the only subprog; reports every stack access, like the walk.
    fn depth(body: &[Insn]) -> u16 {
        let mut insns: Vec<Insn> = (1..6).map(|reg| mov(reg, 1)).collect();
        insns.extend_from_slice(body);
        insns.extend([mov(0, 0), exit()]);
        let subprogs = subprogs_of(&insns);
        let mut fastcall = mark_fastcall_patterns(&insns, &subprogs, &SocketFilter);
        let mut depth = 0;
        for (idx, insn) in insns.iter().enumerate() {
            let is_store = matches!(insn.class(), BPF_ST | BPF_STX) && insn.dst == R10;
            if is_store || insn.class() == BPF_LDX && insn.src == R10 {
                fastcall.check_stack_contract(
                    &subprogs,
                    subprogs.containing(idx),
                    idx,
                    i32::from(insn.off),
                );
                depth = depth.max(insn.off.unsigned_abs().next_multiple_of(8));
            }
        }
        fastcall.final_stack_depth(&subprogs, 0, depth)
    }

    fn store(off: i16) -> Insn {
        insn(BPF_ST | BPF_MEM | BPF_DW, R10, 0, off, 1)
    }

    /// Helper 8 is a fastcall, helper 5 is not.
    #[test]
    fn stack_depth_is_the_kernels() {
        let (s, f, fast, slow) = (spill, fill, helper(8), helper(5));
        let table: [(u16, &[Insn]); 14] = [
            (0, &[s(-8, 1), fast, f(1, -8)]),
            (16, &[s(-16, 1), s(-8, 2), fast, f(2, -8), f(1, -16)]),
            (0, &[s(-8, 1), s(-16, 2), fast, f(2, -16), f(1, -8)]),
            (8, &[mov(0, 0), s(-8, 0), fast, f(0, -8)]),
            (8, &[mov(6, 0), s(-8, 6), fast, f(6, -8)]),
            (8, &[s(-8, 1), fast, f(1, -8), store(-8)]),
            (8, &[store(-8), s(-16, 1), fast, f(1, -16)]),
            (16, &[store(-8), s(-24, 1), fast, f(1, -24)]),
            (8, &[s(-8, 1), s(-16, 2), fast, f(2, -16), f(1, -8), s(-16, 1), fast, f(1, -16)]),
            (8, &[s(-8, 1), slow, f(1, -8)]),
            (8, &[s(-8, 1), slow, f(1, -8), s(-8, 1), fast, f(1, -8)]),
            (8, &[s(-8, 1), slow, f(1, -8), s(-16, 1), fast, f(1, -16)]),
            (24, &[store(-24), s(-16, 1), fast, f(1, -16)]),
            (0, &[mov(0, 0), jeq(0, 0, 0), s(-8, 1), fast, f(1, -8)]),
        ];
        for (row, (expected, body)) in table.into_iter().enumerate() {
            assert_eq!(depth(body), expected, "row {row}");
        }
    }
}
