//! SYN cookies, which represent connections until they are established: sequence numbers that only
//! their creator can have generated (D. J. Bernstein, "SYN cookies", 1996).
//!
//! ```text
//!   cookie = H0(connection) + seq + (minute << 24) + (H1(connection, minute) + class) % 2^24
//! ```
//!
//! The class encodes the requested segment size. The secret of the hashes is specific to this
//! process.
//!
//! Kernel: `bpf_tcp_raw_gen_syncookie_ipv4` and siblings (6.18), by behaviour: segment sizes,
//! options and accepted cookies were observed in its test runs.

use crate::Errno;
use crate::run::Call;
use rustix::time::{ClockId, clock_gettime};
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Minutes for which a cookie is valid.
const MINUTES: u32 = 2;
const CLASS_MASK: u32 = 0xff_ffff;
/// Segment sizes of the classes.
const SIZES_V4: [u32; 4] = [536, 1300, 1440, 1460];
const SIZES_V6: [u32; 4] = [1220, 1420, 1440, 8940];
const TCP_HEADER: usize = 20;

/// What a cookie belongs to: addresses and ports, as in the packet.
struct Connection<'a> {
    addresses: &'a [u8],
    ports: &'a [u8],
}

impl Connection<'_> {
    fn hash(&self, minute: u32, nth: u32) -> u32 {
        static SECRET: OnceLock<RandomState> = OnceLock::new();
        let secret = SECRET.get_or_init(RandomState::new);
        secret.hash_one((self.addresses, self.ports, minute, nth)) as u32
    }

    fn cookie(&self, seq: u32, class: u32) -> u32 {
        let minute = minute();
        let class = self.hash(minute, 1).wrapping_add(class) & CLASS_MASK;
        self.hash(0, 0).wrapping_add(seq).wrapping_add(minute << 24).wrapping_add(class)
    }

    /// The class of a cookie.
    fn class(&self, cookie: u32, seq: u32) -> Option<u32> {
        let rest = cookie.wrapping_sub(self.hash(0, 0)).wrapping_sub(seq);
        let minute = minute();
        let age = minute.wrapping_sub(rest >> 24) & 0xff;
        let made = self.hash(minute.wrapping_sub(age), 1);
        (age < MINUTES).then(|| rest.wrapping_sub(made) & CLASS_MASK)
    }
}

fn minute() -> u32 {
    (clock_gettime(ClockId::Monotonic).tv_sec / 60) as u32
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

/// The segment size requested by the options of a TCP header; the last one counts.
fn segment_size(mut options: &[u8]) -> Option<u32> {
    let mut size = None;
    loop {
        match *options {
            [1, ..] => options = &options[1..],
            [0, ..] | [_] | [] => return size,
            [kind, len, ..] => {
                if len < 2 || usize::from(len) > options.len() {
                    return size;
                }
                if let (2, 4) = (kind, len) {
                    size = Some(u32::from(options[2]) << 8 | u32::from(options[3]));
                }
                options = &options[usize::from(len)..];
            }
        }
    }
}

/// The cookie, and in the upper half the segment size that it represents.
fn generate(call: &Call, addresses: std::ops::Range<usize>, sizes: &[u32; 4]) -> u64 {
    let len = call.arg(2) as u32 as usize;
    let tcp = call.bytes(1, len);
    let header = tcp.get(12).map_or(0, |byte| usize::from(byte >> 4) * 4);
    if len < TCP_HEADER || header != len {
        return Errno::EINVAL.as_ret();
    }
    let wanted = segment_size(&tcp[TCP_HEADER..]).unwrap_or(0);
    let class = sizes.iter().rposition(|size| *size <= wanted).unwrap_or(0);
    let all = call.bytes(0, addresses.end);
    let connection = Connection { addresses: &all[addresses], ports: &tcp[..4] };
    let cookie = connection.cookie(word(&tcp, 4), class as u32);
    u64::from(sizes[class]) << 32 | u64::from(cookie)
}

/// Whether the acknowledged number is a cookie.
fn check(call: &Call, addresses: std::ops::Range<usize>) -> u64 {
    let tcp = call.bytes(1, TCP_HEADER);
    let all = call.bytes(0, addresses.end);
    let connection = Connection { addresses: &all[addresses], ports: &tcp[..4] };
    let (seq, cookie) = (word(&tcp, 4).wrapping_sub(1), word(&tcp, 8).wrapping_sub(1));
    match connection.class(cookie, seq) {
        Some(class) if (class as usize) < SIZES_V4.len() => 0,
        _ => Errno::EACCES.as_ret(),
    }
}

/// `s64 bpf_tcp_raw_gen_syncookie_ipv4(iph, th, th_len)`.
pub(super) fn gen_v4(call: &Call) -> u64 {
    generate(call, 12..20, &SIZES_V4)
}

/// `s64 bpf_tcp_raw_gen_syncookie_ipv6(iph, th, th_len)`.
pub(super) fn gen_v6(call: &Call) -> u64 {
    generate(call, 8..40, &SIZES_V6)
}

/// `long bpf_tcp_raw_check_syncookie_ipv4(iph, th)`.
pub(super) fn check_v4(call: &Call) -> u64 {
    check(call, 12..20)
}

/// `long bpf_tcp_raw_check_syncookie_ipv6(iph, th)`.
pub(super) fn check_v6(call: &Call) -> u64 {
    check(call, 8..40)
}
