//! Packet pointers: the comparison with the packet's end, and why it has no effect.

use super::state_text::field;
use crate::dataflow::{Check, Dataflow, Id, Value};
use crate::history::packet_range;
use crate::notes::{Described, since};
use skep::Refusal;
use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::Program;
use skep_report::Note;

/// Pointers that may be further into the packet get no range (`MAX_PACKET_OFF`).
const PACKET_OFF_MAX: u64 = 0xffff;

/// The note about an access beyond the compared offset.
pub(super) fn note(
    refusal: &Refusal,
    dataflow: &Dataflow<'_>,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    let regno = refusal.registers.first()?;
    let id = *dataflow.regs.get(&(dataflow.frame, *regno))?;
    let here = dataflow.with_end(id, program);
    let Some((check, relation)) = here else {
        let told = dataflow.values[id].told.unwrap_or_default();
        let with = match told.starts_with("pkt_meta") {
            true => "`data`, where the metadata ends,",
            false => "the packet's end",
        };
        let text = format!("it is not compared with {with} on this path");
        return Some(Note { text, at: None });
    };
    let told = dataflow.values[id].told.unwrap_or_default();
    let short = too_short(*regno, refusal).filter(|_| proves(check, dataflow, program));
    if let (Relation::Same, Some((range, needed))) = (relation, short) {
        let says = format!(
            "the access needs {needed} bytes, but only {range} were compared with the packet's \
             end, at"
        );
        return Some(since(&says, check.insn_idx, describe));
    }
    let says = match relation {
        Relation::Difference => {
            "only the difference of the two pointers was compared, which bounds neither, at"
        }
        Relation::Equality => {
            "it was only compared with the end for equality, which bounds neither, at"
        }
        Relation::ReadAnew => "it was read again after another copy was compared with the end, at",
        Relation::Same if !proves(check, dataflow, program) => {
            "this branch does not prove that the access is inside the packet: the comparison at"
        }
        Relation::Same if !told.contains("r=0") => "it was compared with the packet's end at",
        Relation::Same if furthest(told) > PACKET_OFF_MAX => {
            "its offset may be too large for a comparison to count; there is one at"
        }
        Relation::Same => "another pointer was compared with the packet's end, at",
    };
    Some(since(says, check.insn_idx, describe))
}

/// How many bytes are known to be in the packet, and how many the access needs, if that is more:
/// `invalid access to packet, off=14 size=20, R1(id=0,off=14,r=14)`.
fn too_short(regno: u8, refusal: &Refusal) -> Option<(u64, u64)> {
    let range = packet_range(regno, &refusal.message).filter(|&range| range > 0)?;
    let needed = field(&refusal.message, "off=")?.checked_add(field(&refusal.message, "size=")?)?;
    (needed > range).then_some((range, needed))
}

/// The value compared with the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// A pointer derived from the same read.
    Same,
    /// Another read of the same.
    ReadAnew,
    /// A number computed from pointer and end.
    Difference,
    /// For equality only, as compilers check a length for 0.
    Equality,
}

fn is_packet(value: &Value<'_>) -> bool {
    value.told.is_some_and(|told| told.starts_with("pkt") && !is_end(value))
}

fn is_end(value: &Value<'_>) -> bool {
    value.told.is_some_and(|told| told.starts_with("pkt_end"))
}

impl Dataflow<'_> {
    /// The last comparison that was probably meant for a pointer.
    fn with_end(&self, id: Id, program: &Program) -> Option<(&Check, Relation)> {
        let family = self.ancestors(id, is_packet);
        let places: Vec<_> = family.iter().filter_map(|&id| self.values[id].read_from).collect();
        let relation = |check: &Check| {
            let value = |id: Id| &self.values[id];
            let op = program.insns.get(check.insn_idx).map(|insn| insn.op());
            if check.operands().any(|id| is_end(value(id))) {
                let other = check.operands().find(|&id| is_packet(value(id)))?;
                let others = self.ancestors(other, is_packet);
                if others.iter().any(|id| family.contains(id)) {
                    let is_equality = matches!(op, Some(BPF_JEQ | BPF_JNE));
                    return Some(if is_equality { Relation::Equality } else { Relation::Same });
                }
                let again = |id: &Id| value(*id).read_from.is_some_and(|at| places.contains(&at));
                return others.iter().any(again).then_some(Relation::ReadAnew);
            }
            let is_difference = |id: Id| {
                let is_subtracted = |id: &Id| {
                    let made = value(*id).by.and_then(|by| program.insns.get(by));
                    let of = || value(*id).of.into_iter().flatten();
                    made.is_some_and(|insn| insn.op() == BPF_SUB)
                        && of().any(|id| is_end(value(id)))
                        && of().any(|id| is_packet(value(id)))
                };
                self.ancestors(id, |_| true).iter().any(is_subtracted)
            };
            check.operands().any(is_difference).then_some(Relation::Difference)
        };
        let found = self.checks.iter().rev().filter_map(|check| Some((check, relation(check)?)));
        // A comparison of the pointer itself is preferred to one of a related value.
        let found: Vec<_> = found.collect();
        let same = found.iter().find(|(_, relation)| *relation == Relation::Same);
        let other = found.iter().find(|(_, relation)| *relation != Relation::Equality);
        same.or(other).or(found.first()).copied()
    }
}

/// Whether the branch that was taken implies that the pointer is not beyond the end.
fn proves(check: &Check, dataflow: &Dataflow<'_>, program: &Program) -> bool {
    let Some(insn) = program.insns.get(check.insn_idx) else { return false };
    let end_is_src = check.src.is_some_and(|id| is_end(&dataflow.values[id]));
    let taken = |insn: &Insn| match insn.op() {
        BPF_JGT | BPF_JGE => Some(!end_is_src),
        BPF_JLT | BPF_JLE => Some(end_is_src),
        _ => None,
    };
    taken(insn) == Some(check.is_taken)
}

/// The largest offset from the packet's start in a text such as `pkt(id=1,off=14,umax=60)`.
fn furthest(told: &str) -> u64 {
    let of = |name| field(told, name).unwrap_or(0);
    of("umax=").saturating_add(of("off="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_a_text_reaches() {
        for (told, number) in [
            ("pkt(r=0)", 0),
            (
                "pkt(id=1,off=14,r=0,smin=smin32=0,smax=umax=smax32=umax32=60,var_off=(0x0; 0x3c))",
                74,
            ),
            ("pkt(id=1,r=0,umax=0x3fffc00)", 0x3fffc00),
        ] {
            assert_eq!(furthest(told), number, "{told}");
        }
    }
}
