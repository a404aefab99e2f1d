//! The effects of an insn on the values with claims.

use super::fits::{Fits, Now, describe};
use super::flow::{self, Effect};
use super::place::{self, Judge, Origin, Place};
use skep::insn::Insn;
use skep::insn::code::{BPF_LDX, BPF_STX};
use skep_verifier::watch::{Change, Claim, ClaimKind, Graph, SLOTS};

/// Class of a pointer to the context.
const CTX: u32 = 2;

const NO_CONTEXT: &str = "on a context that no kernel gives";

/// What registers tell beside their claims.
pub(super) struct Found<'a> {
    pub(super) packet_end: &'a mut Option<u64>,
    /// Why the run is not one of a kernel.
    pub(super) hole: &'a mut Option<&'static str>,
}

/// One step of the run: the effects of the insn that ran on the values with claims.
pub(super) struct Step<'a> {
    pub(super) graph: &'a Graph,
    pub(super) insn: Insn,
    pub(super) effect: Effect,
    /// Whether an insn ran; otherwise the run is placed at a node.
    pub(super) is_step: bool,
    /// The address that the insn accessed.
    pub(super) addr: u64,
    /// Whether new claims depend on a scalar in doubt.
    pub(super) doubt: bool,
}

impl Step<'_> {
    /// What the insn wrote without a new claim: a register, a slot.
    pub(super) fn same(&self, id: u32, places: &[Place]) -> [Option<Change>; 2] {
        let Some(top) = places.last().filter(|_| self.is_step) else { return [None; 2] };
        let told = |frame: usize, at: u8| {
            let changes = self.graph.changes_of(id);
            changes.iter().any(|c| usize::from(c.frame) == frame && c.at == at)
        };
        let frame = places.len() - 1;
        let result = self.effect.calls.then_some(0);
        let writes = self.effect.writes.or(result).filter(|&at| at < 11 && !told(frame, at));
        let held = |at: u8| top.held[usize::from(at)];
        let reg = writes.map(|at| Change { frame: frame as u8, at, held: held(at) });
        let stores = self.effect.address.is_some() && self.insn.class() != BPF_LDX;
        let find = |(frame, place): (usize, &Place)| {
            let spi = place.slot_at(self.addr)?;
            let at = SLOTS + spi as u8;
            let held = place.slots[spi];
            (!told(frame, at)).then_some(Change { frame: frame as u8, at, held })
        };
        let slot = places.iter().enumerate().rev().find_map(find);
        [reg, slot.filter(|_| stores)]
    }

    pub(super) fn slot(
        &self,
        change: &Change,
        places: &mut [Place],
        now: &Now<'_>,
        packet_end: Option<u64>,
    ) -> Fits {
        let graph = self.graph;
        let spi = usize::from(change.at - SLOTS);
        let slot = &graph.slots[change.held.claim as usize];
        let stores = self.insn.class() == BPF_STX;
        let source = usize::from(self.insn.src).min(10);
        let source = places.last().map(|top| top.origins[source]).unwrap_or_default();
        let place = &mut places[usize::from(change.frame)];
        place.slots[spi] = change.held;
        if slot.spilled == 8 && stores {
            place.slot_origins[spi] = source;
        }
        place.free_slots |= u64::from(self.doubt) << spi;
        if slot.claim == 0 && slot.zero == 0 || place.dead_slots >> spi & 1 == 1 {
            return Ok(());
        }
        let (free, origin) = (place.free_slots >> spi & 1 == 1, place.slot_origins[spi]);
        let Some(value) = place.load(spi, now.host) else { return Ok(()) };
        let judge = Judge { graph, tops: places, packet_end };
        if !judge.slot_fits(slot, value, free, origin) {
            let claim = &graph.claims[slot.claim as usize];
            return Err(format!("{}, {slot:?}", describe(change, claim, value)));
        }
        Ok(())
    }

    pub(super) fn register(
        &self,
        change: &Change,
        places: &mut [Place],
        now: &Now<'_>,
        found: &mut Found<'_>,
    ) -> Fits {
        let graph = self.graph;
        let is_top = usize::from(change.frame) + 1 == places.len();
        let (frame, at) = (usize::from(change.frame), usize::from(change.at));
        let claim = &graph.claims[change.held.claim as usize];
        let is_scalar = claim.kind == ClaimKind::Scalar;
        let value = if is_top { now.regs[at] } else { places[frame].regs[at] };
        let origin =
            if is_scalar { Origin::default() } else { self.origin(change, claim, value, places) };
        let source = places[frame].held[usize::from(self.insn.src).min(10)];
        let loads_ctx = graph.claims[source.claim as usize].class == CTX;
        let place = &mut places[frame];
        if claim.kind == ClaimKind::PacketEnd && place.dead >> at & 1 == 0 {
            *found.packet_end = Some(value);
        }
        place.held[at] = change.held;
        place.origins[at] = origin;
        let is_null = value == 0 && claim.kind == ClaimKind::Pointer;
        if self.is_step && self.insn.class() == BPF_LDX && is_top && loads_ctx && is_null {
            *found.hole = Some(NO_CONTEXT);
        }
        place.free |= u16::from(self.doubt && is_scalar) << at;
        let skipped = place.dead >> at & 1 == 1 || (is_scalar && place.free >> at & 1 == 1);
        let judge = Judge { graph, tops: places, packet_end: *found.packet_end };
        if !skipped && !judge.fits(claim, value, origin) {
            if self.is_step && self.insn.class() == BPF_LDX && is_top && loads_ctx {
                *found.hole = Some(NO_CONTEXT);
            }
            return Err(describe(change, claim, value));
        }
        Ok(())
    }

    /// The origin of a pointer.
    fn origin(&self, change: &Change, claim: &Claim, value: u64, places: &[Place]) -> Origin {
        let is_top = usize::from(change.frame) + 1 == places.len();
        let (place, at) = (&places[usize::from(change.frame)], usize::from(change.at));
        let old = place.origins[at];
        let calls = self.effect.calls;
        let written = self.effect.writes == Some(change.at) || calls && at < 6;
        if is_top && self.is_step && written {
            let known = match calls {
                true if place.held[at].claim != 0 && old.class != 0 && at > 0 => Some(old),
                true => None,
                false => flow::origin(self.insn, claim, change.at, places, self.addr),
            };
            return known.filter(|it| it.class != 0).unwrap_or_else(|| place::begin(claim, value));
        }
        match old.class {
            0 => place::begin(claim, value),
            _ => Origin { class: claim.class, ..old },
        }
    }
}
