//! Helpers that set timers; see [`crate::timer`].

use super::call::{Call, ret};
use crate::{Errno, current};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// `CLOCK_REALTIME`, `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME`.
const CLOCKS: [u64; 3] = [0, 1, 7];
/// `BPF_F_TIMER_ABS`; `BPF_F_TIMER_CPU_PIN` is the other flag.
const ABSOLUTE: u64 = 1;
const FLAGS: u64 = 3;

fn with_timers<T>(
    work: impl FnOnce(&current::Current<'_>) -> Result<T, Errno>,
) -> Result<T, Errno> {
    current::with(work).unwrap_or(Err(Errno::EINVAL))
}

/// `long bpf_timer_init(timer, map, flags)`: the flags are the clock, all of which run here as the
/// monotonic one does.
pub(super) fn init(call: &Call) -> u64 {
    if !CLOCKS.contains(&call.arg(2)) {
        return Errno::EINVAL.as_ret();
    }
    ret(with_timers(|current| {
        let map = current.shared.registry.map(call.map(1).id()).ok_or(Errno::EPERM)?;
        current.shared.timers.init(call.arg(0), &map)
    }))
}

/// `long bpf_timer_set_callback(timer, callback)`.
pub(super) fn set_callback(call: &Call) -> u64 {
    ret(with_timers(|current| {
        let shared = current.shared;
        shared.timers.set_callback(call.arg(0), call.arg(1), shared)
    }))
}

/// `long bpf_timer_start(timer, nsecs, flags)`.
pub(super) fn start(call: &Call) -> u64 {
    let (nsecs, flags) = (call.arg(1), call.arg(2));
    if flags & !FLAGS != 0 {
        return Errno::EINVAL.as_ret();
    }
    let now = clock_gettime(ClockId::Monotonic);
    let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    let delay = if flags & ABSOLUTE != 0 { nsecs.saturating_sub(now) } else { nsecs };
    ret(with_timers(|current| {
        let delay = Duration::from_nanos(delay);
        current.shared.timers.start(call.arg(0), delay, current.shared)
    }))
}

/// `long bpf_timer_cancel(timer)`: 1 if it would have expired.
pub(super) fn cancel(call: &Call) -> u64 {
    match with_timers(|current| current.shared.timers.cancel(call.arg(0))) {
        Ok(active) => u64::from(active),
        Err(errno) => errno.as_ret(),
    }
}
