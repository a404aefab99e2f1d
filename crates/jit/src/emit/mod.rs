//! Translates ops to machine code. One method for each kind of op; the choice of insns for an op is
//! made only here.
//!
//! # Invariants
//! 1. An op's code only affects its operands, `r10`, `r11` and flags, and what its method
//!    documents.

mod alu;
mod atomic;
mod behind;
mod call;
mod coverage;
mod div;
mod div_constant;
mod flags;
mod jmp;
mod mem;
mod placed;
mod rounds;
mod stats;
mod thunk;

use crate::asm::{AbsCall, Asm, Label, Mem, Moved, Rm, Width, X86, forms};
use crate::coverage::{Kept, Place};
use crate::flow::Flow;
use crate::frame::Frame;
use crate::op::{Addr, DivOp, Loaded, Multiple, Op, Reg, Shift, Src};
use crate::ops::Ops;
use crate::opt::layout::Layout;
use crate::opt::unroll::Loop;
use crate::regs::{SCRATCH, x86};
use crate::sites::{RetargetSite, SwitchSite, TailCallSite};
use crate::stats::StatsSites;
use crate::{Error, Linkage, Tuning};
use behind::{LoopExit, Stubs};
use std::ops::Range;

/// Loops are aligned to multiples of this, if the padding is not longer than that.
const LOOP_ALIGN: u32 = 32;
const LOOP_PAD_MAX: u32 = 16;

/// What is emitted, and how.
pub(crate) struct Unit<'a> {
    pub(crate) ops: &'a Ops,
    pub(crate) flow: &'a Flow,
    pub(crate) frames: &'a [Frame],
    /// By function: counters in registers.
    pub(crate) kept: &'a [Vec<Kept>],
    pub(crate) linkage: &'a Linkage,
    pub(crate) tuning: &'a Tuning,
    /// Loops to unroll.
    pub(crate) loops: &'a [Loop],
    /// By op: the unrolled loop that starts here.
    pub(crate) heads: &'a [bool],
    /// By function: the order of its blocks, if not the original one.
    pub(crate) layouts: &'a [Option<Layout>],
    /// Addresses within reach of a call.
    pub(crate) reach: Range<u64>,
}

/// The code of a program.
#[derive(Debug, Default)]
pub(crate) struct Emitted {
    pub(crate) code: Vec<u8>,
    /// Offset of the host's entry point.
    pub(crate) entry: u32,
    /// Offset of the entry point of tail calls.
    pub(crate) tail_entry: u32,
    /// End of the landing of exceptions, which follows the last op.
    pub(crate) landing_end: u32,
    /// Offset of the code of each op, and the end.
    pub(crate) op_offs: Vec<u32>,
    /// End of the code of an op that is not followed by that of the next: op, offset.
    pub(crate) ends: Vec<(u32, u32)>,
    /// Start of the code of ops, each time it is emitted: offset, op.
    pub(crate) spans: Vec<(u32, u32)>,
    pub(crate) tail_calls: Vec<TailCallSite>,
    pub(crate) stats: StatsSites,
    pub(crate) calls: Vec<AbsCall>,
    /// Where to fill in the addresses of flags.
    pub(crate) flags: Vec<u32>,
}

/// The switch for statistics at the entry of a patched program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntrySite {
    /// The program's first insn.
    FirstInsn,
    /// The insn inserted before it.
    InLine,
}

/// Emits a program.
pub(crate) fn emit(unit: &Unit<'_>) -> Result<Emitted, Error> {
    let emitted = match with_site(unit, EntrySite::FirstInsn)? {
        Some(emitted) => Some(emitted),
        None => with_site(unit, EntrySite::InLine)?,
    };
    emitted.ok_or_else(|| Error::insn(0, "the program's machine code is too long"))
}

/// The program with such a site; `None` if it is not possible.
fn with_site(unit: &Unit<'_>, entry_site: EntrySite) -> Result<Option<Emitted>, Error> {
    let mut emit = Emit::new(unit, entry_site);
    emit.find_selected();
    emit.thunks();
    for (number, func) in unit.flow.funcs.iter().enumerate() {
        emit.func = number;
        emit.asm.align(16, 15);
        match number.checked_sub(1) {
            None => emit.stats_align(),
            Some(before) => emit.end_of(before),
        }
        emit.asm.bind(emit.labels[func.start as usize]);
        if number == 0 {
            emit.stats_entry();
        }
        emit.flags = None;
        emit.frame().enter(&mut emit.asm);
        emit.coverage_entry();
        for held in unit.flow.held.iter().filter(|held| held.func == number) {
            emit.ld_imm(x86(held.reg), held.value);
        }
        emit.body = emit.asm.label();
        emit.func_body()?;
    }
    emit.end_of(unit.flow.funcs.len() - 1);
    emit.asm.bind(emit.labels[unit.ops.len()]);
    emit.landing();
    let landing_end = emit.asm.label();
    emit.asm.bind(landing_end);
    if !emit.stats_first_insn() {
        return Ok(None);
    }
    emit.stats_stubs();
    Ok(emit.emitted(landing_end))
}

/// A source operand, as distinguished by the processor's forms.
enum Operand {
    Rm(Rm),
    Imm(i32),
}

/// A division by 0, emitted after the function.
#[derive(Debug)]
struct ZeroDivisor {
    label: Label,
    at: usize,
    op: DivOp,
    width: Width,
    to: X86,
    done: Label,
}

/// The state of the emitter.
struct Emit<'a> {
    unit: &'a Unit<'a>,
    asm: Asm,
    /// Labels of each op, and of the end; calls enter at that of a function's first op.
    labels: Vec<Label>,
    /// Label after the prologue of the current function: the target of jumps to its first op.
    body: Label,
    /// Target for a run without fuel.
    stop: Label,
    /// Where exceptions go.
    landing: Label,
    entry_site: EntrySite,
    /// Entries of functions called by helpers: first op, label.
    callbacks: Vec<(u32, Label)>,
    /// Tail calls that are patched.
    tail_calls: Vec<TailCallSite>,
    stats_sites: StatsSites,
    /// Exits of unrolled loops, to be emitted after the function.
    exits: Vec<LoopExit>,
    /// Divisions by 0, to be emitted after the function.
    zero_divisors: Vec<ZeroDivisor>,
    /// Stubs, to be emitted after the program.
    stubs: Option<Stubs>,
    /// See [`Emitted::ends`].
    ends: Vec<(u32, Label)>,
    /// The op being emitted.
    at: usize,
    /// The function being emitted.
    func: usize,
    /// By op, in a program with coverage: whether a conditional move in front of it stands for it.
    selected: Vec<bool>,
    /// The register described by the flags.
    flags: Option<(X86, Width)>,
}

impl<'a> Emit<'a> {
    /// Nothing emitted yet.
    fn new(unit: &'a Unit<'a>, entry_site: EntrySite) -> Emit<'a> {
        let mut asm = Asm::new(unit.reach.clone(), unit.tuning.poke);
        asm.reserve(unit.ops.len());
        let labels = asm.labels(unit.ops.len() + 1);
        let (stop, body, landing) = (asm.label(), asm.label(), asm.label());
        Emit {
            unit,
            asm,
            labels,
            body,
            stop,
            landing,
            entry_site,
            callbacks: Vec::new(),
            tail_calls: Vec::new(),
            stats_sites: StatsSites::default(),
            exits: Vec::new(),
            zero_divisors: Vec::new(),
            stubs: None,
            ends: Vec::new(),
            at: 0,
            func: 0,
            selected: Vec::new(),
            flags: None,
        }
    }

    /// The code, with short jumps if they reach; `None` if no jumps do.
    fn emitted(self, landing_end: Label) -> Option<Emitted> {
        let is_entered = self.entry_is_body();
        let (relaxed, moved) = self.asm.relaxed();
        let (finished, moved) = match relaxed.finish() {
            Some(finished) => (finished, moved),
            None => (self.asm.finish()?, Moved::default()),
        };
        let off = |label: Label| finished.labels[label.number()];
        let tail_entry = off(self.labels[0]);
        let mut ends: Vec<_> = self.ends.iter().map(|(op, end)| (*op, off(*end))).collect();
        ends.sort_unstable();
        let switch = |site: SwitchSite| site.moved_to(moved.to(site.off()));
        let tail_call = |site: TailCallSite| {
            let jump = RetargetSite::new(moved.to(site.jump.off()));
            TailCallSite { vacant: switch(site.vacant), jump, ..site }
        };
        let sites = self.stats_sites;
        let tail_calls = sites.tail_calls.into_iter().map(switch).collect();
        let stats = StatsSites { entry: sites.entry.map(switch), tail_calls };
        let landing_end = off(landing_end);
        let mut op_offs = finished.labels;
        op_offs.truncate(self.labels.len());
        Some(Emitted {
            code: finished.code,
            // Thunks come first.
            entry: if is_entered { tail_entry } else { 0 },
            tail_entry,
            landing_end,
            op_offs,
            ends,
            spans: finished.spans,
            tail_calls: self.tail_calls.into_iter().map(tail_call).collect(),
            stats,
            calls: finished.calls,
            flags: finished.flags,
        })
    }

    fn frame(&self) -> &'a Frame {
        &self.unit.frames[self.func]
    }

    fn func_body(&mut self) -> Result<(), Error> {
        let func = self.unit.flow.funcs[self.func];
        match &self.unit.layouts[self.func] {
            Some(layout) => self.placed(layout)?,
            None => self.ops(func.start as usize..func.end as usize)?,
        }
        self.loop_exits()?;
        self.zero_divisors();
        Ok(())
    }

    fn ops(&mut self, range: Range<usize>) -> Result<(), Error> {
        let mut at = range.start;
        while at < range.end {
            self.at = at;
            let unrolled = self.unrolled_at(at);
            let split = unrolled.is_some_and(|unrolled| unrolled.sum.is_some());
            if self.unit.flow.is_target[at] {
                let again = self.unit.heads[at] || self.unit.flow.is_jumped_back_to[at];
                // A loop with a sum starts before its jump target.
                if again && !split && self.unit.layouts[self.func].is_none() {
                    self.align_loop();
                }
            }
            let label = self.begin(at);
            if unrolled.is_none() {
                self.count(Place::Block(at as u32));
            }
            // Loops of one block do not overlap: they are in order of their heads, too.
            at = match unrolled {
                Some(unrolled) => self.unrolled(unrolled, label)?,
                None => {
                    self.one(at)?;
                    at + 1
                }
            };
            self.count(Place::Fall(at as u32 - 1));
        }
        Ok(())
    }

    /// Binds the label of an op. If jumps lead there, nothing is known about the flags.
    fn begin(&mut self, at: usize) -> Label {
        if self.unit.flow.is_target[at] {
            self.flags = None;
        }
        let label = self.target(at as u32);
        self.asm.bind(label);
        label
    }

    /// The loop that starts at an op and is unrolled.
    fn unrolled_at(&self, at: usize) -> Option<&'a Loop> {
        if !self.unit.flow.is_target[at] {
            return None;
        }
        let number = self.unit.loops.binary_search_by_key(&at, |looped| looped.rounds.head).ok()?;
        Some(&self.unit.loops[number])
    }

    fn align_loop(&mut self) {
        if self.unit.tuning.passes.align {
            self.asm.align(LOOP_ALIGN, LOOP_PAD_MAX);
        }
    }

    /// The label for a jump to op `to` of this function.
    fn target(&self, to: u32) -> Label {
        let is_first = to == self.unit.flow.funcs[self.func].start;
        if is_first { self.body } else { self.labels[to as usize] }
    }

    fn one(&mut self, at: usize) -> Result<(), Error> {
        self.at = at;
        self.asm.span(at);
        self.written(self.unit.ops[at])
    }

    fn written(&mut self, op: Op) -> Result<(), Error> {
        self.op(op)?;
        self.note_flags(op);
        Ok(())
    }

    fn op(&mut self, op: Op) -> Result<(), Error> {
        match op {
            Op::Nop => {}
            Op::Mov { width, dst, src } => self.mov(width, dst, src),
            Op::LdImm { dst, value } => self.ld_imm(x86(dst), value),
            Op::LdFunc { dst, target } => return self.ld_func(dst, target),
            Op::Alu { op, width, dst, src } => self.alu(op, width, dst, src),
            Op::Lea { width, dst, addr } => self.lea(width, dst, addr),
            Op::Shift { op, width, dst, src, by } => {
                return self.shift(Shift { op, width }, dst, src, by);
            }
            Op::Neg { width, dst } => self.asm.r(&forms::NEG, width, x86(dst)),
            Op::Swap { size, dst } => self.swap(size, x86(dst)),
            Op::Product { width, dst, src, by, plus } => {
                return self.product(width, dst, Multiple { src, by }, plus);
            }
            Op::Select { test, width, dst, src, to } => {
                let cc = self.select(test, width, dst, src);
                self.count_selected(cc, to);
            }
            Op::Set { test, dst } => self.set(test, dst),
            Op::Zext { size, dst, src } => self.zext(size, dst, src),
            Op::MovSx { size, width, dst, src } => self.movsx(size, width, dst, src),
            Op::Div { op, width, dst, src } => return self.div(op, width, dst, src),
            Op::Load { size, sign, big, dst, addr } => {
                self.load(Loaded { size, sign, big }, dst, addr);
            }
            Op::Probe { size, sign, dst, addr } => return self.probe(size, sign, dst, addr),
            Op::Store { size, big, addr, src } => return self.store(size, big, addr, src),
            Op::Fill { addr, bytes, zeroed } => self.fill(addr, bytes, zeroed),
            Op::AluStore { op, size, addr, src } => return self.alu_store(op, size, addr, src),
            Op::Atomic { op, width, addr, reg } => self.atomic(op, width, addr, reg),
            Op::Jmp { to } => return self.jmp(to),
            Op::Br { test, to } => self.br(test, to),
            Op::Call { helper, map } => return self.call(helper, map),
            Op::Kfunc { id } => return self.kfunc(id),
            Op::ArrayLookup { map, key } => return self.array_lookup(map, key),
            Op::CallSub { target } => self.call_sub(target),
            Op::TailCall { map, index } => return self.tail_call(map, index),
            Op::Throw => self.throw(),
            Op::Exit => self.exit(),
        }
        Ok(())
    }

    fn exit(&mut self) {
        self.coverage_leave();
        self.frame().leave(&mut self.asm);
        self.asm.bare(&forms::RET);
    }

    /// Jumps to the landing, with the main program's stack.
    fn throw(&mut self) {
        self.unit.frames[0].unwind(&mut self.asm);
        self.asm.jmp(self.landing);
    }

    /// The exception callback, as the last action of the main program.
    fn landing(&mut self) {
        self.asm.bind(self.landing);
        if let Some(callback) = self.unit.flow.exception_cb {
            self.asm.call(self.labels[callback as usize]);
            self.unit.frames[0].leave(&mut self.asm);
            self.asm.bare(&forms::RET);
        }
    }

    /// The register that contains `reg`; r10 may have to be computed into `scratch`.
    fn read(&mut self, reg: Reg, scratch: X86) -> X86 {
        if reg != Reg::FP {
            return x86(reg);
        }
        if let Some(fp) = self.frame().fp_register() {
            return fp;
        }
        self.asm.rm(&forms::LEA, Width::W64, scratch, self.frame().slot(0));
        scratch
    }

    fn mem(&self, addr: Addr) -> Mem {
        let index = addr.index.map(|(reg, scale)| (x86(reg), scale));
        match addr.base == Reg::FP {
            true => Mem { index, ..self.frame().slot(addr.disp) },
            false => Mem { base: x86(addr.base), index, disp: addr.disp },
        }
    }

    /// An operand by the forms that take it.
    fn operand(&mut self, src: Src) -> Operand {
        match src {
            Src::Reg(reg) => Operand::Rm(Rm::Reg(self.read(reg, SCRATCH))),
            Src::Mem(addr) => Operand::Rm(Rm::Mem(self.mem(addr))),
            Src::Imm(imm) => Operand::Imm(imm),
        }
    }

    /// A pass produced an op without machine code: the compilation fails.
    fn bug(&self, what: &'static str) -> Result<(), Error> {
        Err(Error::bug(self.at, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prologue;
    use crate::coverage::Base;
    use crate::flow::Func;
    use crate::op::{AluOp, ShiftOp, Size, Space};

    const SLOT: Addr = Addr { base: Reg::FP, index: None, disp: -8, space: Space::Own };

    /// The outcome for a program of two ops, `op` and an exit.
    fn emitted(op: Op) -> Result<Emitted, Error> {
        let ops = Ops::new(vec![op, Op::Exit]);
        let (tuning, linkage) = (Tuning::default(), Linkage::default());
        let func = Func { end: 2, stack_bytes: 8, ..Func::default() };
        let mut flow = Flow { funcs: vec![func], ..Flow::default() };
        flow.find_targets(&ops);
        let frames = [Frame::new(Prologue::Minimal, &func, &ops, Base::Nowhere, &[])];
        emit(&Unit {
            ops: &ops,
            flow: &flow,
            frames: &frames,
            kept: &[Vec::new()],
            linkage: &linkage,
            tuning: &tuning,
            loops: &[],
            heads: &[false; 2],
            layouts: &[None],
            reach: 0..0,
        })
    }

    /// Ops that no pass produces: they would be omitted, or mistaken for others.
    #[test]
    fn what_has_no_machine_code_is_our_fault_and_said() {
        let (src, size, dst, width) = (Src::Mem(SLOT), Size::B8, Reg::R0, Width::W64);
        let imm = Src::Imm(1);
        let bad = [
            Op::Shift { op: ShiftOp::Shl, width, dst, src: dst, by: src },
            Op::Store { size, big: false, addr: SLOT, src },
            Op::Store { size, big: true, addr: SLOT, src },
            Op::AluStore { op: AluOp::Add, size, addr: SLOT, src },
            Op::AluStore { op: AluOp::Mul, size, addr: SLOT, src: imm },
            Op::AluStore { op: AluOp::Add, size: Size::B2, addr: SLOT, src: imm },
        ];
        for op in bad {
            let error = emitted(op).expect_err("no code for it");
            assert!(error.is_bug() && !error.is_unsupported(), "{op:?}: {error}");
            assert!(error.to_string().starts_with("internal error: while compiling insn 0: "));
        }
        for op in [
            Op::Shift { op: ShiftOp::Shl, width, dst, src: dst, by: imm },
            Op::Store { size, big: true, addr: SLOT, src: imm },
            Op::AluStore { op: AluOp::Add, size, addr: SLOT, src: imm },
            Op::Alu { op: AluOp::Mul, width, dst, src },
        ] {
            let code = emitted(op).expect("code").code;
            assert!(code.len() > emitted(Op::Nop).expect("code").code.len(), "{op:?}");
        }
    }
}
