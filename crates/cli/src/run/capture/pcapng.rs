//! pcapng files: blocks, each with its length at both ends; packets name an interface, which has a
//! link type and a unit of time.
//!
//! Section headers, interfaces, and the three kinds of packets are read; other blocks are skipped.
//!
//! Source: draft-ietf-opsawg-pcapng.

use super::record::{Head, Record, u16_at, u32_at};
use super::source::{Got, Source};
use std::io;
use std::time::Duration;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET_OBSOLETE: u32 = 2;
const PACKET_SIMPLE: u32 = 3;
const PACKET: u32 = 6;

/// Type, length, and the length again at the end.
const FRAME_BYTES: u64 = 12;
/// Maximum number of bytes read of a block's body: enough for an interface with all relevant
/// options.
const BODY_BYTES_MAX: u64 = 4_096;
/// Maximum number of interfaces in a section.
const INTERFACES_MAX: usize = 1 << 16;

/// State of the current section.
#[derive(Default)]
pub(super) struct Pcapng {
    is_big: bool,
    interfaces: Vec<Interface>,
}

struct Interface {
    link: u32,
    snaplen: u32,
    /// Units of time per second.
    units: u64,
    /// Seconds added to each time.
    offset_s: i64,
}

impl Pcapng {
    pub(super) fn next(&mut self, source: &mut Source) -> io::Result<Record> {
        let mut start = [0; 12];
        match source.read(&mut start[..8])? {
            Got::All => {}
            Got::Only(0) => return Ok(Record::End),
            Got::Only(there) => {
                return Ok(Record::Broken(format!("cut off: {there} bytes of a block")));
            }
        }
        // A section states its byte order after its length; its type is the same in both.
        let mut taken = 8;
        if u32_at(&start, 0, false) == SECTION {
            if source.read(&mut start[8..])? != Got::All {
                return Ok(Record::Broken("cut off in the header of a section".to_owned()));
            }
            taken = 12;
            self.is_big = match u32_at(&start, 8, false) {
                0x1a2b_3c4d => false,
                0x4d3c_2b1a => true,
                other => {
                    let what = format!("a section without a byte order ({other:#010x})");
                    return Ok(Record::Broken(what));
                }
            };
            self.interfaces.clear();
        }
        let (kind, length) = (u32_at(&start, 0, self.is_big), u32_at(&start, 4, self.is_big));
        // Some writers do not count the padding.
        let length = u64::from(length).next_multiple_of(4);
        let Some(body) = length.checked_sub(FRAME_BYTES.max(taken + 4)) else {
            return Ok(Record::Broken(format!("a block of {length} bytes")));
        };
        match kind {
            INTERFACE => self.interface(source, body),
            PACKET | PACKET_OBSOLETE | PACKET_SIMPLE => self.packet(source, kind, body),
            _ => over(source.skip(body + 4)?, Record::Nothing),
        }
    }

    fn interface(&mut self, source: &mut Source, body: u64) -> io::Result<Record> {
        if self.interfaces.len() >= INTERFACES_MAX {
            return Ok(Record::Broken(format!("more than {INTERFACES_MAX} interfaces")));
        }
        let mut bytes = vec![0; usize::try_from(body.min(BODY_BYTES_MAX)).unwrap_or_default()];
        if source.read(&mut bytes)? != Got::All {
            return Ok(Record::Broken("cut off in an interface".to_owned()));
        }
        let mut interface = Interface {
            link: u16_at(&bytes, 0, self.is_big).into(),
            snaplen: u32_at(&bytes, 4, self.is_big),
            units: 1_000_000,
            offset_s: 0,
        };
        let mut options = bytes.get(8..).unwrap_or_default();
        while options.len() >= 4 {
            let (code, len) = (u16_at(options, 0, self.is_big), u16_at(options, 2, self.is_big));
            let Some(value) = options.get(4..4 + usize::from(len)) else { break };
            match (code, value) {
                (0, _) => break,
                (9, [resolution]) => interface.units = units(*resolution),
                (14, [_, _, _, _, _, _, _, _]) => {
                    let halves = [u32_at(value, 0, self.is_big), u32_at(value, 4, self.is_big)];
                    let [high, low] = if self.is_big { halves } else { [halves[1], halves[0]] };
                    interface.offset_s = (u64::from(high) << 32 | u64::from(low)).cast_signed();
                }
                _ => {}
            }
            options = options.get(4 + usize::from(len).next_multiple_of(4)..).unwrap_or_default();
        }
        self.interfaces.push(interface);
        over(source.skip(body - bytes.len() as u64 + 4)?, Record::Nothing)
    }

    fn packet(&self, source: &mut Source, kind: u32, body: u64) -> io::Result<Record> {
        let fixed = if kind == PACKET_SIMPLE { 4 } else { 20 };
        let Some(room) = body.checked_sub(fixed) else {
            let what = format!("a packet's block with {body} bytes in it");
            return over(source.skip(body + 4)?, Record::Bad(what));
        };
        let mut bytes = [0; 20];
        let bytes = &mut bytes[..fixed as usize];
        if source.read(bytes)? != Got::All {
            return Ok(Record::Broken("cut off in front of a packet".to_owned()));
        }
        let field = |at| u32_at(bytes, at, self.is_big);
        let number = match kind {
            PACKET_SIMPLE => 0,
            PACKET_OBSOLETE => u16_at(bytes, 0, self.is_big).into(),
            _ => field(0),
        };
        let Some(interface) = self.interfaces.get(number as usize) else {
            let what = format!("interface {number}, which the capture does not declare");
            return over(source.skip(room + 4)?, Record::Bad(what));
        };
        let (captured, bytes_on_wire, time) = match kind {
            PACKET_SIMPLE => {
                let len = u64::from(field(0));
                let most = if interface.snaplen == 0 { u64::MAX } else { interface.snaplen.into() };
                (len.min(most).min(room), len, Duration::ZERO)
            }
            _ => {
                let stamp = u64::from(field(4)) << 32 | u64::from(field(8));
                (field(12).into(), field(16).into(), interface.time(stamp))
            }
        };
        if captured > room {
            let what = format!("a packet of {captured} bytes in a block with room for {room}");
            return over(source.skip(room + 4)?, Record::Bad(what));
        }
        Ok(Record::Packet(Head {
            bytes: captured,
            padding: room - captured + 4,
            bytes_on_wire,
            time,
            is_late: false,
            link: interface.link,
        }))
    }
}

impl Interface {
    fn time(&self, stamp: u64) -> Duration {
        let (seconds, part) = (stamp / self.units, stamp % self.units);
        let nanoseconds = u128::from(part) * 1_000_000_000 / u128::from(self.units);
        let seconds = seconds.saturating_add_signed(self.offset_s);
        // A fraction is less than 10^9 ns.
        Duration::new(seconds, u32::try_from(nanoseconds).unwrap_or_default())
    }
}

/// `if_tsresol`: a power of 10, or of 2 with the highest bit. Invalid values mean microseconds.
fn units(resolution: u8) -> u64 {
    let power = u32::from(resolution & 0x7f);
    let units =
        if resolution & 0x80 == 0 { 10u64.checked_pow(power) } else { 1u64.checked_shl(power) };
    units.unwrap_or(1_000_000)
}

/// The record, if it is complete.
fn over(got: Got, record: Record) -> io::Result<Record> {
    Ok(match got {
        Got::All => record,
        Got::Only(_) => Record::Broken("cut off in a block".to_owned()),
    })
}
