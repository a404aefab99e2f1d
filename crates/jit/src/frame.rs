//! Where a function keeps the registers it saves and its stack, and how it begins and ends.
//!
//! ```text
//! minimal                              full
//!   return address                       return address
//!   saved registers (those in use)       saved rbp              <- rbp = r10
//!   stack  <- r10 is its upper end       stack, 512 bytes at least
//!   padding, if it calls                 saved rbx r13 r14 r15
//!                          <- rsp                               <- rsp
//! ```
//!
//! # Invariants
//! 1. A function that calls has `rsp` at a multiple of 16 in its body; every function starts with
//!    `rsp` 8 above one.
//! 2. `leave` undoes exactly what `enter` did: a tail call leaves, then jumps, and the target finds
//!    the stack as if it had been called.
//! 3. A function that calls nothing may keep 128 bytes below `rsp` (System V red zone).

use crate::asm::{Asm, Mem, Width, X86, forms};
use crate::flow::Func;
use crate::op::{Op, Reg, RegSet};
use crate::regs::{CALLEE_SAVED, x86};
use crate::tuning::Prologue;

/// Bytes below `rsp` that signal handlers leave alone.
const RED_ZONE_BYTES: u32 = 128;
/// Stack of the classic prologue.
const FULL_STACK_BYTES: u32 = 512;

/// Layout of one function's frame.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    saved: Vec<X86>,
    /// What `rsp` goes down after the saves (minimal), or before them (full).
    sub: u32,
    /// r10 is this register plus this.
    fp: (X86, i32),
    full: bool,
}

impl Frame {
    /// The frame of `func`, whose ops are `ops`.
    pub(crate) fn new(prologue: Prologue, func: &Func, ops: &[Op]) -> Frame {
        let mut used = RegSet::NONE;
        let mut calls = false;
        for op in ops {
            used = used.or(op.uses()).or(op.defs());
            calls |= op.is_call();
        }
        let stack = match used.has(Reg::FP) {
            true => func.stack_bytes.next_multiple_of(8),
            false => 0,
        };
        if prologue == Prologue::Full {
            let sub = stack.max(FULL_STACK_BYTES).next_multiple_of(16);
            let saved = vec![X86::RBX, X86::R13, X86::R14, X86::R15];
            return Frame { saved, sub, fp: (X86::RBP, 0), full: true };
        }
        let saved: Vec<X86> =
            CALLEE_SAVED.into_iter().filter(|reg| used.has(*reg)).map(x86).collect();
        if !calls && stack <= RED_ZONE_BYTES {
            return Frame { saved, sub: 0, fp: (X86::RSP, 0), full: false };
        }
        let pushed = 8 + 8 * saved.len() as u32;
        let sub = match calls {
            true => (pushed + stack).next_multiple_of(16) - pushed,
            false => stack,
        };
        Frame { saved, sub, fp: (X86::RSP, sub as i32), full: false }
    }

    /// The address `r10 + disp`.
    pub(crate) fn slot(&self, disp: i32) -> Mem {
        Mem::base(self.fp.0, self.fp.1.wrapping_add(disp))
    }

    /// The register that is r10, if one is.
    pub(crate) fn fp_register(&self) -> Option<X86> {
        (self.fp.1 == 0).then_some(self.fp.0)
    }

    pub(crate) fn enter(&self, asm: &mut Asm) {
        if self.full {
            asm.r(&forms::PUSH, Width::W64, X86::RBP);
            asm.rr(&forms::MOV_MR, Width::W64, (X86::RSP, X86::RBP));
            add_rsp(asm, -i64::from(self.sub));
            self.push(asm);
            return;
        }
        self.push(asm);
        add_rsp(asm, -i64::from(self.sub));
    }

    pub(crate) fn leave(&self, asm: &mut Asm) {
        if !self.full {
            add_rsp(asm, i64::from(self.sub));
        }
        for &reg in self.saved.iter().rev() {
            asm.r(&forms::POP, Width::W64, reg);
        }
        if self.full {
            asm.bare(&forms::LEAVE);
        }
    }

    fn push(&self, asm: &mut Asm) {
        for &reg in &self.saved {
            asm.r(&forms::PUSH, Width::W64, reg);
        }
    }
}

/// Moves `rsp`. Never through the address of a label: flags are free here.
pub(crate) fn add_rsp(asm: &mut Asm, by: i64) {
    let form = match i8::try_from(by) {
        Ok(0) => return,
        Ok(_) => &forms::ADD_I8,
        Err(_) => &forms::ADD_I32,
    };
    asm.ri(form, Width::W64, (X86::RSP, by));
}
