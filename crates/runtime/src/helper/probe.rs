//! Helpers that read memory at any address: here only that of the run and of the runtime's maps.
//! All other addresses are unreadable.

use crate::run::{Call, ret};
use crate::{Errno, current};

/// Reads memory that skep owns.
pub(super) fn read_owned(addr: u64, bytes: &mut [u8]) -> Result<(), Errno> {
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
        if current.read_frames(addr, bytes) {
            return true;
        }
        if let Some((region, at)) = current.shared.registry.objects.locate(addr, size) {
            region.read_part(at, bytes);
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

/// A number of up to 8 bytes; 0 if it is not in memory that belongs to skep.
pub(super) fn load(addr: u64, len: usize) -> u64 {
    let mut word = [0; 8];
    let read = word.get_mut(..len).is_some_and(|bytes| read_owned(addr, bytes).is_ok());
    if read { u64::from_le_bytes(word) } else { 0 }
}

/// The string at an address, without its terminator, truncated to `len_max` bytes.
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

/// Addresses below are a process's, except memory that belongs to skep.
const TASK_SIZE_MAX: u64 = (1 << 47) - 4096;

/// Whose addresses a helper reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Addresses below the kernel's are a process's.
    Either,
    Process,
    Kernel,
}

/// The kernel's result for `len` bytes at an address that does not belong to skep.
pub(super) fn refuse(side: Side, addr: u64, len: usize) -> Result<(), Errno> {
    let of_process = addr < TASK_SIZE_MAX;
    let canonical = (addr as i64) << 16 >> 16 == addr as i64;
    match side {
        Side::Either | Side::Process if of_process => {}
        Side::Process => return Err(Errno::EFAULT),
        _ if !canonical || addr >> 63 == 0 => return Err(Errno::ERANGE),
        _ => {}
    }
    if len == 0 { Ok(()) } else { Err(Errno::EFAULT) }
}

/// Reads memory that belongs to skep, subject to the caller's rights.
pub(super) fn fetch(side: Side, addr: u64, bytes: &mut [u8]) -> Result<(), Errno> {
    match read_owned(addr, bytes) {
        Ok(()) if side == Side::Process => Err(Errno::EFAULT),
        Ok(()) => Ok(()),
        Err(_) => refuse(side, addr, bytes.len()),
    }
}

/// The string at the address with its terminator, truncated to `room` bytes (at least one).
pub(super) fn fetch_string(side: Side, addr: u64, room: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = match array::<1>(addr) {
        Ok(_) if side == Side::Process => return Err(Errno::EFAULT),
        Ok(_) => string(addr, room - 1)?,
        Err(errno) => return refuse(side, addr, room).and(Err(errno)),
    };
    bytes.push(0);
    Ok(bytes)
}

fn read_from(call: &Call, side: Side) -> u64 {
    let (addr, mut bytes) = (call.arg(2), vec![0; call.arg(1) as u32 as usize]);
    let result = fetch(side, addr, &mut bytes);
    if result.is_err() {
        bytes.fill(0);
    }
    call.write(0, &bytes);
    ret(result)
}

/// The length with the end.
fn read_str_from(call: &Call, side: Side) -> u64 {
    let (addr, size) = (call.arg(2), call.arg(1) as u32 as usize);
    if size == 0 {
        return 0;
    }
    match fetch_string(side, addr, size) {
        Ok(bytes) => {
            call.write(0, &bytes);
            bytes.len() as u64
        }
        Err(errno) => {
            call.zero(0, size);
            errno.as_ret()
        }
    }
}

/// `long bpf_probe_read(dst, size, src)`.
pub(super) fn read(call: &Call) -> u64 {
    read_from(call, Side::Either)
}

/// `long bpf_probe_read_str(dst, size, src)`.
pub(super) fn read_str(call: &Call) -> u64 {
    read_str_from(call, Side::Either)
}

/// `long bpf_probe_read_user(dst, size, src)`: programs have no user process here.
pub(super) fn read_user(call: &Call) -> u64 {
    read_from(call, Side::Process)
}

/// `long bpf_probe_read_user_str(dst, size, src)`.
pub(super) fn read_user_str(call: &Call) -> u64 {
    read_str_from(call, Side::Process)
}

/// `long bpf_probe_read_kernel(dst, size, src)`.
pub(super) fn read_kernel(call: &Call) -> u64 {
    read_from(call, Side::Kernel)
}

/// `long bpf_probe_read_kernel_str(dst, size, src)`.
pub(super) fn read_kernel_str(call: &Call) -> u64 {
    read_str_from(call, Side::Kernel)
}

/// `long bpf_copy_from_user(dst, size, user_ptr)`.
pub(super) fn copy_from_user(call: &Call) -> u64 {
    if call.arg(1) as u32 == 0 { 0 } else { read_user(call) }
}

/// `long bpf_copy_from_user_task(dst, size, user_ptr, tsk, flags)`.
pub(super) fn copy_from_user_task(call: &Call) -> u64 {
    if call.arg(4) == 0 { copy_from_user(call) } else { Errno::EINVAL.as_ret() }
}

/// `void *bpf_rdonly_cast(obj, btf_id)`: the same address; loads through it are checked.
pub(super) fn rdonly_cast(call: &Call) -> u64 {
    call.arg(0)
}
