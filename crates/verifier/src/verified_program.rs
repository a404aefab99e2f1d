//! `VerifiedProgram`: a program that the verifier accepted. Only the verifier makes one.
//!
//! The insns that run are made when someone asks for them: whoever only wants a verdict pays
//! nothing for the rewrites, and a rewrite that is not modelled changes no verdict.

use crate::fixup::{Walked, translate};
use crate::xlated::{NotSupported, Xlated};
use skep_program::Program;
use std::sync::{Arc, OnceLock};

/// An accepted program with what the verifier learned of it.
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

    /// The program as it was verified.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Stack of all functions together as the kernel's statistics count it, bytes.
    pub fn stack_depth_bytes(&self) -> u32 {
        self.stack_depth_bytes
    }

    /// The insns that run; made at the first call.
    ///
    /// # Errors
    ///
    /// What the program needs and is not modelled.
    pub fn xlated(&self) -> Result<&Arc<Xlated>, &NotSupported> {
        self.xlated.get_or_init(|| translate(&self.program, &self.walked).map(Arc::new)).as_ref()
    }
}
