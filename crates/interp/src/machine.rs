//! The machine: registers, frames, and the loop over insns.
//!
//! # Invariants
//! 1. Frames are adjacent in the host's stack region, growing downwards; `sp` is the lowest byte in
//!    use.
//! 2. A tail call replaces the current frame: its caller, if any, gets the result of the target
//!    program. The number of tail calls is counted per run.
//! 3. An exception replaces the frame of the current main program, and all above it, by that of its
//!    exception callback: the caller of the program gets the callback's result.

use crate::alu::{alu, condition};
use crate::fault::FaultKind;
use crate::memory::{Regs, access, no_insn};
use crate::watch::{self, At, Watcher};
use crate::{Fault, Host, Linked, Vm};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::helper::HelperId;
use skep_uapi::limits::MAX_TAIL_CALL_CNT;
use skep_verifier::OwnHelper;
use std::sync::Arc;

/// Maximum nesting of callbacks, so that they cannot overflow the native stack. The verifier allows
/// fewer, but insns may be bare, and a callback may tail call a program with callbacks of its own.
pub const CALLBACK_DEPTH_MAX: u32 = 32;
/// Maximum number of frames of one run, for bare insns that recurse.
const FRAMES_MAX: usize = 1024;

/// Limits for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Fuel: each taken backward jump, function call and callback costs one unit. Machine code
    /// counts the same way.
    pub fuel: u64,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Result.
    pub r0: u64,
    /// Executed insns, including callbacks.
    pub insns: u64,
    /// Units of [`Limits::fuel`] that were used.
    pub fuel: u64,
}

/// Runs a program with `ctx` as its argument.
///
/// # Errors
///
/// Where and why it stopped.
pub fn run(
    program: &Arc<Linked>,
    host: &dyn Host,
    ctx: u64,
    limits: Limits,
) -> Result<Exit, Fault> {
    call(program, 0, host, [ctx, 0, 0, 0, 0], limits)
}

/// Runs one function of a program, given the index of its first insn, for callbacks that outlive
/// the run that registered them.
///
/// # Errors
///
/// Where and why it stopped.
pub fn call(
    program: &Arc<Linked>,
    start: u32,
    host: &dyn Host,
    args: [u64; 5],
    limits: Limits,
) -> Result<Exit, Fault> {
    let stack = host.stack();
    let mut vm = Vm {
        host,
        fuel: limits.fuel,
        insns: 0,
        tail_calls: 0,
        callback_depth: 0,
        stack_base: stack.base,
        sp: stack.base.wrapping_add(stack.bytes),
        programs: vec![Arc::clone(program)],
        cpu: host.cpu(),
    };
    let result = vm.execute(Arc::clone(program), start, args);
    let insns = vm.insns;
    match result {
        Ok(r0) => Ok(Exit { r0, insns, fuel: limits.fuel - vm.fuel }),
        Err(fault) => Err(Fault { insns, ..fault }),
    }
}

/// The state restored by a return.
struct Frame {
    program: Arc<Linked>,
    return_to: usize,
    saved: [u64; 5],
    sp: u64,
    main: Main,
}

/// The frame of the current main program, needed for exceptions.
#[derive(Clone, Copy)]
struct Main {
    /// Frames below it.
    frames: usize,
    /// The start of its stack.
    top: u64,
    /// Its role.
    kind: Kind,
}

/// How a main program, or its replacement, was started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The run.
    Run,
    /// As a callback rather than a main program.
    Callback,
    /// Tail called by a function or callback, which it replaced.
    TailCalled,
}

/// The current function.
struct Running {
    program: Arc<Linked>,
    regs: Regs,
    pc: usize,
    frames: Vec<Frame>,
    main: Main,
}

/// What to execute next.
enum Next {
    /// The next insn.
    Falls,
    /// This insn.
    Insn(usize),
    /// The result of the outermost function.
    Done(u64),
}

impl Vm<'_> {
    /// Runs the function at `addr` (`Linked::func_base`) and gives its result.
    ///
    /// # Errors
    ///
    /// There is no such function, or the run stopped.
    pub fn callback(&mut self, addr: u64, args: [u64; 5]) -> Result<u64, Fault> {
        let find = |program: &Arc<Linked>| {
            let off = addr.wrapping_sub(program.func_base);
            let start = u32::try_from(off / 8).ok().filter(|_| off.is_multiple_of(8))?;
            let known = program.xlated.subprogs().iter().any(|s| s.start == start && s.is_callback);
            known.then(|| (Arc::clone(program), start))
        };
        let Some((program, start)) = self.programs.iter().rev().find_map(find) else {
            return Err(Fault::bug(format!("no function at {addr:#x}")));
        };
        self.spend()?;
        if self.callback_depth >= CALLBACK_DEPTH_MAX {
            return Err(Fault::new(FaultKind::StackOverflow));
        }
        self.callback_depth += 1;
        let result = self.execute(program, start, args);
        self.callback_depth -= 1;
        result
    }

    /// Number of insns executed so far.
    pub fn insns(&self) -> u64 {
        self.insns
    }

    fn execute(&mut self, program: Arc<Linked>, start: u32, args: [u64; 5]) -> Result<u64, Fault> {
        let sp = self.sp;
        let mut regs = [0; 12];
        regs[1..6].copy_from_slice(&args);
        regs[10] = sp;
        self.take_stack(&program, start as usize)?;
        let kind = if self.callback_depth == 0 { Kind::Run } else { Kind::Callback };
        let main = Main { frames: 0, top: sp, kind };
        let mut running = Running { program, regs, pc: start as usize, frames: Vec::new(), main };
        let result = match watch::current() {
            None => self.run_insns(&mut running),
            Some(watcher) => self.run_watched(&mut running, &watcher),
        };
        self.sp = sp;
        result.map_err(|fault| match fault.insn_idx {
            Some(_) => fault,
            None => Fault { insn_idx: Some(running.pc as u32), ..fault },
        })
    }

    /// Allocates the frame of the function starting at `start`, below `sp`.
    fn take_stack(&mut self, program: &Linked, start: usize) -> Result<(), Fault> {
        let xlated = &program.xlated;
        let bytes = xlated.subprogs().get(xlated.subprog_of(start)).map(|s| s.stack_depth_bytes);
        let bytes = u64::from(bytes.unwrap_or_default());
        match self.sp.checked_sub(bytes).filter(|&sp| sp >= self.stack_base) {
            Some(sp) => {
                self.sp = sp;
                Ok(())
            }
            None => Err(Fault::new(FaultKind::StackOverflow)),
        }
    }

    fn run_insns(&mut self, running: &mut Running) -> Result<u64, Fault> {
        loop {
            let Some(&insn) = running.program.xlated.insns().get(running.pc) else {
                return Err(Fault::bug("the end of the program"));
            };
            match self.counted_step(insn, running)? {
                Next::Falls => running.pc += 1,
                Next::Insn(pc) => running.pc = pc,
                Next::Done(r0) => return Ok(r0),
            }
        }
    }

    /// The same, with a watcher.
    fn run_watched(&mut self, running: &mut Running, watcher: &Watcher) -> Result<u64, Fault> {
        watcher.borrow_mut().enters();
        loop {
            let Running { program, regs, pc, .. } = &*running;
            let Some(&insn) = program.xlated.insns().get(*pc) else {
                return Err(Fault::bug("the end of the program"));
            };
            watcher.borrow_mut().insn(&At { program, pc: *pc, regs, host: self.host });
            match self.counted_step(insn, running)? {
                Next::Falls => running.pc += 1,
                Next::Insn(pc) => running.pc = pc,
                Next::Done(r0) => {
                    watcher.borrow_mut().leaves(self.host);
                    return Ok(r0);
                }
            }
        }
    }

    /// Executes one insn, and counts it.
    fn counted_step(&mut self, insn: Insn, running: &mut Running) -> Result<Next, Fault> {
        self.insns += 1;
        let pc = running.pc;
        if let Some(hits) = &running.program.hits {
            hits.runs(self.cpu, pc);
        }
        let next = self.step(insn, running)?;
        if let Some(hits) = &running.program.hits
            && insn.is_conditional_jump()
            && matches!(next, Next::Insn(to) if to != pc + 1)
        {
            hits.jumps(self.cpu, pc);
        }
        Ok(next)
    }

    fn step(&mut self, insn: Insn, running: &mut Running) -> Result<Next, Fault> {
        let (dst, src) = (usize::from(insn.dst), usize::from(insn.src));
        if dst > 11 || (src > 11 && insn.class() != BPF_LD) {
            return Err(no_insn(insn));
        }
        match insn.class() {
            BPF_ALU | BPF_ALU64 => {
                let result = alu(insn, running.regs[dst], running.regs[src]);
                running.regs[dst] = result.ok_or_else(|| no_insn(insn))?;
            }
            BPF_LDX | BPF_ST | BPF_STX => {
                let probe = running.program.xlated.facts(running.pc).probe_mem;
                access(insn, &mut running.regs, self.host, probe)?;
            }
            BPF_LD => {
                running.regs[dst] = self.ld_imm64(insn, running)?;
                running.pc += 1;
            }
            _ => return self.jump(insn, running),
        }
        Ok(Next::Falls)
    }

    /// The value of a 64-bit immediate.
    fn ld_imm64(&mut self, insn: Insn, running: &Running) -> Result<u64, Fault> {
        let second = running.program.xlated.insns().get(running.pc + 1);
        let (true, Some(&second)) = (insn.is_ld_imm64(), second) else {
            return Err(no_insn(insn));
        };
        let map = || {
            let link = running.program.maps.get(insn.imm as usize);
            link.copied().ok_or_else(|| Fault::bug(format!("no map {}", insn.imm)))
        };
        match insn.src {
            0 => Ok(insn.imm64(second)),
            BPF_PSEUDO_MAP_FD => Ok(map()?.handle),
            BPF_PSEUDO_MAP_VALUE => Ok(map()?.values.wrapping_add(u64::from(second.imm as u32))),
            BPF_PSEUDO_FUNC => {
                let start = (running.pc as i64 + 1 + i64::from(insn.imm)) as u64;
                Ok(running.program.func_base.wrapping_add(start.wrapping_mul(8)))
            }
            _ => Err(no_insn(insn)),
        }
    }

    fn jump(&mut self, insn: Insn, running: &mut Running) -> Result<Next, Fault> {
        let distance = match (insn.code, insn.op()) {
            (code, _) if code == BPF_JMP | BPF_CALL => return self.call(insn, running),
            (code, _) if code == BPF_JMP | BPF_EXIT => return Ok(self.exit(running)),
            (code, _) if code == BPF_JMP32 | BPF_JA => i64::from(insn.imm),
            (code, _) if code == BPF_JMP | BPF_JA => i64::from(insn.off),
            _ => {
                let (dst, src) = (usize::from(insn.dst), usize::from(insn.src));
                let taken = condition(insn, running.regs[dst], running.regs[src]);
                let taken = taken.ok_or_else(|| no_insn(insn))?;
                i64::from(if taken { insn.off } else { 0 })
            }
        };
        if distance < 0 {
            self.spend()?;
        }
        Ok(Next::Insn((running.pc as i64 + 1 + distance) as usize))
    }

    /// Consumes one unit of fuel, and checks whether the run must stop.
    fn spend(&mut self) -> Result<(), Fault> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Fault::new(FaultKind::OutOfFuel))?;
        match self.host.is_interrupted() {
            true => Err(Fault::new(FaultKind::Stopped("interrupted".to_owned()))),
            false => Ok(()),
        }
    }

    fn exit(&mut self, running: &mut Running) -> Next {
        if running.main.kind == Kind::TailCalled && running.main.frames == running.frames.len() {
            self.host.tail_ended();
        }
        let Some(frame) = running.frames.pop() else { return Next::Done(running.regs[0]) };
        running.program = frame.program;
        running.regs[6..11].copy_from_slice(&frame.saved);
        running.pc = frame.return_to;
        running.main = frame.main;
        self.sp = frame.sp;
        Next::Falls
    }

    fn call(&mut self, insn: Insn, running: &mut Running) -> Result<Next, Fault> {
        let [_, r1, r2, r3, r4, r5, ..] = running.regs;
        let args = [r1, r2, r3, r4, r5];
        match insn.src {
            0 if insn.imm == HelperId::TailCall as i32 => return self.tail_call(running),
            0 if insn.imm == OwnHelper::Throw as i32 => return self.throw(running),
            0 => {
                let host = self.host;
                running.regs[0] = host.helper(self, insn.imm, args)?;
            }
            BPF_PSEUDO_KFUNC_CALL => {
                let (host, id) = (self.host, insn.imm as u32);
                let known = running.program.kfuncs.iter().find(|(known, _)| *known == id);
                let missing = || Fault::not_supported(format!("kfunc {id}"));
                let number = known.ok_or_else(missing)?.1;
                running.regs[0] = host.kfunc(self, number, args)?;
            }
            BPF_PSEUDO_CALL => return self.call_subprog(insn, running),
            _ => return Err(no_insn(insn)),
        }
        Ok(Next::Falls)
    }

    fn call_subprog(&mut self, insn: Insn, running: &mut Running) -> Result<Next, Fault> {
        self.spend()?;
        if running.frames.len() >= FRAMES_MAX {
            return Err(Fault::new(FaultKind::StackOverflow));
        }
        let mut saved = [0; 5];
        saved.copy_from_slice(&running.regs[6..11]);
        let (program, main) = (Arc::clone(&running.program), running.main);
        running.frames.push(Frame { program, return_to: running.pc, saved, sp: self.sp, main });
        let target = (running.pc as i64 + 1 + i64::from(insn.imm)) as usize;
        running.regs[10] = self.sp;
        self.take_stack(&running.program, target)?;
        Ok(Next::Insn(target))
    }

    /// Replaces the current frame by a program of a prog array; falls through if the slot is empty.
    fn tail_call(&mut self, running: &mut Running) -> Result<Next, Fault> {
        let [_, ctx, handle, index, ..] = running.regs;
        let target = self.host.tail_call(handle, index as u32)?;
        let Some(target) = target.filter(|_| self.tail_calls < MAX_TAIL_CALL_CNT) else {
            return Ok(Next::Falls);
        };
        self.tail_calls += 1;
        let Main { frames, kind, .. } = running.main;
        let from_main = frames == running.frames.len() && kind != Kind::Callback;
        self.host.tail_called(from_main);
        if !self.programs.iter().any(|known| Arc::ptr_eq(known, &target)) {
            self.programs.push(Arc::clone(&target));
        }
        self.sp = running.regs[10];
        self.take_stack(&target, 0)?;
        let kind = if from_main { kind } else { Kind::TailCalled };
        running.main = Main { frames: running.frames.len(), top: running.regs[10], kind };
        running.program = target;
        running.regs[1] = ctx;
        Ok(Next::Insn(0))
    }

    /// Unwinds the main program and its callees; the exception callback continues.
    fn throw(&mut self, running: &mut Running) -> Result<Next, Fault> {
        let mut subprogs = running.program.xlated.subprogs().iter();
        let callback = subprogs.find(|subprog| subprog.is_exception_cb);
        let missing = || Fault::bug("an exception without a callback");
        let start = callback.ok_or_else(missing)?.start as usize;
        running.frames.truncate(running.main.frames);
        self.sp = running.main.top;
        running.regs[10] = self.sp;
        self.take_stack(&running.program, start)?;
        Ok(Next::Insn(start))
    }
}
