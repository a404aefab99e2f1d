//! Edits of an object's bytes, like those of a broken linker or an attacker.

use skep::object::{Object, OpenOptions};
use skep::program::Program;
use skep::{Host, Loader};
use skep_kernel::judge::as_loaded;
use skep_testkit::rng::Rng;
use std::path::Path;

/// Larger objects are not used, bytes.
pub(super) const OBJECT_MAX: usize = 256 << 10;
/// Bytes of the file's header.
const HEADER: u64 = 64;

/// Changes up to four bytes or words, and says where.
pub(super) fn edit(rng: &mut Rng, bytes: &mut [u8]) -> Vec<String> {
    let len = bytes.len() as u64;
    if len < HEADER {
        return Vec::new();
    }
    (0..1 + rng.below(4)).map(|_| edit_one(rng, bytes)).collect()
}

fn edit_one(rng: &mut Rng, bytes: &mut [u8]) -> String {
    let len = bytes.len() as u64;
    let at = match rng.below(12) {
        0 => rng.below(HEADER),
        // Section and symbol tables are mostly at the end.
        1..5 => len - 1 - rng.below(len / 4),
        _ => rng.below(len),
    } as usize;
    let wide = rng.chance(40) && at + 4 <= bytes.len();
    if wide {
        let words = [0u32, 1, u32::MAX, 0x7fff_ffff, 0x8000_0000, 0x1_0000, len as u32];
        let word = rng.pick(&words);
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        return format!("word {at:#x} = {word:#x}");
    }
    let was = bytes[at];
    bytes[at] = match rng.below(4) {
        0 => was.wrapping_add(1),
        1 => was.wrapping_sub(1),
        2 => was ^ 1 << rng.below(8),
        _ => rng.below(256) as u8,
    };
    format!("byte {at:#x} = {:#x}", bytes[at])
}

/// One program of the object, regardless of whether libbpf would load the others; if there is none,
/// the loader's error.
pub(super) fn program(
    rng: &mut Rng,
    bytes: &[u8],
    path: &Path,
    host: &Host,
) -> Result<Program, String> {
    let options = OpenOptions { loader: Loader::Any, ..host.open_options(path) };
    let object = Object::open(bytes, &options).map_err(|e| e.to_string())?;
    let programs: Vec<_> = object.programs.iter().collect();
    if programs.is_empty() {
        return Err("no program".to_owned());
    }
    let entry = programs[rng.below(programs.len() as u64) as usize];
    match &entry.program {
        Ok(program) => Ok(as_loaded(program).into_owned()),
        Err(why) => Err(why.to_string()),
    }
}
