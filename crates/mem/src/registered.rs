//! `Registered`: values that exist as long as the process and are called at some event. There are
//! only ever more of them.
//!
//! No lock: a child of `fork` could find it held by a thread that does not exist in it.

#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A list, in order of registration. Nodes are never freed.
pub(crate) struct Registered<T: Sync + 'static>(AtomicPtr<Node<T>>);

struct Node<T: Sync + 'static> {
    value: &'static T,
    next: Registered<T>,
}

impl<T: Sync + 'static> Registered<T> {
    pub(crate) const fn new() -> Registered<T> {
        Registered(AtomicPtr::new(ptr::null_mut()))
    }

    /// Adds a value, unless it is there already.
    pub(crate) fn add(&self, value: &'static T) {
        let mut place = self;
        let mut unused = None;
        loop {
            if let Some(node) = place.node() {
                if ptr::eq(node.value, value) {
                    return;
                }
                place = &node.next;
                continue;
            }
            let node = unused.take().unwrap_or_else(|| {
                let next = Registered::new();
                Box::new(Node { value, next })
            });
            let new = Box::into_raw(node);
            let none = ptr::null_mut();
            match place.0.compare_exchange(none, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                // SAFETY: it was made above, and no one else has it.
                Err(_) => unused = Some(unsafe { Box::from_raw(new) }),
            }
        }
    }

    fn node(&self) -> Option<&Node<T>> {
        // SAFETY: null, or a node, which is never freed.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static T> {
        let mut at = self.node();
        std::iter::from_fn(move || {
            let node = at?;
            at = node.next.node();
            Some(node.value)
        })
    }

    /// From the last to the first. Allocates nothing.
    pub(crate) fn each_reversed(&self, each: &mut dyn FnMut(&'static T)) {
        if let Some(node) = self.node() {
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
