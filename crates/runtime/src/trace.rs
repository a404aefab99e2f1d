//! `TraceLog`: what `bpf_trace_printk` writes.

use std::sync::{Mutex, PoisonError};

/// Bytes that are buffered until someone takes them.
const BYTES_MAX: usize = 16 << 20;

/// Lines of a runtime's programs, in the order in which they were written.
#[derive(Debug, Default)]
pub(crate) struct TraceLog {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: Vec<String>,
    bytes: usize,
    lost: u64,
}

impl TraceLog {
    pub(crate) fn write(&self, line: String) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + line.len() > BYTES_MAX {
            kept.lost += 1;
            return;
        }
        kept.bytes += line.len();
        kept.lines.push(line);
    }

    /// Takes the lines, and the number of lines that were dropped.
    pub(crate) fn take(&self) -> (Vec<String>, u64) {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        (kept.lines, kept.lost)
    }
}
