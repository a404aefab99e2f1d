//! Helpers that send a packet elsewhere: here the wish is recorded with the run's result.

use super::call::{Call, ret};
use super::packet::with_packet;
use crate::ctx::PacketKind;
use crate::current::{self, Redirect};
use skep_uapi::MapType;

/// `XDP_ABORTED`, `XDP_REDIRECT`.
const XDP_ABORTED: u64 = 0;
const XDP_REDIRECT: u64 = 4;
/// `TC_ACT_SHOT`, `TC_ACT_REDIRECT`.
const TC_ACT_SHOT: u64 = 2;
const TC_ACT_REDIRECT: u64 = 7;
/// `BPF_F_INGRESS`.
const INGRESS: u64 = 1;
/// The lower bits of the flags of `bpf_redirect_map`: what to return if there is no entry.
const MAP_ACTION_MASK: u64 = 3;
/// `BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS`.
const MAP_BROADCAST: u64 = 8 | 16;

fn record(redirect: Redirect) {
    current::with(|current| *current.ctx.effects.redirect.borrow_mut() = Some(redirect));
}

fn is_xdp() -> bool {
    with_packet(|packet| Ok(packet.kind() == PacketKind::Xdp)).unwrap_or(false)
}

/// `long bpf_redirect(ifindex, flags)`; `bpf_redirect_peer`, `bpf_redirect_neigh` with their
/// parameters left to the embedder.
pub(super) fn redirect(call: &Call) -> u64 {
    let (ifindex, flags) = (call.arg(0) as u32, call.arg(1));
    let (refused, taken, known) = match is_xdp() {
        true => (XDP_ABORTED, XDP_REDIRECT, 0),
        false => (TC_ACT_SHOT, TC_ACT_REDIRECT, INGRESS),
    };
    if flags & !known != 0 {
        return refused;
    }
    record(Redirect::Interface { ifindex, flags });
    taken
}

/// `long bpf_redirect_map(map, key, flags)`.
pub(super) fn redirect_map(call: &Call) -> u64 {
    let (map, key, flags) = (call.map(0), call.arg(1), call.arg(2));
    let broadcast = match map.map_type() {
        MapType::Devmap | MapType::DevmapHash => MAP_BROADCAST,
        _ => 0,
    };
    if flags & !(MAP_ACTION_MASK | broadcast) != 0 {
        return XDP_ABORTED;
    }
    let entry = &key.to_ne_bytes()[..4];
    if flags & MAP_BROADCAST == 0 && map.kind().lookup(entry) == 0 {
        return flags & MAP_ACTION_MASK;
    }
    record(Redirect::Map { map_id: map.id(), key, flags });
    XDP_REDIRECT
}

/// `long bpf_clone_redirect(skb, ifindex, flags)`.
pub(super) fn clone_redirect(call: &Call) -> u64 {
    if call.arg(2) & !INGRESS != 0 {
        return crate::Errno::EINVAL.as_ret();
    }
    current::with(|current| {
        let clone = (call.arg(1) as u32, current.ctx.packet_bytes());
        current.ctx.effects.clones.borrow_mut().push(clone);
    });
    ret(Ok(()))
}
