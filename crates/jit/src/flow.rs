//! Control flow of the ops: functions, jump targets, loops, and live registers.
//!
//! # Invariants
//! 1. After `Flow::new` every jump target is inside its function, and every call target is the
//!    start of a function.

use crate::Error;
use crate::op::{Op, Reg, RegSet};
use crate::ops::{Effect, Ops};
use skep_verifier::Xlated;

/// One function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Func {
    /// First op, and one past the last.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) stack_bytes: u32,
    pub(crate) is_callback: bool,
    /// A tail call may happen while it runs.
    pub(crate) tail_call_reachable: bool,
}

/// A constant that a register has all through a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// The function's number.
    pub(crate) func: usize,
    pub(crate) reg: Reg,
    pub(crate) value: u64,
}

/// A basic block, for the analysis of liveness.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    start: usize,
    end: usize,
    /// Registers that it writes, and those that it reads before.
    defs: RegSet,
    uses: RegSet,
    /// Where its last op jumps, and whether control may fall through.
    target: Option<u32>,
    falls: bool,
    /// Registers that are live after it, and whether they differ from those found before.
    live_out: RegSet,
    is_new: bool,
}

impl Block {
    /// The registers that are live after it, given those before each block.
    fn after(&self, live_in: &[RegSet]) -> RegSet {
        let next = if self.falls { live_in[self.end] } else { RegSet::NONE };
        self.target.map_or(next, |to| next.or(live_in[to as usize]))
    }
}

/// The control flow of a program.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pub(crate) funcs: Vec<Func>,
    /// First op of the exception callback, in programs that throw.
    pub(crate) exception_cb: Option<u32>,
    /// By op: whether it is a jump target.
    pub(crate) is_target: Vec<bool>,
    /// By op: whether it is the target of a backward jump.
    pub(crate) is_jumped_back_to: Vec<bool>,
    /// By op: loop depth, as implied by backward jumps.
    pub(crate) loop_depth: Vec<u8>,
    /// By op: registers that are live after it.
    pub(crate) live_out: Vec<RegSet>,
    pub(crate) blocks: Vec<Block>,
    /// By op, for first ops of blocks: registers that are live before it.
    pub(crate) live_in: Vec<RegSet>,
    /// Constants in registers that nothing but a function's prologue writes (`opt::bases`).
    pub(crate) held: Vec<Held>,
}

impl Flow {
    pub(crate) fn new(xlated: &Xlated, ops: &[Op]) -> Result<Flow, Error> {
        let mut flow = Flow::default();
        for facts in xlated.subprogs() {
            flow.funcs.push(Func {
                start: facts.start,
                end: facts.end,
                stack_bytes: facts.stack_depth_bytes,
                is_callback: facts.is_callback,
                tail_call_reachable: false,
            });
        }
        flow.check(ops)?;
        if let Some(throw) = ops.iter().position(|op| *op == Op::Throw) {
            let callback = xlated.subprogs().iter().find(|facts| facts.is_exception_cb);
            let missing = || Error::insn(throw, "no exception callback");
            flow.exception_cb = Some(callback.ok_or_else(missing)?.start);
        }
        flow.find_tail_calls(ops);
        flow.find_targets(ops);
        Ok(flow)
    }

    /// Whether a tail call may happen in some function.
    pub(crate) fn counts_tail_calls(&self) -> bool {
        self.funcs.iter().any(|func| func.tail_call_reachable)
    }

    /// Functions that make a tail call, or call one that may.
    fn find_tail_calls(&mut self, ops: &[Op]) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for number in 0..self.funcs.len() {
                let func = self.funcs[number];
                let reaches = |op: &Op| match *op {
                    Op::TailCall { .. } => true,
                    Op::CallSub { target } => {
                        self.funcs.iter().any(|f| f.start == target && f.tail_call_reachable)
                    }
                    _ => false,
                };
                let body = &ops[func.start as usize..func.end as usize];
                if !func.tail_call_reachable && body.iter().any(reaches) {
                    self.funcs[number].tail_call_reachable = true;
                    changed = true;
                }
            }
        }
    }

    /// Recomputes jump targets and loops.
    pub(crate) fn find_targets(&mut self, ops: &[Op]) {
        self.is_target = vec![false; ops.len() + 1];
        self.is_jumped_back_to = vec![false; ops.len() + 1];
        self.loop_depth = vec![0; ops.len()];
        for (at, op) in ops.iter().enumerate() {
            if let Some(to) = op.target() {
                let to = to as usize;
                self.is_target[to] = true;
                if to <= at {
                    self.is_jumped_back_to[to] = true;
                    self.loop_depth[to..=at].iter_mut().for_each(|d| *d = d.saturating_add(1));
                }
            }
        }
    }

    fn check(&self, ops: &[Op]) -> Result<(), Error> {
        let mut end = 0;
        for func in &self.funcs {
            let (start, last) = (func.start as usize, func.end.saturating_sub(1) as usize);
            let closed = ops.get(last).is_some_and(|op| op.is_end());
            if func.start != end || func.end <= func.start || !closed {
                return Err(Error::insn(start, "the function has no end"));
            }
            end = func.end;
            for (at, op) in ops.iter().enumerate().take(last + 1).skip(start) {
                if op.target().is_some_and(|to| !(func.start..func.end).contains(&to)) {
                    return Err(Error::insn(at, "jump out of range"));
                }
                if let Op::CallSub { target } | Op::LdFunc { target, .. } = *op
                    && !self.funcs.iter().any(|func| func.start == target)
                {
                    return Err(Error::insn(at, "call target is not a function"));
                }
            }
        }
        match end as usize == ops.len() && end > 0 {
            true => Ok(()),
            false => Err(Error::insn(end as usize, "not a function")),
        }
    }

    /// Recomputes `live_out`.
    pub(crate) fn find_live(&mut self, ops: &Ops) {
        self.find_live_blocks(ops);
        for number in 0..self.blocks.len() {
            self.find_live_in(ops, number);
        }
    }

    /// Recomputes `live_out` of the last op of each block.
    pub(crate) fn find_live_blocks(&mut self, ops: &Ops) {
        self.live_out.resize(ops.len(), RegSet::NONE);
        self.blocks.clear();
        for func in &self.funcs {
            let range = func.start as usize..func.end as usize;
            let mut block = Block { start: range.start, ..Block::default() };
            let enters = &self.is_target[range.start + 1..=range.end];
            let effects = &ops.effects()[range.clone()];
            for ((at, effect), enters) in range.zip(effects).zip(enters) {
                block.uses = block.uses.or(effect.uses.minus(block.defs));
                block.defs = block.defs.or(effect.defs);
                if *enters || effect.jumps || effect.ends {
                    block.target = if effect.jumps { ops[at].target() } else { None };
                    (block.end, block.falls) = (at + 1, !effect.ends);
                    self.blocks.push(block);
                    block = Block { start: at + 1, ..Block::default() };
                }
            }
        }
        self.solve();
    }

    /// The fixed point of `Block::live_out`: backward data-flow analysis. Returns whether it has
    /// changed.
    fn solve(&mut self) -> bool {
        self.live_in.clear();
        self.live_in.resize(self.is_target.len(), RegSet::NONE);
        let mut rest = &mut self.blocks[..];
        let mut changed = false;
        for func in self.funcs.iter().rev() {
            // Those of the last function that is left.
            let first = rest.partition_point(|block| block.start < func.start as usize);
            let blocks;
            (rest, blocks) = rest.split_at_mut(first);
            // Loops need a second pass.
            let mut again = true;
            while std::mem::take(&mut again) {
                for block in blocks.iter().rev() {
                    let before = block.after(&self.live_in).minus(block.defs).or(block.uses);
                    if before != self.live_in[block.start] {
                        self.live_in[block.start] = before;
                        again |= self.is_target[block.start];
                    }
                }
            }
            for block in blocks {
                let after = block.after(&self.live_in);
                block.is_new = after != std::mem::replace(&mut block.live_out, after);
                self.live_out[block.end - 1] = after;
                changed |= block.is_new;
            }
        }
        changed
    }

    /// Recomputes `live_out` inside a block.
    fn find_live_in(&mut self, ops: &Ops, number: usize) {
        let Block { start, end, live_out: mut live, .. } = self.blocks[number];
        let effects = ops.effects()[start..end].iter();
        for (effect, out) in effects.zip(&mut self.live_out[start..end]).rev() {
            *out = live;
            live = effect.before(live);
        }
    }

    /// Removes the ops that are `dead`, given the registers that they write and those that are live
    /// after them. Recomputes `live_out`, which need only be known after blocks.
    pub(crate) fn remove(&mut self, ops: &mut Ops, dead: impl Fn(&Op, RegSet, RegSet) -> bool) {
        let mut changed = false;
        // Backwards, so that ops that only feed dead ops are removed, too.
        for block in &mut self.blocks {
            let (mut defs, mut uses, mut live) = (RegSet::NONE, RegSet::NONE, block.live_out);
            for at in (block.start..block.end).rev() {
                self.live_out[at] = live;
                let Effect { defs: written, uses: read, .. } = ops.effect(at);
                if dead(&ops[at], written, live) {
                    ops.set(at, Op::Nop);
                    changed = true;
                    continue;
                }
                live = live.minus(written).or(read);
                uses = uses.minus(written).or(read);
                defs = defs.or(written);
            }
            (block.defs, block.uses) = (defs, uses);
        }
        if changed && self.solve() {
            for number in 0..self.blocks.len() {
                if self.blocks[number].is_new {
                    self.find_live_in(ops, number);
                }
            }
        }
    }

    /// The previous op, if no jump targets this one.
    pub(crate) fn before(&self, ops: &[Op], at: usize) -> Option<usize> {
        let mut at = at;
        loop {
            if self.is_target[at] || at == 0 {
                return None;
            }
            at -= 1;
            if !ops[at].is_nop() {
                return Some(at);
            }
        }
    }

    /// The constants held in registers in the function of op `at`.
    pub(crate) fn held_at(&self, at: usize) -> impl Iterator<Item = &Held> {
        let func = self.funcs.partition_point(|func| func.end as usize <= at);
        self.held.iter().filter(move |held| held.func == func)
    }

    /// Registers that are live before op `at`.
    pub(crate) fn live_in(&self, ops: &Ops, at: usize) -> RegSet {
        match (ops.effects().get(at), self.live_out.get(at)) {
            (Some(effect), Some(out)) => effect.before(*out),
            _ => RegSet::NONE,
        }
    }

    /// Whether `reg` is not read after op `at`. For liveness that is only known after blocks.
    pub(crate) fn dies_in_block(&self, ops: &Ops, at: usize, reg: Reg) -> bool {
        let block = self.blocks.partition_point(|block| block.end <= at);
        let Some(block) = self.blocks.get(block) else { return true };
        for effect in &ops.effects()[at + 1..block.end] {
            if effect.uses.has(reg) {
                return false;
            }
            if effect.defs.has(reg) {
                return true;
            }
        }
        !block.live_out.has(reg)
    }

    /// Whether `reg` is not read after op `at`.
    pub(crate) fn is_dead_after(&self, at: usize, reg: Reg) -> bool {
        !self.live_out[at].has(reg)
    }
}
