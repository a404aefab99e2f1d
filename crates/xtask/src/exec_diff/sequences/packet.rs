//! Random packets: headers of several protocols, cut off anywhere, with a payload.

use skep_testkit::rng::Rng;

/// An Ethernet header without its type.
const ETHERNET: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
/// The longest packet that fits a page in every program type.
const LEN_MAX: usize = 1500;
/// An Ethernet header.
const ETH_HLEN: usize = 14;

/// The shortest packet that the kernel's test run takes: with the whole network header, and not
/// empty without the link layer's.
fn len_min(bytes: &[u8]) -> usize {
    match bytes.get(12..14) {
        Some([8, 0]) => ETH_HLEN + 20,
        Some([0x86, 0xdd]) => ETH_HLEN + 40,
        _ => ETH_HLEN + 1,
    }
}

/// A packet of 15 to 1500 bytes.
pub(super) fn packet(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = ETHERNET.to_vec();
    match rng.below(8) {
        0 => bytes[..6].fill(0xff),
        1 => bytes[..6].fill(0),
        _ => {}
    }
    for _ in 0..rng.pick(&[0, 0, 0, 1, 1, 2]) {
        let tag = rng.pick(&[[0x81, 0], [0x88, 0xa8]]);
        bytes.extend(tag);
        bytes.extend((rng.word() as u16).to_be_bytes());
    }
    match rng.below(10) {
        0..4 => ipv4(rng, &mut bytes),
        4..7 => ipv6(rng, &mut bytes),
        7 => bytes.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]),
        // IEEE 802.3, with either kind of header, and an unknown type.
        8 => bytes.extend(rng.pick(&[[0, 46, 0xff, 0xff], [0, 46, 0xaa, 0xaa]])),
        _ => bytes.extend((rng.word() as u16).to_be_bytes()),
    }
    let least = len_min(&bytes);
    let len = match rng.below(10) {
        0 => ETH_HLEN + rng.below(bytes.len() as u64 - 12) as usize,
        1 => bytes.len(),
        2 => LEN_MAX - rng.below(3) as usize,
        3 => ETH_HLEN + rng.below((LEN_MAX - ETH_HLEN) as u64) as usize,
        _ => bytes.len() + rng.below(64) as usize,
    };
    let mut run = 0x100;
    bytes.resize_with(len.max(least), || {
        // With stretches of zeros and ones.
        run = if rng.chance(10) { rng.pick(&[0, 0xff, 0x100, 0x100]) } else { run };
        if run == 0x100 { rng.word() as u8 } else { run as u8 }
    });
    bytes
}

fn ipv4(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let options = rng.pick(&[0, 0, 0, 1, 10]);
    let proto = rng.pick(&[6, 17, 1, 4, 41, 47]);
    let tos = rng.word() as u8;
    bytes.extend([8, 0, 0x45 + options, tos, 0, 50, 0, 0, 0x40, 0, 64, proto]);
    bytes.extend((rng.word() as u16).to_be_bytes());
    bytes.extend([192, 168, 0, 1, 192, 168, 0, 199]);
    bytes.extend(vec![1; 4 * usize::from(options)]);
    transport(rng, proto, bytes);
}

fn ipv6(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let proto = rng.pick(&[6, 17, 58, 0, 44, 41, 59]);
    bytes.extend([0x86, 0xdd, 0x60 | rng.below(16) as u8, rng.word() as u8, 0, 0, 0, 30]);
    bytes.extend([proto, 64]);
    bytes.extend([0xfd; 16]);
    bytes.extend([0xfe; 16]);
    transport(rng, proto, bytes);
}

fn transport(rng: &mut Rng, proto: u8, bytes: &mut Vec<u8>) {
    bytes.extend([0x1f, 0x90, 0, 0x35]);
    match proto {
        6 => {
            bytes.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 2, 0]);
            bytes.extend((rng.word() as u16).to_be_bytes());
            bytes.extend([0, 0]);
        }
        // A UDP checksum of 0 is none.
        _ => bytes.extend([0, 30, 0, rng.pick(&[0, 0, 0x12])]),
    }
}
