//! `Edits`: changes of sites that belong together: all are made, or none.

use crate::sites::SwitchSite;
use crate::text::{Jump, Place, Switch, Target, Text, TextLock};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use thiserror::Error;

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EditError {
    /// The code of a site, or of a jump's target, is not there any more.
    #[error("site {0} of the batch: its code is freed")]
    Freed(usize),
    /// A site is not what it was when the change was planned.
    #[error("site {number} of the batch is stale: {found:#x}, not {expected:#x}")]
    Stale {
        /// Which change.
        number: usize,
        /// What the batch was made for.
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

/// Changes of one batch at most.
pub const EDITS_MAX: usize = if cfg!(test) { 1 << 10 } else { 1 << 24 };

/// Changes of sites.
#[derive(Debug, Default)]
pub struct Edits {
    /// The code that changes are in; sites of one program in a row share an entry.
    texts: Vec<Arc<Text>>,
    /// Targets of jumps, which have to be there.
    targets: Vec<(usize, Arc<Text>)>,
    edits: Vec<Edit>,
    /// The first thing that was wrong while changes were added.
    wrong: Option<EditError>,
}

#[derive(Clone, Copy, Debug)]
struct Edit {
    text: u32,
    what: What,
    /// What has to be there; `None` is whatever is there.
    expected: Option<u32>,
    new: u32,
    old: u32,
}

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

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Turns a switch, which is now `from` (if that is to be checked), `to` on or off.
    pub fn switch(&mut self, switch: &Switch, from: Option<bool>, to: bool) {
        let site = switch.site;
        let what = match site.flag() {
            Some(flag) => What::Flag(flag),
            None => What::Code(Place::Byte(site.off())),
        };
        let value = |on: bool| match (site.flag(), on) {
            (Some(_), on) => u32::from(on),
            (None, true) => u32::from(SwitchSite::ON),
            (None, false) => u32::from(SwitchSite::OFF),
        };
        self.push(&switch.text, what, (from.map(value), value(to)));
    }

    /// Sends a jump to `to`, which now goes to `from` (if that is to be checked).
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
        let values = (from.map(&mut disp), disp(to));
        self.targets.push((number, to.text.clone()));
        self.push(&jump.text, What::Code(Place::Word(jump.site.disp_off())), values);
    }

    fn push(&mut self, text: &Arc<Text>, what: What, (expected, new): (Option<u32>, u32)) {
        if self.edits.len() >= EDITS_MAX {
            self.wrong.get_or_insert(EditError::TooMany(EDITS_MAX));
            return;
        }
        if !self.texts.last().is_some_and(|last| Arc::ptr_eq(last, text)) {
            self.texts.push(text.clone());
        }
        let text = self.texts.len() as u32 - 1;
        self.edits.push(Edit { text, what, expected, new, old: 0 });
    }

    /// Makes all changes, or none. Whether they are of code, so that threads may still run what
    /// was before: also where all is as it has to be already, because that may be so since an
    /// instant ago.
    ///
    /// # Errors
    ///
    /// See [`EditError`]; nothing was changed then.
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
            // A switch is one of two bytes, whatever is expected of it.
            let switch = [SwitchSite::ON, SwitchSite::OFF].map(u32::from);
            let broken =
                matches!(edit.what, What::Code(Place::Byte(_))) && !switch.contains(&edit.old);
            if expected != edit.old || broken {
                return Err(EditError::Stale { number, expected, found: edit.old });
            }
        }
        self.write(lock, |edit| edit.new);
        Ok(self.edits.iter().any(|edit| matches!(edit.what, What::Code(_))))
    }

    /// Puts back what [`Edits::apply`] found.
    pub fn revert(&mut self, lock: &TextLock) {
        self.write(lock, |edit| edit.old);
    }

    fn write(&self, lock: &TextLock, value: impl Fn(&Edit) -> u32) {
        for edit in self.edits.iter().filter(|edit| edit.new != edit.old) {
            let text = &self.texts[edit.text as usize];
            match edit.what {
                What::Code(place) => {
                    lock.store(text, place, value(edit));
                }
                What::Flag(flag) => {
                    if let Some(flag) = text.flag(flag) {
                        flag.store(value(edit) as u8, Ordering::Release);
                    }
                }
            }
        }
        // What is written is seen before what the caller does next is.
        fence(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BareCode;
    use crate::sites::RetargetSite;
    use std::sync::atomic::AtomicBool;

    /// Code that is nowhere, at an address.
    fn nowhere(executable: u64) -> Arc<Text> {
        let (freed, flags) = (AtomicBool::new(false), Box::default());
        Arc::new(Text { writable: std::ptr::null_mut(), executable, len: 64, freed, flags })
    }

    #[test]
    fn what_is_out_of_reach_is_not_jumped_to() {
        let text = nowhere(1 << 32);
        let jump = Jump { text: text.clone(), site: RetargetSite::new(3) };
        let next = (1 << 32) + 8;
        for (to, in_reach) in [
            (next + i64::from(i32::MAX), true),
            (next + i64::from(i32::MAX) + 1, false),
            (next + i64::from(i32::MIN), true),
            (next + i64::from(i32::MIN) - 1, false),
        ] {
            let mut edits = Edits::default();
            edits.retarget(&jump, None, &Target { text: nowhere(to as u64), off: 0 });
            let distance = to - next;
            let expected = match in_reach {
                // In reach, but nowhere.
                true => EditError::Freed(0),
                false => EditError::OutOfReach { number: 0, distance },
            };
            assert_eq!(edits.apply(&TextLock::take()), Err(expected));
        }
    }

    #[test]
    fn too_many_changes_are_none() {
        let code = BareCode::new(&[0xa9, 1, 0, 0, 0, 0xc3]).expect("room");
        let switch = code.switch(0).expect("a switch");
        let mut edits = Edits::default();
        (0..EDITS_MAX).for_each(|_| edits.switch(&switch, None, false));
        let lock = TextLock::take();
        assert_eq!(edits.apply(&lock), Ok(true));
        edits.switch(&switch, None, true);
        assert_eq!(edits.apply(&lock), Err(EditError::TooMany(EDITS_MAX)));
        assert_eq!(lock.load(&switch.text, Place::Byte(0)), Some(u32::from(SwitchSite::OFF)));
    }

    #[test]
    fn a_place_is_inside_of_code_that_can_be_written() {
        // test eax, imm32; ret
        let code = BareCode::new(&[0xa9, 1, 0, 0, 0, 0xc3]).expect("room");
        let text = code.switch(0).expect("a switch").text;
        let lock = TextLock::take();
        assert_eq!(lock.load(&text, Place::Byte(5)), Some(0xc3));
        assert_eq!(lock.load(&text, Place::Byte(6)), None);
        assert_eq!(lock.load(&text, Place::Byte(u32::MAX)), None);
        assert_eq!(lock.load(&text, Place::Word(1)), None);
        assert_eq!(lock.load(&text, Place::Word(4)), None);
        assert_eq!(lock.load(&nowhere(1 << 32), Place::Byte(0)), None);
        drop(lock);
        drop(code);
        assert_eq!(TextLock::take().load(&text, Place::Byte(0)), None);
    }

    #[test]
    fn what_is_put_back_is_what_was_found() {
        let code = BareCode::new(&[0xa9, 1, 0, 0, 0, 0xc3, 0xe9, 0, 0, 0, 0, 0xc3]).expect("room");
        let switches = [0, 6].map(|off| code.switch(off).expect("a switch"));
        let bytes = |lock: &TextLock| {
            [0, 6].map(|off| lock.load(&switches[0].text, Place::Byte(off)).unwrap_or_default())
        };
        let mut edits = Edits::default();
        switches.iter().for_each(|switch| edits.switch(switch, None, true));
        let lock = TextLock::take();
        assert_eq!(edits.apply(&lock), Ok(true));
        assert_eq!(bytes(&lock), [0xe9, 0xe9]);
        edits.revert(&lock);
        assert_eq!(bytes(&lock), [0xa9, 0xe9]);
    }
}
