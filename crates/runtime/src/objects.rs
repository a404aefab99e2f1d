//! Objects of programs (`bpf_obj_new`), and the lists and trees that hold them.
//!
//! A program cannot look into a list head, a node or the root of a tree. So what is linked to what
//! stands here, by address, and the memory of those fields is not used.
//!
//! # Invariants
//! 1. An object is there as long as its count is not 0; its memory, as long as a run that may have
//!    seen it goes on.
//! 2. A node in `owners` is in the list or tree of that address, once, and its object's count
//!    counts that.
//!
//! Kernel: `bpf_obj_new_impl`, `bpf_list_push_front_impl`, `bpf_rbtree_add_impl` and siblings
//! (6.18).

use crate::Errno;
use crate::map::Graveyard;
use crate::memory::{Budget, Region};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that all objects of a runtime may take.
const BYTES_MAX: usize = 1 << 30;

pub(crate) struct Objects {
    state: Mutex<State>,
    budget: Arc<Budget>,
    gone: Graveyard<Arc<Region>>,
}

#[derive(Default)]
struct State {
    /// By the address of the first byte.
    objects: BTreeMap<u64, Object>,
    /// Nodes in order, by the address of the head of a list or the root of a tree.
    held: HashMap<u64, VecDeque<u64>>,
    /// The head or root of each node that has one.
    owners: HashMap<u64, u64>,
}

struct Object {
    memory: Arc<Region>,
    count: u32,
}

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Front,
    Back,
}

impl Default for Objects {
    fn default() -> Objects {
        let (state, gone) = (Mutex::default(), Graveyard::new());
        Objects { state, budget: Budget::new(BYTES_MAX), gone }
    }
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Objects")
    }
}

impl State {
    /// The object that has the byte at `addr`.
    fn around(&mut self, addr: u64) -> Option<(u64, &mut Object)> {
        let (base, object) = self.objects.range_mut(..=addr).next_back()?;
        object.memory.offset_of(addr, 1).map(|_| (*base, object))
    }

    /// Counts one user of an object less: its memory, if that was the last one.
    fn release(&mut self, addr: u64) -> Option<Arc<Region>> {
        let (base, object) = self.around(addr)?;
        object.count -= 1;
        match object.count {
            0 => self.objects.remove(&base).map(|object| object.memory),
            _ => None,
        }
    }

    fn take_node(&mut self, owner: u64, node: Option<u64>) -> Option<u64> {
        let node = node?;
        self.owners.remove(&node);
        if self.held.get(&owner).is_some_and(VecDeque::is_empty) {
            self.held.remove(&owner);
        }
        Some(node)
    }
}

impl Objects {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bury(&self, memory: Option<Arc<Region>>) {
        if let Some(memory) = memory {
            self.gone.bury(memory);
        }
    }

    /// A new object, all zeros; 0 if there is no memory.
    pub(crate) fn create(&self, bytes: usize) -> u64 {
        let Ok(memory) = Region::zeroed(bytes, &self.budget) else { return 0 };
        let base = memory.addr(0);
        self.state().objects.insert(base, Object { memory: Arc::new(memory), count: 1 });
        base
    }

    /// One user more.
    pub(crate) fn acquire(&self, addr: u64) -> bool {
        match self.state().around(addr) {
            Some((_, object)) => {
                object.count += 1;
                true
            }
            None => false,
        }
    }

    /// One user less.
    pub(crate) fn release(&self, addr: u64) {
        let memory = self.state().release(addr);
        self.bury(memory);
    }

    /// Puts a node into the list or tree at `owner`. One that is in some is refused, and released.
    pub(crate) fn insert(
        &self,
        owner: u64,
        node: u64,
        at: impl FnOnce(usize) -> usize,
    ) -> Result<(), Errno> {
        let mut state = self.state();
        if state.owners.contains_key(&node) {
            let memory = state.release(node);
            drop(state);
            self.bury(memory);
            return Err(Errno::EINVAL);
        }
        state.owners.insert(node, owner);
        let held = state.held.entry(owner).or_default();
        let at = at(held.len()).min(held.len());
        held.insert(at, node);
        Ok(())
    }

    /// Takes the node at an end of a list out.
    pub(crate) fn pop(&self, owner: u64, end: End) -> Option<u64> {
        let mut state = self.state();
        let held = state.held.get_mut(&owner)?;
        let node = match end {
            End::Front => held.pop_front(),
            End::Back => held.pop_back(),
        };
        state.take_node(owner, node)
    }

    /// The node at an end.
    pub(crate) fn peek(&self, owner: u64, end: End) -> Option<u64> {
        let state = self.state();
        let held = state.held.get(&owner)?;
        match end {
            End::Front => held.front().copied(),
            End::Back => held.back().copied(),
        }
    }

    /// Takes a node out of where it is, if that is at `owner`.
    pub(crate) fn remove(&self, owner: u64, node: u64) -> Option<u64> {
        let mut state = self.state();
        if state.owners.get(&node) != Some(&owner) {
            return None;
        }
        if let Some(held) = state.held.get_mut(&owner) {
            held.retain(|other| *other != node);
        }
        state.take_node(owner, Some(node))
    }

    /// All nodes, in order.
    pub(crate) fn nodes(&self, owner: u64) -> Vec<u64> {
        self.state().held.get(&owner).map(|held| held.iter().copied().collect()).unwrap_or_default()
    }

    /// The list or tree at `owner` goes, and what it holds.
    pub(crate) fn clear(&self, owner: u64) {
        let mut state = self.state();
        let held = state.held.remove(&owner).unwrap_or_default();
        let mut gone = Vec::new();
        for node in held {
            state.owners.remove(&node);
            gone.push(state.release(node));
        }
        drop(state);
        gone.into_iter().for_each(|memory| self.bury(memory));
    }

    /// The memory and offset of an access to an object.
    pub(crate) fn locate(&self, addr: u64, size: usize) -> Option<(Arc<Region>, usize)> {
        let mut state = self.state();
        let (_, object) = state.around(addr)?;
        let at = object.memory.offset_of(addr, size)?;
        Some((object.memory.clone(), at))
    }

    /// How many objects there are.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.state().objects.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_goes_with_its_last_user() {
        let objects = Objects::default();
        let one = objects.create(40);
        assert!(objects.acquire(one) && !objects.acquire(one - 1));
        objects.release(one + 8);
        assert_eq!((objects.count(), objects.locate(one, 40).is_some()), (1, true));
        objects.release(one);
        assert_eq!((objects.count(), objects.locate(one, 1).is_none()), (0, true));
    }

    #[test]
    fn a_list_holds_what_was_pushed() {
        let objects = Objects::default();
        let [a, b, c] = [0; 3].map(|_| objects.create(64));
        let list = 0x1000;
        for (node, front) in [(a, false), (b, true), (c, false)] {
            objects.insert(list, node + 16, |len| if front { 0 } else { len }).unwrap();
        }
        assert_eq!(objects.nodes(list), [b, a, c].map(|base| base + 16));
        // One that is in a list already: the user that gave it is gone.
        assert!(objects.acquire(a));
        assert_eq!(objects.insert(list, a + 16, |_| 0), Err(Errno::EINVAL));
        assert_eq!(objects.peek(list, End::Back), Some(c + 16));
        assert_eq!(objects.pop(list, End::Back), Some(c + 16));
        assert_eq!(objects.remove(list, c + 16), None);
        assert_eq!(objects.remove(list, b + 16), Some(b + 16));
        assert_eq!(objects.count(), 3);
        objects.clear(list);
        assert_eq!((objects.count(), objects.pop(list, End::Front)), (2, None));
    }
}
