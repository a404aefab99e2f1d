//! Machine code for profilers: lines of perf's map file, and jitdump records that contain the code.
//!
//! This module writes no files; the caller does. To use a jitdump, run `perf record -k mono`, then
//! `perf inject --jit`.
//!
//! Source: `tools/perf/Documentation/jit-interface.txt` and `jitdump-specification.txt`.

use crate::machine_code::MachineCode;
use rustix::time::{ClockId, clock_gettime};
use skep_jit::Symbol;
use std::fmt::Write;

/// Lines of `/tmp/perf-PID.map` for a program: address, size, `bpf_prog_NAME`, as the kernel names
/// its own.
pub fn perf_map(code: &MachineCode, program: &str) -> String {
    let mut text = String::new();
    for symbol in code.symbols() {
        let address = code.address() + u64::from(symbol.off);
        let name = full_name(symbol, program);
        let _ = writeln!(text, "{address:x} {:x} {name}", symbol.len);
    }
    text
}

pub(crate) fn full_name(symbol: &Symbol, program: &str) -> String {
    match symbol.name.is_empty() || symbol.name == program {
        true => format!("bpf_prog_{program}"),
        false => format!("bpf_prog_{program}::{}", symbol.name),
    }
}

/// `JiTD`.
const MAGIC: u32 = 0x4a69_5444;
const VERSION: u32 = 1;
const HEADER_BYTES: u32 = 40;
/// `EM_X86_64`.
const MACHINE: u32 = 62;
const JIT_CODE_LOAD: u32 = 0;
/// Size of a code load record before the name.
const LOAD_BYTES: u32 = 56;

/// The time, process and thread of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// `CLOCK_MONOTONIC`, ns.
    pub time_ns: u64,
}

impl Moment {
    /// This thread, now.
    pub fn now() -> Moment {
        let now = clock_gettime(ClockId::Monotonic);
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let time_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        Moment { pid: std::process::id(), tid, time_ns }
    }
}

/// The first bytes of a jitdump file.
pub fn jitdump_header(moment: Moment) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [MAGIC, VERSION, HEADER_BYTES, MACHINE, 0, moment.pid] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(moment.time_ns.to_ne_bytes());
    bytes.extend(0u64.to_ne_bytes());
    bytes
}

/// The records of a program. `first_index` counts functions over the whole file.
pub fn jitdump_records(
    code: &MachineCode,
    program: &str,
    moment: Moment,
    first_index: u64,
) -> Vec<u8> {
    let all = code.bytes();
    let mut records = Vec::new();
    for (index, symbol) in (first_index..).zip(code.symbols()) {
        let name = full_name(symbol, program);
        let (start, end) = (symbol.off as usize, (symbol.off + symbol.len) as usize);
        let bytes = all.get(start..end).unwrap_or_default();
        let total = LOAD_BYTES + name.len() as u32 + 1 + bytes.len() as u32;
        let address = code.address() + u64::from(symbol.off);
        records.extend(JIT_CODE_LOAD.to_ne_bytes());
        records.extend(total.to_ne_bytes());
        records.extend(moment.time_ns.to_ne_bytes());
        records.extend(moment.pid.to_ne_bytes());
        records.extend(moment.tid.to_ne_bytes());
        for word in [address, address, bytes.len() as u64, index] {
            records.extend(word.to_ne_bytes());
        }
        records.extend(name.as_bytes());
        records.push(0);
        records.extend(bytes);
    }
    records
}
