//! Files that contain kernels, unpacked until a `vmlinux` or BTF is found: compressed files (gzip,
//! xz, lzma, zstd, lz4), `bzImage`, Debian and RPM packages, archives of `tar` (BTFHub's contain
//! only BTF).
//!
//! Sources: the x86 boot protocol of the kernel's documentation (`payload_offset`), the lz4 frame
//! format's description of legacy frames.

use super::archive::{
    AR, DAMAGED, Found, IMAGE_BYTES_MAX, Plain, RPM, damaged, debian_data, in_cpio, in_tar, is_tar,
    rpm_payload,
};
use crate::Error;
use flate2::read::GzDecoder;
use lzma_rust2::{LzmaReader, XzReader};
use ruzstd::decoding::StreamingDecoder;
use std::io::Read;

/// Largest window and dictionary of decoders: kernels are compressed with up to 128 MiB.
const WINDOW_BYTES_MAX: u64 = 256 << 20;
/// A package holds an archive, which holds an image, which holds a payload.
const LAYERS_MAX: usize = 6;

const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const LZ4_LEGACY: &[u8] = &[0x02, 0x21, 0x4c, 0x18];
/// The properties that kernels are compressed with, and the low half of the dictionary's size.
const LZMA: &[u8] = &[0x5d, 0, 0];
const BZIP2: &[u8] = b"BZh";
const LZOP: &[u8] = &[0x89, b'L', b'Z', b'O'];
const ELF: &[u8] = b"\x7fELF";

/// Unpacks until there is an ELF image or uncompressed data.
///
/// # Errors
///
/// One line: what is damaged, too large, or missing.
pub(super) fn unpacked(bytes: Vec<u8>) -> Result<Found, Error> {
    let (mut bytes, mut kconfig, mut release) = (bytes, None, None);
    for _ in 0..LAYERS_MAX {
        if bytes.starts_with(ELF) {
            return Ok(Found { image: bytes, kconfig, release });
        }
        if let Some(found) = archived(&bytes)? {
            bytes = found.image;
            (kconfig, release) = (found.kconfig.or(kconfig), found.release.or(release));
            continue;
        }
        bytes = if let Some(payload) = boot_payload(&bytes)? {
            payload.to_vec()
        } else if bytes.starts_with(LZ4_LEGACY) {
            lz4_legacy(&bytes[LZ4_LEGACY.len()..])?
        } else if let Some(plain) = decoder(&bytes) {
            whole(plain?)?
        } else if bytes.starts_with(BZIP2) || bytes.starts_with(LZOP) {
            return Err("not supported yet: bzip2 or lzo compression; decompress it first".into());
        } else {
            return Ok(Found { image: bytes, kconfig, release });
        };
    }
    Err("too many layers of compression".into())
}

/// The kernel in an archive; `None` if it is not an archive.
fn archived(bytes: &[u8]) -> Result<Option<Found>, Error> {
    Ok(Some(if bytes.starts_with(AR) {
        in_tar(plain(debian_data(bytes).ok_or(DAMAGED)?, "data")?)?
    } else if bytes.starts_with(RPM) {
        in_cpio(plain(rpm_payload(bytes).ok_or(DAMAGED)?, "payload")?)?
    } else if is_tar(bytes) {
        in_tar(Box::new(bytes))?
    } else {
        return Ok(None);
    }))
}

/// The contents of a package, decompressed.
fn plain<'a>(packed: &'a [u8], what: &str) -> Result<Plain<'a>, Error> {
    if packed.starts_with(BZIP2) || packed.starts_with(LZOP) {
        return Err(format!(
            "not supported yet: a package whose {what} is compressed with bzip2 or lzo"
        )
        .into());
    }
    decoder(packed).unwrap_or_else(|| Ok(Box::new(packed)))
}

/// The decoder for a member, if it is compressed.
fn decoder<'a>(packed: &'a [u8]) -> Option<Result<Plain<'a>, Error>> {
    if packed.starts_with(GZIP) {
        return Some(Ok(Box::new(GzDecoder::new(packed))));
    }
    if packed.starts_with(XZ) {
        let limit_kib = u32::try_from(WINDOW_BYTES_MAX >> 10).unwrap_or(u32::MAX);
        return Some(Ok(Box::new(XzReader::new_mem_limit(packed, false, limit_kib))));
    }
    if packed.starts_with(LZMA) {
        let limit_kib = u32::try_from(WINDOW_BYTES_MAX >> 10).unwrap_or(u32::MAX);
        let reader = LzmaReader::new_mem_limit(packed, limit_kib, None);
        return Some(reader.map(|it| Box::new(it) as Plain<'a>).map_err(damaged));
    }
    packed.starts_with(ZSTD).then(|| {
        let decoder = StreamingDecoder::new_with_max_window_size(packed, WINDOW_BYTES_MAX);
        decoder.map(|it| Box::new(it) as Plain<'a>).map_err(|_| DAMAGED.into())
    })
}

/// All of it. A payload is followed by its size, which belongs to no format: the decoder may report
/// an error there.
fn whole(plain: Plain<'_>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = plain.take(IMAGE_BYTES_MAX + 1).read_to_end(&mut bytes);
    if bytes.len() as u64 > IMAGE_BYTES_MAX {
        return Err(format!("more than {IMAGE_BYTES_MAX} bytes when decompressed").into());
    }
    match read {
        Ok(_) => Ok(bytes),
        Err(_) if bytes.starts_with(ELF) && is_whole_elf(&bytes) => Ok(bytes),
        Err(e) => Err(damaged(e)),
    }
}

/// Whether the section table, which is at the end, is complete.
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

/// The compressed kernel in a `bzImage`; `None` if it is not one.
fn boot_payload(bytes: &[u8]) -> Result<Option<&[u8]>, Error> {
    if bytes.get(0x202..0x206) != Some(b"HdrS") {
        return Ok(None);
    }
    let payload = || {
        // The real-mode part: one sector, plus the number in the header; 0 means 4.
        let sectors = number(bytes, 0x1f1, 1).map(|count| if count == 0 { 4 } else { count })?;
        let start = (sectors + 1) * 512 + number(bytes, 0x248, 4)?;
        bytes.get(start..start.checked_add(number(bytes, 0x24c, 4)?)?)
    };
    payload().map(Some).ok_or_else(|| DAMAGED.into())
}

/// Blocks of up to 8 MiB, each preceded by its compressed size; the last number is the total size.
fn lz4_legacy(mut rest: &[u8]) -> Result<Vec<u8>, Error> {
    const BLOCK_BYTES: usize = 8 << 20;
    let mut bytes = Vec::new();
    while rest.len() > 4 {
        let size = number(rest, 0, 4).unwrap_or_default();
        let block = rest.get(4..).and_then(|rest| rest.get(..size)).ok_or(DAMAGED)?;
        let plain = lz4_flex::block::decompress(block, BLOCK_BYTES).map_err(|_| DAMAGED)?;
        bytes.extend_from_slice(&plain);
        if bytes.len() as u64 > IMAGE_BYTES_MAX {
            return Err(format!("more than {IMAGE_BYTES_MAX} bytes when decompressed").into());
        }
        rest = &rest[4 + size..];
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn unpacked(bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
        super::unpacked(bytes).map(|found| found.image)
    }

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
        for packed in [elf.clone(), gzip(&elf), image, archive.clone(), debian] {
            assert_eq!(unpacked(packed).as_deref(), Ok(&elf[..]));
        }
        let both = [&tar("./boot/config-6.1.0", b"CONFIG_HZ=250\n")[..1024], &archive].concat();
        let found = super::unpacked(package(&both)).expect("a kernel");
        assert_eq!(found.kconfig.as_deref(), Some("CONFIG_HZ=250\n"));
        let other = package(&gzip(&tar("./usr/share/doc/copyright", b"x")));
        assert!(unpacked(other).is_err_and(|why| why.to_string().starts_with("no kernel in it")));
    }

    /// `\x7fELF and what follows`, compressed by `xz --check=crc32`, `xz --format=lzma` and `zstd`.
    const PACKED: [&[u8]; 3] = [
        &[
            0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00,
            0x21, 0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x14, 0x7f,
            0x45, 0x4c, 0x46, 0x20, 0x61, 0x6e, 0x64, 0x20, 0x77, 0x68, 0x61, 0x74, 0x20, 0x66,
            0x6f, 0x6c, 0x6c, 0x6f, 0x77, 0x73, 0x00, 0x00, 0x00, 0x00, 0xb4, 0x9d, 0x80, 0x14,
            0x00, 0x01, 0x29, 0x15, 0x2b, 0xce, 0x1d, 0x09, 0x90, 0x42, 0x99, 0x0d, 0x01, 0x00,
            0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
        ],
        &[
            0x5d, 0x00, 0x00, 0x80, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00,
            0x3f, 0x91, 0x45, 0x84, 0x69, 0x4d, 0x5f, 0x64, 0x9b, 0x49, 0xf5, 0xed, 0x28, 0x4b,
            0xe6, 0xc4, 0x3f, 0x76, 0x29, 0xc9, 0x36, 0x56, 0x89, 0xce, 0x66, 0x60, 0xff, 0xf2,
            0x31, 0x00, 0x00,
        ],
        &[
            0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0xa9, 0x00, 0x00, 0x7f, 0x45, 0x4c, 0x46, 0x20,
            0x61, 0x6e, 0x64, 0x20, 0x77, 0x68, 0x61, 0x74, 0x20, 0x66, 0x6f, 0x6c, 0x6c, 0x6f,
            0x77, 0x73, 0xb6, 0xe6, 0x59, 0x35,
        ],
    ];

    /// Two headers of one entry each, the first of them padded.
    fn rpm(payload: &[u8]) -> Vec<u8> {
        let mut bytes = RPM.to_vec();
        bytes.resize(96, 0);
        for values in [&b"sum"[..], b"a name"] {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes.extend([0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0]);
            bytes.extend([1u32, values.len() as u32].map(u32::to_be_bytes).concat());
            bytes.extend([0; 16]);
            bytes.extend(values);
        }
        bytes.extend(payload);
        bytes
    }

    fn cpio(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, mode, content) in files.iter().chain([&("TRAILER!!!", 0, &[][..])]) {
            bytes.extend(b"070701");
            for at in 0..13 {
                let value = match at {
                    1 => *mode,
                    6 => content.len() as u32,
                    11 => name.len() as u32 + 1,
                    _ => 0,
                };
                bytes.extend(format!("{value:08x}").bytes());
            }
            bytes.extend([name.as_bytes(), &[0]].concat());
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend(*content);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn each_packing_is_unpacked_alone_in_images_and_in_packages() {
        let elf = b"\x7fELF and what follows".to_vec();
        let zipped = gzip(&elf);
        for packed in PACKED.into_iter().chain([&zipped[..]]) {
            let image = boot_image(packed);
            let archive = tar("./boot/vmlinuz-6.8.0-31-generic", &image);
            for form in [packed.to_vec(), image, package(&archive)] {
                assert_eq!(unpacked(form).as_deref(), Ok(&elf[..]));
            }
        }
        // BTFHub's: an archive of BTF, compressed with xz.
        let btf = tar("4.18.0-80.el8.x86_64.btf", b"\x9f\xeb\x01 and what follows");
        assert!(unpacked(gzip(&btf)).is_ok_and(|it| it.starts_with(b"\x9f\xeb")));
        // BTF states no release, but its name does.
        let stated = |archive| super::unpacked(archive).expect("a kernel").release;
        assert_eq!(stated(btf).as_deref(), Some("4.18.0-80.el8.x86_64"));
        assert_eq!(stated(tar("vmlinux.btf", b"\x9f\xeb\x01")), None);
        assert_eq!(stated(tar("./boot/vmlinuz-6.8.0-31-generic", &elf)), None);
    }

    #[test]
    fn a_kernel_is_found_in_an_rpm_package() {
        const FOLDER: (&str, u32, &[u8]) = ("./lib/modules/6.12.0-55.el10/vmlinuz", 0o40_755, b"");
        let image = boot_image(PACKED[2]);
        let sum = ("./lib/modules/6.12.0-55.el10/.vmlinuz.hmac", 0o100_644, &b"sum"[..]);
        let kernel = ("./lib/modules/6.12.0-55.el10/vmlinuz", 0o100_755, &image[..]);
        let config = ("./lib/modules/6.12.0-55.el10/config", 0o100_644, &b"CONFIG_HZ=100\n"[..]);
        let script = ("./usr/src/vmlinux.lds", 0o100_644, &b"x"[..]);
        let payload = cpio(&[FOLDER, sum, script, config, kernel]);
        let found = super::unpacked(rpm(&payload)).expect("a kernel");
        assert_eq!(found.kconfig.as_deref(), Some("CONFIG_HZ=100\n"));
        for whole in [rpm(&payload), rpm(&gzip(&payload))] {
            assert_eq!(unpacked(whole.clone()).as_deref(), Ok(&b"\x7fELF and what follows"[..]));
            for end in 4..whole.len() - 1 {
                let cut = unpacked(whole[..end].to_vec());
                assert!(cut.as_ref().is_err() || cut.is_ok_and(|it| it.starts_with(ELF)), "{end}");
            }
        }
        let other = unpacked(rpm(&gzip(&cpio(&[sum]))));
        assert!(other.is_err_and(|why| why.to_string().starts_with("no kernel in it")));
        let lzo = unpacked(rpm(LZOP));
        assert!(lzo.is_err_and(|why| why.to_string().contains("not supported yet")));
        assert!(unpacked(rpm(b"neither")).is_err());
        // A size without any contents, a name without a terminator.
        let huge = ("vmlinuz", 0o100_644, &[][..]);
        let mut hostile = cpio(&[huge]);
        hostile[54..62].copy_from_slice(b"ffffffff");
        assert!(unpacked(rpm(&hostile)).is_err());
        hostile[94..102].copy_from_slice(b"ffffffff");
        assert!(unpacked(rpm(&hostile)).is_err());
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
        assert!(unpacked(nested).is_err_and(|why| why.to_string().contains("too many layers")));
    }
}
