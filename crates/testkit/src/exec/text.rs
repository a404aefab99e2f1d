//! The text of a `run` block.

use super::Input;
use crate::suite::Case;
use skep::program::MapDef;
use std::fmt::Write as _;

/// The result of one run.
pub(super) struct Output {
    /// The low half, which a test run returns.
    pub(super) r0: u32,
    /// The context if it consists of words, otherwise the packet.
    pub(super) bytes: Vec<u8>,
}

/// Appends the line of one run.
pub(super) fn run_line(text: &mut String, input: &Input, output: &Output) {
    // Writing to a string cannot fail.
    let _ = match input {
        Input::Words(words) => {
            let (chunks, _) = output.bytes.as_chunks::<8>();
            let after: Vec<u64> = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
            let after = if after == *words { String::new() } else { format!(";{}", join(&after)) };
            writeln!(text, "{} -> r0 = {:#x}{after}", join(words).trim_start(), output.r0)
        }
        Input::Packet(packet) if output.bytes == *packet => {
            writeln!(text, "{} bytes -> r0 = {:#x}", packet.len(), output.r0)
        }
        Input::Packet(packet) => {
            let after = hex(&output.bytes);
            writeln!(text, "{} bytes -> r0 = {:#x}; {after}", packet.len(), output.r0)
        }
    };
}

fn join(words: &[u64]) -> String {
    words.iter().map(|word| format!(" {word:#x}")).collect()
}

/// Bytes in hexadecimal, as packets are written in the suites.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Maps of the case that are printed at the end: index and definition, in order.
pub(super) fn dumped<'a>(case: &'a Case, maps: &'a [MapDef]) -> Vec<(usize, &'a MapDef)> {
    let shown = |map: &MapDef| case.options.map.get(&map.name).is_some_and(|options| options.dump);
    maps.iter().enumerate().filter(|(_, map)| shown(map)).collect()
}

/// A key and its value.
pub(super) type Entry = (Vec<u8>, Vec<u8>);

/// Appends the entries of a map, sorted by key.
pub(super) fn map_lines(text: &mut String, name: &str, mut entries: Vec<Entry>) {
    entries.sort();
    for (key, value) in entries {
        let _ = writeln!(text, "{name}[{}] = {}", hex(&key), hex(&value));
    }
}
