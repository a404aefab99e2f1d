//! `Instance`: a loaded program that any thread can run.

#![allow(unsafe_code)]

use crate::code_view::CodeView;
use crate::coverage::Coverage;
use crate::ctx::Ctx;
use crate::current::{self, Current, RunBy};
use crate::engine;
use crate::helper;
use crate::image::ProgImage;
use crate::map::MapHandle;
use crate::object_maps::ObjectMaps;
use crate::run::{Interrupter, Redirect, Tunnel};
use crate::shared::Shared;
use crate::stats::{ClockError, Counted, ProgStats, StatsGuard, StatsOptions};
use crate::{Error, ProgInfo};
use skep_interp::{Fault, FaultKind};
use skep_mem::cpu;
use skep_mem::epoch::{self, NoSlot};
use skep_text::MachineCode;
use skep_uapi::ProgType;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a program returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunResult {
    /// The return value, as reported by BPF_PROG_TEST_RUN.
    pub retval: u32,
    /// All of the register.
    pub r0: u64,
    /// Number of insns executed, if counted, as in interpreted runs.
    pub insns: Option<u64>,
    /// Units of fuel used, including callbacks and tail-called programs, if the run had fuel
    /// ([`crate::LoadOptions::fuel`]).
    pub fuel: Option<u64>,
}

/// What [`Instance::test_run`] has done.
#[derive(Clone, Copy, Debug)]
pub struct TestRun {
    /// That of the last run.
    pub result: RunResult,
    /// Number of runs: fewer than were asked for if an interruption ended them.
    pub runs: u32,
    /// Mean time of a run.
    pub mean: Duration,
}

/// A loaded program. Cheap to clone; any thread may run it, each with its own [`Ctx`].
#[derive(Clone)]
pub struct Instance {
    shared: Arc<Shared>,
    image: Arc<ProgImage>,
    fuel: Option<u64>,
}

/// The machine code of a program with its addresses, for profilers and debuggers. `skep` does not
/// export this: what has an address can jump to it, or keep it after the code is freed.
pub fn placed_code(instance: &Instance) -> Option<&MachineCode> {
    instance.image.code.as_ref()
}

impl Instance {
    pub(crate) fn new(shared: Arc<Shared>, image: Arc<ProgImage>, fuel: Option<u64>) -> Instance {
        Instance { shared, image, fuel }
    }

    /// Name of the program.
    pub fn name(&self) -> &str {
        &self.image.name
    }

    /// The program's id in this process, which is what a lookup in a prog array returns. To fill a
    /// slot, see [`crate::map::MapHandle::set_program`].
    pub fn id(&self) -> u32 {
        self.image.id
    }

    /// Its type.
    pub fn prog_type(&self) -> ProgType {
        self.image.prog_type
    }

    /// Bytes of context that the program itself may access; programs that it tail calls may access
    /// more.
    pub fn ctx_bytes(&self) -> usize {
        self.image.ctx_bytes
    }

    /// Its machine code; `None` if it is interpreted.
    pub fn machine_code(&self) -> Option<CodeView<'_>> {
        placed_code(self).map(CodeView::new)
    }

    /// Its run statistics, for the time they were on.
    pub fn stats(&self) -> ProgStats {
        self.image.counters.read()
    }

    /// The same, but an error if measured times are missing from it.
    ///
    /// # Errors
    ///
    /// The clock jumped at some point since the program was loaded, or has no constant rate.
    /// [`Instance::stats`] returns statistics without those times.
    pub fn try_stats(&self) -> Result<ProgStats, ClockError> {
        let stats = self.stats();
        stats.check_clock().map(|()| stats)
    }

    /// Execution counts of its insns, if enabled ([`crate::LoadOptions::coverage`]). Call this
    /// while the program is not running: counts read during a run are inconsistent.
    pub fn coverage(&self) -> Option<Coverage> {
        let counting = self.image.counting.as_ref()?;
        Some(counting.read(&self.image.linked.xlated))
    }

    /// Everything known about it, run statistics included.
    pub fn info(&self) -> ProgInfo {
        self.image.info()
    }

    /// Switches this program's statistics on until the guard is dropped; see
    /// [`Runtime::enable_stats`](crate::Runtime::enable_stats).
    ///
    /// # Errors
    ///
    /// As for [`Runtime::enable_stats`](crate::Runtime::enable_stats).
    pub fn enable_stats(&self, options: StatsOptions) -> Result<StatsGuard, Error> {
        self.shared.requests.enable(&self.shared.clock, Some(self.image.id), options)
    }

    /// Runs the program once. If as many runs are in progress as the runtime has CPUs
    /// ([`crate::Options::cpus`]), waits for one of them to end.
    ///
    /// # Errors
    ///
    /// The context is for another program type or too short; [`crate::THREADS_MAX`] threads are
    /// running programs; the fuel is used up or the run was interrupted; a helper failed.
    #[inline]
    pub fn run(&self, ctx: &mut Ctx) -> Result<RunResult, Error> {
        let is_nested = current::is_running();
        let mut turns = 0;
        loop {
            let epoch = epoch::enter().map_err(no_slot)?;
            self.check(ctx)?;
            if is_nested && self.is_missed() {
                return Ok(RunResult { retval: 0, r0: 0, insns: None, fuel: None });
            }
            if let Some(_turn) = self.shared.cpus.enter(is_nested) {
                return self.run_entered(ctx);
            }
            // Outside of the epoch, which would delay reclamation by others.
            drop(epoch);
            self.wait_for_cpu(ctx, &mut turns)?;
        }
    }

    #[cold]
    fn wait_for_cpu(&self, ctx: &Ctx, turns: &mut u32) -> Result<(), Error> {
        // Runs that wait for each other would deadlock.
        if current::is_running() {
            return Err(self.too_many_runs());
        }
        if ctx.env.is_interrupted() {
            return Err(Error::stopped("interrupted").context(format!("program '{}'", self.name())));
        }
        cpu::wait(turns);
        Ok(())
    }

    /// Runs the program `repeat` times, as BPF_PROG_TEST_RUN does: each run starts with the packet
    /// left by the previous one. An interruption ([`Ctx::interrupter`]) ends the repetition after
    /// the run that is in progress, unless it stops that run.
    ///
    /// # Errors
    ///
    /// As for [`Instance::run`], from the first run that fails.
    pub fn test_run(&self, ctx: &mut Ctx, repeat: u32) -> Result<TestRun, Error> {
        let started = Instant::now();
        let mut result = self.run(ctx)?;
        let mut runs = 1;
        while runs < repeat && !ctx.env.is_interrupted() {
            result = self.run(ctx)?;
            runs += 1;
        }
        Ok(TestRun { result, runs, mean: started.elapsed() / runs })
    }

    /// A program triggered by events must not trigger itself: such a run is counted as missed and
    /// skipped, and its result is 0.
    ///
    /// Kernel: kprobe, tracepoint and perf event programs miss events inside any such program, raw
    /// tracepoint and trampoline programs only inside the same one; here all behave like the
    /// latter.
    #[cold]
    fn is_missed(&self) -> bool {
        use ProgType::{Kprobe, PerfEvent, RawTracepoint, RawTracepointWritable};
        use ProgType::{Tracepoint, Tracing};
        let by_event = matches!(
            self.image.prog_type,
            Kprobe | PerfEvent | RawTracepoint | RawTracepointWritable | Tracepoint | Tracing
        );
        let missed = by_event && current::runs(self.image.id, &self.shared);
        if missed {
            self.image.counters.miss();
        }
        missed
    }

    /// During the run, because the required length may grow when other programs become tail call
    /// targets.
    #[inline]
    fn check(&self, ctx: &Ctx) -> Result<(), Error> {
        if ctx.prog_type() == self.image.prog_type && ctx.len() >= self.image.ctx_need.bytes() {
            return Ok(());
        }
        Err(self.wrong_ctx(ctx))
    }

    #[cold]
    fn wrong_ctx(&self, ctx: &Ctx) -> Error {
        let (name, its) = (&self.image.name, self.image.prog_type);
        if ctx.prog_type() != its {
            let other = ctx.prog_type();
            return Error::input(format!(
                "program '{name}' has type {its}, but the context is for {other}"
            ));
        }
        let (has, uses, needs) = (ctx.len(), self.image.ctx_bytes, self.image.ctx_need.bytes());
        let needing = if needs > uses { "may tail call a program that needs" } else { "needs" };
        Error::input(format!("program '{name}' {needing} a context of {needs} bytes, got {has}"))
    }

    #[cold]
    fn too_many_runs(&self) -> Error {
        let cpus = self.shared.cpus.count();
        Error::input(format!("nested run: the runtime has no free CPU for it ({cpus} in use)"))
    }

    #[inline]
    fn run_entered(&self, ctx: &mut Ctx) -> Result<RunResult, Error> {
        ctx.effects.clear();
        let code = match &self.image.code {
            Some(code) => code,
            None => return self.interpret(ctx),
        };
        let env = ctx.env.prepare(self.fuel);
        let current = Current::new(ctx, &self.shared, self.image.id, RunBy::MachineCode(env));
        // SAFETY: the caller has checked the context and is in the epoch; the code belongs to the
        // image.
        let r0 = current::enter(&current, || unsafe { engine::run_machine_code(code, &current) });
        let ctx = current.ctx;
        let mut fuel = None;
        if self.fuel.is_some() {
            let nested = ctx.effects.nested.take();
            let outcome = ctx.env.outcome().map_err(|why| match nested {
                true => Error::stopped(Fault::new(FaultKind::StackOverflow).to_string()),
                false => why,
            });
            outcome.map_err(|e| self.failed(&current, e))?;
            fuel = self.fuel.map(|given| ctx.env.used(given));
        }
        self.finish(&current, RunResult { retval: r0 as u32, r0, insns: None, fuel })
    }

    fn interpret(&self, ctx: &mut Ctx) -> Result<RunResult, Error> {
        ctx.make_stack()?;
        let current = Current::new(ctx, &self.shared, self.image.id, RunBy::Interpreter);
        let exit = current::enter(&current, || {
            let args = [current.ctx.addr(), 0, 0, 0, 0];
            let (program, counters) = (&self.image.linked, &self.image.counters);
            engine::interpret_run(program, counters, args, self.fuel, &current)
        });
        let exit = exit.map_err(|e| self.failed(&current, e))?;
        let (r0, insns) = (exit.r0, Some(exit.insns));
        let fuel = self.fuel.map(|_| exit.fuel);
        self.finish(&current, RunResult { retval: r0 as u32, r0, insns, fuel })
    }

    #[inline]
    fn finish(&self, current: &Current<'_>, result: RunResult) -> Result<RunResult, Error> {
        if let Some(why) = current.ctx.effects.take_failure() {
            return Err(self.failed(current, Error::bug(why)));
        }
        if !current.ctx.effects.held.is_empty() {
            self.release_thrown(current);
        }
        Ok(result)
    }

    /// A global function may throw, which ends the run, whatever its callers hold.
    #[cold]
    fn release_thrown(&self, current: &Current<'_>) {
        debug_assert!(self.image.may_throw(), "what a run acquires it gives back");
        current::enter(current, helper::release_held);
    }

    /// The error of a run that was stopped; releases what it held.
    #[cold]
    fn failed(&self, current: &Current<'_>, error: Error) -> Error {
        current::enter(current, helper::release_held);
        error.context(format!("program '{}'", self.image.name))
    }
}

impl MapHandle {
    /// Stores a program in a slot of a prog array, as the target of tail calls with that index.
    ///
    /// # Errors
    ///
    /// The map is not a prog array, has no such slot or is frozen; the program belongs to another
    /// runtime, or is not compatible with the array's programs (type, expected attach type, engine,
    /// fuel).
    pub fn set_program(&self, slot: u32, program: &Instance) -> Result<(), Error> {
        let (target, progs) = (program.image.clone(), &program.shared.registry.progs);
        self.set_target(slot, program.name(), target, progs)
    }
}

impl ObjectMaps {
    /// Stores a program in a slot of the prog array with that name.
    ///
    /// # Errors
    ///
    /// There is no such map, or as for [`MapHandle::set_program`].
    pub fn set_program(&self, map: &str, slot: u32, program: &Instance) -> Result<(), Error> {
        self.get(map)?.set_program(slot, program)
    }
}

impl Ctx {
    /// Where the last run wanted to send the packet.
    pub fn redirect(&self) -> Option<Redirect> {
        self.effects.redirect.borrow().clone()
    }

    /// Interfaces to which the last run sent clones of the packet, with the packet as it was then.
    pub fn clones(&self) -> Vec<(u32, Vec<u8>)> {
        self.effects.clones.borrow().items()
    }

    /// Number of clones of the last run that were dropped (`bpf_clone_redirect` returns ENOMEM
    /// then).
    pub fn clones_lost(&self) -> u64 {
        self.effects.clones.borrow().lost()
    }

    /// Signals that the last run wanted to send, and whether to the thread only (else the process).
    pub fn signals(&self) -> Vec<(u32, bool)> {
        self.effects.signals.borrow().items()
    }

    /// Number of signals of the last run that were dropped (`bpf_send_signal` returns EBUSY then).
    pub fn signals_lost(&self) -> u64 {
        self.effects.signals.borrow().lost()
    }

    /// The value set by the last run with `bpf_set_retval`, otherwise 0.
    pub fn retval(&self) -> i32 {
        self.effects.retval.get()
    }

    /// The tunnel through which the last run wanted to send the packet.
    pub fn tunnel(&self) -> Option<Tunnel> {
        self.effects.tunnel.borrow().clone()
    }

    /// A handle that can stop runs with this context from another thread, if they have fuel, and
    /// end [`Instance::test_run`].
    pub fn interrupter(&self) -> Interrupter {
        self.env.interrupter()
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Instance {{ {} {} }}", self.id(), self.name())
    }
}

#[cold]
fn no_slot(why: NoSlot) -> Error {
    let error = match why {
        NoSlot::Lost => Error::memory(why.to_string()),
        NoSlot::TooMany | NoSlot::Barrier(_) | NoSlot::Ending => Error::input(why.to_string()),
    };
    error.because(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadOptions, Options, Runtime};
    use skep_insn::asm::assemble;
    use skep_program::Program;
    use skep_uapi::KernelProfile;
    use skep_verifier::{Config, Verdict, verify};

    fn load(runtime: &Runtime, prog_type: ProgType) -> Instance {
        let insns = assemble("r0 = 0\nexit", &|_| None).unwrap().insns;
        let program = Program { prog_type, insns, ..Program::default() };
        let outcome = verify(&program, &Config::privileged(KernelProfile::v6_18()));
        let Verdict::Accepted(program) = outcome.verdict else { panic!("refused") };
        let maps = runtime.create_maps(&Arc::from([]), None);
        runtime.load(&program, &maps, &LoadOptions::default()).unwrap()
    }

    fn ctx(instance: &Instance) -> Ctx {
        match instance.prog_type() {
            ProgType::Xdp => Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap(),
            prog_type => Ctx::raw(prog_type, &[0; 64]).unwrap(),
        }
    }

    #[test]
    fn a_program_that_events_start_does_not_start_inside_of_itself() {
        let runtime = Runtime::new(Options::default()).unwrap();
        let (event, other) = (ProgType::RawTracepoint, ProgType::Xdp);
        let [event, again, other] = [event, event, other].map(|t| load(&runtime, t));
        let _on = runtime.enable_stats(StatsOptions::default()).unwrap();
        for outer in [&event, &other] {
            let (around, _epoch) = (ctx(outer), epoch::enter());
            let current = Current::new(&around, &outer.shared, outer.image.id, RunBy::Interpreter);
            current::enter(&current, || {
                for inner in [&event, &again, &other] {
                    inner.run(&mut ctx(inner)).unwrap();
                }
            });
        }
        let counts = |one: &Instance| (one.stats().run_cnt, one.stats().recursion_misses);
        assert_eq!([&event, &again, &other].map(counts), [(1, 1), (2, 0), (2, 0)]);
    }
}
