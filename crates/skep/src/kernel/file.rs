//! Kernel files, and the sources of kernels.
//!
//! A kernel file is gzip-compressed. It starts with text lines, followed by the recorded results,
//! the configuration and the BTF verbatim, with their sizes:
//!
//! ```text
//! skep kernel 3
//! release: 6.12.117+deb12-cloud-amd64
//! answers: 10212
//! config: 251023
//! btf: 5432101
//! ```
//!
//! Files of version 1 have no results, those of version 2 none that fit no known value.
//!
//! # Invariants
//! 1. A file claims nothing that its BTF contradicts: the release is plain text, and the BTF is
//!    that of an x86-64 kernel of this release (`fit`).

use super::fault::Fault;
use super::{ASKED, Answers, DISTRIBUTIONS, FROM_TABLE, Kernel, STEP, Source, fit, names, release};
use crate::error::Error;
use crate::host::read_bounded;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use skep_btf::{BTF_MAGIC, Btf, Endian};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

const MAGIC: &str = "skep kernel 3";
const WITH_ANSWERS: &str = "skep kernel 2";
const WITHOUT_ANSWERS: &str = "skep kernel 1";
const MAGIC_START: &[u8] = b"skep kernel ";
/// As much of an unknown first line is quoted.
const VERSION_CHARS_MAX: usize = 24;
/// A `vmlinux` with debug information has several hundred megabytes.
const FILE_BYTES_MAX: u64 = 2 << 30;
/// The BTF of a kernel is under 10.
const UNPACKED_BYTES_MAX: u64 = 256 << 20;

const READ: &str = "reading the kernel file";
const IMPORT: &str = "importing a kernel";

impl Kernel {
    /// A built-in kernel, by its name (`6.12`, `ubuntu-24.04`, `rhel9.4`), or a kernel file.
    ///
    /// # Errors
    ///
    /// There is no such name and no such file, or the file is not one.
    pub fn open(name: &str) -> Result<Kernel, Error> {
        let of = DISTRIBUTIONS.iter().find(|(of, _)| *of == name);
        let name = of.map_or(name, |(_, name)| name);
        let asked = ASKED.iter().find(|(short, release)| *short == name || *release == name);
        if let Some((_, release)) = asked {
            return Kernel::built_in(release, release, Source::Asked);
        }
        match FROM_TABLE.iter().find(|it| it.name == name) {
            Some(it) => Kernel::built_in(it.release, it.rules, Source::Table),
            None if Path::new(name).exists() => read(Path::new(name)),
            None => Err(Error::new(Path::new(name), STEP, names::unknown(name))),
        }
    }

    /// Creates a kernel from a file: bare BTF, or a `vmlinux` that contains it. `release` is the
    /// kernel's `uname -r`; a `vmlinux` contains it itself.
    ///
    /// # Errors
    ///
    /// The file cannot be read, has no readable BTF, the release is unknown or contradicts the
    /// file, or the BTF is not that of an x86-64 kernel of this release.
    pub fn import(path: &Path, release: Option<&str>) -> Result<Kernel, Error> {
        import_file(path, release)
    }

    /// The same from an image in memory; `path` is used in errors.
    ///
    /// # Errors
    ///
    /// As for [`Kernel::import`].
    pub fn of_image(path: &Path, image: &[u8], release: Option<&str>) -> Result<Kernel, Error> {
        of_image(path, image, release)
    }

    /// The kernel file; the same kernel gives the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes(self)
    }
}

fn bytes(kernel: &Kernel) -> Vec<u8> {
    let btf = kernel.btf.as_ref().map_or(Vec::new(), |btf| btf.to_bytes(Endian::Little));
    let kconfig = kernel.kconfig.as_deref().unwrap_or_default();
    let answers = kernel.answers().map_or(String::new(), Answers::to_text);
    let lens = [answers.len(), kconfig.len(), btf.len()];
    let [answers_len, config_len, btf_len] = lens;
    let head = format!(
        "{MAGIC}\nrelease: {}\nanswers: {answers_len}\nconfig: {config_len}\nbtf: {btf_len}\n",
        kernel.release
    );
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let _ = [head.as_bytes(), answers.as_bytes(), kconfig.as_bytes(), &btf]
        .map(|part| packed.write_all(part));
    packed.finish().unwrap_or_default()
}

fn read(path: &Path) -> Result<Kernel, Error> {
    let packed = read_bounded(path, UNPACKED_BYTES_MAX).map_err(|e| Error::io(path, READ, e))?;
    decode(&packed).map_err(|why| Error::of(path, READ, why))
}

fn decode(packed: &[u8]) -> Result<Kernel, Fault> {
    let mut bytes = Vec::new();
    let unpacked = GzDecoder::new(packed).take(UNPACKED_BYTES_MAX).read_to_end(&mut bytes);
    if !bytes.starts_with(MAGIC_START) {
        return Err(Fault::NotAKernelFile);
    }
    unpacked.map_err(|_| Fault::Damaged)?;
    let mut rest = &bytes[..];
    let mut line = || {
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        let text = std::str::from_utf8(&rest[..end]).ok()?;
        rest = &rest[end + 1..];
        Some(text)
    };
    let magic = line().unwrap_or_default();
    if ![MAGIC, WITH_ANSWERS, WITHOUT_ANSWERS].contains(&magic) {
        let version = magic.escape_default().take(VERSION_CHARS_MAX).collect();
        return Err(Fault::OtherVersion { version });
    }
    let release = line().and_then(|line| line.strip_prefix("release: "));
    let release = release.ok_or(Fault::NotAKernelFile)?;
    let mut count = |name: &str| line()?.strip_prefix(name)?.parse::<usize>().ok();
    let answers_len = if magic == WITHOUT_ANSWERS { Some(0) } else { count("answers: ") };
    let (config_len, btf_len) = (count("config: "), count("btf: "));
    let (answers, rest) =
        answers_len.and_then(|len| rest.split_at_checked(len)).ok_or(Fault::Damaged)?;
    let (kconfig, rest) =
        config_len.and_then(|len| rest.split_at_checked(len)).ok_or(Fault::Damaged)?;
    if Some(rest.len()) != btf_len {
        return Err(Fault::Damaged);
    }
    let kconfig = std::str::from_utf8(kconfig).map_err(|_| Fault::Damaged)?;
    let kconfig = Some(kconfig).filter(|text| !text.is_empty()).map(Arc::from);
    let version = release::parse(release).map_err(Fault::Release)?;
    let btf = match rest {
        [] => None,
        bytes => {
            let btf = Btf::parse(bytes).map_err(Fault::Btf)?;
            fit::check(&btf, version)?;
            Some(Arc::new(btf))
        }
    };
    let answers = match answers {
        [] => None,
        bytes => {
            let text = std::str::from_utf8(bytes).map_err(|_| Fault::Damaged)?;
            Some(Arc::new(Answers::parse(text).ok_or(Fault::Damaged)?))
        }
    };
    Ok(Kernel { kconfig, answers, ..Kernel::new(release, btf, version) })
}

fn import_file(path: &Path, release: Option<&str>) -> Result<Kernel, Error> {
    let bytes = read_bounded(path, FILE_BYTES_MAX).map_err(|e| Error::io(path, IMPORT, e))?;
    of_image(path, &bytes, release)
}

fn of_image(path: &Path, bytes: &[u8], release: Option<&str>) -> Result<Kernel, Error> {
    let made = match bytes.get(..4) {
        Some(b"\x7fELF") => {
            vmlinux(bytes).and_then(|(btf, told)| Ok((btf, agreed(told, release)?)))
        }
        _ => refuse_others(bytes).map(|()| (bytes, release)),
    };
    let here = |why: Fault| Error::of(path, IMPORT, why);
    let (btf, release) = made.map_err(here)?;
    let btf = Btf::parse(btf).map_err(|e| Error::of(path, IMPORT, e))?;
    let release = release.ok_or_else(|| here(Fault::NoRelease))?;
    let version = release::parse(release).map_err(|why| here(Fault::Release(why)))?;
    fit::check(&btf, version).map_err(here)?;
    Ok(Kernel::new(release, Some(Arc::new(btf)), version))
}

/// The release that the image states, which the user may repeat.
fn agreed<'a>(told: Option<&'a str>, release: Option<&'a str>) -> Result<Option<&'a str>, Fault> {
    match (told, release) {
        (Some(told), Some(release)) if told != release => {
            Err(Fault::OtherRelease { told: told.to_owned() })
        }
        (Some(told), _) => Ok(Some(told)),
        (None, release) => Ok(release),
    }
}

/// Other formats of kernels, and how to get BTF from them.
fn refuse_others(bytes: &[u8]) -> Result<(), Fault> {
    let magic = bytes.first_chunk().map(|bytes| u16::from_le_bytes(*bytes));
    // Either byte order.
    let is_btf = magic.is_some_and(|magic| [magic, magic.swap_bytes()].contains(&BTF_MAGIC));
    let is_image = bytes.get(0x202..0x206) == Some(b"HdrS");
    let what = match bytes {
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => "packages",
        [0x1f, 0x8b, ..] | [0xfd, b'7', b'z', ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => "packed files",
        _ if is_image => "compressed images",
        _ if is_btf => return Ok(()),
        _ => return Err(Fault::NoKernelAtAll),
    };
    Err(Fault::NotToBeRead { what })
}

/// The BTF of a 64-bit little-endian ELF image, and the release that it states.
fn vmlinux(bytes: &[u8]) -> Result<(&[u8], Option<&str>), Fault> {
    const X86_64: &[u8] = &[62, 0];
    const BPF: &[u8] = &[247, 0];
    match bytes.get(0x12..0x14) {
        Some(X86_64) => {}
        Some(BPF) => return Err(Fault::Object),
        _ => return Err(Fault::OtherMachine),
    }
    let btf = section(bytes, b".BTF").ok_or(Fault::NoBtf)?;
    const SAYS: &[u8] = b"Linux version ";
    let at = section(bytes, b".rodata").and_then(|data| {
        let at = data.windows(SAYS.len()).position(|window| window == SAYS)?;
        data.get(at + SAYS.len()..)
    });
    let release = at.and_then(|data| {
        let end = data.iter().position(|byte| !byte.is_ascii_graphic())?;
        std::str::from_utf8(&data[..end]).ok()
    });
    Ok((btf, release))
}

/// A section of an ELF image by name: ELF64, little-endian (System V ABI, chapter 4).
fn section<'a>(bytes: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let number = |at: usize, len: usize| -> Option<usize> {
        let mut wide = [0; 8];
        wide.get_mut(..len)?.copy_from_slice(bytes.get(at..at.checked_add(len)?)?);
        usize::try_from(u64::from_le_bytes(wide)).ok()
    };
    let (table, size) = (number(0x28, 8)?, number(0x3a, 2)?);
    let (count, names) = (number(0x3c, 2)?, number(0x3e, 2)?);
    let header = |index: usize| table.checked_add(index.checked_mul(size)?);
    let data = |index: usize| -> Option<&'a [u8]> {
        let at = header(index)?;
        let (offset, len) = (number(at.checked_add(0x18)?, 8)?, number(at.checked_add(0x20)?, 8)?);
        bytes.get(offset..offset.checked_add(len)?)
    };
    let names = data(names)?;
    (0..count).find_map(|index| {
        let text = names.get(number(header(index)?, 4)?..)?;
        let is_it = text.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&0));
        is_it.then(|| data(index))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fit::tests::fitting;
    use skep_btf::BtfBuilder;

    fn kernel() -> Kernel {
        let btf = fitting(211).build().expect("valid");
        let version = release::parse("6.12").expect("a release");
        let kernel = Kernel::new("6.12.1-x", Some(Arc::new(btf)), version);
        let answers = Answers::parse("-\tinsn\tmay_goto\n").map(Arc::new);
        Kernel { kconfig: Some("CONFIG_HZ=250\n".into()), answers, ..kernel }
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let file = bytes(&kernel());
        assert_eq!(file, bytes(&kernel()), "the same each time");
        let read = decode(&file).expect("a kernel");
        assert_eq!(read.release(), "6.12.1-x");
        assert_eq!(read.kconfig().map(|text| &**text), Some("CONFIG_HZ=250\n"));
        assert_eq!(read.answers(), kernel().answers());
        let lens = [&read, &kernel()].map(|kernel| kernel.btf().map(|btf| btf.len()));
        assert!(lens[0].is_some() && lens[0] == lens[1], "{lens:?}");
    }

    #[test]
    fn damaged_files_are_errors() {
        let file = bytes(&kernel());
        for end in 0..file.len() {
            assert!(decode(&file[..end]).is_err(), "{end}");
        }
        let pack = |text: &str| {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(text.as_bytes()).expect("memory");
            packed.finish().expect("memory")
        };
        let other =
            decode(&pack("skep kernel 4\u{1b}[31m\n")).expect_err("of another version").to_string();
        assert!(other.contains("another version") && !other.contains('\u{1b}'), "{other}");
        let lines = |release: &str, config: &str, btf: &str| {
            pack(&format!("skep kernel 1\nrelease: {release}\nconfig: {config}\nbtf: {btf}\nx"))
        };
        assert!(decode(&lines("6.1", "1", "0")).is_ok(), "what the others are made of");
        for (release, config, btf) in [
            ("6.1", "0", "99"),
            ("6.1", "99", "0"),
            ("6.1", "18446744073709551615", "2"),
            ("six", "1", "0"),
            ("6.1", "-1", "2"),
            ("6.1\u{1b}[31m", "1", "0"),
        ] {
            assert!(decode(&lines(release, config, btf)).is_err(), "{release} {config} {btf}");
        }
        let answers = |text: &str| {
            let len = text.len();
            let head = "skep kernel 2\nrelease: 6.1\nanswers:";
            decode(&pack(&format!("{head} {len}\nconfig: 0\nbtf: 0\n{text}")))
        };
        assert!(answers("+\trule\tof another time\n").is_ok());
        assert!(answers("+ no tab\n").is_err());
        assert!(decode(b"hello").is_err());
    }

    #[test]
    fn an_error_about_the_btf_has_the_parser_s_as_its_cause() {
        let path = Path::new("x.btf");
        let error = of_image(path, &[0x9f, 0xeb, 1, 0], Some("6.1")).expect_err("cut short");
        let cause = std::error::Error::source(&error).expect("a cause");
        assert!(cause.is::<skep_btf::Error>(), "{cause:?}");
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        let text = "skep kernel 1\nrelease: 6.1\nconfig: 0\nbtf: 1\nx";
        packed.write_all(text.as_bytes()).expect("memory");
        let fault = decode(&packed.finish().expect("memory")).expect_err("no BTF");
        let cause = std::error::Error::source(&fault).expect("a cause");
        assert!(cause.is::<skep_btf::Error>(), "{cause:?}");
    }

    #[test]
    fn a_file_claims_no_release_that_its_btf_is_not_of() {
        let bytes_of = |btf: &BtfBuilder, version: &str| {
            let btf = btf.build().map(Arc::new).expect("valid");
            let version = release::parse(version).expect("a release");
            bytes(&Kernel::new("6.1.0-56-cloud-amd64", Some(btf), version))
        };
        let read = decode(&bytes_of(&fitting(211), "6.1")).expect("it has all helpers");
        assert!(!read.was_asked(), "it is not the BTF of the tested kernel");
        assert_eq!(read.newer_items().len(), 2);
        let older = decode(&bytes_of(&fitting(180), "6.1")).expect_err("too few helpers");
        assert!(older.to_string().contains("it lacks bpf_loop"), "{older}");
        let none = decode(&bytes_of(&BtfBuilder::new(), "6.1")).expect_err("no kernel");
        assert_eq!(none, Fault::NotOfAKernel);
    }

    #[test]
    fn an_image_is_imported_as_what_it_states() {
        let path = Path::new("vmlinux");
        let import = |bytes: &[u8], release| match of_image(path, bytes, release) {
            Ok(kernel) => kernel.release().to_owned(),
            Err(e) => e.to_string(),
        };
        let image = elf(&fitting(211).to_bytes(Endian::Little), b"x\0Linux version 6.1.0-9 (gcc)");
        assert_eq!(import(&image, None), "6.1.0-9");
        assert_eq!(import(&image, Some("6.1.0-9")), "6.1.0-9");
        let other = import(&image, Some("6.12.117+deb12-cloud-amd64"));
        assert!(other.ends_with("it is the kernel 6.1.0-9, not that of --release"), "{other}");
        let silent = elf(&fitting(211).to_bytes(Endian::Little), b"");
        assert_eq!(import(&silent, Some("6.1.0-7")), "6.1.0-7");
        let injected = import(&silent, Some("6.1\nconfig: 3"));
        assert!(injected.contains("letters, digits") && !injected.contains('\n'), "{injected}");
        let foreign = import(&elf(&fitting(211).to_bytes(Endian::Big), b""), Some("6.1"));
        assert!(foreign.contains("big-endian"), "{foreign}");
    }

    /// An x86-64 ELF image with these sections `.BTF` and `.rodata`.
    fn elf(btf: &[u8], data: &[u8]) -> Vec<u8> {
        const NAMES: &[u8] = b"\0.BTF\0.rodata\0";
        let mut bytes = vec![0; 0x40];
        bytes[..4].copy_from_slice(b"\x7fELF");
        bytes[0x12] = 62;
        let mut headers = Vec::new();
        for (name, part) in [(1u32, btf), (6, data), (0, NAMES)] {
            headers.extend(name.to_le_bytes());
            headers.extend([0; 0x14]);
            headers.extend([bytes.len() as u64, part.len() as u64].map(u64::to_le_bytes).concat());
            headers.extend([0; 0x18]);
            bytes.extend(part);
        }
        let table = bytes.len() as u64;
        bytes[0x28..0x30].copy_from_slice(&table.to_le_bytes());
        for (at, value) in [(0x3a, 0x40), (0x3c, 3), (0x3e, 2)] {
            bytes[at] = value;
        }
        bytes.extend(headers);
        bytes
    }

    #[test]
    fn what_is_no_image_has_no_section() {
        for hostile in [&b"\x7fELF"[..], &[0xff; 64], &[0x7f; 200]] {
            assert_eq!(section(hostile, b".BTF"), None);
        }
    }
}
