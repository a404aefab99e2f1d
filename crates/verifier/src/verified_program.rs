//! `VerifiedProgram`: a program that the verifier accepted. Only the verifier makes one.
//!
//! The insns that run are created on demand: a caller that only wants a verdict pays nothing for
//! the rewrites, and a rewrite that is not modelled does not affect the verdict.

use crate::KernelHole;
use crate::fixup::{Walked, translate};
use crate::xlated::{NotSupported, Xlated};
use skep_program::Program;
use std::sync::{Arc, OnceLock};

/// An accepted program, with what the verifier learned about it.
#[derive(Clone, Debug)]
pub struct VerifiedProgram {
    program: Program,
    stack_depth_bytes: u32,
    walked: Walked,
    xlated: OnceLock<Result<Arc<Xlated>, NotSupported>>,
}

impl VerifiedProgram {
    pub(crate) fn new(program: Program, stack_depth_bytes: u32, walked: Walked) -> VerifiedProgram {
        VerifiedProgram { program, stack_depth_bytes, walked, xlated: OnceLock::new() }
    }

    /// The verified program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Stack bytes of all functions, as the kernel's statistics count them.
    pub fn stack_depth_bytes(&self) -> u32 {
        self.stack_depth_bytes
    }

    /// What makes it unsafe to run, although the kernel accepts it too; the first insn that does
    /// it.
    pub fn kernel_hole(&self) -> Option<KernelHole> {
        self.walked.kernel_hole
    }

    /// The insns that run, after all rewrites; created on first call.
    ///
    /// # Errors
    ///
    /// The program needs something that is not modelled.
    pub fn xlated(&self) -> Result<&Arc<Xlated>, &NotSupported> {
        self.xlated.get_or_init(|| translate(&self.program, &self.walked).map(Arc::new)).as_ref()
    }
}
