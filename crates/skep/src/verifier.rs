//! What embedders see of the verifier: settings, and what it makes. [`crate::Session`] calls it.

pub use skep_verifier::{
    BacktrackSkip, ChainFrame, Config, ErrorInjection, FastPaths, HoleKind, IdmapReset, InsnFacts,
    KernelHole, KernelSymbols, MemBytes, NotSupported, OwnHelper, Privileges, StateAlloc,
    SubprogFacts, TUNING_KEYS, TakesErrors, Tuning, TuningKey, UnknownTuning, VerifiedProgram,
    Xlated,
};
