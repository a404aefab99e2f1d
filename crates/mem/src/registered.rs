//! `Registered`: values that exist as long as the process and are called at some event. There are
//! only ever more of them.
//!
//! No lock: a child of `fork` could find it held by a thread that does not exist in it.

use once_cell::race::OnceBox;
use std::ptr;

/// A list, in order of registration. Nodes are never freed.
pub(crate) struct Registered<T: Sync + 'static>(OnceBox<Node<T>>);

struct Node<T: Sync + 'static> {
    value: &'static T,
    next: Registered<T>,
}

impl<T: Sync + 'static> Registered<T> {
    pub(crate) const fn new() -> Registered<T> {
        Registered(OnceBox::new())
    }

    /// Adds a value, unless it is there already.
    pub(crate) fn add(&self, value: &'static T) {
        let mut place = self;
        loop {
            let Some(node) = place.0.get() else {
                let next = Registered::new();
                // If another thread was first, its value is looked at next.
                let _ = place.0.set(Box::new(Node { value, next }));
                continue;
            };
            if ptr::eq(node.value, value) {
                return;
            }
            place = &node.next;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static T> {
        let mut at = self.0.get();
        std::iter::from_fn(move || {
            let node = at?;
            at = node.next.0.get();
            Some(node.value)
        })
    }

    /// From the last to the first. Allocates nothing.
    pub(crate) fn each_reversed(&self, each: &mut dyn FnMut(&'static T)) {
        if let Some(node) = self.0.get() {
            node.next.each_reversed(each);
            each(node.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static NUMBERS: [u8; 5] = [0, 1, 2, 3, 4];

    #[test]
    fn each_is_there_once_in_order() {
        let all = Registered::new();
        for number in NUMBERS.iter().chain(&NUMBERS) {
            all.add(number);
        }
        assert!(all.iter().eq(&NUMBERS));
        let mut reversed = Vec::new();
        all.each_reversed(&mut |number| reversed.push(*number));
        assert_eq!(reversed, [4, 3, 2, 1, 0]);
    }

    #[test]
    fn threads_lose_none() {
        static ALL: Registered<u8> = Registered::new();
        std::thread::scope(|scope| {
            for first in 0..NUMBERS.len() {
                scope.spawn(move || {
                    (0..NUMBERS.len()).for_each(|at| ALL.add(&NUMBERS[(first + at) % 5]));
                });
            }
        });
        let mut found: Vec<u8> = ALL.iter().copied().collect();
        found.sort_unstable();
        assert_eq!(found, NUMBERS);
    }
}
