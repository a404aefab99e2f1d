//! Errors of batches of edits, which leave everything unchanged.

use crate::bare::BareCode;
use crate::edit::{EDITS_MAX, EditError, Edits};
use crate::text::{Jump, Place, Target, Text, TextLock};
use skep_jit::{RetargetSite, SwitchSite};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Code without memory, at an address.
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

/// A valid change, followed by one that is out of reach or of code that does not exist.
#[test]
fn what_comes_before_an_error_is_not_done() {
    let code = BareCode::new(&[0xa9, 1, 0, 0, 0, 0xc3]).expect("room");
    let switch = code.switch(0).expect("a switch");
    let jump = Jump { text: nowhere(1 << 32), site: RetargetSite::new(3) };
    for at in [(1 << 32) + 8, 1 << 40] {
        let mut edits = Edits::default();
        edits.switch(&switch, None, true);
        edits.retarget(&jump, None, &Target { text: nowhere(at), off: 0 });
        let lock = TextLock::take();
        let expected = match at - (1 << 32) - 8 {
            0 => EditError::Freed(1),
            distance => EditError::OutOfReach { number: 1, distance: distance as i64 },
        };
        assert_eq!(edits.apply(&lock), Err(expected));
        assert_eq!(lock.load(&switch.text, Place::Byte(0)), Some(u32::from(SwitchSite::OFF)));
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

#[test]
fn an_insn_is_a_switch_of_two_bytes() {
    // jmp to the ret; test eax, eax, which is the site; ret
    let code = BareCode::new(&[0xcc, 0xe9, 2, 0, 0, 0, 0x85, 0xc0, 0xc3]).expect("room");
    assert!(code.insn_switch(4).is_none() && code.insn_switch(7).is_none());
    assert!(code.insn_switch(8).is_none());
    let switch = code.insn_switch(6).expect("a switch");
    let (off, on) = (0xc085, u32::from(u16::from_le_bytes(SwitchSite::HOP)));
    let commit = |from, to| {
        let mut edits = Edits::default();
        edits.switch(&switch, from, to);
        let lock = TextLock::take();
        (edits.apply(&lock), lock.load(&switch.text, Place::Half(6)))
    };
    let stale = |expected, found| EditError::Stale { number: 0, expected, found };
    assert_eq!(commit(Some(true), false), (Err(stale(on, off)), Some(off)));
    assert_eq!(commit(Some(false), true), (Ok(true), Some(on)));
    assert_eq!(commit(Some(false), true), (Err(stale(off, on)), Some(on)));
    assert_eq!(commit(None, false), (Ok(true), Some(off)));
    let lock = TextLock::take();
    assert_eq!(lock.load(&switch.text, Place::Half(7)), None);
    // A mixture of the two states is not accepted as either.
    lock.store(&switch.text, Place::Byte(6), 0x31);
    drop(lock);
    assert_eq!(commit(None, true), (Err(stale(0xc031, 0xc031)), Some(0xc031)));
}
