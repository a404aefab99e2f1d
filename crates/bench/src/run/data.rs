//! Input of programs: the same bytes for every engine.

use super::Kind;

/// Bytes of input and scratch.
pub(super) const DATA_BYTES: usize = 2048;
/// Bytes of input.
const INPUT_BYTES: usize = 1024;

/// Input and scratch of a compute program.
pub fn data_of(kind: &Kind) -> Vec<u8> {
    let mut bytes = vec![0; DATA_BYTES];
    let (input, _) = bytes.split_at_mut(INPUT_BYTES);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for byte in input.iter_mut() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 32) as u8;
    }
    packets(input);
    match kind.name {
        "memcmp" => bytes.copy_within(0..500, 512),
        "dfa" => text(&mut bytes, PROSE),
        "json" => text(&mut bytes, JSON),
        "csv" => text(&mut bytes, NUMBERS),
        "headers" => text(&mut bytes, FIELDS),
        "urldecode" => text(&mut bytes, QUERY),
        _ => {}
    }
    bytes
}

/// Headers every 128 bytes: IPv4 and IPv6, TCP and UDP, some after a VLAN tag.
fn packets(input: &mut [u8]) {
    for (i, packet) in input.chunks_mut(128).enumerate() {
        let mut at = 12;
        if i % 3 == 0 {
            packet[at..at + 2].copy_from_slice(&[0x81, 0x00]);
            at += 4;
        }
        let proto = if i % 2 == 0 { 6 } else { 17 };
        if i % 4 == 1 {
            packet[at..at + 2].copy_from_slice(&[0x86, 0xdd]);
            packet[at + 8] = proto;
        } else {
            packet[at..at + 3].copy_from_slice(&[0x08, 0x00, 0x45]);
            packet[at + 11] = proto;
        }
    }
}

const PROSE: &[u8] =
    b"the quick \"brown fox\" jumps over 13 lazy dogs, 7 times; x86 and \"9p\" 2026. ";
const JSON: &[u8] = b"{\"id\": 1402, \"name\": \"eth0 \\\"up\\\"\", \"addr\": [10, 0, 13, 7], \
\"stats\": {\"rx\": 99812, \"tx\": 771, \"err\": []}, \"mtu\": 1500, \"on\": true}, ";
const NUMBERS: &[u8] = b"17,4,1999,0,65535,12,7,300\n8,250,3,44100,1,0,96,5\n";
const FIELDS: &[u8] = b"Host: example.org\nUser-Agent: test/1.0 (a; b)\nAccept: text/html, */*\n\
Content-Length: 348\nX-Forwarded-For: 10.1.2.3\n";
const QUERY: &[u8] = b"name=J%C3%BCrgen+Tester&city=New+York&q=a%26b%3D1&page=17&sort=%2dprice&";

fn text(bytes: &mut [u8], text: &[u8]) {
    for (byte, from) in bytes.iter_mut().take(512).zip(text.iter().cycle()) {
        *byte = *from;
    }
}

/// The shortest Ethernet frame: UDP over IPv4 after a VLAN tag, from port 53 to 5,000.
pub fn udp_packet() -> [u8; 64] {
    const HEADERS: [u8; 46] = [
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0x00, 0x00, 0x07, 0x08, 0x00, //
        0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, //
        0, 53, 0x13, 0x88, 0, 26, 0, 0,
    ];
    let mut packet = [0; 64];
    for (byte, from) in packet.iter_mut().zip(HEADERS) {
        *byte = from;
    }
    packet
}
