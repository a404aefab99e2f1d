//! `--pcap-out`: the packets that programs let through, in the order of the capture, whichever
//! thread ran them.
//!
//! # Invariants
//! 1. The lowest-numbered chunk in progress never waits, so there is always progress; at most one
//!    chunk per thread is buffered.

use super::outputs::cut_off;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A capture that is being written.
pub(super) struct CaptureOut {
    has_nanoseconds: bool,
    state: Mutex<State>,
    is_next: Condvar,
}

struct State {
    writer: BufWriter<File>,
    /// The file has been truncated and the header written.
    is_begun: bool,
    /// The chunk that is written next.
    next: u64,
    /// The first error; nothing is written after it.
    wrong: Option<io::Error>,
}

impl CaptureOut {
    /// A capture of Ethernet packets; the file is unchanged until the first packet is written.
    pub(super) fn new(file: File, has_nanoseconds: bool) -> CaptureOut {
        let state = State { writer: BufWriter::new(file), is_begun: false, next: 0, wrong: None };
        CaptureOut { has_nanoseconds, state: Mutex::new(state), is_next: Condvar::new() }
    }

    /// Appends a packet to the records of a chunk.
    pub(super) fn put(&self, records: &mut Vec<u8>, time: Duration, packet: &[u8]) {
        let part = if self.has_nanoseconds { time.subsec_nanos() } else { time.subsec_micros() };
        let seconds = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        let len = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        for field in [seconds, part, len, len] {
            records.extend(field.to_le_bytes());
        }
        records.extend(packet);
    }

    /// The turn of a chunk, which ends when this is dropped.
    pub(super) fn turn(&self, chunk: u64) -> Turn<'_> {
        Turn { out: self, chunk }
    }

    /// Flushes everything to the file.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.write(&[], self.has_nanoseconds);
        state.wrong.map_or(Ok(()), Err)
    }

    fn wait(&self, chunk: u64) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.next < chunk {
            state = self.is_next.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }
}

impl State {
    fn write(&mut self, records: &[u8], has_nanoseconds: bool) {
        if self.wrong.is_none() && !self.is_begun {
            self.is_begun = true;
            let begun = cut_off(self.writer.get_ref());
            self.wrong = begun.and_then(|()| self.writer.write_all(&header(has_nanoseconds))).err();
        }
        if self.wrong.is_none() {
            // A reader of a pipe sees packets as they come.
            let written = self.writer.write_all(records).and_then(|()| self.writer.flush());
            self.wrong = written.err();
        }
    }
}

fn header(has_nanoseconds: bool) -> Vec<u8> {
    let magic: u32 = if has_nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut header = magic.to_le_bytes().to_vec();
    header.extend([2, 0, 4, 0]);
    for field in [0u32, 0, 262_144, 1] {
        header.extend(field.to_le_bytes());
    }
    header
}

/// One chunk's turn. A thread that panics gives its turn up, too.
pub(super) struct Turn<'a> {
    out: &'a CaptureOut,
    chunk: u64,
}

impl Turn<'_> {
    /// Writes the records of the chunk after those of earlier chunks.
    pub(super) fn write(&self, records: &[u8]) {
        self.out.wait(self.chunk).write(records, self.out.has_nanoseconds);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.out.wait(self.chunk).next = self.chunk + 1;
        self.out.is_next.notify_all();
    }
}
