//! Call paths of a verification, and the cost of each.

use super::cost::{Cost, CostAt};
use rustc_hash::FxHashMap;
use skep_insn::code::BPF_PSEUDO_FUNC;
use skep_program::Program;
use std::ops::Range;

/// Not the number of a path.
pub(super) const NO_PATH: u32 = u32::MAX;

/// A function, and the calls that lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPath {
    /// The call path of the caller; for a callback that runs later, that of the caller of the
    /// helper.
    pub parent: Option<usize>,
    /// The insn of the caller that calls.
    pub call: Option<usize>,
    /// The insns of the function.
    pub insns: Range<usize>,
    /// Set if there were too many call paths: then this is the function on all the others.
    pub is_rest: bool,
    /// The number of its frame.
    frame: u32,
    /// Costs from the function's first insn on, as far as there are any.
    costs: Vec<Cost>,
}

impl CallPath {
    /// Makes room for the costs of the insn at `at` and the others; says for how many.
    fn grow(&mut self, at: usize) -> usize {
        let before = self.costs.len();
        self.costs.resize(self.insns.len().max(at + 1), Cost::default());
        self.costs.len() - before
    }
}

/// All call paths of a program.
#[derive(Debug, Clone)]
pub(super) struct CallPaths {
    paths: Vec<CallPath>,
    /// By parent, calling insn and first insn.
    known: FxHashMap<(Option<u32>, u32, u32), u32>,
    /// First insns of functions, ascending.
    starts: Vec<u32>,
    len: u32,
    /// Number of insns for which costs may still be recorded.
    cells_left: usize,
}

impl CallPaths {
    pub(super) fn new(program: &Program, cells_max: usize) -> CallPaths {
        CallPaths {
            paths: Vec::new(),
            known: FxHashMap::default(),
            starts: function_starts(program),
            len: u32::try_from(program.insns.len()).unwrap_or(u32::MAX),
            cells_left: cells_max,
        }
    }

    pub(super) fn all(&self) -> &[CallPath] {
        &self.paths
    }

    pub(super) fn costs(&self) -> impl Iterator<Item = CostAt> {
        self.paths.iter().enumerate().flat_map(|(number, path)| {
            let costs = path.costs.iter().enumerate();
            costs.filter(|(_, cost)| **cost != Cost::default()).map(move |(at, cost)| CostAt {
                path: number,
                insn_idx: path.insns.start + at,
                cost: *cost,
            })
        })
    }

    /// The cost so far of an insn on `path`; `None` if it is not on that path, or the path has no
    /// costs yet.
    #[inline(always)] // Called for each insn.
    pub(super) fn cost(&mut self, path: u32, frame: u32, insn_idx: u32) -> Option<&mut Cost> {
        let path = self.paths.get_mut(path as usize).filter(|path| path.frame == frame)?;
        path.costs.get_mut((insn_idx as usize).wrapping_sub(path.insns.start))
    }

    /// The path of an insn that follows `last` on `current`, with room for the insn's cost.
    pub(super) fn enter(&mut self, current: u32, last: u32, frame: u32, insn_idx: u32) -> u32 {
        let current = Some(current).filter(|&path| path != NO_PATH);
        let number = self.find(current, last, frame, insn_idx);
        let path = &mut self.paths[number as usize];
        let at = (insn_idx as usize).saturating_sub(path.insns.start);
        if at >= path.costs.len() {
            self.cells_left = self.cells_left.saturating_sub(path.grow(at));
        }
        number
    }

    fn is_at(&self, path: u32, frame: u32, insn_idx: u32) -> bool {
        let path = &self.paths[path as usize];
        path.frame == frame && path.insns.contains(&(insn_idx as usize))
    }

    fn find(&mut self, current: Option<u32>, last: u32, frame: u32, insn_idx: u32) -> u32 {
        let is_call = current.is_some_and(|path| self.paths[path as usize].frame < frame);
        let mut caller = current.filter(|_| !is_call);
        while let Some(path) = caller {
            if self.is_at(path, frame, insn_idx) {
                return path;
            }
            caller = self.paths[path as usize].parent.map(|parent| parent as u32);
        }
        self.add_path(current, last, frame, insn_idx)
    }

    fn add_path(&mut self, parent: Option<u32>, last: u32, frame: u32, insn_idx: u32) -> u32 {
        let after = self.starts.partition_point(|&start| start <= insn_idx);
        let start = after.checked_sub(1).map_or(0, |at| self.starts[at]);
        let end = self.starts.get(after).copied().unwrap_or(self.len);
        let insns = start as usize..end as usize;
        // A call path counts like an insn.
        let is_rest = parent.is_some() && self.cells_left <= insns.len();
        let parent = parent.filter(|_| !is_rest);
        let call = parent.map_or(u32::MAX, |_| last);
        // Call paths without a caller are distinguished by their kind.
        let key = (parent, if is_rest { u32::MAX - 1 - frame } else { call }, start);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let number = self.paths.len() as u32;
        self.paths.push(CallPath {
            parent: parent.map(|parent| parent as usize),
            call: parent.map(|_| last as usize),
            insns,
            is_rest,
            frame,
            costs: Vec::new(),
        });
        self.known.insert(key, number);
        self.cells_left = self.cells_left.saturating_sub(1);
        number
    }

    /// Counts `insns` once more; no function ends among them.
    #[inline]
    pub(super) fn add_run(&mut self, path: u32, first: u32, insns: u32) {
        let path = &mut self.paths[path as usize];
        let at = (first as usize).saturating_sub(path.insns.start);
        let costs = path.costs.iter_mut().skip(at).take(insns as usize);
        costs.for_each(|cost| cost.insns += 1);
    }
}

/// The first insns of all functions that are called or passed as callbacks.
fn function_starts(program: &Program) -> Vec<u32> {
    let mut starts = vec![0];
    for (at, insn) in program.insns.iter().enumerate() {
        if insn.is_pseudo_call() || (insn.is_ld_imm64() && insn.src == BPF_PSEUDO_FUNC) {
            let to = at as i64 + 1 + i64::from(insn.imm);
            starts.extend(u32::try_from(to).ok().filter(|&to| (to as usize) < program.insns.len()));
        }
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}
