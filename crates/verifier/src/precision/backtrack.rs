//! Backtracks over one insn: which registers and slots must be precise before it.
//!
//! Kernel: `backtrack_insn`, `struct backtrack_state` (6.18).

use crate::env::{Env, InsnFlags};
use crate::log::note::{Note, Tracked};
use crate::passes::call_facts::{is_kfunc_call, is_pseudo_call, is_tail_call};
use crate::precision::backtrack_state::{BacktrackError, BacktrackState};
use crate::rejection::{CallFault, Word};
use crate::state::history::{Access, JmpEntry};
use skep_insn::Insn;
use skep_insn::code::*;

/// Registers r1 to r5.
const ARGS: u16 = 0x3e;
/// Where the kernel sets bits of the registers of a frame that is not there.
const WRITES_OUTSIDE: &str = "going back over a packet load that ends a function, after which the kernel writes outside its tables";

/// Bit in [`concerns`]: the insn always matters.
pub(crate) const ALWAYS: u16 = 1 << 15;

/// Registers for which [`Env::backtrack_insn`] changes the tracked set; with [`ALWAYS`] if that
/// depends on more than registers.
pub(crate) fn concerns(insn: &Insn) -> u16 {
    let bit = |r: u8| 1 << (r & 15);
    match insn.class() {
        BPF_LD if matches!(insn.mode(), BPF_IND | BPF_ABS) => ALWAYS,
        BPF_ALU | BPF_ALU64 | BPF_LDX | BPF_LD => bit(insn.dst),
        BPF_JMP | BPF_JMP32 if matches!(insn.op(), BPF_CALL | BPF_EXIT) => ALWAYS,
        BPF_JMP | BPF_JMP32 if insn.is_src_reg() => bit(insn.dst) | bit(insn.src),
        BPF_JMP | BPF_JMP32 => 0,
        _ => ALWAYS,
    }
}

impl Env<'_> {
    /// Backtracks over the insn at `idx`; `subseq_idx` is the insn walked after it.
    pub(crate) fn backtrack_insn(
        &mut self,
        idx: u32,
        subseq_idx: i64,
        entry: Option<&JmpEntry>,
    ) -> Result<(), BacktrackError> {
        let insn = self.facts.insns[idx as usize];
        if insn.code == 0 {
            return Ok(());
        }
        if self.trace.log.traces_all() {
            let bt = self.walk.bt;
            let tracked = Tracked { regs: bt.regs[bt.frame], slots: bt.slots[bt.frame] };
            let mut insn = String::new();
            self.facts.write_insn(&mut insn, idx);
            let (frame, insn) = (bt.frame, insn.as_str());
            self.trace.note(Note::BacktracksOver { frame, tracked, idx, insn });
        }
        self.walk.bt.sync_linked(entry);
        let goes_on = match insn.class() {
            BPF_ALU | BPF_ALU64 => {
                let rules = self.facts.rules();
                backtrack_alu(&mut self.walk.bt, insn, rules.stack_addresses_skipped)
            }
            BPF_LDX => backtrack_load(&mut self.walk.bt, insn.dst, entry),
            BPF_STX if insn.mode() == BPF_ATOMIC && insn.imm == BPF_LOAD_ACQ => {
                backtrack_load(&mut self.walk.bt, insn.dst, entry)
            }
            BPF_STX if insn.mode() == BPF_ATOMIC && self.facts.rules().fetches_are_loads => {
                match fetched(insn) {
                    Some(reg) => backtrack_load(&mut self.walk.bt, reg, entry),
                    None => backtrack_store(&mut self.walk.bt, insn, entry)?,
                }
            }
            // The register loaded by a fetch stays tracked, as if the insn only stored.
            BPF_STX | BPF_ST => backtrack_store(&mut self.walk.bt, insn, entry)?,
            BPF_JMP | BPF_JMP32 => self.backtrack_jmp(idx, subseq_idx, entry)?,
            _ => {
                let ends = matches!(insn.mode(), BPF_IND | BPF_ABS)
                    && i64::from(idx) + 1 != subseq_idx
                    && subseq_idx >= 0;
                self.backtrack_ld(insn, ends)?
            }
        };
        if goes_on {
            self.walk.bt.sync_linked(entry);
        }
        Ok(())
    }

    /// False if nothing is tracked any more in this insn's frame.
    fn backtrack_jmp(
        &mut self,
        idx: u32,
        subseq_idx: i64,
        entry: Option<&JmpEntry>,
    ) -> Result<bool, BacktrackError> {
        let insn = self.facts.insns[idx as usize];
        if !self.facts.rules().precision_crosses_calls && self.crosses_call(insn, idx, subseq_idx) {
            return Err(BacktrackError::NotSupported);
        }
        let calls_back = self.learned.aux[idx as usize].has(InsnFlags::CALLS_CALLBACK);
        if is_pseudo_call(&insn) {
            return self.backtrack_pseudo_call(idx, insn, subseq_idx);
        }
        let calls_back = calls_back && i64::from(idx) != subseq_idx - 1;
        let regs = self.walk.bt.regs[self.walk.bt.frame];
        if calls_back && regs & !ARGS != 0 {
            return Err(unexpected("callback", regs));
        }
        let skips_frame = self.facts.rules().stack_comparisons_skipped;
        let bt = &mut self.walk.bt;
        if calls_back {
            // Backtracks out of the callback into the helper that called it: r1 to r5 are not
            // arguments of the call.
            check_left_over(bt, "callback")?;
            bt.regs[bt.frame] &= !ARGS;
            bt.exit_subprog()?;
            return Ok(false);
        }
        if insn.op() == BPF_CALL {
            if is_kfunc_call(&insn) && insn.imm == 0 {
                return Err(BacktrackError::NotSupported);
            }
            bt.clear_reg(0);
            if bt.regs[bt.frame] & ARGS != 0 {
                return Err(unexpected("backtracking call", bt.regs[bt.frame]));
            }
            if is_tail_call(&insn) && subseq_idx - i64::from(idx) != 1 {
                bt.enter_subprog()?;
            }
        } else if insn.op() == BPF_EXIT {
            return self.backtrack_exit(subseq_idx);
        } else if insn.is_src_reg() {
            if !bt.has_reg(insn.dst) && !bt.has_reg(insn.src) {
                return Ok(false);
            }
            let (dst_stack, src_stack) = match entry.map(|e| e.access) {
                Some(Access::StackPtr { dst, src }) if skips_frame => (dst, src),
                _ => (false, false),
            };
            if !src_stack {
                bt.set_reg(insn.src);
            }
            if !dst_stack {
                bt.set_reg(insn.dst);
            }
        }
        Ok(true)
    }

    /// Whether backtracking crosses a call or an exit here.
    #[cold]
    fn crosses_call(&self, insn: Insn, idx: u32, subseq_idx: i64) -> bool {
        is_pseudo_call(&insn)
            || insn.op() == BPF_EXIT
            || insn.op() == BPF_CALL && subseq_idx >= 0 && i64::from(idx) + 1 != subseq_idx
    }

    fn backtrack_pseudo_call(
        &mut self,
        idx: u32,
        insn: Insn,
        subseq_idx: i64,
    ) -> Result<bool, BacktrackError> {
        let callee = (i64::from(idx) + i64::from(insn.imm) + 1) as u32;
        let Some(subprog) = self.facts.find_subprog(callee) else {
            return Err(BacktrackError::bug(format!("no subprog at {callee}")));
        };
        let bt = &mut self.walk.bt;
        if self.facts.subprogs[subprog as usize].is_global {
            if i64::from(idx) + 1 != subseq_idx {
                return Err(BacktrackError::bug("extra insn from subprog".to_string()));
            }
            if bt.regs[bt.frame] & ARGS != 0 {
                return Err(unexpected("global subprog", bt.regs[bt.frame]));
            }
            bt.clear_reg(0);
            return Ok(false);
        }
        check_left_over(bt, "static subprog")?;
        let args = bt.regs[bt.frame] & ARGS;
        if bt.frame == 0 && args != 0 {
            // The way back did not enter the function through the packet load that ended it.
            return Err(BacktrackError::not_supported_yet(WRITES_OUTSIDE));
        }
        bt.regs[bt.frame] &= !ARGS;
        bt.exit_subprog()?;
        bt.regs[bt.frame] |= args;
        Ok(false)
    }

    /// `ends`: the packet ended before, and with it the function.
    fn backtrack_ld(&mut self, insn: Insn, ends: bool) -> Result<bool, BacktrackError> {
        let rules = self.facts.rules();
        let bt = &mut self.walk.bt;
        if ends && rules.packet_loads_traced {
            if !rules.precision_crosses_calls {
                return Err(BacktrackError::NotSupported);
            }
            bt.clear_reg(0);
            bt.enter_subprog()?;
            return Ok(false);
        }
        if !bt.has_reg(insn.dst) {
            return Ok(false);
        }
        bt.clear_reg(insn.dst);
        match insn.mode() {
            BPF_IND | BPF_ABS => Err(BacktrackError::NotSupported),
            _ => Ok(true),
        }
    }

    fn backtrack_exit(&mut self, subseq_idx: i64) -> Result<bool, BacktrackError> {
        let from_callback = subseq_idx >= 0
            && self
                .learned
                .aux
                .get(subseq_idx as usize)
                .is_some_and(|aux| aux.has(InsnFlags::CALLS_CALLBACK));
        // The helper's arguments matter for every iteration.
        let reaches = self.facts.sound || self.facts.rules().rounds_are_precise;
        let bt = &mut self.walk.bt;
        let of_helper = from_callback && reaches;
        if from_callback && !reaches {
            bt.regs[bt.frame] &= !ARGS;
        }
        if bt.regs[bt.frame] & ARGS != 0 && !of_helper {
            return Err(unexpected("backtracking exit", bt.regs[bt.frame]));
        }
        let after_call =
            subseq_idx >= 1 && is_pseudo_call(&self.facts.insns[subseq_idx as usize - 1]);
        let r0_precise = after_call && bt.has_reg(0);
        bt.clear_reg(0);
        bt.enter_subprog()?;
        if r0_precise {
            bt.set_reg(0);
        }
        Ok(false)
    }
}

/// Registers that should have been found already are still looked for: a callback ended in a tail
/// call or a legacy packet load, and the way back did not enter it as it does at an `exit`. Or the
/// frame pointer is looked for, on kernels without `stack_addresses_skipped` or
/// `stack_comparisons_skipped`.
fn unexpected(what: Word, regs: u16) -> BacktrackError {
    BacktrackError::refuse(CallFault::CallbackRegs { what, regs })
}

/// When backtracking leaves a frame, only arguments may still be tracked in it.
fn check_left_over(bt: &BacktrackState, what: Word) -> Result<(), BacktrackError> {
    let (regs, slots) = (bt.regs[bt.frame], bt.slots[bt.frame]);
    if regs & !ARGS != 0 {
        return Err(unexpected(what, regs));
    }
    if slots != 0 {
        return Err(BacktrackError::refuse(CallFault::CallbackSlots { what, slots }));
    }
    Ok(())
}

fn backtrack_alu(bt: &mut BacktrackState, insn: Insn, skips_frame: bool) -> bool {
    if !bt.has_reg(insn.dst) || matches!(insn.op(), BPF_END | BPF_NEG) {
        return false;
    }
    if insn.op() == BPF_MOV {
        bt.clear_reg(insn.dst);
    }
    if insn.is_src_reg() && (insn.src != 10 || !skips_frame) {
        bt.set_reg(insn.src);
    }
    true
}

fn backtrack_load(bt: &mut BacktrackState, reg: u8, entry: Option<&JmpEntry>) -> bool {
    if !bt.has_reg(reg) {
        return false;
    }
    bt.clear_reg(reg);
    let Some(Access::Stack { frameno, spi }) = entry.map(|e| e.access) else { return false };
    bt.slots[frameno as usize] |= 1 << spi;
    true
}

/// The register into which an atomic insn loads.
pub(super) fn fetched(insn: Insn) -> Option<u8> {
    match insn.imm {
        BPF_CMPXCHG => Some(0),
        imm if imm & BPF_FETCH != 0 => Some(insn.src),
        _ => None,
    }
}

fn backtrack_store(
    bt: &mut BacktrackState,
    insn: Insn,
    entry: Option<&JmpEntry>,
) -> Result<bool, BacktrackError> {
    if bt.has_reg(insn.dst) {
        return Err(BacktrackError::NotSupported);
    }
    let Some(Access::Stack { frameno, spi }) = entry.map(|e| e.access) else { return Ok(false) };
    let slots = &mut bt.slots[frameno as usize];
    if *slots >> spi & 1 == 0 {
        return Ok(false);
    }
    *slots &= !(1 << spi);
    if insn.class() == BPF_STX {
        bt.set_reg(insn.src);
    }
    Ok(true)
}
