//! Symbols of machine code for profilers and debuggers: perf's map file, a jitdump file, images for
//! gdb.
//!
//! `perf record -k mono skep run --jitdump . ...`, then `perf inject --jit`. perf reads map files
//! only for anonymous memory, which holds the code only if it cannot be in a memory file; other
//! tools read them for all code.

use super::gdb::Names;
use crate::Error;
use crate::flags::run::RunFlags;
use skep::runtime::Instance;
use skep_runtime::placed_code;
use skep_text::JitdumpMarker;
use skep_text::perf::{Moment, jitdump_header, jitdump_records, perf_map};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

/// Keeps the file announced while programs run.
pub(super) struct Profile {
    _marker: Option<JitdumpMarker>,
    _names: Names,
}

/// Writes what the flags ask for.
pub(super) fn announce<'a>(
    flags: &RunFlags,
    instances: impl Iterator<Item = &'a Instance> + Clone,
) -> Result<Profile, Error> {
    let wrong = |path: &Path, e: io::Error| skep::Error::io(path, "writing", e).to_string();
    if flags.perf_map {
        let path = format!("/tmp/perf-{}.map", process::id());
        let lines: String = instances
            .clone()
            .filter_map(|instance| Some(perf_map(placed_code(instance)?, instance.name())))
            .collect();
        fs::write(&path, lines).map_err(|e| wrong(path.as_ref(), e))?;
    }
    let mut marker = None;
    if let Some(path) = jitdump_file(flags) {
        let written = jitdump(&path, instances.clone());
        marker = Some(written.map_err(|e| wrong(&path, e))?);
    }
    let names = if flags.gdb { Names::tell(instances) } else { Names::default() };
    Ok(Profile { _marker: marker, _names: names })
}

/// The named file, or a file in the named folder, under the only name that perf recognizes.
pub(super) fn jitdump_file(flags: &RunFlags) -> Option<PathBuf> {
    let path = flags.jitdump.clone()?;
    Some(if path.is_dir() { path.join(format!("jit-{}.dump", process::id())) } else { path })
}

fn jitdump<'a>(
    path: &Path,
    instances: impl Iterator<Item = &'a Instance>,
) -> io::Result<JitdumpMarker> {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(true).to_owned();
    let mut file: File = options.open(path)?;
    let moment = Moment::now();
    file.write_all(&jitdump_header(moment))?;
    let mut index = 0;
    for instance in instances {
        let Some(code) = placed_code(instance) else { continue };
        file.write_all(&jitdump_records(code, instance.name(), moment, index))?;
        index += code.symbols().len() as u64;
    }
    JitdumpMarker::new(&file)
}
