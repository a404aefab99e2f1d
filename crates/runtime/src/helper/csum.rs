//! Helpers for the Internet checksum (RFC 1071, RFC 1624).
//!
//! Kernel: `bpf_csum_diff`, `bpf_l3_csum_replace`, `bpf_l4_csum_replace` (6.18).

use super::packet::with_packet;
use crate::Errno;
use crate::run::{Call, ret};

/// `BPF_F_HDR_FIELD_MASK`: bytes of the changed field.
const FIELD_SIZE: u64 = 0xf;
/// `BPF_F_PSEUDO_HDR`.
const PSEUDO_HDR: u64 = 1 << 4;
/// `BPF_F_MARK_MANGLED_0`.
const MARK_MANGLED_0: u64 = 1 << 5;
/// `BPF_F_MARK_ENFORCE`.
const MARK_ENFORCE: u64 = 1 << 6;
/// `BPF_F_IPV6`.
const IPV6: u64 = 1 << 7;

/// One's complement addition.
fn add(a: u32, b: u32) -> u32 {
    let sum = u64::from(a) + u64::from(b);
    (sum as u32).wrapping_add((sum >> 32) as u32)
}

/// Folds a 32-bit sum to 16 bits.
fn fold(sum: u32) -> u16 {
    let sum = (sum >> 16) + (sum & 0xffff);
    ((sum >> 16) + (sum & 0xffff)) as u16
}

/// The sum of 16-bit words in memory order, computed from 32-bit words as in the kernel, so that
/// the upper half is the same; an odd last byte is padded to a word.
fn sum(bytes: &[u8], start: u32) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    let sum = words.iter().fold(start, |sum, word| add(sum, u32::from_ne_bytes(*word)));
    let (halves, rest) = rest.as_chunks::<2>();
    let sum = halves.iter().fold(sum, |sum, half| add(sum, u16::from_ne_bytes(*half).into()));
    rest.iter().fold(sum, |sum, byte| add(sum, u32::from(*byte)))
}

/// `s64 bpf_csum_diff(from, from_size, to, to_size, seed)`.
pub(super) fn csum_diff(call: &Call) -> u64 {
    let (from_size, to_size) = (call.arg(1) as u32, call.arg(3) as u32);
    let (from, to) = (call.bytes(0, from_size as usize), call.bytes(2, to_size as usize));
    let seed = call.arg(4) as u32;
    let total = match (from.is_empty(), to.is_empty()) {
        (false, false) => add(sum(&to, seed), !sum(&from, 0)),
        (true, false) => sum(&to, seed),
        (false, true) => !sum(&from, !seed),
        (true, true) => seed,
    };
    u64::from(fold(total))
}

/// `s64 bpf_csum_update(skb, csum)`: only for packets whose checksum the device provided.
pub(super) fn csum_update(_: &Call) -> u64 {
    Errno::ENOTSUPP.as_ret()
}

/// The new value of a checksum at `offset`, when a word or `diff` changes under it.
fn replace(offset: usize, change: impl FnOnce(u16) -> Result<u16, Errno>) -> Result<(), Errno> {
    with_packet(|packet| {
        let mut check = [0; 2];
        packet.read(offset, &mut check)?;
        packet.write(offset, &change(u16::from_ne_bytes(check))?.to_ne_bytes())
    })
}

/// The checksum `check` after `from` changes to `to`, words of `size` bytes; 0: `to` is a
/// difference. `start` is the sum before: of 32 bits, it is never 0 but all ones, so that the
/// checksum 0xffff becomes 0 if nothing changes.
fn changed(start: u32, from: u64, to: u64, size: u64) -> Result<u16, Errno> {
    Ok(!fold(match size {
        0 if from != 0 => return Err(Errno::EINVAL),
        0 => add(start, to as u32),
        2 => add(add(start, u32::from(!(from as u16))), u32::from(to as u16)),
        4 => add(add(start, !(from as u32)), to as u32),
        _ => return Err(Errno::EINVAL),
    }))
}

/// `long bpf_l3_csum_replace(skb, offset, from, to, size)`.
pub(super) fn l3_csum_replace(call: &Call) -> u64 {
    let (offset, flags) = (call.arg(1) as u32, call.arg(4));
    if flags & !FIELD_SIZE != 0 {
        return Errno::EINVAL.as_ret();
    }
    if offset > 0xffff || offset & 1 != 0 {
        return Errno::EFAULT.as_ret();
    }
    let (from, to, size) = (call.arg(2), call.arg(3), flags & FIELD_SIZE);
    ret(replace(offset as usize, |check| {
        let start = if size == 2 { u32::from(!check) } else { !u32::from(check) };
        changed(start, from, to, size)
    }))
}

/// `long bpf_l4_csum_replace(skb, offset, from, to, flags)`.
pub(super) fn l4_csum_replace(call: &Call) -> u64 {
    let (offset, flags) = (call.arg(1) as u32, call.arg(4));
    let known = FIELD_SIZE | PSEUDO_HDR | MARK_MANGLED_0 | MARK_ENFORCE | IPV6;
    if flags & !known != 0 {
        return Errno::EINVAL.as_ret();
    }
    if offset > 0xffff || offset & 1 != 0 {
        return Errno::EFAULT.as_ret();
    }
    let (from, to) = (call.arg(2), call.arg(3));
    let optional = flags & MARK_MANGLED_0 != 0;
    ret(replace(offset as usize, |check| {
        // A UDP checksum of 0 is none.
        if optional && flags & MARK_ENFORCE == 0 && check == 0 {
            return Ok(check);
        }
        let check = changed(!u32::from(check), from, to, flags & FIELD_SIZE)?;
        Ok(if optional && check == 0 { 0xffff } else { check })
    }))
}
