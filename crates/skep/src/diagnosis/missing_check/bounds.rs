//! Unbounded numbers: where they come from, and what was compared instead.

use crate::Refusal;
use crate::diagnosis::dataflow::{Check, Dataflow, Id, Origin, Value};
use crate::diagnosis::history::words::in_words;
use crate::diagnosis::note::{Note, counted};
use crate::diagnosis::notes::{Described, since};
use crate::insn::Insn;
use crate::insn::code::*;
use crate::program::Program;
use crate::uapi::limits::MAX_BPF_STACK_BYTES;
use crate::verifier::{Bounds, RegValue};

/// Rejections that a bound in the right place would avoid.
pub(super) const CODES: [&str; 18] = [
    "beyond-map-value",
    "beyond-memory",
    "beyond-stack",
    "highest-offset-outside",
    "kernel-argument-maybe-negative-size",
    "kernel-argument-unbounded-size",
    "lowest-offset-outside",
    "maybe-negative-offset",
    "maybe-negative-size",
    "maybe-zero-size",
    "pointer-moved-by-unbounded",
    "pointer-moved-too-far",
    "unbounded-access",
    "unbounded-size",
    "unbounded-stack-offset",
    "value-moves-pointer-too-far",
    "variable-offset-beyond-stack",
    "variable-pointer-offset",
];

/// Those that only an upper bound avoids.
const WITHOUT_MAXIMUM: [&str; 4] = [
    "kernel-argument-unbounded-size",
    "unbounded-access",
    "unbounded-size",
    "unbounded-stack-offset",
];

/// The stack of a function.
const STACK_BYTES: u64 = MAX_BPF_STACK_BYTES as u64;

/// An offset further away is that of no variable.
const VARIABLE_BYTES: u64 = 1 << 16;

/// Notes about a number that lacks a bound.
pub(super) fn notes(
    refusal: &Refusal,
    dataflow: &Dataflow<'_>,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Vec<Note> {
    let insn = refusal.insn_idx.and_then(|idx| program.insns.get(idx)).copied();
    let Some(id) = subject(refusal, dataflow, insn) else { return Vec::new() };
    let length = dataflow.length(refusal, insn);
    let Some(number) = dataflow.number_in(id).or(length) else {
        let place = begins_at("begins", refusal).or_else(|| ends_at(refusal));
        let place = place.map(|note| if dataflow.rounds > 1 { led_by_loop(note) } else { note });
        return place.or_else(|| below_frame(refusal)).into_iter().collect();
    };
    let mut notes = Vec::new();
    let is_fixed = dataflow.values[number].told.is_some_and(is_constant);
    let has_looped = is_fixed && dataflow.rounds > 1;
    if length == Some(number) {
        notes.extend(dataflow.is_now("the length is", number, describe));
        notes.extend(ends_at(refusal));
    } else if number != id {
        notes.extend(dataflow.is_now("the offset is", number, describe));
        let calls = insn.is_some_and(|insn| insn.class() == BPF_JMP);
        let bytes = refusal.unsigned("size").filter(|&bytes| calls && bytes > 1);
        notes.extend(bytes.map(|bytes| Note {
            text: format!("the call accesses {bytes} bytes from there on"),
            at: None,
        }));
        let begins = begins_at(if is_fixed { "begins" } else { "may begin" }, refusal);
        notes.extend(begins.filter(|_| !has_looped));
    }
    let family = dataflow.ancestors(number, is_number);
    if is_fixed {
        // No comparison would help, except of the rounds.
        let place = ends_at(refusal).or_else(|| begins_at("begins", refusal));
        notes.extend(place.filter(|_| has_looped).map(led_by_loop));
        return notes;
    }
    let is_zero = matches!(refusal.kind.as_str(), "maybe-zero-size" | "stack-read-of-nothing");
    let (equal, others): (Vec<Check>, Vec<Check>) = dataflow
        .checks
        .iter()
        .partition(|check| !is_zero && dataflow.is_of_equality(check, program));
    let is_too_long = length == Some(number) && ends_at(refusal).is_some();
    let lacks_maximum = is_too_long || dataflow.lacks_maximum(refusal, &family);
    let (signs, others): (Vec<Check>, Vec<Check>) =
        others.iter().partition(|check| lacks_maximum && dataflow.is_of_sign(check, program));
    let compared = dataflow.compared(&family, &others, program, describe);
    let compared = compared.or_else(|| {
        let leads = dataflow.derived(|id| has(&family, id), is_number);
        let check = signs.iter().rev().find(|check| check.operands().any(|id| leads[id]))?;
        Some(since("it was only tested for being negative, at", check.insn_idx, describe))
    });
    let compared = compared.or_else(|| {
        let check = equal.iter().rev().find(|check| check.operands().any(|id| has(&family, id)));
        Some(since("it was only compared with a single value, at", check?.insn_idx, describe))
    });
    let divided = dataflow.divided(&family, program, describe);
    let compared = divided.or(compared);
    let is_compared = compared.as_ref().is_some_and(|it| it.text.starts_with("it was compared at"));
    let accesses = insn.is_some_and(|insn| matches!(insn.class(), BPF_LDX | BPF_ST | BPF_STX));
    let is_largest = is_compared
        && accesses
        && refusal.led_to.iter().any(|kind| kind == "highest-offset-outside");
    let ends = ends_at(refusal).filter(|_| is_largest);
    notes.extend(
        ends.map(|note| Note { text: format!("at the largest offset, {}", note.text), at: None }),
    );
    notes.push(compared.unwrap_or_else(|| dataflow.origin(&family, program, describe)));
    notes
}

fn led_by_loop(note: Note) -> Note {
    Note { text: format!("the loop has led there: {}", note.text), ..note }
}

/// How far before the memory an access begins, or `may begin`.
fn begins_at(begins: &str, refusal: &Refusal) -> Option<Note> {
    refusal.unsigned("mem_size").or_else(|| refusal.unsigned("value_size"))?;
    let before = refusal.number("off").filter(|&off| off < 0)?.unsigned_abs();
    let text = format!("the access {begins} {} before the memory", counted(before, "byte"));
    Some(Note { text, at: None })
}

/// Where an access at a constant offset ends, and the memory.
fn ends_at(refusal: &Refusal) -> Option<Note> {
    let size = refusal.unsigned("mem_size").or_else(|| refusal.unsigned("value_size"))?;
    let end = refusal.unsigned("off")?.checked_add(refusal.unsigned("size")?)?;
    let text = format!("the access ends at byte {end}, the memory has {size}");
    (end > size).then_some(Note { text, at: None })
}

/// That a variable does not fit on the stack.
fn below_frame(refusal: &Refusal) -> Option<Note> {
    let off = match refusal.kind.as_str() {
        "beyond-stack" => refusal.number("min_off")?,
        "variable-offset-beyond-stack" => refusal.number("off")?,
        _ => return None,
    };
    let begins = u64::try_from(-off).ok()?;
    let text = format!(
        "the stack of a function has {STACK_BYTES} bytes; the variable begins {begins} bytes below \
         its top"
    );
    (STACK_BYTES + 1..=VARIABLE_BYTES).contains(&begins).then_some(Note { text, at: None })
}

/// The number that a rejection is about.
pub(super) fn number(refusal: &Refusal, dataflow: &Dataflow<'_>, program: &Program) -> Option<Id> {
    let insn = refusal.insn_idx.and_then(|idx| program.insns.get(idx)).copied();
    dataflow.number_in(subject(refusal, dataflow, insn)?)
}

/// The rejected value.
fn subject(refusal: &Refusal, dataflow: &Dataflow<'_>, insn: Option<Insn>) -> Option<Id> {
    let moved = insn.filter(|insn| insn.class() == BPF_ALU64 && insn.is_src_reg());
    let regno = match (refusal.registers.first(), moved) {
        (_, Some(insn)) => insn.src,
        (Some(&regno), None) => regno,
        (None, None) => return None,
    };
    dataflow.regs.get(&(dataflow.frame, regno)).copied()
}

fn is_number(value: &Value<'_>) -> bool {
    match value.told {
        Some(told) => told.view().is_number(),
        None => !matches!(value.made, Origin::Frame | Origin::Given),
    }
}

/// Whether a value is of a family, which is sorted: the newest first.
fn has(family: &[Id], id: Id) -> bool {
    family.binary_search_by(|it| id.cmp(it)).is_ok()
}

fn is_constant(told: &RegValue) -> bool {
    told.view().constant().is_some()
}

/// The bounds of a number that is not constant.
fn variable(told: &RegValue) -> Option<Bounds> {
    let view = told.view();
    Some(view.bounds).filter(|bounds| view.is_number() && bounds.const_value().is_none())
}

fn unsigned_max(bounds: &Bounds) -> Option<u64> {
    Some(bounds.umax).filter(|&max| max != u64::MAX)
}

fn signed_max(bounds: &Bounds) -> Option<u64> {
    u64::try_from(bounds.smax).ok().filter(|_| bounds.smax != i64::MAX)
}

/// Whether a number is variable, and has no bound below this.
fn may_reach(told: &RegValue, limit: u64) -> bool {
    variable(told).is_some_and(|value| {
        unsigned_max(&value).or(signed_max(&value)).is_none_or(|max| max >= limit)
    })
}

/// Whether nothing is known of a number beyond its width: it bounds no other.
fn is_unbounded(told: &RegValue) -> bool {
    may_reach(told, u64::from(u32::MAX) - 1)
}

/// Whether a number has no upper bound but that of its type, signed or not.
fn is_open(told: &RegValue) -> bool {
    may_reach(told, u64::from(i32::MAX.unsigned_abs()))
}

impl Dataflow<'_> {
    /// The variable length of a call that accesses too much memory: the argument after the memory.
    fn length(&self, refusal: &Refusal, insn: Option<Insn>) -> Option<Id> {
        let bytes = refusal.unsigned("size")?;
        let calls = insn.is_some_and(|insn| insn.class() == BPF_JMP);
        let memory = refusal.registers.first().filter(|_| calls)?;
        let id = *self.regs.get(&(self.frame, memory + 1))?;
        let length = variable(self.values[id].told?)?;
        (unsigned_max(&length) == Some(bytes)).then_some(id)
    }

    /// The number in question: the value itself, or the last one added to a pointer.
    fn number_in(&self, id: Id) -> Option<Id> {
        if is_number(&self.values[id]) {
            return Some(id);
        }
        let mut at = id;
        loop {
            let [of, added] = self.values[at].of;
            let is_variable = |id: &Id| {
                let value = &self.values[*id];
                is_number(value) && value.made != Origin::Constant
            };
            if let Some(number) = [added, of].into_iter().flatten().find(is_variable) {
                return Some(number);
            }
            at = of?;
        }
    }

    /// The number that was last added to a pointer.
    pub(super) fn offset_of(&self, id: Id, describe: &impl Fn(usize) -> Described) -> Option<Note> {
        self.is_now("the offset is", self.number_in(id).filter(|&number| number != id)?, describe)
    }

    /// The value, and the insn that computed it.
    fn is_now(&self, says: &str, id: Id, describe: &impl Fn(usize) -> Described) -> Option<Note> {
        let value = &self.values[id];
        let told = in_words(&value.told?.view());
        Some(since(&format!("{says} {told}, computed by"), value.by?, describe))
    }

    /// The one of these checks that was made: of the number or one of its sources, or of another
    /// read of the same memory.
    fn compared(
        &self,
        family: &[Id],
        among: &[Check],
        program: &Program,
        describe: &impl Fn(usize) -> Described,
    ) -> Option<Note> {
        let are_numbers =
            |check: &&Check| check.operands().all(|operand| is_number(&self.values[operand]));
        let checks = || among.iter().rev().filter(are_numbers);
        let is_of_family = |check: &&Check| check.operands().any(|id| has(family, id));
        let since_then = |id: Id| self.lessened_since(id, family, program);
        let before_lessened = |last: &Check| {
            let is_old = |by: Id| last.operands().all(|id| id < by);
            let lessens = |it: &&Check| it.operands().any(|id| since_then(id).is_some_and(is_old));
            checks().filter(is_of_family).find(lessens)
        };
        let last = checks().find(is_of_family);
        if let Some(check) = last.map(|last| before_lessened(last).unwrap_or(last)) {
            let is_direct = check.operands().any(|id| self.unstored(family[0]).contains(&id));
            let other = check.operands().find(|&id| !has(family, id));
            let is_open = |id: Id| {
                let value = &self.values[id];
                value.made != Origin::Constant && value.told.is_some_and(is_unbounded)
            };
            let says = match is_direct {
                true if check.operands().any(|id| since_then(id).is_some()) => {
                    "something was subtracted from it after it was compared, at"
                }
                true if other.is_some_and(is_open) => {
                    "it was only compared with another unknown number, at"
                }
                true if !check
                    .operands()
                    .any(|id| self.unmixed(family[0], program).contains(&id)) =>
                {
                    "it was computed from what was compared at"
                }
                true if self.is_of_lower_half(check, family[0], program) => {
                    "only the lower half of it was compared, at"
                }
                true => "it was compared at",
                false => "it was read back from memory after it was compared at",
            };
            return Some(since(says, check.insn_idx, describe));
        }
        self.related(family, checks().copied(), program, describe)
    }

    /// The one of these checks that was made of a value with a common source, or of another read
    /// of the same memory.
    fn related(
        &self,
        family: &[Id],
        mut checks: impl Iterator<Item = Check>,
        program: &Program,
        describe: &impl Fn(usize) -> Described,
    ) -> Option<Note> {
        let is_made = |id: Id| self.values[id].made != Origin::Constant;
        let places: Vec<_> = family.iter().filter_map(|&id| self.values[id].read_from).collect();
        let is_again = |id: Id| {
            is_made(id)
                && self.values[id].read_from.is_some_and(|place| places.contains(&place))
                && !has(family, id)
        };
        let again = self.derived(is_again, is_number);
        let own = self.derived(|id| has(family, id), is_number);
        let made = self.derived(|id| is_made(id) && has(family, id), is_number);
        let sums = self.derived(|id| is_made(id) && self.is_sum_of(id, &own), is_number);
        checks.find_map(|check| {
            let any = |of: &[bool]| check.operands().any(|id| is_made(id) && of[id]);
            let says = if any(&again) {
                "it was read again after another read of the same memory was compared, at"
            } else if !any(&made) {
                return None;
            } else if any(&sums) {
                "a sum of it and another number was compared at"
            } else if self.is_of_half(&check, program) {
                "another value, computed in 32 bits from the same source, was compared at"
            } else {
                "another value, computed from the same source, was compared at"
            };
            Some(since(says, check.insn_idx, describe))
        })
    }

    /// Whether a comparison is of 32 bits, and the other bits of the number are not known.
    fn is_of_lower_half(&self, check: &Check, number: Id, program: &Program) -> bool {
        let is_half = program.insns.get(check.insn_idx).is_some_and(|it| it.class() == BPF_JMP32);
        let largest = self.values[number]
            .told
            .and_then(variable)
            .and_then(|value| unsigned_max(&value).into_iter().chain(signed_max(&value)).min());
        is_half && largest.is_none_or(|largest| largest > u64::from(u32::MAX))
    }

    /// What was made less than a value after it was compared, so that it may be below 0, or have
    /// wrapped around.
    fn lessened_since(&self, compared: Id, family: &[Id], program: &Program) -> Option<Id> {
        let is_less = |id: &Id| {
            let value = &self.values[*id];
            let insn = value.by.and_then(|by| program.insns.get(by));
            let subtracts = insn.is_some_and(|insn| {
                let adds = insn.op() == BPF_ADD && !insn.is_src_reg() && insn.imm < 0;
                matches!(insn.class(), BPF_ALU | BPF_ALU64) && (adds || insn.op() == BPF_SUB)
            });
            let is_below = value.told.is_some_and(|told| {
                is_unbounded(told) || variable(told).is_some_and(|value| value.smin < 0)
            });
            subtracts && is_below && value.of[0] == Some(compared)
        };
        family.iter().copied().find(is_less)
    }

    /// Whether no more than the sign of a number may be known.
    fn lacks_maximum(&self, refusal: &Refusal, family: &[Id]) -> bool {
        WITHOUT_MAXIMUM.contains(&refusal.kind.as_str())
            && family.iter().all(|&id| self.values[id].told.is_none_or(is_open))
    }

    /// Whether a comparison only tells whether a number is negative, or 0.
    fn is_of_sign(&self, check: &Check, program: &Program) -> bool {
        let insn = program.insns.get(check.insn_idx).filter(|it| !it.is_src_reg());
        let by = |id: Id| self.values[id].by.and_then(|by| program.insns.get(by));
        let keeps_sign = |made: &Insn| {
            let mask = || self.values[check.dst].of[1].and_then(by).map_or(made.imm, |it| it.imm);
            let width = if made.class() == BPF_ALU64 { 63 } else { 31 };
            match made.op() {
                BPF_AND => mask() == i32::MIN,
                BPF_RSH => !made.is_src_reg() && made.imm == width,
                _ => false,
            }
        };
        insn.is_some_and(|insn| match (insn.op(), insn.imm) {
            (BPF_JSLT | BPF_JSGE, 0 | 1) | (BPF_JSGT | BPF_JSLE, -1 | 0) => true,
            (BPF_JSET, mask) => mask == i32::MIN,
            (BPF_JEQ | BPF_JNE, 0) => by(check.dst).is_some_and(keeps_sign),
            _ => false,
        })
    }

    /// Whether a comparison only tells whether a number is a constant, which bounds nothing. That
    /// of its upper bits does: compilers make it of `<`.
    fn is_of_equality(&self, check: &Check, program: &Program) -> bool {
        let insn = program.insns.get(check.insn_idx);
        let is_equality =
            insn.is_some_and(|it| matches!(it.op(), BPF_JEQ | BPF_JNE) && !it.is_src_reg());
        let made = self.values[check.dst].by.and_then(|by| program.insns.get(by));
        let is_part = made.is_some_and(|it| {
            matches!(it.class(), BPF_ALU | BPF_ALU64) && matches!(it.op(), BPF_AND | BPF_RSH)
        });
        is_equality && !is_part
    }

    /// Whether a value is one of its `own`, the numbers derived from the family, plus another one
    /// that is not constant.
    fn is_sum_of(&self, id: Id, own: &[bool]) -> bool {
        let value = &self.values[id];
        let [Some(of), Some(added)] = value.of else { return false };
        let is_other = |id: Id| {
            let other = &self.values[id];
            let is_fixed = other.made == Origin::Constant || other.told.is_some_and(is_constant);
            is_number(other) && !is_fixed && !own[id]
        };
        value.adds && (own[of] && is_other(added) || own[added] && is_other(of))
    }

    /// Whether a comparison is of the lower halves, or of a value that was extended from one: by
    /// two shifts, if the compiler does not use the insns of 32 bits.
    fn is_of_half(&self, check: &Check, program: &Program) -> bool {
        let is_extended = |id: Id| {
            let insn = self.values[id].by.and_then(|by| program.insns.get(by));
            let by_shift = |insn: &Insn| {
                insn.class() == BPF_ALU64
                    && insn.imm == 32
                    && matches!(insn.op(), BPF_RSH | BPF_ARSH)
            };
            insn.is_some_and(|insn| insn.class() == BPF_ALU || by_shift(insn))
        };
        let is_half = program.insns.get(check.insn_idx).is_some_and(|it| it.class() == BPF_JMP32);
        is_half || check.operands().any(is_extended)
    }

    /// A division from which the number was computed, if its result was not compared.
    fn divided(
        &self,
        family: &[Id],
        program: &Program,
        describe: &impl Fn(usize) -> Described,
    ) -> Option<Note> {
        let divides = |id: &Id| {
            let insn = self.values[*id].by.and_then(|by| program.insns.get(by));
            let divides = insn.is_some_and(|insn| {
                matches!(insn.class(), BPF_ALU | BPF_ALU64)
                    && matches!(insn.op(), BPF_DIV | BPF_MOD)
            });
            // Later kernels know bounds of some.
            divides && self.values[*id].told.is_none_or(is_unbounded)
        };
        let result = family.iter().copied().find(divides)?;
        let is_of_result = |id: Id| id >= result && has(family, id);
        if self.checks.iter().any(|check| check.operands().any(is_of_result)) {
            return None;
        }
        let says = "a division or remainder has no bounds for the kernel, as that at";
        Some(since(says, self.values[result].by?, describe))
    }

    /// The values from which a number was computed without mixing bits: a bound of one bounds it.
    fn unmixed(&self, id: Id, program: &Program) -> Vec<Id> {
        let mixes = |made: &Value<'_>| {
            let insn = made.by.and_then(|by| program.insns.get(by));
            let is_computed = made.made == Origin::Computed;
            let shifts = |insn: &Insn| matches!(insn.op(), BPF_LSH | BPF_RSH) && insn.is_src_reg();
            insn.is_some_and(|insn| {
                is_computed && (matches!(insn.op(), BPF_OR | BPF_XOR | BPF_NEG) || shifts(insn))
            })
        };
        self.ancestors_by(id, |made, of| is_number(of) && !mixes(made))
    }

    /// The values from which a number was computed since it was read from memory.
    fn unstored(&self, id: Id) -> Vec<Id> {
        self.ancestors_by(id, |made, of| made.made != Origin::Loaded && is_number(of))
    }

    /// The origin of a number that was not compared.
    fn origin(
        &self,
        family: &[Id],
        program: &Program,
        describe: &impl Fn(usize) -> Described,
    ) -> Note {
        const NEVER: &str = "it is not compared with anything on this path";
        let is_source = |id: &&Id| {
            let value = &self.values[**id];
            match value.made {
                Origin::Loaded | Origin::Returned => value.of == [None; 2],
                made => made == Origin::Given,
            }
        };
        let source = family.iter().find(is_source).map(|&id| &self.values[id]);
        let given = source.is_some_and(|value| value.made == Origin::Given);
        let Some(by) = source.and_then(|value| value.by) else {
            let whence = if given { "; it is an argument of this function" } else { "" };
            return Note { text: format!("{NEVER}{whence}"), at: None };
        };
        let calls_own = program.insns.get(by).is_some_and(|insn| insn.is_pseudo_call());
        match calls_own {
            true => since("it is the unknown result of a global function, called at", by, describe),
            // That insn has already been named.
            false if self.values[family[0]].by == Some(by) => {
                Note { text: NEVER.to_owned(), at: None }
            }
            false => since(&format!("{NEVER}; it comes from"), by, describe),
        }
    }
}
