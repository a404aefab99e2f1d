//! Helpers for time, random numbers, and the current process.

use crate::Errno;
use crate::run::Call;
use rustix::time::{ClockId, DynamicClockId, clock_gettime, clock_gettime_dynamic};
use skep_mem::cpu;
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

/// Ticks a second of `bpf_jiffies64`.
const HZ: u64 = 250;

fn clock(id: ClockId) -> u64 {
    let time = clock_gettime(id);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// `u64 bpf_ktime_get_ns(void)`.
pub(super) fn ktime_get_ns(_: &Call) -> u64 {
    clock(ClockId::Monotonic)
}

/// `u64 bpf_ktime_get_boot_ns(void)`.
pub(super) fn ktime_get_boot_ns(_: &Call) -> u64 {
    clock(ClockId::Boottime)
}

/// `u64 bpf_ktime_get_coarse_ns(void)`.
pub(super) fn ktime_get_coarse_ns(_: &Call) -> u64 {
    clock(ClockId::MonotonicCoarse)
}

/// `u64 bpf_ktime_get_tai_ns(void)`.
pub(super) fn ktime_get_tai_ns(_: &Call) -> u64 {
    let time = clock_gettime_dynamic(DynamicClockId::Tai).unwrap_or_default();
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// `u64 bpf_jiffies64(void)`.
pub(super) fn jiffies64(_: &Call) -> u64 {
    clock(ClockId::Monotonic) / (1_000_000_000 / HZ)
}

/// `u32 bpf_get_prandom_u32(void)`: splitmix64, with per-thread state.
pub(super) fn get_prandom_u32(_: &Call) -> u64 {
    thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0) };
    }
    let seed = || RandomState::new().hash_one(0) | 1;
    let state = match STATE.get() {
        0 => seed(),
        state => state.wrapping_add(0x9e37_79b9_7f4a_7c15),
    };
    STATE.set(state);
    let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed >> 32
}

/// `u32 bpf_get_smp_processor_id(void)`: the CPU number of the run.
pub(super) fn get_smp_processor_id(_: &Call) -> u64 {
    u64::from(cpu::current())
}

/// `long bpf_get_numa_node_id(void)`.
pub(super) fn get_numa_node_id(_: &Call) -> u64 {
    0
}

/// `u64 bpf_get_current_pid_tgid(void)`: this process and thread.
pub(super) fn get_current_pid_tgid(_: &Call) -> u64 {
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    u64::from(std::process::id()) << 32 | u64::from(thread as u32)
}

/// `u64 bpf_get_current_uid_gid(void)`: of this process.
pub(super) fn get_current_uid_gid(_: &Call) -> u64 {
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    u64::from(gid) << 32 | u64::from(uid)
}

/// `long bpf_get_current_comm(buf, size)`: for this thread, truncated and padded with zeros.
pub(super) fn get_current_comm(call: &Call) -> u64 {
    let size = call.arg(1) as u32 as usize;
    let name = rustix::thread::name().map(|name| name.into_bytes()).unwrap_or_default();
    call.zero(0, size);
    let len = name.len().min(size.saturating_sub(1)).min(15);
    call.write(0, &name[..len]);
    0
}

/// Frames to skip, `BPF_F_SKIP_FIELD_MASK`, and `BPF_F_USER_STACK`.
const SKIP_FRAMES: u64 = 0xff;
const USER_STACK: u64 = 1 << 8;
/// `BPF_F_FAST_STACK_CMP`, `BPF_F_REUSE_STACKID`.
const STACKID_FLAGS: u64 = SKIP_FRAMES | USER_STACK | 1 << 9 | 1 << 10;
/// `BPF_F_USER_BUILD_ID`.
const USER_BUILD_ID: u64 = 1 << 11;
const STACK_FLAGS: u64 = SKIP_FRAMES | USER_STACK | USER_BUILD_ID;

/// `long bpf_get_stackid(ctx, map, flags)`: programs have no underlying stack here.
pub(super) fn get_stackid(call: &Call) -> u64 {
    let known = call.arg(2) & !STACKID_FLAGS == 0;
    if known { Errno::EFAULT.as_ret() } else { Errno::EINVAL.as_ret() }
}

/// `long bpf_get_stack(ctx, buf, size, flags)`: the same.
pub(super) fn get_stack(call: &Call) -> u64 {
    let (size, flags) = (call.arg(2) as u32, call.arg(3));
    call.zero(1, size as usize);
    // An address, or `struct bpf_stack_build_id`.
    let frame_bytes = if flags & USER_BUILD_ID == 0 { 8 } else { 32 };
    let of_user = flags & USER_STACK != 0;
    if flags & !STACK_FLAGS != 0
        || (flags & USER_BUILD_ID != 0 && !of_user)
        || size % frame_bytes != 0
    {
        return Errno::EINVAL.as_ret();
    }
    if size == 0 && flags & SKIP_FRAMES == 0 {
        return 0;
    }
    Errno::EFAULT.as_ret()
}
