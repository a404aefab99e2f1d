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
    /// Of a walk that came to its end.
    pub(crate) fn of(config: &Config, hole: Option<KernelHole>) -> Option<Doubt> {
        let hole = hole?;
        let tuning = Tuning { backtrack_skip: BacktrackSkip::Off, ..config.tuning };
        let config = Config { log_level: 0, tuning, ..config.clone() };
        Some(Doubt { hole, config })
    }

    /// The program as the second walk leaves it; the hole, if it goes through one.
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
    /// Why the program must not be run, although the kernel accepts it too. If the first walk does
    /// not decide this, the first call walks the program once more.
    pub fn kernel_hole(&self) -> Option<KernelHole> {
        self.walked.kernel_hole.or_else(|| self.sound()?.as_ref().err().copied())
    }

    /// The second walk; `None` if there is no need of it.
    fn sound(&self) -> Option<&Result<Box<VerifiedProgram>, KernelHole>> {
        let doubt = self.doubt()?;
        if let Some(known) = self.sound.get() {
            return Some(known);
        }
        // Nobody waits for a thread that is at it, which a child of `fork` may not have.
        let walked = doubt.walked_again(self.program());
        Some(self.sound.get_or_init(|| walked))
    }

    /// The insns that are to run. They are not those of [`VerifiedProgram::xlated`] where the
    /// kernel's walk does not come everywhere that a run comes: it drops checks and functions as
    /// dead that a run needs. The first call may walk the program once more.
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
    /// The insn at hand goes through a hole.
    pub(crate) fn goes_through(&mut self, kind: HoleKind) {
        let hole = KernelHole { insn_idx: InsnIdx(self.walk.insn_idx), kind };
        self.learned.kernel_hole.get_or_insert(hole);
    }

    /// The insn at hand goes by a hole. True if the rules that the kernel lacks are in force.
    pub(crate) fn goes_by(&mut self, kind: HoleKind) -> bool {
        let hole = KernelHole { insn_idx: InsnIdx(self.walk.insn_idx), kind };
        self.learned.doubt.get_or_insert(hole);
        self.facts.sound
    }
}
