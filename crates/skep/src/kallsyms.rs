//! The running kernel's symbols: `/proc/kallsyms`, read on first use.
//!
//! A kernel has more than a hundred thousand. They are stored as one text plus 16 bytes per symbol,
//! in a hash table by name: a fourth of the memory and time of a map of strings.

use std::hash::Hasher;
use std::io::{BufRead, Read};
use std::path::Path;

/// Bytes per read.
const CHUNK_BYTES: usize = 64 << 10;
/// More than any kernel has.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// Names with their addresses.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// All names, concatenated.
    names: Vec<u8>,
    symbols: Vec<Symbol>,
    /// First symbol of each hash chain; 0 means none, n + 1 the n-th symbol.
    heads: Vec<u32>,
}

#[derive(Debug)]
struct Symbol {
    address: u64,
    /// End of its name in `names`; it starts at the end of the previous one.
    name_end: u32,
    /// The next symbol of its chain, encoded as in `heads`.
    next: u32,
}

impl Symbols {
    /// The running kernel's; empty if they are hidden.
    pub(crate) fn read() -> Symbols {
        Symbols::read_file(Path::new("/proc/kallsyms")).unwrap_or_default()
    }

    /// From a file like `/proc/kallsyms`, which may be gzip-compressed.
    pub(crate) fn read_file(path: &Path) -> std::io::Result<Symbols> {
        let text = std::io::BufReader::with_capacity(CHUNK_BYTES, std::fs::File::open(path)?);
        Ok(match path.extension().is_some_and(|end| end == "gz") {
            true => {
                let plain = flate2::bufread::GzDecoder::new(text).take(TEXT_BYTES_MAX);
                Symbols::parse(std::io::BufReader::with_capacity(CHUNK_BYTES, plain))
            }
            false => Symbols::parse(text.take(TEXT_BYTES_MAX)),
        })
    }

    /// Whether there is a symbol with this name.
    pub(crate) fn any(&self, is: impl Fn(&[u8]) -> bool) -> bool {
        (0..self.symbols.len()).any(|at| is(self.name(at)))
    }

    /// Lines `address type name [module]`; other lines, and everything after a read error, are
    /// ignored.
    pub(crate) fn parse(mut text: impl BufRead) -> Symbols {
        let mut symbols = Symbols::default();
        let mut line = Vec::new();
        while text.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            symbols.add(&line);
            line.clear();
        }
        symbols.index();
        symbols
    }

    fn add(&mut self, line: &[u8]) {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let address = words.next().and_then(|word| {
            let digits = std::str::from_utf8(word).ok()?;
            u64::from_str_radix(digits, 16).ok()
        });
        let (Some(address), Some(_), Some(name)) = (address, words.next(), words.next()) else {
            return;
        };
        if let Ok(name_end) = u32::try_from(self.names.len() + name.len()) {
            self.names.extend_from_slice(name);
            self.symbols.push(Symbol { address, name_end, next: 0 });
        }
    }

    /// Builds the chains, starting with the last symbol, so that the first of a name is found
    /// first.
    fn index(&mut self) {
        self.names.shrink_to_fit();
        self.symbols.shrink_to_fit();
        self.heads = vec![0; self.symbols.len().next_power_of_two()];
        for at in (0..self.symbols.len()).rev() {
            let slot = self.slot(self.name(at));
            self.symbols[at].next = self.heads[slot];
            self.heads[slot] = at as u32 + 1;
        }
    }

    /// The first address for a name.
    pub(crate) fn address(&self, name: &str) -> Option<u64> {
        let mut next = *self.heads.get(self.slot(name.as_bytes()))?;
        while next != 0 {
            let at = next as usize - 1;
            if self.name(at) == name.as_bytes() {
                return Some(self.symbols[at].address);
            }
            next = self.symbols[at].next;
        }
        None
    }

    fn name(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.symbols[before].name_end);
        &self.names[start as usize..self.symbols[at].name_end as usize]
    }

    fn slot(&self, name: &[u8]) -> usize {
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write(name);
        hasher.finish() as usize & self.heads.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_of_a_name_counts() {
        let text = "ff00 T one\nbad\nff08 t one\nff10 d two [mod]\n\nzz t three\nff18 t last";
        let symbols = Symbols::parse(text.as_bytes());
        assert_eq!(symbols.address("one"), Some(0xff00));
        assert_eq!(symbols.address("two"), Some(0xff10));
        assert_eq!(symbols.address("last"), Some(0xff18));
        for absent in ["three", "bad", "", "on", "onetwo"] {
            assert_eq!(symbols.address(absent), None, "{absent}");
        }
        assert_eq!(Symbols::default().address("one"), None);
        assert_eq!(Symbols::parse(&b""[..]).address("one"), None);
    }

    #[test]
    fn every_symbol_is_found_among_many() {
        let text: String = (0..1000).map(|n| format!("{:x} t symbol_{n}\n", n * 16)).collect();
        let symbols = Symbols::parse(text.as_bytes());
        for n in 0..1000 {
            assert_eq!(symbols.address(&format!("symbol_{n}")), Some(n * 16));
        }
        assert_eq!(symbols.address("symbol_1000"), None);
    }
}
