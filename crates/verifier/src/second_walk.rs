//! The second walk, for programs whose first walk relied on an unsound rule of the kernel, or on
//! the rules of another kernel than the reference.

use crate::config::Config;
use crate::env::{Env, Setup, Trace};
use crate::judge::{Verdict, judge};
use crate::kernel_hole::{Doubt, HoleKind, KernelHole, Unsound};
use crate::tuning::{BacktrackSkip, Tuning};
use crate::verified_program::VerifiedProgram;
use crate::xlated::{NotSupported, Xlated};
use skep_insn::InsnIdx;
use skep_program::Program;
use skep_uapi::KernelProfile;
use std::sync::Arc;

impl Doubt {
    /// The doubt about a program whose walk has been completed: it relied on an unsound rule, or on
    /// the rules of another kernel than the reference.
    pub(crate) fn of(config: &Config, hole: Option<KernelHole>) -> Option<Doubt> {
        let tuning = Tuning { backtrack_skip: BacktrackSkip::Off, ..config.tuning };
        let config = Config { log_level: 0, tuning, ..config.clone() };
        let doubt = Doubt { hole, config };
        (hole.is_some() || doubt.is_of_another_kernel()).then_some(doubt)
    }

    fn is_of_another_kernel(&self) -> bool {
        let rules = &self.config.profile.behaviours;
        rules.to_run() != *rules
    }

    /// The configuration of the second walk.
    pub(crate) fn config_to_run(&self) -> Config {
        let here = &self.config.profile;
        let profile = KernelProfile {
            behaviours: here.behaviours.to_run(),
            helpers_end: here.helpers_end,
            attach_end: here.attach_end,
            ctx_fields: here.ctx_fields,
            insns: here.insns,
            words: here.words,
            ..KernelProfile::v6_18()
        };
        Config { profile, ..self.config.clone() }
    }

    /// The program as verified by the second walk, or the unsound rule on which it relies.
    pub(crate) fn walked_again(&self, program: &Program) -> Result<Box<VerifiedProgram>, Unsound> {
        let (insn_idx, why) = match walk(program, &self.config_to_run()) {
            Ok(sound) => {
                return match sound.walked.kernel_hole {
                    Some(hole) => Err(hole.into()),
                    None => Ok(sound),
                };
            }
            Err(refused) => refused,
        };
        // A third walk tells whose fault it is.
        if let Some(hole) = self.hole
            && (!self.is_of_another_kernel() || walk(program, &self.config).is_err())
        {
            return Err(hole.into());
        }
        let hole = KernelHole { insn_idx, kind: HoleKind::OtherRules };
        Err(Unsound { hole, why: Some(why.into()) })
    }
}

/// A sound walk; or where it ends, and why.
fn walk(program: &Program, config: &Config) -> Result<Box<VerifiedProgram>, (InsnIdx, String)> {
    let setup = Setup::new(program, config, true, Trace::new(config));
    match judge(setup).0.verdict {
        Verdict::Accepted(sound) => Ok(sound),
        Verdict::Rejected(it) => {
            Err((InsnIdx(it.insn_idx.unwrap_or(0)), it.message.replace('\n', "; ")))
        }
        Verdict::Unsupported(what) | Verdict::Bug(what) => Err((InsnIdx(0), what)),
        Verdict::OutOfMemory => Err((InsnIdx(0), "they need more memory".to_owned())),
    }
}

impl VerifiedProgram {
    /// Why the program must not be run although the kernel accepts it. If the first walk does not
    /// decide this, the first call verifies the program again.
    pub fn kernel_hole(&self) -> Option<KernelHole> {
        self.unsound().map(|unsound| unsound.hole)
    }

    /// The same for people, with what the second walk says.
    pub fn why_not_to_run(&self) -> Option<String> {
        self.unsound().map(|unsound| unsound.to_string())
    }

    fn unsound(&self) -> Option<Unsound> {
        if let Some(hole) = self.walked.kernel_hole {
            return Some(hole.into());
        }
        self.sound()?.as_ref().err().cloned()
    }

    /// The second walk; `None` if it is not needed.
    fn sound(&self) -> Option<&Result<Box<VerifiedProgram>, Unsound>> {
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
