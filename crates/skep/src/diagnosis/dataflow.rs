//! Data flow along a path: from which values each value was computed, and which were compared.
//!
//! # Invariants
//! 1. A 64-bit copy is the same value; everything else that an insn computes is a new one, with its
//!    operands. Operands have smaller numbers than results.
//! 2. A memory location is a value plus a constant offset. A stored value is read back from the
//!    same location only if no call in between had access to the memory around it.

use crate::diagnosis::history::insn::written_register;
use crate::insn::Insn;
use crate::insn::code::*;
use crate::program::Program;
use crate::verifier::{Base, RegValue};
use crate::{Step, WalkedPath};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A value's number.
pub(crate) type Id = usize;

/// Maximum number of ancestors.
const ANCESTORS_MAX: usize = 256;

/// Maximum size of a stored value.
const STORED_BYTES_MAX: i64 = 8;

const FP: u8 = 10;

/// A memory location and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    root: Id,
    off: i64,
    bytes: u32,
}

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It existed when the function began.
    Given,
    Constant,
    Frame,
    Computed,
    Loaded,
    Returned,
}

#[derive(Debug)]
pub(crate) struct Value<'p> {
    pub(crate) made: Origin,
    /// The insn that computed it.
    pub(crate) by: Option<usize>,
    pub(crate) of: [Option<Id>; 2],
    /// Whether it is the sum of these.
    pub(crate) adds: bool,
    /// The location to which it points.
    points_to: Option<(Id, i64)>,
    /// The location from which it was read.
    pub(crate) read_from: Option<Place>,
    /// The value that was stored there, and the insn that wrote to it since.
    pub(crate) overwritten: Option<(Id, usize)>,
    /// The last reported value.
    pub(crate) told: Option<&'p RegValue>,
}

/// A stored value: its size, and number.
type Stored = (u32, Id);

/// A conditional jump on the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    pub(crate) insn_idx: usize,
    pub(crate) dst: Id,
    pub(crate) src: Option<Id>,
    pub(crate) is_taken: bool,
}

impl Check {
    pub(crate) fn operands(&self) -> impl Iterator<Item = Id> {
        [Some(self.dst), self.src].into_iter().flatten()
    }
}

/// A path, with the values that it computed and compared.
#[derive(Debug, Default)]
pub(crate) struct Dataflow<'p> {
    pub(crate) values: Vec<Value<'p>>,
    pub(crate) regs: HashMap<(u32, u8), Id>,
    /// By the value that points to the memory, then by offset.
    stored: HashMap<Id, BTreeMap<i64, Stored>>,
    /// What was stored, and the insn that wrote to it since.
    overwritten: HashMap<(Id, i64), (Stored, usize)>,
    /// The address of a map, as one value wherever it is loaded.
    addresses: HashMap<(u8, i32), Id>,
    pub(crate) checks: Vec<Check>,
    /// Values that were given to calls of the kernel, and those.
    pub(crate) passed: Vec<(Id, usize)>,
    /// The first insn of the path, and what its function got in registers.
    pub(crate) given: (usize, Vec<(Id, u8)>),
    pub(crate) frame: u32,
    /// How often the path came to its last insn since it entered that function.
    pub(crate) rounds: usize,
}

impl<'p> Dataflow<'p> {
    /// For a program's path: the values before the last insn, which is the rejected one.
    pub(crate) fn of(path: &'p WalkedPath, program: &Program) -> Dataflow<'p> {
        let insns = || {
            path.steps().filter_map(|step| match step {
                Step::Insn { insn_idx, frame } => Some((*insn_idx as usize, *frame)),
                _ => None,
            })
        };
        let last = insns().next_back();
        // Since the function was entered: what calls it may do so several times.
        let called = insns().rev().take_while(|(_, frame)| last.is_some_and(|it| *frame >= it.1));
        let rounds = called.filter(|&insn| Some(insn) == last).count();
        let mut insns = insns().peekable();
        let given = (insns.peek().map_or(0, |&(idx, _)| idx), Vec::new());
        let mut dataflow = Dataflow { frame: path.frame(), given, rounds, ..Dataflow::default() };
        dataflow.go_on_after(path, program);
        for step in path.steps() {
            match step {
                Step::Insn { .. } => {
                    let (Some((idx, frame)), Some(&next)) = (insns.next(), insns.peek()) else {
                        continue;
                    };
                    if let Some(insn) = program.insns.get(idx).copied() {
                        let second = program.insns.get(idx + 1).map_or(0, |second| second.imm);
                        dataflow.walk(insn, second, At { idx, frame, next });
                    }
                }
                Step::Register(now) => {
                    let id = dataflow.reg(now.frame, now.regno);
                    dataflow.values[id].told = Some(&now.value);
                }
            }
        }
        dataflow
    }

    /// Registers as the missing beginning of a long path left them. Packet pointers without an id
    /// are those to the packet's start, moved by constants: all are derived from one.
    fn go_on_after(&mut self, path: &'p WalkedPath, program: &Program) {
        let mut packet = None;
        for now in path.before() {
            let id = self.reg(now.frame, now.regno);
            let view = now.value.view();
            if view.ty.base == Base::Packet && view.id == 0 {
                let of = *packet.get_or_insert(id);
                self.values[id].of[0] = Some(of).filter(|&of| of != id);
            }
            let by = now
                .by
                .map(|by| by as usize)
                .filter(|&by| program.insns.get(by).and_then(written_register) == Some(now.regno));
            let value = &mut self.values[id];
            value.told = Some(&now.value);
            if let (Some(_), Origin::Given) = (by, value.made) {
                (value.made, value.by) = (Origin::Computed, by);
            }
        }
        if path.before().next().is_some() {
            self.given.1.clear();
        }
    }

    fn push(&mut self, made: Origin, by: Option<usize>, of: [Option<Id>; 2]) -> Id {
        let (points_to, read_from, overwritten, told) = (None, None, None, None);
        let adds = false;
        self.values.push(Value { made, by, of, adds, points_to, read_from, overwritten, told });
        self.values.len() - 1
    }

    /// The value of a register; `Given` if nothing on the known part of the path set it.
    fn reg(&mut self, frame: u32, regno: u8) -> Id {
        if let Some(&id) = self.regs.get(&(frame, regno)) {
            return id;
        }
        let made = if regno == FP { Origin::Frame } else { Origin::Given };
        let id = self.push(made, None, [None; 2]);
        self.regs.insert((frame, regno), id);
        if frame == 0 && made == Origin::Given {
            self.given.1.push((id, regno));
        }
        id
    }

    fn set(&mut self, at: At, regno: u8, id: Id) {
        self.regs.insert((at.frame, regno), id);
    }

    /// The offset from which a value was read, in what was given to the program or function.
    pub(crate) fn loaded_from_argument(&self, id: Id) -> Option<i64> {
        let Place { root, off, bytes } = self.values[id].read_from?;
        (self.values[root].made == Origin::Given && bytes == 8).then_some(off)
    }

    /// Whether a value was read from the stack.
    pub(crate) fn is_on_stack(&self, id: Id) -> bool {
        self.values[id].read_from.is_some_and(|at| self.values[at.root].made == Origin::Frame)
    }

    /// The offset in the stack of the last function to which a value points.
    pub(crate) fn stack_offset(&self, id: Id) -> Option<i64> {
        let (root, off) = self.place(id, 0);
        (self.regs.get(&(self.frame, FP)) == Some(&root)).then_some(off)
    }

    /// The location to which a value plus an offset points.
    pub(crate) fn place(&self, id: Id, off: i64) -> (Id, i64) {
        let (root, from) = self.values[id].points_to.unwrap_or((id, 0));
        (root, from.wrapping_add(off))
    }

    fn walk(&mut self, insn: Insn, second: i32, at: At) {
        match insn.class() {
            BPF_ALU | BPF_ALU64 => self.compute(insn, at),
            BPF_LD if insn.is_ld_imm64() => {
                let id = self.address(insn, second, at);
                self.set(at, insn.dst, id);
            }
            BPF_LD => self.returned(at),
            BPF_LDX => self.load(insn, at),
            BPF_ST | BPF_STX => self.store(insn, at),
            _ if insn.is_conditional_jump() => {
                let dst = self.reg(at.frame, insn.dst);
                let src = insn.is_src_reg().then(|| self.reg(at.frame, insn.src));
                let target = at.idx as i64 + 1 + i64::from(insn.off);
                let is_taken = at.next.0 as i64 == target;
                self.checks.push(Check { insn_idx: at.idx, dst, src, is_taken });
            }
            BPF_JMP if insn.op() == BPF_CALL => self.call(insn, at),
            BPF_JMP if insn.op() == BPF_EXIT && at.next.1 < at.frame => {
                let result = self.reg(at.frame, 0);
                self.regs.insert((at.next.1, 0), result);
                self.regs.retain(|&(frame, _), _| frame < at.frame);
            }
            _ => {}
        }
    }

    fn compute(&mut self, insn: Insn, at: At) {
        let src = insn.is_src_reg().then(|| self.reg(at.frame, insn.src));
        let is_wide = insn.class() == BPF_ALU64;
        let id = match (insn.op(), src) {
            (BPF_MOV, Some(src)) if is_wide && insn.off == 0 => src,
            (BPF_MOV, Some(src)) => self.push(Origin::Computed, Some(at.idx), [Some(src), None]),
            (BPF_MOV, None) => self.push(Origin::Constant, Some(at.idx), [None; 2]),
            (op, src) => {
                let dst = self.reg(at.frame, insn.dst);
                let src = src.filter(|_| !matches!(op, BPF_NEG | BPF_END));
                let id = self.push(Origin::Computed, Some(at.idx), [Some(dst), src]);
                self.values[id].adds = op == BPF_ADD;
                if op == BPF_ADD && is_wide && src.is_none() {
                    self.values[id].points_to = Some(self.place(dst, insn.imm.into()));
                }
                id
            }
        };
        self.set(at, insn.dst, id);
    }

    /// A 64-bit constant, or an address.
    fn address(&mut self, insn: Insn, second: i32, at: At) -> Id {
        let known = self.addresses.get(&(insn.src, insn.imm)).copied();
        let root = known.unwrap_or_else(|| self.push(Origin::Constant, Some(at.idx), [None; 2]));
        if insn.src == 0 {
            return self.push(Origin::Constant, Some(at.idx), [None; 2]);
        }
        self.addresses.insert((insn.src, insn.imm), root);
        let id = self.push(Origin::Constant, Some(at.idx), [None; 2]);
        self.values[id].points_to = Some((root, second.into()));
        id
    }

    fn load(&mut self, insn: Insn, at: At) {
        let base = self.reg(at.frame, insn.src);
        let (root, off) = self.place(base, insn.off.into());
        let bytes = insn.size_bytes();
        let stored = self.stored.get(&root).and_then(|around| around.get(&off));
        let stored = stored.filter(|stored| stored.0 == bytes);
        let of = [stored.map(|&(_, id)| id), None];
        let id = self.push(Origin::Loaded, Some(at.idx), of);
        let before = self.overwritten.get(&(root, off)).filter(|it| it.0.0 == bytes);
        self.values[id].overwritten = before.map(|&((_, of), by)| (of, by));
        self.values[id].read_from = Some(Place { root, off, bytes });
        self.set(at, insn.dst, id);
    }

    fn store(&mut self, insn: Insn, at: At) {
        let base = self.reg(at.frame, insn.dst);
        let (root, off) = self.place(base, insn.off.into());
        let bytes = insn.size_bytes();
        let end = off.saturating_add(bytes.into());
        self.overwrite(at.idx, root, off..end);
        if insn.class() == BPF_STX && insn.mode() == BPF_MEM {
            let src = self.reg(at.frame, insn.src);
            self.stored.entry(root).or_default().insert(off, (bytes, src));
            self.overwritten.remove(&(root, off));
        }
        if insn.class() == BPF_STX && insn.mode() == BPF_ATOMIC {
            let fetches = insn.imm & BPF_FETCH != 0 && insn.imm != BPF_CMPXCHG;
            let fetched = if fetches { Some(insn.src) } else { written_register(&insn) };
            let compared = (insn.imm == BPF_CMPXCHG).then_some(0);
            if let Some(regno) = fetched.or(compared) {
                let id = self.push(Origin::Loaded, Some(at.idx), [None; 2]);
                self.set(at, regno, id);
            }
        }
    }

    /// An insn may have changed what is stored at these offsets.
    fn overwrite(&mut self, by: usize, root: Id, changed: Range<i64>) {
        let Some(around) = self.stored.get_mut(&root) else { return };
        let first = changed.start.saturating_sub(STORED_BYTES_MAX - 1);
        let near = around.range(first..changed.end.max(first));
        let gone: Vec<i64> = near
            .filter(|&(&at, &(bytes, _))| at.saturating_add(bytes.into()) > changed.start)
            .map(|(&at, _)| at)
            .collect();
        for at in gone {
            if let Some(stored) = around.remove(&at) {
                self.overwritten.insert((root, at), (stored, by));
            }
        }
    }

    fn call(&mut self, insn: Insn, at: At) {
        let arguments: Vec<Id> = (1..=5).map(|regno| self.reg(at.frame, regno)).collect();
        if at.next.1 > at.frame {
            let inner = at.next.1;
            self.regs.retain(|&(frame, _), _| frame < inner);
            if insn.src == BPF_PSEUDO_CALL {
                for (regno, id) in (1..=5).zip(arguments) {
                    self.regs.insert((inner, regno), id);
                }
            }
        } else {
            for id in arguments {
                let (root, _) = self.place(id, 0);
                self.passed.push((id, at.idx));
                self.overwrite(at.idx, root, i64::MIN..i64::MAX);
            }
        }
        self.returned(at);
    }

    /// R0 is a result, R1 to R5 are clobbered.
    fn returned(&mut self, at: At) {
        let id = self.push(Origin::Returned, Some(at.idx), [None; 2]);
        self.set(at, 0, id);
        for regno in 1..=5 {
            self.regs.remove(&(at.frame, regno));
        }
    }

    /// A value and those from which it was computed, as far as `follows` allows; the newest first.
    pub(crate) fn ancestors(&self, id: Id, follows: impl Fn(&Value<'_>) -> bool) -> Vec<Id> {
        self.ancestors_by(id, |_, of| follows(of))
    }

    /// The same, if `follows` also depends on the result.
    pub(crate) fn ancestors_by(
        &self,
        id: Id,
        follows: impl Fn(&Value<'_>, &Value<'_>) -> bool,
    ) -> Vec<Id> {
        let mut found = vec![id];
        let mut next = 0;
        while next < found.len() && found.len() < ANCESTORS_MAX {
            let made = &self.values[found[next]];
            for of in made.of.into_iter().flatten() {
                if !found.contains(&of) && follows(made, &self.values[of]) {
                    found.push(of);
                }
            }
            next += 1;
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }

    /// For each value, whether it or a value from which it was computed, as far as `follows`
    /// allows, is one of `those`: in one pass, where [`Dataflow::ancestors`] of each would take
    /// time that is quadratic in the length of the path.
    pub(crate) fn derived(
        &self,
        those: impl Fn(Id) -> bool,
        follows: impl Fn(&Value<'_>) -> bool,
    ) -> Vec<bool> {
        let mut derived: Vec<bool> = Vec::with_capacity(self.values.len());
        for (id, value) in self.values.iter().enumerate() {
            let by_operand = |&of: &Id| derived[of] && follows(&self.values[of]);
            let is_derived = those(id) || value.of.iter().flatten().any(by_operand);
            derived.push(is_derived);
        }
        derived
    }
}

/// Position of the walk.
#[derive(Clone, Copy)]
struct At {
    idx: usize,
    frame: u32,
    /// The next insn, and its frame.
    next: (usize, u32),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verifier::{Bounds, Pointee, RegType, RegView};
    use skep_verifier::trace::{Event, Listener};

    #[test]
    fn packet_pointers_from_before_are_of_one_packet() {
        let mut path = WalkedPath::new(2 * size_of::<Step>());
        let pointer =
            |base| RegView::pointer(RegType { base, ..RegType::default() }, Pointee::Other);
        let start = pointer(Base::Packet);
        let mut moved = start;
        moved.off = 1;
        let number = RegView::number(Bounds::constant(7));
        for (regno, value) in [(1, start), (2, pointer(Base::PacketEnd)), (3, moved), (4, number)] {
            path.push_register(regno, value.into());
        }
        for insn_idx in 0..4 {
            path.tell(Event::Insn { insn_idx, frame: 0 });
        }
        let dataflow = Dataflow::of(&path, &Program::default());
        let of = |regno: u8| dataflow.values[dataflow.regs[&(0, regno)]].of[0];
        assert_eq!(of(3), Some(dataflow.regs[&(0, 1)]));
        assert_eq!([1, 2, 4].map(of), [None; 3]);
    }

    /// A long chain of sums, with a branch of it that nothing follows.
    #[test]
    fn what_is_derived_is_that_which_has_ancestors_among_those() {
        let mut dataflow = Dataflow::default();
        let mut ids = vec![dataflow.push(Origin::Given, None, [None; 2])];
        for by in 0..40 {
            let of = [ids.last().copied(), ids.get(by / 3).copied()];
            let made = if by % 7 == 3 { Origin::Loaded } else { Origin::Computed };
            ids.push(dataflow.push(made, Some(by), of));
        }
        let follows = |value: &Value<'_>| value.made != Origin::Loaded;
        for those in [vec![0], vec![5, 9], vec![40], vec![]] {
            let derived = dataflow.derived(|id| those.contains(&id), follows);
            let has =
                |id: &Id| dataflow.ancestors(*id, follows).iter().any(|it| those.contains(it));
            assert_eq!(derived, ids.iter().map(has).collect::<Vec<_>>(), "{those:?}");
        }
    }
}
