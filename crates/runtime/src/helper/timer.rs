//! Helpers that set timers; see [`crate::timer`].

use crate::run::{Call, ret};
use crate::{Errno, current};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The supported clocks, by number.
const CLOCKS: [(u64, ClockId); 3] =
    [(0, ClockId::Realtime), (1, ClockId::Monotonic), (7, ClockId::Boottime)];
/// `BPF_F_TIMER_ABS`; `BPF_F_TIMER_CPU_PIN` is the other flag.
const ABSOLUTE: u64 = 1;
const FLAGS: u64 = 3;

fn with_timers<T>(
    work: impl FnOnce(&current::Current<'_>) -> Result<T, Errno>,
) -> Result<T, Errno> {
    current::with(work).unwrap_or(Err(Errno::EINVAL))
}

/// `long bpf_timer_init(timer, map, flags)`: the flags are the clock. It determines the expiry of
/// an absolute time when the timer is started; after that, all timers follow the monotonic clock.
pub(super) fn init(call: &Call) -> u64 {
    let clock = CLOCKS.into_iter().find(|(number, _)| *number == call.arg(2));
    ret(with_timers(|current| {
        let (_, clock) = clock.ok_or(Errno::EINVAL)?;
        let map = current.shared.registry.map(call.map(1).id()).ok_or(Errno::EPERM)?;
        current.shared.timers.init(call.arg(0), &map, clock)
    }))
}

/// `long bpf_timer_set_callback(timer, callback)`.
pub(super) fn set_callback(call: &Call) -> u64 {
    ret(with_timers(|current| {
        let shared = current.shared;
        shared.timers.set_callback(call.arg(0), call.func(1), &shared.registry.progs)
    }))
}

/// `long bpf_timer_start(timer, nsecs, flags)`.
pub(super) fn start(call: &Call) -> u64 {
    let (nsecs, flags) = (call.arg(1), call.arg(2));
    if flags & !FLAGS != 0 {
        return Errno::EINVAL.as_ret();
    }
    ret(with_timers(|current| {
        let timers = &current.shared.timers;
        let delay = delay(timers.clock(call.arg(0))?, nsecs, flags);
        timers.start(call.arg(0), delay, current.shared)
    }))
}

/// Time until then.
fn delay(clock: ClockId, nsecs: u64, flags: u64) -> Duration {
    Duration::from_nanos(match flags & ABSOLUTE {
        0 => nsecs,
        _ => nsecs.saturating_sub(now(clock)),
    })
}

/// Nanoseconds on a clock.
fn now(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// `long bpf_timer_cancel(timer)`: 1 if it was armed.
pub(super) fn cancel(call: &Call) -> u64 {
    match with_timers(|current| current.shared.timers.cancel(call.arg(0))) {
        Ok(active) => u64::from(active),
        Err(errno) => errno.as_ret(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_time_is_that_of_the_timers_clock() {
        const MINUTE: u64 = 60_000_000_000;
        for (_, clock) in CLOCKS {
            let left = delay(clock, now(clock) + MINUTE, ABSOLUTE);
            assert!((50..=60).contains(&left.as_secs()), "{clock:?}: {left:?}");
            assert_eq!(delay(clock, MINUTE, 0), Duration::from_nanos(MINUTE));
            assert_eq!(delay(clock, 1, ABSOLUTE), Duration::ZERO);
        }
    }
}
