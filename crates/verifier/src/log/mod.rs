//! The verifier's log: the kernel's text, produced only on request.
//!
//! Kernel: `struct bpf_verifier_log` (6.18).

pub(crate) mod note;
pub(crate) mod position;
pub(crate) mod reg_text;
pub(crate) mod reg_view;
pub(crate) mod source_line;
pub(crate) mod state_line;

use skep_uapi::LogLevel;
use std::fmt;

pub(crate) const LEVEL1: u32 = LogLevel::LEVEL1.bits();
pub(crate) const LEVEL2: u32 = LogLevel::LEVEL2.bits();
pub(crate) const LEVEL_STATS: u32 = LogLevel::STATS.bits();

/// The log of one verification.
pub(crate) struct Log {
    pub(crate) level: u32,
    text: String,
    bytes_max: usize,
    /// Bytes dropped at the front, so that positions remain valid.
    dropped: usize,
    /// Most bytes held at a time.
    peak: usize,
}

impl Log {
    pub(crate) fn new(level: u32, bytes_max: usize) -> Log {
        Log { level, text: String::new(), bytes_max, dropped: 0, peak: 0 }
    }

    /// Whether insns and states are logged at all.
    pub(crate) fn traces(&self) -> bool {
        self.level & (LEVEL1 | LEVEL2) != 0
    }
    /// Whether every path is logged.
    pub(crate) fn traces_all(&self) -> bool {
        self.level & LEVEL2 != 0
    }

    /// Appends, if logging is enabled.
    pub(crate) fn write(&mut self, args: fmt::Arguments<'_>) {
        if self.level != 0 {
            let _ = fmt::Write::write_fmt(&mut self.text, args);
            self.peak = self.peak.max(self.text.len());
            if self.text.len() > self.bytes_max.saturating_mul(2) {
                self.rotate();
            }
        }
    }

    /// Bytes written so far.
    pub(crate) fn pos(&self) -> usize {
        self.dropped + self.text.len()
    }

    /// Most bytes held at a time.
    pub(crate) fn bytes_peak(&self) -> u64 {
        self.peak as u64
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// Removes everything written after `pos`.
    pub(crate) fn reset(&mut self, pos: usize) {
        self.text.truncate(pos.saturating_sub(self.dropped));
    }

    fn rotate(&mut self) {
        let mut cut = self.text.len() - self.bytes_max;
        while !self.text.is_char_boundary(cut) {
            cut += 1;
        }
        self.text.drain(..cut);
        self.dropped += cut;
    }

    /// The text, limited to the last `bytes_max` bytes.
    pub(crate) fn finish(mut self) -> String {
        if self.text.len() > self.bytes_max {
            self.rotate();
        }
        self.text
    }
}

/// Writes to the log of `$trace`.
macro_rules! verbose_to {
    ($trace:expr, $($arg:tt)*) => {
        if $trace.log.level != 0 { $trace.log.write(format_args!($($arg)*)) }
    };
}
pub(crate) use verbose_to;
