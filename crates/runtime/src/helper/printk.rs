//! Helpers that write text: to the runtime's log, or to memory.

use super::format::{Text, format};
use crate::run::Call;
use crate::{Errno, current};
use skep_uapi::limits::MAX_BPRINTF_VARARGS;

/// `MAX_BPRINTF_BUF`: maximum length of a line.
const LINE_BYTES: usize = 1024;

/// Maximum size of the arguments.
const DATA_BYTES: usize = 8 * MAX_BPRINTF_VARARGS;

/// Writes a line; returns its length as counted by the kernel, without the terminator. The format
/// is zero-terminated.
fn log(fmt: &[u8], args: &[u64]) -> u64 {
    if fmt.last() != Some(&0) {
        return Errno::EINVAL.as_ret();
    }
    match format(fmt, args, LINE_BYTES) {
        Ok(text) => {
            write_line(&text);
            text.len as u64
        }
        Err(errno) => errno.as_ret(),
    }
}

fn write_line(text: &Text) {
    let line = String::from_utf8_lossy(&text.bytes);
    current::with(|current| current.shared.trace.write(line.trim_end_matches('\n').to_owned()));
}

/// `long bpf_trace_printk(fmt, fmt_size, arg1, arg2, arg3)`.
pub(super) fn trace_printk(call: &Call) -> u64 {
    let args = [call.arg(2), call.arg(3), call.arg(4)];
    log(&call.bytes(0, call.arg(1) as u32 as usize), &args)
}

/// The 64-bit arguments in `data`.
fn args(data: &[u8]) -> Vec<u64> {
    data.as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect()
}

/// `long bpf_trace_vprintk(fmt, fmt_size, data, data_len)`.
pub(super) fn trace_vprintk(call: &Call) -> u64 {
    let len = call.arg(3) as u32 as usize;
    if !len.is_multiple_of(8) || len > DATA_BYTES {
        return Errno::EINVAL.as_ret();
    }
    let data = args(&call.bytes(2, len));
    log(&call.bytes(0, call.arg(1) as u32 as usize), &data)
}

/// `int bpf_stream_vprintk_impl(stream_id, fmt, data, data_len, aux)`: the program's standard
/// output (1) and error (2) also go to the runtime's log.
pub(super) fn stream_vprintk(call: &Call) -> u64 {
    let len = call.arg(3) as u32 as usize;
    if !matches!(call.int(0), 1 | 2) {
        return Errno::ENOENT.as_int();
    }
    if !len.is_multiple_of(8) || len > DATA_BYTES {
        return Errno::EINVAL.as_int();
    }
    match format(call.constant_string(1), &args(&call.bytes(2, len)), LINE_BYTES) {
        Ok(text) => {
            write_line(&text);
            0
        }
        Err(errno) => errno.as_int(),
    }
}

/// `long bpf_snprintf(str, str_size, fmt, data, data_len)`: returns the length including the
/// terminator; truncates.
pub(super) fn snprintf(call: &Call) -> u64 {
    let (size, len) = (call.arg(1) as u32 as usize, call.arg(4) as u32 as usize);
    if len % 8 != 0 || len > DATA_BYTES {
        return Errno::EINVAL.as_ret();
    }
    // The format is a constant, terminated string in a read-only map.
    let fmt = call.constant_string(2);
    let data = args(&call.bytes(3, len));
    match format(fmt, &data, size) {
        Ok(text) => {
            if size > 0 {
                call.write(0, &text.bytes);
                call.write_at(0, text.bytes.len(), &[0]);
            }
            text.len as u64 + 1
        }
        Err(errno) => errno.as_ret(),
    }
}
