//! Stack frames: saved registers, stack slots, prologue and epilogue.
//!
//! ```text
//! minimal                              full
//!   return address                       return address
//!   saved registers (those in use)       saved rbp              <- rbp = r10
//!   stack  <- r10 is its upper end       stack, 512 bytes at least
//!   address of counters, if not in rbp   address of counters
//!   padding, if it calls                 saved rbx r13 r14 r15
//!                          <- rsp                               <- rsp
//! ```
//!
//! If exceptions can be thrown, the main program's frame catches them (`Boundary`): it saves all
//! registers that callees may have changed and not restored, and records where it is.
//!
//! ```text
//! rbp finds it                         fuel: rbp is the run's environment
//!   return address                       return address
//!   saved rbp rbx r12 r13 r14 r15        saved rbx r13 r14 r15, env.throw_sp
//!   stack  <- r10 is its upper end       stack  <- r10 is its upper end
//!   address of counters, padding         address of counters, padding
//!                          <- rsp, rbp                          <- rsp, env.throw_sp
//! ```
//!
//! r12 is not saved if it counts tail calls, since functions do not use it for anything else then.
//!
//! # Invariants
//! 1. In a function that makes calls, `rsp` is a multiple of 16 in its body; every function starts
//!    with `rsp` 8 above one.
//! 2. `leave` exactly undoes `enter`: a tail call leaves, then jumps, and the target finds the
//!    stack as if it had been called.
//! 3. A leaf function may use 128 bytes below `rsp` (System V red zone).
//! 4. The first insn of a program has at least two bytes, so that it can be a switch (`sites`),
//!    with or without statistics: both variants are byte for byte the same.
//! 5. Between a boundary's `enter` and `leave`, `unwind` in it or its callees, at any depth,
//!    restores `rsp` to its value in the boundary's body. Programs that are tail called have
//!    boundaries of their own and restore the previous one.

use crate::RunEnv;
use crate::asm::{Asm, Mem, Width, X86, forms};
use crate::coverage::{Base, Kept};
use crate::flow::Func;
use crate::op::{Op, Reg, RegSet};
use crate::ops::Ops;
use crate::regs::{CALLEE_SAVED, RUN_ENV, SPARE_R12, SPARE_RBP, x86};
use crate::tuning::Prologue;
use std::mem::offset_of;

/// Bytes below `rsp` that signal handlers leave alone.
const RED_ZONE_BYTES: u32 = 128;
/// Stack of the classic prologue.
const FULL_STACK_BYTES: u32 = skep_uapi::limits::MAX_BPF_STACK_BYTES;

/// How to find the frame that catches exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// At `rbp`, which the program does not use otherwise.
    Rbp {
        /// r12 counts tail calls.
        counts_tail_calls: bool,
    },
    /// At [`RunEnv::throw_sp`].
    Env,
}

/// Layout of one function's frame.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    saved: Vec<X86>,
    /// Stack size, subtracted from `rsp` after the saves (minimal), or before them (full).
    sub: u32,
    /// r10 is this register plus this offset.
    fp: (X86, i32),
    full: bool,
    /// Of the main program (invariant 5).
    is_main: bool,
    boundary: Option<Boundary>,
    /// Offset from r10 of the word with the address of the first counter.
    counters: Option<i32>,
}

impl Frame {
    /// The frame of `func`, given its ops.
    pub(crate) fn new(
        prologue: Prologue,
        func: &Func,
        ops: &Ops,
        base: Base,
        kept: &[Kept],
    ) -> Frame {
        let is_main = func.start == 0;
        let used = match base {
            Base::Register => RegSet::of(&[SPARE_RBP]),
            Base::Frame | Base::Nowhere => RegSet::NONE,
        };
        let mut used = kept.iter().fold(used, |used, kept| used.with(kept.reg));
        let range = func.start as usize..func.end as usize;
        for effect in &ops.effects()[range.clone()] {
            used = used.or(effect.touched());
        }
        let calls = ops[range].iter().any(Op::is_call);
        let stack = match used.has(Reg::FP) {
            true => func.stack_bytes.next_multiple_of(8),
            false => 0,
        };
        let (stack, counters) = with_counters(stack, base);
        let frame = |(saved, sub), fp, full| Frame {
            saved,
            sub,
            fp,
            full,
            is_main,
            boundary: None,
            counters,
        };
        if prologue == Prologue::Full {
            let sub = stack.max(FULL_STACK_BYTES).next_multiple_of(16);
            let saved = vec![X86::RBX, X86::R13, X86::R14, X86::R15];
            return frame((saved, sub), (X86::RBP, 0), true);
        }
        let saved: Vec<X86> =
            CALLEE_SAVED.into_iter().filter(|reg| used.has(*reg)).map(x86).collect();
        if !calls && stack <= RED_ZONE_BYTES {
            return frame((saved, 0), (X86::RSP, 0), false);
        }
        let pushed = 8 + 8 * saved.len() as u32;
        let sub = match calls {
            true => (pushed + stack).next_multiple_of(16) - pushed,
            false => stack,
        };
        frame((saved, sub), (X86::RSP, sub as i32), false)
    }

    /// The frame of a main program that catches exceptions.
    pub(crate) fn of_boundary(boundary: Boundary, func: &Func, base: Base) -> Frame {
        let free = |reg: &Reg| match boundary {
            Boundary::Rbp { counts_tail_calls } => *reg == SPARE_R12 && counts_tail_calls,
            Boundary::Env => [SPARE_RBP, SPARE_R12].contains(reg),
        };
        let saved: Vec<X86> = CALLEE_SAVED.into_iter().filter(|reg| !free(reg)).map(x86).collect();
        let words = 1 + saved.len() as u32 + u32::from(boundary == Boundary::Env);
        let (stack, counters) = with_counters(func.stack_bytes.next_multiple_of(8), base);
        let used = 8 * words + stack;
        let sub = used.next_multiple_of(16) - 8 * words;
        let fp = (X86::RSP, sub as i32);
        let boundary = Some(boundary);
        Frame { saved, sub, fp, full: false, is_main: true, boundary, counters }
    }

    /// Restores `rsp` to its value in the body of this function, from a callee.
    pub(crate) fn unwind(&self, asm: &mut Asm) {
        match self.boundary {
            Some(Boundary::Rbp { .. }) => {
                asm.rr(&forms::MOV_RM, Width::W64, X86::RSP, X86::RBP);
            }
            Some(Boundary::Env) => asm.rm(&forms::MOV_RM, Width::W64, X86::RSP, throw_sp()),
            None => {}
        }
    }

    /// The address `r10 + disp`.
    pub(crate) fn slot(&self, disp: i32) -> Mem {
        Mem::base(self.fp.0, self.fp.1.wrapping_add(disp))
    }

    /// The word with the address of the first counter.
    pub(crate) fn counters(&self) -> Option<Mem> {
        self.counters.map(|disp| self.slot(disp))
    }

    /// The register that contains r10, if any.
    pub(crate) fn fp_register(&self) -> Option<X86> {
        (self.fp.1 == 0).then_some(self.fp.0)
    }

    pub(crate) fn enter(&self, asm: &mut Asm) {
        if self.full {
            self.push(asm, &[X86::RBP], true);
            asm.rr(&forms::MOV_MR, Width::W64, X86::RSP, X86::RBP);
            add_rsp(asm, -i64::from(self.sub));
            self.push(asm, &self.saved, false);
            return;
        }
        self.push(asm, &self.saved, true);
        if self.boundary == Some(Boundary::Env) {
            asm.mi(&forms::PUSH_RM, Width::W64, throw_sp(), 0);
        }
        add_rsp(asm, -i64::from(self.sub));
        match self.boundary {
            Some(Boundary::Rbp { .. }) => {
                asm.rr(&forms::MOV_RM, Width::W64, X86::RBP, X86::RSP);
            }
            Some(Boundary::Env) => asm.rm(&forms::MOV_MR, Width::W64, X86::RSP, throw_sp()),
            None => {}
        }
    }

    pub(crate) fn leave(&self, asm: &mut Asm) {
        if !self.full {
            add_rsp(asm, i64::from(self.sub));
        }
        if self.boundary == Some(Boundary::Env) {
            asm.mi(&forms::POP_RM, Width::W64, throw_sp(), 0);
        }
        for &reg in self.saved.iter().rev() {
            asm.r(&forms::POP, Width::W64, reg);
        }
        if self.full {
            asm.bare(&forms::LEAVE);
        }
    }

    /// Pushes; `first` is at the function's start.
    fn push(&self, asm: &mut Asm, saved: &[X86], first: bool) {
        for (at, &reg) in saved.iter().enumerate() {
            match self.is_main && first && at == 0 {
                true => asm.ri(&forms::PUSH_RM, Width::W64, reg, 0),
                false => asm.r(&forms::PUSH, Width::W64, reg),
            }
        }
    }
}

/// Stack size including the word with the address of the first counter, and its offset.
fn with_counters(stack: u32, base: Base) -> (u32, Option<i32>) {
    match base {
        Base::Frame => (stack + 8, Some(-(stack as i32) - 8)),
        Base::Register | Base::Nowhere => (stack, None),
    }
}

fn throw_sp() -> Mem {
    Mem::base(RUN_ENV, offset_of!(RunEnv, throw_sp) as i32)
}

/// Adjusts `rsp`, without regard to flags.
pub(crate) fn add_rsp(asm: &mut Asm, by: i64) {
    let form = match i8::try_from(by) {
        Ok(0) => return,
        Ok(_) => &forms::ADD_I8,
        Err(_) => &forms::ADD_I32,
    };
    asm.ri(form, Width::W64, X86::RSP, by);
}
