//! `Diagnosis`: why a program is not accepted, as a person needs it: what is wrong in plain words,
//! the source line to look at, what was known there since when, and what to do about it.
//!
//! [`Session::diagnose`] makes it from a verification, [`Session::diagnose_load`] from a load
//! error. Nothing here knows how it is shown.
//!
//! Reading order: `refused` (the parts of a diagnosis, in order), `notes`, `history` (the values
//! of registers), `missing_check` (the comparison that was meant), `held`, `budget`; `dataflow` is
//! what they know of a path.

mod advice;
mod budget;
mod ctx_field;
mod dataflow;
mod declared;
pub(crate) mod externs;
mod held;
mod history;
mod inlined;
mod load;
mod missing_check;
mod moved;
mod near;
mod notation;
mod note;
mod notes;
mod refused;
mod rule;
mod value;

pub use note::Note;
#[doc(hidden)]
pub use rule::DecidingRule;
pub use value::{Diagnosis, Severity};

use crate::Session;
use crate::verification::{Verdict, Verification, VerifyOptions};
use skep_btf::Btf;
use skep_object::ObjectProgram;
use skep_program::Program;

impl Session {
    /// Explains why a program is not accepted; `None` if it is.
    ///
    /// `verification` is that of `program` by this session with `options`. If it is a refusal and
    /// kept no path ([`VerifyOptions::path_bytes_max`]), the program is verified again to get it;
    /// so it is to measure where the insns went if there are too many
    /// ([`Verification::is_over_insn_limit`]).
    pub fn diagnose(
        &self,
        program: &Program,
        verification: &Verification,
        options: &VerifyOptions,
    ) -> Option<Diagnosis> {
        let without = |code, message: &str| Diagnosis::of_code(Severity::Warning, code, message);
        Some(match &verification.verdict {
            Verdict::Accepted(_) => return None,
            Verdict::Rejected(refusal) => {
                refused::diagnosis(self, program, refusal, verification, options)
            }
            Verdict::Unsupported(what) => {
                without("unsupported", &format!("not supported yet: {what}"))
            }
            Verdict::OutOfMemory => {
                let bytes = verification.counts.mem_peak_bytes;
                without("out-of-memory", &format!("needs at least {bytes} bytes of memory"))
            }
            Verdict::Bug(what) => without("internal-error", what),
        })
    }

    /// Explains why a program of an object cannot be loaded; `None` if it can. `btf` is the
    /// object's.
    pub fn diagnose_load(&self, entry: &ObjectProgram, btf: Option<&Btf>) -> Option<Diagnosis> {
        let error = entry.program.as_ref().err()?;
        Some(load::diagnosis(self, &entry.name, error, btf))
    }
}
