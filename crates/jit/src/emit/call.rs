//! Calls of helpers, function addresses, tail calls.
//!
//! # Tail calls
//! The number of tail calls of a run is in `r12`, in every program from which one can be reached:
//! callees share it with their callers because none of them saves it. It is 0 at the host's entry
//! (see `thunk`). A tail call leaves its own frame, in a callee as in a main program, and jumps to
//! the target's body, which finds the stack as if it had been called.
//!
//! A call with a constant index is patched into a direct jump if the linkage promises to keep it up
//! to date: a switch over the call while the slot is empty, and a jump that is retargeted. The call
//! is inline rather than in a stub, so that a tail call is a single taken jump.
//!
//! Kernel: the order of checks is index, count, empty slot; only a jump that happens is counted.

use super::{Emit, Operand};
use crate::asm::{Cc, Label, Mem, Width, X86, forms};
use crate::linkage::{MAX_TAIL_CALL_CNT, PercpuLink, ProgArrayLink};
use crate::op::{MapNumber, Reg, Src};
use crate::opt::direct;
use crate::regs::{SCRATCH, SCRATCH2, TAIL_CALL_CNT, x86};
use crate::sites::TailCallSite;
use crate::{Error, PokeMode};

impl Emit<'_> {
    pub(super) fn call(&mut self, helper: i32, map: MapNumber) -> Result<(), Error> {
        let direct = match self.unit.tuning.passes.direct {
            true => direct::replacement(self.unit.linkage, helper, map),
            false => None,
        };
        let address = direct.or_else(|| self.unit.linkage.helper(helper));
        let address = address.ok_or_else(|| Error::no_helper(self.at, helper))?;
        self.call_address(address);
        self.stop_with_callback();
        Ok(())
    }

    pub(super) fn call_sub(&mut self, target: u32) {
        if self.unit.tuning.fuel {
            self.fuel();
        }
        self.asm.call(self.labels[target as usize]);
    }

    pub(super) fn kfunc(&mut self, id: u32) -> Result<(), Error> {
        let address = self.unit.linkage.kfuncs.get(&id).copied();
        let missing = || Error::unsupported(self.at, format!("kfunc {id}"));
        let address = address.ok_or_else(missing)?;
        self.call_address(address);
        self.stop_with_callback();
        Ok(())
    }

    /// `r0` = address of the value, or 0.
    pub(super) fn array_lookup(&mut self, map: u32, key: Src) -> Result<(), Error> {
        let link = self.unit.linkage.maps.get(map as usize);
        let percpu = link.and_then(|link| link.percpu);
        let plain = link.and_then(|link| link.array.map(|array| (link.values, array)));
        let place = plain.or(percpu.map(|percpu| (percpu.values, percpu.array)));
        let (values, array) = place.ok_or_else(|| Error::no_map(self.at, map))?;
        // Comparison and multiplication avoid `rax`, so that a key in it is read in time.
        match self.operand(key) {
            Operand::Imm(key) => self.ld_imm(SCRATCH, u64::from(key as u32)),
            Operand::Rm(rm) => self.reg_rm(&forms::MOV_RM, Width::W32, SCRATCH, rm),
        }
        let out = self.asm.label();
        self.ld_imm(X86::RAX, 0);
        let entries = i64::from(array.max_entries as i32);
        self.asm.ri(&forms::CMP_I32, Width::W32, SCRATCH, entries);
        self.asm.jcc(Cc::AE, out);
        let stride = array.stride_bytes;
        if stride.is_power_of_two() {
            let by = i64::from(stride.trailing_zeros());
            self.asm.ri(&forms::SHL_I8, Width::W64, SCRATCH, by);
        } else {
            let stride = i64::from(stride as i32);
            self.asm.ri(&forms::IMUL_I32, Width::W64, SCRATCH, stride);
        }
        if let Some(percpu) = percpu {
            self.add_cpu(percpu, out);
        }
        self.ld_imm(X86::RAX, values);
        self.asm.rr(&forms::ADD_RM, Width::W64, X86::RAX, SCRATCH);
        self.asm.bind(out);
        Ok(())
    }

    /// Adds the offset of the thread's values to `r11`, or jumps to `out`.
    fn add_cpu(&mut self, percpu: PercpuLink, out: Label) {
        self.ld_imm(SCRATCH2, 0);
        self.asm.add_thread_word(SCRATCH2, percpu.cpu_word);
        let cpus = i64::from(percpu.cpus as i32);
        self.asm.ri(&forms::CMP_I32, Width::W32, SCRATCH2, cpus);
        self.asm.jcc(Cc::AE, out);
        let stride = i64::from(percpu.cpu_stride_bytes as i32);
        self.asm.ri(&forms::IMUL_I32, Width::W64, SCRATCH2, stride);
        self.asm.rr(&forms::ADD_RM, Width::W64, SCRATCH, SCRATCH2);
    }

    /// Through `rax` if it is out of reach; the call clobbers that anyway.
    pub(super) fn call_address(&mut self, address: u64) {
        if !self.asm.call_address(address) {
            self.ld_imm(X86::RAX, address);
            self.asm.r(&forms::CALL_R, Width::W64, X86::RAX);
        }
    }

    pub(super) fn ld_func(&mut self, dst: Reg, target: u32) -> Result<(), Error> {
        let mut funcs = self.unit.flow.funcs.iter();
        let counts = funcs.any(|func| func.start == target && func.tail_call_reachable);
        if counts && !self.unit.tuning.fuel {
            return Err(Error::unsupported(self.at, "a tail call from a callback"));
        }
        let entry = self.callbacks.iter().find(|(func, _)| *func == target);
        let label = entry.map_or(self.labels[target as usize], |(_, label)| *label);
        self.asm.lea_label(x86(dst), label);
        Ok(())
    }

    pub(super) fn tail_call(&mut self, map: MapNumber, index: Option<u32>) -> Result<(), Error> {
        let out = self.asm.label();
        let link = map.and_then(|map| self.unit.linkage.maps.get(map as usize));
        if let Some(map) = map.filter(|_| link.is_none_or(|link| link.prog_array.is_none())) {
            return Err(Error::no_map(self.at, map));
        }
        let patched = self.unit.tuning.poke == PokeMode::Patch;
        match (link.and_then(|link| link.prog_array), index) {
            (Some(array), Some(index)) if patched && array.patched && index < array.max_entries => {
                self.direct_tail_call(map.unwrap_or_default(), index);
                return Ok(());
            }
            (Some(array), Some(index)) => self.slot_of_constant(array, index),
            (Some(array), None) => self.slot_of_index(array, out),
            (None, _) => self.slot_by_lookup()?,
        }
        let count = i64::from(MAX_TAIL_CALL_CNT);
        self.asm.rr(&forms::TEST_MR, Width::W64, SCRATCH, SCRATCH);
        self.asm.jcc(Cc::E, out);
        self.asm.ri(&forms::CMP_I8, Width::W32, TAIL_CALL_CNT, count);
        self.asm.jcc(Cc::AE, out);
        self.asm.ri(&forms::ADD_I8, Width::W32, TAIL_CALL_CNT, 1);
        self.coverage_leave();
        self.frame().leave(&mut self.asm);
        self.stats_tail_call();
        self.asm.r(&forms::JMP_R, Width::W64, SCRATCH);
        self.asm.bind(out);
        Ok(())
    }

    /// A jump to the entry of the slot's program, or past the call while the slot is empty.
    fn direct_tail_call(&mut self, map: u32, index: u32) {
        let out = self.asm.label();
        let vacant = self.asm.switch_site_on(out);
        let count = i64::from(MAX_TAIL_CALL_CNT);
        self.asm.ri(&forms::CMP_I8, Width::W32, TAIL_CALL_CNT, count);
        self.asm.jcc(Cc::AE, out);
        self.asm.ri(&forms::ADD_I8, Width::W32, TAIL_CALL_CNT, 1);
        self.coverage_leave();
        self.frame().leave(&mut self.asm);
        self.stats_tail_call();
        let jump = self.asm.retarget_site(out);
        self.asm.bind(out);
        self.tail_calls.push(TailCallSite { map, index, vacant, jump });
    }

    /// The slot's contents in `r11`; 0 if the index is out of range.
    fn slot_of_constant(&mut self, array: ProgArrayLink, index: u32) {
        if index >= array.max_entries {
            return self.ld_imm(SCRATCH, 0);
        }
        self.ld_imm(SCRATCH, array.slots + 8 * u64::from(index));
        self.asm.rm(&forms::MOV_RM, Width::W64, SCRATCH, Mem::base(SCRATCH, 0));
    }

    fn slot_of_index(&mut self, array: ProgArrayLink, out: Label) {
        let index = x86(Reg::R3);
        let entries = i64::from(array.max_entries as i32);
        self.asm.ri(&forms::CMP_I32, Width::W32, index, entries);
        self.asm.jcc(Cc::AE, out);
        self.ld_imm(SCRATCH, array.slots);
        self.asm.rr(&forms::MOV_RM, Width::W32, SCRATCH2, index);
        let slot = Mem { base: SCRATCH, index: Some((SCRATCH2, 3)), disp: 0 };
        self.asm.rm(&forms::MOV_RM, Width::W64, SCRATCH, slot);
    }

    /// Calls the runtime for the program in the slot of a map that is not known here.
    fn slot_by_lookup(&mut self) -> Result<(), Error> {
        let lookup = self.unit.linkage.tail_call_lookup;
        if lookup == 0 {
            return Err(Error::unsupported(self.at, "a tail call through a map of a map"));
        }
        // r1 is passed to the target, r0 is preserved if there is none; in a frame that makes calls
        // `rsp` is aligned.
        let (ctx, map, index) = (x86(Reg::R1), x86(Reg::R2), x86(Reg::R3));
        self.asm.r(&forms::PUSH, Width::W64, X86::RAX);
        self.asm.r(&forms::PUSH, Width::W64, ctx);
        self.asm.rr(&forms::MOV_RM, Width::W64, ctx, map);
        self.asm.rr(&forms::MOV_RM, Width::W32, x86(Reg::R2), index);
        self.call_address(lookup);
        self.asm.rr(&forms::MOV_RM, Width::W64, SCRATCH, X86::RAX);
        self.asm.r(&forms::POP, Width::W64, ctx);
        self.asm.r(&forms::POP, Width::W64, X86::RAX);
        Ok(())
    }
}
