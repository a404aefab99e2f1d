//! The parts of the verifier that embedders see: settings and results. [`crate::Session`] calls it.

pub use skep_verifier::trace::{Bounds, Pointee, RegValue, RegView};
pub use skep_verifier::{
    BacktrackSkip, Base, ChainFrame, Config, ErrorInjection, FastPaths, HoleKind, IdmapReset,
    InsnFacts, KernelHole, KernelSymbols, MemBytes, NotSupported, Operand, OperandValue, OwnHelper,
    Privileges, RefusedCalls, RefusesCall, RegType, StateAlloc, SubprogFacts, TUNING_KEYS,
    TakesErrors, Tuning, TuningKey, UnknownTuning, VerdictOf, VerifiedProgram, Xlated,
};
