//! Index of types by name: a chained hash table over essential names.
//!
//! One table serves exact lookups and CO-RE candidates: names are hashed without `___flavor`. Built
//! once per BTF, for CO-RE or many names (`find`): about 3 ms for the 126,000 types of a kernel, 8
//! bytes per type.

use crate::TypeId;
use std::hash::Hasher;

/// Chains of ids whose names have the same hash, each in id order.
pub(crate) struct NameIndex {
    /// First type of each hash chain; 0 means none, n + 1 the n-th type.
    heads: Box<[u32]>,
    /// The next of each type's chain.
    nexts: Box<[u32]>,
}

impl NameIndex {
    /// The index of `len` types, whose names are given by position.
    pub(crate) fn build<'a>(len: usize, name_of: impl Fn(usize) -> &'a str) -> NameIndex {
        let mut heads = vec![0; len.next_power_of_two()].into_boxed_slice();
        let mut nexts = vec![0; len].into_boxed_slice();
        for n in (0..len).rev() {
            let name = name_of(n);
            if name.is_empty() {
                continue;
            }
            let head = &mut heads[slot(name, heads.len())];
            nexts[n] = *head;
            *head = n as u32 + 1;
        }
        NameIndex { heads, nexts }
    }

    /// Ids that may have this essential name, in id order; `first_id` is the BTF's.
    pub(crate) fn candidates(
        &self,
        name: &str,
        first_id: u32,
    ) -> impl Iterator<Item = TypeId> + '_ {
        let head = if name.is_empty() { 0 } else { self.heads[slot(name, self.heads.len())] };
        let some = |n: u32| (n != 0).then_some(n);
        let chain = std::iter::successors(some(head), move |&n| some(self.nexts[n as usize - 1]));
        chain.map(move |n| TypeId(first_id + n - 1))
    }
}

fn slot(name: &str, slots: usize) -> usize {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(essential_name(name).as_bytes());
    hasher.finish() as usize & (slots - 1)
}

/// A name without its flavor: `task_struct___old` is `task_struct`.
///
/// The flavor begins at the last `___` that has a character other than `_` on both sides.
pub(crate) fn essential_name(name: &str) -> &str {
    let b = name.as_bytes();
    let is_flavor = |at: usize| match b.get(at.wrapping_sub(1)..at.saturating_add(4)) {
        Some(&[before, b'_', b'_', b'_', after]) => before != b'_' && after != b'_',
        _ => false,
    };
    // Every third byte: one of them is among three adjacent ones.
    let marks = (2..b.len()).step_by(3).rev().filter(|&at| b[at] == b'_');
    let found = marks.flat_map(|at| (at - 2..=at).rev()).find(|&at| is_flavor(at));
    found.map_or(name, |at| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::essential_name;

    #[test]
    fn flavor_is_cut() {
        for (name, essential) in [
            ("task_struct", "task_struct"),
            ("task_struct___old", "task_struct"),
            ("a___b", "a"),
            ("a___b___c", "a___b"),
            ("ab___c", "ab"),
            ("abc___d", "abc"),
            ("abc___defg", "abc"),
            ("abcd___efgh", "abcd"),
            ("___a", "___a"),
            ("a___", "a___"),
            ("a____b", "a____b"),
            ("a__b", "a__b"),
            ("é___b", "é"),
            ("", ""),
        ] {
            assert_eq!(essential_name(name), essential, "{name}");
        }
    }
}
