//! A missing or ineffective check is not at the rejected insn: finds the comparison that was
//! probably meant, and why it has no effect.

mod bounds;
mod opaque;
mod packet;
mod reload;

use crate::diagnosis::dataflow::Dataflow;
use crate::diagnosis::history::{named_register, names};
use crate::diagnosis::note::Note;
use crate::diagnosis::notes::Described;
use crate::program::Program;
use crate::{Refusal, Verification, WalkedPath};

/// Notes about the checks on the path to a rejection because of a missing one.
pub(crate) fn notes(
    refusal: &Refusal,
    path: &WalkedPath,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Vec<Note> {
    match refusal.kind.as_str() {
        "beyond-packet" => packet::notes(refusal, &Dataflow::of(path, program), program, describe),
        kind if bounds::CODES.contains(&kind) => {
            bounds::notes(refusal, &Dataflow::of(path, program), program, describe)
        }
        kind if reload::CODES.contains(&kind) => {
            let dataflow = Dataflow::of(path, program);
            reload::note(refusal, path, program, &dataflow, describe).into_iter().collect()
        }
        kind if opaque::CODES.contains(&kind) => {
            let dataflow = Dataflow::of(path, program);
            opaque::note(refusal, &dataflow, program, describe).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The source's name of the object of a rejection, for the catalogue's help lines.
pub(crate) fn name_of(
    thing: &str,
    refusal: &Refusal,
    found: &Verification,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<String> {
    let dataflow = Dataflow::of(found.path.as_ref()?, program);
    let id = match thing {
        "pointer" => {
            let regno = named_register(refusal)?;
            *dataflow.regs.get(&(dataflow.frame, regno))?
        }
        "number" => bounds::number(refusal, &dataflow, program)?,
        _ => return None,
    };
    let name = names::of_value(&dataflow, id, program, describe);
    name.or_else(|| {
        let accesses = thing == "pointer" && refusal.kind == "not-a-pointer-to-memory";
        names::accessed_at(&program.source_place(refusal.insn_idx.filter(|_| accesses)?)?)
    })
}
