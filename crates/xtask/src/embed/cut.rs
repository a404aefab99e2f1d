//! The parts of a checkpoint that mattered when a path was pruned: slots, ids, what pointers point
//! to.

use super::fits::{Fits, describe};
use super::place::{self, Judge, Origin, Place};
use skep_interp::Host;
use skep_verifier::watch::{Change, Claim, ClaimKind, Cut, Graph, Held, SLOTS};
use std::collections::HashMap;

/// A pruned path, which goes on as that of the checkpoint.
pub(super) struct Hop<'a> {
    pub(super) graph: &'a Graph,
    pub(super) packet_end: Option<u64>,
    pub(super) cut: &'a Cut,
    pub(super) host: &'a dyn Host,
}

/// Slots at a checkpoint, as registers.
pub(super) fn hop_slots(hop: &Hop<'_>, places: &mut [Place], i: usize, ids: &mut Ids) -> Fits {
    let Hop { graph, packet_end, cut, host } = *hop;
    let (frame, matters) = (&cut.state.frames[i], &cut.matters[i]);
    let len = frame.slots.len().min(place::SLOTS_MAX);
    for (spi, &held) in frame.slots.iter().enumerate().take(len) {
        let (place, bit) = (&places[i], 1u64 << spi);
        let slot = &graph.slots[held.claim as usize];
        let claim = &graph.claims[slot.claim as usize];
        let known = matters.slots & bit != 0 && place.dead_slots & bit == 0;
        let says = slot.zero != 0 || slot.spilled != 0;
        let mut free = false;
        if let Some(value) = place.load(spi, host).filter(|_| known && says) {
            let judge = Judge { graph, tops: places, packet_end };
            let origin = place.slot_origins[spi];
            let was_free = place.free_slots & bit != 0;
            let scalar = claim.kind == ClaimKind::Scalar;
            let hard = !scalar || matters.precise_slots & bit != 0;
            let change = Change { frame: i as u8, at: SLOTS + spi as u8, held };
            let text = || Err(format!("{}, {slot:?}", describe(&change, claim, value)));
            let same = slot.spilled != 8 || is_class(claim, value, origin);
            if !judge.slot_fits(slot, value, true, origin) || !same {
                return text();
            }
            let fits = judge.slot_fits(slot, value, false, origin);
            if !fits && (hard || (cut.within && !was_free)) {
                return text();
            }
            free = !fits;
            let at = usize::from(SLOTS) + spi;
            if fits && slot.spilled != 0 {
                // A scalar that fits into fewer bytes keeps its id.
                let value = value & u64::MAX >> (64 - 8 * u32::from(slot.spilled));
                ids.join(Member { value, claim: *claim, held, hard, place: (i, at) })?;
            }
        }
        let place = &mut places[i];
        place.slots[spi] = held;
        place.dead_slots = place.dead_slots & !bit | if known { 0 } else { bit };
        place.free_slots = place.free_slots & !bit | if free { bit } else { 0 };
    }
    for spi in len..place::SLOTS_MAX {
        places[i].slots[spi] = Held::default();
    }
    Ok(())
}

/// A register or slot with an id.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) value: u64,
    pub(super) claim: Claim,
    pub(super) held: Held,
    /// Whether it mattered.
    pub(super) hard: bool,
    pub(super) place: (usize, usize),
}

/// The relations expressed by ids at a checkpoint.
#[derive(Default)]
pub(super) struct Ids {
    known: HashMap<u32, Vec<Member>>,
    /// Pairs that do not match their ids, where that does not matter.
    pub(super) apart: Vec<(usize, usize)>,
}

impl Ids {
    pub(super) fn join(&mut self, new: Member) -> Fits {
        let scalar = new.claim.kind == ClaimKind::Scalar;
        let packet = matches!(new.claim.kind, ClaimKind::Packet(_));
        let or_null = new.claim.kind == ClaimKind::Pointer && new.claim.loose;
        if new.held.id == 0 || !(scalar || packet || or_null) {
            return Ok(());
        }
        let members = self.known.entry(new.held.id).or_default();
        if let Some(old) = members.iter().find(|old| old.hard && new.hard && !is_linked(old, &new))
        {
            return Err(format!(
                "id {} is of {:#x} (frame {} at {}) and {:#x} (frame {} at {}): not linked",
                new.held.id,
                old.value,
                old.place.0,
                old.place.1,
                new.value,
                new.place.0,
                new.place.1
            ));
        }
        if new.hard {
            let apart = members.extract_if(.., |old| !is_linked(old, &new));
            self.apart.extend(apart.map(|old| old.place));
        } else if members.iter().any(|old| !is_linked(old, &new)) {
            self.apart.push(new.place);
            return Ok(());
        }
        members.push(new);
        Ok(())
    }
}

/// Whether the values of two members with the same id have the difference that the ids state.
fn is_linked(a: &Member, b: &Member) -> bool {
    let packet = |m: &Member| matches!(m.claim.kind, ClaimKind::Packet(_));
    let scalar = b.claim.kind == ClaimKind::Scalar;
    let off = |m: &Member| i64::from(if scalar && m.held.add == 0 { 0 } else { m.claim.off });
    let base = |m: &Member| m.value.wrapping_sub(off(m) as u64);
    let narrow = a.held.add == 32 || b.held.add == 32;
    let differ = (base(a) ^ base(b)) & if narrow { 0xffff_ffff } else { !0 };
    a.claim.kind != b.claim.kind && !packet(b) || differ == 0
}

/// Whether a pointer points to the object that the checkpoint claims.
pub(super) fn is_class(claim: &Claim, value: u64, origin: Origin) -> bool {
    claim.kind != ClaimKind::Pointer
        || origin.class == 0
        || origin.class == claim.class
        || (claim.loose && value == 0)
}
