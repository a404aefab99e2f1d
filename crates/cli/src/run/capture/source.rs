//! Bytes of a capture, from a file or a pipe: never more in memory than requested.

use super::super::interrupt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsRawFd;

/// Bytes per read.
const BUFFER_BYTES: usize = 256 << 10;

/// Interval for checking for Ctrl-C while waiting for a pipe.
const WAIT_MS: i32 = 50;

/// Where a capture is read from.
pub(super) struct Source {
    file: BufReader<Interruptible>,
    /// Offset of the next byte in the capture.
    offset: u64,
}

/// How many of the requested bytes are available.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Got {
    All,
    /// Only this many, then the capture ends.
    Only(u64),
}

impl Source {
    pub(super) fn new(file: File) -> Source {
        Source { file: BufReader::with_capacity(BUFFER_BYTES, Interruptible(file)), offset: 0 }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next bytes, without taking them; fewer at the end.
    pub(super) fn peek(&mut self) -> io::Result<&[u8]> {
        self.file.fill_buf()
    }

    /// Whether there is nothing to read now, but may be later.
    pub(super) fn would_wait(&self) -> bool {
        let fd = self.file.get_ref().0.as_raw_fd();
        self.file.buffer().is_empty() && !interrupt::is_readable(fd, 0)
    }

    /// Fills `bytes`.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> io::Result<Got> {
        let mut done = 0;
        while done < bytes.len() {
            match self.file.read(&mut bytes[done..])? {
                0 => return Ok(Got::Only(done as u64)),
                count => {
                    done += count;
                    self.offset += count as u64;
                }
            }
        }
        Ok(Got::All)
    }

    /// Skips `count` bytes.
    pub(super) fn skip(&mut self, count: u64) -> io::Result<Got> {
        let mut left = count;
        while left > 0 {
            let here = self.file.fill_buf()?.len();
            if here == 0 {
                return Ok(Got::Only(count - left));
            }
            let step = usize::try_from(left).unwrap_or(here).min(here);
            self.file.consume(step);
            self.offset += step as u64;
            left -= step as u64;
        }
        Ok(Got::All)
    }
}

/// A file that ends when the user interrupts the runs, even if it is a pipe without a writer.
struct Interruptible(File);

impl Read for Interruptible {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            if interrupt::is_asked() {
                return Ok(0);
            }
            if interrupt::is_readable(self.0.as_raw_fd(), WAIT_MS) {
                return self.0.read(bytes);
            }
        }
    }
}
