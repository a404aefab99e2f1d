//! The second walk, for programs whose first walk relied on an unsound rule of the kernel.

use crate::config::Config;
use crate::env::{Env, Setup, Trace};
use crate::judge::{Verdict, judge};
use crate::kernel_hole::{Doubt, HoleKind, KernelHole};
use crate::tuning::{BacktrackSkip, Tuning};
use crate::verified_program::VerifiedProgram;
use crate::xlated::{NotSupported, Xlated};
use skep_insn::InsnIdx;
use skep_program::Program;
use std::sync::Arc;

impl Doubt {
    /// The doubt about a program whose walk has been completed.
    pub(crate) fn of(config: &Config, hole: Option<KernelHole>) -> Option<Doubt> {
        let hole = hole?;
        let tuning = Tuning { backtrack_skip: BacktrackSkip::Off, ..config.tuning };
        let config = Config { log_level: 0, tuning, ..config.clone() };
        Some(Doubt { hole, config })
    }

    /// The program as verified by the second walk, or the unsound rule on which it relies.
    pub(crate) fn walked_again(
        &self,
        program: &Program,
    ) -> Result<Box<VerifiedProgram>, KernelHole> {
        let setup = Setup::new(program, &self.config, true, Trace::new(&self.config));
        match judge(setup).0.verdict {
            Verdict::Accepted(sound) => Ok(sound),
            _ => Err(self.hole),
        }
    }
}

impl VerifiedProgram {
    /// Why the program must not be run although the kernel accepts it. If the first walk does not
    /// decide this, the first call verifies the program again.
    pub fn kernel_hole(&self) -> Option<KernelHole> {
        self.walked.kernel_hole.or_else(|| self.sound()?.as_ref().err().copied())
    }

    /// The second walk; `None` if it is not needed.
    fn sound(&self) -> Option<&Result<Box<VerifiedProgram>, KernelHole>> {
        let doubt = self.doubt()?;
        if let Some(known) = self.sound.get() {
            return Some(known);
        }
        // Not computed under a lock: after `fork`, a thread that holds it would not exist in the
        // child.
        let walked = doubt.walked_again(self.program());
        Some(self.sound.get_or_init(|| walked))
    }

    /// The insns to run. They differ from [`VerifiedProgram::xlated`] if the kernel's walk misses
    /// paths that a run can take: it then removes checks and functions as dead that the run needs.
    /// The first call may verify the program again.
    ///
    /// # Errors
    ///
    /// The program needs something that is not modelled.
    pub fn insns_to_run(&self) -> Result<&Arc<Xlated>, &NotSupported> {
        match self.sound() {
            Some(Ok(sound)) => sound.xlated(),
            _ => self.xlated(),
        }
    }
}

impl Env<'_> {
    /// Records that the current insn relies on an unsound rule.
    pub(crate) fn goes_through(&mut self, kind: HoleKind) {
        let hole = KernelHole { insn_idx: InsnIdx(self.walk.insn_idx), kind };
        self.learned.kernel_hole.get_or_insert(hole);
    }

    /// Records that the current insn may rely on an unsound rule. True if the sound rule applies
    /// instead.
    pub(crate) fn goes_by(&mut self, kind: HoleKind) -> bool {
        let hole = KernelHole { insn_idx: InsnIdx(self.walk.insn_idx), kind };
        self.learned.doubt.get_or_insert(hole);
        self.facts.sound
    }
}
