//! Helpers that read and modify maps.

use crate::Errno;
use crate::run::{Call, ret};
use skep_mem::Bytes;

#[inline(always)]
fn key(call: &Call, n: usize) -> Bytes {
    call.bytes(n, call.map(0).shape().key_size as usize)
}

#[inline(always)]
fn value(call: &Call, n: usize) -> Bytes {
    call.bytes(n, call.map(0).shape().value_size as usize)
}

/// `void *bpf_map_lookup_elem(map, key)`.
#[inline]
pub(super) fn lookup_elem(call: &Call) -> u64 {
    call.map(0).kind().lookup(&key(call, 1))
}

/// `long bpf_map_update_elem(map, key, value, flags)`.
#[inline]
pub(super) fn update_elem(call: &Call) -> u64 {
    ret(call.map(0).kind().update(&key(call, 1), &value(call, 2), call.arg(3)))
}

/// `long bpf_map_delete_elem(map, key)`.
pub(super) fn delete_elem(call: &Call) -> u64 {
    ret(call.map(0).kind().delete(&key(call, 1)))
}

/// `long bpf_map_push_elem(map, value, flags)`.
pub(super) fn push_elem(call: &Call) -> u64 {
    ret(call.map(0).kind().push(&value(call, 1), call.arg(2)))
}

/// `long bpf_map_pop_elem(map, value)`.
pub(super) fn pop_elem(call: &Call) -> u64 {
    take(call, false)
}

/// `long bpf_map_peek_elem(map, value)`; of a bloom filter, whether it holds the value.
pub(super) fn peek_elem(call: &Call) -> u64 {
    take(call, true)
}

fn take(call: &Call, keep: bool) -> u64 {
    let mut buffer = value(call, 1).to_vec();
    let result = call.map(0).kind().pop(&mut buffer, keep);
    if matches!(result, Ok(()) | Err(Errno::ENOENT)) {
        call.write(1, &buffer);
    }
    ret(result)
}

/// `void *bpf_map_lookup_percpu_elem(map, key, cpu)`.
pub(super) fn lookup_percpu_elem(call: &Call) -> u64 {
    call.map(0).kind().lookup_cpu(&key(call, 1), call.arg(2) as u32)
}

/// `void *bpf_get_local_storage(map, flags)`.
pub(super) fn get_local_storage(call: &Call) -> u64 {
    call.map(0).kind().storage()
}
