//! Finds BPF objects inside other files: skeletons in executables, objects embedded in Go or Rust
//! binaries, archives.
//!
//! Deliberately absent: decompression. Only uncompressed images are found.

use crate::elf::EM_BPF;
use crate::sections::NOBITS;
use std::ops::Range;

const MAGIC: &[u8] = b"\x7fELF";
/// Size of an ELF64 header.
const HEADER_BYTES: usize = 64;
/// Size of an ELF64 section header.
const SECTION_BYTES: usize = 64;
const ET_REL: u16 = 1;

/// The BPF objects in `bytes`, in order: start and end of each. They do not overlap.
///
/// Takes time linear in the size of the file, because section headers read are limited.
pub fn scan(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut headers_left = bytes.len() / SECTION_BYTES + 1;
    let mut at = 0;
    let finder = memchr::memmem::Finder::new(MAGIC);
    while let Some(next) = bytes.get(at..).and_then(|rest| finder.find(rest)) {
        let start = at + next;
        match image_bytes(&bytes[start..], &mut headers_left) {
            Some(len) => {
                found.push(start..start + len);
                at = start + len;
            }
            None => at = start + MAGIC.len(),
        }
    }
    found
}

/// Size of the BPF object at the start of `bytes`, if there is one.
fn image_bytes(bytes: &[u8], headers_left: &mut usize) -> Option<usize> {
    let header = bytes.get(..HEADER_BYTES)?;
    if header[4] != 2 {
        return None;
    }
    let fields = match header[5] {
        1 => Fields { bytes, big: false },
        2 => Fields { bytes, big: true },
        _ => return None,
    };
    if fields.u16(16)? != ET_REL || fields.u16(18)? != EM_BPF {
        return None;
    }
    let table = usize::try_from(fields.u64(40)?).ok()?;
    let count = usize::from(fields.u16(60)?);
    if usize::from(fields.u16(58)?) != SECTION_BYTES || table < HEADER_BYTES || count == 0 {
        return None;
    }
    let mut end = table.checked_add(count.checked_mul(SECTION_BYTES)?)?;
    if end > bytes.len() {
        return None;
    }
    *headers_left = headers_left.checked_sub(count)?;
    for n in 0..count {
        let section = table + n * SECTION_BYTES;
        if fields.u32(section + 4)? == NOBITS {
            continue;
        }
        let (offset, size) = (fields.u64(section + 24)?, fields.u64(section + 32)?);
        end = end.max(usize::try_from(offset.checked_add(size)?).ok()?);
    }
    (end <= bytes.len()).then_some(end)
}

/// Reads numbers in the image's byte order.
struct Fields<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl Fields<'_> {
    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let mut array = *self.bytes.get(at..)?.first_chunk::<N>()?;
        if self.big {
            array.reverse();
        }
        Some(array)
    }
    fn u16(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }
    fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }
    fn u64(&self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header and one null section header.
    fn image(big: bool) -> Vec<u8> {
        let mut image = vec![0; HEADER_BYTES + SECTION_BYTES];
        image[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, if big { 2 } else { 1 }]);
        let fields: [(usize, u16); 5] = [(16, 1), (18, 247), (40, 64), (58, 64), (60, 1)];
        for (at, value) in fields {
            // Only the low half of the 64-bit offset at 40 is set.
            let wide = at == 40 && big;
            let bytes = if big { value.to_be_bytes() } else { value.to_le_bytes() };
            let at = if wide { at + 6 } else { at };
            image[at..at + 2].copy_from_slice(&bytes);
        }
        image
    }

    #[test]
    fn images_of_both_byte_orders_are_found_between_other_bytes() {
        for big in [false, true] {
            let one = image(big);
            let blob = [&b"x\x7fELFx"[..], &one, b"tail", &one].concat();
            let len = one.len();
            assert_eq!(scan(&blob), [6..6 + len, 10 + len..10 + 2 * len], "big: {big}");
        }
    }

    #[test]
    fn other_machines_and_cut_images_are_not_found() {
        let mut x86 = image(false);
        x86[18] = 62;
        assert_eq!(scan(&x86), []);
        let cut = image(false);
        assert_eq!(scan(&cut[..cut.len() - 1]), []);
        assert_eq!(scan(b""), []);
    }

    #[test]
    fn a_file_of_headers_only_ends() {
        let mut header = image(false)[..HEADER_BYTES].to_vec();
        header[60..62].copy_from_slice(&u16::MAX.to_le_bytes());
        let blob = header.repeat(1 << 17);
        assert!(scan(&blob).len() <= blob.len() / HEADER_BYTES);
    }
}
