//! pcap files: a header of 24 bytes, then records of 16 and what was captured.
//!
//! Like libpcap: the snapshot length in the header is ignored, a time may have 1,000,000
//! microseconds, and a packet may have more captured bytes than its original length.
//!
//! Source: pcap-savefile(5), draft-ietf-opsawg-pcap.

use super::record::{ETHERNET, Head, Record, u16_at, u32_at, wrong_link};
use super::source::{Got, Source};
use crate::Error;
use std::io;
use std::time::Duration;

const HEADER_BYTES: usize = 24;
const RECORD_BYTES: usize = 16;

/// The header.
pub(super) struct Pcap {
    is_big: bool,
    has_nanoseconds: bool,
    /// Bytes of a record in front of its packet.
    record_bytes: usize,
}

impl Pcap {
    /// Reads the header.
    ///
    /// # Errors
    ///
    /// The header is invalid.
    pub(super) fn open(source: &mut Source) -> Result<Pcap, Error> {
        let mut header = [0; HEADER_BYTES];
        let got = source.read(&mut header).map_err(|e| skep::io_text(&e))?;
        let (is_big, magic) = match u32_at(&header, 0, false) {
            little @ (0xa1b2_c3d4 | 0xa1b2_3c4d | 0xa1b2_cd34) => (false, little),
            _ => (true, u32_at(&header, 0, true)),
        };
        let (has_nanoseconds, record_bytes) = match magic {
            0xa1b2_c3d4 => (false, RECORD_BYTES),
            0xa1b2_3c4d => (true, RECORD_BYTES),
            // Kuznetzov's variant: with an interface, a protocol and a type in each record.
            0xa1b2_cd34 => (false, RECORD_BYTES + 8),
            other => {
                return Err(format!("not a pcap or pcapng file: starts with {other:#010x}").into());
            }
        };
        if let Got::Only(there) = got {
            return Err(
                format!("cut off: {there} of the {HEADER_BYTES} bytes of a pcap header").into()
            );
        }
        let version = (u16_at(&header, 4, is_big), u16_at(&header, 6, is_big));
        if version.0 != 2 || version.1 > 4 {
            return Err(format!(
                "pcap version {}.{} is not supported, only 2.4",
                version.0, version.1
            )
            .into());
        }
        // Higher bits are the length of the frame check sequence.
        let link = u32_at(&header, 20, is_big) & 0xffff;
        if link != ETHERNET {
            return Err(wrong_link(link).into());
        }
        Ok(Pcap { is_big, has_nanoseconds, record_bytes })
    }

    pub(super) fn has_nanoseconds(&self) -> bool {
        self.has_nanoseconds
    }

    pub(super) fn next(&self, source: &mut Source) -> io::Result<Record> {
        let mut record = [0; RECORD_BYTES + 8];
        let record = &mut record[..self.record_bytes];
        match source.read(record)? {
            Got::All => {}
            Got::Only(0) => return Ok(Record::End),
            Got::Only(there) => {
                let bytes = self.record_bytes;
                let what = format!("cut off: {there} of the {bytes} bytes in front of a packet");
                return Ok(Record::Broken(what));
            }
        }
        let field = |at| u32_at(record, at, self.is_big);
        let (unit, a_second) =
            if self.has_nanoseconds { (1, 1_000_000_000) } else { (1_000, 1_000_000) };
        let time =
            Duration::from_secs(field(0).into()) + Duration::from_nanos(u64::from(field(4)) * unit);
        Ok(Record::Packet(Head {
            bytes: field(8).into(),
            padding: 0,
            bytes_on_wire: field(12).into(),
            time,
            is_late: field(4) >= a_second,
            link: ETHERNET,
        }))
    }
}
