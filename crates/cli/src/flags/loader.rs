//! `--loader`.

use clap::ValueEnum;

/// The loader whose rules apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum LoaderFlag {
    /// libbpf 1.x: reject what it refuses to open or load.
    #[default]
    Libbpf,
    /// Other loaders (Go, Rust): also accept legacy maps and unknown section names.
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
