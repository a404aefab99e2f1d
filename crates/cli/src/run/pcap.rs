//! Captures: pcap files of Ethernet packets, in and out.

use super::input::{Inputs, Item};
use super::outputs::cut_off;
use super::summary::passes;
use super::work::Done;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use skep::runtime::Instance;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Cursor, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Packets that are read; more would not be looked at one by one.
const PACKETS_MAX: usize = 50_000_000;

/// The type of the block that a pcapng file begins with, in either byte order.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Bytes of a file's header, and where it says how long packets are at most.
const HEADER_BYTES: usize = 24;
const SNAPLEN: std::ops::Range<usize> = 16..20;
/// How long packets are at most, whatever the header says.
const SNAPLEN_LEAST: u32 = 262_144;

/// The file with room for longer packets than its header has: some writers say 0, or too little,
/// and libpcap reads their files.
fn tolerant(mut file: File) -> io::Result<impl Read> {
    let mut header = Vec::new();
    (&mut file).take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    if header.len() == HEADER_BYTES {
        let is_little = matches!(header[..4], [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1]);
        let field: [u8; 4] = header[SNAPLEN].try_into().unwrap_or_default();
        let says = if is_little { u32::from_le_bytes(field) } else { u32::from_be_bytes(field) };
        let least = says.max(SNAPLEN_LEAST);
        let field = if is_little { least.to_le_bytes() } else { least.to_be_bytes() };
        header[SNAPLEN].copy_from_slice(&field);
    }
    Ok(Cursor::new(header).chain(BufReader::new(file)))
}

/// Reads a capture, up to where it is broken.
///
/// # Errors
///
/// One line: no such file, no capture, not of Ethernet packets.
pub(super) fn read(path: &Path) -> Result<Inputs, String> {
    let doing = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let file = File::open(path).map_err(|e| doing(&e))?;
    let mut start = [0; 4];
    if file.read_at(&mut start, 0).is_ok() && start == PCAPNG {
        return Err(doing(&"a pcapng file; `editcap -F pcap` makes it a pcap file"));
    }
    let mut reader = PcapReader::new(tolerant(file).map_err(|e| doing(&e))?)
        .map_err(|e| doing(&format!("not a pcap file ({e})")))?;
    let link = reader.header().datalink;
    if link != DataLink::ETHERNET {
        return Err(doing(&format!("packets of link type {link:?}; only Ethernet is known")));
    }
    let mut inputs = Inputs { is_capture: true, ..Inputs::default() };
    while let Some(packet) = reader.next_packet() {
        match packet {
            Ok(packet) if inputs.items.len() < PACKETS_MAX => {
                let (bytes, time) = (packet.data.into_owned(), packet.timestamp);
                inputs.items.push(Item { bytes, time });
            }
            Ok(_) => {
                inputs.broken = Some(doing(&format!("more than {PACKETS_MAX} packets")));
                break;
            }
            Err(e) => {
                let good = inputs.items.len();
                let why = format!("truncated or broken after {good} packets ({e})");
                inputs.broken = Some(doing(&why));
                break;
            }
        }
    }
    Ok(inputs)
}

/// Writes the packets that the program lets through, as it left them, with their times.
///
/// # Errors
///
/// Why the file could not be written.
pub(super) fn write(
    file: File,
    instance: &Instance,
    (inputs, done): (&Inputs, &Done),
) -> Result<(), String> {
    let doing = |what: &dyn std::fmt::Display| what.to_string();
    cut_off(&file).map_err(|e| doing(&e))?;
    let header = PcapHeader { datalink: DataLink::ETHERNET, ..PcapHeader::default() };
    let mut writer =
        PcapWriter::with_header(BufWriter::new(file), header).map_err(|e| doing(&e))?;
    for (item, run) in inputs.items.iter().zip(&done.runs) {
        let Some(run) = run else { continue };
        let Some(kept) = passes(instance.prog_type(), run.retval, &run.packet) else { continue };
        let packet = PcapPacket::new(item.time, kept.len() as u32, kept);
        writer.write_packet(&packet).map_err(|e| doing(&e))?;
    }
    writer.into_writer().flush().map_err(|e| doing(&e))
}
