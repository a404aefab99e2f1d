//! How doubt propagates between registers as insns compute.
//!
//! Where a path was pruned at a checkpoint, and a scalar did not matter to the checkpoint, the
//! recorded states may be wrong about that scalar from there on, and about everything computed from
//! it. If the checkpoint was right about what matters, such a scalar never decides anything.

use super::place::{Origin, Place};
use skep::insn::Insn;
use skep::insn::code::*;
use skep_verifier::watch::{Claim, ClaimKind};

/// Registers that helpers leave undefined, and the result register.
const CLOBBERED: u16 = 0x3f;

/// The effect of an insn, as far as it is relevant here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effect {
    /// The register that it writes; `None` for calls.
    pub(super) writes: Option<u8>,
    pub(super) calls: bool,
    /// Whether it is a conditional jump.
    pub(super) branches: bool,
    /// Whether it computes scalars, and may be walked as two branches.
    pub(super) computes: bool,
    pub(super) exits: bool,
    /// Register with the address of a memory access, and the offset.
    pub(super) address: Option<(u8, i16)>,
}

impl Effect {
    pub(super) fn of(insn: Insn) -> Effect {
        let (dst, src) = (insn.dst, insn.src);
        let fetched = match insn.imm {
            BPF_LOAD_ACQ => Some(dst),
            BPF_STORE_REL => None,
            BPF_CMPXCHG => Some(0),
            imm => (imm & BPF_FETCH != 0).then_some(src),
        };
        let nothing = Effect::default();
        match insn.class() {
            BPF_ALU | BPF_ALU64 => Effect { writes: Some(dst), computes: true, ..nothing },
            BPF_LDX => Effect { writes: Some(dst), address: Some((src, insn.off)), ..nothing },
            BPF_STX if insn.mode() == BPF_ATOMIC => {
                let at = if insn.imm == BPF_LOAD_ACQ { src } else { dst };
                Effect { writes: fetched, address: Some((at, insn.off)), ..nothing }
            }
            BPF_ST | BPF_STX => Effect { address: Some((dst, insn.off)), ..nothing },
            BPF_LD if insn.is_ld_imm64() => Effect { writes: Some(dst), ..nothing },
            BPF_LD => Effect { calls: true, ..nothing },
            _ => match insn.op() {
                BPF_CALL => Effect { calls: true, ..nothing },
                BPF_EXIT => Effect { exits: true, ..nothing },
                BPF_JA => nothing,
                _ if insn.code == BPF_JMP | BPF_JCOND => nothing,
                _ => Effect { branches: true, ..nothing },
            },
        }
    }
}

fn bit(mask: u16, reg: u8) -> bool {
    mask >> reg & 1 == 1
}

fn set(mask: &mut u16, reg: u8, on: bool) {
    *mask = *mask & !(1 << reg) | u16::from(on) << reg;
}

/// Whether an operand of a conditional jump is in doubt.
pub(super) fn jumps_on_doubt(insn: Insn, place: &Place) -> bool {
    let by_reg = insn.code & BPF_X != 0;
    bit(place.free, insn.dst) || (by_reg && bit(place.free, insn.src))
}

/// A register that the insn reads although it is dead according to the verifier.
pub(super) fn reads_dead(insn: Insn, place: &Place) -> Option<u8> {
    let by_reg = insn.code & BPF_X != 0;
    let (dst, src) = (insn.dst, insn.src);
    let (reads_dst, reads_src) = match insn.class() {
        BPF_ALU | BPF_ALU64 => (insn.op() != BPF_MOV, by_reg && insn.op() != BPF_END),
        BPF_JMP | BPF_JMP32 => match insn.op() {
            BPF_CALL | BPF_JA => return None,
            BPF_EXIT => return bit(place.dead, 0).then_some(0),
            _ if insn.code == BPF_JMP | BPF_JCOND => return None,
            _ => (true, by_reg),
        },
        BPF_LDX => (false, true),
        BPF_ST => (true, false),
        BPF_STX if insn.mode() == BPF_ATOMIC && insn.imm == BPF_LOAD_ACQ => (false, true),
        BPF_STX => (true, true),
        _ => return None,
    };
    let dst = (reads_dst && bit(place.dead, dst)).then_some(dst);
    dst.or((reads_src && bit(place.dead, src)).then_some(src))
}

/// Updates the doubt after the insn, which accessed memory at `addr`, in the top frame of `places`.
pub(super) fn step(insn: Insn, effect: Effect, places: &mut [Place], addr: u64) {
    let Some(top) = places.len().checked_sub(1) else { return };
    let by_reg = insn.code & BPF_X != 0;
    let (dst, src) = (insn.dst, insn.src);
    let slot = effect.address.and_then(|_| {
        let found = |(i, place): (usize, &Place)| place.slot_at(addr).map(|spi| (i, spi));
        places.iter().enumerate().rev().find_map(found)
    });
    let bytes = u64::from(insn.size_bytes());
    if effect.calls {
        places[top].free &= !CLOBBERED;
        places[top].dead &= !CLOBBERED;
        return;
    }
    let loaded = slot.is_some_and(|(i, spi)| {
        let place = &places[i];
        let last = place.slot_at(addr + bytes - 1).unwrap_or(spi);
        (place.free_slots | place.dead_slots) & (1 << spi | 1 << last) != 0
    });
    let (free, was) = (places[top].free, bit(places[top].free, dst));
    let source = by_reg && bit(free, src);
    let is_store = matches!(insn.class(), BPF_ST | BPF_STX) && insn.imm != BPF_LOAD_ACQ
        || insn.class() == BPF_ST;
    if let Some((i, spi)) = slot.filter(|_| is_store) {
        let stored = insn.class() == BPF_STX && bit(free, src);
        let plain = insn.mode() == BPF_MEM;
        let last = places[i].slot_at(addr + bytes - 1).unwrap_or(spi);
        if plain && bytes == 8 && last == spi {
            places[i].dead_slots &= !(1 << spi);
            places[i].free_slots = places[i].free_slots & !(1 << spi) | u64::from(stored) << spi;
        } else if stored {
            places[i].free_slots |= 1 << spi | 1 << last;
        }
    }
    let Some(written) = effect.writes else { return };
    let doubt = match insn.class() {
        BPF_ALU | BPF_ALU64 => match insn.op() {
            BPF_MOV => source,
            BPF_END | BPF_NEG => was,
            _ => was || source,
        },
        BPF_LDX | BPF_STX => loaded,
        _ => false,
    };
    set(&mut places[top].free, written, doubt);
    set(&mut places[top].dead, written, false);
}

/// The origin of the pointer that the insn wrote to register `reg`; `None` if it is new.
pub(super) fn origin(
    insn: Insn,
    claim: &Claim,
    reg: u8,
    places: &[Place],
    addr: u64,
) -> Option<Origin> {
    let place = places.last()?;
    if !matches!(claim.kind, ClaimKind::Pointer | ClaimKind::Packet(_)) {
        return Some(Origin::default());
    }
    let by_reg = insn.code & BPF_X != 0;
    let (own, source) = (place.origins[usize::from(reg)], usize::from(insn.src).min(10));
    match insn.class() {
        BPF_ALU | BPF_ALU64 if insn.op() == BPF_MOV && by_reg => Some(place.origins[source]),
        BPF_ALU | BPF_ALU64 if own.class == 0 && by_reg => Some(place.origins[source]),
        BPF_ALU | BPF_ALU64 => Some(own),
        BPF_LDX => {
            let filled = |place: &Place| place.slot_at(addr).map(|spi| place.slot_origins[spi]);
            places.iter().rev().find_map(filled)
        }
        _ => None,
    }
}
