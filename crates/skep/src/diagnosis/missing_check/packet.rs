//! Packet pointers: the comparison with the packet's end, and why it has no effect.

use crate::Refusal;
use crate::diagnosis::dataflow::{Check, Dataflow, Id, Value};
use crate::diagnosis::history::{is_of_packet, packet_range};
use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{Described, since};
use crate::insn::Insn;
use crate::insn::code::*;
use crate::program::Program;
use crate::uapi::ProgType;
use crate::verifier::{Base, Pointee, RegValue, RegView};

/// Pointers that may be further into the packet get no range (`MAX_PACKET_OFF`).
const PACKET_OFF_MAX: u64 = 0xffff;

/// Notes about an access beyond the compared offset.
pub(super) fn notes(
    refusal: &Refusal,
    dataflow: &Dataflow<'_>,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Vec<Note> {
    let note = note(refusal, dataflow, program, describe);
    let is_too_far = note.as_ref().is_some_and(|note| note.text.starts_with(TOO_FAR));
    let regno = refusal.registers.first().filter(|_| is_too_far);
    let id = regno.and_then(|&regno| dataflow.regs.get(&(dataflow.frame, regno)).copied());
    let offset = id.and_then(|id| dataflow.offset_of(id, describe));
    let instead = note.as_ref().filter(|note| note.text.contains(TOO_SHORT));
    let instead = instead.and_then(|_| instead_of_pointer(refusal, dataflow, program, describe));
    offset.into_iter().chain(note).chain(instead).collect()
}

/// A later comparison of the difference, which compilers make of one of the pointer in a loop.
fn instead_of_pointer(
    refusal: &Refusal,
    dataflow: &Dataflow<'_>,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    let regno = refusal.registers.first()?;
    let id = *dataflow.regs.get(&(dataflow.frame, *regno))?;
    let area = Area::of(&dataflow.values[id]);
    let (last, relation) = dataflow.relations(id, area, program).into_iter().next()?;
    let says = "after that, only the difference of the two pointers was compared, at";
    (relation == Relation::Difference).then(|| since(says, last.insn_idx, describe))
}

/// Part of the note about a comparison that is too short.
const TOO_SHORT: &str = " bytes, but only ";

/// How the note about such an offset begins.
const TOO_FAR: &str = "its offset may be too large";

/// The same, in a loop over the packet.
const TOO_LONG: &str = "the loop has led beyond byte 65535 of the packet";

/// Which comparison was meant, and why it does not count.
fn note(
    refusal: &Refusal,
    dataflow: &Dataflow<'_>,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    let regno = refusal.registers.first()?;
    let id = *dataflow.regs.get(&(dataflow.frame, *regno))?;
    let area = Area::of(&dataflow.values[id]);
    let end = match program.prog_type {
        ProgType::CgroupSockopt => "`optval_end`",
        _ => area.end(),
    };
    let comma = if area == Area::Metadata { "," } else { "" };
    let Some((check, relation)) = dataflow.with_end(id, area, program) else {
        let text = format!("it is not compared with {end}{comma} on this path");
        return Some(Note { text, at: None });
    };
    let view = |id: Id| dataflow.values[id].told.map(RegValue::view);
    let operand = check.operands().find(|&operand| area.has(&dataflow.values[operand]));
    let pointers = [view(id), operand.and_then(view)];
    let [furthest_told, furthest_compared] = pointers.map(|it| it.as_ref().map_or(0, furthest));
    let is_too_far = last_byte(refusal).max(furthest_compared) > PACKET_OFF_MAX;
    let is_constant = pointers.iter().flatten().all(|it| variable_max(it).is_none());
    if relation == Relation::Same && is_too_far && is_constant && dataflow.rounds > 1 {
        let says = format!("{TOO_LONG}, where no comparison counts; there is one at");
        return Some(since(&says, check.insn_idx, describe));
    }
    let short = too_short(*regno, refusal).filter(|_| proves(check, area, dataflow, program));
    if let (Relation::Same, Some((range, needed))) = (relation, short) {
        let were = if range == 1 { "was" } else { "were" };
        let calls = refusal.insn_idx.and_then(|idx| program.insns.get(idx));
        let needs = match calls.is_some_and(|insn| insn.class() == BPF_JMP) {
            true => "the call needs",
            false => "the access needs",
        };
        let says = format!("{needs} {needed}{TOO_SHORT}{range} {were} compared with {end}, at");
        return Some(since(&says, check.insn_idx, describe));
    }
    let access = refusal.insn_idx.and_then(|idx| program.insns.get(idx));
    let starts = access.map(|insn| dataflow.place(id, insn.off.into()));
    let place = operand.map(|operand| dataflow.place(operand, 0));
    let says = match relation {
        Relation::Difference => {
            "only the difference of the two pointers was compared, which bounds neither, at".into()
        }
        Relation::Equality => {
            "it was only compared with the end for equality, which bounds neither, at".into()
        }
        Relation::ReadAnew => {
            "it was read again after another copy was compared with the end, at".into()
        }
        Relation::Same if !proves(check, area, dataflow, program) => {
            let inside = area.name();
            format!(
                "this branch does not prove that the access is inside {inside}: the comparison at"
            )
        }
        Relation::Same if !lacks_range(pointers[0]) => {
            format!("it was compared with {end}{comma} at")
        }
        Relation::Same if furthest_told.max(furthest_compared) > PACKET_OFF_MAX => {
            format!("{TOO_FAR} for a comparison to count; there is one at")
        }
        Relation::Same if starts == place => {
            format!("the start of the access was compared with {end}, which proves no byte, at")
        }
        Relation::Same if starts.zip(place).is_some_and(|(it, of)| it.0 == of.0 && it.1 > of.1) => {
            format!("a place before the access was compared with {end}, which proves no byte, at")
        }
        Relation::Same => format!("another pointer was compared with {end}, at"),
    };
    Some(since(&says, check.insn_idx, describe))
}

/// The number of bytes from the packet's start to the end of the access, if that is constant.
fn last_byte(refusal: &Refusal) -> u64 {
    let size = refusal.unsigned("size");
    size.and_then(|size| refusal.unsigned("off")?.checked_add(size)).unwrap_or(0)
}

/// How many bytes are known to be in the packet, and how many the access needs, if that is more.
fn too_short(regno: u8, refusal: &Refusal) -> Option<(u64, u64)> {
    let range = packet_range(regno, refusal).filter(|&range| range > 0)?;
    let needed = refusal.unsigned("off")?.checked_add(refusal.unsigned("size")?)?;
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

/// What a pointer points into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Area {
    Packet,
    /// It ends where the packet begins.
    Metadata,
}

impl Area {
    fn of(value: &Value<'_>) -> Area {
        match base(value) {
            Some(Base::PacketMeta) => Area::Metadata,
            _ => Area::Packet,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Area::Packet => "the packet",
            Area::Metadata => "the metadata",
        }
    }

    fn end(self) -> &'static str {
        match self {
            Area::Packet => "the packet's end",
            Area::Metadata => "`data`, where the metadata ends",
        }
    }

    fn has(self, value: &Value<'_>) -> bool {
        value.told.is_some_and(is_of_packet) && Area::of(value) == self && !self.ends_at(value)
    }

    fn ends_at(self, value: &Value<'_>) -> bool {
        match self {
            Area::Packet => base(value) == Some(Base::PacketEnd),
            Area::Metadata => base(value) == Some(Base::Packet),
        }
    }
}

impl Dataflow<'_> {
    /// The last comparison that was probably meant for a pointer.
    fn with_end(&self, id: Id, area: Area, program: &Program) -> Option<(&Check, Relation)> {
        let found = self.relations(id, area, program);
        // A comparison of the pointer itself is preferred to one of a related value.
        let same = found.iter().find(|(_, relation)| *relation == Relation::Same);
        let other = found.iter().find(|(_, relation)| *relation != Relation::Equality);
        same.or(other).or(found.first()).copied()
    }

    /// The comparisons that may be meant for a pointer, the last one first.
    fn relations(&self, id: Id, area: Area, program: &Program) -> Vec<(&Check, Relation)> {
        let is_packet = |value: &Value<'_>| area.has(value);
        let is_end = |value: &Value<'_>| area.ends_at(value);
        let family = self.ancestors(id, is_packet);
        let places: Vec<_> = family.iter().filter_map(|&id| self.values[id].read_from).collect();
        let value = |id: Id| &self.values[id];
        let again = |id: Id| value(id).read_from.is_some_and(|at| places.contains(&at));
        let is_subtracted = |id: Id| {
            let made = value(id).by.and_then(|by| program.insns.get(by));
            let of = || value(id).of.into_iter().flatten();
            made.is_some_and(|insn| insn.op() == BPF_SUB)
                && of().any(|id| is_end(value(id)))
                && of().any(|id| is_packet(value(id)))
        };
        let related = self.derived(|id| family.contains(&id), is_packet);
        let again = self.derived(again, is_packet);
        let differences = self.derived(is_subtracted, |_| true);
        let relation = |check: &Check| {
            let op = program.insns.get(check.insn_idx).map(|insn| insn.op());
            if check.operands().any(|id| is_end(value(id))) {
                let other = check.operands().find(|&id| is_packet(value(id)))?;
                if related[other] {
                    let is_equality = matches!(op, Some(BPF_JEQ | BPF_JNE));
                    return Some(if is_equality { Relation::Equality } else { Relation::Same });
                }
                return again[other].then_some(Relation::ReadAnew);
            }
            check.operands().any(|id| differences[id]).then_some(Relation::Difference)
        };
        self.checks.iter().rev().filter_map(|check| Some((check, relation(check)?))).collect()
    }
}

/// Whether the branch that was taken implies that the pointer is not beyond the end.
fn proves(check: &Check, area: Area, dataflow: &Dataflow<'_>, program: &Program) -> bool {
    let Some(insn) = program.insns.get(check.insn_idx) else { return false };
    let end_is_src = check.src.is_some_and(|id| area.ends_at(&dataflow.values[id]));
    let taken = |insn: &Insn| match insn.op() {
        BPF_JGT | BPF_JGE => Some(!end_is_src),
        BPF_JLT | BPF_JLE => Some(end_is_src),
        _ => None,
    };
    taken(insn) == Some(check.is_taken)
}

fn base(value: &Value<'_>) -> Option<Base> {
    value.told.map(|told| told.view().ty.base)
}

/// Whether nothing behind a packet pointer is known to be in the packet.
fn lacks_range(pointer: Option<RegView<'_>>) -> bool {
    pointer.is_some_and(|it| matches!(it.pointee, Pointee::Packet { range: ..=0 }))
}

/// The largest variable offset, if it is less than its type allows.
fn variable_max(pointer: &RegView<'_>) -> Option<u64> {
    let bounds = pointer.bounds;
    (bounds.const_value().is_none() && bounds.umax != u64::MAX).then_some(bounds.umax)
}

/// The largest offset from the packet's start.
fn furthest(pointer: &RegView<'_>) -> u64 {
    let off = u64::try_from(pointer.off).unwrap_or(0);
    variable_max(pointer).unwrap_or(0).saturating_add(off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verifier::{Bounds, RegType};

    #[test]
    fn how_far_a_pointer_reaches() {
        let ty = RegType { base: Base::Packet, ..RegType::default() };
        let mut pointer = RegView::pointer(ty, Pointee::Packet { range: 0 });
        assert_eq!(furthest(&pointer), 0);
        pointer.bounds = Bounds { umax: 60, ..Bounds::ANY };
        assert_eq!(furthest(&pointer), 60);
        pointer.off = 14;
        assert_eq!(furthest(&pointer), 74);
        pointer.bounds = Bounds::ANY;
        assert_eq!(furthest(&pointer), 14);
    }
}
