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
use crate::tree::{Side, Tree};
use skep_mem::epoch::RetireList;
use skep_mem::{Budget, Region, Share};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Maximum size of all objects of a runtime, in bytes, even if its budget has more.
const BYTES_MAX: usize = 1 << 30;
/// What an object takes besides its own memory: the rows in the tables here, its place in a tree.
const OVERHEAD: usize = 448;

pub(crate) struct Objects {
    state: Mutex<State>,
    /// Of the runtime.
    budget: Arc<Budget>,
    /// Of objects.
    limit: Arc<Budget>,
    gone: RetireList<Gone>,
    /// Allocations that failed since the last that did not.
    failures: AtomicU32,
}

#[derive(Default)]
struct State {
    /// By address of the first byte.
    objects: BTreeMap<u64, Object>,
    /// Nodes in order, by address of the list head.
    lists: HashMap<u64, VecDeque<u64>>,
    /// By address of the root.
    trees: HashMap<u64, Tree>,
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
    shares: Shares,
}

/// What an object takes of both budgets, besides its memory's own share: until its memory goes.
type Shares = [Share; 2];

/// What is left of a freed object, until no run can see it.
type Gone = (Arc<Region>, Shares);

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
    fn release(&mut self, addr: u64) -> Vec<Gone> {
        let (mut less, mut gone) = (vec![addr], Vec::new());
        while let Some(addr) = less.pop() {
            let Some((base, object)) = self.around(addr) else { continue };
            object.count -= 1;
            if object.count > 0 {
                continue;
            }
            let Some(Object { memory, owns, shares, .. }) = self.objects.remove(&base) else {
                continue;
            };
            let pointers = words(owns.pointers).map(|at| memory.u64(at).swap(0, AcqRel));
            less.extend(pointers.filter(|pointer| *pointer != 0));
            words(owns.heads).for_each(|at| less.extend(self.take_all(memory.addr(at))));
            self.keep_late(base, &memory);
            gone.push((memory, shares));
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
    fn take_all(&mut self, owner: u64) -> Vec<u64> {
        let listed = self.lists.remove(&owner).unwrap_or_default();
        let tree = self.trees.remove(&owner).unwrap_or_default();
        let held: Vec<u64> = listed.into_iter().chain(tree.into_nodes()).collect();
        held.iter().for_each(|node| {
            self.owners.remove(node);
        });
        held
    }

    /// Makes the list or tree at `owner` the node's; a node that is already in one is rejected.
    fn own(&mut self, owner: u64, node: u64) -> Result<(), Errno> {
        match self.owners.entry(node) {
            Entry::Occupied(_) => Err(Errno::EINVAL),
            Entry::Vacant(place) => {
                place.insert(owner);
                Ok(())
            }
        }
    }
}

impl Objects {
    /// None; their memory is charged to the budget.
    pub(crate) fn new(budget: &Arc<Budget>) -> Objects {
        let (state, limit) = (Mutex::default(), Budget::new(BYTES_MAX));
        let (gone, failures) = (RetireList::new(), AtomicU32::new(0));
        Objects { state, budget: budget.clone(), limit, gone, failures }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn retire(&self, gone: Vec<Gone>) {
        gone.into_iter().for_each(|gone| self.gone.retire(gone));
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
        let base = self.allocate(bytes, owns).or_else(|| {
            // Memory of earlier runs may be free by now. Not each of many failures looks.
            let failures = self.failures.fetch_add(1, Relaxed).saturating_add(1);
            failures.is_power_of_two().then(|| self.settle());
            self.allocate(bytes, owns)
        });
        base.map_or(0, |base| base + head as u64)
    }

    fn allocate(&self, bytes: usize, owns: Owns) -> Option<u64> {
        let mut shares = [Share::new(&self.budget), Share::new(&self.limit)];
        let [of_runtime, of_objects] = &mut shares;
        if !of_runtime.grow(OVERHEAD) || !of_objects.grow(bytes.saturating_add(OVERHEAD)) {
            return None;
        }
        let memory = Region::zeroed(bytes, &self.budget).ok()?;
        let (base, memory) = (memory.addr(0), Arc::new(memory));
        self.failures.store(0, Relaxed);
        self.state().objects.insert(base, Object { memory, count: 1, owns, shares });
        Some(base)
    }

    /// Frees the memory of objects that no run can use any more.
    pub(crate) fn settle(&self) {
        self.gone.settle();
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

    /// Inserts a node at an end of the list at `owner`. A node that is already in a list or tree is
    /// rejected, and released.
    pub(crate) fn push(&self, owner: u64, node: u64, end: End) -> Result<(), Errno> {
        let mut state = self.state();
        if let Err(errno) = state.own(owner, node) {
            return self.reject(state, node, errno);
        }
        let list = state.lists.entry(owner).or_default();
        match end {
            End::Front => list.push_front(node),
            End::Back => list.push_back(node),
        }
        Ok(())
    }

    /// Inserts a node into the tree at `owner` as a child of another, or as the root; rejects nodes
    /// as [`Objects::push`] does.
    pub(crate) fn plant(
        &self,
        owner: u64,
        node: u64,
        below: Option<(u64, Side)>,
    ) -> Result<(), Errno> {
        let mut state = self.state();
        if let Err(errno) = state.own(owner, node) {
            return self.reject(state, node, errno);
        }
        state.trees.entry(owner).or_default().insert(node, below);
        Ok(())
    }

    /// Whether a node is in a list or tree.
    pub(crate) fn is_linked(&self, node: u64) -> bool {
        self.state().owners.contains_key(&node)
    }

    fn reject(
        &self,
        mut state: MutexGuard<'_, State>,
        node: u64,
        errno: Errno,
    ) -> Result<(), Errno> {
        let memory = state.release(node);
        drop(state);
        self.retire(memory);
        Err(errno)
    }

    /// Removes the node at an end of a list.
    pub(crate) fn pop(&self, owner: u64, end: End) -> Option<u64> {
        let mut state = self.state();
        let list = state.lists.get_mut(&owner)?;
        let node = match end {
            End::Front => list.pop_front(),
            End::Back => list.pop_back(),
        };
        if list.is_empty() {
            state.lists.remove(&owner);
        }
        state.owners.remove(&node?);
        node
    }

    /// The node at an end of a list.
    pub(crate) fn peek(&self, owner: u64, end: End) -> Option<u64> {
        let state = self.state();
        let list = state.lists.get(&owner)?;
        match end {
            End::Front => list.front().copied(),
            End::Back => list.back().copied(),
        }
    }

    /// Removes a node from its tree, if that is at `owner`.
    pub(crate) fn remove(&self, owner: u64, node: u64) -> Option<u64> {
        let mut state = self.state();
        if state.owners.get(&node) != Some(&owner) {
            return None;
        }
        let tree = state.trees.get_mut(&owner)?;
        tree.remove(node);
        if tree.is_empty() {
            state.trees.remove(&owner);
        }
        state.owners.remove(&node);
        Some(node)
    }

    /// The first node of a tree.
    pub(crate) fn first(&self, owner: u64) -> Option<u64> {
        self.state().trees.get(&owner)?.first()
    }

    /// The root of a tree, or of a subtree of one of its nodes.
    pub(crate) fn root(&self, owner: u64, below: Option<(u64, Side)>) -> Option<u64> {
        let state = self.state();
        let tree = state.trees.get(&owner)?;
        match below {
            None => tree.root(),
            Some((node, side)) => tree.child(node, side),
        }
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

    fn unlimited() -> Objects {
        Objects::new(&Budget::new(usize::MAX))
    }

    #[test]
    fn objects_are_charged_to_the_budget() {
        let budget = Budget::new(64 << 10);
        let objects = Objects::new(&budget);
        let made: Vec<u64> = (0..200)
            .map(|_| objects.create(8, Owns::default()))
            .filter(|base| *base != 0)
            .collect();
        assert_eq!(made.len(), (64 << 10) / (skep_mem::ALIGN + OVERHEAD));
        made.iter().for_each(|base| objects.release(*base));
        // Their memory goes to the next ones, once no run of another test's can hold it.
        let late = Instant::now() + Duration::from_secs(60);
        while objects.create(8, Owns::default()) == 0 {
            assert!(Instant::now() < late, "{} bytes stay", budget.used_bytes());
            std::thread::yield_now();
        }
    }

    #[test]
    fn an_object_goes_with_its_last_user() {
        let objects = unlimited();
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
            objects.settle();
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_list_holds_what_was_pushed() {
        let objects = unlimited();
        let [a, b, c] = [0; 3].map(|_| objects.create(64, Owns::default()));
        let list = 0x1000;
        for (node, end) in [(a, End::Back), (b, End::Front), (c, End::Back)] {
            objects.push(list, node + 16, end).unwrap();
        }
        assert_eq!(objects.peek(list, End::Front), Some(b + 16));
        // A node that is already in a list: the reference passed is dropped.
        assert!(objects.acquire(a));
        assert_eq!(objects.push(list, a + 16, End::Front), Err(Errno::EINVAL));
        assert_eq!(objects.peek(list, End::Back), Some(c + 16));
        assert_eq!(objects.pop(list, End::Back), Some(c + 16));
        assert_eq!(objects.remove(list, c + 16), None);
        assert_eq!(objects.pop(list, End::Front), Some(b + 16));
        assert_eq!(objects.count(), 3);
        objects.clear(list);
        assert_eq!((objects.count(), objects.pop(list, End::Front)), (2, None));
    }

    /// A unit of fuel may pay for an insertion, which must not cost more the more nodes there are.
    #[test]
    fn a_tree_is_searched_from_its_root() {
        let objects = unlimited();
        let (root, len, mut steps) = (0x2000, 200_000, 0);
        for node in (1..=len).map(|n| n * 0x9e37 % 1_000_003) {
            let (mut below, mut at) = (None, objects.root(root, None));
            while let Some(other) = at {
                below = Some((other, if node < other { Side::Left } else { Side::Right }));
                at = objects.root(root, below);
                steps += 1;
            }
            objects.plant(root, node, below).unwrap();
        }
        assert!(steps < 22 * len, "{steps}");
        assert_eq!(objects.plant(root, 0x9e37, None), Err(Errno::EINVAL));
        assert_eq!((objects.is_linked(0x9e37), objects.remove(0x3000, 0x9e37)), (true, None));
        let mut last = 0;
        while let Some(node) = objects.first(root) {
            assert!(last < node);
            last = node;
            assert_eq!(objects.remove(root, node), Some(node));
        }
        assert!(objects.root(root, None).is_none() && last > 0);
    }

    #[test]
    fn what_an_object_owns_goes_with_it() {
        let objects = unlimited();
        let outer = objects.create(32, Owns { pointers: 1, heads: 1 << 2 });
        let [inside, listed, kept] = [0; 3].map(|_| objects.create(64, Owns::default()));
        let (region, at) = objects.locate(outer, 8).unwrap();
        region.u64(at).store(inside, std::sync::atomic::Ordering::Release);
        objects.push(outer + 16, listed, End::Front).unwrap();
        objects.push(outer + 16, kept, End::Front).unwrap();
        assert!(objects.acquire(kept));
        objects.release(outer);
        assert_eq!((objects.count(), objects.locate(kept, 1).is_some()), (1, true));
        assert!(objects.plant(0x3000, kept, None).is_ok());
    }
}
