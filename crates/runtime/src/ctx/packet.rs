//! A packet in a buffer with room around it, preceded by the context, in one region.
//!
//! ```text
//!   0          CTX_BYTES     + headroom                    frame end - TAIL
//!   | context  | room, meta  | packet ...      | room ...  | (reserved)  |
//! ```
//!
//! The layout is that of the kernel's test run: a page for XDP, 256 bytes of headroom of which the
//! 40 of a frame descriptor are not available, 320 bytes at the end that belong to the fragments.
//! Longer packets get a longer buffer.
//!
//! # Invariants
//! 1. The words `data`, `data_end` and `data_meta` of the context are addresses in the buffer, with
//!    `data_meta <= data <= data_end`; only this file, and its methods for helpers, write them.
//!
//! Kernel: `bpf_prog_test_run_xdp`, `bpf_prog_test_run_skb` (6.18).

use crate::{Errno, Error};
use skep_mem::{Budget, Region};
use skep_uapi::ProgType;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Size of the context before the buffer.
pub(super) const CTX_BYTES: usize = 256;
/// Offset of the copy of `struct xdp_md`.
const XDP_MIRROR: usize = 24;
/// Offset of the copy of `struct __sk_buff`.
const SKB_MIRROR: usize = 40;
/// The word after it: a program has set the packet's hash, which may be 0.
const HASH_IS_SET: usize = SKB_MIRROR + 192;
/// `XDP_PACKET_HEADROOM`.
const XDP_HEADROOM: usize = 256;
/// Headroom of a socket buffer, which the kernel allocates when needed.
const SKB_HEADROOM: usize = 1 << 15;
/// `NET_SKB_PAD`: headroom of the kernel's socket buffer at first, and what it grows by.
const SKB_PAD: usize = 64;
/// `sizeof(struct xdp_frame)`: headroom that programs cannot use.
const FRAME_DESCRIPTOR: usize = 40;
/// The space of `struct skb_shared_info` at the end of a buffer.
const TAIL: usize = 320;
const PAGE: usize = skep_uapi::limits::PAGE_SIZE_BYTES as usize;
/// Size of a socket buffer: the maximum of a 16-bit length.
const SKB_ROOM: usize = 1 << 16;
/// Longest packet: `MAX_PACKET_OFF`.
const PACKET_MAX: usize = 0xffff;
pub(crate) const ETH_HLEN: usize = 14;
/// An Ethernet header and one of IPv6.
const HEADERS_MAX: usize = 54;
/// Metadata must be a multiple of four, and no longer.
const META_MAX: usize = 252;

/// Offsets in `struct __sk_buff`.
pub(crate) mod skb {
    pub(crate) const LEN: usize = 0;
    pub(crate) const PKT_TYPE: usize = 4;
    pub(crate) const PROTOCOL: usize = 16;
    pub(crate) const VLAN_PRESENT: usize = 20;
    pub(crate) const VLAN_TCI: usize = 24;
    pub(crate) const VLAN_PROTO: usize = 28;
    pub(crate) const IFINDEX: usize = 40;
    pub(crate) const HASH: usize = 68;
    pub(crate) const FAMILY: usize = 88;
    pub(crate) const REMOTE_IP4: usize = 92;
    pub(crate) const LOCAL_IP4: usize = 96;
    pub(crate) const REMOTE_IP6: usize = 100;
    pub(crate) const LOCAL_IP6: usize = 116;
    pub(crate) const TSTAMP: usize = 152;
    pub(crate) const WIRE_LEN: usize = 160;
    pub(crate) const TSTAMP_TYPE: usize = 180;
}

pub(crate) const AF_INET: u8 = 2;
pub(crate) const AF_INET6: u8 = 10;
/// The kernel's loopback device, on which test runs happen.
const LOOPBACK_IFINDEX: u32 = 1;

/// The kind of context of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    /// `struct xdp_md`.
    Xdp,
    /// `struct __sk_buff`, whose data start with the Ethernet header or after it.
    Skb {
        /// The header is part of the data.
        link_layer: bool,
    },
}

/// Where the headers of a socket buffer begin, as offsets in the region. A helper that inserts or
/// removes bytes moves what precedes them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Headers {
    pub(crate) link: usize,
    pub(crate) network: usize,
    /// Known of a packet that a helper put into a tunnel, and, wrongly, of one whose buffer was
    /// replaced: just before what was the start of the buffer then.
    pub(crate) transport: Option<usize>,
    /// Start of the buffer that the kernel would have.
    pub(crate) head: usize,
    /// `skb->mac_len`: 0 until a helper changes the link layer's header.
    pub(crate) mac_len: usize,
}

pub(crate) struct Packet {
    region: Region,
    kind: PacketKind,
    /// Bytes of the buffer.
    frame: usize,
    /// Fields set by the user: offset in the context and bytes.
    pub(super) fixed: Vec<(usize, Vec<u8>)>,
    pub(crate) headers: Cell<Headers>,
    /// `skb->csum_level` of a packet whose checksums were verified.
    pub(crate) csum_level: Cell<Option<u32>>,
    /// `skb->encapsulation`: whether it became the payload of a tunnel.
    pub(crate) is_encapsulated: Cell<bool>,
}

impl Packet {
    pub(super) fn new(
        prog_type: ProgType,
        bytes: &[u8],
        budget: &Arc<Budget>,
    ) -> Result<Packet, Error> {
        use ProgType as T;
        let kind = match prog_type {
            T::Xdp => PacketKind::Xdp,
            T::SchedCls | T::SchedAct => PacketKind::Skb { link_layer: true },
            T::SocketFilter
            | T::CgroupSkb
            | T::LwtIn
            | T::LwtOut
            | T::LwtXmit
            | T::LwtSeg6local => PacketKind::Skb { link_layer: false },
            other => {
                return Err(Error::unsupported(format!("packets for programs of type {other}")));
            }
        };
        let frame = frame_bytes(kind, bytes.len().min(PACKET_MAX));
        let region = Region::zeroed(CTX_BYTES + frame, budget).map_err(Error::no_memory)?;
        let mut packet = Packet {
            region,
            kind,
            frame,
            fixed: Vec::new(),
            headers: Cell::default(),
            csum_level: Cell::new(None),
            is_encapsulated: Cell::new(false),
        };
        packet.set(bytes)?;
        Ok(packet)
    }

    /// Stores a packet, and resets the context.
    pub(super) fn set(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let len = bytes.len();
        if len < ETH_HLEN {
            let why = format!("a packet of {len} bytes is shorter than an Ethernet header (14)");
            return Err(Error::input(why));
        }
        if len > PACKET_MAX {
            let why = format!("a packet of {len} bytes is longer than {PACKET_MAX}");
            return Err(Error::input(why));
        }
        let frame = frame_bytes(self.kind, len);
        if frame > self.frame {
            let budget = Budget::new(usize::MAX);
            self.region = Region::zeroed(CTX_BYTES + frame, &budget).map_err(Error::no_memory)?;
            self.frame = frame;
        }
        self.csum_level.set(None);
        self.is_encapsulated.set(false);
        self.region.clear(0, CTX_BYTES);
        let start = CTX_BYTES + headroom_bytes(self.kind);
        self.region.write(start, bytes);
        let (link, network, head) = (start, start + ETH_HLEN, start - SKB_PAD);
        self.headers.set(Headers { link, network, head, ..Headers::default() });
        // Helpers that move whole headers can expose what follows a short packet.
        self.zero(start + len, start + HEADERS_MAX);
        match self.kind {
            PacketKind::Xdp => {
                self.set_range(start, start + len);
                self.region.u32(XDP_MIRROR + 12).store(LOOPBACK_IFINDEX, Relaxed);
            }
            PacketKind::Skb { link_layer } => {
                let data = if link_layer { start } else { start + ETH_HLEN };
                self.set_range(data, start + len);
                self.set_skb(skb::WIRE_LEN, self.skb(skb::LEN));
                self.describe(bytes);
            }
        }
        for (at, bytes) in &self.fixed {
            self.region.write_part(*at, bytes);
        }
        Ok(())
    }

    /// What the kernel derives from the Ethernet header of a received packet.
    fn describe(&self, bytes: &[u8]) {
        let (Some(to), Some(protocol)) = (bytes.get(..6), bytes.get(12..)) else { return };
        let pkt_type = match to {
            [0, 0, 0, 0, 0, 0] => 0,
            // The test run's device has no broadcast address, so that counts as multicast too.
            [first, ..] if first & 1 != 0 => 2,
            _ => 3,
        };
        self.set_skb(skb::PKT_TYPE, pkt_type);
        self.set_protocol(protocol);
        self.set_skb(skb::IFINDEX, LOOPBACK_IFINDEX);
        self.set_addresses(bytes);
    }

    /// The socket's addresses, which are those of a packet that it sent.
    fn set_addresses(&self, bytes: &[u8]) {
        let (family, len, from, local, remote) = match bytes.get(12..ETH_HLEN) {
            Some([0x08, 0x00]) => (AF_INET, 4, 12, skb::LOCAL_IP4, skb::REMOTE_IP4),
            Some([0x86, 0xdd]) => (AF_INET6, 16, 8, skb::LOCAL_IP6, skb::REMOTE_IP6),
            _ => return,
        };
        let address = |at: usize| bytes.get(ETH_HLEN + at..).and_then(|rest| rest.get(..len));
        let (Some(source), Some(target)) = (address(from), address(from + len)) else { return };
        self.set_skb(skb::FAMILY, family.into());
        self.region.write_part(SKB_MIRROR + local, source);
        self.region.write_part(SKB_MIRROR + remote, target);
    }

    /// The network protocol, from the header's field for it and what follows that.
    pub(crate) fn set_protocol(&self, field: &[u8]) {
        let protocol = match field {
            // Below 1536 the field is a length, as in IEEE 802.3.
            [high @ 6..=0xff, low, ..] => u16::from_be_bytes([*high, *low]),
            [_, _, 0xff, 0xff, ..] => 1,
            _ => 4,
        };
        self.set_skb(skb::PROTOCOL, u32::from(protocol.to_be()));
    }

    pub(crate) fn kind(&self) -> PacketKind {
        self.kind
    }

    pub(super) fn ctx_addr(&self) -> u64 {
        self.region.addr(0)
    }

    pub(super) fn region(&self) -> &Region {
        &self.region
    }

    /// Offset of the copy of the uapi struct.
    pub(super) fn mirror(&self) -> usize {
        match self.kind {
            PacketKind::Xdp => XDP_MIRROR,
            PacketKind::Skb { .. } => SKB_MIRROR,
        }
    }

    /// A field of a socket buffer.
    pub(crate) fn skb(&self, field: usize) -> u32 {
        self.region.u32(SKB_MIRROR + field).load(Relaxed)
    }

    pub(crate) fn set_skb(&self, field: usize, value: u32) {
        self.region.u32(SKB_MIRROR + field).store(value, Relaxed);
    }

    /// The time at which the packet was or will be sent, and its clock.
    pub(crate) fn set_tstamp(&self, tstamp: u64, clock: u8) {
        self.region.write_part(SKB_MIRROR + skb::TSTAMP, &tstamp.to_ne_bytes());
        self.region.write_part(SKB_MIRROR + skb::TSTAMP_TYPE, &[clock]);
    }

    /// Number of bytes of the data before the network header.
    pub(crate) fn network_offset(&self) -> usize {
        self.headers.get().network.saturating_sub(self.range().0)
    }

    /// A socket buffer has room for data from there on. The kernel may have to replace its buffer,
    /// which loses what follows the end of the data.
    pub(crate) fn reserve(&self, to: usize) {
        let mut headers = self.headers.get();
        if let Some(missing) = headers.head.checked_sub(to).filter(|missing| *missing > 0) {
            headers.transport.get_or_insert(headers.head - 1);
            headers.head -= missing.next_multiple_of(SKB_PAD);
            self.headers.set(headers);
            let (_, end) = self.range();
            self.zero(end, (headers.network + HEADERS_MAX).min(self.highest()));
        }
    }

    /// Moves the start of a socket buffer's data forward or backward.
    pub(crate) fn set_start(&self, to: usize) {
        self.reserve(to);
        self.set_range(to, self.range().1);
    }

    /// Moves the start of the data and what precedes the contents of the network header: bytes are
    /// inserted there, or removed.
    pub(crate) fn move_headers(&self, to: usize) {
        let (data, _) = self.range();
        self.set_start(to);
        let headers = self.headers.get();
        let (link, network) = (headers.link + to - data, headers.network + to - data);
        self.headers.set(Headers { link, network, ..headers });
    }

    /// The link layer's header begins at `link`, and ends at the network header.
    pub(crate) fn set_link(&self, link: usize) {
        let headers = self.headers.get();
        self.headers.set(Headers { link, mac_len: headers.network - link, ..headers });
    }

    /// Minimum number of bytes kept when a packet is truncated: the headers that are known.
    pub(crate) fn len_min(&self) -> usize {
        let (data, _) = self.range();
        let headers = self.headers.get();
        headers.transport.filter(|at| *at > data).unwrap_or(headers.network).saturating_sub(data)
    }

    fn pointer(&self, at: usize) -> usize {
        (self.region.u64(at).load(Relaxed) - self.region.addr(0)) as usize
    }

    /// Start and end of the data, as offsets in the region.
    pub(crate) fn range(&self) -> (usize, usize) {
        (self.pointer(0), self.pointer(8))
    }

    /// Start of the metadata, as an offset in the region.
    pub(crate) fn meta(&self) -> usize {
        self.pointer(16)
    }

    /// Moves the data, discarding metadata.
    pub(crate) fn set_range(&self, data: usize, end: usize) {
        self.region.u64(0).store(self.region.addr(data), Relaxed);
        self.region.u64(8).store(self.region.addr(end), Relaxed);
        self.set_meta(data);
        if let PacketKind::Skb { .. } = self.kind {
            self.set_skb(skb::LEN, (end - data) as u32);
        }
    }

    fn set_meta(&self, meta: usize) {
        self.region.u64(16).store(self.region.addr(meta), Relaxed);
    }

    /// First byte available to XDP programs.
    fn lowest(&self) -> usize {
        CTX_BYTES + FRAME_DESCRIPTOR
    }

    /// Limit of the end of the data.
    pub(crate) fn highest(&self) -> usize {
        CTX_BYTES + self.frame - TAIL
    }

    /// Number of bytes that can be pushed before the data.
    pub(crate) fn headroom(&self) -> usize {
        self.range().0 - CTX_BYTES
    }

    /// `len` bytes of the data from `offset` on.
    pub(crate) fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), Errno> {
        let at = self.inside(offset, bytes.len())?;
        self.region.read_part(at, bytes);
        Ok(())
    }

    /// The same, of data that may have been cut off.
    pub(crate) fn read_beyond(&self, offset: usize, bytes: &mut [u8]) {
        let (data, _) = self.range();
        if data + offset + bytes.len() <= self.highest() {
            self.region.read_part(data + offset, bytes);
        }
    }

    /// Overwrites data from `offset` on.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), Errno> {
        let at = self.inside(offset, bytes.len())?;
        self.region.write_part(at, bytes);
        Ok(())
    }

    /// Address of `len` bytes of the data from `offset` on.
    pub(crate) fn address(&self, offset: usize, len: usize) -> Result<u64, Errno> {
        Ok(self.region.addr(self.inside(offset, len)?))
    }

    fn inside(&self, offset: usize, len: usize) -> Result<usize, Errno> {
        let (data, end) = self.range();
        match offset.checked_add(len) {
            Some(last) if last <= end - data => Ok(data + offset),
            _ => Err(Errno::EFAULT),
        }
    }

    /// Reads starting at the Ethernet header (which may be before the data) or at the network
    /// header.
    pub(crate) fn read_from_header(
        &self,
        network: bool,
        offset: i64,
        bytes: &mut [u8],
    ) -> Result<(), Errno> {
        let ((_, end), headers) = (self.range(), self.headers.get());
        let start = if network { headers.network } else { headers.link };
        let at = start as i64 + offset;
        if at < headers.link as i64 || at + bytes.len() as i64 > end as i64 {
            return Err(Errno::EFAULT);
        }
        self.region.read_part(at as usize, bytes);
        Ok(())
    }

    /// The hash of the flow must be recomputed.
    pub(crate) fn clear_hash(&self) {
        self.set_skb(skb::HASH, 0);
        self.region.u32(HASH_IS_SET).store(0, Relaxed);
    }

    /// Sets the hash of the flow, independent of the packet.
    pub(crate) fn set_hash(&self, hash: u32) {
        self.set_skb(skb::HASH, hash);
        self.region.u32(HASH_IS_SET).store(1, Relaxed);
    }

    /// The hash that was set, or that of the flow, which is then kept.
    pub(crate) fn hash(&self) -> u32 {
        if self.skb(skb::HASH) == 0 && self.region.u32(HASH_IS_SET).load(Relaxed) == 0 {
            self.set_skb(skb::HASH, self.flow_hash());
        }
        self.skb(skb::HASH)
    }

    /// A non-zero hash of the network addresses and the ports.
    fn flow_hash(&self) -> u32 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut mix = |offset: i64, len: usize| {
            let mut bytes = [0; 40];
            if self.read_from_header(true, offset, &mut bytes[..len]).is_ok() {
                let step =
                    |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
                hash = bytes[..len].iter().fold(hash, step);
            }
        };
        match u16::from_be(self.skb(skb::PROTOCOL) as u16) {
            0x0800 => [(9, 1), (12, 8), (20, 4)].map(|(at, len)| mix(at, len)),
            0x86dd => [(6, 1), (8, 32), (40, 4)].map(|(at, len)| mix(at, len)),
            _ => [(0, 0), (0, 0), (0, 0)].map(|(at, len)| mix(at, len)),
        };
        ((hash ^ hash >> 32) as u32).max(1)
    }

    /// Zeroes a part of the buffer, given as offsets in the region.
    pub(crate) fn zero(&self, from: usize, to: usize) {
        self.region.write_part(from, &vec![0; to.saturating_sub(from)]);
    }

    /// Moves a part of the buffer, given as offsets in the region.
    pub(crate) fn move_bytes(&self, from: usize, to: usize, len: usize) {
        self.region.copy_within(from, to, len);
    }

    /// `bpf_xdp_adjust_head`.
    pub(crate) fn adjust_head(&self, delta: i32) -> Result<(), Errno> {
        let (data, end) = self.range();
        let meta_len = data - self.meta();
        let moved = data as i64 + i64::from(delta);
        let lowest = self.lowest() + meta_len;
        if moved < lowest as i64 || moved > end as i64 - ETH_HLEN as i64 {
            return Err(Errno::EINVAL);
        }
        let moved = moved as usize;
        if meta_len > 0 {
            self.region.copy_within(data - meta_len, moved - meta_len, meta_len);
        }
        self.set_range(moved, end);
        self.set_meta(moved - meta_len);
        Ok(())
    }

    /// `bpf_xdp_adjust_meta`.
    pub(crate) fn adjust_meta(&self, delta: i32) -> Result<(), Errno> {
        let (data, _) = self.range();
        let meta = self.meta() as i64 + i64::from(delta);
        if meta < self.lowest() as i64 || meta > data as i64 {
            return Err(Errno::EINVAL);
        }
        let len = data - meta as usize;
        if !len.is_multiple_of(4) || len > META_MAX {
            return Err(Errno::EACCES);
        }
        self.set_meta(meta as usize);
        Ok(())
    }

    /// `bpf_xdp_adjust_tail`.
    pub(crate) fn adjust_tail(&self, delta: i32) -> Result<(), Errno> {
        let (data, end) = self.range();
        let (moved, meta) = (end as i64 + i64::from(delta), self.meta());
        if moved > self.highest() as i64 || moved < (data + ETH_HLEN) as i64 {
            return Err(Errno::EINVAL);
        }
        self.zero(end, moved as usize);
        self.set_range(data, moved as usize);
        self.set_meta(meta);
        Ok(())
    }

    pub(super) fn meta_bytes(&self) -> Vec<u8> {
        let (meta, (data, _)) = (self.meta(), self.range());
        let mut bytes = vec![0; data - meta];
        self.region.read_part(meta, &mut bytes);
        bytes
    }

    /// The packet with its Ethernet header; if that is not part of the data, it is returned as
    /// zeros, as in the kernel.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let (data, end) = self.range();
        let header = match self.kind {
            PacketKind::Skb { link_layer: false } => ETH_HLEN,
            _ => 0,
        };
        let mut bytes = vec![0; header + end - data];
        self.region.read_part(data, &mut bytes[header..]);
        bytes
    }

    pub(super) fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        let (region, at) = self.region.locate(addr, size)?;
        let (_, end) = self.range();
        let in_ctx = at + size <= CTX_BYTES;
        let in_data = at >= self.meta() && at + size <= end;
        (in_ctx || in_data).then_some((region, at))
    }
}

/// Buffer size for a packet of `len` bytes.
fn headroom_bytes(kind: PacketKind) -> usize {
    match kind {
        PacketKind::Xdp => XDP_HEADROOM,
        PacketKind::Skb { .. } => SKB_HEADROOM,
    }
}

fn frame_bytes(kind: PacketKind, len: usize) -> usize {
    let room = match kind {
        PacketKind::Xdp => PAGE,
        PacketKind::Skb { .. } => SKB_ROOM + SKB_HEADROOM + TAIL,
    };
    room.max((headroom_bytes(kind) + len + TAIL).next_multiple_of(64))
}
