//! Packet dynptrs: the packet belongs to the run, and is looked up at each access.
//!
//! Kernel: `bpf_dynptr_from_skb`, `bpf_dynptr_from_xdp` (6.18). If the packet has become shorter
//! since the dynptr was created, the result is `EFAULT`, for XDP `EINVAL`.

use super::dynptr::{Dynptr, nowhere};
use super::packet::with_packet;
use crate::Errno;
use crate::current;
use crate::run::Call;
use skep_uapi::may_write_packet;

/// `int bpf_dynptr_from_skb(skb, flags, ptr)`.
pub(super) fn from_skb(call: &Call) -> u64 {
    let may_write = current::with(|current| may_write_packet(current.ctx.prog_type()));
    from_packet(call, !may_write.unwrap_or(false))
}

/// `int bpf_dynptr_from_xdp(xdp, flags, ptr)`.
pub(super) fn from_xdp(call: &Call) -> u64 {
    from_packet(call, false)
}

/// `int bpf_dynptr_from_skb_meta(skb, flags, ptr)`: socket buffers here have no metadata.
pub(super) fn from_skb_meta(call: &Call) -> u64 {
    if call.arg(1) != 0 {
        nowhere(call, 2);
        return Errno::EINVAL.as_int();
    }
    let addr = call.arg(0);
    Dynptr::of_packet(addr, 0, false).write(call, 2);
    0
}

fn from_packet(call: &Call, read_only: bool) -> u64 {
    let len = with_packet(|packet| {
        let (data, end) = packet.range();
        Ok((end - data) as u32)
    });
    match (len, call.arg(1)) {
        (Ok(size), 0) => {
            Dynptr::of_packet(call.arg(0), size, read_only).write(call, 2);
            0
        }
        _ => {
            nowhere(call, 2);
            Errno::EINVAL.as_int()
        }
    }
}
