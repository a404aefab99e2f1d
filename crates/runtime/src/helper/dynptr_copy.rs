//! Kfuncs that fill the memory behind a dynptr: from another, with a byte, or from any address as
//! far as skep owns what is there.
//!
//! Kernel: `bpf_dynptr_copy`, `bpf_dynptr_memset`, `bpf_probe_read_kernel_dynptr` and siblings
//! (6.18), by behaviour; compared with its test runs.

use super::call::Call;
use super::dynptr::Dynptr;
use super::probe::{self, Side};
use crate::Errno;

fn int(result: Result<(), Errno>) -> u64 {
    result.map_or_else(Errno::as_int, |()| 0)
}

/// The dynptr that argument 0 is, if it may be written, and the address of `len` bytes in it.
fn writable(call: &Call, (offset, len): (u64, u64)) -> Result<u64, Errno> {
    let ptr = Dynptr::read(call, 0).filter(|ptr| !ptr.read_only).ok_or(Errno::EINVAL)?;
    ptr.at(offset, len)
}

/// `int bpf_dynptr_copy(dst, dst_off, src, src_off, size)`.
pub(super) fn copy(call: &Call) -> u64 {
    let size = call.arg(4);
    int((|| {
        let to = Dynptr::read(call, 0).ok_or(Errno::EINVAL)?;
        let from = Dynptr::read(call, 2).ok_or(Errno::EINVAL)?;
        if to.read_only {
            return Err(Errno::EINVAL);
        }
        let (to, from) = (to.at(call.arg(1), size)?, from.at(call.arg(3), size)?);
        let bytes = call.bytes_behind(from, size as u32 as usize).to_vec();
        call.write_behind(to, &bytes);
        Ok(())
    })())
}

/// `int bpf_dynptr_memset(p, offset, size, val)`.
pub(super) fn memset(call: &Call) -> u64 {
    let size = call.arg(2);
    let filled = writable(call, (call.arg(1), size)).map(|addr| {
        call.write_behind(addr, &vec![call.arg(3) as u8; size as u32 as usize]);
    });
    int(filled)
}

/// Reads `size` bytes at an address into the dynptr.
fn read(call: &Call, side: Side) -> u64 {
    let (offset, size, from) = (call.arg(1), call.arg(2), call.arg(3));
    int(writable(call, (offset, size)).and_then(|addr| {
        let mut bytes = vec![0; size as u32 as usize];
        if !bytes.is_empty() {
            probe::fetch(side, from, &mut bytes)?;
        }
        call.write_behind(addr, &bytes);
        Ok(())
    }))
}

/// Reads a string into the dynptr: the length with the end.
fn read_str(call: &Call, side: Side) -> u64 {
    let (offset, size, from) = (call.arg(1), call.arg(2), call.arg(3));
    let read = writable(call, (offset, size)).and_then(|addr| {
        let room = size as u32 as usize;
        if room == 0 {
            return Ok(0);
        }
        let bytes = probe::fetch_string(side, from, room)?;
        call.write_behind(addr, &bytes);
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

/// `int bpf_copy_from_user_str(dst, size, unsafe_ptr, flags)`: the length with the end.
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
