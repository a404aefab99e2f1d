//! A record of a capture, of either format.

use std::time::Duration;

/// `LINKTYPE_ETHERNET`.
pub(super) const ETHERNET: u32 = 1;

/// Kind of a record.
pub(super) enum Record {
    Packet(Head),
    /// Another record, already skipped.
    Nothing,
    /// A packet that cannot be read; the source is at the next record.
    Bad(String),
    /// End of the capture.
    End,
    /// Unexpected end of the capture.
    Broken(String),
}

/// Header of a packet.
pub(super) struct Head {
    pub(super) bytes: u64,
    /// Number of its bytes that follow in the source.
    pub(super) padding: u64,
    pub(super) bytes_on_wire: u64,
    pub(super) time: Duration,
    /// Invalid time in the record: a fraction of more than a second.
    pub(super) is_late: bool,
    pub(super) link: u32,
}

pub(super) fn wrong_link(link: u32) -> String {
    // Names of www.tcpdump.org/linktypes.html.
    let name = match link {
        0 => " (NULL)",
        101 => " (RAW)",
        105 => " (IEEE802_11)",
        108 => " (LOOP)",
        113 => " (LINUX_SLL)",
        127 => " (IEEE802_11_RADIOTAP)",
        195 => " (IEEE802_15_4_WITHFCS)",
        228 => " (IPV4)",
        229 => " (IPV6)",
        276 => " (LINUX_SLL2)",
        _ => "",
    };
    format!("link type {link}{name} is not supported, only Ethernet (1)")
}

pub(super) fn u16_at(bytes: &[u8], at: usize, is_big: bool) -> u16 {
    let field: [u8; 2] = bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).unwrap_or_default();
    if is_big { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) }
}

pub(super) fn u32_at(bytes: &[u8], at: usize, is_big: bool) -> u32 {
    let field: [u8; 4] = bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).unwrap_or_default();
    if is_big { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) }
}
