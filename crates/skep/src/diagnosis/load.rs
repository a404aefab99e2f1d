//! Programs that fail before the verifier.

use super::advice::Advice;
use super::value::{Diagnosis, Severity};
use super::{declared, externs, near};
use crate::{Refusal, Session};
use skep_btf::Btf;
use skep_object::Error;

/// Why a program of an object cannot be loaded; a warning if too little is known of the kernel.
pub(super) fn diagnosis(
    session: &Session,
    prog: &str,
    error: &Error,
    btf: Option<&Btf>,
) -> Diagnosis {
    let at = error.place().cloned();
    let Some(refusal) = &Refusal::of_load(error) else {
        let message = error.to_string();
        let message = message.strip_prefix(&format!("program {prog}: ")).unwrap_or(&message);
        let known = Diagnosis::of_code(Severity::Warning, "unsupported", message);
        return Diagnosis { at, ..known };
    };
    let kernel_btf = session.host.kernel_btf.as_deref();
    let similar_names = near::names(&refusal.message, kernel_btf);
    let mut known = externs::notes(&refusal.message, btf, kernel_btf);
    known.extend(near::note(&similar_names));
    let advice = Advice::of(&refusal.kind, &refusal.message, &known, |_| None);
    let declared = declared::note(refusal, prog, at.as_ref());
    let notes = declared.into_iter().chain(known).collect();
    let known = Diagnosis::advised(Severity::Error, &refusal.kind, &refusal.message, advice);
    Diagnosis { at, notes, similar_names, ..known }
}
