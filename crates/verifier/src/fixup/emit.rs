//! The program being written: new insns, where each came from, and the jumps to set right at the
//! end.
//!
//! # Invariants
//! 1. A rewrite appends whole sequences between two `begin`s; jumps inside a sequence are relative
//!    and final, jumps out of it name an insn of the old program.

use super::Source;
use crate::passes::call_facts::{is_pseudo_call, is_pseudo_func};
use crate::xlated::{InsnFacts, NotSupported, SubprogFacts, Xlated};
use skep_insn::Insn;
use skep_insn::code::*;

/// The new program.
pub(super) struct Emit {
    out: Xlated,
    /// Index of the first new insn of each old one, and one past the end.
    start_of: Vec<u32>,
    /// New insns whose target is an old insn.
    targets: Vec<(u32, u32)>,
    /// The old insn that is being rewritten.
    old: u32,
}

impl Emit {
    /// An empty program for one of `len` insns.
    pub(super) fn new(len: usize) -> Emit {
        let mut out = Xlated::default();
        out.insns.reserve(len);
        out.origin.reserve(len);
        Emit { out, start_of: Vec::with_capacity(len + 1), targets: Vec::new(), old: 0 }
    }

    /// What follows is made from the old insn `idx`; to be called for each, in order.
    pub(super) fn begin(&mut self, idx: usize) {
        self.old = idx as u32;
        self.start_of.push(self.out.insns.len() as u32);
    }

    /// Appends an insn.
    pub(super) fn push(&mut self, insn: Insn) {
        self.out.insns.push(insn);
        self.out.origin.push(self.old);
        self.out.facts.push(InsnFacts::default());
    }

    /// Appends a jump, a call or a `BPF_PSEUDO_FUNC` load to the old insn `target`.
    pub(super) fn push_to(&mut self, insn: Insn, target: u32) {
        self.targets.push((self.out.insns.len() as u32, target));
        self.push(insn);
    }

    /// Facts of the insn that was appended last.
    pub(super) fn facts(&mut self) -> Option<&mut InsnFacts> {
        self.out.facts.last_mut()
    }

    /// Notes that the context is touched up to `end` bytes.
    pub(super) fn touch_ctx(&mut self, end: u32) {
        self.out.ctx_bytes = self.out.ctx_bytes.max(end);
    }

    /// Sets the jumps right and lists the subprogs.
    pub(super) fn finish(mut self, source: &Source<'_>) -> Result<Xlated, NotSupported> {
        self.start_of.push(self.out.insns.len() as u32);
        for &(at, old_target) in &self.targets {
            let Some(&target) = self.start_of.get(old_target as usize) else {
                return Err(NotSupported::new("a jump out of the program"));
            };
            let distance = i64::from(target) - i64::from(at) - 1;
            set_distance(&mut self.out.insns[at as usize], distance)?;
        }
        self.list_subprogs(source);
        Ok(self.out)
    }

    fn list_subprogs(&mut self, source: &Source<'_>) {
        let named = |wanted: fn(&Insn) -> bool| -> Vec<u32> {
            let insns = self.out.insns.iter().enumerate().filter(|(_, insn)| wanted(insn));
            insns.map(|(at, insn)| (at as i64 + 1 + i64::from(insn.imm)) as u32).collect()
        };
        let (called, taken) = (named(is_pseudo_call), named(is_pseudo_func));
        let end = self.out.insns.len() as u32;
        let new_start = |old: u32| self.start_of.get(old as usize).copied().unwrap_or(end);
        let mut subprogs: Vec<SubprogFacts> = Vec::new();
        if source.program.is_some() {
            let bounds = source.walked.subprogs.iter().map(|info| new_start(info.start));
            let ends = bounds.skip(1).chain([end]);
            for (info, end) in source.walked.subprogs.iter().zip(ends) {
                subprogs.push(SubprogFacts {
                    name: info.name.clone(),
                    start: new_start(info.start),
                    end,
                    stack_depth_bytes: info.stack_depth.next_multiple_of(8),
                    makes_tail_call: info.has_tail_call,
                    tail_call_reachable: info.tail_call_reachable,
                    ..SubprogFacts::default()
                });
            }
        } else {
            let mut starts: Vec<u32> = [&[0], &called[..], &taken[..]].concat();
            starts.sort_unstable();
            starts.dedup();
            for (i, &start) in starts.iter().enumerate() {
                let end = starts.get(i + 1).copied().unwrap_or(end);
                subprogs.push(SubprogFacts {
                    start,
                    end,
                    stack_depth_bytes: 512,
                    ..SubprogFacts::default()
                });
            }
        }
        // Functions that no path walked are gone.
        subprogs.retain(|s| s.start < s.end);
        for subprog in &mut subprogs {
            subprog.is_called = called.contains(&subprog.start);
            subprog.is_callback = taken.contains(&subprog.start);
        }
        self.out.subprogs = subprogs;
    }
}

/// Makes `insn` land `distance` insns after the next.
fn set_distance(insn: &mut Insn, distance: i64) -> Result<(), NotSupported> {
    let wide = i32::try_from(distance).map_err(|_| NotSupported::new("a program so long"))?;
    if is_pseudo_call(insn) || is_pseudo_func(insn) || insn.code == BPF_JMP32 | BPF_JA {
        insn.imm = wide;
        return Ok(());
    }
    match i16::try_from(distance) {
        Ok(off) => insn.off = off,
        Err(_) if insn.code == BPF_JMP | BPF_JA => {
            *insn = Insn { code: BPF_JMP32 | BPF_JA, imm: wide, ..Insn::default() };
        }
        Err(_) => return Err(NotSupported::new("a conditional jump over 32767 insns")),
    }
    Ok(())
}
