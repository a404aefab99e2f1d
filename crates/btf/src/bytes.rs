//! Reading and writing 16- and 32-bit words of either byte order.

/// Byte order of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// The byte order of the machine this runs on.
    pub const NATIVE: Endian =
        if cfg!(target_endian = "little") { Endian::Little } else { Endian::Big };

    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Endian::Little => u16::from_le_bytes(bytes),
            Endian::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(crate) fn put_u16(self, out: &mut Vec<u8>, value: u16) {
        match self {
            Endian::Little => out.extend_from_slice(&value.to_le_bytes()),
            Endian::Big => out.extend_from_slice(&value.to_be_bytes()),
        }
    }

    pub(crate) fn put_u32(self, out: &mut Vec<u8>, value: u32) {
        match self {
            Endian::Little => out.extend_from_slice(&value.to_le_bytes()),
            Endian::Big => out.extend_from_slice(&value.to_be_bytes()),
        }
    }
}

/// The u32 at byte `offset`, if it is inside the section.
pub(crate) fn u32_at(bytes: &[u8], offset: usize, endian: Endian) -> Option<u32> {
    let word = bytes.get(offset..offset.checked_add(4)?)?;
    Some(endian.u32(word.try_into().ok()?))
}

/// The u16 at byte `offset`, if it is inside the section.
pub(crate) fn u16_at(bytes: &[u8], offset: usize, endian: Endian) -> Option<u16> {
    let half = bytes.get(offset..offset.checked_add(2)?)?;
    Some(endian.u16(half.try_into().ok()?))
}
