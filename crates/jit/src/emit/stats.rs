//! Sites and stubs of the statistics; [`crate::stats`] describes them.
//!
//! # Invariants
//! 1. At the entry, live registers are `rdi` (the context), `r12`, `rbp` and callee-saved ones; at
//!    a tail call also the register of the target. Stubs preserve those.
//! 2. A record is three words above the return address `ret`: clock, weight, slot. A weight of 0
//!    marks a record that has ended: no run has it, while a clock may be 0. With fuel, two more
//!    follow: the address of the enclosing record and that of `ret`; `RunEnv::record` is the
//!    address of the innermost one. `rbp` is the environment then at both kinds of site and at
//!    `ret`.
//! 3. `rsp` is 8 above a multiple of 16 at both kinds of site, and a multiple of 16 at calls.
//! 4. The site at the entry is the program's first insn, so the program is byte for byte the same
//!    with and without it; if that insn is not suitable, an insn is added before it.

use super::behind::Stubs;
use super::jmp::env_field;
use super::{Emit, EntrySite};
use crate::asm::{Cc, Label, Mem, Width, X86, forms};
use crate::regs::{RUN_ENV, SCRATCH, SCRATCH2};
use crate::stats::{BANK_BITS, GOLDEN, JUMP_BITS, LIMIT_BITS};
use crate::stats::{StatsControl, StatsLink, StatsSlot};
use crate::{PokeMode, RunEnv};
use std::mem::offset_of;

/// The program has the same alignment with and without a site: the position of branches and loops
/// in cache lines costs some programs more than a site does.
const ENTRY_ALIGN: u32 = 64;
const SITE_BYTES: u32 = 5;
/// `mov r11, imm64`, `test byte [r11], 1`, `jne rel32`.
const FLAG_SITE_BYTES: u32 = 20;
/// Words of a record without fuel.
const RECORD_BYTES: i64 = 24;
const WORD: i32 = 8;
/// Registers in a stub: the time, the slot, the run's duration, its weight, and free ones.
const NOW: X86 = X86::RAX;
const SLOT: X86 = SCRATCH2;
const ELAPSED: X86 = X86::RDX;
const WEIGHT: X86 = X86::RCX;
const FREE: X86 = X86::RSI;
/// Limits a time: a weight has 32 bits, and their product may have 63.
const PRODUCT_BITS: i64 = 31;
/// [`RunEnv::record`].
const RECORD: Mem = Mem::base(RUN_ENV, offset_of!(RunEnv, record) as i32);

fn slot(offset: usize) -> Mem {
    Mem::base(SLOT, offset as i32)
}

impl Emit<'_> {
    fn stats_link(&self) -> Option<StatsLink> {
        self.unit.linkage.stats.filter(|_| self.unit.tuning.sites)
    }

    /// Aligns the program, and emits what the site at its entry needs before it.
    pub(super) fn stats_align(&mut self) {
        if self.stats_link().is_none() {
            self.asm.align_behind(ENTRY_ALIGN, 0);
            return;
        }
        let (stub, program, ret) = (self.asm.label(), self.asm.label(), self.asm.label());
        let entry = (stub, program);
        self.stubs = Some(Stubs { entry, insn: None, ret, tail_calls: Vec::new() });
        match (self.unit.tuning.poke, self.entry_site) {
            (PokeMode::Patch, EntrySite::FirstInsn) => {
                self.asm.front_of_insn_site(stub, ENTRY_ALIGN);
            }
            (PokeMode::Patch, EntrySite::InLine) => {
                self.asm.align_behind(ENTRY_ALIGN, SITE_BYTES);
            }
            (PokeMode::Flag, _) => self.asm.align_behind(ENTRY_ALIGN, FLAG_SITE_BYTES),
        }
    }

    /// The site at the entry of the program, if an insn is added for it.
    pub(super) fn stats_entry(&mut self) {
        let is_first_insn =
            (self.unit.tuning.poke, self.entry_site) == (PokeMode::Patch, EntrySite::FirstInsn);
        let Some(Stubs { entry: (stub, program), .. }) = self.stubs else { return };
        if !is_first_insn {
            self.stats_sites.entry = Some(self.asm.switch_site(stub));
            self.asm.bind(program);
        }
    }

    /// Makes the first insn of the program, just emitted, the site. Returns whether there is a
    /// site.
    pub(super) fn stats_first_insn(&mut self) -> bool {
        let Some(stubs) = &mut self.stubs else { return true };
        if self.stats_sites.entry.is_none() {
            stubs.insn = self.asm.insn_site();
            self.stats_sites.entry = stubs.insn.map(|(site, _)| site);
        }
        self.stats_sites.entry.is_some()
    }

    /// The site of a tail call that will happen, after the epilogue. In functions other than the
    /// first, the run continues when the target has ended.
    pub(super) fn stats_tail_call(&mut self) {
        if self.stubs.is_none() || self.func != 0 {
            return;
        }
        let (stub, back) = (self.asm.label(), self.asm.label());
        let target = self.target_register();
        if target != SCRATCH {
            self.asm.rr(&forms::MOV_RM, Width::W64, target, SCRATCH);
        }
        let site = self.asm.switch_site(stub);
        self.stats_sites.tail_calls.push(site);
        self.asm.bind(back);
        if target != SCRATCH {
            self.asm.rr(&forms::MOV_RM, Width::W64, SCRATCH, target);
        }
        if let Some(stubs) = &mut self.stubs {
            stubs.tail_calls.push((stub, back));
        }
    }

    /// The register of a tail call's target at its site: a flag is tested in `r11`.
    fn target_register(&self) -> X86 {
        if self.unit.tuning.poke == PokeMode::Flag { X86::RSI } else { SCRATCH }
    }

    /// All stubs, after the program.
    pub(super) fn stats_stubs(&mut self) {
        let (Some(stubs), Some(link)) = (self.stubs.take(), self.stats_link()) else { return };
        self.asm.align(16, 15);
        self.stats_enter(&stubs, link);
        let (add_time, out) = (self.asm.label(), self.asm.label());
        self.stats_return(&stubs, link, add_time);
        if !stubs.tail_calls.is_empty() {
            self.stats_leave(&stubs, link, add_time, out);
        }
        self.stats_add_time(add_time, link);
    }

    fn stats_enter(&mut self, stubs: &Stubs, link: StatsLink) {
        let (stub, program) = stubs.entry;
        let number = SCRATCH;
        self.asm.bind(stub);
        self.ld_imm(SLOT, link.slots);
        self.asm.add_thread_word(SLOT, link.thread_word);
        let run_cnt = slot(offset_of!(StatsSlot, run_cnt));
        self.asm.rm(&forms::MOV_RM, Width::W64, number, run_cnt);
        self.asm.ri(&forms::ADD_I8, Width::W64, number, 1);
        self.asm.rm(&forms::MOV_MR, Width::W64, number, run_cnt);
        self.ld_imm(X86::RAX, link.control);
        let golden = i64::from(GOLDEN as i32);
        self.asm.ri(&forms::IMUL_I32, Width::W32, number, golden);
        let control = |offset: usize| Mem::base(X86::RAX, offset as i32);
        // Loaded once: a run is weighted by the rate at which it was picked.
        let rate = control(offset_of!(StatsControl, rate));
        self.asm.rm(&forms::MOV_RM, Width::W64, X86::RAX, rate);
        self.asm.rr(&forms::CMP_RM, Width::W32, number, X86::RAX);
        match stubs.insn {
            None => self.asm.jcc(Cc::A, program),
            Some((site, end)) => {
                let timed = self.asm.label();
                self.asm.jcc(Cc::BE, timed);
                self.asm.bind(program);
                self.asm.insn_elsewhere(site, end);
                self.asm.bind(timed);
            }
        }
        self.asm.ri(&forms::SHR_I8, Width::W64, X86::RAX, 32);
        if self.unit.tuning.fuel {
            self.asm.lea_label(number, stubs.ret);
            self.asm.r(&forms::PUSH, Width::W64, number);
            self.asm.mi(&forms::PUSH_RM, Width::W64, RECORD, 0);
        }
        self.asm.r(&forms::PUSH, Width::W64, SLOT);
        self.asm.r(&forms::PUSH, Width::W64, X86::RAX);
        match link.clock {
            0 => self.read_tsc(),
            clock => {
                self.asm.r(&forms::PUSH, Width::W64, X86::RDI);
                self.call_address(clock);
                self.asm.r(&forms::POP, Width::W64, X86::RDI);
            }
        }
        self.asm.r(&forms::PUSH, Width::W64, X86::RAX);
        if self.unit.tuning.fuel {
            self.asm.rm(&forms::MOV_MR, Width::W64, X86::RSP, RECORD);
        }
        self.asm.call(program);
    }

    /// The return address of a counted run.
    fn stats_return(&mut self, stubs: &Stubs, link: StatsLink, add_time: Label) {
        let closed = self.asm.label();
        self.asm.bind(stubs.ret);
        self.asm.mi(&forms::CMP_I8, Width::W64, Mem::base(X86::RSP, WORD), 0);
        self.asm.jcc(Cc::E, closed);
        // r0 is saved where `add_time` preserves it; twice, for the alignment.
        self.asm.r(&forms::PUSH, Width::W64, X86::RAX);
        self.asm.r(&forms::PUSH, Width::W64, X86::RAX);
        match link.clock {
            0 => self.read_tsc(),
            clock => self.call_address(clock),
        }
        self.take_record(2 * WORD);
        self.asm.call(add_time);
        self.asm.r(&forms::POP, Width::W64, X86::RAX);
        self.asm.r(&forms::POP, Width::W64, X86::RAX);
        self.asm.bind(closed);
        crate::frame::add_rsp(&mut self.asm, RECORD_BYTES);
        if self.unit.tuning.fuel {
            self.asm.mi(&forms::POP_RM, Width::W64, RECORD, 0);
            crate::frame::add_rsp(&mut self.asm, WORD.into());
        }
        self.asm.bare(&forms::RET);
    }

    /// Where a run with fuel is stopped: the innermost record above the stop position, if there is
    /// one, ends as if its program had returned, and control comes back here.
    pub(super) fn stats_stop(&mut self) {
        if self.stats_link().is_none() {
            return;
        }
        let (record, done) = (SCRATCH, self.asm.label());
        self.asm.rm(&forms::MOV_RM, Width::W64, record, RECORD);
        // No record is 0, which becomes the highest address.
        self.asm.rm(&forms::LEA, Width::W64, X86::RAX, Mem::base(record, -1));
        let stop_sp = env_field(offset_of!(RunEnv, stop_sp));
        self.asm.rm(&forms::CMP_RM, Width::W64, X86::RAX, stop_sp);
        self.asm.jcc(Cc::AE, done);
        self.asm.lea_label(X86::RAX, self.stop);
        // This may overwrite the `ret` of the enclosing record, which its program will not use any
        // more.
        let above = |words: i32| Mem::base(record, RECORD_BYTES as i32 + words * WORD);
        self.asm.rm(&forms::MOV_MR, Width::W64, X86::RAX, above(2));
        self.asm.rr(&forms::MOV_RM, Width::W64, X86::RSP, record);
        self.asm.rm(&forms::MOV_RM, Width::W64, X86::RAX, above(1));
        self.asm.r(&forms::JMP_R, Width::W64, X86::RAX);
        self.asm.bind(done);
    }

    /// The stubs of tail calls: each calls their common part.
    fn stats_leave(&mut self, stubs: &Stubs, link: StatsLink, add_time: Label, out: Label) {
        let common = self.asm.label();
        for (stub, back) in &stubs.tail_calls {
            self.asm.bind(*stub);
            self.asm.call(common);
            self.asm.jmp(*back);
        }
        self.asm.bind(common);
        let record = 2 * WORD;
        let weight = Mem::base(X86::RSP, record + WORD);
        self.asm.lea_label(X86::RAX, stubs.ret);
        self.asm.rm(&forms::CMP_RM, Width::W64, X86::RAX, Mem::base(X86::RSP, WORD));
        self.asm.jcc(Cc::NE, out);
        self.asm.mi(&forms::CMP_I8, Width::W64, weight, 0);
        self.asm.jcc(Cc::E, out);
        let target = self.target_register();
        self.asm.r(&forms::PUSH, Width::W64, target);
        self.asm.r(&forms::PUSH, Width::W64, X86::RDI);
        match link.clock {
            0 => self.read_tsc(),
            clock => self.call_address(clock),
        }
        let record = record + 2 * WORD;
        self.take_record(record);
        self.asm.mi(&forms::MOV_MI, Width::W64, Mem::base(X86::RSP, record + WORD), 0);
        self.asm.call(add_time);
        self.asm.r(&forms::POP, Width::W64, X86::RDI);
        self.asm.r(&forms::POP, Width::W64, target);
        self.asm.bind(out);
        self.asm.bare(&forms::RET);
    }

    /// `rax` is the current time; the record is `at` above `rsp`.
    fn take_record(&mut self, at: i32) {
        let word = |number: i32| Mem::base(X86::RSP, at + number * WORD);
        self.asm.rm(&forms::MOV_RM, Width::W64, WEIGHT, word(1));
        self.asm.rm(&forms::MOV_RM, Width::W64, SLOT, word(2));
        self.asm.rr(&forms::MOV_RM, Width::W64, ELAPSED, X86::RAX);
        self.asm.rm(&forms::SUB_RM, Width::W64, ELAPSED, word(0));
    }

    /// Adds a time to its slot. Called with `rsp` at a multiple of 16. No call-clobbered register
    /// is live.
    fn stats_add_time(&mut self, add_time: Label, link: StatsLink) {
        let (jumped, estimate) = (self.asm.label(), self.asm.label());
        let elsewhere = self.asm.label();
        self.asm.bind(add_time);
        self.asm.rr(&forms::MOV_RM, Width::W64, FREE, ELAPSED);
        self.asm.ri(&forms::SHR_I8, Width::W64, FREE, i64::from(JUMP_BITS));
        self.asm.jcc(Cc::NE, jumped);
        self.ld_imm(FREE, link.control);
        let has_histogram = Mem::base(FREE, offset_of!(StatsControl, has_histogram) as i32);
        self.asm.mi(&forms::CMP_I8, Width::W32, has_histogram, 0);
        self.asm.jcc(Cc::NE, elsewhere);
        self.asm.ri(&forms::CMP_I8, Width::W64, WEIGHT, 1);
        self.asm.jcc(Cc::NE, estimate);
        let covered = slot(offset_of!(StatsSlot, covered));
        self.asm.rm(&forms::MOV_MR, Width::W64, NOW, covered);
        self.stats_add(ELAPSED, false);

        self.asm.bind(estimate);
        self.stats_estimate(elsewhere);

        // The third and the fourth argument are already in place.
        self.asm.bind(elsewhere);
        self.asm.rr(&forms::MOV_RM, Width::W64, X86::RDI, SLOT);
        self.asm.rr(&forms::MOV_RM, Width::W64, X86::R8, NOW);
        crate::frame::add_rsp(&mut self.asm, -i64::from(WORD));
        self.call_address(link.timed);
        crate::frame::add_rsp(&mut self.asm, i64::from(WORD));
        self.asm.bare(&forms::RET);

        self.asm.bind(jumped);
        let jumps = slot(offset_of!(StatsSlot, clock_jumps));
        self.asm.mi(&forms::ADD_I8, Width::W64, jumps, 1);
        self.asm.bare(&forms::RET);
    }

    /// Adds the time of a run that represents others, and returns; complex cases jump to
    /// `elsewhere` with all registers unchanged.
    fn stats_estimate(&mut self, elsewhere: Label) {
        let (limit, given, from, other) = (X86::R8, X86::R9, X86::RDI, SCRATCH);
        let limit_word = slot(offset_of!(StatsSlot, limit));
        self.asm.rm(&forms::MOV_RM, Width::W64, limit, limit_word);
        self.asm.rr(&forms::CMP_RM, Width::W64, ELAPSED, limit);
        self.asm.jcc(Cc::A, elsewhere);
        self.asm.rr(&forms::MOV_RM, Width::W64, given, ELAPSED);
        self.asm.ri(&forms::SHR_I8, Width::W64, given, PRODUCT_BITS);
        self.asm.jcc(Cc::NE, elsewhere);
        self.asm.rr(&forms::MOV_RM, Width::W64, given, ELAPSED);
        self.asm.rr(&forms::IMUL_RM, Width::W64, given, WEIGHT);
        // The time that can still be assigned: since the latest of three moments.
        self.asm.rr(&forms::MOV_RM, Width::W64, from, NOW);
        self.asm.ri(&forms::SUB_I32, Width::W64, from, 1 << BANK_BITS);
        let covered = slot(offset_of!(StatsSlot, covered));
        let since = Mem::base(FREE, offset_of!(StatsControl, since) as i32);
        for moment in [covered, since] {
            let is_earlier = self.asm.label();
            self.asm.rm(&forms::MOV_RM, Width::W64, other, moment);
            self.asm.rr(&forms::CMP_RM, Width::W64, other, from);
            self.asm.jcc(Cc::LE, is_earlier);
            self.asm.rr(&forms::MOV_RM, Width::W64, from, other);
            self.asm.bind(is_earlier);
        }
        let (left, is_given) = (other, self.asm.label());
        self.asm.rr(&forms::MOV_RM, Width::W64, left, NOW);
        self.asm.rr(&forms::SUB_RM, Width::W64, left, from);
        self.asm.jcc(Cc::L, elsewhere);
        self.asm.rr(&forms::CMP_RM, Width::W64, given, left);
        self.asm.jcc(Cc::BE, is_given);
        self.asm.rr(&forms::MOV_RM, Width::W64, given, left);
        self.asm.bind(is_given);
        self.asm.rr(&forms::ADD_RM, Width::W64, from, given);
        self.asm.rm(&forms::MOV_MR, Width::W64, from, covered);
        let part = NOW;
        self.asm.rr(&forms::MOV_RM, Width::W64, part, limit);
        self.asm.ri(&forms::SHR_I8, Width::W64, part, i64::from(LIMIT_BITS));
        self.asm.rr(&forms::SUB_RM, Width::W64, limit, part);
        self.asm.rr(&forms::ADD_RM, Width::W64, limit, ELAPSED);
        self.asm.rm(&forms::MOV_MR, Width::W64, limit, limit_word);
        self.stats_add(given, true);
    }

    /// Adds ticks to the slot, and leaves.
    fn stats_add(&mut self, ticks: X86, is_estimate: bool) {
        let seq = slot(offset_of!(StatsSlot, seq));
        self.asm.mi(&forms::ADD_I8, Width::W32, seq, 1);
        let sum = slot(offset_of!(StatsSlot, ticks));
        self.asm.rm(&forms::ADD_MR, Width::W64, ticks, sum);
        let timed_cnt = slot(offset_of!(StatsSlot, timed_cnt));
        self.asm.mi(&forms::ADD_I8, Width::W64, timed_cnt, 1);
        if is_estimate {
            let estimated_cnt = slot(offset_of!(StatsSlot, estimated_cnt));
            self.asm.mi(&forms::ADD_I8, Width::W64, estimated_cnt, 1);
        }
        self.asm.mi(&forms::ADD_I8, Width::W32, seq, 1);
        self.asm.bare(&forms::RET);
    }

    /// `rax` is the time stamp counter; clobbers `rdx`.
    fn read_tsc(&mut self) {
        self.asm.bare(&forms::RDTSC);
        self.asm.ri(&forms::SHL_I8, Width::W64, X86::RDX, 32);
        self.asm.rr(&forms::OR_RM, Width::W64, X86::RAX, X86::RDX);
    }
}
