//! The references that a path has acquired, in order. Copies share all but the newest few: a path
//! that holds thousands of references is saved at each branch.
//!
//! # Invariants
//! 1. Every chunk is full, and `len` counts what is in chunks and in `newest`.

use crate::state::reference::Reference;
use smallvec::SmallVec;
use std::iter::successors;
use std::sync::Arc;

/// References per chunk.
const CHUNK: usize = 32;

/// Acquired references, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefList {
    older: Option<Arc<Chunk>>,
    /// Fewer than a chunk.
    newest: Vec<Reference>,
    len: usize,
}

#[derive(Debug)]
struct Chunk {
    older: Option<Arc<Chunk>>,
    items: [Reference; CHUNK],
}

impl Drop for Chunk {
    /// Iterative: recursion through thousands of chunks would overflow the stack.
    fn drop(&mut self) {
        let mut next = self.older.take();
        while let Some(mut chunk) = next.and_then(Arc::into_inner) {
            next = chunk.older.take();
        }
    }
}

impl RefList {
    /// The empty list.
    pub(crate) const fn new() -> RefList {
        RefList { older: None, newest: Vec::new(), len: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The chunks, newest first.
    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        successors(self.older.as_deref(), |chunk| chunk.older.as_deref())
    }

    /// All references, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Reference> {
        let chunks: SmallVec<[&Chunk; 4]> = self.chunks().collect();
        chunks.into_iter().rev().flat_map(|chunk| &chunk.items).chain(&self.newest)
    }

    /// The index of the newest reference for which `is_it` holds.
    pub(crate) fn find_newest(&self, is_it: impl Fn(&Reference) -> bool) -> Option<usize> {
        let mut first = self.len - self.newest.len();
        if let Some(i) = self.newest.iter().rposition(&is_it) {
            return Some(first + i);
        }
        for chunk in self.chunks() {
            first -= CHUNK;
            if let Some(i) = chunk.items.iter().rposition(&is_it) {
                return Some(first + i);
            }
        }
        None
    }

    /// Adds a reference, which becomes the newest.
    pub(crate) fn push(&mut self, item: Reference) {
        self.len += 1;
        self.newest.push(item);
        if let Ok(items) = self.newest[..].try_into() {
            self.older = Some(Arc::new(Chunk { older: self.older.take(), items }));
            self.newest.clear();
        }
    }

    /// Removes item `i`; the others keep their order.
    pub(crate) fn remove(&mut self, i: usize) {
        let first = self.len - self.newest.len();
        if let Some(i) = i.checked_sub(first) {
            self.newest.remove(i);
            self.len -= 1;
            return;
        }
        let stays = i / CHUNK * CHUNK;
        let later: Vec<Reference> = self.iter().skip(stays).copied().collect();
        for _ in stays / CHUNK..first / CHUNK {
            let chunk = self.older.take();
            self.older = chunk.and_then(|chunk| chunk.older.clone());
        }
        self.newest.clear();
        self.len = stays;
        for (_, item) in (stays..).zip(later).filter(|&(at, _)| at != i) {
            self.push(item);
        }
    }
}

impl PartialEq for RefList {
    fn eq(&self, other: &RefList) -> bool {
        self.len == other.len && (self.len == 0 || self.iter().eq(other.iter()))
    }
}

impl Eq for RefList {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::reference::{LockHome, RefKind};

    fn reference(id: u32) -> Reference {
        Reference { kind: RefKind::Ptr, id, insn_idx: 0, home: LockHome::None }
    }

    /// Performs the same pushes and removals on a plain vector.
    #[test]
    fn it_is_a_vector() {
        let (mut list, mut plain) = (RefList::new(), Vec::new());
        let mut copies = Vec::new();
        for id in 0..400_u32 {
            list.push(reference(id));
            plain.push(reference(id));
            if id % 3 == 0 {
                let i = (id as usize * 7919) % plain.len();
                list.remove(i);
                plain.remove(i);
            }
            copies.push((list.clone(), plain.clone()));
        }
        for (list, plain) in &copies {
            assert!(list.len() == plain.len() && list.iter().eq(plain));
            for id in [0, 5, 64, 399] {
                let at = plain.iter().rposition(|r| r.id == id);
                assert_eq!(list.find_newest(|r| r.id == id), at);
            }
        }
        assert!(copies[300].0 != copies[301].0 && copies[7].0 == copies[7].0.clone());
    }

    #[test]
    fn a_long_list_is_dropped_without_a_deep_stack() {
        let mut list = RefList::new();
        (0..2_000_000).for_each(|id| list.push(reference(id)));
        drop(list.clone());
        drop(list);
    }
}
