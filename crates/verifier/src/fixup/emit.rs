//! The program being written: new insns, their origins, and the jumps to be fixed up at the end.
//!
//! # Invariants
//! 1. A rewrite appends whole sequences between two `begin`s; jumps inside a sequence are relative
//!    and final, jumps out of it name an insn of the old program.

use super::build::{alu_reg, call_helper, exit};
use super::may_goto_left::{COUNTER_BYTES, is_in};
use super::source::Source;
use crate::passes::call_facts::{is_pseudo_call, is_pseudo_func, is_tail_call};
use crate::xlated::{InsnFacts, NotSupported, OwnHelper, SubprogFacts, Xlated};
use skep_insn::Insn;
use skep_insn::code::*;

/// Name of the exception callback if the program declares none.
const DEFAULT_EXCEPTION_CB: &str = "default_exception_cb";

/// The new program.
pub(super) struct Emit {
    out: Xlated,
    /// Index of the first new insn of each old one, and one past the end.
    start_of: Vec<u32>,
    /// New insns whose target is an old insn.
    targets: Vec<(u32, u32)>,
    /// Functions with insns before their first old one: old index, first new insn.
    entries: Vec<(u32, u32)>,
    /// The old insn that is being rewritten.
    old: u32,
}

impl Emit {
    /// An empty program, for an old one of `len` insns.
    pub(super) fn new(len: usize) -> Emit {
        let mut out = Xlated::default();
        out.insns.reserve(len);
        out.origin.reserve(len);
        Emit {
            out,
            start_of: Vec::with_capacity(len + 1),
            targets: Vec::new(),
            entries: Vec::new(),
            old: 0,
        }
    }

    /// The following insns run when the function that begins at the old insn `idx` is called, but
    /// not on a jump there. Call this before its `begin`.
    pub(super) fn enter(&mut self, idx: usize) {
        self.old = idx as u32;
        self.entries.push((idx as u32, self.out.insns.len() as u32));
    }

    /// The following insns replace the old insn `idx`. Call this for each old insn, in order.
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

    /// Records that the context is accessed up to byte `end`.
    pub(super) fn touch_ctx(&mut self, end: u32) {
        self.out.ctx_bytes = self.out.ctx_bytes.max(end);
    }

    /// Fixes the jumps and lists the subprogs.
    pub(super) fn finish(mut self, source: &Source<'_>) -> Result<Xlated, NotSupported> {
        self.start_of.push(self.out.insns.len() as u32);
        for &(at, old_target) in &self.targets {
            let insn = self.out.insns[at as usize];
            let target = match is_pseudo_call(&insn) || is_pseudo_func(&insn) {
                true => self.entry(old_target),
                false => self.start_of.get(old_target as usize).copied(),
            };
            let Some(target) = target else {
                return Err(NotSupported::new("a jump out of the program"));
            };
            let distance = i64::from(target) - i64::from(at) - 1;
            set_distance(&mut self.out.insns[at as usize], distance)?;
        }
        self.list_subprogs(source);
        self.add_exception_cb();
        Ok(self.out)
    }

    /// Adds an exception callback that returns the cookie, if the program throws and declares none.
    fn add_exception_cb(&mut self) {
        let throw = call_helper(OwnHelper::Throw as i32);
        let has_one = self.out.subprogs.iter().any(|subprog| subprog.is_exception_cb);
        if has_one || !self.out.insns.contains(&throw) {
            return;
        }
        let start = self.out.insns.len() as u32;
        self.push(alu_reg(BPF_ALU64, BPF_MOV, 0, 1));
        self.push(exit());
        self.out.subprogs.push(SubprogFacts {
            name: DEFAULT_EXCEPTION_CB.to_owned(),
            start,
            end: self.out.insns.len() as u32,
            is_exception_cb: true,
            ..SubprogFacts::default()
        });
    }

    fn list_subprogs(&mut self, source: &Source<'_>) {
        let named = |wanted: fn(&Insn) -> bool| -> Vec<u32> {
            let insns = self.out.insns.iter().enumerate().filter(|(_, insn)| wanted(insn));
            insns.map(|(at, insn)| (at as i64 + 1 + i64::from(insn.imm)) as u32).collect()
        };
        let (called, taken) = (named(is_pseudo_call), named(is_pseudo_func));
        let len = source.insns.len();
        let mut subprogs = Vec::new();
        let walked = &source.walked;
        for (i, info) in walked.subprogs.iter().enumerate() {
            let old = source.walked.range(i, len);
            let (start, end) = (self.entry(old.start as u32), self.entry(old.end as u32));
            // Functions that no path walked have been removed.
            let (Some(start), Some(end)) = (start, end) else { continue };
            if start == end {
                continue;
            }
            let counter = if is_in(source, old) { COUNTER_BYTES } else { 0 };
            subprogs.push(SubprogFacts {
                name: info.name.clone(),
                start,
                end,
                stack_depth_bytes: source.walked.depth(i) + counter,
                makes_tail_call: self.out.insns[start as usize..end as usize]
                    .iter()
                    .any(is_tail_call),
                tail_call_reachable: walked.uses[i].tail_call_reachable,
                is_called: called.contains(&start),
                is_callback: taken.contains(&start),
                is_exception_cb: info.is_exception_cb,
            });
        }
        self.out.subprogs = subprogs;
    }

    /// The target for calls of the function at the old insn `start`.
    fn entry(&self, start: u32) -> Option<u32> {
        let entered = self.entries.iter().find(|(old, _)| *old == start).map(|(_, new)| *new);
        entered.or_else(|| self.start_of.get(start as usize).copied())
    }
}

/// Makes `insn` jump to `distance` insns after the next.
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
