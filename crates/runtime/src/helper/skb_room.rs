//! The helper that makes or removes space for tunnel headers in a socket buffer.
//!
//! Kernel: `bpf_skb_adjust_room` (6.18), by behaviour; compared with its test runs.

use super::packet::with_packet;
use super::skb::{LEN_MAX, mac_header};
use super::skb_marks::{ETH_P_IP, ETH_P_IPV6};
use crate::Errno;
use crate::ctx::{ETH_HLEN, Headers, Packet, skb};
use crate::run::{Call, ret};

/// `enum bpf_adj_room_mode`.
const ROOM_NET: u32 = 0;
const ROOM_MAC: u32 = 1;

/// `BPF_F_ADJ_ROOM_*`.
const FIXED_GSO: u64 = 1;
const ENCAP_L3_IPV4: u64 = 1 << 1;
const ENCAP_L3_IPV6: u64 = 1 << 2;
const ENCAP_L4_GRE: u64 = 1 << 3;
const ENCAP_L4_UDP: u64 = 1 << 4;
const NO_CSUM_RESET: u64 = 1 << 5;
const ENCAP_L2_ETH: u64 = 1 << 6;
const DECAP_L3_IPV4: u64 = 1 << 7;
const DECAP_L3_IPV6: u64 = 1 << 8;
/// `BPF_F_ADJ_ROOM_ENCAP_L2`: the length of the inner link layer header is in the highest byte.
const ENCAP_L2_SHIFT: u32 = 56;
const ENCAP_L2: u64 = 0xff << ENCAP_L2_SHIFT;

const ENCAP_L3: u64 = ENCAP_L3_IPV4 | ENCAP_L3_IPV6;
const ENCAP_L4: u64 = ENCAP_L4_GRE | ENCAP_L4_UDP;
const DECAP_L3: u64 = DECAP_L3_IPV4 | DECAP_L3_IPV6;
const SHRINKING: u64 = FIXED_GSO | NO_CSUM_RESET | DECAP_L3;
const KNOWN: u64 = SHRINKING | ENCAP_L3 | ENCAP_L4 | ENCAP_L2_ETH | ENCAP_L2;

/// Maximum amount by which a packet grows or shrinks.
const ROOM_MAX: u32 = 0xfff;
const IPV4_HLEN: usize = 20;
const IPV6_HLEN: usize = 40;

/// The result of the change.
struct Room {
    grows: bool,
    /// By how many bytes.
    by: usize,
    flags: u64,
    /// The network protocol afterwards.
    protocol: u16,
    /// Length of the headers before the space.
    kept: usize,
}

/// `long bpf_skb_adjust_room(skb, len_diff, mode, flags)`: space before the network header, or
/// after it.
pub(super) fn adjust_room(call: &Call) -> u64 {
    let (diff, mode, flags) = (call.int(1), call.arg(2) as u32, call.arg(3));
    if flags & !KNOWN != 0 {
        return Errno::EINVAL.as_ret();
    }
    if diff.unsigned_abs() > ROOM_MAX {
        return Errno::EFAULT.as_ret();
    }
    ret(with_packet(|packet| {
        let protocol = u16::from_be(packet.skb(skb::PROTOCOL) as u16);
        let network = header_len(protocol).ok_or(Errno::ENOTSUPP)?;
        mac_header(packet)?;
        let before = packet.network_offset();
        let kept = match mode {
            ROOM_NET => before + network,
            ROOM_MAC => before,
            _ => return Err(Errno::ENOTSUPP),
        };
        let by = diff.unsigned_abs() as usize;
        let room = Room { grows: diff >= 0, by, flags, protocol: after(protocol, flags), kept };
        check_len(packet, &room, network)?;
        if room.grows {
            grow(packet, &room)?
        } else {
            shrink(packet, &room)?
        }
        packet.set_skb(skb::PROTOCOL, u32::from(room.protocol.to_be()));
        if flags & NO_CSUM_RESET == 0 {
            packet.csum_level.set(None);
        }
        Ok(())
    }))
}

/// The length of the network header, without options.
fn header_len(protocol: u16) -> Option<usize> {
    match protocol {
        ETH_P_IP => Some(IPV4_HLEN),
        ETH_P_IPV6 => Some(IPV6_HLEN),
        _ => None,
    }
}

/// The network protocol after the change specified by the flags.
fn after(protocol: u16, flags: u64) -> u16 {
    if flags & (ENCAP_L3_IPV4 | DECAP_L3_IPV4) != 0 {
        ETH_P_IP
    } else if flags & (ENCAP_L3_IPV6 | DECAP_L3_IPV6) != 0 {
        ETH_P_IPV6
    } else {
        protocol
    }
}

/// Whether the packet remains long enough for its header (of `network` bytes, unless the flags
/// specify that of the inner packet), and short enough.
fn check_len(packet: &Packet, room: &Room, network: usize) -> Result<(), Errno> {
    let decap = room.flags & DECAP_L3;
    if decap == DECAP_L3 || (decap != 0 && room.grows) {
        return Err(Errno::EINVAL);
    }
    let inner = match decap {
        DECAP_L3_IPV4 => IPV4_HLEN,
        DECAP_L3_IPV6 => IPV6_HLEN,
        _ => network,
    };
    let (data, end) = packet.range();
    let len = end - data;
    let is_out = match room.grows {
        true => room.by > 0 && len + room.by > LEN_MAX as usize,
        // Of a packet that ends before its network header, the kernel takes the rest to be long.
        false => {
            let rest = len.checked_sub(packet.network_offset());
            rest.is_some_and(|rest| rest < inner + room.by)
        }
    };
    if is_out { Err(Errno::ENOTSUPP) } else { Ok(()) }
}

fn grow(packet: &Packet, room: &Room) -> Result<(), Errno> {
    let (data, _) = packet.range();
    let encap = room.flags & ENCAP_L3;
    if encap != 0 {
        check_encap(packet, room)?;
    }
    if room.by > packet.headroom() {
        return Err(Errno::ENOMEM);
    }
    let moved = data - room.by;
    packet.reserve(moved);
    // Including what follows the end of a packet that is shorter than its headers.
    packet.move_bytes(data, moved, room.kept);
    packet.zero(moved + room.kept, data + room.kept);
    packet.move_headers(moved);
    if encap != 0 {
        encapsulate(packet, room);
    }
    Ok(())
}

/// What is known of a packet in a tunnel; the program writes the tunnel's headers later.
fn encapsulate(packet: &Packet, room: &Room) {
    packet.is_encapsulated.set(true);
    if room.flags & ENCAP_L4 != 0 {
        let headers = packet.headers.get();
        let transport = header_len(room.protocol).map(|len| headers.network + len);
        packet.headers.set(Headers { transport, ..headers });
    }
}

/// A packet can be put into one tunnel only, over one protocol, with an inner link layer header
/// that fits.
fn check_encap(packet: &Packet, room: &Room) -> Result<(), Errno> {
    let inner_mac = (room.flags >> ENCAP_L2_SHIFT) as usize;
    let both = |flags: u64| room.flags & flags == flags;
    let too_short = both(ENCAP_L2_ETH) && inner_mac < ETH_HLEN;
    if both(ENCAP_L3) || both(ENCAP_L4) || too_short {
        return Err(Errno::EINVAL);
    }
    if packet.is_encapsulated.get() {
        return Err(Errno::EALREADY);
    }
    if inner_mac > room.by { Err(Errno::EINVAL) } else { Ok(()) }
}

fn shrink(packet: &Packet, room: &Room) -> Result<(), Errno> {
    let (data, end) = packet.range();
    if room.flags & !SHRINKING != 0 {
        return Err(Errno::EINVAL);
    }
    if end - data < room.kept + room.by {
        return Err(Errno::ENOMEM);
    }
    let moved = data + room.by;
    packet.move_bytes(data, moved, room.kept);
    packet.move_headers(moved);
    Ok(())
}
