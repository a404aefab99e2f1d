//! Nodes of an LPM trie, in regions allocated on demand.
//!
//! A removed node is kept until no run can hold it, and is not reused before: a run can read what
//! it has looked up, and never sees the value of another key. (Elements of a hash may be reused
//! earlier, see `element_pool`; the kernel makes the same distinction.)
//!
//! # Invariants
//! 1. A node is in exactly one state: never used (above `fresh`), waiting, or owned by a caller.
//! 2. A node up to `fresh` is in a region, which does not move during the trie's lifetime.
//! 3. Waiting nodes are sorted by age, each with the epoch of its removal.
//!
//! Kernel: `lpm_trie_node_alloc`, and freeing of nodes after a grace period (6.18).

use crate::{Errno, Error};
use skep_mem::epoch;
use skep_mem::{Budget, Region};
use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

/// No node: nodes are numbered from 1.
pub(super) const NIL: u32 = 0;
/// Nodes of the first region; each further one has twice as many.
const FIRST: u64 = 64;
/// Maximum number of regions.
const REGIONS: usize = 27;
/// Number of waiting nodes before the first check whether runs have ended.
const WAITING_MIN: usize = 512;
/// Extra memory for waiting nodes, beyond that of a full trie.
const WAITING_BYTES: usize = 64 << 20;

pub(super) struct Nodes {
    first: Region,
    more: [OnceLock<Region>; REGIONS - 1],
    node_bytes: usize,
    nodes_max: u32,
    budget: Arc<Budget>,
}

/// The nodes not in the trie. Held while changing the trie.
pub(super) struct Unused {
    fresh: u32,
    waiting: VecDeque<(u64, u32)>,
    /// Number of waiting nodes from which on to check again.
    look_at: usize,
}

impl Unused {
    pub(super) fn new() -> Unused {
        Unused { fresh: 0, waiting: VecDeque::new(), look_at: WAITING_MIN }
    }

    /// Frees a node that was just removed from the trie.
    pub(super) fn put(&mut self, node: u32) {
        self.waiting.push_back((epoch::tag(), node));
    }

    /// The oldest waiting node, if no run can hold it.
    fn pop_free(&mut self) -> Option<u32> {
        self.waiting.pop_front_if(|(tag, _)| epoch::is_free(*tag)).map(|(_, node)| node)
    }

    /// The same, after checking which runs have ended.
    fn pop_after_a_look(&mut self) -> Option<u32> {
        let (tag, _) = self.waiting.front()?;
        if !epoch::is_held_here(*tag) {
            epoch::advance();
        }
        let found = self.pop_free();
        self.look_at = if found.is_some() { 0 } else { self.waiting.len() } + WAITING_MIN;
        found
    }
}

/// The region that contains a node, and its position there.
fn place(node: u32) -> (usize, usize) {
    let at = u64::from(node) - 1 + FIRST;
    let level = at.ilog2() - FIRST.ilog2();
    (level as usize, (at - (FIRST << level)) as usize)
}

impl Nodes {
    /// Up to `count` nodes of `bytes` in the trie, plus waiting ones.
    pub(super) fn new(count: u32, bytes: usize, budget: &Arc<Budget>) -> Result<Nodes, Error> {
        let node_bytes = bytes.next_multiple_of(16);
        let waiting = (WAITING_BYTES / node_bytes).max(WAITING_MIN) as u32;
        let too_big = || Error::memory(Errno::E2BIG.to_string()).because(Errno::E2BIG);
        let first_bytes = node_bytes.checked_mul(FIRST as usize).ok_or_else(too_big)?;
        Ok(Nodes {
            first: Region::zeroed(first_bytes, budget).map_err(Error::no_memory)?,
            more: [const { OnceLock::new() }; REGIONS - 1],
            node_bytes,
            nodes_max: count.saturating_add(waiting),
            budget: budget.clone(),
        })
    }

    /// Where a node is.
    #[inline]
    pub(super) fn at(&self, node: u32) -> (&Region, usize) {
        let (level, place) = place(node);
        let region = match level {
            0 => None,
            // There is one: invariant 2.
            level => self.more.get(level - 1).and_then(OnceLock::get),
        };
        (region.unwrap_or(&self.first), self.node_bytes * place)
    }

    /// Allocates a node, which is not yet visible to others.
    pub(super) fn take(&self, unused: &mut Unused) -> Result<u32, Errno> {
        if let Some(node) = unused.pop_free() {
            return Ok(node);
        }
        if unused.waiting.len() >= unused.look_at
            && let Some(node) = unused.pop_after_a_look()
        {
            return Ok(node);
        }
        let fresh = self.take_fresh(unused);
        fresh.or_else(|| unused.pop_after_a_look()).ok_or(Errno::ENOMEM)
    }

    fn take_fresh(&self, unused: &mut Unused) -> Option<u32> {
        let node = unused.fresh.checked_add(1).filter(|node| *node <= self.nodes_max)?;
        let (level, _) = place(node);
        if level > 0 {
            let slot = self.more.get(level - 1)?;
            if slot.get().is_none() {
                let bytes = self.node_bytes.checked_mul((FIRST << level) as usize)?;
                // Only set by the holder of `unused`.
                let _ = slot.set(Region::zeroed(bytes, &self.budget).ok()?);
            }
        }
        unused.fresh = node;
        Some(node)
    }

    /// The region and offset of an access of `size` bytes at `addr`, if that is to a node.
    pub(super) fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        let regions =
            std::iter::once(&self.first).chain(self.more.iter().filter_map(OnceLock::get));
        regions.into_iter().find_map(|region| region.locate(addr, size))
    }

    /// A word of a node.
    #[inline]
    pub(super) fn word(&self, node: u32, off: usize) -> &AtomicU32 {
        let (region, at) = self.at(node);
        region.u32(at + off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_a_place_of_its_own() {
        let budget = Budget::new(1 << 30);
        let nodes = Nodes::new(1000, 40, &budget).unwrap();
        let mut unused = Unused::new();
        let mut addrs = Vec::new();
        for wanted in 1..=3000 {
            assert_eq!(nodes.take(&mut unused), Ok(wanted));
            let (region, off) = nodes.at(wanted);
            assert_eq!(nodes.locate(region.addr(off), 48).map(|(_, at)| at), Some(off));
            addrs.push(region.addr(off));
        }
        addrs.sort_unstable();
        assert!(addrs.windows(2).all(|pair| pair[1] - pair[0] >= 48));
        assert_eq!(place(u32::MAX).0, REGIONS - 1);
    }

    #[test]
    fn what_a_run_may_hold_is_nobody_elses() {
        let budget = Budget::new(1 << 30);
        let nodes = Nodes::new(8, 40, &budget).unwrap();
        let mut unused = Unused::new();
        let run = epoch::enter().unwrap();
        let held: Vec<u32> = (0..4).map(|_| nodes.take(&mut unused).unwrap()).collect();
        held.iter().for_each(|node| unused.put(*node));
        for _ in 0..5000 {
            let other = nodes.take(&mut unused).unwrap();
            assert!(!held.contains(&other));
            unused.put(other);
        }
        drop(run);
        // Runs of concurrent tests end, too, on a busy machine later.
        let found = (0..60_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            let node = nodes.take(&mut unused).unwrap();
            unused.put(node);
            held.contains(&node)
        });
        assert!(found);
    }

    #[test]
    fn there_is_an_end_of_memory() {
        let budget = Budget::new(100 << 10);
        let nodes = Nodes::new(8, 1024, &budget).unwrap();
        let (mut unused, _run) = (Unused::new(), epoch::enter().unwrap());
        let mut taken = 0;
        while let Ok(node) = nodes.take(&mut unused) {
            unused.put(node);
            taken += 1;
        }
        assert_eq!(taken, 64);
        assert_eq!(nodes.take(&mut unused), Err(Errno::ENOMEM));
    }
}
