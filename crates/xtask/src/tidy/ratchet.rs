//! A table of numbers by name that may only shrink.

use super::tree::Breaches;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub(super) type Numbers = BTreeMap<String, usize>;

/// A file that stores such a table.
pub(super) struct Ratchet {
    pub(super) file: &'static str,
    /// Its first lines.
    pub(super) head: &'static str,
    /// The message for a name with a smaller number.
    pub(super) fewer: &'static str,
}

impl Ratchet {
    /// Compares with what is stored; `more` says what is wrong with a larger number, given the
    /// name, the number and the stored one.
    pub(super) fn check(
        &self,
        root: &Path,
        now: &Numbers,
        breaches: &mut Breaches,
        more: impl Fn(&str, usize, usize) -> String,
    ) {
        let stored = match self.read(root) {
            Ok(stored) => stored,
            Err(error) => return breaches.push(format!("{}: {error}", self.file)),
        };
        for (name, &number) in now {
            let limit = stored.get(name).copied().unwrap_or(0);
            if number > limit {
                breaches.push(more(name, number, limit));
            }
        }
        for (name, limit) in &stored {
            if now.get(name).is_none_or(|number| number < limit) {
                let Ratchet { file, fewer, .. } = self;
                breaches.push(format!("{file}: {name} {fewer}; run `cargo xtask tidy --shrink`"));
            }
        }
    }

    /// Lowers the stored numbers, and removes the names that have none any more.
    pub(super) fn shrink(
        &self,
        root: &Path,
        now: &Numbers,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let lower = |(name, limit): (String, usize)| {
            now.get(&name).map(|&number| (name, limit.min(number)))
        };
        let shrunk: Numbers = self.read(root)?.into_iter().filter_map(lower).collect();
        let text = format!("{}{}", self.head, toml::to_string(&shrunk)?);
        Ok(fs::write(root.join(self.file), text)?)
    }

    fn read(&self, root: &Path) -> Result<Numbers, String> {
        match fs::read_to_string(root.join(self.file)) {
            Ok(text) => toml::from_str(&text).map_err(|e| e.to_string()),
            Err(_) => Ok(Numbers::new()),
        }
    }
}
