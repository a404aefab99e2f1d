//! Extracts BPF ELF images from binaries that embed them (libbpf skeletons).

use super::tools::{Result, output};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Start of a 64-bit little-endian ELF file.
const MAGIC: &[u8] = b"\x7fELF\x02\x01\x01";
/// `e_type` ET_REL and `e_machine` EM_BPF.
const REL_BPF: [u8; 4] = [1, 0, 247, 0];

/// All images in the binaries of the package, without duplicates.
pub(super) fn libbpf_tools(to: &Path) -> Result {
    let io = |e: std::io::Error| format!("{}: {e}", to.display());
    fs::create_dir_all(to).map_err(io)?;
    let list = output(Command::new("dpkg").args(["-L", "libbpf-tools"]))?;
    let list = String::from_utf8_lossy(&list).into_owned();
    let binaries = list.lines().filter(|l| l.contains("/sbin/") || l.contains("/bin/"));
    for binary in binaries.map(PathBuf::from).filter(|path| path.is_file() && !path.is_symlink()) {
        let bytes = fs::read(&binary).map_err(io)?;
        let name = binary.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (i, image) in images(&bytes).into_iter().enumerate() {
            let number = if i == 0 { String::new() } else { format!(".{i}") };
            fs::write(to.join(format!("{name}{number}.bpf.o")), image).map_err(io)?;
        }
    }
    Ok(())
}

/// The relocatable BPF images inside `bytes`, in order.
fn images(bytes: &[u8]) -> Vec<&[u8]> {
    let mut found: Vec<&[u8]> = Vec::new();
    let mut at = 1;
    while let Some(next) = bytes.get(at..).and_then(|b| find(b, MAGIC)) {
        at += next;
        let image = bytes.get(at..).and_then(|rest| rest.get(..image_len(rest)?));
        match image {
            Some(image) if !found.contains(&image) => found.push(image),
            _ => {}
        }
        at += MAGIC.len();
    }
    found
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// Length of the image at the start of `elf`: up to the end of its last section or of its section
/// headers, whichever is later; `None` if it is not a relocatable BPF image.
fn image_len(elf: &[u8]) -> Option<usize> {
    if elf.get(16..20)? != REL_BPF {
        return None;
    }
    let headers = number(elf, 40, 8)?;
    let size = number(elf, 58, 2)?;
    let count = number(elf, 60, 2)?;
    let mut end = headers.checked_add(size.checked_mul(count)?)?;
    for i in 0..count {
        let header = headers + i * size;
        let no_bits = number(elf, header + 4, 4)? == 8;
        let section_end = number(elf, header + 24, 8)?.checked_add(number(elf, header + 32, 8)?)?;
        end = if no_bits { end } else { end.max(section_end) };
    }
    Some(end)
}

fn number(bytes: &[u8], at: usize, len: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image with one section header after 8 bytes of contents.
    fn image() -> Vec<u8> {
        let mut elf = vec![0u8; 64 + 8 + 64];
        elf[..7].copy_from_slice(MAGIC);
        elf[16..20].copy_from_slice(&REL_BPF);
        elf[40] = 72;
        elf[58] = 64;
        elf[60] = 1;
        elf
    }

    #[test]
    fn an_image_is_cut_at_its_section_headers() {
        let inner = image();
        let file = [b"\x7fELF host binary".as_slice(), &inner, b"tail", &inner].concat();
        assert_eq!(images(&file), [inner.as_slice()]);
    }

    #[test]
    fn a_section_that_points_outside_is_no_image() {
        let mut inner = image();
        inner[72 + 24 + 7] = 0x7f;
        assert!(images(&[b"x".as_slice(), &inner].concat()).is_empty());
    }
}
