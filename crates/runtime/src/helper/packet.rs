//! Helpers that load, store and resize packets.
//!
//! Kernel: net/core/filter.c, 6.18, by behaviour; compared with its test runs.

use crate::Errno;
use crate::ctx::{Packet, PacketKind};
use crate::current;
use crate::run::{Call, ret};

/// The largest offset that the kernel accepts.
const OFFSET_MAX: u32 = i32::MAX as u32;
/// Flags of a write to a packet: `BPF_F_RECOMPUTE_CSUM`, `BPF_F_INVALIDATE_HASH`.
pub(super) const STORE_FLAGS: u64 = 3;
/// `BPF_F_INVALIDATE_HASH`.
pub(super) const INVALIDATE_HASH: u64 = 2;

/// Passes the run's packet to `work`.
pub(super) fn with_packet<T>(work: impl FnOnce(&Packet) -> Result<T, Errno>) -> Result<T, Errno> {
    let found = current::with(|current| current.ctx.packet_of_run().map(work));
    found.flatten().unwrap_or(Err(Errno::EINVAL))
}

/// Loads, or zeroes the destination if that fails.
fn load(call: &Call, to: usize, len: u64, offset: u64) -> u64 {
    let (offset, len) = (offset as u32, len as u32 as usize);
    let mut bytes = vec![0; len];
    let loaded = match offset > OFFSET_MAX {
        true => Err(Errno::EFAULT),
        false => with_packet(|packet| packet.read(offset as usize, &mut bytes)),
    };
    if loaded.is_err() {
        bytes.fill(0);
    }
    call.write(to, &bytes);
    ret(loaded)
}

/// `long bpf_skb_load_bytes(skb, offset, to, len)`.
pub(super) fn skb_load_bytes(call: &Call) -> u64 {
    load(call, 2, call.arg(3), call.arg(1))
}

/// `long bpf_skb_load_bytes_relative(skb, offset, to, len, start)`: relative to the link layer (0)
/// or network (1) header.
pub(super) fn skb_load_bytes_relative(call: &Call) -> u64 {
    let len = call.arg(3) as u32 as usize;
    let mut bytes = vec![0; len];
    let offset = call.arg(1) as u32;
    let loaded = match (offset, call.arg(4) as u32) {
        (0..=0xffff, start @ 0..=1) => {
            let at = i64::from(offset);
            with_packet(|packet| packet.read_from_header(start == 1, at, &mut bytes))
        }
        _ => Err(Errno::EFAULT),
    };
    if loaded.is_err() {
        bytes.fill(0);
    }
    call.write(2, &bytes);
    ret(loaded)
}

/// `long bpf_skb_store_bytes(skb, offset, from, len, flags)`.
pub(super) fn skb_store_bytes(call: &Call) -> u64 {
    let (offset, len, flags) = (call.arg(1) as u32, call.arg(3) as u32, call.arg(4));
    if flags & !STORE_FLAGS != 0 {
        return Errno::EINVAL.as_ret();
    }
    if offset > OFFSET_MAX {
        return Errno::EFAULT.as_ret();
    }
    ret(with_packet(|packet| {
        packet.write(offset as usize, &call.bytes(2, len as usize))?;
        if flags & INVALIDATE_HASH != 0 {
            packet.clear_hash();
        }
        Ok(())
    }))
}

/// `long bpf_xdp_load_bytes(xdp, offset, buf, len)`.
pub(super) fn xdp_load_bytes(call: &Call) -> u64 {
    let (offset, len) = (call.arg(1) as u32, call.arg(3) as u32 as usize);
    let mut bytes = vec![0; len];
    let loaded = xdp_inside(offset, len)
        .and_then(|()| in_packet(|packet| packet.read(offset as usize, &mut bytes)));
    if loaded.is_ok() {
        call.write(2, &bytes);
    }
    ret(loaded)
}

/// `long bpf_xdp_store_bytes(xdp, offset, buf, len)`.
pub(super) fn xdp_store_bytes(call: &Call) -> u64 {
    let (offset, len) = (call.arg(1) as u32, call.arg(3) as u32 as usize);
    let stored = xdp_inside(offset, len)
        .and_then(|()| in_packet(|packet| packet.write(offset as usize, &call.bytes(2, len))));
    ret(stored)
}

/// XDP helpers return `EINVAL` at the end of a packet.
fn in_packet(access: impl FnOnce(&Packet) -> Result<(), Errno>) -> Result<(), Errno> {
    with_packet(access).map_err(|_| Errno::EINVAL)
}

fn xdp_inside(offset: u32, len: usize) -> Result<(), Errno> {
    if offset > 0xffff || len > 0xffff { Err(Errno::EFAULT) } else { Ok(()) }
}

/// `u64 bpf_xdp_get_buff_len(xdp)`.
pub(super) fn xdp_get_buff_len(_: &Call) -> u64 {
    let len = with_packet(|packet| {
        let (data, end) = packet.range();
        Ok((end - data) as u64)
    });
    len.unwrap_or(0)
}

/// `int bpf_xdp_pull_data(xdp, len)`: all data is linear already.
pub(super) fn xdp_pull_data(call: &Call) -> u64 {
    let len = call.arg(1) as u32 as usize;
    let inside = with_packet(|packet| {
        let (data, end) = packet.range();
        if len <= end - data { Ok(0) } else { Err(Errno::EINVAL) }
    });
    inside.unwrap_or_else(Errno::as_int)
}

/// `long bpf_xdp_adjust_head(xdp, delta)`.
pub(super) fn xdp_adjust_head(call: &Call) -> u64 {
    ret(with_packet(|packet| packet.adjust_head(call.int(1))))
}

/// `long bpf_xdp_adjust_meta(xdp, delta)`.
pub(super) fn xdp_adjust_meta(call: &Call) -> u64 {
    ret(with_packet(|packet| packet.adjust_meta(call.int(1))))
}

/// `long bpf_xdp_adjust_tail(xdp, delta)`.
pub(super) fn xdp_adjust_tail(call: &Call) -> u64 {
    ret(with_packet(|packet| packet.adjust_tail(call.int(1))))
}

/// `SKF_NET_OFF`, `SKF_LL_OFF`: negative offsets from here on are relative to a header.
const NET_OFF: i32 = -0x10_0000;
const LL_OFF: i32 = -0x20_0000;

fn legacy<const N: usize>(call: &Call, host: fn([u8; N]) -> u64) -> u64 {
    let offset = call.int(1);
    let mut bytes = [0; N];
    let loaded = with_packet(|packet| match offset {
        0.. => packet.read(offset as usize, &mut bytes),
        NET_OFF.. => packet.read_from_header(true, i64::from(offset - NET_OFF), &mut bytes),
        LL_OFF.. => packet.read_from_header(false, i64::from(offset - LL_OFF), &mut bytes),
        _ => Err(Errno::EFAULT),
    });
    if loaded.is_ok() { host(bytes) } else { u64::MAX }
}

/// A byte of the packet, for `BPF_LD | BPF_ABS | BPF_B`.
pub(super) fn load_8(call: &Call) -> u64 {
    legacy(call, |[byte]| u64::from(byte))
}

/// Two bytes, in network order.
pub(super) fn load_16(call: &Call) -> u64 {
    legacy(call, |bytes| u64::from(u16::from_be_bytes(bytes)))
}

/// Four bytes, in network order.
pub(super) fn load_32(call: &Call) -> u64 {
    legacy(call, |bytes| u64::from(u32::from_be_bytes(bytes)))
}

/// Modifies the packet for a dynptr: for XDP every errno is `EINVAL`.
pub(super) fn access<T>(work: impl FnOnce(&Packet) -> Result<T, Errno>) -> Result<T, Errno> {
    with_packet(|packet| {
        work(packet).map_err(|errno| match packet.kind() {
            PacketKind::Xdp => Errno::EINVAL,
            PacketKind::Skb { .. } => errno,
        })
    })
}
