//! The files that `skep run` writes: known to be writable before the program runs, and never one
//! that it reads; only maps may go back to where they came from.
//!
//! # Invariants
//! 1. Nothing is cut off or written before [`check`] has found all outputs to be files of their
//!    own.

use super::profile::jitdump_file;
use super::stats::place;
use crate::flags::RunFlags;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is open for writing; files are as they were so far.
#[derive(Default)]
pub(super) struct Outputs {
    pub(super) pcap: Option<File>,
    pub(super) maps: Option<File>,
}

/// A flag and its file.
type Named = (&'static str, PathBuf);

/// No output is a file that is read, or another output.
///
/// # Errors
///
/// One line.
pub(super) fn check(flags: &RunFlags) -> Result<(), String> {
    let read: Vec<_> = inputs(flags).into_iter().filter_map(with_id).collect();
    for (name, path, id) in outputs(flags).into_iter().filter_map(with_id) {
        let is_kept = |other: &str| (name, other) == ("--dump-maps", "--map");
        let same = read.iter().find(|(other, _, input)| *input == id && !is_kept(other));
        if let Some((other, ..)) = same {
            let path = path.display();
            return Err(format!("{path}: {name} would overwrite what is read ({other})"));
        }
    }
    let mut files = Vec::new();
    for (name, path) in outputs(flags) {
        let Some(file) = file_of(&path) else { continue };
        if files.contains(&file) {
            return Err(format!("{}: two outputs in one file ({name})", path.display()));
        }
        files.push(file);
    }
    Ok(())
}

/// What tells apart files that are there, and those that are not yet; nothing does devices and
/// pipes, which may be written twice.
#[derive(PartialEq)]
enum Place {
    There((u64, u64)),
    NotYet(PathBuf),
}

fn file_of(path: &Path) -> Option<Place> {
    match std::fs::metadata(path) {
        Ok(metadata) => id(&metadata).map(Place::There),
        Err(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(Place::NotYet(folder.join(path.file_name()?)))
        }
    }
}

impl Outputs {
    /// Opens what is written when the runs have ended.
    ///
    /// # Errors
    ///
    /// One line: a file cannot be written.
    pub(super) fn open(flags: &RunFlags) -> Result<Outputs, String> {
        let mut opened = Outputs::default();
        for (name, path) in outputs(flags) {
            match name {
                "--pcap-out" => opened.pcap = Some(create(&path)?),
                "--dump-maps" => opened.maps = Some(create(&path)?),
                // The others write their files themselves.
                _ => {}
            }
        }
        Ok(opened)
    }
}

/// What is in the file goes; pipes and devices hold nothing.
pub(super) fn cut_off(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}

fn create(path: &Path) -> Result<File, String> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    file.map_err(|e| format!("{}: while opening for writing: {e}", path.display()))
}

fn inputs(flags: &RunFlags) -> Vec<Named> {
    let file = |name, path: &Option<PathBuf>| path.clone().map(|path| (name, path));
    let text = |name, path: &Option<String>| path.as_ref().map(|path| (name, path.into()));
    let mut all = vec![("the object", flags.file.clone())];
    all.extend(file("--pcap", &flags.pcap));
    all.extend(file("--data-file", &flags.data_file));
    all.extend(text("--ctx-json", &flags.ctx_json));
    all.extend(text("--btf", &flags.btf));
    let maps = flags.map.iter().filter_map(|map| Some(map.split_once("=@")?.1));
    all.extend(maps.map(|path| ("--map", path.into())));
    all
}

fn outputs(flags: &RunFlags) -> Vec<Named> {
    let maps = flags.dump_maps.as_ref().filter(|path| *path != "-");
    let metrics = flags.metrics.as_ref().filter(|target| matches!(place(target), Ok(None)));
    [
        flags.pcap_out.clone().map(|path| ("--pcap-out", path)),
        maps.map(|path| ("--dump-maps", path.into())),
        metrics.map(|path| ("--metrics", path.into())),
        jitdump_file(flags).map(|path| ("--jitdump", path)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn with_id((name, path): Named) -> Option<(&'static str, PathBuf, (u64, u64))> {
    let id = id(&std::fs::metadata(&path).ok()?)?;
    Some((name, path, id))
}

/// What tells files apart; devices and pipes may be used twice.
fn id(metadata: &Metadata) -> Option<(u64, u64)> {
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}
