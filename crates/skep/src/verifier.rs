//! The parts of the verifier that embedders see: settings and results. [`crate::Session`] calls it.

pub use skep_verifier::{
    BacktrackSkip, ChainFrame, Config, ErrorInjection, FastPaths, HoleKind, IdmapReset, InsnFacts,
    KernelHole, KernelSymbols, MemBytes, NotSupported, Operand, OperandValue, OwnHelper,
    Privileges, RefusedCalls, RefusesCall, StateAlloc, SubprogFacts, TUNING_KEYS, TakesErrors,
    Tuning, TuningKey, UnknownTuning, VerdictOf, VerifiedProgram, Xlated,
};
