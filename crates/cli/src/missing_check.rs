//! The missing or ineffective check is at another insn than the access: finds the comparison that
//! was probably meant, and why it is not effective.

mod bounds;
mod packet;

use crate::lineage::Lineage;
use crate::story::Described;
use skep::program::Program;
use skep::{Refusal, WalkedPath};
use skep_report::Note;

/// Notes about the checks on the path to a rejection because of a missing one.
pub(crate) fn notes(
    refusal: &Refusal,
    path: &WalkedPath,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Vec<Note> {
    match refusal.kind.as_str() {
        "beyond-packet" => packet::note(refusal, &Lineage::of(path, program), program, describe)
            .into_iter()
            .collect(),
        kind if bounds::CODES.contains(&kind) => {
            bounds::notes(refusal, &Lineage::of(path, program), program, describe)
        }
        _ => Vec::new(),
    }
}
