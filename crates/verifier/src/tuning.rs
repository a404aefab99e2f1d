//! `Tuning`: switches between optimised and simpler implementations of the engine.
//!
//! Each setting affects only the cost of a verification: verdict, counts and log are the same under
//! every combination. The simpler implementations are kept so that anybody can measure what the
//! optimisations are worth.

use std::fmt;

/// How the id map is cleared before each comparison of two states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdmapReset {
    /// The whole table is overwritten, and searched from its start.
    Memset,
    /// A generation number is incremented; older entries count as absent.
    #[default]
    Counter,
}

/// How saved states are allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateAlloc {
    /// One allocation each, from the general allocator.
    Heap,
    /// An arena, recycled through a free list.
    #[default]
    Arena,
}

/// Whether backtracking skips registers and slots that are already precise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BacktrackSkip {
    /// It backtracks through the history again.
    Off,
    /// It skips them.
    #[default]
    On,
}

/// Engine settings; the default is the fast choice for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// `idmap_reset`: `memset` or `counter`.
    pub idmap_reset: IdmapReset,
    /// `state_alloc`: `heap` or `arena`.
    pub state_alloc: StateAlloc,
    /// `backtrack_skip`: `off` or `on`.
    pub backtrack_skip: BacktrackSkip,
}

/// A setting's key and values.
#[derive(Clone, Copy, Debug)]
pub struct TuningKey {
    /// The key.
    pub name: &'static str,
    /// Its values: the older algorithm first, the default last.
    pub values: [&'static str; 2],
    /// A short description.
    pub about: &'static str,
}

/// All keys.
pub const TUNING_KEYS: [TuningKey; 3] = [
    TuningKey {
        name: "idmap_reset",
        values: ["memset", "counter"],
        about: "how the id map is cleared before two states are compared",
    },
    TuningKey {
        name: "state_alloc",
        values: ["heap", "arena"],
        about: "where saved states are allocated",
    },
    TuningKey {
        name: "backtrack_skip",
        values: ["off", "on"],
        about: "whether backtracking skips what is already precise",
    },
];

/// An unknown `key=value`; its message lists the known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTuning(String);

impl fmt::Display for UnknownTuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no such tuning: {}; known:", self.0)?;
        for (i, key) in TUNING_KEYS.iter().enumerate() {
            let sep = if i == 0 { " " } else { ", " };
            write!(f, "{sep}{}={}", key.name, key.values.join("|"))?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownTuning {}

impl Tuning {
    /// Changes one setting, given as `key=value`.
    pub fn set(&mut self, setting: &str) -> Result<(), UnknownTuning> {
        match setting {
            "idmap_reset=memset" => self.idmap_reset = IdmapReset::Memset,
            "idmap_reset=counter" => self.idmap_reset = IdmapReset::Counter,
            "state_alloc=heap" => self.state_alloc = StateAlloc::Heap,
            "state_alloc=arena" => self.state_alloc = StateAlloc::Arena,
            "backtrack_skip=off" => self.backtrack_skip = BacktrackSkip::Off,
            "backtrack_skip=on" => self.backtrack_skip = BacktrackSkip::On,
            _ => return Err(UnknownTuning(setting.to_string())),
        }
        Ok(())
    }

    /// Every combination of the settings.
    pub fn all() -> impl Iterator<Item = Tuning> {
        let settings = |i: usize| {
            let mut tuning = Tuning::default();
            for (k, key) in TUNING_KEYS.iter().enumerate() {
                let value = key.values[i >> k & 1];
                // The table above holds only settings that exist; a test asserts it.
                let _ = tuning.set(&format!("{}={value}", key.name));
            }
            tuning
        };
        (0..1 << TUNING_KEYS.len()).map(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_setting_exists_and_the_last_is_the_default() {
        let mut tuning = Tuning {
            idmap_reset: IdmapReset::Memset,
            state_alloc: StateAlloc::Heap,
            backtrack_skip: BacktrackSkip::Off,
        };
        for key in TUNING_KEYS {
            let [older, newer] = key.values;
            assert_eq!(tuning.set(&format!("{}={older}", key.name)), Ok(()));
            assert_eq!(tuning.set(&format!("{}={newer}", key.name)), Ok(()));
        }
        assert_eq!(tuning, Tuning::default());
        let mut all: Vec<String> = Tuning::all().map(|t| format!("{t:?}")).collect();
        all.dedup();
        assert_eq!(all.len(), 8);
    }

    #[test]
    fn an_unknown_key_lists_the_known_ones() {
        let text = Tuning::default().set("idmap=fast").unwrap_err().to_string();
        assert!(text.contains("idmap=fast") && text.contains("state_alloc=heap|arena"), "{text}");
    }
}
