//! `BPF_MAP_TYPE_BLOOM_FILTER`: tests whether a value was probably pushed, or certainly not.
//!
//! Kernel: `bloom_filter_map_ops` (6.18). `map_extra` is the number of hashes, 5 by default; there
//! are enough bits for a low false positive rate with `max_entries` values. False positives differ,
//! as the seed does.

use super::kind::{MapKind, Resources};
use crate::{Errno, Error};
use skep_mem::Region;
use skep_program::MapDef;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const HASHES_DEFAULT: u64 = 5;
const HASHES_MAX: u64 = 15;

pub(super) struct BloomFilter {
    bits: Region,
    mask: u64,
    hashes: u64,
    seeds: RandomState,
}

impl BloomFilter {
    pub(super) fn new(def: &MapDef, resources: &Resources) -> Result<BloomFilter, Error> {
        let hashes = if def.map_extra == 0 { HASHES_DEFAULT } else { def.map_extra };
        if hashes > HASHES_MAX {
            return Err(
                Error::input(format!("{}: {hashes} hashes", Errno::EINVAL)).because(Errno::EINVAL)
            );
        }
        // Entries times hashes divided by ln 2 keeps half of the bits clear.
        let wanted = u64::from(def.max_entries) * hashes * 7 / 5;
        let count = wanted.next_power_of_two().clamp(64, 1 << 32);
        let bits =
            Region::zeroed(count as usize / 8, &resources.budget).map_err(Error::no_memory)?;
        Ok(BloomFilter { bits, mask: count - 1, hashes, seeds: RandomState::new() })
    }

    fn words(&self, value: &[u8]) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let (first, second) = (self.seeds.hash_one(value), self.seeds.hash_one((value, 1)) | 1);
        (0..self.hashes).map(move |n| {
            let bit = first.wrapping_add(n.wrapping_mul(second)) & self.mask;
            (self.bits.u64((bit / 64 * 8) as usize), 1 << (bit % 64))
        })
    }
}

impl MapKind for BloomFilter {
    fn update(&self, _key: &[u8], _value: &[u8], _flags: u64) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&self, _key: &[u8]) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    fn next_key(&self, _key: Option<&[u8]>, _next: &mut [u8]) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    fn push(&self, value: &[u8], flags: u64) -> Result<(), Errno> {
        if flags != 0 {
            return Err(Errno::EINVAL);
        }
        for (word, bit) in self.words(value) {
            word.fetch_or(bit, Relaxed);
        }
        Ok(())
    }

    /// Tests whether `value` was pushed; nothing can be popped.
    fn pop(&self, value: &mut [u8], keep: bool) -> Result<(), Errno> {
        if !keep {
            return Err(Errno::EOPNOTSUPP);
        }
        let all = self.words(value).all(|(word, bit)| word.load(Relaxed) & bit != 0);
        if all { Ok(()) } else { Err(Errno::ENOENT) }
    }

    fn read(&self, _key: &[u8]) -> Result<Vec<u8>, Errno> {
        Err(Errno::EINVAL)
    }

    fn write(&self, _key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        self.push(value, flags)
    }

    fn locate(&self, _addr: u64, _size: usize) -> Option<(&Region, usize)> {
        None
    }
}
