//! Archives that contain kernels: Debian packages (`ar` around `tar`), RPM (`cpio`), BTFHub
//! (`tar`). The first file whose name is that of a kernel or BTF is extracted.
//!
//! Sources: `ar(5)`, `deb(5)`, POSIX `ustar`, `cpio(5)` ("new ASCII"), the RPM file format of
//! rpm.org's reference manual (lead, signature, header, payload).

use crate::Error;
use skep::uapi::since::Release;
use std::borrow::Cow;
use std::io::{self, Read};

/// An image with debug information has several hundred megabytes.
pub(super) const IMAGE_BYTES_MAX: u64 = 1 << 30;
/// Maximum number of bytes read from an archive to find a kernel.
const ARCHIVE_BYTES_MAX: u64 = 8 << 30;

pub(super) const AR: &[u8] = b"!<arch>\n";
pub(super) const RPM: &[u8] = &[0xed, 0xab, 0xee, 0xdb];

/// Output of a decoder, or uncompressed data.
pub(super) type Plain<'a> = Box<dyn Read + 'a>;

pub(super) const DAMAGED: &str = "the file is truncated or damaged";

pub(super) fn damaged(cause: io::Error) -> Error {
    Error::because(DAMAGED, cause)
}

const NO_KERNEL: &str = "no kernel in it (vmlinuz, vmlinux or *.btf): Debian has it in linux-image-* or \
                         linux-binary-*, RPM distributions in kernel-core-*";

/// The member `data.tar...` of a Debian package; `None` if the package is cut short before its end.
pub(super) fn debian_data(bytes: &[u8]) -> Option<&[u8]> {
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

/// What follows the lead and the two headers of an RPM package.
pub(super) fn rpm_payload(bytes: &[u8]) -> Option<&[u8]> {
    const LEAD_BYTES: usize = 96;
    let signature_end = rpm_header_end(bytes, LEAD_BYTES)?;
    let header = signature_end.checked_next_multiple_of(8)?;
    bytes.get(rpm_header_end(bytes, header)?..)
}

/// A header has an entry of 16 bytes for each of its values, followed by the values.
fn rpm_header_end(bytes: &[u8], at: usize) -> Option<usize> {
    const MAGIC: &[u8] = &[0x8e, 0xad, 0xe8, 1];
    let header = bytes.get(at..)?;
    if !header.starts_with(MAGIC) {
        return None;
    }
    let wide = |at: usize| -> Option<usize> {
        let bytes: [u8; 4] = header.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(bytes)).ok()
    };
    let (entries, values) = (wide(8)?, wide(12)?);
    at.checked_add(16)?.checked_add(entries.checked_mul(16)?)?.checked_add(values)
}

pub(super) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// A kernel, its configuration if that precedes it, and the release in the name of a file of BTF.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) image: Vec<u8>,
    pub(super) kconfig: Option<String>,
    pub(super) release: Option<String>,
}

/// What files are by their names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Image,
    Config,
    Other,
}

/// The kernel in an archive of `tar`.
pub(super) fn in_tar(archive: Plain<'_>) -> Result<Found, Error> {
    let mut kconfig = None;
    let mut archive = archive.take(ARCHIVE_BYTES_MAX);
    let mut header = [0; 512];
    while archive.read_exact(&mut header).is_ok() && header[0] != 0 {
        let size = octal(&header[124..136]).ok_or(DAMAGED)?;
        let is_file = matches!(header[156], b'0' | 0);
        let role = if is_file { role(&header[..100]) } else { Role::Other };
        match role {
            Role::Image => {
                let release = release(&header[..100]);
                return Ok(Found { image: file(&mut archive, size)?, kconfig, release });
            }
            Role::Config => kconfig = Some(text(file(&mut archive, size)?)),
            Role::Other => {}
        }
        let read = if role == Role::Config { size } else { 0 };
        skip(&mut archive, size.div_ceil(512).saturating_mul(512) - read)?;
    }
    Err(NO_KERNEL.into())
}

/// The kernel in an archive of `cpio`.
pub(super) fn in_cpio(archive: Plain<'_>) -> Result<Found, Error> {
    let mut kconfig = None;
    const HEADER_BYTES: u64 = 110;
    let mut archive = archive.take(ARCHIVE_BYTES_MAX);
    let mut header = [0; HEADER_BYTES as usize];
    while archive.read_exact(&mut header).is_ok() {
        if !(header.starts_with(b"070701") || header.starts_with(b"070702")) {
            return Err("an RPM package whose payload is not a cpio archive".into());
        }
        let field = |index: usize| {
            let at = 6 + 8 * index;
            let text = std::str::from_utf8(&header[at..at + 8]).ok();
            text.and_then(|text| u64::from_str_radix(text, 16).ok()).ok_or(DAMAGED)
        };
        let (mode, size, name_len) = (field(1)?, field(6)?, field(11)?);
        let mut name = Vec::new();
        let with_padding = (HEADER_BYTES + name_len).next_multiple_of(4) - HEADER_BYTES;
        archive.by_ref().take(with_padding).read_to_end(&mut name).map_err(damaged)?;
        if name.starts_with(b"TRAILER!!!") {
            break;
        }
        const IS_FILE: u64 = 0o100_000;
        // Of files with several names, only the last has the contents.
        let is_file = mode & 0o170_000 == IS_FILE && size > 0;
        let role = if is_file { role(&name) } else { Role::Other };
        match role {
            Role::Image => {
                let release = release(&name);
                return Ok(Found { image: file(&mut archive, size)?, kconfig, release });
            }
            Role::Config => kconfig = Some(text(file(&mut archive, size)?)),
            Role::Other => {}
        }
        let read = if role == Role::Config { size } else { 0 };
        skip(&mut archive, size.next_multiple_of(4) - read)?;
    }
    Err(NO_KERNEL.into())
}

fn file(archive: &mut impl Read, size: u64) -> Result<Vec<u8>, Error> {
    if size > IMAGE_BYTES_MAX {
        return Err(format!("a file of {size} bytes").into());
    }
    let mut bytes = Vec::new();
    archive.take(size).read_to_end(&mut bytes).map_err(damaged)?;
    match bytes.len() as u64 == size {
        true => Ok(bytes),
        false => Err(DAMAGED.into()),
    }
}

fn skip(archive: &mut impl Read, bytes: u64) -> Result<(), Error> {
    io::copy(&mut archive.take(bytes), &mut io::sink()).map(drop).map_err(damaged)
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    u64::from_str_radix(text, 8).ok()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `./boot/vmlinuz-6.1.0`, `usr/lib/debug/boot/vmlinux-6.1.0`, `lib/modules/6.12.0/vmlinuz`,
/// `5.4.0-42-generic.btf`; `boot/config-6.1.0`, `lib/modules/6.12.0/config`.
fn role(name: &[u8]) -> Role {
    let name = file_name(name);
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", &name));
    let is =
        |of: &str| file.strip_prefix(of).is_some_and(|it| it.is_empty() || it.starts_with('-'));
    let has_kernels = folder.ends_with("boot") || folder.contains("lib/modules");
    match () {
        () if is("vmlinuz") || is("vmlinux") || file.ends_with(".btf") => Role::Image,
        () if has_kernels && is("config") => Role::Config,
        () => Role::Other,
    }
}

/// `6.1.0` of `6.1.0.btf`. Images state it themselves.
fn release(name: &[u8]) -> Option<String> {
    let name = file_name(name);
    let named = name.rsplit('/').next()?.strip_suffix(".btf")?;
    named.parse::<Release>().is_ok().then(|| named.to_owned())
}

/// Up to the zero that ends it.
fn file_name(name: &[u8]) -> Cow<'_, str> {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end])
}
