//! Jumps, comparisons, and fuel.
//!
//! # Invariants
//! 1. Machine code uses fuel, and stops, at the same places as the interpreter: at a taken backward
//!    jump, a function call, a callback. Passes may invert such a jump, but preserve it one for
//!    one.

use super::Emit;
use super::alu::is_i8;
use crate::asm::{Cc, Label, Mem, Width, X86, forms};
use crate::coverage::Place;
use crate::op::{Cond, Op, Reg, Size, Src, Test};
use crate::opt::latches;
use crate::regs::{RUN_ENV, SCRATCH, x86};
use std::mem::offset_of;

use crate::{Error, RunEnv};

fn cc(cond: Cond) -> Cc {
    match cond {
        Cond::Eq | Cond::NotSet => Cc::E,
        Cond::Ne | Cond::Set => Cc::NE,
        Cond::Gt => Cc::A,
        Cond::Ge => Cc::AE,
        Cond::Lt => Cc::B,
        Cond::Le => Cc::BE,
        Cond::SGt => Cc::G,
        Cond::SGe => Cc::GE,
        Cond::SLt => Cc::L,
        Cond::SLe => Cc::LE,
    }
}

/// The same with 0, if there is one: that needs no immediate.
fn against_zero(test: Test) -> Test {
    let cond = match (test.cond, test.b) {
        (Cond::SGt, Src::Imm(-1)) => Cond::SGe,
        (Cond::SLe, Src::Imm(-1)) => Cond::SLt,
        (Cond::Ge, Src::Imm(1)) | (Cond::Gt, Src::Imm(0)) => Cond::Ne,
        (Cond::Lt, Src::Imm(1)) | (Cond::Le, Src::Imm(0)) => Cond::Eq,
        _ => return test,
    };
    Test { cond, b: Src::Imm(0), ..test }
}

/// The field of [`RunEnv`] at an offset.
pub(super) fn env_field(offset: usize) -> Mem {
    Mem::base(RUN_ENV, offset as i32)
}

impl Emit<'_> {
    pub(super) fn jmp(&mut self, to: u32) -> Result<(), Error> {
        let passes = &self.unit.tuning.passes;
        if passes.latches
            && !self.unit.tuning.fuel
            && let Some(latch) = latches::latch(self.unit.ops, self.unit.flow, self.at)
        {
            return self.end_of_loop(to as usize, latch);
        }
        if self.costs_fuel(to) {
            self.fuel();
        }
        self.count(Place::Taken(self.at as u32));
        // A jump to the next op needs no insn, even if fuel is counted there.
        if to as usize != self.at + 1 {
            self.asm.jmp(self.target(to));
        }
        Ok(())
    }

    /// Duplicates the code of ops `from` to `latch`, of which the last is a jump, and its
    /// continuation.
    fn end_of_loop(&mut self, from: usize, latch: usize) -> Result<(), Error> {
        let Op::Br { test, to } = self.unit.ops[latch] else { return Ok(()) };
        self.flags = None;
        for at in from..latch {
            self.one(at)?;
        }
        self.at = latch;
        self.asm.span(latch);
        let heads = self.unit.heads;
        let mut next = latch + 1;
        while self.unit.ops[next].is_nop() && !heads[next] {
            next += 1;
        }
        // The jump that is likely to be taken is the conditional one.
        let (test, to, next) = match heads[next] && !heads[to as usize] {
            true => (Test { cond: test.cond.negated(), ..test }, next as u32, to),
            false => (test, to, next as u32),
        };
        self.br(test, to);
        self.asm.jmp(self.target(next));
        Ok(())
    }

    pub(super) fn br(&mut self, test: Test, to: u32) {
        let taken = Place::Taken(self.at as u32);
        if !self.costs_fuel(to) && !self.is_counted(taken) {
            return self.br_to(test, self.target(to));
        }
        let (cc, stays) = (self.condition(test), self.asm.label());
        self.asm.jcc(cc.negated(), stays);
        if self.costs_fuel(to) {
            self.fuel();
        }
        self.count(taken);
        self.asm.jmp(self.target(to));
        self.asm.bind(stays);
    }

    /// The same to a label that is not an op's, without fuel.
    pub(super) fn br_to(&mut self, test: Test, label: Label) {
        let cc = self.condition(test);
        self.asm.jcc(cc, label);
    }

    /// The condition equivalent to the test, which may need no insn.
    fn condition(&mut self, test: Test) -> Cc {
        if !self.unit.tuning.passes.flags {
            return self.test(test);
        }
        let test = against_zero(test);
        let known = self.tested(test);
        match known {
            Some(cc) => cc,
            None => self.test(test),
        }
    }

    /// Sets the flags; returns the condition that is then equivalent to the test.
    pub(super) fn test(&mut self, test: Test) -> Cc {
        let Test { cond, width, .. } = test;
        let a = self.read(test.a, crate::regs::SCRATCH2);
        let bits = matches!(cond, Cond::Set | Cond::NotSet);
        match test.b {
            Src::Imm(imm) if bits => self.test_bits(width, a, imm),
            Src::Imm(0) => self.asm.rr(&forms::TEST_MR, width, a, a),
            Src::Imm(imm) => {
                let form = if is_i8(imm) { &forms::CMP_I8 } else { &forms::CMP_I32 };
                self.asm.ri(form, width, a, i64::from(imm));
            }
            Src::Reg(b) => {
                let b = self.read(b, SCRATCH);
                let form = if bits { &forms::TEST_MR } else { &forms::CMP_RM };
                self.asm.rr(form, width, a, b);
            }
            Src::Mem(addr) => {
                let mem = self.mem(addr);
                let form = if bits { &forms::TEST_MR } else { &forms::CMP_RM };
                self.asm.rm(form, width, a, mem);
            }
        }
        cc(cond)
    }

    fn test_bits(&mut self, width: Width, a: X86, imm: i32) {
        // The shorter forms give the same result for whether any bit is set.
        if (0..=0xff).contains(&imm) {
            return self.asm.ri(&forms::TEST8_I8, Width::W32, a, i64::from(imm));
        }
        let width = if imm >= 0 { Width::W32 } else { width };
        self.asm.ri(&forms::TEST_I32, width, a, i64::from(imm));
    }

    /// Returns the condition under which `src` is chosen; the flags are still set.
    pub(super) fn select(&mut self, test: Test, width: Width, dst: Reg, src: Reg) -> Cc {
        let cc = self.condition(test);
        self.asm.rr(&forms::cmov(cc), width, x86(dst), x86(src));
        cc
    }

    pub(super) fn set(&mut self, test: Test, dst: Reg) {
        let to = x86(dst);
        let is_read = test.uses().has(dst);
        if !is_read {
            self.ld_imm(to, 0);
            self.flags = None;
        }
        let cc = self.condition(test);
        self.asm.r(&forms::setcc(cc), Width::W32, to);
        if is_read {
            self.zext(Size::B1, dst, dst);
        }
    }

    fn costs_fuel(&self, to: u32) -> bool {
        self.unit.tuning.fuel && to as usize <= self.at
    }

    /// Consumes one unit of fuel, and checks the interrupt flag.
    pub(super) fn fuel(&mut self) {
        self.flags = None;
        let (fuel, interrupt) = (offset_of!(RunEnv, fuel), offset_of!(RunEnv, interrupt));
        self.asm.mi(&forms::SUB_I8, Width::W64, env_field(fuel), 1);
        self.asm.jcc(Cc::S, self.stop);
        self.asm.mi(&forms::CMP_I8, Width::W32, env_field(interrupt), 0);
        self.asm.jcc(Cc::NE, self.stop);
    }

    /// After a helper with fuel: a callback may have been stopped in it.
    pub(super) fn stop_with_callback(&mut self) {
        if self.unit.tuning.fuel {
            let stopped = offset_of!(RunEnv, stopped);
            self.asm.mi(&forms::CMP_I8, Width::W32, env_field(stopped), 0);
            self.asm.jcc(Cc::NE, self.stop);
        }
    }
}
