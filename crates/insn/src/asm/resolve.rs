//! Resolves names to numbers, once all labels are known.

use super::assembly::{Assembly, SymbolRef};
use super::draft::{HelperId, Symbol};
use super::token::Cursor;
use crate::{Error, InsnIdx};

/// An unresolved name of an insn.
pub(super) struct Pending<'a> {
    pub(super) at: InsnIdx,
    pub(super) symbol: Symbol<'a>,
    /// The insn in the text, for errors.
    pub(super) start: Cursor<'a>,
}

/// Sets offsets and helper numbers, and lists the references that the caller must resolve.
pub(super) fn resolve(
    assembly: &mut Assembly,
    pending: &[Pending<'_>],
    helper_id: HelperId<'_>,
) -> Result<(), Error> {
    for entry in pending {
        match entry.symbol {
            Symbol::Jump(name) => {
                let distance = distance(assembly, entry, name)?;
                let off = i16::try_from(distance).map_err(|_| {
                    let message = "is too far for 16 bits; `gotol` has 32";
                    entry.start.error(format!("label `{name}` {message}"))
                })?;
                set(assembly, entry.at, |insn| insn.off = off);
            }
            Symbol::LongJump(name) | Symbol::Func(name) => {
                let distance = distance(assembly, entry, name)?;
                set(assembly, entry.at, |insn| insn.imm = distance as i32);
            }
            Symbol::Call(name) if assembly.label(name).is_some() => {
                let distance = distance(assembly, entry, name)?;
                set(assembly, entry.at, |insn| insn.imm = distance as i32);
            }
            Symbol::Call(name) => {
                let Some(id) = helper_id(name) else {
                    return Err(entry.start.error(format!("no label or helper `{name}`")));
                };
                set(assembly, entry.at, |insn| (insn.src, insn.imm) = (0, id as i32));
            }
            Symbol::Map(name) => assembly.map_refs.push(reference(entry, name)),
            Symbol::Kfunc(name) => assembly.kfunc_refs.push(reference(entry, name)),
            Symbol::Ksym(name) => assembly.ksym_refs.push(reference(entry, name)),
        }
    }
    Ok(())
}

fn reference(entry: &Pending<'_>, name: &str) -> SymbolRef {
    SymbolRef { insn: entry.at, name: name.to_owned() }
}

fn set(assembly: &mut Assembly, at: InsnIdx, change: impl FnOnce(&mut crate::Insn)) {
    if let Some(insn) = assembly.insns.get_mut(at.index()) {
        change(insn);
    }
}

/// Slots from the insn after `entry` to the label.
fn distance(assembly: &Assembly, entry: &Pending<'_>, name: &str) -> Result<i64, Error> {
    match assembly.label(name) {
        Some(label) => Ok(i64::from(label.0) - i64::from(entry.at.0) - 1),
        None => Err(entry.start.error(format!("no label `{name}`"))),
    }
}
