//! Objects allocated by programs (`bpf_obj_new`), and the lists and trees that contain them.
//!
//! Programs cannot look into a list head, a node or the root of a tree. So links are stored here,
//! by address, and the memory of those fields is unused.
//!
//! # Invariants
//! 1. An object is alive while its count is not 0; its memory, while a run that may have seen it is
//!    in progress.
//! 2. A node in `owners` is in the list or tree at that address, once, which counts as a reference
//!    to its object.
//! 3. The words of [`Owns`] are inside the object; a pointer there counts as a reference, too.
//!
//! Kernel: `bpf_obj_new_impl`, `bpf_list_push_front_impl`, `bpf_rbtree_add_impl` and siblings
//! (6.18).

use crate::Errno;
use skep_mem::epoch::RetireList;
use skep_mem::{Budget, Region};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Maximum size of all objects of a runtime, in bytes.
const BYTES_MAX: usize = 1 << 30;

pub(crate) struct Objects {
    state: Mutex<State>,
    budget: Arc<Budget>,
    gone: RetireList<Arc<Region>>,
}

#[derive(Default)]
struct State {
    /// By address of the first byte.
    objects: BTreeMap<u64, Object>,
    /// Nodes in order, by address of the list head or tree root.
    held: HashMap<u64, VecDeque<u64>>,
    /// The head or root of each linked node.
    owners: HashMap<u64, u64>,
    /// Memory of freed objects, by address: a run that saw one may still read it, in an RCU
    /// section. They do not overlap.
    late: BTreeMap<u64, Weak<Region>>,
}

struct Object {
    memory: Arc<Region>,
    count: u32,
    owns: Owns,
}

/// Bytes before a per-CPU object: the distance between the copies, and their number. A run may read
/// them as long as it may read the object.
pub(crate) const COPIES_HEAD: usize = 128;

/// The words of an object that own others, as a bit set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Owns {
    /// Pointers.
    pub(crate) pointers: u64,
    /// List heads and tree roots.
    pub(crate) heads: u64,
}

/// Offsets of the words whose bits are set.
fn words(bits: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| bits >> bit & 1 == 1).map(|bit| 8 * bit)
}

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Front,
    Back,
}

/// A side of a tree node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

impl Default for Objects {
    fn default() -> Objects {
        let (state, gone) = (Mutex::default(), RetireList::new());
        Objects { state, budget: Budget::new(BYTES_MAX), gone }
    }
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Objects")
    }
}

impl State {
    /// The object that contains the byte at `addr`.
    fn around(&mut self, addr: u64) -> Option<(u64, &mut Object)> {
        let (base, object) = self.objects.range_mut(..=addr).next_back()?;
        object.memory.offset_of(addr, 1).map(|_| (*base, object))
    }

    /// Drops one reference to an object, and if it was the last one, its references to others:
    /// returns the memory of all freed objects.
    fn release(&mut self, addr: u64) -> Vec<Arc<Region>> {
        let (mut less, mut gone) = (vec![addr], Vec::new());
        while let Some(addr) = less.pop() {
            let Some((base, object)) = self.around(addr) else { continue };
            object.count -= 1;
            if object.count > 0 {
                continue;
            }
            let Some(Object { memory, owns, .. }) = self.objects.remove(&base) else { continue };
            let pointers = words(owns.pointers).map(|at| memory.u64(at).swap(0, AcqRel));
            less.extend(pointers.filter(|pointer| *pointer != 0));
            words(owns.heads).for_each(|at| less.extend(self.take_all(memory.addr(at))));
            self.keep_late(base, &memory);
            gone.push(memory);
        }
        gone
    }

    fn keep_late(&mut self, base: u64, memory: &Arc<Region>) {
        let end = base + memory.len() as u64;
        if self.late.len().is_power_of_two() {
            self.late.retain(|_, memory| memory.strong_count() > 0);
        }
        while let Some((before, _)) = self.late.range(base..end).next() {
            let before = *before;
            self.late.remove(&before);
        }
        self.late.insert(base, Arc::downgrade(memory));
    }

    /// The memory that contains the bytes at `addr`, of a live object or one that a run may still
    /// read, and its start.
    fn memory(&mut self, addr: u64, size: usize) -> Option<(Arc<Region>, usize)> {
        let memory = match self.around(addr) {
            Some((_, object)) => object.memory.clone(),
            None => self.late.range(..=addr).next_back()?.1.upgrade()?,
        };
        let at = memory.offset_of(addr, size)?;
        Some((memory, at))
    }

    /// Removes all nodes from a list or tree.
    fn take_all(&mut self, owner: u64) -> VecDeque<u64> {
        let held = self.held.remove(&owner).unwrap_or_default();
        held.iter().for_each(|node| {
            self.owners.remove(node);
        });
        held
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

    fn retire(&self, memory: Vec<Arc<Region>>) {
        memory.into_iter().for_each(|memory| self.gone.retire(memory));
    }

    /// A new object, zeroed; 0 if there is no memory.
    pub(crate) fn create(&self, bytes: usize, owns: Owns) -> u64 {
        let last = u64::BITS - (owns.pointers | owns.heads).leading_zeros();
        let bytes = bytes.max(8 * last as usize);
        self.insert_new(bytes, owns, 0)
    }

    /// A new per-CPU object.
    pub(crate) fn create_percpu(&self, bytes: usize, cpus: usize) -> u64 {
        let stride = bytes.next_multiple_of(8).max(8);
        let all = stride.checked_mul(cpus).and_then(|all| all.checked_add(COPIES_HEAD));
        let Some(all) = all else { return 0 };
        let base = self.insert_new(all, Owns::default(), COPIES_HEAD);
        if let Some((region, at)) = self.locate(base.wrapping_sub(COPIES_HEAD as u64), 16) {
            region.u64(at).store(stride as u64, Relaxed);
            region.u64(at + 8).store(cpus as u64, Relaxed);
        }
        base
    }

    fn insert_new(&self, bytes: usize, owns: Owns, head: usize) -> u64 {
        let Ok(memory) = Region::zeroed(bytes, &self.budget) else { return 0 };
        let (base, memory) = (memory.addr(0), Arc::new(memory));
        self.state().objects.insert(base, Object { memory, count: 1, owns });
        base + head as u64
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
        self.retire(memory);
    }

    /// Inserts a node into the list or tree at `owner`. A node that is already in one is rejected,
    /// and released.
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
            self.retire(memory);
            return Err(Errno::EINVAL);
        }
        state.owners.insert(node, owner);
        let held = state.held.entry(owner).or_default();
        let at = at(held.len()).min(held.len());
        held.insert(at, node);
        Ok(())
    }

    /// Removes the node at an end of a list.
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

    /// Removes a node from its list or tree, if that is at `owner`.
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

    /// The root of a tree, or of a subtree of one of its nodes. Trees have no stored shape: the
    /// root is the node in the middle, and likewise in subtrees.
    pub(crate) fn root(&self, owner: u64, below: Option<(u64, Side)>) -> Option<u64> {
        let state = self.state();
        let held = state.held.get(&owner)?;
        let Some((node, side)) = below else { return held.get(held.len() / 2).copied() };
        let at = held.iter().position(|other| *other == node)?;
        let (mut low, mut high) = (0, held.len());
        loop {
            let middle = low + (high - low) / 2;
            match (at.cmp(&middle), side) {
                (Ordering::Less, _) => high = middle,
                (Ordering::Greater, _) => low = middle + 1,
                (Ordering::Equal, Side::Left) => break high = middle,
                (Ordering::Equal, Side::Right) => break low = middle + 1,
            }
        }
        held.get(low + (high - low) / 2).copied().filter(|_| low < high)
    }

    /// All nodes, in order.
    pub(crate) fn nodes(&self, owner: u64) -> Vec<u64> {
        self.state().held.get(&owner).map(|held| held.iter().copied().collect()).unwrap_or_default()
    }

    /// The list or tree at `owner` is freed, with its nodes.
    pub(crate) fn clear(&self, owner: u64) {
        let mut state = self.state();
        let held = state.take_all(owner);
        let gone = held.into_iter().flat_map(|node| state.release(node)).collect();
        drop(state);
        self.retire(gone);
    }

    /// The memory and offset of an access to an object.
    pub(crate) fn locate(&self, addr: u64, size: usize) -> Option<(Arc<Region>, usize)> {
        self.state().memory(addr, size)
    }

    /// The object that contains the byte at `addr`.
    pub(crate) fn extent(&self, addr: u64) -> Option<Range<u64>> {
        let mut state = self.state();
        let (base, object) = state.around(addr)?;
        Some(base..base + object.memory.len() as u64)
    }

    /// How many objects there are.
    pub(crate) fn count(&self) -> usize {
        self.state().objects.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn an_object_goes_with_its_last_user() {
        let objects = Objects::default();
        let one = objects.create(40, Owns::default());
        assert!(objects.acquire(one) && !objects.acquire(one - 1));
        objects.release(one + 8);
        assert_eq!((objects.count(), objects.locate(one, 40).is_some()), (1, true));
        objects.release(one);
        assert_eq!(objects.count(), 0);
        // Its memory goes once no run of another test's can hold it.
        let late = Instant::now() + Duration::from_secs(60);
        while objects.locate(one, 1).is_some() {
            assert!(Instant::now() < late, "the memory stays");
            objects.gone.settle();
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_list_holds_what_was_pushed() {
        let objects = Objects::default();
        let [a, b, c] = [0; 3].map(|_| objects.create(64, Owns::default()));
        let list = 0x1000;
        for (node, front) in [(a, false), (b, true), (c, false)] {
            objects.insert(list, node + 16, |len| if front { 0 } else { len }).unwrap();
        }
        assert_eq!(objects.nodes(list), [b, a, c].map(|base| base + 16));
        // A node that is already in a list: the reference passed is dropped.
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

    #[test]
    fn a_tree_is_searched_from_its_root() {
        let objects = Objects::default();
        for len in 0..20u64 {
            let root = 0x2000 + len;
            let nodes: Vec<u64> = (0..len).map(|n| 0x100 + n).collect();
            nodes.iter().for_each(|node| objects.insert(root, *node, |len| len).unwrap());
            let mut found = Vec::new();
            let mut above = vec![objects.root(root, None)];
            while let Some(at) = above.pop() {
                let Some(node) = at else { continue };
                let left = objects.root(root, Some((node, Side::Left)));
                let right = objects.root(root, Some((node, Side::Right)));
                assert!(left.is_none_or(|l| l < node) && right.is_none_or(|r| r > node));
                found.push(node);
                above.extend([left, right]);
            }
            found.sort_unstable();
            assert_eq!(found, nodes);
            objects.clear(root);
        }
    }

    #[test]
    fn what_an_object_owns_goes_with_it() {
        let objects = Objects::default();
        let outer = objects.create(32, Owns { pointers: 1, heads: 1 << 2 });
        let [inside, listed, kept] = [0; 3].map(|_| objects.create(64, Owns::default()));
        let (region, at) = objects.locate(outer, 8).unwrap();
        region.u64(at).store(inside, std::sync::atomic::Ordering::Release);
        objects.insert(outer + 16, listed, |_| 0).unwrap();
        objects.insert(outer + 16, kept, |_| 0).unwrap();
        assert!(objects.acquire(kept));
        objects.release(outer);
        assert_eq!((objects.count(), objects.locate(kept, 1).is_some()), (1, true));
        assert!(objects.insert(0x3000, kept, |_| 0).is_ok());
    }
}
