//! Thunks between the host and programs that need more than the System V convention provides: a
//! counter of tail calls, an environment for fuel.
//!
//! ```text
//! tail calls only          fuel (program or callback)
//!   push r12                 push all that is callee-saved
//!   xor r12d, r12d           mov rbp, env
//!   call body                push [rbp + throw_sp] twice
//!   pop r12                  push [rbp + stop_sp];  mov [rbp + stop_sp], rsp
//!   ret                      xor r12d, r12d;  call body
//!                          finish:
//!                            pop [rbp + stop_sp];  pop [rbp + throw_sp] twice
//!                            pop the rest;  ret
//!                          stop:
//!                            mov [rbp + stopped], 1;  end the records (`stats`)
//!                            mov rsp, [rbp + stop_sp]
//!                            mov eax, 1;  jmp finish
//! ```
//!
//! # Invariants
//! 1. Stopping a run only discards frames of machine code: each entry from the host sets the stop
//!    position, and restores that of the enclosing entry, and of its exception frame.

use super::Emit;
use super::jmp::env_field;
use crate::RunEnv;
use crate::asm::{Label, Width, X86, forms};
use crate::regs::{RUN_ENV, TAIL_CALL_CNT};
use std::mem::offset_of;

const SAVED: [X86; 6] = [X86::RBP, X86::RBX, X86::R12, X86::R13, X86::R14, X86::R15];

impl Emit<'_> {
    /// Whether the host can enter the first function without a thunk.
    pub(super) fn entry_is_body(&self) -> bool {
        !self.unit.tuning.fuel && !self.unit.flow.counts_tail_calls()
    }

    /// Emits the thunks; the host's comes first.
    pub(super) fn thunks(&mut self) {
        if self.entry_is_body() {
            self.asm.bind(self.stop);
            return;
        }
        let body = self.labels[0];
        if !self.unit.tuning.fuel {
            self.asm.bind(self.stop);
            self.asm.r(&forms::PUSH, Width::W64, TAIL_CALL_CNT);
            self.ld_imm(TAIL_CALL_CNT, 0);
            self.asm.call(body);
            self.asm.r(&forms::POP, Width::W64, TAIL_CALL_CNT);
            self.asm.bare(&forms::RET);
            return;
        }
        let finish = self.asm.label();
        self.fuel_entry(X86::RSI, body);
        self.finish(finish);
        self.fuel_stop(finish);
        for number in 1..self.unit.flow.funcs.len() {
            let func = self.unit.flow.funcs[number];
            if func.is_callback {
                self.asm.align(16, 15);
                let label = self.asm.label();
                self.asm.bind(label);
                self.callbacks.push((func.start, label));
                self.fuel_entry(X86::R9, self.labels[func.start as usize]);
                self.asm.jmp(finish);
            }
        }
    }

    fn fuel_entry(&mut self, env: X86, body: Label) {
        for reg in SAVED {
            self.asm.r(&forms::PUSH, Width::W64, reg);
        }
        let stop_sp = env_field(offset_of!(RunEnv, stop_sp));
        let throw_sp = env_field(offset_of!(RunEnv, throw_sp));
        self.asm.rr(&forms::MOV_RM, Width::W64, RUN_ENV, env);
        // Twice, for the alignment.
        self.asm.mi(&forms::PUSH_RM, Width::W64, throw_sp, 0);
        self.asm.mi(&forms::PUSH_RM, Width::W64, throw_sp, 0);
        self.asm.mi(&forms::PUSH_RM, Width::W64, stop_sp, 0);
        self.asm.rm(&forms::MOV_MR, Width::W64, X86::RSP, stop_sp);
        self.ld_imm(TAIL_CALL_CNT, 0);
        self.asm.call(body);
    }

    fn finish(&mut self, finish: Label) {
        self.asm.bind(finish);
        let throw_sp = env_field(offset_of!(RunEnv, throw_sp));
        self.asm.mi(&forms::POP_RM, Width::W64, env_field(offset_of!(RunEnv, stop_sp)), 0);
        self.asm.mi(&forms::POP_RM, Width::W64, throw_sp, 0);
        self.asm.mi(&forms::POP_RM, Width::W64, throw_sp, 0);
        for reg in SAVED.into_iter().rev() {
            self.asm.r(&forms::POP, Width::W64, reg);
        }
        self.asm.bare(&forms::RET);
    }

    fn fuel_stop(&mut self, finish: Label) {
        self.asm.bind(self.stop);
        self.asm.mi(&forms::MOV_MI, Width::W32, env_field(offset_of!(RunEnv, stopped)), 1);
        self.stats_stop();
        let stop_sp = env_field(offset_of!(RunEnv, stop_sp));
        self.asm.rm(&forms::MOV_RM, Width::W64, X86::RSP, stop_sp);
        self.ld_imm(X86::RAX, 1);
        self.asm.jmp(finish);
    }
}
