//! `VerifiedProgram`: a program that the verifier accepted. Only the verifier makes one.

use skep_program::Program;

/// An accepted program with what the verifier learned of it.
#[derive(Clone, Debug)]
pub struct VerifiedProgram {
    program: Program,
    stack_depth_bytes: u32,
}

impl VerifiedProgram {
    pub(crate) fn new(program: Program, stack_depth_bytes: u32) -> VerifiedProgram {
        VerifiedProgram { program, stack_depth_bytes }
    }

    /// The program as it was verified.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Stack of the main function, bytes.
    pub fn stack_depth_bytes(&self) -> u32 {
        self.stack_depth_bytes
    }
}
