//! `Edits`: a set of changes to sites, applied completely or not at all.
//!
//! The `loom` models of `skep-runtime` also compile this file, with instrumented sites.

use super::atomic::{Ordering, fence};
use super::text::{Jump, Place, Switch, Target, Text, TextLock};
use std::sync::Arc;
use thiserror::Error;

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EditError {
    /// The code of a site, or of a jump's target, has been freed.
    #[error("site {0} of the batch: its code is freed")]
    Freed(usize),
    /// A site is not in the state that the change expects.
    #[error("site {number} of the batch is stale: {found:#x}, not {expected:#x}")]
    Stale {
        /// Which change.
        number: usize,
        /// The expected state.
        expected: u32,
        /// What is there.
        found: u32,
    },
    /// A target further away than a 32-bit displacement reaches.
    #[error("site {number} of the batch: its target is {distance} bytes away, out of reach")]
    OutOfReach {
        /// Which change.
        number: usize,
        /// From the site to the target.
        distance: i64,
    },
    /// More changes than a batch may have.
    #[error("more than {0} sites in a batch")]
    TooMany(usize),
}

/// Most changes in one batch.
pub const EDITS_MAX: usize = if cfg!(test) { 1 << 10 } else { 1 << 24 };

/// Changes to sites.
#[derive(Debug, Default)]
pub struct Edits {
    /// The code of the changed sites; consecutive sites of one program share an entry.
    texts: Vec<Arc<Text>>,
    /// Targets of jumps, which must still exist.
    targets: Vec<(usize, Arc<Text>)>,
    edits: Vec<Edit>,
    /// The first error in adding changes.
    wrong: Option<EditError>,
}

#[derive(Clone, Copy, Debug)]
struct Edit {
    text: u32,
    what: What,
    /// The expected contents; `None` means any.
    expected: Option<u32>,
    new: u32,
    old: u32,
    /// The contents of a switch in its two states: nothing else is valid.
    either: Option<[u32; 2]>,
}

/// The expected contents, the new contents, and the valid contents of a switch.
type Values = (Option<u32>, u32, Option<[u32; 2]>);

#[derive(Clone, Copy, Debug)]
enum What {
    Code(Place),
    Flag(u32),
}

impl Edits {
    /// Number of changes.
    pub fn len(&self) -> usize {
        self.edits.len()
    }

    /// Whether there are no edits.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Turns a switch to `to`; it must currently be `from` if that is given.
    pub fn switch(&mut self, switch: &Switch, from: Option<bool>, to: bool) {
        let site = switch.site;
        let what = match site.flag() {
            Some(flag) => What::Flag(flag),
            None if site.is_insn() => What::Code(Place::Half(site.off())),
            None => What::Code(Place::Byte(site.off())),
        };
        let value = |on: bool| site.value(on);
        let either = Some([value(false), value(true)]);
        self.push(&switch.text, what, (from.map(value), value(to), either));
    }

    /// Points a jump at `to`; it must currently go to `from` if that is given.
    pub fn retarget(&mut self, jump: &Jump, from: Option<&Target>, to: &Target) {
        let next = jump.text.executable + u64::from(jump.site.next_off());
        let number = self.edits.len();
        let mut disp = |target: &Target| {
            let distance = target.address().wrapping_sub(next) as i64;
            let disp = i32::try_from(distance);
            if disp.is_err() && self.wrong.is_none() {
                self.wrong = Some(EditError::OutOfReach { number, distance });
            }
            disp.unwrap_or_default() as u32
        };
        let values = (from.map(&mut disp), disp(to), None);
        self.targets.push((number, to.text.clone()));
        self.push(&jump.text, What::Code(Place::Word(jump.site.disp_off())), values);
    }

    fn push(&mut self, text: &Arc<Text>, what: What, (expected, new, either): Values) {
        if self.edits.len() >= EDITS_MAX {
            self.wrong.get_or_insert(EditError::TooMany(EDITS_MAX));
            return;
        }
        if !self.texts.last().is_some_and(|last| Arc::ptr_eq(last, text)) {
            self.texts.push(text.clone());
        }
        let text = self.texts.len() as u32 - 1;
        self.edits.push(Edit { text, what, expected, new, old: 0, either });
    }

    /// Makes all changes, or none. Returns whether any site is in code, so that threads may still
    /// be running the old state; also true if every site already had its new state, since that may
    /// have happened only an instant ago.
    ///
    /// # Errors
    ///
    /// See [`EditError`]; nothing has been changed then.
    pub fn apply(&mut self, lock: &TextLock) -> Result<bool, EditError> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        if let Some((number, _)) = self.targets.iter().find(|(_, text)| text.is_freed()) {
            return Err(EditError::Freed(*number));
        }
        for (number, edit) in self.edits.iter_mut().enumerate() {
            let text = &self.texts[edit.text as usize];
            let found = match edit.what {
                What::Code(place) => lock.load(text, place),
                What::Flag(_) if text.is_freed() => None,
                What::Flag(flag) => {
                    text.flag(flag).map(|flag| u32::from(flag.load(Ordering::Relaxed)))
                }
            };
            edit.old = found.ok_or(EditError::Freed(number))?;
            let expected = edit.expected.unwrap_or(edit.old);
            // A switch must be on or off, whatever state is expected.
            let broken = edit.either.is_some_and(|either| !either.contains(&edit.old));
            if expected != edit.old || broken {
                return Err(EditError::Stale { number, expected, found: edit.old });
            }
        }
        self.write(lock, |edit| edit.new);
        Ok(self.edits.iter().any(|edit| matches!(edit.what, What::Code(_))))
    }

    /// Restores what [`Edits::apply`] found.
    pub fn revert(&mut self, lock: &TextLock) {
        self.write(lock, |edit| edit.old);
    }

    fn write(&self, lock: &TextLock, value: impl Fn(&Edit) -> u32) {
        for edit in &self.edits {
            let (text, value) = (&self.texts[edit.text as usize], value(edit));
            match edit.what {
                // Reads the contents again: of two changes of one site the later one applies.
                What::Code(place) if lock.load(text, place) != Some(value) => {
                    lock.store(text, place, value);
                }
                What::Flag(flag) => {
                    if let Some(flag) = text.flag(flag) {
                        flag.store(value as u8, Ordering::Release);
                    }
                }
                What::Code(_) => {}
            }
        }
        // The writes are visible before anything that the caller does next.
        fence(Ordering::SeqCst);
    }
}
