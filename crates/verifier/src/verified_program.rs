//! `VerifiedProgram`: a program that the verifier accepted. Only the verifier can create one.
//!
//! The insns to run are created on demand: a caller that only wants a verdict does not pay for the
//! rewrites, and a rewrite that is not modelled does not affect the verdict.

use crate::fixup::{Walked, translate};
use crate::kernel_hole::{Doubt, Unsound};
use crate::xlated::{NotSupported, Xlated};
use skep_program::Program;
use std::sync::{Arc, OnceLock};

/// An accepted program, with what the verifier learned about it.
#[derive(Clone, Debug)]
pub struct VerifiedProgram {
    program: Program,
    stack_depth_bytes: u32,
    pub(crate) walked: Walked,
    doubt: Option<Doubt>,
    nr_cpu_ids: u32,
    /// The result of the second walk, under sound rules.
    pub(crate) sound: OnceLock<Result<Box<VerifiedProgram>, Unsound>>,
    xlated: OnceLock<Result<Arc<Xlated>, NotSupported>>,
}

impl VerifiedProgram {
    pub(crate) fn new(
        program: Program,
        stack_depth_bytes: u32,
        walked: Walked,
        doubt: Option<Doubt>,
        nr_cpu_ids: u32,
    ) -> VerifiedProgram {
        let (sound, xlated) = (OnceLock::new(), OnceLock::new());
        VerifiedProgram { program, stack_depth_bytes, walked, doubt, nr_cpu_ids, sound, xlated }
    }

    /// The verified program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Whether some path of the walk reached an insn.
    pub fn was_walked(&self, insn_idx: usize) -> bool {
        self.walked.seen(&self.program.insns, insn_idx)
    }

    /// Stack bytes of all functions, as the kernel's statistics count them.
    pub fn stack_depth_bytes(&self) -> u32 {
        self.stack_depth_bytes
    }

    /// The number of possible CPUs that was assumed: `bpf_get_smp_processor_id` returns a smaller
    /// number, and the program may rely on that.
    pub fn nr_cpu_ids(&self) -> u32 {
        self.nr_cpu_ids
    }

    /// Why it has to be verified a second time before it runs.
    pub(crate) fn doubt(&self) -> Option<&Doubt> {
        self.doubt.as_ref()
    }

    /// The insns after all rewrites, as in the kernel; created on first call. An engine runs
    /// [`VerifiedProgram::insns_to_run`].
    ///
    /// # Errors
    ///
    /// The program needs something that is not modelled.
    pub fn xlated(&self) -> Result<&Arc<Xlated>, &NotSupported> {
        if let Some(known) = self.xlated.get() {
            return known.as_ref();
        }
        let made = translate(&self.program, &self.walked).map(Arc::new);
        self.xlated.get_or_init(|| made).as_ref()
    }
}
