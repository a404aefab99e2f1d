//! Why states were not pruned: which register or slot differed, and which insn made it matter.

use rustc_hash::FxHashMap;
use skep_verifier::trace::{Apart, SideValue, Sides};

/// Why states before an insn were not pruned, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptApart {
    /// The insn.
    pub insn_idx: usize,
    /// What differs.
    pub why: Apart,
    /// Number of comparisons with this outcome.
    pub times: u64,
    /// Its value in the saved state, the first time.
    pub saved: Option<String>,
    /// Its value on the path.
    pub current: Option<String>,
    /// The insn that made the value precise, if known.
    pub needed_by: Option<usize>,
}

/// A register or a slot of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    frame: u8,
    is_reg: bool,
    at: u8,
}

impl Place {
    fn of(why: Apart) -> Option<Place> {
        match why {
            Apart::Register { frame, regno } => Some(Place { frame, is_reg: true, at: regno }),
            Apart::Slot { frame, spi } => Some(Place { frame, is_reg: false, at: spi }),
            _ => None,
        }
    }

    fn all(of: Places) -> impl Iterator<Item = Place> {
        let frame = of.frame as u8;
        let regs = bits(of.regs.into()).map(move |at| Place { frame, is_reg: true, at });
        regs.chain(bits(of.slots).map(move |at| Place { frame, is_reg: false, at }))
    }
}

/// Registers and slots of a frame of the states before an insn, as masks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub(super) insn_idx: u32,
    pub(super) frame: u32,
    pub(super) regs: u16,
    pub(super) slots: u64,
}

/// Why places matter.
#[derive(Debug, Clone, Copy)]
pub(super) enum NeededBy {
    /// This insn needs them.
    Insn(u32),
    /// The state before this insn covers a path, and they already mattered to it.
    StateBefore(u32),
}

fn bits(mut mask: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let at = (mask != 0).then_some(mask.trailing_zeros() as u8)?;
        mask &= mask - 1;
        Some(at)
    })
}

#[derive(Debug, Clone, Copy)]
struct Found {
    why: Apart,
    /// Index of its values.
    values: u32,
    times: u64,
}

/// The registers and slots of a frame of states before an insn for which it is known what needs
/// them.
#[derive(Debug, Clone, Copy, Default)]
struct Explained {
    frame: u32,
    regs: u16,
    slots: u64,
}

/// The reasons found before an insn. The first is stored inline: most insns have only one.
#[derive(Debug, Clone, Default)]
struct Before {
    first: Option<Found>,
    others: Vec<Found>,
    /// In the frame of the last event.
    explained: Explained,
}

impl Before {
    fn found(&self) -> impl Iterator<Item = &Found> {
        self.first.iter().chain(&self.others)
    }

    #[inline]
    fn find(&mut self, why: Apart) -> Option<&mut Found> {
        match &mut self.first {
            Some(first) if first.why == why => Some(first),
            _ => self.others.iter_mut().find(|found| found.why == why),
        }
    }

    fn add(&mut self, found: Found) {
        match self.first {
            None => self.first = Some(found),
            Some(_) => self.others.push(found),
        }
    }
}

/// All reported reasons.
#[derive(Debug, Clone, Default)]
pub(super) struct Reasons {
    /// By insn.
    before: Vec<Before>,
    /// In the saved state and on the path, the first time.
    values: Vec<[Option<SideValue>; 2]>,
    /// What first made a place of the states before an insn matter.
    needed_by: FxHashMap<(u32, Place), u32>,
}

impl Reasons {
    #[inline]
    pub(super) fn add(&mut self, insn_idx: u32, why: Apart, times: u32, values: &Sides<'_>) {
        let at = insn_idx as usize;
        if let Some(known) = self.before.get_mut(at).and_then(|before| before.find(why)) {
            known.times += u64::from(times);
            return;
        }
        let number = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.values.push([values.saved(), values.current()]);
        self.before_mut(at).add(Found { why, values: number, times: times.into() });
    }

    fn before_mut(&mut self, at: usize) -> &mut Before {
        if self.before.len() <= at {
            self.before.resize_with(at + 1, Before::default);
        }
        &mut self.before[at]
    }

    /// These places matter, because of `by`.
    #[inline]
    pub(super) fn matter(&mut self, places: Places, by: NeededBy) {
        let before = self.before.get(places.insn_idx as usize);
        let is_known = before.is_some_and(|Before { explained: known, .. }| {
            known.frame == places.frame
                && places.regs & !known.regs == 0
                && places.slots & !known.slots == 0
        });
        if !is_known {
            self.explain(places, by);
        }
    }

    #[cold]
    fn explain(&mut self, places: Places, by: NeededBy) {
        let Places { insn_idx, frame, regs, slots } = places;
        let mut all_are_known = true;
        for place in Place::all(places) {
            let needed_by = match by {
                NeededBy::Insn(by) => Some(by),
                NeededBy::StateBefore(by) => self.needed_by.get(&(by, place)).copied(),
            };
            match needed_by {
                Some(needed_by) => {
                    self.needed_by.entry((insn_idx, place)).or_insert(needed_by);
                }
                None => all_are_known &= self.needed_by.contains_key(&(insn_idx, place)),
            }
        }
        if !all_are_known {
            return;
        }
        let known = &mut self.before_mut(insn_idx as usize).explained;
        if known.frame != frame {
            *known = Explained { frame, ..Explained::default() };
        }
        known.regs |= regs;
        known.slots |= slots;
    }

    pub(super) fn sorted(&self) -> Vec<KeptApart> {
        let told = self.before.iter().enumerate();
        let told =
            told.flat_map(|(insn_idx, before)| before.found().map(move |found| (insn_idx, found)));
        let mut all: Vec<KeptApart> = told
            .map(|(insn_idx, found)| KeptApart {
                insn_idx,
                why: found.why,
                times: found.times,
                saved: self.value(found, 0),
                current: self.value(found, 1),
                needed_by: Place::of(found.why)
                    .and_then(|place| self.needed_by.get(&(insn_idx as u32, place)))
                    .map(|&by| by as usize),
            })
            .collect();
        let place = |reason: &KeptApart| Place::of(reason.why).map(|p| (p.frame, p.is_reg, p.at));
        all.sort_by_key(|reason| (std::cmp::Reverse(reason.times), reason.insn_idx, place(reason)));
        all
    }

    fn value(&self, found: &Found, side: usize) -> Option<String> {
        self.values.get(found.values as usize)?[side].as_ref().map(ToString::to_string)
    }
}
