//! Kfuncs that fill the memory behind a dynptr: from another, with a byte, or from any address that
//! belongs to skep.
//!
//! Kernel: `bpf_dynptr_copy`, `bpf_dynptr_memset`, `bpf_probe_read_kernel_dynptr` and siblings
//! (6.18), by behaviour; compared with its test runs.

use super::dynptr::{Dynptr, Span};
use super::probe::{self, Side};
use crate::Errno;
use crate::run::Call;

fn int(result: Result<(), Errno>) -> u64 {
    result.map_or_else(Errno::as_int, |()| 0)
}

/// `len` bytes of the dynptr passed as argument 0, if it is writable.
fn writable(call: &Call, offset: u64, len: u64) -> Result<Span, Errno> {
    let ptr = Dynptr::read(call, 0).filter(|ptr| !ptr.is_read_only()).ok_or(Errno::EINVAL)?;
    ptr.at(offset, len)
}

/// Whether `len` bytes from `offset` on are within a dynptr without memory.
fn nothing(offset: u64, len: u64) -> Result<(), Errno> {
    Dynptr::of(0, 0).at(offset, len).map(drop)
}

/// `int bpf_dynptr_copy(dst, dst_off, src, src_off, size)`.
pub(super) fn copy(call: &Call) -> u64 {
    let size = call.arg(4);
    int((|| {
        let (to, from) = (Dynptr::read(call, 0), Dynptr::read(call, 2));
        let at_to = |to: Dynptr| to.at(call.arg(1), size);
        let at_from = |from: Dynptr| from.at(call.arg(3), size);
        // What can be accessed must be long enough, before the rest counts.
        match (to.filter(|to| !to.is_read_only()), from) {
            (Some(to), Some(from)) => {
                let (to, from) = (at_to(to)?, at_from(from)?);
                call.behind(to).write(&call.behind(from).copy());
                Ok(())
            }
            (Some(to), None) => at_to(to).and(Err(Errno::EINVAL)),
            (None, Some(from)) => at_from(from).and(Err(Errno::EINVAL)),
            (None, None) => {
                at_to(to.unwrap_or(Dynptr::of(0, 0)))?;
                nothing(call.arg(3), size)
            }
        }
    })())
}

/// `int bpf_dynptr_memset(p, offset, size, val)`.
pub(super) fn memset(call: &Call) -> u64 {
    let (offset, size) = (call.arg(1), call.arg(2));
    if Dynptr::read(call, 0).is_none() {
        return int(nothing(offset, size));
    }
    let filled = writable(call, offset, size);
    int(filled.map(|span| call.behind(span).fill(call.arg(3) as u8)))
}

/// Reads `size` bytes at an address into the dynptr.
fn read(call: &Call, side: Side) -> u64 {
    let (offset, size, from) = (call.arg(1), call.arg(2), call.arg(3));
    int(writable(call, offset, size).and_then(|span| {
        let mut bytes = vec![0; size as u32 as usize];
        if !bytes.is_empty() {
            probe::fetch(side, from, &mut bytes)?;
        }
        call.behind(span).write(&bytes);
        Ok(())
    }))
}

/// Reads a string into the dynptr: the length includes the terminator.
fn read_str(call: &Call, side: Side) -> u64 {
    let (offset, size, from) = (call.arg(1), call.arg(2), call.arg(3));
    let read = writable(call, offset, size).and_then(|span| {
        let room = size as u32 as usize;
        if room == 0 {
            return Ok(0);
        }
        let bytes = probe::fetch_string(side, from, room)?;
        call.behind(span).write(&bytes);
        Ok(bytes.len() as u64)
    });
    read.unwrap_or_else(Errno::as_int)
}

/// `int bpf_probe_read_kernel_dynptr(dptr, off, size, unsafe_ptr)`.
pub(super) fn probe_read_kernel(call: &Call) -> u64 {
    read(call, Side::Kernel)
}

/// `int bpf_probe_read_kernel_str_dynptr(dptr, off, size, unsafe_ptr)`.
pub(super) fn probe_read_kernel_str(call: &Call) -> u64 {
    read_str(call, Side::Kernel)
}

/// `int bpf_probe_read_user_dynptr(dptr, off, size, unsafe_ptr)`, `bpf_copy_from_user_dynptr`.
pub(super) fn probe_read_user(call: &Call) -> u64 {
    read(call, Side::Process)
}

/// `int bpf_probe_read_user_str_dynptr(dptr, off, size, unsafe_ptr)`,
/// `bpf_copy_from_user_str_dynptr`.
pub(super) fn probe_read_user_str(call: &Call) -> u64 {
    read_str(call, Side::Process)
}

/// `BPF_F_PAD_ZEROS`.
const PAD_ZEROS: u64 = 1;

/// `int bpf_copy_from_user_str(dst, size, unsafe_ptr, flags)`: the length includes the terminator.
pub(super) fn copy_from_user_str(call: &Call) -> u64 {
    let (size, flags) = (call.arg(1) as u32 as usize, call.arg(3));
    if flags & !PAD_ZEROS != 0 {
        return Errno::EINVAL.as_int();
    }
    if size == 0 {
        return 0;
    }
    match probe::fetch_string(Side::Process, call.arg(2), size) {
        Ok(mut bytes) => {
            let len = bytes.len();
            if flags & PAD_ZEROS != 0 {
                bytes.resize(size, 0);
            }
            call.write(0, &bytes);
            len as u64
        }
        Err(errno) => {
            if flags & PAD_ZEROS != 0 {
                call.zero(0, size);
            }
            errno.as_int()
        }
    }
}
