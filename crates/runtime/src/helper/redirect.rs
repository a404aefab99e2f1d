//! Helpers that redirect a packet: the redirection is recorded with the run's result.

use super::packet::with_packet;
use crate::Errno;
use crate::ctx::PacketKind;
use crate::current;
use crate::run::Redirect;
use crate::run::{Call, ret};
use skep_uapi::MapType;

/// `XDP_ABORTED`, `XDP_REDIRECT`.
const XDP_ABORTED: u64 = 0;
const XDP_REDIRECT: u64 = 4;
/// `TC_ACT_SHOT`, `TC_ACT_REDIRECT`.
const TC_ACT_SHOT: u64 = 2;
const TC_ACT_REDIRECT: u64 = 7;
/// `BPF_F_INGRESS`.
const INGRESS: u64 = 1;
/// The lower bits of the flags of `bpf_redirect_map`: the result if there is no entry.
const MAP_ACTION_MASK: u64 = 3;
/// `BPF_F_BROADCAST`: to all entries, independent of the key.
const MAP_BROADCAST: u64 = 8;
/// `BPF_F_EXCLUDE_INGRESS`.
const MAP_EXCLUDE_INGRESS: u64 = 16;

fn record(redirect: Redirect) {
    current::with(|current| *current.ctx.effects.redirect.borrow_mut() = Some(redirect));
}

fn is_xdp() -> bool {
    with_packet(|packet| Ok(packet.kind() == PacketKind::Xdp)).unwrap_or(false)
}

/// `long bpf_redirect_peer(ifindex, flags)`.
pub(super) fn redirect_peer(call: &Call) -> u64 {
    redirect_without_flags(call.arg(0) as u32, call.arg(1))
}

/// `long bpf_redirect_neigh(ifindex, params, plen, flags)`: its parameters are left to the
/// embedder.
pub(super) fn redirect_neigh(call: &Call) -> u64 {
    /// `sizeof(struct bpf_redir_neigh)`.
    const PARAMS_BYTES: u64 = 20;
    if (1..PARAMS_BYTES).contains(&(call.arg(2) & 0xffff_ffff)) {
        return TC_ACT_SHOT;
    }
    redirect_without_flags(call.arg(0) as u32, call.arg(3))
}

fn redirect_without_flags(ifindex: u32, flags: u64) -> u64 {
    if flags != 0 {
        return TC_ACT_SHOT;
    }
    record(Redirect::Interface { ifindex, flags });
    TC_ACT_REDIRECT
}

/// `long bpf_redirect(ifindex, flags)`.
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
        MapType::Devmap | MapType::DevmapHash => MAP_BROADCAST | MAP_EXCLUDE_INGRESS,
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

/// `long bpf_clone_redirect(skb, ifindex, flags)`; interface 0 does not exist. Clones without room
/// are counted (`Ctx::clones_lost`).
pub(super) fn clone_redirect(call: &Call) -> u64 {
    if call.arg(2) & !INGRESS != 0 || call.arg(1) as u32 == 0 {
        return Errno::EINVAL.as_ret();
    }
    let kept = current::with(|current| {
        let (effects, bytes) = (&current.ctx.effects, current.ctx.packet_bytes());
        // The vector's own memory, too.
        let size = bytes.capacity() + 32;
        let clone = (call.arg(1) as u32, bytes);
        effects.listed.set(true);
        effects.clones.borrow_mut().push(clone, size, &current.shared.budget)
    });
    ret(if kept == Some(false) { Err(Errno::ENOMEM) } else { Ok(()) })
}
