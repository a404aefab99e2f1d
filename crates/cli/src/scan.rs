//! Finds BPF object files inside other files: skeletons, Go and Rust executables, archives.
//!
//! An embedded object has no mark of its end. Its header says where the section table ends, and
//! the sections where their bytes end; the image reaches to the furthest of these.
//!
//! # Invariants
//!
//! 1. Ranges lie inside the file, ascend and do not overlap.
//! 2. Time is linear: each byte is looked at as the start of an image once, and a section table has
//!    at most 65,535 entries.

use memchr::memmem;
use std::ops::Range;

const MAGIC: &[u8] = b"\x7fELF";
const HEADER_BYTES: usize = 64;
const SECTION_HEADER_BYTES: usize = 64;
const EM_BPF: u16 = 247;
const SHT_NOBITS: u32 = 8;

/// Whether `head` begins a 64-bit ELF file for BPF, in either byte order.
pub(crate) fn is_bpf_header(head: &[u8]) -> bool {
    let class_64 = head.get(4) == Some(&2);
    let Some(&order) = head.get(5) else { return false };
    head.starts_with(MAGIC) && class_64 && number(head, 18..20, order) == Some(EM_BPF.into())
}

/// The objects in `bytes`; the whole file counts if it is one.
pub(crate) fn find_objects(bytes: &[u8]) -> Vec<Range<usize>> {
    if is_bpf_header(bytes) {
        return std::iter::once(0..bytes.len()).collect();
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    for start in memmem::find_iter(bytes, MAGIC) {
        let inside_last = found.last().is_some_and(|last| start < last.end);
        let Some(image) = bytes.get(start..) else { continue };
        if inside_last || !is_bpf_header(image) {
            continue;
        }
        if let Some(len) = image_bytes(image) {
            found.push(start..start + len);
        }
    }
    found
}

/// Length of the object that `image` begins with; `None` if its tables do not fit.
fn image_bytes(image: &[u8]) -> Option<usize> {
    let order = *image.get(5)?;
    let field = |range| number(image, range, order);
    let table: usize = field(40..48)?.try_into().ok()?;
    let (entry_bytes, entries) = (field(58..60)? as usize, field(60..62)? as usize);
    if entry_bytes != SECTION_HEADER_BYTES || entries == 0 {
        return None;
    }
    let table_end = table.checked_add(entry_bytes * entries)?;
    let mut end = table_end.max(HEADER_BYTES);
    for section in image.get(table..table_end)?.chunks_exact(SECTION_HEADER_BYTES) {
        let has_bytes = number(section, 4..8, order)? != u64::from(SHT_NOBITS);
        if has_bytes {
            let last =
                number(section, 24..32, order)?.checked_add(number(section, 32..40, order)?)?;
            end = end.max(last.try_into().ok()?);
        }
    }
    (end <= image.len()).then_some(end)
}

/// An unsigned field in the file's byte order: 1 is little endian, 2 big.
fn number(bytes: &[u8], range: Range<usize>, order: u8) -> Option<u64> {
    let field = bytes.get(range)?.iter();
    let join = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
    match order {
        1 => Some(field.rev().fold(0, join)),
        2 => Some(field.fold(0, join)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/xdp_count.bpf.o");
        std::fs::read(path).unwrap()
    }

    #[test]
    fn finds_each_copy_with_its_exact_length() {
        let object = sample();
        assert!(find_objects(&object).into_iter().eq(std::iter::once(0..object.len())));
        let mut file = b"#!/bin/sh\n\x7fELF".to_vec();
        let first = file.len();
        file.extend(&object);
        file.extend(b"between");
        let second = file.len();
        file.extend(&object);
        file.extend([0; 100]);
        let expected = [first..first + object.len(), second..second + object.len()];
        assert_eq!(find_objects(&file), expected);
    }

    #[test]
    fn what_is_cut_or_hostile_is_not_found() {
        let object = sample();
        let mut file = vec![0];
        file.extend(&object[..object.len() - 1]);
        assert!(find_objects(&file).is_empty());
        file.push(0);
        file[1 + 40..1 + 48].fill(0xff);
        assert!(find_objects(&file).is_empty());
        assert!(find_objects(b"").is_empty());
        assert!(find_objects(b"x\x7fELF\x02").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn ranges_lie_inside_ascend_and_do_not_overlap(
            pieces in proptest::collection::vec((0usize..64, proptest::bits::u8::ANY), 0..40),
            cut in 0usize..10_000,
        ) {
            let object = sample();
            let mut file = object.clone();
            file.insert(0, 0);
            file.extend(&object[..cut.min(object.len())]);
            file.extend(&object);
            for (at, byte) in pieces {
                file[1 + at] = byte;
            }
            let found = find_objects(&file);
            let mut end = 0;
            for range in found {
                assert!(end <= range.start && range.start < range.end && range.end <= file.len());
                end = range.end;
            }
        }
    }
}
