//! The open-coded iterator over numbers, 8 bytes on the program's stack: the last number returned,
//! and the end.
//!
//! Kernel: `bpf_iter_num_new` and siblings (6.18). A finished or invalid iterator is all 0.

use crate::Errno;
use crate::run::Call;
use skep_uapi::limits::BPF_MAX_LOOPS;

fn set(call: &Call, last: i32, end: i32) {
    let words = u64::from(last as u32) | u64::from(end as u32) << 32;
    call.write(0, &words.to_ne_bytes());
}

/// `int bpf_iter_num_new(it, start, end)`.
pub(super) fn new(call: &Call) -> u64 {
    let (start, end) = (call.int(1), call.int(2));
    set(call, 0, 0);
    if start > end {
        return Errno::EINVAL.as_int();
    }
    if i64::from(end) - i64::from(start) > i64::from(BPF_MAX_LOOPS) {
        return Errno::E2BIG.as_int();
    }
    set(call, start.wrapping_sub(1), end);
    0
}

/// `int *bpf_iter_num_next(it)`.
pub(super) fn next(call: &Call) -> u64 {
    let words = u64::from_ne_bytes(call.mem(0, 8).array());
    let (last, end) = (words as i32, (words >> 32) as i32);
    let number = last.wrapping_add(1);
    if number >= end {
        set(call, 0, 0);
        return 0;
    }
    set(call, number, end);
    call.arg(0)
}

/// `void bpf_iter_num_destroy(it)`.
pub(super) fn destroy(call: &Call) -> u64 {
    set(call, 0, 0);
    0
}
