//! Captures: pcap files of Ethernet packets, in and out.

use super::input::{Inputs, Item};
use super::outputs::cut_off;
use super::summary::passes;
use super::work::Done;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use skep::runtime::Instance;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Packets that are read; more would not be looked at one by one.
const PACKETS_MAX: usize = 50_000_000;

/// The type of the block that a pcapng file begins with, in either byte order.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

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
    let mut reader = PcapReader::new(BufReader::new(file))
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
