//! Dynptrs: pointers with a length that is known at run time only, 16 bytes on the program's stack.
//!
//! The layout is skep's own; a program cannot look inside. A dynptr that points nowhere is all 0.
//!
//! ```text
//!   0 u64 address    8 u32 size, and the bits READ_ONLY and RINGBUF    12 u32 offset
//! ```
//!
//! Kernel: `bpf_dynptr_from_mem` and siblings (6.18). Those of packets are kfuncs, which are not
//! modelled.

use super::call::Call;
use crate::Errno;

/// Largest memory behind a dynptr.
const SIZE_MAX: u64 = (1 << 24) - 1;
/// The program may not write.
const READ_ONLY: u32 = 1 << 31;
const SIZE_MASK: u32 = (1 << 24) - 1;

#[derive(Clone, Copy)]
struct Dynptr {
    addr: u64,
    size: u32,
    offset: u32,
    read_only: bool,
}

impl Dynptr {
    fn read(call: &Call, n: usize) -> Option<Dynptr> {
        let (words, _) = call.bytes(n, 16).as_chunks::<8>();
        let (addr, rest) = (u64::from_ne_bytes(words[0]), u64::from_ne_bytes(words[1]));
        let (bits, offset) = (rest as u32, (rest >> 32) as u32);
        let read_only = bits & READ_ONLY != 0;
        (addr != 0).then_some(Dynptr { addr, size: bits & SIZE_MASK, offset, read_only })
    }

    fn write(self, call: &Call, n: usize) {
        let bits = self.size | if self.read_only { READ_ONLY } else { 0 };
        let rest = u64::from(bits) | u64::from(self.offset) << 32;
        call.write(n, &[self.addr.to_ne_bytes(), rest.to_ne_bytes()].concat());
    }

    /// Address of `len` bytes from `offset` on.
    fn at(self, offset: u64, len: u64) -> Result<u64, Errno> {
        let (offset, len) = (offset as u32, len as u32);
        match offset.checked_add(len) {
            Some(end) if end <= self.size => {
                Ok(self.addr + u64::from(self.offset) + u64::from(offset))
            }
            _ => Err(Errno::E2BIG),
        }
    }
}

fn nowhere(call: &Call, n: usize) {
    call.zero(n, 16);
}

/// `long bpf_dynptr_from_mem(data, size, flags, ptr)`.
pub(super) fn from_mem(call: &Call) -> u64 {
    let size = u64::from(call.arg(1) as u32);
    let errno = match (size, call.arg(2)) {
        (size, _) if size > SIZE_MAX => Errno::E2BIG,
        (_, 1..) => Errno::EINVAL,
        _ => {
            let (addr, size) = (call.arg(0), size as u32);
            Dynptr { addr, size, offset: 0, read_only: false }.write(call, 3);
            return 0;
        }
    };
    nowhere(call, 3);
    errno.as_ret()
}

/// `long bpf_dynptr_read(dst, len, src, offset, flags)`.
pub(super) fn read(call: &Call) -> u64 {
    let Some(src) = Dynptr::read(call, 2).filter(|_| call.arg(4) == 0) else {
        return Errno::EINVAL.as_ret();
    };
    match src.at(call.arg(3), call.arg(1)) {
        Ok(addr) => {
            let bytes = call.bytes_behind(addr, call.arg(1) as u32 as usize).to_vec();
            call.write(0, &bytes);
            0
        }
        Err(errno) => errno.as_ret(),
    }
}

/// `long bpf_dynptr_write(dst, offset, src, len, flags)`.
pub(super) fn write(call: &Call) -> u64 {
    let dst = Dynptr::read(call, 0).filter(|dst| !dst.read_only && call.arg(4) == 0);
    let Some(dst) = dst else { return Errno::EINVAL.as_ret() };
    match dst.at(call.arg(1), call.arg(3)) {
        Ok(addr) => {
            call.write_behind(addr, call.bytes(2, call.arg(3) as u32 as usize));
            0
        }
        Err(errno) => errno.as_ret(),
    }
}

/// `void *bpf_dynptr_data(ptr, offset, len)`.
pub(super) fn data(call: &Call) -> u64 {
    let ptr = Dynptr::read(call, 0).filter(|ptr| !ptr.read_only);
    ptr.and_then(|ptr| ptr.at(call.arg(1), call.arg(2)).ok()).unwrap_or(0)
}

/// `long bpf_ringbuf_reserve_dynptr(ringbuf, size, flags, ptr)`.
pub(super) fn ringbuf_reserve(call: &Call) -> u64 {
    let size = u64::from(call.arg(1) as u32);
    let errno = match (size, call.arg(2)) {
        (_, 1..) => Errno::EINVAL,
        (size, _) if size > SIZE_MAX => Errno::E2BIG,
        _ => match call.map(0).kind().as_ringbuf().map_or(0, |ringbuf| ringbuf.reserve(size)) {
            0 => Errno::EINVAL,
            addr => {
                let size = size as u32;
                Dynptr { addr, size, offset: 0, read_only: false }.write(call, 3);
                return 0;
            }
        },
    };
    nowhere(call, 3);
    errno.as_ret()
}

fn ringbuf_commit(call: &Call, discard: bool) -> u64 {
    if let Some(ptr) = Dynptr::read(call, 0) {
        crate::map::ringbuf::commit_record(call.header_of(ptr.addr), discard);
    }
    nowhere(call, 0);
    0
}

/// `void bpf_ringbuf_submit_dynptr(ptr, flags)`.
pub(super) fn ringbuf_submit(call: &Call) -> u64 {
    ringbuf_commit(call, false)
}

/// `void bpf_ringbuf_discard_dynptr(ptr, flags)`.
pub(super) fn ringbuf_discard(call: &Call) -> u64 {
    ringbuf_commit(call, true)
}
