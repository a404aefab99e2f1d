//! The known values of registers, and their origins, from the path to a rejection.

mod given;
pub(crate) mod insn;
pub(crate) mod names;
pub(crate) mod words;

use self::insn::{is_copy, keeps_no_arguments, read_registers, written_register};
use self::words::in_words;
use crate::diagnosis::dataflow::{Dataflow, Id};
use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{self, Described, insn_idx};
use crate::insn::Insn;
use crate::insn::code::*;
use crate::insn_text::function_name;
use crate::program::Program;
use crate::uapi::helper::HelperId;
use crate::uapi::{TypeFlag, helper_changes_pkt_data};
use crate::verifier::{Base, Pointee, RegValue, RegView};
use crate::{Refusal, Register, Step, WalkedPath};
use std::collections::HashMap;

/// Maximum number of registers explained: an insn and its message rarely name more.
const REGS_MAX: usize = 4;

/// A register's value now, and when an insn last set it.
#[derive(Debug, Clone, Copy)]
struct Known<'p> {
    now: &'p Register,
    made: &'p Register,
    /// The insn since which it has its current value.
    since: Option<u32>,
    /// The insn that set it anew, or of whose result it is a copy.
    origin: Option<u32>,
    /// Number of steps of the path before `now`.
    step: usize,
}

/// The path, reduced to what holds at its end.
#[derive(Debug, Default)]
pub(crate) struct History<'p> {
    known: HashMap<(u32, u8), Known<'p>>,
    /// Uninitialised registers, and the insn that made them so.
    gone: HashMap<(u32, u8), usize>,
    /// The value of a copy's source, where the copy lost information.
    before_copy: HashMap<(u32, u8), Known<'p>>,
    /// The insn at which a register that it does not set became a number.
    lost_by: HashMap<(u32, u8), usize>,
    path: Option<&'p WalkedPath>,
    frame: u32,
    /// Whether to omit the original values of registers, because other notes are more important.
    is_short: bool,
    /// The global function being verified on its own, and the insn at which it starts.
    global: Option<(String, usize)>,
    program: Option<&'p Program>,
    last_branch: Option<u32>,
    /// The rejection, if it is known.
    refusal: Option<&'p Refusal>,
}

impl<'p> History<'p> {
    /// Processes the path of a program.
    pub(crate) fn of(path: &'p WalkedPath, program: &'p Program) -> History<'p> {
        let mut history = History { frame: path.frame(), path: Some(path), ..History::default() };
        let start = path.steps().find_map(insn_idx);
        let starts = |idx| program.function_starts().any(|start| start == idx);
        let function = start.filter(|&idx| idx > 0 && starts(idx));
        history.global = function.map(|idx| (function_name(program, idx), idx));
        history.program = Some(program);
        // Registers clobbered by an insn are gone for the next one.
        let mut walked = None;
        let mut calls = Vec::new();
        for (step, what) in path.steps().enumerate() {
            match what {
                Step::Insn { insn_idx, frame } => {
                    let now = (*insn_idx as usize, *frame, step);
                    if let Some((idx, before, since)) = walked.replace(now) {
                        history.leave(idx, before, program);
                        if *frame > before {
                            calls.push(idx);
                        } else if *frame < before {
                            history.hand_back(calls.pop(), before, since, program);
                        }
                    }
                    let insn = program.insns.get(*insn_idx as usize);
                    if insn.is_some_and(|insn| insn.is_conditional_jump()) {
                        history.last_branch = Some(*insn_idx);
                    }
                    history.enter(*insn_idx as usize, *frame, program);
                }
                Step::Register(now) => history.learn(now, step, program),
            }
        }
        history
    }

    /// A called function does not see registers of an earlier one in the same frame.
    fn enter(&mut self, idx: usize, frame: u32, program: &Program) {
        if program.insns.get(idx).is_some_and(keeps_no_arguments) {
            self.known.retain(|at, _| at.0 <= frame);
            self.gone.retain(|at, _| at.0 <= frame);
            self.before_copy.retain(|at, _| at.0 <= frame);
        }
    }

    /// The result of a called function is not reported as a change of the caller's R0. That of a
    /// callback is for the helper that called it.
    fn hand_back(&mut self, call: Option<usize>, frame: u32, since: usize, program: &Program) {
        let insn = call.and_then(|call| program.insns.get(call));
        let at = (frame.saturating_sub(1), 0);
        let is_told = self.known.get(&at).is_some_and(|known| known.step > since);
        let is_own = insn.is_some_and(|insn| insn.is_pseudo_call()) && !is_told;
        let result = self.known.get(&(frame, 0)).filter(|_| is_own).copied();
        self.known.extend(result.map(|result| (at, result)));
    }

    /// A call only preserves r6 to r9.
    fn leave(&mut self, idx: usize, frame: u32, program: &Program) {
        if program.insns.get(idx).is_some_and(keeps_no_arguments) {
            self.gone.extend((1..=5).map(|regno| ((frame, regno), idx)));
        }
    }

    fn learn(&mut self, now: &'p Register, step: usize, program: &Program) {
        let by = now.by.and_then(|idx| program.insns.get(idx as usize));
        // A change that is not due to an insn that sets the register is due to a branch.
        let is_of_branch = by.is_some_and(|insn| !is_about(insn, now.regno));
        let since = now.by.filter(|_| !is_of_branch).or(self.last_branch.filter(|_| is_of_branch));
        let made_anew = by.is_none_or(|insn| written_register(insn) == Some(now.regno));
        let at = (now.frame, now.regno);
        if now.by.is_none_or(|by| self.gone.get(&at) != Some(&(by as usize))) {
            self.gone.remove(&at);
        }
        let made = match self.known.get(&at) {
            Some(before) if before.now.value == now.value && !made_anew => return,
            Some(before) if !made_anew => before.made,
            _ => now,
        };
        // A pointer that has been invalidated appears as a number when it is copied or moved.
        let from = by.and_then(|insn| match made_anew {
            true => is_copy(insn).then_some(insn.src),
            false => is_sum(insn).then_some(now.regno),
        });
        let source = from.and_then(|regno| {
            let at = (now.frame, regno);
            self.before_copy.get(&at).or_else(|| self.known.get(&at))
        });
        let copied = source.copied().filter(|it| made_anew && it.now.value == now.value);
        // So it does when an insn leaves it as it is: a branch compares it, a copy gives it an id.
        // Only NULL is a number otherwise.
        let is_untouched =
            !made_anew && by.is_none_or(|insn| is_of_branch || !computes(insn, now.regno));
        let is_null = now.value.view().constant() == Some(0);
        let refined = self.known.get(&at).filter(|_| is_untouched && !is_null);
        let lessened = source.or(refined).copied();
        let lessened = lessened.filter(|source| is_number(now) && !is_number(source.now));
        match lessened {
            Some(source) => {
                let by_call =
                    by.is_some_and(|insn| is_untouched && !is_copy(insn) && !is_of_branch);
                self.lost_by.extend(now.by.filter(|_| by_call).map(|by| (at, by as usize)));
                self.before_copy.insert(at, source)
            }
            None if made_anew => self.before_copy.remove(&at),
            None => None,
        };
        // A copy also gives its source an id.
        let is_copied = by.is_some_and(|insn| !made_anew && is_copy(insn));
        let since = match self.known.get(&at) {
            Some(before) if is_copied => before.since,
            _ => since,
        };
        let origin = match self.known.get(&at) {
            // That it is not NULL matters less than where it comes from.
            _ if copied.is_some_and(|source| is_checked(&source)) => {
                copied.and_then(|it| it.origin)
            }
            _ if copied.is_some() => copied.and_then(|source| source.since.or(source.origin)),
            Some(before) if !made_anew => before.origin,
            _ => now.by,
        };
        let since = if copied.is_some() { origin } else { since };
        self.known.insert(at, Known { now, made, since, origin, step });
    }

    /// Without the original values of registers, if other notes are more important.
    pub(crate) fn shortened(mut self, is_short: bool) -> History<'p> {
        self.is_short = is_short;
        self
    }

    /// With the rejection, which may know more of a packet pointer than the last change of it does.
    pub(crate) fn of_refusal(mut self, refusal: &'p Refusal) -> History<'p> {
        self.refusal = Some(refusal);
        self
    }

    /// The insn that last set a register of the last frame, and whether to a constant. What is
    /// copied into it without a line of its own was made where its source was.
    pub(crate) fn set_by(&self, regno: u8, program: &Program) -> Option<(usize, bool)> {
        let known = self.known.get(&(self.frame, regno))?;
        let is_constant = known.now.value.view().constant().is_some();
        let since = known.since? as usize;
        let insn = program.insns.get(since).filter(|_| notes::is_end_line(program, since));
        let source = insn
            .filter(|insn| insn.op() == BPF_MOV && insn.is_src_reg())
            .filter(|insn| matches!(insn.class(), BPF_ALU | BPF_ALU64))
            .and_then(|insn| self.known.get(&(self.frame, insn.src)))
            .and_then(|source| source.origin.or(source.since));
        Some((source.map_or(since, |made| made as usize), is_constant))
    }

    /// Where the register that a rejection names comes from, if the line of the rejected insn is
    /// that of the end of a block.
    pub(crate) fn origin_without_line(
        &self,
        refusal: &Refusal,
        program: &Program,
    ) -> Option<usize> {
        let idx = refusal.insn_idx.filter(|&idx| notes::is_end_line(program, idx))?;
        let is_exit = program.insns.get(idx)?.op() == BPF_EXIT;
        let regno = named_register(refusal).filter(|_| !is_exit)?;
        let origin = self.known.get(&(self.frame, regno))?.origin? as usize;
        let tells = program.source_place(origin).is_some() && !notes::is_end_line(program, origin);
        tells.then_some(origin)
    }

    /// What a register of the last frame holds.
    pub(crate) fn value(&self, regno: u8) -> Option<&'p RegValue> {
        self.known.get(&(self.frame, regno)).map(|known| &known.now.value)
    }

    /// The constant in a register of the last frame, as an `int` if it has no more bits.
    pub(crate) fn constant(&self, regno: u8) -> Option<i64> {
        let number = self.value(regno)?.view().constant()? as i64;
        Some(u32::try_from(number).map_or(number, |bits| i64::from(bits as i32)))
    }

    /// What is known about the registers that a rejection names, and those that its insn, `shown`,
    /// reads. `describe` gives the text of an insn and its location.
    pub(crate) fn notes(
        &self,
        refusal: &Refusal,
        shown: Option<usize>,
        program: &Program,
        describe: &impl Fn(usize) -> Described,
    ) -> Vec<Note> {
        let insn = shown.and_then(|idx| program.insns.get(idx));
        let mut regs = refusal.registers.clone();
        regs.extend(named_register(refusal).filter(|_| regs.is_empty()));
        // What would have been stored does not matter if the address is at fault.
        let is_of_address =
            |insn: &&Insn| insn.class() == BPF_STX && regs.first() == Some(&insn.dst);
        let read = insn.filter(|insn| !is_of_address(insn)).into_iter().flat_map(read_registers);
        regs.extend(read.collect::<Vec<_>>());
        regs.extend(self.passed_map(refusal));
        let mut seen = 0u32;
        regs.retain(|&reg| {
            let first_time = seen & 1 << reg == 0;
            seen |= 1 << reg;
            first_time
        });
        let mut notes = Vec::new();
        for reg in regs.into_iter().take(REGS_MAX) {
            let at = (self.frame, reg);
            let gone = self.gone.get(&at);
            if gone.is_none() && !self.known.contains_key(&at) {
                notes.extend(self.never_passed(refusal, reg, program, describe));
            }
            if let Some(known) = self.known.get(&at) {
                let source = self.before_copy.get(&at);
                let lost = match (gone, source) {
                    (Some(_), _) => None,
                    (None, Some(source)) => Some(source),
                    (None, None) => is_lost(refusal, reg, known.now).then_some(known),
                };
                let is_over = gone.is_some() || lost.is_some();
                notes.extend(self.told(source.unwrap_or(known), is_over, describe));
                notes.extend(lost.map(|lost| self.taken_away(lost, program, describe)));
            }
            notes.extend(gone.map(|&idx| {
                let callee = notes::callee(program, idx, describe);
                let is_released = reg == 1 && callee.as_deref() == Some("bpf_sk_release");
                let what = if is_released { "released by" } else { "uninitialized after" };
                notes::since(&format!("R{reg} is {what}"), idx, describe)
            }));
        }
        notes
    }

    /// The argument that is the map, if a message is about its type.
    pub(crate) fn passed_map(&self, refusal: &Refusal) -> Option<u8> {
        let is_map = |regno: &u8| {
            self.value(*regno).is_some_and(|value| value.view().ty.base == Base::ConstMapPtr)
        };
        let is_of_type = notes::OF_MAP_TYPE.contains(&refusal.kind.as_str());
        (is_of_type || refusal.kind == notes::NO_PROG_ARRAY).then(|| (1..=2).find(is_map))?
    }

    /// The old and current value of a register; only the old one if the register is invalid now.
    fn told(
        &self,
        known: &Known<'_>,
        is_over: bool,
        describe: &impl Fn(usize) -> Described,
    ) -> Vec<Note> {
        let Known { now, made, since, origin, .. } = known;
        let last = if is_over { "was" } else { "is" };
        if std::ptr::eq(*now, *made) {
            // Those of r1 and r10 are obvious.
            let is_news = made.by.is_some() || self.global.is_some() && made.regno != 10;
            return is_news.then(|| self.note(last, made, *origin, describe)).into_iter().collect();
        }
        // Every address in the stack is computed from its top.
        let tells = !self.is_short && !is_top_of_stack(&made.value) && origin != since;
        let was = tells.then(|| self.note("was", made, *origin, describe));
        was.into_iter().chain([self.note(last, now, *since, describe)]).collect()
    }

    fn note(
        &self,
        verb: &str,
        fact: &Register,
        since: Option<u32>,
        describe: &impl Fn(usize) -> Described,
    ) -> Note {
        let Register { regno, value, .. } = fact;
        let refusal = self.refusal.filter(|_| verb == "is");
        let range = refusal.and_then(|refusal| packet_range(*regno, refusal));
        let value = in_words(&compared_since(value, range));
        let says = format!("R{regno} {verb} {value}, since");
        match (since, &self.global) {
            (Some(idx), _) => notes::since(&says, idx as usize, describe),
            (None, None) => {
                Note { text: format!("R{regno} {verb} {value}, from the start"), at: None }
            }
            (None, Some((name, start))) => {
                let whose = format!(
                    "argument of `{name}`, a global function, which is verified on its own"
                );
                let program = self.program.filter(|_| is_plain_memory(&fact.value));
                let theirs = program.and_then(|of| names::kernel_struct(of, *start, *regno));
                let theirs = theirs.map(|name| format!("; the kernel has a struct {name}"));
                let theirs = theirs.unwrap_or_default();
                Note { text: format!("R{regno} {verb} {value}: an {whose}{theirs}"), at: None }
            }
        }
    }

    /// The call that invalidated the value.
    fn taken_away(
        &self,
        lost: &Known<'_>,
        program: &Program,
        describe: &impl Fn(usize) -> Described,
    ) -> Note {
        let steps = self.path.into_iter().flat_map(WalkedPath::steps).skip(lost.step);
        let insns: Vec<(usize, u32)> = steps
            .filter_map(|step| match step {
                Step::Insn { insn_idx, frame } => Some((*insn_idx as usize, *frame)),
                _ => None,
            })
            .collect();
        let is_packet = is_of_packet(&lost.now.value);
        // The last insn is the rejected one.
        let before = insns.split_last().map_or(&[][..], |(_, before)| before);
        let takes = |&(idx, _): &(usize, u32)| {
            let name = notes::callee(program, idx, describe);
            name.is_some_and(|name| takes_away(&lost.now.value, &name))
        };
        // A function that makes such a call is named by its own call, where the pointer is known.
        let in_own = |at: usize| {
            let is_own = |&&(_, frame): &&(usize, u32)| frame <= lost.now.frame;
            before[..=at].iter().rev().find(is_own).map(|&(idx, _)| idx)
        };
        let given = self.given_away(lost, program).filter(|idx| {
            let name = notes::callee(program, *idx, describe).unwrap_or_default();
            before.iter().any(|(of, _)| of == idx)
                && (takes_away(&lost.now.value, &name) || name == "bpf_kptr_xchg")
        });
        // Where a function returns that may have called another program, the packet may have moved.
        let leaves = |&(idx, frame): &(usize, u32)| {
            let name = notes::callee(program, idx, describe);
            frame > lost.now.frame && name.is_some_and(|name| name == "bpf_tail_call")
        };
        let left = || before.iter().rposition(leaves).filter(|_| is_packet).and_then(in_own);
        // A global function is not walked where it is called, but may move the packet.
        let global = || {
            let calls = insns.windows(2).rev().find(|pair| {
                let insn = program.insns.get(pair[0].0);
                pair[0].1 == pair[1].1 && insn.is_some_and(|insn| insn.is_pseudo_call())
            });
            calls.filter(|pair| is_packet && pair[0].1 <= lost.now.frame).map(|pair| pair[0].0)
        };
        let call = given.or_else(|| before.iter().rposition(takes).and_then(in_own));
        let call = call.or_else(left).or_else(global);
        let regno = lost.now.regno;
        let by = match is_packet {
            true => "was invalidated, as all pointers to the packet were, by",
            false => "was invalidated by",
        };
        // A callback may invalidate what no call releases by its name.
        let seen = || self.lost_by.get(&(lost.now.frame, regno)).copied();
        let computes = |idx: usize| {
            let insn = program.insns.get(idx);
            insn.is_some_and(|insn| matches!(insn.class(), BPF_ALU | BPF_ALU64))
        };
        match call.or_else(seen) {
            Some(idx) if computes(idx) => {
                notes::since(&format!("R{regno} is a number, since"), idx, describe)
            }
            Some(idx) => notes::since(&format!("R{regno} {by}"), idx, describe),
            None => Note { text: format!("R{regno} was invalidated since by a call"), at: None },
        }
    }
}

impl History<'_> {
    /// The last call that was given what a register of the last frame holds.
    fn given_away(&self, lost: &Known<'_>, program: &Program) -> Option<usize> {
        let dataflow = Dataflow::of(self.path?, program);
        let id = dataflow.regs.get(&(lost.now.frame, lost.now.regno))?;
        let is_it = |(of, _): &&(Id, usize)| of == id;
        dataflow.passed.iter().rev().find(is_it).map(|(_, idx)| *idx)
    }
}

/// A comparison of one packet pointer with the end extends the range of all others derived from it,
/// which is not reported as a change of those: the message has the range.
fn compared_since(value: &RegValue, range: Option<u64>) -> RegView<'_> {
    let mut view = value.view();
    if let Pointee::Packet { range: known } = &mut view.pointee {
        let since = range.and_then(|range| i32::try_from(range).ok()).filter(|&since| since > 0);
        *known = since.map_or(*known, |since| since.max(*known));
    }
    view
}

/// How many bytes of the packet a register may access, if a rejection is about that.
pub(crate) fn packet_range(regno: u8, refusal: &Refusal) -> Option<u64> {
    let is_it = refusal.kind == "beyond-packet" && refusal.registers.first() == Some(&regno);
    refusal.unsigned("mem_size").filter(|_| is_it)
}

/// Whether a rejection treats a register as a number that was last known as a pointer.
fn is_lost(refusal: &Refusal, reg: u8, now: &Register) -> bool {
    let is_named = refusal.registers.first() == Some(&reg);
    is_named && refusal.reg_type() == Some("scalar") && !is_number(now)
}

/// Whether a pointer that might have been NULL is known not to be.
fn is_checked(known: &Known<'_>) -> bool {
    let may_be_null = |register: &Register| register.value.view().ty.may_be_null();
    may_be_null(known.made) && !may_be_null(known.now) && !is_number(known.now)
}

fn is_number(register: &Register) -> bool {
    register.value.view().is_number()
}

fn is_top_of_stack(value: &RegValue) -> bool {
    let value = value.view();
    value.pointee == Pointee::Stack { frame: None }
        && value.bounds.const_value().is_some()
        && value.fixed_off() == 0
}

fn is_plain_memory(value: &RegValue) -> bool {
    let ty = value.view().ty;
    ty.base == Base::Mem && TypeFlag::PTR_MAYBE_NULL.contains(ty.flags)
}

/// Whether a value is a pointer to the packet, its end, or its metadata.
pub(crate) fn is_of_packet(value: &RegValue) -> bool {
    matches!(value.view().ty.base, Base::Packet | Base::PacketEnd | Base::PacketMeta)
}

/// Other functions that may move the packet, or memory that a dynptr gave of it.
const MAY_MOVE: [&str; 3] = ["bpf_dynptr_write", "bpf_dynptr_copy", "bpf_xdp_pull_data"];

/// Whether a call may invalidate a pointer such as `value`: it releases the reference, or moves the
/// packet.
pub(crate) fn takes_away(value: &RegValue, callee: &str) -> bool {
    const GIVE_BACK: [&str; 8] =
        ["release", "submit", "discard", "_put", "destroy", "drop", "unlock", "push"];
    let moves = HelperId::from_name(callee).is_some_and(helper_changes_pkt_data);
    match value.view().ref_obj_id != 0 {
        true => GIVE_BACK.iter().any(|word| callee.contains(word)),
        false => moves || callee.contains("unlock") || MAY_MOVE.contains(&callee),
    }
}

/// Whether an insn computes a register's value from what it holds.
fn computes(insn: &Insn, regno: u8) -> bool {
    matches!(insn.class(), BPF_ALU | BPF_ALU64) && insn.op() != BPF_MOV && insn.dst == regno
}

/// Whether an insn adds to a register that may be a pointer.
fn is_sum(insn: &Insn) -> bool {
    insn.class() == BPF_ALU64 && insn.op() == BPF_ADD
}

/// The register of the argument that a rejection is about.
fn argument(refusal: &Refusal) -> Option<u8> {
    // Arguments of functions are numbered from 0.
    let nth = |name: &str| refusal.number(name).map(|nth| nth + 1);
    let regno = nth("nth").or_else(|| refusal.number("regno")).or_else(|| nth("i"))?;
    u8::try_from(regno).ok().filter(|regno| (1..=5).contains(regno))
}

/// The register that a refusal is about first.
pub(crate) fn named_register(refusal: &Refusal) -> Option<u8> {
    refusal.registers.first().copied().or_else(|| argument(refusal))
}

/// Whether the insn itself may have set the register's value.
fn is_about(insn: &Insn, regno: u8) -> bool {
    match insn.class() {
        BPF_JMP | BPF_JMP32 => true,
        BPF_ALU | BPF_ALU64 => insn.dst == regno || is_copy(insn) && insn.src == regno,
        _ => written_register(insn).is_none_or(|written| written == regno),
    }
}
