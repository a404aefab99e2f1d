//! Helpers that read memory at any address: here that of the run and of the runtime's maps, and
//! nothing else. Any other address is one that cannot be read.

#![allow(unsafe_code)]

use super::Call;
use crate::{Errno, current};

/// Largest distance from the run's beginning to here that is taken for its stack, bytes.
const STACK_MAX: u64 = 1 << 20;

/// Reads memory that skep owns.
fn read_owned(addr: u64, bytes: &mut [u8]) -> Result<(), Errno> {
    let here = std::ptr::from_ref(&addr) as u64;
    let found = current::with(|current| {
        let size = bytes.len();
        if let Some((region, at)) = current.ctx.locate(addr, size) {
            region.read_part(at, bytes);
            return true;
        }
        if let Some((region, at)) = current.ctx.stack().and_then(|s| s.locate(addr, size)) {
            region.read_part(at, bytes);
            return true;
        }
        let end = addr.checked_add(size as u64);
        let on_stack = addr > here && end.is_some_and(|end| end <= current.stack_top);
        if on_stack && current.stack_top - here < STACK_MAX {
            // SAFETY: between this frame and the run's own lie only frames of this thread.
            let frames = unsafe { std::slice::from_raw_parts(addr as *const u8, size) };
            bytes.copy_from_slice(frames);
            return true;
        }
        for map in current.shared.registry.maps() {
            if let Some((region, at)) = map.kind().locate(addr, size) {
                region.read_part(at, bytes);
                return true;
            }
        }
        false
    });
    if found == Some(true) { Ok(()) } else { Err(Errno::EFAULT) }
}

/// A few bytes at an address.
pub(super) fn array<const N: usize>(addr: u64) -> Result<[u8; N], Errno> {
    let mut bytes = [0; N];
    read_owned(addr, &mut bytes).map(|()| bytes)
}

/// The string at an address, without its end, cut at `len_max` bytes.
pub(super) fn string(addr: u64, len_max: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    while bytes.len() < len_max {
        let [byte] = array(addr.wrapping_add(bytes.len() as u64))?;
        if byte == 0 {
            break;
        }
        bytes.push(byte);
    }
    Ok(bytes)
}

/// `long bpf_probe_read(dst, size, src)` and its siblings.
pub(super) fn read(call: &Call) -> u64 {
    let mut bytes = vec![0; call.arg(1) as u32 as usize];
    let result = match bytes.is_empty() {
        true => Ok(()),
        false => read_owned(call.arg(2), &mut bytes),
    };
    if result.is_err() {
        bytes.fill(0);
    }
    call.write(0, &bytes);
    super::call::ret(result)
}

/// Addresses below are a process's.
const TASK_SIZE_MAX: u64 = (1 << 47) - 4096;

/// The kernel's functions say `ERANGE` of an address of a process.
fn kernels(call: &Call, ret: u64) -> u64 {
    let refused = ret == Errno::EFAULT.as_ret() && call.arg(2) < TASK_SIZE_MAX;
    if refused { Errno::ERANGE.as_ret() } else { ret }
}

/// `long bpf_probe_read_kernel(dst, size, src)`.
pub(super) fn read_kernel(call: &Call) -> u64 {
    kernels(call, read(call))
}

/// `long bpf_probe_read_kernel_str(dst, size, src)`.
pub(super) fn read_kernel_str(call: &Call) -> u64 {
    kernels(call, read_str(call))
}

/// `long bpf_probe_read_str(dst, size, src)` and its siblings: the length with the end.
pub(super) fn read_str(call: &Call) -> u64 {
    let size = call.arg(1) as u32 as usize;
    if size == 0 {
        return 0;
    }
    match string(call.arg(2), size - 1) {
        Ok(mut bytes) => {
            bytes.push(0);
            call.write(0, &bytes);
            bytes.len() as u64
        }
        Err(errno) => {
            call.zero(0, size);
            errno.as_ret()
        }
    }
}
