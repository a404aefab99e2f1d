//! Helpers for a socket buffer's metadata: protocol, congestion, checksum, time.
//!
//! Kernel: net/core/filter.c, 6.18, by behaviour; compared with its test runs.

use super::packet::with_packet;
use super::skb::VLAN_HLEN;
use crate::Errno;
use crate::ctx::{ETH_HLEN, Packet, skb};
use crate::run::{Call, ret};

/// `ETH_P_IP`, `ETH_P_IPV6`.
pub(super) const ETH_P_IP: u16 = 0x0800;
pub(super) const ETH_P_IPV6: u16 = 0x86dd;
/// `ETH_P_8021Q`, `ETH_P_8021AD`: VLAN tags.
const ETH_P_8021Q: u16 = 0x8100;
const ETH_P_8021AD: u16 = 0x88a8;
/// `VLAN_MAX_DEPTH`: parsing stops at the last of this many tags in a row.
const VLAN_MAX_DEPTH: usize = 8;
/// Difference in length between an IPv6 and an IPv4 header.
const HEADERS_DIFFER: usize = 20;
/// `SKB_MAX_CSUM_LEVEL`.
const CSUM_LEVEL_MAX: u32 = 3;

fn protocol(packet: &Packet) -> u16 {
    u16::from_be(packet.skb(skb::PROTOCOL) as u16)
}

/// `long bpf_skb_change_proto(skb, proto, flags)`: grows or shrinks the space before the network
/// header for the other one.
pub(super) fn change_proto(call: &Call) -> u64 {
    let (wanted, flags) = (u16::from_be(call.arg(1) as u16), call.arg(2));
    ret(with_packet(|packet| {
        if flags != 0 {
            return Err(Errno::EINVAL);
        }
        let (data, end) = packet.range();
        let moved = match (protocol(packet), wanted) {
            (ETH_P_IP, ETH_P_IPV6) if packet.headroom() < HEADERS_DIFFER => {
                return Err(Errno::ENOMEM);
            }
            (ETH_P_IP, ETH_P_IPV6) => data - HEADERS_DIFFER,
            (ETH_P_IPV6, ETH_P_IP) => data + HEADERS_DIFFER,
            _ => return Err(Errno::ENOTSUPP),
        };
        let kept = packet.network_offset();
        if moved > data && moved + kept.min(end - data) > end {
            return Err(Errno::ENOMEM);
        }
        packet.reserve(moved);
        packet.move_bytes(data, moved, kept);
        if moved < data {
            packet.zero(moved + kept, moved + kept + HEADERS_DIFFER);
        }
        packet.move_headers(moved);
        packet.set_skb(skb::PROTOCOL, u32::from(wanted.to_be()));
        packet.clear_hash();
        Ok(())
    }))
}

/// Sets ECN in the IPv4 header `header`, updating its checksum; returns whether the packet is
/// marked.
fn mark_v4(header: &mut [u8; 20]) -> bool {
    let ecn = header[1] & 3;
    if ecn == 0 {
        return false;
    }
    if ecn != 3 {
        header[1] |= 3;
        let before = u16::from_be_bytes([header[10], header[11]]);
        // Each added bit is subtracted from the one's complement of the sum (RFC 1624).
        let added = u16::from(3 - ecn);
        let after = match before.checked_sub(added) {
            Some(check) => check,
            None => before.wrapping_sub(added).wrapping_sub(1),
        };
        header[10..12].copy_from_slice(&after.to_be_bytes());
    }
    true
}

/// The same for an IPv6 header, which has no checksum.
fn mark_v6(header: &mut [u8; 2]) -> bool {
    if header[1] & 0x30 == 0 {
        return false;
    }
    header[1] |= 0x30;
    true
}

/// The protocol after the VLAN tags in the packet: the first of them ends where the link layer's
/// header does, if that is known.
fn protocol_in_tags(packet: &Packet) -> Option<u16> {
    let mut found = protocol(packet);
    let mac_len = packet.headers.get().mac_len;
    let mut at = if mac_len == 0 { ETH_HLEN } else { mac_len.checked_sub(VLAN_HLEN)? };
    for _ in 0..VLAN_MAX_DEPTH {
        if !matches!(found, ETH_P_8021Q | ETH_P_8021AD) {
            return Some(found);
        }
        let mut tag = [0; VLAN_HLEN];
        packet.read(at, &mut tag).ok()?;
        found = u16::from_be_bytes([tag[2], tag[3]]);
        at += VLAN_HLEN;
    }
    None
}

/// `long bpf_skb_ecn_set_ce(skb)`: 1 if the packet is now marked as having met congestion.
pub(super) fn ecn_set_ce(_: &Call) -> u64 {
    let marked = with_packet(|packet| {
        let ip = packet.network_offset();
        Ok(match protocol_in_tags(packet) {
            Some(ETH_P_IP) => {
                let mut header = [0; 20];
                packet.read(ip, &mut header)?;
                let marked = mark_v4(&mut header);
                packet.write(ip, &header)?;
                marked
            }
            Some(ETH_P_IPV6) => {
                packet.read(ip, &mut [0; 40])?;
                let mut header = [0; 2];
                packet.read(ip, &mut header)?;
                let marked = mark_v6(&mut header);
                packet.write(ip, &header)?;
                marked
            }
            _ => false,
        })
    });
    u64::from(marked.unwrap_or(false))
}

/// `long bpf_csum_level(skb, level)`: the number of verified checksums; EACCES for a packet with
/// none verified.
pub(super) fn csum_level(call: &Call) -> u64 {
    const QUERY: u64 = 0;
    const INC: u64 = 1;
    const DEC: u64 = 2;
    const RESET: u64 = 3;
    let level = with_packet(|packet| {
        let level = packet.csum_level.get();
        packet.csum_level.set(match (call.arg(1), level) {
            (QUERY, _) => return level.map(u64::from).ok_or(Errno::EACCES),
            (INC, None) => Some(0),
            (INC, Some(level)) => Some((level + 1).min(CSUM_LEVEL_MAX)),
            (DEC, None | Some(0)) | (RESET, _) => None,
            (DEC, Some(level)) => Some(level - 1),
            _ => return Err(Errno::EINVAL),
        });
        Ok(0)
    });
    level.unwrap_or_else(Errno::as_ret)
}

/// `long bpf_skb_set_tstamp(skb, tstamp, type)`: of the real-time (0), monotonic (1) or TAI (2)
/// clock.
pub(super) fn set_tstamp(call: &Call) -> u64 {
    let (tstamp, clock) = (call.arg(1), call.arg(2) as u32);
    ret(with_packet(|packet| {
        match (protocol(packet), clock, tstamp) {
            (ETH_P_IP | ETH_P_IPV6, 0, _) | (ETH_P_IP | ETH_P_IPV6, 1..=2, 1..) => {}
            (ETH_P_IP | ETH_P_IPV6, _, _) => return Err(Errno::EINVAL),
            _ => return Err(Errno::EOPNOTSUPP),
        }
        packet.set_tstamp(tstamp, clock as u8);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of a header with its checksum is 0xffff before and after.
    #[test]
    fn the_checksum_of_a_marked_header_is_right() {
        let sum = |header: &[u8; 20]| {
            let words = header.as_chunks::<2>().0.iter();
            let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(*word))).sum();
            let folded = (sum >> 16) + (sum & 0xffff);
            (folded >> 16) + (folded & 0xffff)
        };
        for id in 0..=u16::MAX {
            for ecn in 1..4 {
                let mut header = [0; 20];
                header[..2].copy_from_slice(&[0x45, ecn]);
                header[4..6].copy_from_slice(&id.to_be_bytes());
                let check = !(sum(&header) as u16);
                header[10..12].copy_from_slice(&check.to_be_bytes());
                assert!(mark_v4(&mut header));
                assert_eq!((sum(&header), header[1]), (0xffff, 3));
            }
        }
    }
}
