//! Helpers about interfaces, routes, sockets and cgroups. There are no sockets and no routes here:
//! lookups find none, so helpers that need one are never called with one.
//!
//! Kernel: net/core/filter.c, 6.18, by behaviour; compared with its test runs, which are on the
//! loopback device.

use super::packet::with_packet;
use crate::ctx::{AF_INET, AF_INET6, ETH_HLEN, PacketKind};
use crate::run::Call;
use crate::{Errno, current};

/// `BPF_MTU_CHK_SEGS`.
const CHECK_SEGMENTS: u64 = 1;
/// `BPF_MTU_CHK_RET_FRAG_NEEDED`.
const FRAGMENTATION_NEEDED: u64 = 1;

/// `long bpf_check_mtu(ctx, ifindex, mtu_len, len_diff, flags)`: every interface has the MTU of
/// `Options::mtu`. Packets here have no segments.
pub(super) fn check_mtu(call: &Call) -> u64 {
    let (diff, flags) = (call.int(3), call.arg(4));
    let given = i32::from_ne_bytes(call.mem(2, 4).array());
    let found = with_packet(|packet| {
        let (data, end) = packet.range();
        let known = match packet.kind() {
            PacketKind::Xdp => 0,
            PacketKind::Skb { .. } => CHECK_SEGMENTS,
        };
        if flags & !known != 0 || (flags != 0 && (diff != 0 || given != 0)) {
            return Err(Errno::EINVAL);
        }
        // The kernel adds ints, and wraps.
        let len = match given {
            0 => (end - data) as i32,
            _ => given.wrapping_add(ETH_HLEN as i32),
        };
        Ok(len.wrapping_add(diff))
    });
    let mtu = current::with(|current| current.shared.mtu).unwrap_or_default();
    match found {
        Ok(len) => {
            call.write(2, &mtu.to_ne_bytes());
            if i64::from(len) > i64::from(mtu) + ETH_HLEN as i64 { FRAGMENTATION_NEEDED } else { 0 }
        }
        Err(errno) => errno.as_ret(),
    }
}

/// `sizeof(struct bpf_fib_lookup)`, and the offset of the interface.
const FIB_LOOKUP_BYTES: usize = 64;
const FIB_IFINDEX: usize = 8;
/// `BPF_FIB_LOOKUP_*`.
const FIB_FLAGS: u64 = 63;
/// `BPF_FIB_LKUP_RET_FWD_DISABLED`.
const FORWARDING_DISABLED: u64 = 5;

/// `long bpf_fib_lookup(ctx, params, plen, flags)`: no interface forwards.
pub(super) fn fib_lookup(call: &Call) -> u64 {
    let (size, flags) = (call.int(2), call.arg(3));
    if size < FIB_LOOKUP_BYTES as i32 || flags & !FIB_FLAGS != 0 {
        return Errno::EINVAL.as_ret();
    }
    let params = call.bytes(1, FIB_LOOKUP_BYTES);
    if !matches!(params[0], AF_INET | AF_INET6) {
        return Errno::EAFNOSUPPORT.as_ret();
    }
    match params[FIB_IFINDEX..][..4] {
        [0, 0, 0, 0] => Errno::ENODEV.as_ret(),
        _ => FORWARDING_DISABLED,
    }
}

/// `struct bpf_sock *bpf_sk_lookup_tcp(ctx, tuple, size, netns, flags)` and siblings, the
/// conversions of sockets, and everything else that is 0 where there is no socket: its class, its
/// group, its cookie, a route's realm.
pub(super) fn none(_: &Call) -> u64 {
    0
}

/// Helpers that need a socket, which cannot exist.
pub(super) fn refused(_: &Call) -> u64 {
    Errno::EINVAL.as_ret()
}

/// `u32 bpf_get_socket_uid(skb)`: the overflow user (`overflowuid`), as there is no socket.
pub(super) fn get_socket_uid(_: &Call) -> u64 {
    65534
}

/// `u64 bpf_get_netns_cookie(ctx)`: that of the initial network namespace.
pub(super) fn get_netns_cookie(_: &Call) -> u64 {
    1
}
