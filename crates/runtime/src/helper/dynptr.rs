//! Dynptrs: pointers with a length known only at run time, 16 bytes on the program's stack.
//!
//! The layout is skep's own; programs cannot look inside. A null dynptr is all 0.
//!
//! ```text
//!   0 u64 address    8 u32 size, and the bits READ_ONLY and PACKET    12 u32 offset
//! ```
//!
//! For packets, the address is the context's; see `packet_dynptr`.
//!
//! Kernel: `bpf_dynptr_from_mem` and siblings (6.18).

use super::held::{hold, let_go};
use super::packet::{INVALIDATE_HASH, STORE_FLAGS};
use super::{packet, ring};
use crate::Errno;
use crate::ctx::{Packet, PacketKind};
use crate::run::{Call, ret};

/// Largest memory behind a dynptr.
const SIZE_MAX: u64 = (1 << 24) - 1;
/// The program may not write.
const READ_ONLY: u32 = 1 << 31;
/// It refers to the run's packet.
const PACKET: u32 = 1 << 30;
const SIZE_MASK: u32 = (1 << 24) - 1;

/// A dynptr of a program, or one that a helper creates for the memory passed to it.
#[derive(Clone, Copy)]
pub(super) struct Dynptr {
    addr: u64,
    size: u32,
    offset: u32,
    read_only: bool,
    packet: bool,
}

/// A range inside a dynptr's bounds.
#[derive(Clone, Copy)]
pub(super) struct Span {
    addr: u64,
    len: usize,
}

impl Span {
    pub(super) fn addr(self) -> u64 {
        self.addr
    }

    pub(super) fn len(self) -> usize {
        self.len
    }
}

impl Dynptr {
    /// For the run's packet, given by its context.
    pub(super) fn of_packet(ctx: u64, size: u32, read_only: bool) -> Dynptr {
        Dynptr { addr: ctx, size, offset: 0, read_only, packet: true }
    }

    /// Address of what it was made of.
    pub(super) fn addr(&self) -> u64 {
        self.addr
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Of memory at an address.
    pub(super) fn of(addr: u64, size: u32) -> Dynptr {
        Dynptr { addr, size, offset: 0, read_only: false, packet: false }
    }

    pub(super) fn read(call: &Call, n: usize) -> Option<Dynptr> {
        let mem = call.mem(n, 16);
        let word = |at| u64::from_ne_bytes(mem.part(at, 8).array());
        let (addr, rest) = (word(0), word(8));
        let (bits, offset) = (rest as u32, (rest >> 32) as u32);
        let (read_only, packet) = (bits & READ_ONLY != 0, bits & PACKET != 0);
        (addr != 0).then_some(Dynptr { addr, size: bits & SIZE_MASK, offset, read_only, packet })
    }

    /// A dynptr in a program's memory.
    pub(super) fn words(self) -> [u64; 2] {
        let read_only = if self.read_only { READ_ONLY } else { 0 };
        let packet = if self.packet { PACKET } else { 0 };
        let rest = u64::from(self.size | read_only | packet) | u64::from(self.offset) << 32;
        [self.addr, rest]
    }

    pub(super) fn write(self, call: &Call, n: usize) {
        call.write(n, &self.words().map(u64::to_ne_bytes).concat());
    }

    fn is_of_skb(self) -> bool {
        let is_skb = |packet: &Packet| Ok(packet.kind() != PacketKind::Xdp);
        self.packet && packet::access(is_skb) == Ok(true)
    }

    /// `len` bytes from `offset` on.
    pub(super) fn at(self, offset: u64, len: u64) -> Result<Span, Errno> {
        let (offset, len) = (offset as u32, len as u32);
        match offset.checked_add(len) {
            Some(end) if end <= self.size => {}
            _ => return Err(Errno::E2BIG),
        }
        if !self.packet {
            let addr = self.addr + u64::from(self.offset) + u64::from(offset);
            return Ok(Span { addr, len: len as usize });
        }
        let (at, len) = (self.offset as usize + offset as usize, len as usize);
        packet::access(|packet| Ok(Span { addr: packet.address(at, len)?, len }))
    }
}

pub(super) fn nowhere(call: &Call, n: usize) {
    call.zero(n, 16);
}

/// `long bpf_dynptr_from_mem(data, size, flags, ptr)`.
pub(super) fn from_mem(call: &Call) -> u64 {
    let size = u64::from(call.arg(1) as u32);
    let errno = match (size, call.arg(2)) {
        (size, _) if size > SIZE_MAX => Errno::E2BIG,
        (_, 1..) => Errno::EINVAL,
        _ => {
            let (addr, size) = (call.arg(0), size as u32);
            Dynptr::of(addr, size).write(call, 3);
            return 0;
        }
    };
    nowhere(call, 3);
    errno.as_ret()
}

/// `long bpf_dynptr_read(dst, len, src, offset, flags)`.
pub(super) fn read(call: &Call) -> u64 {
    let Some(src) = Dynptr::read(call, 2).filter(|_| call.arg(4) == 0) else {
        return Errno::EINVAL.as_ret();
    };
    match src.at(call.arg(3), call.arg(1)) {
        Ok(span) => {
            call.write(0, &call.behind(span).copy());
            0
        }
        Err(errno) => errno.as_ret(),
    }
}

/// `long bpf_dynptr_write(dst, offset, src, len, flags)`.
pub(super) fn write(call: &Call) -> u64 {
    let flags = call.arg(4);
    let dst = Dynptr::read(call, 0).filter(|dst| !dst.read_only);
    let Some(dst) = dst else { return Errno::EINVAL.as_ret() };
    let allowed = if dst.is_of_skb() { STORE_FLAGS } else { 0 };
    match dst.at(call.arg(1), call.arg(3)) {
        Ok(_) if flags & !allowed != 0 => Errno::EINVAL.as_ret(),
        Ok(span) => {
            call.behind(span).write(&call.bytes(2, call.arg(3) as u32 as usize));
            if flags & INVALIDATE_HASH != 0 {
                return ret(packet::access(|packet| {
                    packet.clear_hash();
                    Ok(())
                }));
            }
            0
        }
        Err(errno) => errno.as_ret(),
    }
}

/// `void *bpf_dynptr_data(ptr, offset, len)`.
pub(super) fn data(call: &Call) -> u64 {
    let ptr = Dynptr::read(call, 0).filter(|ptr| !ptr.read_only && !ptr.packet);
    ptr.and_then(|ptr| ptr.at(call.arg(1), call.arg(2)).ok()).map_or(0, Span::addr)
}

/// `long bpf_ringbuf_reserve_dynptr(ringbuf, size, flags, ptr)`.
pub(super) fn ringbuf_reserve(call: &Call) -> u64 {
    let size = u64::from(call.arg(1) as u32);
    let errno = match (size, call.arg(2)) {
        (_, 1..) => Errno::EINVAL,
        (size, _) if size > SIZE_MAX => Errno::E2BIG,
        _ => match call.map(0).ringbuf().map_or(0, |ringbuf| ringbuf.reserve(size)) {
            0 => Errno::EINVAL,
            addr => {
                let size = size as u32;
                hold(addr, ring::ringbuf_discard);
                Dynptr::of(addr, size).write(call, 3);
                return 0;
            }
        },
    };
    nowhere(call, 3);
    errno.as_ret()
}

fn ringbuf_commit(call: &Call, discard: bool) -> u64 {
    if let Some(ptr) = Dynptr::read(call, 0) {
        let_go(ptr.addr);
        crate::map::ringbuf::commit_record(call.header_behind(&ptr), discard, call.arg(1));
    }
    nowhere(call, 0);
    0
}

/// `void bpf_ringbuf_submit_dynptr(ptr, flags)`.
pub(super) fn ringbuf_submit(call: &Call) -> u64 {
    ringbuf_commit(call, false)
}

/// `void bpf_ringbuf_discard_dynptr(ptr, flags)`.
pub(super) fn ringbuf_discard(call: &Call) -> u64 {
    ringbuf_commit(call, true)
}

/// `void *bpf_dynptr_slice(ptr, offset, buffer, size)`: the memory itself, as packets are linear.
pub(super) fn slice(call: &Call) -> u64 {
    let ptr = Dynptr::read(call, 0);
    ptr.and_then(|ptr| ptr.at(call.arg(1), call.arg(3)).ok()).map_or(0, Span::addr)
}

/// `void *bpf_dynptr_slice_rdwr(ptr, offset, buffer, size)`.
pub(super) fn slice_rdwr(call: &Call) -> u64 {
    match Dynptr::read(call, 0) {
        Some(ptr) if !ptr.read_only => slice(call),
        _ => 0,
    }
}

/// `int bpf_dynptr_adjust(ptr, start, end)`.
pub(super) fn adjust(call: &Call) -> u64 {
    let (start, end) = (call.arg(1) as u32, call.arg(2) as u32);
    let Some(ptr) = Dynptr::read(call, 0).filter(|_| start <= end) else {
        return Errno::EINVAL.as_int();
    };
    if end > ptr.size {
        return Errno::ERANGE.as_int();
    }
    Dynptr { offset: ptr.offset + start, size: end - start, ..ptr }.write(call, 0);
    0
}

/// `bool bpf_dynptr_is_null(ptr)`.
pub(super) fn is_null(call: &Call) -> u64 {
    Dynptr::read(call, 0).is_none().into()
}

/// `bool bpf_dynptr_is_rdonly(ptr)`.
pub(super) fn is_rdonly(call: &Call) -> u64 {
    Dynptr::read(call, 0).is_some_and(|ptr| ptr.read_only).into()
}

/// `u32 bpf_dynptr_size(ptr)`.
pub(super) fn size(call: &Call) -> u64 {
    Dynptr::read(call, 0).map_or(Errno::EINVAL.as_int(), |ptr| ptr.size.into())
}

/// `int bpf_dynptr_clone(ptr, clone)`.
pub(super) fn clone(call: &Call) -> u64 {
    match Dynptr::read(call, 0) {
        Some(ptr) => {
            ptr.write(call, 1);
            0
        }
        None => {
            nowhere(call, 1);
            Errno::EINVAL.as_int()
        }
    }
}
