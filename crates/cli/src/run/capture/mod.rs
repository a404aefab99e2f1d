//! Captures: pcap and pcapng files of Ethernet packets, in either byte order.
//!
//! Captures are read packet by packet, so that one may be larger than memory, or a pipe. An error
//! in a record applies to this record only: reading continues as long as lengths tell where the
//! next one starts.
//!
//! # Invariants
//! 1. A packet takes at most [`PACKET_BYTES_MAX`], whatever its record says.

mod pcap;
mod pcapng;
mod record;
mod source;

use crate::Error;
use record::{ETHERNET, Head, Record, wrong_link};
use source::{Got, Source};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Longest packet of a capture (`MAXIMUM_SNAPLEN` of libpcap); no program gets one that long.
const PACKET_BYTES_MAX: u64 = 262_144;

/// A capture that is being read.
pub(super) struct Capture {
    source: Source,
    format: Format,
    /// Its name in messages.
    name: String,
    /// Number of packets and records so far.
    count: u64,
    is_over: bool,
    warnings: Warnings,
}

enum Format {
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Pcapng),
}

/// Conditions that are reported but are not errors.
#[derive(Default)]
struct Warnings {
    /// Packets of which not everything was captured.
    cut: u64,
    /// Packets whose fraction exceeds a second; the first of them.
    late: u64,
    late_first: Option<String>,
}

/// Consecutive packets.
#[derive(Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    packets: Vec<Packet>,
    /// Packets that cannot be run, by number, and why.
    pub(super) bad: Vec<(u64, String)>,
}

struct Packet {
    /// Number in the capture, from 1.
    number: u64,
    time: Duration,
    end: usize,
}

impl Chunk {
    /// Number, time and bytes of each packet.
    pub(super) fn packets(&self) -> impl Iterator<Item = (u64, Duration, &[u8])> {
        let mut start = 0;
        self.packets.iter().map(move |packet| {
            let bytes = &self.bytes[start..packet.end];
            start = packet.end;
            (packet.number, packet.time, bytes)
        })
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.packets.clear();
        self.bad.clear();
    }

    fn is_full(&self) -> bool {
        const PACKETS: usize = 256;
        const BYTES: usize = 1 << 20;
        self.packets.len() >= PACKETS || self.bytes.len() >= BYTES || self.bad.len() >= PACKETS
    }
}

impl Capture {
    /// Opens a capture; `-` is standard input.
    ///
    /// # Errors
    ///
    /// One line: no such file, no capture, not of Ethernet packets.
    pub(super) fn open(path: &Path) -> Result<Capture, Error> {
        let (name, path) = match path.as_os_str() == "-" {
            true => ("standard input".to_owned(), Path::new("/dev/stdin")),
            false => (path.display().to_string(), path),
        };
        let doing = |what: &dyn std::fmt::Display| format!("{name}: {what}");
        let reading =
            |e: io::Error| doing(&format_args!("while reading the capture: {}", skep::io_text(&e)));
        let mut source = Source::new(File::open(path).map_err(reading)?);
        let start = source.peek().map_err(reading)?;
        let format = match start {
            [] => Err("not a capture: empty".into()),
            [0x0a, 0x0d, 0x0d, 0x0a, ..] => Ok(Format::Pcapng(pcapng::Pcapng::default())),
            [0x1f, 0x8b, ..] => {
                Err(format!("compressed; pipe `gunzip -c {name}` to `--pcap -`").into())
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                Err(format!("compressed; pipe `zstd -dc {name}` to `--pcap -`").into())
            }
            _ => pcap::Pcap::open(&mut source).map(Format::Pcap),
        };
        let format = format.map_err(|e| doing(&e))?;
        let warnings = Warnings::default();
        Ok(Capture { source, format, name, count: 0, is_over: false, warnings })
    }

    /// Whether its times are finer than microseconds, or may be.
    pub(super) fn has_nanoseconds(&self) -> bool {
        match &self.format {
            Format::Pcap(pcap) => pcap.has_nanoseconds(),
            Format::Pcapng(_) => true,
        }
    }

    /// Packets so far, including those that cannot be run, but not a broken record at the end.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Notes for the user.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let (name, odd) = (&self.name, &self.warnings);
        if let Some(first) = &odd.late_first {
            let more =
                if odd.late > 1 { format!(" ({} such packets)", odd.late) } else { "".into() };
            notes.push(format!("{name}: {first}{more}"));
        }
        if odd.cut > 0 {
            let count = odd.cut;
            let packets = if count == 1 { "packet was" } else { "packets were" };
            notes.push(format!(
                "{name}: {count} {packets} truncated when captured; programs see only what was \
                 captured"
            ));
        }
        notes
    }

    /// Puts the next packets into a chunk; `false` if there are none.
    pub(super) fn fill(&mut self, chunk: &mut Chunk) -> bool {
        chunk.clear();
        while !self.is_over && !chunk.is_full() {
            // Packets already read do not wait for later ones.
            if !chunk.packets.is_empty() && self.source.would_wait() {
                break;
            }
            let offset = self.source.offset();
            let record = match &mut self.format {
                Format::Pcap(pcap) => pcap.next(&mut self.source),
                Format::Pcapng(pcapng) => pcapng.next(&mut self.source),
            };
            let record = record.and_then(|record| match record {
                Record::Packet(head) => self.packet(&head, chunk),
                other => Ok(other),
            });
            let what = match record.unwrap_or_else(|e| Record::Broken(skep::io_text(&e))) {
                Record::Packet(head) => {
                    self.count += 1;
                    let number = self.count;
                    self.note(&head, number, offset);
                    chunk.packets.push(Packet { number, time: head.time, end: chunk.bytes.len() });
                    continue;
                }
                Record::Nothing => continue,
                Record::Bad(what) => what,
                Record::End => {
                    self.is_over = true;
                    break;
                }
                Record::Broken(what) => {
                    self.is_over = true;
                    what
                }
            };
            // An input that the user interrupted is not truncated.
            if super::interrupt::is_asked() {
                break;
            }
            let number = self.count + 1;
            // Whether a packet follows a broken record is not known.
            self.count += u64::from(!self.is_over);
            let what = format!("{}: packet {number}, at offset {offset}: {what}", self.name);
            chunk.bad.push((number, what));
        }
        !chunk.packets.is_empty() || !chunk.bad.is_empty()
    }

    /// Reads the bytes of a packet.
    fn packet(&mut self, head: &Head, chunk: &mut Chunk) -> io::Result<Record> {
        let bad = match head {
            Head { bytes, .. } if *bytes > PACKET_BYTES_MAX => {
                Some(format!("a record of {bytes} bytes; the maximum is {PACKET_BYTES_MAX}"))
            }
            Head { link, .. } if *link != ETHERNET => Some(wrong_link(*link)),
            _ => None,
        };
        let bytes = usize::try_from(head.bytes).unwrap_or(usize::MAX);
        let bad = bad.or_else(|| {
            let no_memory = chunk.bytes.try_reserve(bytes).is_err();
            no_memory.then(|| format!("out of memory for its {bytes} bytes"))
        });
        if let Some(what) = bad {
            return Ok(match self.source.skip(head.bytes + head.padding)? {
                Got::All => Record::Bad(what),
                Got::Only(there) => Record::Broken(format!("{what} ({})", cut_off(there, head))),
            });
        }
        let start = chunk.bytes.len();
        chunk.bytes.resize(start + bytes, 0);
        let got = self.source.read(&mut chunk.bytes[start..])?;
        if let Got::Only(there) = got {
            chunk.bytes.truncate(start);
            return Ok(Record::Broken(cut_off(there, head)));
        }
        // Removing padding is no truncation.
        self.source.skip(head.padding)?;
        let Head { bytes, padding, bytes_on_wire, time, is_late, link } = *head;
        Ok(Record::Packet(Head { bytes, padding, bytes_on_wire, time, is_late, link }))
    }

    fn note(&mut self, head: &Head, number: u64, offset: u64) {
        self.warnings.cut += u64::from(head.bytes < head.bytes_on_wire);
        if head.is_late {
            self.warnings.late += 1;
            self.warnings.late_first.get_or_insert_with(|| {
                let time = head.time.as_secs_f64();
                format!(
                    "packet {number}, at offset {offset}: its time has a second or more behind \
                     the second; taken as {time} s"
                )
            });
        }
    }
}

fn cut_off(there: u64, head: &Head) -> String {
    format!("cut off: {there} of {} bytes are there", head.bytes)
}
