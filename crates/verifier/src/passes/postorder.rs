//! Successors of an insn within its subprog, and the order in which backward analyses visit insns.
//!
//! Kernel: `bpf_insn_successors`, `compute_postorder`, 6.18. The order affects the log of stack
//! liveness (its lines and its iteration counts), so it is the kernel's.

use super::subprogs::{Subprogs, jump_offset};
use skep_insn::Insn;
use skep_insn::code::*;

/// At most two insns that may run after an insn; a call is followed by the insn after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Successors {
    idx: [u32; 2],
    len: u8,
}

impl Successors {
    fn push(&mut self, idx: u32) {
        self.idx[usize::from(self.len)] = idx;
        self.len += 1;
    }
    /// The successors, fall-through first.
    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.idx[..usize::from(self.len)]
    }
}

/// Whether the insn only continues with the next slot.
#[inline]
pub(crate) fn is_plain(insn: &Insn) -> bool {
    !matches!(insn.class(), BPF_JMP | BPF_JMP32) && !insn.is_ld_imm64()
}

/// Successors of the insn at `idx`.
///
/// Precondition: `check_cfg` has accepted the program, so all of them exist.
pub(crate) fn successors(insns: &[Insn], idx: usize) -> Successors {
    let insn = &insns[idx];
    let mut succ = Successors::default();
    let is_jmp = matches!(insn.class(), BPF_JMP | BPF_JMP32);
    let (falls, jumps) = match insn.op() {
        _ if !is_jmp => (true, false),
        BPF_EXIT => (false, false),
        BPF_CALL => (true, false),
        BPF_JA => (false, true),
        _ => (true, true),
    };
    if falls {
        succ.push(idx as u32 + if insn.is_ld_imm64() { 2 } else { 1 });
    }
    if jumps {
        succ.push((idx as i64 + 1 + jump_offset(insn)) as u32);
    }
    succ
}

/// All insns of each subprog, successors before predecessors except in loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Postorder {
    /// Insns, subprog after subprog. Second halves of `ld_imm64` do not appear.
    pub(crate) insns: Vec<u32>,
    /// Start of each subprog in `insns`, then the length of `insns`.
    pub(crate) starts: Vec<u32>,
}

impl Postorder {
    /// The insns of one subprog.
    pub(crate) fn of(&self, subprog: usize) -> &[u32] {
        &self.insns[self.starts[subprog] as usize..self.starts[subprog + 1] as usize]
    }
}

const DISCOVERED: u8 = 1;
const EXPLORED: u8 = 2;

/// Computes the order for every subprog.
///
/// An insn counts as discovered when it is pushed, not when it is first visited. For a branch into
/// straight-line code that is also reached by fall-through, the order differs from a textbook
/// postorder.
pub(crate) fn compute_postorder(insns: &[Insn], subprogs: &Subprogs) -> Postorder {
    let mut order = Postorder {
        insns: Vec::with_capacity(insns.len()),
        starts: Vec::with_capacity(subprogs.count() + 1),
    };
    let mut state = vec![0u8; insns.len()];
    // Runs of insns (first and last) in each of which one leads to the next.
    let mut stack: Vec<(u32, u32)> = Vec::new();
    for &start in subprogs.starts() {
        order.starts.push(order.insns.len() as u32);
        state[start as usize] = DISCOVERED;
        stack.push((start, start));
        while let Some((first, last)) = stack.last_mut() {
            let mut top = *last as usize;
            if state[top] & EXPLORED != 0 {
                order.insns.extend((*first..=*last).rev());
                stack.pop();
                continue;
            }
            while is_plain(&insns[top]) && state.get(top + 1) == Some(&0) {
                state[top] |= EXPLORED;
                top += 1;
                state[top] = DISCOVERED;
            }
            *last = top as u32;
            state[top] |= EXPLORED;
            for &next in successors(insns, top).as_slice() {
                if state[next as usize] == 0 {
                    state[next as usize] = DISCOVERED;
                    stack.push((next, next));
                }
            }
        }
    }
    order.starts.push(order.insns.len() as u32);
    order
}
