//! One frame of a run, with the verifier's claims about it.

use skep_domain::Scalar;
use skep_interp::Host;
use skep_verifier::watch::{Claim, ClaimKind, Graph, Held, SlotClaim};

/// The origin of a pointer: the address at which its offset was 0, and its class; 0 for none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Origin {
    pub(super) addr: u64,
    pub(super) class: u32,
}

/// Number of slots of a frame.
pub(super) const SLOTS_MAX: usize = 64;

/// A frame.
#[derive(Clone)]
pub(super) struct Place {
    /// Its frame pointer.
    pub(super) top: u64,
    /// Registers at the time of its call of another function.
    pub(super) regs: [u64; 11],
    /// Claims about its registers and slots.
    pub(super) held: [Held; 11],
    pub(super) slots: [Held; SLOTS_MAX],
    pub(super) origins: [Origin; 11],
    pub(super) slot_origins: [Origin; SLOTS_MAX],
    /// Registers in doubt: the recorded states may be wrong about them since the path was pruned at
    /// a checkpoint to which they did not matter, or they were computed from such registers.
    pub(super) free: u16,
    /// Dead registers: claims about them are ignored.
    pub(super) dead: u16,
    pub(super) free_slots: u64,
    pub(super) dead_slots: u64,
    /// Insn of the call in the caller.
    pub(super) callsite: u32,
}

impl Place {
    pub(super) fn new(top: u64) -> Place {
        Place {
            top,
            regs: [0; 11],
            held: [Held::default(); 11],
            slots: [Held::default(); SLOTS_MAX],
            origins: [Origin::default(); 11],
            slot_origins: [Origin::default(); SLOTS_MAX],
            free: 0,
            dead: 0,
            free_slots: 0,
            dead_slots: 0,
            callsite: 0,
        }
    }

    /// Whether nothing in it is in doubt.
    pub(super) fn is_sure(&self) -> bool {
        self.free | self.dead == 0 && self.free_slots | self.dead_slots == 0
    }

    /// The slot that contains the byte at `addr`.
    #[inline]
    pub(super) fn slot_at(&self, addr: u64) -> Option<usize> {
        let below = self.top.wrapping_sub(addr);
        (1..=512).contains(&below).then(|| (below as usize - 1) / 8)
    }

    /// The contents of slot `spi`; `None` if it is not memory of the run.
    pub(super) fn load(&self, spi: usize, host: &dyn Host) -> Option<u64> {
        host.load(self.top.wrapping_sub(8 * (spi as u64 + 1)), 8).ok()
    }
}

/// What values are checked against, in addition to claims.
pub(super) struct Judge<'a> {
    pub(super) graph: &'a Graph,
    /// The frames, the entry frame first.
    pub(super) tops: &'a [Place],
    /// The end of the packet, once it has been loaded.
    pub(super) packet_end: Option<u64>,
}

impl Judge<'_> {
    /// Whether a register with the claim may hold `value`.
    #[inline]
    pub(super) fn fits(&self, claim: &Claim, value: u64, origin: Origin) -> bool {
        match claim.kind {
            ClaimKind::Scalar => claim.val.contains(value),
            ClaimKind::Nothing | ClaimKind::Wild => true,
            ClaimKind::PacketEnd => self.packet_end.is_none_or(|end| end == value),
            ClaimKind::Stack(frame) => match self.tops.get(frame as usize) {
                Some(place) => claim.val.contains(offset(claim, value, place.top)),
                None => false,
            },
            ClaimKind::Packet(range) => {
                let end = value.wrapping_sub(i64::from(claim.off) as u64);
                let end = end.wrapping_add(range.max(0) as u64);
                let inside =
                    origin.class == 0 || claim.val.contains(offset(claim, value, origin.addr));
                inside && (range <= 0 || self.packet_end.is_none_or(|it| end <= it))
            }
            ClaimKind::Pointer => {
                if value == 0 {
                    return claim.loose;
                }
                origin.class == 0 || claim.val.contains(offset(claim, value, origin.addr))
            }
        }
    }

    /// Whether a slot with the claim may hold `value`; `free`: the scalar spilled there is in
    /// doubt.
    pub(super) fn slot_fits(
        &self,
        slot: &SlotClaim,
        value: u64,
        free: bool,
        origin: Origin,
    ) -> bool {
        let zero = (0..8).all(|at| slot.zero >> at & 1 == 0 || value >> (8 * at) & 0xff == 0);
        let claim = &self.graph.claims[slot.claim as usize];
        zero && match slot.spilled {
            0 => true,
            _ if free && claim.kind == ClaimKind::Scalar => true,
            8 => self.fits(claim, value, origin),
            bytes => low_fits(&claim.val, value, u32::from(bytes)),
        }
    }
}

/// Whether the low `bytes` bytes of `value` may be those of the scalar.
fn low_fits(val: &Scalar, value: u64, bytes: u32) -> bool {
    let mut low = *val;
    low.coerce_to_size(bytes);
    low.contains(value & u64::MAX >> (64 - 8 * bytes))
}

/// The variable part of a pointer.
#[inline]
fn offset(claim: &Claim, value: u64, base: u64) -> u64 {
    value.wrapping_sub(base).wrapping_sub(i64::from(claim.off) as u64)
}

/// The origin of a new pointer.
pub(super) fn begin(claim: &Claim, value: u64) -> Origin {
    match claim.kind {
        ClaimKind::Pointer | ClaimKind::Packet(_) if claim.val.var_off.is_const() => {
            let off = (i64::from(claim.off) as u64).wrapping_add(claim.val.var_off.value);
            Origin { addr: value.wrapping_sub(off), class: claim.class }
        }
        _ => Origin::default(),
    }
}
