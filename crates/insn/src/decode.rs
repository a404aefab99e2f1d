//! Conversion of insns from and to the bytes of a file or of `struct bpf_insn`, in either byte
//! order.
//!
//! Why it exists: the byte order of an object changes `off` and `imm`, and also which nibble of the
//! register byte is `dst`; only this file knows it.
//!
//! Source: RFC 9669 section 3 (basic instruction encoding).
//!
//! # Invariants
//! 1. Every 8 bytes decode to one `Insn`, valid or not, and encode back to the same 8 bytes.

use crate::{Error, Insn};

/// Byte order of an object or of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Least significant byte first (`bpfel`).
    Little,
    /// Most significant byte first (`bpfeb`).
    Big,
}

impl Endian {
    /// Byte order of this machine.
    pub const HOST: Endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };
}

/// Size of one insn slot.
pub const INSN_BYTES: usize = 8;

impl Insn {
    /// Decodes one slot.
    pub fn from_bytes(bytes: [u8; INSN_BYTES], endian: Endian) -> Insn {
        let [code, regs, off0, off1, imm @ ..] = bytes;
        let (low, high) = (regs & 0x0f, regs >> 4);
        match endian {
            Endian::Little => Insn {
                code,
                dst: low,
                src: high,
                off: i16::from_le_bytes([off0, off1]),
                imm: i32::from_le_bytes(imm),
            },
            Endian::Big => Insn {
                code,
                dst: high,
                src: low,
                off: i16::from_be_bytes([off0, off1]),
                imm: i32::from_be_bytes(imm),
            },
        }
    }

    /// Encodes one slot. Only the low four bits of `dst` and `src` are kept.
    pub fn to_bytes(self, endian: Endian) -> [u8; INSN_BYTES] {
        let (dst, src) = (self.dst & 0x0f, self.src & 0x0f);
        let (regs, off, imm) = match endian {
            Endian::Little => (src << 4 | dst, self.off.to_le_bytes(), self.imm.to_le_bytes()),
            Endian::Big => (dst << 4 | src, self.off.to_be_bytes(), self.imm.to_be_bytes()),
        };
        [self.code, regs, off[0], off[1], imm[0], imm[1], imm[2], imm[3]]
    }
}

/// Decodes a whole section or program. The only error is a length that is not a multiple of 8,
/// reported with the byte offset of the incomplete slot.
pub fn decode_all(bytes: &[u8], endian: Endian) -> Result<Vec<Insn>, Error> {
    let (slots, rest) = bytes.as_chunks::<INSN_BYTES>();
    if !rest.is_empty() {
        return Err(Error::truncated(slots.len() * INSN_BYTES, rest.len()));
    }
    Ok(slots.iter().map(|&slot| Insn::from_bytes(slot, endian)).collect())
}

/// Encodes a whole program.
pub fn encode_all(insns: &[Insn], endian: Endian) -> Vec<u8> {
    insns.iter().flat_map(|insn| insn.to_bytes(endian)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_register_nibbles_swap_with_the_byte_order() {
        // `r1 = *(u32 *)(r2 +4)`, in both byte orders of RFC 9669.
        let insn = Insn { code: 0x61, dst: 1, src: 2, off: 4, imm: 0x0102_0304 };
        assert_eq!(insn.to_bytes(Endian::Little), [0x61, 0x21, 4, 0, 4, 3, 2, 1]);
        assert_eq!(insn.to_bytes(Endian::Big), [0x61, 0x12, 0, 4, 1, 2, 3, 4]);
    }

    #[test]
    fn an_incomplete_slot_is_reported_at_its_offset() {
        let error = decode_all(&[0; 19], Endian::Little).unwrap_err();
        assert_eq!(error.to_string(), "insn at byte offset 0x10 is cut short: 3 of 8 bytes");
        assert_eq!(error.byte_off(), Some(16));
        assert_eq!(decode_all(&[], Endian::Big).unwrap(), []);
    }

    proptest! {
        #[test]
        fn every_slot_survives(bytes: [u8; 8], big: bool) {
            let endian = if big { Endian::Big } else { Endian::Little };
            prop_assert_eq!(Insn::from_bytes(bytes, endian).to_bytes(endian), bytes);
        }
    }
}
