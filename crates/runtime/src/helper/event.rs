//! Helpers of tracing programs for counters and recorded events. Nothing is counted or traced here,
//! which is what they report.
//!
//! Kernel: kernel/trace/bpf_trace.c, 6.18, by behaviour; compared as far as its test runs can call
//! them.

use crate::map::perf_event_array::INDEX_MASK;
use crate::run::Call;
use crate::{Errno, current};
use skep_mem::cpu;

/// `sizeof(struct bpf_perf_event_value)`.
const EVENT_VALUE_BYTES: u32 = 24;
/// Number of signals.
const SIGNALS: u64 = 64;

/// A perf event array only has buffers for samples, no counters.
fn counter(call: &Call, flags: u64) -> Errno {
    if flags & !INDEX_MASK != 0 {
        return Errno::EINVAL;
    }
    let index = if flags == INDEX_MASK { cpu::current() } else { flags as u32 };
    if index < call.map(0).shape().max_entries { Errno::ENOENT } else { Errno::E2BIG }
}

/// `u64 bpf_perf_event_read(map, flags)`.
pub(super) fn perf_event_read(call: &Call) -> u64 {
    counter(call, call.arg(1)).as_ret()
}

/// `long bpf_perf_event_read_value(map, flags, buf, size)`.
pub(super) fn perf_event_read_value(call: &Call) -> u64 {
    let size = call.arg(3) as u32;
    call.zero(2, size as usize);
    match size {
        EVENT_VALUE_BYTES => counter(call, call.arg(1)).as_ret(),
        _ => Errno::EINVAL.as_ret(),
    }
}

/// `long bpf_perf_prog_read_value(ctx, buf, size)`: no event has started the program.
pub(super) fn perf_prog_read_value(call: &Call) -> u64 {
    call.zero(1, call.arg(2) as u32 as usize);
    Errno::EINVAL.as_ret()
}

/// `long bpf_read_branch_records(ctx, buf, size, flags)`: no event has recorded any.
pub(super) fn read_branch_records(call: &Call) -> u64 {
    if call.arg(3) & !1 != 0 { Errno::EINVAL.as_ret() } else { Errno::ENOENT.as_ret() }
}

/// `long bpf_get_branch_snapshot(entries, size, flags)`: the same.
pub(super) fn get_branch_snapshot(call: &Call) -> u64 {
    if call.arg(2) != 0 { Errno::EINVAL.as_ret() } else { Errno::ENOENT.as_ret() }
}

/// `u64 bpf_get_attach_cookie(ctx)`: the value set by `Ctx::set_attach_cookie`.
pub(super) fn get_attach_cookie(_: &Call) -> u64 {
    current::with(|current| current.ctx.attach_cookie).unwrap_or_default()
}

/// `u64 bpf_get_func_ip(ctx)`: 0, as if no function was probed.
pub(super) fn get_func_ip(_: &Call) -> u64 {
    0
}

/// `struct task_struct *bpf_get_current_task(void)`: an unreadable address, different for each
/// thread.
pub(super) fn get_current_task(_: &Call) -> u64 {
    /// In the kernel's half of the address space, where no process has memory.
    const TASKS: u64 = 0xffff_8880_0000_0000;
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    TASKS + u64::from(thread as u32) * 0x4000
}

/// `struct task_struct *bpf_task_acquire(p)`: a task is just its address, valid as long as anyone
/// has it.
pub(super) fn task_acquire(call: &Call) -> u64 {
    call.arg(0)
}

fn signal(call: &Call, to_thread: bool) -> u64 {
    let signal = call.arg(0) as u32;
    if u64::from(signal) > SIGNALS {
        return Errno::EINVAL.as_ret();
    }
    let kept = current::with(|current| {
        let effects = &current.ctx.effects;
        effects.listed.set(true);
        effects.signals.borrow_mut().push((signal, to_thread), 0, &current.shared.budget)
    });
    // As in a kernel without room for it.
    if kept == Some(false) { Errno::EBUSY.as_ret() } else { 0 }
}

/// `long bpf_send_signal(sig)`: recorded (`Ctx::signals`), to be sent by the embedder.
pub(super) fn send_signal(call: &Call) -> u64 {
    signal(call, false)
}

/// `long bpf_send_signal_thread(sig)`.
pub(super) fn send_signal_thread(call: &Call) -> u64 {
    signal(call, true)
}

/// `int bpf_get_retval(void)`: 0, or what the run has set.
pub(super) fn get_retval(_: &Call) -> u64 {
    let retval = current::with(|current| current.ctx.effects.retval.get()).unwrap_or_default();
    i64::from(retval) as u64
}

/// `int bpf_set_retval(int retval)`: recorded for the embedder (`Ctx::retval`).
pub(super) fn set_retval(call: &Call) -> u64 {
    current::with(|current| current.ctx.effects.retval.set(call.int(0)));
    0
}
