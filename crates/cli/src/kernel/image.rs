//! What kernels come in, unpacked until there is a `vmlinux` or BTF: compressed files (gzip, xz,
//! zstd, lz4), `bzImage`, Debian's packages, archives of `tar` (BTFHub's have BTF alone).
//!
//! Sources: the x86 boot protocol of the kernel's documentation (`payload_offset`), `ar(5)`,
//! `deb(5)`, POSIX `ustar`, the lz4 frame format's description of legacy frames.

use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;
use std::io::{self, Cursor, Read};

/// An image with debug information has some hundred megabytes.
const IMAGE_BYTES_MAX: u64 = 1 << 30;
/// Of all that is read of an archive to find a kernel in it.
const ARCHIVE_BYTES_MAX: u64 = 8 << 30;
/// The window and dictionary of decoders: kernels are packed with up to 128 MiB.
const WINDOW_BYTES_MAX: u64 = 256 << 20;
/// A package holds an archive, which holds an image, which holds a payload.
const LAYERS_MAX: usize = 6;

const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const LZ4_LEGACY: &[u8] = &[0x02, 0x21, 0x4c, 0x18];
const AR: &[u8] = b"!<arch>\n";
const ELF: &[u8] = b"\x7fELF";
const RPM: &[u8] = &[0xed, 0xab, 0xee, 0xdb];

/// Unpacks until there is an ELF image or something that nobody has packed.
///
/// # Errors
///
/// One line: what is damaged, too large, or not there.
pub(super) fn unpacked(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let mut bytes = bytes;
    for _ in 0..LAYERS_MAX {
        if bytes.starts_with(ELF) {
            return Ok(bytes);
        }
        bytes = if bytes.starts_with(AR) {
            let member = debian_data(&bytes).ok_or("a package without data in it")?;
            let data = decoder(member).ok_or("a package whose data are packed otherwise")??;
            in_archive(data)?
        } else if bytes.starts_with(RPM) {
            return Err("not supported yet: RPM packages (rpm2cpio FILE | cpio -i)".to_owned());
        } else if let Some(payload) = boot_payload(&bytes)? {
            payload.to_vec()
        } else if bytes.starts_with(LZ4_LEGACY) {
            lz4_legacy(&bytes[LZ4_LEGACY.len()..])?
        } else if let Some(plain) = decoder(&bytes) {
            whole(plain?)?
        } else if is_archive(&bytes) {
            in_archive(Box::new(Cursor::new(bytes)))?
        } else {
            return Ok(bytes);
        };
    }
    Err("packed more often than a kernel is".to_owned())
}

type Plain<'a> = Box<dyn Read + 'a>;

/// What unpacks it, if it is packed.
fn decoder<'a>(packed: &'a [u8]) -> Option<Result<Plain<'a>, String>> {
    if packed.starts_with(GZIP) {
        return Some(Ok(Box::new(GzDecoder::new(packed))));
    }
    if packed.starts_with(XZ) {
        let limit_kib = u32::try_from(WINDOW_BYTES_MAX >> 10).unwrap_or(u32::MAX);
        return Some(Ok(Box::new(XzReader::new_mem_limit(packed, false, limit_kib))));
    }
    packed.starts_with(ZSTD).then(|| {
        let decoder = StreamingDecoder::new_with_max_window_size(packed, WINDOW_BYTES_MAX);
        decoder.map(|it| Box::new(it) as Plain<'a>).map_err(|_| DAMAGED.to_owned())
    })
}

const DAMAGED: &str = "the file is cut short or damaged";

fn damaged(_: io::Error) -> String {
    DAMAGED.to_owned()
}

/// All of it. A payload has its size behind it, which is nobody's: the decoder may stumble there.
fn whole(plain: Plain<'_>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = plain.take(IMAGE_BYTES_MAX + 1).read_to_end(&mut bytes);
    if bytes.len() as u64 > IMAGE_BYTES_MAX {
        return Err(format!("more than {IMAGE_BYTES_MAX} bytes when unpacked"));
    }
    match read {
        Ok(_) => Ok(bytes),
        Err(_) if bytes.starts_with(ELF) && is_whole_elf(&bytes) => Ok(bytes),
        Err(e) => Err(damaged(e)),
    }
}

/// Whether the table of sections, which stands last, is there.
fn is_whole_elf(bytes: &[u8]) -> bool {
    let table = number(bytes, 0x28, 8).zip(number(bytes, 0x3a, 2)).zip(number(bytes, 0x3c, 2));
    table.is_some_and(|((at, size), count)| {
        at.checked_add(size * count).is_some_and(|end| end <= bytes.len())
    })
}

fn number(bytes: &[u8], at: usize, len: usize) -> Option<usize> {
    let mut wide = [0; 8];
    wide.get_mut(..len)?.copy_from_slice(bytes.get(at..at.checked_add(len)?)?);
    usize::try_from(u64::from_le_bytes(wide)).ok()
}

/// The packed kernel in a `bzImage`; `None` if it is none.
fn boot_payload(bytes: &[u8]) -> Result<Option<&[u8]>, String> {
    if bytes.get(0x202..0x206) != Some(b"HdrS") {
        return Ok(None);
    }
    let payload = || {
        // The real-mode part: a sector, and as many as the header says; 0 means 4.
        let sectors = number(bytes, 0x1f1, 1).map(|count| if count == 0 { 4 } else { count })?;
        let start = (sectors + 1) * 512 + number(bytes, 0x248, 4)?;
        bytes.get(start..start.checked_add(number(bytes, 0x24c, 4)?)?)
    };
    payload().map(Some).ok_or_else(|| DAMAGED.to_owned())
}

/// Blocks of up to 8 MiB, each with its packed size before it; the last number is the whole size.
fn lz4_legacy(mut rest: &[u8]) -> Result<Vec<u8>, String> {
    const BLOCK_BYTES: usize = 8 << 20;
    let mut bytes = Vec::new();
    while rest.len() > 4 {
        let size = number(rest, 0, 4).unwrap_or_default();
        let block = rest.get(4..).and_then(|rest| rest.get(..size)).ok_or(DAMAGED)?;
        let plain = lz4_flex::block::decompress(block, BLOCK_BYTES).map_err(|_| DAMAGED)?;
        bytes.extend_from_slice(&plain);
        if bytes.len() as u64 > IMAGE_BYTES_MAX {
            return Err(format!("more than {IMAGE_BYTES_MAX} bytes when unpacked"));
        }
        rest = &rest[4 + size..];
    }
    Ok(bytes)
}

/// The member `data.tar...` of a Debian package.
fn debian_data(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes.get(AR.len()..)?;
    loop {
        let header = rest.get(..60)?;
        let size: usize = std::str::from_utf8(header.get(48..58)?).ok()?.trim().parse().ok()?;
        let member = rest.get(60..)?.get(..size)?;
        if header.starts_with(b"data.tar") {
            return Some(member);
        }
        // Members begin at even offsets.
        rest = rest.get(60 + size + size % 2..)?;
    }
}

fn is_archive(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// The first file of an archive that is a kernel or BTF by its name.
fn in_archive(archive: Plain<'_>) -> Result<Vec<u8>, String> {
    let mut archive = archive.take(ARCHIVE_BYTES_MAX);
    let mut header = [0; 512];
    while archive.read_exact(&mut header).is_ok() && header[0] != 0 {
        let size = octal(&header[124..136]).ok_or(DAMAGED)?;
        let is_file = matches!(header[156], b'0' | 0);
        if is_file && is_kernel(&header[..100]) {
            if size > IMAGE_BYTES_MAX {
                return Err(format!("a kernel of {size} bytes"));
            }
            let mut bytes = Vec::new();
            archive.by_ref().take(size).read_to_end(&mut bytes).map_err(damaged)?;
            return Ok(bytes);
        }
        let padded = size.div_ceil(512) * 512;
        let skipped = io::copy(&mut archive.by_ref().take(padded), &mut io::sink());
        skipped.map_err(damaged)?;
    }
    Err("no kernel in it (boot/vmlinuz-..., vmlinux-..., *.btf)".to_owned())
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    u64::from_str_radix(text, 8).ok()
}

/// `./boot/vmlinuz-6.1.0`, `usr/lib/debug/boot/vmlinux-6.1.0`, `5.4.0-42-generic.btf`.
fn is_kernel(name: &[u8]) -> bool {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let name = String::from_utf8_lossy(&name[..end]);
    let file = name.rsplit('/').next().unwrap_or_default();
    file.starts_with("vmlinuz") || file.starts_with("vmlinux") || file.ends_with(".btf")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(bytes).expect("memory");
        packed.finish().expect("memory")
    }

    fn tar(name: &str, bytes: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        header[156] = b'0';
        header[257..262].copy_from_slice(b"ustar");
        header.extend_from_slice(bytes);
        header.resize(header.len().div_ceil(512) * 512 + 1024, 0);
        header
    }

    fn package(data: &[u8]) -> Vec<u8> {
        let mut bytes = AR.to_vec();
        for (name, member) in [("debian-binary", &b"2.0"[..]), ("data.tar.gz", data)] {
            let size = member.len();
            bytes.extend(
                format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 0).bytes(),
            );
            bytes.extend_from_slice(member);
            bytes.resize(bytes.len() + size % 2, b'\n');
        }
        bytes
    }

    fn boot_image(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 1024];
        bytes[0x1f1] = 1;
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn a_kernel_is_found_in_all_that_it_comes_in() {
        let elf = b"\x7fELF and what follows".to_vec();
        let image = boot_image(&gzip(&elf));
        let archive = tar("./boot/vmlinuz-6.1.0-1-cloud-amd64", &image);
        let debian = package(&gzip(&archive));
        for packed in [elf.clone(), gzip(&elf), image, archive, debian] {
            assert_eq!(unpacked(packed).as_deref(), Ok(&elf[..]));
        }
        let other = package(&gzip(&tar("./usr/share/doc/copyright", b"x")));
        assert!(unpacked(other).is_err_and(|why| why.starts_with("no kernel in it")));
    }

    #[test]
    fn lz4_blocks_are_joined() {
        let block = lz4_flex::block::compress(b"\x7fELF of two blocks");
        let mut packed = LZ4_LEGACY.to_vec();
        for _ in 0..2 {
            packed.extend((block.len() as u32).to_le_bytes());
            packed.extend_from_slice(&block);
        }
        packed.extend(36u32.to_le_bytes());
        let plain = unpacked(packed).expect("two blocks");
        assert_eq!(plain.len(), 36);
    }

    #[test]
    fn what_is_damaged_is_said_to_be() {
        let whole = package(&gzip(&tar("./boot/vmlinuz-1", &boot_image(&gzip(b"\x7fELF")))));
        for end in 8..whole.len() - 1 {
            let cut = unpacked(whole[..end].to_vec());
            assert!(cut.as_ref().is_err() || cut.is_ok_and(|it| it.starts_with(ELF)), "{end}");
        }
        for hostile in [XZ, ZSTD, LZ4_LEGACY, GZIP, AR] {
            let mut bytes = hostile.to_vec();
            bytes.extend([0xff; 64]);
            assert!(unpacked(bytes).is_err(), "{hostile:?}");
        }
        let mut nested = b"x".to_vec();
        (0..LAYERS_MAX + 1).for_each(|_| nested = gzip(&nested));
        assert!(unpacked(nested).is_err_and(|why| why.contains("more often")));
    }
}
