//! `BPF_MAP_TYPE_LPM_TRIE`: longest prefix match.
//!
//! A key is a prefix length in bits (u32, host order) and the bytes of the prefix. The trie
//! branches at the first bit in which its keys differ; a branch at which no key ends is a node
//! without a value. Readers walk without a lock; writers exclude each other.
//!
//! # Invariants
//! 1. A child's prefix extends its parent's, and its first further bit is the child's number.
//! 2. A node without value has two children.
//! 3. Readers are in a run, so nodes on their path are not reused: a node is only modified while it
//!    is not visible, except for its children and whether it has a value.
//!
//! Kernel: `trie_map_ops` (6.18). Iteration returns children before their parents.

use super::kind::{BPF_EXIST, BPF_NOEXIST, MapKind, Resources, index};
use super::lpm_nodes::{NIL, Nodes, Unused};
use super::value::ValueLayout;
use crate::{Errno, Error};
use skep_mem::Region;
use skep_uapi::MapShape;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Layout of a node: the key (its length first), then children, `HAS_VALUE`, and the value.
const KEY: usize = 0;

pub(super) struct LpmTrie {
    nodes: Nodes,
    /// Held while changing the trie.
    unused: Mutex<Unused>,
    root: AtomicU32,
    count: AtomicU32,
    max_entries: u32,
    key_size: usize,
    children_at: usize,
    value_at: usize,
    layout: ValueLayout,
}

/// Where a node is linked: the root, or child 0 or 1 of a node.
#[derive(Clone, Copy)]
enum Slot {
    Root,
    Child(u32, usize),
}

/// The path to the position of a key.
struct Place {
    /// The slot of the first node that is not a proper prefix of the key.
    slot: Slot,
    /// The slot that links the node of `slot`.
    above: Option<Slot>,
    /// What is in the slot.
    node: u32,
    /// Number of leading bits that the node and the key share.
    common: u32,
}

impl LpmTrie {
    pub(super) fn new(
        shape: &MapShape,
        layout: ValueLayout,
        resources: &Resources,
    ) -> Result<LpmTrie, Error> {
        let key_size = shape.key_size as usize;
        let children_at = KEY + key_size.next_multiple_of(8);
        let value_at = children_at + 16;
        // There are fewer branches without value than keys.
        let nodes = shape.max_entries.checked_mul(2);
        let nodes =
            nodes.ok_or_else(|| Error::memory(Errno::E2BIG.to_string()).because(Errno::E2BIG))?;
        let nodes = Nodes::new(nodes, value_at + layout.stride(), &resources.budget)?;
        let (root, count) = (AtomicU32::new(NIL), AtomicU32::new(0));
        let max_entries = shape.max_entries;
        Ok(LpmTrie {
            nodes,
            unused: Mutex::new(Unused::new()),
            root,
            count,
            max_entries,
            key_size,
            children_at,
            value_at,
            layout,
        })
    }

    fn unused(&self) -> MutexGuard<'_, Unused> {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bits_max(&self) -> u32 {
        (self.key_size as u32 - 4) * 8
    }

    fn slot(&self, slot: Slot) -> &AtomicU32 {
        match slot {
            Slot::Root => &self.root,
            Slot::Child(node, n) => self.nodes.word(node, self.children_at + 4 * n),
        }
    }

    fn get(&self, slot: Slot) -> u32 {
        self.slot(slot).load(Acquire)
    }

    fn key(&self, node: u32, key: &mut [u8]) {
        let (region, off) = self.nodes.at(node);
        region.read(off + KEY, key);
    }

    fn prefix_len(&self, node: u32) -> u32 {
        self.nodes.word(node, KEY).load(Relaxed)
    }

    fn has_value(&self, node: u32) -> &AtomicU32 {
        self.nodes.word(node, self.children_at + 8)
    }

    /// Number of leading bits that a node's prefix and `key`'s share.
    fn common_bits(&self, node: u32, key: &[u8]) -> u32 {
        let most = self.prefix_len(node).min(prefix_len(key));
        let (region, off) = self.nodes.at(node);
        let mut word = [0; 8];
        let mut bits = 0;
        // The first word contains the length and four bytes of the prefix.
        for (n, part) in key.chunks(8).enumerate() {
            let theirs = &mut word[..part.len()];
            region.read(off + KEY + 8 * n, theirs);
            let skip = if n == 0 { 4 } else { 0 };
            for (a, b) in theirs.iter().zip(part).skip(skip) {
                let same = (a ^ b).leading_zeros();
                bits += same;
                if same < 8 || bits >= most {
                    return bits.min(most);
                }
            }
        }
        bits.min(most)
    }

    /// The node with the longest prefix of `key` that has a value.
    fn find(&self, key: &[u8]) -> Option<u32> {
        let wanted = prefix_len(key);
        let (mut node, mut found) = (self.get(Slot::Root), None);
        while node != NIL {
            let len = self.prefix_len(node);
            if len > wanted || self.common_bits(node, key) < len {
                break;
            }
            if self.has_value(node).load(Acquire) != 0 {
                found = Some(node);
            }
            if len == wanted {
                break;
            }
            node = self.get(Slot::Child(node, bit(key, len)));
        }
        found
    }

    /// The position of `key`.
    fn place(&self, key: &[u8]) -> Place {
        let (mut slot, mut above) = (Slot::Root, None);
        loop {
            let node = self.get(slot);
            if node == NIL {
                return Place { slot, above, node, common: 0 };
            }
            let (len, common) = (self.prefix_len(node), self.common_bits(node, key));
            if common < len || len == prefix_len(key) {
                return Place { slot, above, node, common };
            }
            above = Some(slot);
            slot = Slot::Child(node, bit(key, len));
        }
    }

    /// Whether the node at a position has exactly this key.
    fn is_at(&self, place: &Place, key: &[u8]) -> bool {
        let len = prefix_len(key);
        place.node != NIL && place.common == len && self.prefix_len(place.node) == len
    }

    /// A new, invisible node for `key`.
    fn new_node(
        &self,
        unused: &mut Unused,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<u32, Errno> {
        let node = self.nodes.take(unused)?;
        let (region, off) = self.nodes.at(node);
        region.write(off + KEY, key);
        region.clear(off + self.children_at, 16 + self.layout.stride());
        if let Some(value) = value {
            self.layout.write(region, off + self.value_at, value);
            self.has_value(node).store(1, Relaxed);
        }
        Ok(node)
    }

    fn set_child(&self, node: u32, n: usize, child: u32) {
        self.slot(Slot::Child(node, n)).store(child, Relaxed);
    }

    fn check_key(&self, key: &[u8]) -> Result<(), Errno> {
        if prefix_len(key) > self.bits_max() { Err(Errno::EINVAL) } else { Ok(()) }
    }

    /// The slots from the root to the node with `key`, or `None` if it has no value.
    fn path(&self, key: &[u8]) -> Option<Vec<Slot>> {
        let mut path = vec![Slot::Root];
        loop {
            let slot = *path.last()?;
            let node = self.get(slot);
            if node == NIL || path.len() > self.bits_max() as usize + 2 {
                return None;
            }
            let (len, common) = (self.prefix_len(node), self.common_bits(node, key));
            if common < len || len > prefix_len(key) {
                return None;
            }
            if len == prefix_len(key) {
                return (self.has_value(node).load(Acquire) != 0).then_some(path);
            }
            path.push(Slot::Child(node, bit(key, len)));
        }
    }

    /// The first node below `slot` in the order of children before parents.
    fn leftmost(&self, mut slot: Slot) -> u32 {
        let mut node = self.get(slot);
        for _ in 0..=self.bits_max() {
            let child =
                [0, 1].map(|n| Slot::Child(node, n)).into_iter().find(|c| self.get(*c) != NIL);
            match child {
                Some(child) => slot = child,
                None => break,
            }
            node = self.get(slot);
        }
        node
    }
}

/// The length of a prefix, bits.
fn prefix_len(key: &[u8]) -> u32 {
    index(key)
}

/// Bit `n` of a prefix, from the highest of its first byte on.
fn bit(key: &[u8], n: u32) -> usize {
    let byte = key.get(4 + n as usize / 8).copied().unwrap_or(0);
    usize::from(byte >> (7 - n % 8) & 1)
}

impl MapKind for LpmTrie {
    fn lookup(&self, key: &[u8]) -> u64 {
        if prefix_len(key) > self.bits_max() {
            return 0;
        }
        self.find(key).map_or(0, |node| {
            let (region, off) = self.nodes.at(node);
            region.addr(off + self.value_at)
        })
    }

    fn update(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        if flags > BPF_EXIST {
            return Err(Errno::EINVAL);
        }
        self.check_key(key)?;
        let mut unused = self.unused();
        let place = self.place(key);
        let is_at = self.is_at(&place, key);
        let exists = is_at && self.has_value(place.node).load(Relaxed) != 0;
        match flags {
            BPF_NOEXIST if exists => return Err(Errno::EEXIST),
            BPF_EXIST if !exists => return Err(Errno::ENOENT),
            _ => {}
        }
        if !exists && self.count.load(Relaxed) == self.max_entries {
            return Err(Errno::ENOSPC);
        }
        let new = self.new_node(&mut unused, key, Some(value))?;
        let mut top = new;
        if is_at {
            // Replaces the node with the same prefix.
            for n in [0, 1] {
                self.set_child(new, n, self.get(Slot::Child(place.node, n)));
            }
        } else if place.node != NIL && place.common == prefix_len(key) {
            // The key is a prefix of the node's.
            let mut below = vec![0; self.key_size];
            self.key(place.node, &mut below);
            self.set_child(new, bit(&below, place.common), place.node);
        } else if place.node != NIL {
            let mut fork = key.to_vec();
            fork[..4].copy_from_slice(&place.common.to_ne_bytes());
            top = match self.new_node(&mut unused, &fork, None) {
                Ok(top) => top,
                Err(errno) => {
                    unused.put(new);
                    return Err(errno);
                }
            };
            let side = bit(key, place.common);
            self.set_child(top, side, new);
            self.set_child(top, 1 - side, place.node);
        }
        self.slot(place.slot).store(top, Release);
        if is_at {
            unused.put(place.node);
        }
        if !exists {
            self.count.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        self.check_key(key)?;
        let mut unused = self.unused();
        let place = self.place(key);
        if !self.is_at(&place, key) || self.has_value(place.node).load(Relaxed) == 0 {
            return Err(Errno::ENOENT);
        }
        self.count.fetch_sub(1, Relaxed);
        let children = [0, 1].map(|n| self.get(Slot::Child(place.node, n)));
        match children {
            [NIL, NIL] => {
                // Also removes a branch without value that has lost a child.
                let above = match (place.above, place.slot) {
                    (Some(above), Slot::Child(node, n))
                        if self.has_value(node).load(Relaxed) == 0 =>
                    {
                        Some((above, node, self.get(Slot::Child(node, 1 - n))))
                    }
                    _ => None,
                };
                match above {
                    Some((above, branch, sibling)) => {
                        self.slot(above).store(sibling, Release);
                        unused.put(branch);
                    }
                    None => self.slot(place.slot).store(NIL, Release),
                }
                unused.put(place.node);
            }
            [child, NIL] | [NIL, child] => {
                self.slot(place.slot).store(child, Release);
                unused.put(place.node);
            }
            _ => self.has_value(place.node).store(0, Release),
        }
        Ok(())
    }

    fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> Result<(), Errno> {
        if self.get(Slot::Root) == NIL {
            return Err(Errno::ENOENT);
        }
        let path = key.filter(|key| prefix_len(key) <= self.bits_max()).and_then(|k| self.path(k));
        let Some(mut path) = path else {
            // The first one is a leaf, which has a value (invariant 2).
            self.key(self.leftmost(Slot::Root), next);
            return Ok(());
        };
        while let Some(Slot::Child(parent, n)) = path.pop() {
            let right = Slot::Child(parent, 1);
            if n == 0 && self.get(right) != NIL {
                self.key(self.leftmost(right), next);
                return Ok(());
            }
            if self.has_value(parent).load(Acquire) != 0 {
                self.key(parent, next);
                return Ok(());
            }
        }
        Err(Errno::ENOENT)
    }

    fn read(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        if prefix_len(key) > self.bits_max() {
            return Err(Errno::ENOENT);
        }
        let node = self.find(key).ok_or(Errno::ENOENT)?;
        let (region, off) = self.nodes.at(node);
        Ok(self.layout.read(region, off + self.value_at))
    }

    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        self.nodes.locate(addr, size)
    }
}
