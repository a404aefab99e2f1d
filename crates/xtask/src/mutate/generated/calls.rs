//! Loops, iterators, callbacks, functions, critical sections.

use super::{ARRAY, Body, HASH, Maker};
use crate::random::generate::insn;
use skep::insn::Insn;
use skep::insn::code::*;

impl Maker<'_> {
    fn small_statements(&mut self, most: u64) {
        for _ in 0..1 + self.rng.below(most) {
            match self.rng.below(6) {
                0 => self.spill(),
                1 => self.linked(),
                2 => self.value_access(),
                _ => self.arithmetic(),
            }
        }
    }

    /// Closes a loop: back to `start` while the condition holds.
    fn back(&mut self, start: usize, condition: Insn) {
        let off = start as i64 - self.insns.len() as i64 - 1;
        self.insns.push(Insn { off: off as i16, ..condition });
    }

    /// A loop whose counter is in a register or on the stack.
    pub(super) fn counted_loop(&mut self) {
        let counter = self.number();
        let slot = self.rng.chance(25).then(|| self.slot());
        let unknown_start = self.rng.chance(20);
        if !unknown_start {
            self.set(counter, 0);
        }
        let start = self.insns.len();
        if let Some(slot) = slot {
            self.emit(BPF_STX | BPF_MEM | BPF_DW, (10, counter), (slot, 0));
        }
        self.small_statements(2);
        if let Some(slot) = slot {
            self.emit(BPF_LDX | BPF_MEM | BPF_DW, (counter, 10), (slot, 0));
        }
        let class = self.rng.pick(&[BPF_ALU64, BPF_ALU64, BPF_ALU]);
        let step = self.rng.pick(&[1, 1, 1, 2, 3]);
        self.emit(class | BPF_ADD, (counter, 0), (0, step));
        let times = 2 + self.rng.below(12) as i32;
        let class = self.rng.pick(&[BPF_JMP, BPF_JMP, BPF_JMP32]);
        let op = self.rng.pick(&[BPF_JLT, BPF_JNE, BPF_JSLT, BPF_JLE]);
        self.back(start, insn(class | op, counter, 0, 0, times));
    }

    /// `bpf_iter_num`.
    pub(super) fn iterator(&mut self) {
        let at = i32::from(self.slot());
        let (first, last) = (self.rng.below(3) as i32, self.rng.pick(&[0, 3, 100, 1_000_000]));
        self.stack(1, at);
        self.set(2, first);
        self.set(3, last);
        self.kfunc("bpf_iter_num_new");
        let start = self.insns.len();
        self.stack(1, at);
        self.kfunc("bpf_iter_num_next");
        self.unless(insn(BPF_JMP | BPF_JEQ, 0, 0, 0, 0), |it| {
            if it.rng.chance(70) {
                let dst = it.number();
                it.emit(BPF_LDX | BPF_MEM | BPF_W, (dst, 0), (0, 0));
            }
            if it.rng.chance(60) {
                it.small_statements(2);
            }
            it.back(start, insn(BPF_JMP | BPF_JA, 0, 0, 0, 0));
        });
        if self.rng.chance(96) {
            self.stack(1, at);
            self.kfunc("bpf_iter_num_destroy");
        }
    }

    pub(super) fn callback(&mut self) {
        let body = self.rng.pick(&[Body::Loop, Body::Loop, Body::Each]);
        if self.depth > 1 {
            return self.arithmetic();
        }
        match body {
            Body::Loop => match self.rng.chance(60) {
                true => self.set(1, 10),
                false => {
                    let src = self.number();
                    self.mov(1, src);
                }
            },
            _ => {
                let map = self.rng.pick(&[ARRAY, HASH]);
                self.map(1, map);
            }
        }
        self.calls.push((self.insns.len(), body));
        self.insns.extend(Insn::ld_imm64(2, BPF_PSEUDO_FUNC, 0));
        match self.rng.chance(60) {
            true => {
                let off = self.slot();
                self.emit(BPF_ST | BPF_MEM | BPF_DW, (10, 0), (off, 3));
                self.stack(3, off.into());
            }
            false => self.set(3, 0),
        }
        self.set(4, 0);
        self.helper(if body == Body::Loop { 181 } else { 164 });
        if self.rng.chance(50) {
            let dst = self.number();
            self.mov(dst, 0);
        }
    }

    pub(super) fn function(&mut self) {
        if self.depth > 3 {
            return self.arithmetic();
        }
        for arg in 1..3 {
            match self.rng.below(4) {
                0 => {
                    let off = self.slot();
                    self.stack(arg, off.into());
                }
                1 => self.mov(arg, 6),
                _ => {
                    let src = self.number();
                    self.mov(arg, src);
                }
            }
        }
        self.calls.push((self.insns.len(), Body::Function));
        self.emit(BPF_JMP | BPF_CALL, (0, BPF_PSEUDO_CALL), (0, 0));
        if self.rng.chance(70) {
            let dst = self.number();
            self.mov(dst, 0);
        }
    }

    /// A critical section (RCU, preemption, interrupts), mostly left again.
    pub(super) fn section(&mut self) {
        match self.rng.below(3) {
            0 => {
                self.kfunc("bpf_rcu_read_lock");
                self.small_statements(2);
                if self.rng.chance(90) {
                    self.kfunc("bpf_rcu_read_unlock");
                }
            }
            1 => {
                self.kfunc("bpf_preempt_disable");
                self.small_statements(2);
                if self.rng.chance(90) {
                    self.kfunc("bpf_preempt_enable");
                }
            }
            _ => {
                let at = i32::from(self.slot());
                self.stack(1, at);
                self.kfunc("bpf_local_irq_save");
                self.small_statements(2);
                if self.rng.chance(90) {
                    self.stack(1, at);
                    self.kfunc("bpf_local_irq_restore");
                }
            }
        }
    }

    pub(super) fn may_goto(&mut self) {
        let start = self.insns.len();
        self.unless(insn(BPF_JMP | BPF_JCOND, 0, 0, 0, 0), |it| {
            it.small_statements(3);
            it.back(start, insn(BPF_JMP | BPF_JA, 0, 0, 0, 0));
        });
    }
}
