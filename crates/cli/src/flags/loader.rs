//! `--loader`.

use clap::ValueEnum;

/// Whose rules decide what can be loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum LoaderFlag {
    /// libbpf 1.x: what it refuses to open or load is refused.
    #[default]
    Libbpf,
    /// Loaders that complete objects themselves (Go, Rust): legacy maps, sections of other names.
    Any,
}

impl From<LoaderFlag> for skep::Loader {
    fn from(flag: LoaderFlag) -> skep::Loader {
        match flag {
            LoaderFlag::Libbpf => skep::Loader::Libbpf,
            LoaderFlag::Any => skep::Loader::Any,
        }
    }
}
