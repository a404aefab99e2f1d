//! Helpers that pass data to user space: ring buffers and perf events.

use super::held::{hold, let_go};
use crate::ctx::Ctx;
use crate::map::perf_event_array::INDEX_MASK;
use crate::map::ringbuf::commit_record;
use crate::run::{Call, ret};
use crate::{Errno, current};

/// `BPF_RB_NO_WAKEUP | BPF_RB_FORCE_WAKEUP`.
pub(super) const WAKEUP_FLAGS: u64 = 3;
/// `BPF_F_CTXLEN_MASK`: number of packet bytes to append to the data.
const CTXLEN_MASK: u64 = 0xf_ffff << 32;

/// `long bpf_ringbuf_output(ringbuf, data, size, flags)`.
pub(super) fn ringbuf_output(call: &Call) -> u64 {
    if call.arg(3) & !WAKEUP_FLAGS != 0 {
        return Errno::EINVAL.as_ret();
    }
    let ringbuf = call.map(0).ringbuf().ok_or(Errno::EINVAL);
    ret(ringbuf
        .and_then(|ringbuf| ringbuf.output(&call.bytes(1, call.arg(2) as usize), call.arg(3))))
}

/// `void *bpf_ringbuf_reserve(ringbuf, size, flags)`.
pub(super) fn ringbuf_reserve(call: &Call) -> u64 {
    if call.arg(2) != 0 {
        return 0;
    }
    let addr = call.map(0).ringbuf().map_or(0, |ringbuf| ringbuf.reserve(call.arg(1)));
    if addr != 0 {
        hold(addr, ringbuf_discard);
    }
    addr
}

/// `void bpf_ringbuf_submit(data, flags)`.
pub(super) fn ringbuf_submit(call: &Call) -> u64 {
    let_go(call.arg(0));
    commit_record(call.record_header(0), false, call.arg(1));
    0
}

/// `void bpf_ringbuf_discard(data, flags)`.
pub(super) fn ringbuf_discard(call: &Call) -> u64 {
    let_go(call.arg(0));
    commit_record(call.record_header(0), true, call.arg(1));
    0
}

/// `u64 bpf_ringbuf_query(ringbuf, flags)`.
pub(super) fn ringbuf_query(call: &Call) -> u64 {
    call.map(0).ringbuf().map_or(0, |ringbuf| ringbuf.query(call.arg(1)))
}

/// `long bpf_perf_event_output(ctx, map, flags, data, size)`, and `bpf_xdp_output`.
pub(super) fn perf_event_output(call: &Call) -> u64 {
    let flags = call.arg(2);
    if flags & !(INDEX_MASK | CTXLEN_MASK) != 0 {
        return Errno::EINVAL.as_ret();
    }
    let mut data = call.bytes(3, call.arg(4) as usize).to_vec();
    let more = ((flags & CTXLEN_MASK) >> 32) as usize;
    if more > 0 {
        match current::with(|current| packet_bytes(current.ctx, more)) {
            Some(Ok(bytes)) => data.extend(bytes),
            Some(Err(errno)) => return errno.as_ret(),
            None => return Errno::EINVAL.as_ret(),
        }
    }
    let array = call.map(1).perf_event_array().ok_or(Errno::EINVAL);
    ret(array.and_then(|array| array.output(flags & INDEX_MASK, data)))
}

/// The first bytes of the run's packet; without a packet the number must be 0.
fn packet_bytes(ctx: &Ctx, len: usize) -> Result<Vec<u8>, Errno> {
    let packet = ctx.packet_of_run().ok_or(Errno::EINVAL)?;
    let (start, end) = packet.range();
    let mut bytes = vec![0; len];
    if len > end - start || packet.read(0, &mut bytes).is_err() {
        return Err(Errno::EFAULT);
    }
    Ok(bytes)
}
