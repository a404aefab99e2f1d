//! The files that `skep run` writes. They are known to be writable before the program runs, and are
//! never also read, except that maps may be written back to their input file.
//!
//! # Invariants
//! 1. Nothing is truncated or written before [`check`] has found that all outputs are different
//!    files.

use super::profile::jitdump_file;
use super::stats::place;
use crate::Error;
use crate::flags::run::RunFlags;
use crate::html_file::HtmlFile;
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files opened for writing; their contents are unchanged so far.
#[derive(Default)]
pub(super) struct Outputs {
    pub(super) pcap: Option<File>,
    pub(super) maps: Option<File>,
    pub(super) coverage: Option<File>,
    pub(super) html: HtmlFile,
}

/// A flag and its file.
type Named = (&'static str, PathBuf);

/// No output is a file that is read, or another output.
///
/// # Errors
///
/// One line.
pub(super) fn check(flags: &RunFlags) -> Result<(), Error> {
    for (name, path) in outputs(flags) {
        if path.as_os_str().is_empty() {
            return Err(format!("{name}: missing file name").into());
        }
    }
    if let [one, other, ..] = on_stdout(flags)[..] {
        return Err(format!("{one} and {other}: both to standard output").into());
    }
    // Maps are part of the document.
    let is_json = flags.output_format.json_form(flags.json, flags.pretty).is_some();
    if let ([one], true) = (&on_stdout(flags)[..], is_json)
        && *one != "--dump-maps"
    {
        return Err(format!("{one} and JSON: both to standard output").into());
    }
    let read = inputs(flags).into_iter().map(|named| (named, true));
    let written = outputs(flags).into_iter().map(|named| (named, false));
    let mut seen: Vec<(&'static str, Place, bool)> = Vec::new();
    for ((name, path), is_read) in read.chain(written) {
        let Some(place) = Place::of(&path) else { continue };
        let is_kept = |other: &str| (name, other) == ("--dump-maps", "--map");
        let other = seen.iter().find(|(other, known, _)| *known == place && !is_kept(other));
        let path = path.display();
        match other {
            Some((other, _, true)) if !is_read => {
                return Err(format!("{path}: {name} would overwrite an input ({other})").into());
            }
            Some((other, _, false)) => {
                return Err(
                    format!("{path}: two outputs to the same file ({other} and {name})").into()
                );
            }
            _ => seen.push((name, place, is_read)),
        }
    }
    Ok(())
}

/// The identity of a file; or, if it does not exist, the folder that it will be in and its name.
/// Devices and pipes have none; they may be used twice.
#[derive(PartialEq)]
struct Place {
    device_and_inode: (u64, u64),
    name: Option<OsString>,
}

impl Place {
    fn of(path: &Path) -> Option<Place> {
        let id = |metadata: &Metadata| (metadata.dev(), metadata.ino());
        if let Ok(metadata) = std::fs::metadata(path) {
            return metadata
                .is_file()
                .then(|| Place { device_and_inode: id(&metadata), name: None });
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::metadata(folder.unwrap_or(Path::new("."))).ok()?;
        Some(Place { device_and_inode: id(&folder), name: Some(path.file_name()?.to_owned()) })
    }
}

impl Outputs {
    /// Opens the files written after the runs.
    ///
    /// # Errors
    ///
    /// One line: a file cannot be written.
    pub(super) fn open(flags: &RunFlags) -> Result<Outputs, Error> {
        let mut opened = Outputs::default();
        for (name, path) in outputs(flags) {
            match name {
                "--pcap-out" => opened.pcap = Some(create(&path)?),
                "--dump-maps" => opened.maps = Some(create(&path)?),
                "--coverage" => {
                    is_tracefile(&path)?;
                    opened.coverage = Some(create(&path)?);
                }
                "--html" => opened.html = HtmlFile::new(&flags.html)?,
                // The others write their files themselves.
                _ => {}
            }
        }
        Ok(opened)
    }
}

/// Truncates the file; pipes and devices have no contents.
pub(super) fn cut_off(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}

/// The flags whose results go to standard output instead of the summary.
pub(super) fn on_stdout(flags: &RunFlags) -> Vec<&'static str> {
    let is_dash =
        |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| path.as_os_str() == "-");
    let all = [
        ("--dump-maps", flags.dump_maps.as_deref() == Some("-")),
        ("--pcap-out", is_dash(&flags.pcap_out)),
        ("--coverage", is_dash(&flags.coverage)),
    ];
    all.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
}

/// A file that is no tracefile is not overwritten, such as the object after `--coverage` without a
/// file name.
///
/// # Errors
///
/// One line.
fn is_tracefile(path: &Path) -> Result<(), Error> {
    if !path.is_file() {
        return Ok(());
    }
    let reading = |e| Error::caused(skep::Error::io(path, "reading the tracefile", e));
    let mut start = Vec::new();
    let file = File::open(path).map_err(reading)?;
    file.take(3).read_to_end(&mut start).map_err(reading)?;
    // Of geninfo(1): the name of a test, which others leave out, or a source file.
    match start.is_empty() || ["TN:", "SF:"].iter().any(|first| start == first.as_bytes()) {
        true => Ok(()),
        false => {
            Err(format!("--coverage: {}: exists and is not a tracefile", path.display()).into())
        }
    }
}

fn create(path: &Path) -> Result<File, Error> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    file.map_err(|e| Error::caused(skep::Error::io(path, "opening for writing", e)))
}

fn inputs(flags: &RunFlags) -> Vec<Named> {
    let file = |name, path: &Option<PathBuf>| path.clone().map(|path| (name, path));
    let text = |name, path: &Option<String>| path.as_ref().map(|path| (name, path.into()));
    let mut all = vec![("the object", flags.file.clone())];
    all.extend(file("--pcap", &flags.pcap));
    all.extend(file("--data-file", &flags.data_file));
    all.extend(text("--ctx-json", &flags.ctx_json));
    all.extend(flags.against.btf.as_ref().map(|path| ("--btf", path.into())));
    let kernels = flags.against.kernel.iter().filter(|name| Path::new(name).is_file());
    all.extend(kernels.map(|path| ("--kernel", path.into())));
    let globals = flags.set_global_vars.iter().filter_map(|text| text.strip_prefix('@'));
    all.extend(globals.map(|path| ("--set-global-vars", path.into())));
    let maps = flags.map.iter().filter_map(|map| Some(map.split_once("=@")?.1));
    all.extend(maps.map(|path| ("--map", path.into())));
    all
}

fn outputs(flags: &RunFlags) -> Vec<Named> {
    let maps = flags.dump_maps.as_ref().filter(|path| *path != "-");
    let coverage = flags.coverage.as_ref().filter(|path| path.as_os_str() != "-");
    let stdout = |path: PathBuf| match path.as_os_str() == "-" {
        true => PathBuf::from("/dev/stdout"),
        false => path,
    };
    let metrics = flags.metrics.as_ref().filter(|target| matches!(place(target), Ok(None)));
    [
        flags.pcap_out.clone().map(|path| ("--pcap-out", stdout(path))),
        maps.map(|path| ("--dump-maps", path.into())),
        coverage.map(|path| ("--coverage", path.clone())),
        flags.html.clone().map(|path| ("--html", path)),
        metrics.map(|path| ("--metrics", path.into())),
        jitdump_file(flags).map(|path| ("--jitdump", path)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
