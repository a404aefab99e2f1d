//! Text files that are compressed (gzip) if their name ends in `.gz`.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

/// The text of a file, compressed or not.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    let mut text = String::new();
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text)?,
        false => (&bytes[..]).read_to_string(&mut text)?,
    };
    Ok(text)
}

/// Writes a file, compressed according to its name; the same text gives the same bytes.
pub(crate) fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    if path.extension().is_none_or(|end| end != "gz") {
        return fs::write(path, text);
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(text)?;
    fs::write(path, packed.finish()?)
}
