//! Helpers that change the size, headers and metadata of a socket buffer.
//!
//! Kernel: net/core/filter.c, 6.18, by behaviour; compared with its test runs.

use super::packet::with_packet;
use crate::Errno;
use crate::ctx::{ETH_HLEN, Headers, Packet, PacketKind, skb};
use crate::run::{Call, ret};

/// Maximum size of a packet after a change: `SKB_MAX_ALLOC`, four pages minus the buffer's tail.
pub(super) const LEN_MAX: u32 = 16064;
pub(super) const VLAN_HLEN: usize = 4;

/// `long bpf_skb_change_tail(skb, len, flags)`.
pub(super) fn change_tail(call: &Call) -> u64 {
    let (len, flags) = (call.arg(1) as u32, call.arg(2));
    ret(with_packet(|packet| {
        if flags != 0 || len > LEN_MAX || (len as usize) < packet.len_min() {
            return Err(Errno::EINVAL);
        }
        if packet.is_encapsulated.get() {
            return Err(Errno::ENOTSUPP);
        }
        let (data, end) = packet.range();
        let moved = data + len as usize;
        if moved > packet.highest() {
            return Err(Errno::ENOMEM);
        }
        packet.zero(end, moved);
        packet.set_range(data, moved);
        Ok(())
    }))
}

/// `long bpf_skb_change_head(skb, len, flags)`: zeroed room in front.
pub(super) fn change_head(call: &Call) -> u64 {
    let (room, flags) = (call.arg(1) as u32 as usize, call.arg(2));
    ret(with_packet(|packet| {
        let (data, end) = packet.range();
        if flags != 0 || room + (end - data) > LEN_MAX as usize {
            return Err(Errno::EINVAL);
        }
        if room > packet.headroom() {
            return Err(Errno::ENOMEM);
        }
        packet.reserve(data - room);
        packet.zero(data - room, data);
        packet.set_start(data - room);
        packet.set_link(data - room);
        Ok(())
    }))
}

/// `long bpf_skb_pull_data(skb, len)`: all data is linear already.
pub(super) fn pull_data(call: &Call) -> u64 {
    let len = call.arg(1) as u32 as usize;
    ret(with_packet(|packet| {
        let (data, end) = packet.range();
        if len <= end - data { Ok(()) } else { Err(Errno::ENOMEM) }
    }))
}

/// `long bpf_skb_change_type(skb, type)`: between the destination kinds of received packets.
pub(super) fn change_type(call: &Call) -> u64 {
    /// `PACKET_OTHERHOST`.
    const OTHERHOST: u32 = 3;
    let wanted = call.arg(1) as u32;
    ret(with_packet(|packet| {
        if packet.skb(skb::PKT_TYPE) > OTHERHOST || wanted > OTHERHOST {
            return Err(Errno::EINVAL);
        }
        packet.set_skb(skb::PKT_TYPE, wanted);
        Ok(())
    }))
}

/// `u32 bpf_get_hash_recalc(skb)`: the hash of the flow's addresses and ports.
pub(super) fn get_hash_recalc(_: &Call) -> u64 {
    with_packet(|packet| Ok(u64::from(packet.hash()))).unwrap_or(0)
}

/// `void bpf_set_hash_invalid(skb)`.
pub(super) fn set_hash_invalid(_: &Call) -> u64 {
    ret(with_packet(|packet| {
        packet.clear_hash();
        Ok(())
    }))
}

/// `long bpf_set_hash(skb, hash)`.
pub(super) fn set_hash(call: &Call) -> u64 {
    ret(with_packet(|packet| {
        packet.set_hash(call.arg(1) as u32);
        Ok(())
    }))
}

/// `long bpf_skb_vlan_push(skb, proto, tci)`: the first tag is stored out of band; a further one
/// moves it into the packet.
pub(super) fn vlan_push(call: &Call) -> u64 {
    let (proto, tci) = (call.arg(1) as u16, call.arg(2) as u16);
    // 802.1Q or 802.1ad.
    let known = matches!(u16::from_be(proto), 0x8100 | 0x88a8);
    let proto = if known { proto } else { 0x8100u16.to_be() };
    ret(with_packet(|packet| {
        if packet.skb(skb::VLAN_PRESENT) != 0 {
            let old = packet.skb(skb::VLAN_PROTO) as u16;
            insert_tag(packet, old, packet.skb(skb::VLAN_TCI) as u16)?;
        }
        packet.set_link(packet.headers.get().link);
        set_tag(packet, 1, proto.into(), tci.into());
        Ok(())
    }))
}

/// `long bpf_skb_vlan_pop(skb)`: if the packet then starts with a tag, that is moved out of band.
pub(super) fn vlan_pop(_: &Call) -> u64 {
    ret(with_packet(|packet| {
        let is_tagged =
            || matches!(u16::from_be(packet.skb(skb::PROTOCOL) as u16), 0x8100 | 0x88a8);
        if packet.skb(skb::VLAN_PRESENT) != 0 {
            set_tag(packet, 0, 0, 0);
        } else if is_tagged() {
            take_tag(packet)?;
        } else {
            return Ok(());
        }
        if is_tagged() {
            let proto = packet.skb(skb::PROTOCOL);
            let tci = take_tag(packet)?;
            set_tag(packet, 1, proto, tci.into());
        }
        Ok(())
    }))
}

/// The out-of-band tag: whether there is one, its protocol, its value.
fn set_tag(packet: &Packet, present: u32, proto: u32, tci: u32) {
    packet.set_skb(skb::VLAN_PRESENT, present);
    packet.set_skb(skb::VLAN_PROTO, proto);
    packet.set_skb(skb::VLAN_TCI, tci);
}

fn insert_tag(packet: &Packet, proto: u16, tci: u16) -> Result<(), Errno> {
    let (data, _) = packet.range();
    let header = mac_header(packet)?;
    if packet.headroom() < VLAN_HLEN {
        return Err(Errno::ENOMEM);
    }
    packet.reserve(data - VLAN_HLEN);
    packet.move_bytes(header, header - VLAN_HLEN, 12);
    packet.move_headers(data - VLAN_HLEN);
    packet.set_link(header - VLAN_HLEN);
    let mut tag = proto.to_ne_bytes().to_vec();
    tag.extend(tci.to_be_bytes());
    packet.write(12, &tag)?;
    packet.set_skb(skb::PROTOCOL, u32::from(proto));
    Ok(())
}

/// Removes the first tag from the packet; returns its value.
fn take_tag(packet: &Packet) -> Result<u16, Errno> {
    let header = mac_header(packet)?;
    let (data, _) = packet.range();
    let mut tag = [0; 8];
    packet.read(12, &mut tag[..6]).map_err(|_| Errno::ENOMEM)?;
    // A packet that ends there has a protocol all the same, from what follows its end.
    packet.read_beyond(18, &mut tag[6..]);
    let (link, first) = (header + VLAN_HLEN, data + VLAN_HLEN);
    packet.move_bytes(header, link, 12);
    packet.set_start(first);
    let headers = packet.headers.get();
    let network = headers.network.max(first + ETH_HLEN);
    packet.headers.set(Headers { network, ..headers });
    packet.set_link(link);
    packet.set_protocol(&tag[4..]);
    Ok(u16::from_be_bytes([tag[2], tag[3]]))
}

/// Offset of the Ethernet header, if it is part of the data.
pub(super) fn mac_header(packet: &Packet) -> Result<usize, Errno> {
    match packet.kind() {
        PacketKind::Skb { link_layer: true } => Ok(packet.range().0),
        _ => Err(Errno::ENOTSUPP),
    }
}
