//! `--poke`.

use clap::ValueEnum;
use skep::runtime::PokeMode;

/// How statistics and tail calls are switched in running code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Poke {
    /// Patch the code; fall back to flags if the host does not allow it.
    #[default]
    Patch,
    /// Test flags in memory; never modify code.
    Flag,
}

impl From<Poke> for PokeMode {
    fn from(poke: Poke) -> PokeMode {
        match poke {
            Poke::Patch => PokeMode::Patch,
            Poke::Flag => PokeMode::Flag,
        }
    }
}
