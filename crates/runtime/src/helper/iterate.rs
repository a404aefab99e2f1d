//! Helpers that call a function of the program repeatedly.

use super::dynptr::Dynptr;
use super::entry::Callbacks;
use super::ring::WAKEUP_FLAGS;
use crate::Errno;
use crate::run::Call;
use skep_uapi::limits::BPF_MAX_LOOPS;
use std::sync::atomic::AtomicU64;

/// `long bpf_loop(nr_loops, callback, ctx, flags)`: returns the number of calls.
pub(super) fn run_loop(call: &Call, callbacks: &mut dyn Callbacks) -> u64 {
    let (count, callback, ctx, flags) =
        (u64::from(call.arg(0) as u32), call.func(1), call.arg(2), call.arg(3));
    if flags != 0 {
        return Errno::EINVAL.as_ret();
    }
    if count > u64::from(BPF_MAX_LOOPS) {
        return Errno::E2BIG.as_ret();
    }
    for i in 0..count {
        match callbacks.call(callback, [i, ctx, 0, 0, 0]) {
            Some(0) => {}
            _ => return i + 1,
        }
    }
    count
}

/// `long bpf_for_each_map_elem(map, callback, ctx, flags)`: returns the number of elements visited.
pub(super) fn for_each_map_elem(call: &Call, callbacks: &mut dyn Callbacks) -> u64 {
    let (handle, callback, ctx, flags) = (call.arg(0), call.func(1), call.arg(2), call.arg(3));
    if flags != 0 {
        return Errno::EINVAL.as_ret();
    }
    let visited = call.map(0).kind().for_each(&mut |key, value| {
        callbacks.call(callback, [handle, key, value, ctx, 0]) != Some(0)
    });
    visited.map_or_else(Errno::as_ret, u64::from)
}

/// `BPF_MAX_USER_RINGBUF_SAMPLES`.
const SAMPLES_MAX: u64 = 128 * 1024;

/// `long bpf_user_ringbuf_drain(map, callback, ctx, flags)`: returns the number of samples; each is
/// passed as a dynptr.
pub(super) fn user_ringbuf_drain(call: &Call, callbacks: &mut dyn Callbacks) -> u64 {
    let (callback, ctx, flags) = (call.func(1), call.arg(2), call.arg(3));
    if flags & !WAKEUP_FLAGS != 0 {
        return Errno::EINVAL.as_ret();
    }
    let ring = call.map(0).user_ringbuf().ok_or(Errno::EINVAL);
    let drained = ring.and_then(|ring| {
        ring.drain(SAMPLES_MAX, &mut |addr, len| {
            // Changes that the program makes to it have no effect.
            let dynptr = Dynptr::of(addr, len).words().map(AtomicU64::new);
            let at = std::ptr::from_ref(&dynptr).expose_provenance() as u64;
            callbacks.call(callback, [at, ctx, 0, 0, 0]).map(|r0| r0 != 0)
        })
    });
    drained.unwrap_or_else(Errno::as_ret)
}
