//! The most common shape of hash maps, with one-word keys and values: looked up and replaced
//! without loops over bytes, and with a single bounds check per element.
//!
//! # Invariants
//! 1. The behaviour is that of the general paths (`hash`), except that a replaced element is
//!    exchanged for one of its shard's spares (`element_pool`).

use super::element_pool::NIL;
use super::hash::Hash;
use super::hash_function::hash_of_word;
use skep_mem::{Pair, epoch};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// An element whose key and value are words, or half words followed by zeros. The header is
/// `element_pool`'s: next element, hash, next free element, mark.
type WordElement = Pair<[AtomicU32; 4], [AtomicU64; 2]>;

impl Hash {
    /// Replaces the value of an existing key, for a thread that is the only one. `false`: nothing
    /// was done, and the general path must be used.
    #[inline(always)]
    pub(crate) fn replace_word(&self, key: u64, value: u64) -> bool {
        if !self.words || !epoch::may_be_alone() {
            return false;
        }
        let hash = hash_of_word(key, self.seed);
        let mut queue = self.pool.lock(hash);
        if !epoch::is_lone() {
            return false;
        }
        let mut link = self.head(hash);
        let (element, after) = loop {
            let element = link.load(Acquire);
            if element == NIL {
                return false;
            }
            let old: &WordElement = self.pool.view(element);
            let Pair([next, ..], [its_key, _]) = old;
            if its_key.load(Relaxed) == key {
                break (element, next);
            }
            link = next;
        };
        let Some(spare) = queue.exchange(element) else { return false };
        let new: &WordElement = self.pool.view(spare);
        let Pair([next, new_hash, _, mark], [new_key, new_value]) = new;
        next.store(after.load(Relaxed), Relaxed);
        new_hash.store(hash, Relaxed);
        mark.store(1, Relaxed);
        new_key.store(key, Relaxed);
        new_value.store(value, Relaxed);
        link.store(spare, Release);
        true
    }
}
