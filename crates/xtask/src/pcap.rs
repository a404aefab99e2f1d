//! `cargo xtask pcap FILE`: a reproducible capture of generated packets: TCP, UDP, ICMP, IPv6, ARP,
//! VLAN tags, fragments, options, and some that are shorter than their headers say.

use crate::outcome::{Ended, Outcome};
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use skep_testkit::rng::Rng;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File to write
    file: PathBuf,
    /// Packets
    #[arg(long, default_value_t = 100_000)]
    packets: u32,
    /// Seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let header = PcapHeader { datalink: DataLink::ETHERNET, ..PcapHeader::default() };
    let file = BufWriter::new(File::create(&args.file)?);
    let mut writer = PcapWriter::with_header(file, header)?;
    let mut random = Random(Rng::new(args.seed));
    for n in 0..args.packets {
        let bytes = packet(&mut random);
        // One per microsecond, from a fixed date on.
        let time = Duration::from_micros(1_700_000_000_000_000 + u64::from(n));
        writer.write_packet(&PcapPacket::new(time, bytes.len() as u32, &bytes))?;
    }
    writer.into_writer().flush()?;
    println!("{}: {} packets", args.file.display(), args.packets);
    Ok(Ended::Passed)
}

struct Random(Rng);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }
}

fn packet(random: &mut Random) -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, random.below(16) as u8, 2, 0, 0, 0, 1, 0];
    if random.below(10) == 0 {
        let tag = random.below(4096) as u16;
        packet.extend([0x81, 0, (tag >> 8) as u8, tag as u8]);
    }
    match random.below(20) {
        0 => {
            packet.extend([8, 6]);
            packet.extend(random.bytes(28));
        }
        1..=4 => ipv6(&mut packet, random),
        _ => ipv4(&mut packet, random),
    }
    if random.below(50) == 0 {
        packet.truncate(14 + random.below(30) as usize);
    } else {
        packet.resize(packet.len().max(60), 0);
    }
    packet
}

fn ipv4(packet: &mut Vec<u8>, random: &mut Random) {
    let protocol = [6, 6, 6, 17, 17, 1][random.below(6) as usize];
    let body = transport(protocol, random);
    let options = if random.below(20) == 0 { 4 * (1 + random.below(10) as usize) } else { 0 };
    let header_len = 20 + options;
    let fragment: u16 = if random.below(30) == 0 { 0x2000 | random.below(100) as u16 } else { 0 };
    let mut header = vec![0x40 | (header_len / 4) as u8, (random.below(64) << 2) as u8];
    header.extend(((header_len + body.len()) as u16).to_be_bytes());
    header.extend(random.bytes(2));
    header.extend(fragment.to_be_bytes());
    header.extend([1 + random.below(255) as u8, protocol, 0, 0]);
    header.extend([10, 0, random.below(4) as u8, random.below(256) as u8]);
    header.extend([192, 168, random.below(4) as u8, random.below(256) as u8]);
    // No-operations.
    header.resize(header_len, 1);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend([8, 0]);
    packet.extend(header);
    packet.extend(body);
}

fn ipv6(packet: &mut Vec<u8>, random: &mut Random) {
    let protocol = [6, 17, 58][random.below(3) as usize];
    let body = transport(protocol, random);
    packet.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
    packet.extend((body.len() as u16).to_be_bytes());
    packet.extend([protocol, 64]);
    for _ in 0..2 {
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        packet.push(random.below(256) as u8);
    }
    packet.extend(body);
}

fn transport(protocol: u8, random: &mut Random) -> Vec<u8> {
    let port = |random: &mut Random| {
        let known = [53u16, 80, 443, 22, 8080, 5000];
        known.get(random.below(8) as usize).copied().unwrap_or(1024 + random.below(60_000) as u16)
    };
    let payload_len = [0, 10, 100, 500, 1400][random.below(5) as usize];
    let mut body = Vec::new();
    match protocol {
        6 => {
            body.extend(port(random).to_be_bytes());
            body.extend(port(random).to_be_bytes());
            body.extend(random.bytes(8));
            body.extend([0x50, random.below(64) as u8, 0x20, 0, 0, 0, 0, 0]);
        }
        17 => {
            body.extend(port(random).to_be_bytes());
            body.extend(port(random).to_be_bytes());
            body.extend((8 + payload_len as u16).to_be_bytes());
            body.extend([0, 0]);
        }
        _ => body.extend([8, 0, 0, 0, 0, 1, 0, random.below(256) as u8]),
    }
    body.extend(random.bytes(payload_len));
    body
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.as_chunks::<2>().0.iter();
    let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let sum = (sum >> 16) + (sum & 0xffff);
    !((sum >> 16) + (sum & 0xffff)) as u16
}
