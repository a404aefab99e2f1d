//! What profilers are told of machine code: perf's map file, a jitdump file.
//!
//! `perf record -k mono skep run --jitdump jit-0.dump ...`, then `perf inject --jit`; or
//! `--perf-map` for names alone.

use crate::flags::RunFlags;
use skep::jit::JitdumpMarker;
use skep::jit::perf::{Moment, jitdump_header, jitdump_records, perf_map};
use skep::runtime::Instance;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process;

/// Keeps the file announced while programs run.
pub(super) struct Profile {
    _marker: Option<JitdumpMarker>,
}

/// Writes what the flags ask for.
pub(super) fn announce<'a>(
    flags: &RunFlags,
    instances: impl Iterator<Item = &'a Instance> + Clone,
) -> Result<Profile, String> {
    if flags.perf_map {
        let path = format!("/tmp/perf-{}.map", process::id());
        let lines: String = instances
            .clone()
            .filter_map(|instance| Some(perf_map(instance.machine_code()?, instance.name())))
            .collect();
        fs::write(&path, lines).map_err(|e| format!("{path}: {e}"))?;
    }
    let mut marker = None;
    if let Some(path) = &flags.jitdump {
        let written = jitdump(path, instances).map_err(|e| format!("{}: {e}", path.display()))?;
        marker = Some(written);
    }
    Ok(Profile { _marker: marker })
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
        let Some(code) = instance.machine_code() else { continue };
        file.write_all(&jitdump_records(code, instance.name(), (moment, index)))?;
        index += code.symbols().len() as u64;
    }
    JitdumpMarker::new(&file)
}
