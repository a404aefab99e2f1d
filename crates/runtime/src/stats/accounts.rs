//! `Accounts`: what threads that have ended counted, by program; in a child of `fork`, also what
//! threads counted that did not come along.
//!
//! # Invariants
//! 1. Whoever calls anything here holds the lock (`ledger`): each count is seen once.
//!
//! The models compile this file too, with slots that they watch.

use super::StatsSlot;
use super::counts::{self, Counts};
use std::collections::BTreeMap;

/// The slots of one program, by the number of their thread.
pub(crate) trait Slots: Clone {
    fn all(&self) -> &[StatsSlot];
}

/// A program that has counted anything, or may have.
#[derive(Clone)]
struct Account<S> {
    slots: S,
    /// Of threads that have ended.
    folded: Counts,
}

/// All of them.
#[derive(Clone)]
pub(crate) struct Accounts<S>(BTreeMap<u64, Account<S>>);

impl<S: Slots> Accounts<S> {
    pub(crate) const fn new() -> Accounts<S> {
        Accounts(BTreeMap::new())
    }

    /// Something will be counted in `slots`, if that is not known.
    pub(crate) fn open(&mut self, number: u64, slots: &S) {
        let account = || Account { slots: slots.clone(), folded: Counts::ZERO };
        self.0.entry(number).or_insert_with(account);
    }

    pub(crate) fn close(&mut self, number: u64) {
        self.0.remove(&number);
    }

    /// What all threads have counted, of which `used` had a slot.
    pub(crate) fn read(&self, number: u64, used: usize) -> Counts {
        let Some(account) = self.0.get(&number) else { return Counts::ZERO };
        let mut sum = account.folded.clone();
        account.slots.all().iter().take(used).for_each(|slot| sum.add(slot));
        sum
    }

    /// The thread that owns slot `thread` ends.
    pub(crate) fn fold(&mut self, thread: u32) {
        for account in self.0.values_mut() {
            if let Some(slot) = account.slots.all().get(thread as usize) {
                account.folded.fold(slot);
            }
        }
    }

    /// In a child of `fork`: only the thread with slot `mine` came along.
    pub(crate) fn fold_others(&mut self, mine: u32, used: usize) {
        for account in self.0.values_mut() {
            let slots = account.slots.all().iter().take(used).enumerate();
            for (_, slot) in slots.filter(|(number, _)| *number != mine as usize) {
                counts::settle(slot);
                account.folded.fold(slot);
            }
        }
    }
}
