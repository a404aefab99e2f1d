//! A chunked vector: growing copies nothing and wastes less than one chunk.

use crate::memory::capacity_bytes;
use std::ops::{Index, IndexMut};

/// Items per chunk, as a power of two.
const CHUNK_BITS: u32 = 5;
const CHUNK: usize = 1 << CHUNK_BITS;

/// Items, by the index that [`Slab::push`] returned.
pub(crate) struct Slab<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Slab<T> {
    /// An empty slab.
    pub(crate) const fn new() -> Slab<T> {
        Slab { chunks: Vec::new() }
    }

    /// Adds an item and returns its index.
    pub(crate) fn push(&mut self, item: T) -> u32 {
        let len = self.len();
        if len.is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(item);
        }
        len as u32
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        capacity_bytes(&self.chunks) + (self.chunks.len() * CHUNK * size_of::<T>()) as u64
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, i: u32) -> &T {
        &self.chunks[(i >> CHUNK_BITS) as usize][i as usize % CHUNK]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, i: u32) -> &mut T {
        &mut self.chunks[(i >> CHUNK_BITS) as usize][i as usize % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_numbers() {
        let mut slab = Slab::new();
        let numbers: Vec<u32> = (0..100).map(|i| slab.push(i * 7)).collect();
        assert_eq!(numbers, (0..100).collect::<Vec<u32>>());
        slab[40] += 1;
        assert_eq!((slab[39], slab[40], slab[99]), (273, 281, 693));
        assert_eq!((slab.len(), slab.iter().count()), (100, 100));
        assert!(slab.bytes() >= 128 * 4);
    }
}
