//! Programs of shapes that verifiers found hard (filled in by further files).

use crate::random::generate::{self, Rng};
use skep::btf::Btf;
use skep::program::Program;
use std::sync::Arc;

/// The next program.
pub(super) fn program(rng: &mut Rng, _kernel_btf: Option<&Arc<Btf>>) -> Program {
    generate::program(rng.below(u64::MAX >> 12))
}
