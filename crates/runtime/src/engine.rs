//! Passes a run to machine code or to the interpreter.

#![allow(unsafe_code)]

use crate::atomics::atomic;
use crate::current::Current;
use crate::map::Map;
use crate::map::prog_registry::TailTarget;
use crate::run::Func;
use crate::stats::{Counters, Timed};
use crate::{Error, helper, processor};
use skep_interp::{AtomicAccess, Exit, Fault, FaultKind, Host, Limits, Linked, Stack, Vm};
use skep_mem::Region;
use skep_text::{MachineCode, Switch};
use std::cell::RefCell;
use std::sync::Arc;

/// Runs machine code.
///
/// # Safety
///
/// The run is of the program of `code`'s image: the context has its type and sufficient length
/// (`Instance::check`), the thread is in the epoch, and `env` belongs to the context.
#[inline]
pub(crate) unsafe fn run_machine_code(code: &MachineCode, current: &Current<'_>) -> u64 {
    let (ctx, env) = (current.ctx.addr(), current.env());
    let (entry, top) = (code.entry_address(), current.first_frames().top());
    // SAFETY: the program was verified; the caller guarantees the context; the image keeps maps and
    // code alive, and prog arrays keep their targets until this run's epoch has passed.
    unsafe { processor::program(entry, ctx, env, top) }
}

/// Calls a function of a program, whose address the program took, with the arguments that the
/// verifier assumed for a timer callback, in the thread's current run.
pub(crate) fn call_function(
    program: &dyn TailTarget,
    func: Func,
    args: [u64; 5],
    current: &Current<'_>,
) -> Result<u64, Error> {
    if !program.has_function(func.addr()) {
        return Err(Error::bug(format!("program {} has no such callback", program.id())));
    }
    if program.tail_entry() != 0 {
        let (env, frames) = (current.env(), current.first_frames());
        // SAFETY: the function belongs to a live, compiled program; `env` belongs to the run.
        return Ok(unsafe { helper::call_machine_code(func, args, env, frames) });
    }
    let program = program.linked();
    let start = ((func.addr() - program.func_base) / 8) as u32;
    let call = Call { program, start, args, fuel: None };
    Ok(interpret(&call, current, &RefCell::default())?.r0)
}

/// The switches of a loaded program's statistics: its entry, and its tail calls.
pub(crate) fn stats_switches(code: &MachineCode) -> (Option<Switch>, Vec<Switch>) {
    // SAFETY: the program's image has its counters, which live as long as the code; running threads
    // have a slot there (`epoch`).
    unsafe { code.stats_switches() }
}

/// What the interpreter runs.
struct Call<'a> {
    program: &'a Arc<Linked>,
    /// The first insn of a function of the program.
    start: u32,
    args: [u64; 5],
    fuel: Option<u64>,
}

/// Runs a program in the interpreter, and counts it.
pub(crate) fn interpret_run(
    program: &Arc<Linked>,
    counters: &Arc<Counters>,
    args: [u64; 5],
    fuel: Option<u64>,
    current: &Current<'_>,
) -> Result<Exit, Error> {
    let running = RefCell::new(vec![Running::begin(counters)]);
    let result = interpret(&Call { program, start: 0, args, fuel }, current, &running);
    // More than one if the run was stopped.
    running.into_inner().into_iter().rev().for_each(Running::end);
    result
}

fn interpret(
    call: &Call<'_>,
    current: &Current<'_>,
    running: &RefCell<Vec<Running>>,
) -> Result<Exit, Error> {
    let (maps, target) = (RefCell::new(Vec::new()), RefCell::new(None));
    let host = Memory { current, maps, running, target };
    let limits = Limits { fuel: call.fuel.unwrap_or(u64::MAX) };
    skep_interp::call(call.program, call.start, &host, call.args, limits).map_err(|fault| {
        let text = fault.to_string();
        match fault.kind {
            FaultKind::OutOfFuel | FaultKind::StackOverflow | FaultKind::Stopped(_) => {
                Error::stopped(text)
            }
            FaultKind::NotSupported(_) => Error::missing(text),
            _ => Error::bug(text),
        }
    })
}

/// The memory of a run: the context and its packet, the frames, map values.
struct Memory<'a> {
    current: &'a Current<'a>,
    /// Maps accessed so far.
    maps: RefCell<Vec<Arc<Map>>>,
    /// Programs being timed, the innermost last.
    running: &'a RefCell<Vec<Running>>,
    /// The target of a pending tail call.
    target: RefCell<Option<Arc<dyn TailTarget>>>,
}

/// A program being run, and timed if it was picked.
struct Running {
    counters: Arc<Counters>,
    timed: Option<Timed>,
}

impl Running {
    fn begin(counters: &Arc<Counters>) -> Running {
        Running { counters: counters.clone(), timed: counters.begin() }
    }

    fn end(self) {
        self.counters.end(self.timed);
    }
}

impl Memory<'_> {
    /// A helper's result, if the run was not interrupted while it waited.
    fn unless_stopped(&self, result: Result<u64, Fault>) -> Result<u64, Fault> {
        match self.current.ctx.effects.stopped.take() {
            true => Err(Fault::new(FaultKind::Stopped("interrupted".to_owned()))),
            false => result,
        }
    }

    /// Passes the region of an access to `work`.
    fn access<T>(
        &self,
        addr: u64,
        size: u32,
        write: bool,
        work: impl Fn(&Region, usize) -> T,
    ) -> Result<T, Fault> {
        let (ctx, len) = (self.current.ctx, size as usize);
        let stack = || ctx.stack().and_then(|stack| stack.locate(addr, len));
        if let Some((region, at)) = stack().or_else(|| ctx.locate(addr, len)) {
            return Ok(work(region, at));
        }
        if let Some((region, at)) = self.current.shared.registry.objects.locate(addr, len) {
            return Ok(work(&region, at));
        }
        for again in [false, true] {
            if again {
                *self.maps.borrow_mut() = self.current.shared.registry.maps();
            }
            let maps = self.maps.borrow();
            let found = maps.iter().find_map(|map| map.kind().locate(addr, len));
            if let Some((region, at)) = found {
                return Ok(work(region, at));
            }
        }
        Err(Fault::bad_access(addr, size, write))
    }
}

impl Host for Memory<'_> {
    fn load(&self, addr: u64, size: u32) -> Result<u64, Fault> {
        self.access(addr, size, false, |region, at| region.load(at, size as usize))
    }

    fn store(&self, addr: u64, size: u32, value: u64) -> Result<(), Fault> {
        self.access(addr, size, true, |region, at| region.store(at, size as usize, value))
    }

    fn atomic(&self, addr: u64, access: AtomicAccess) -> Result<u64, Fault> {
        if !matches!(access.size, 4 | 8) || !addr.is_multiple_of(u64::from(access.size)) {
            return Err(Fault::bad_access(addr, access.size, true));
        }
        self.access(addr, access.size, true, |region, at| atomic(region, at, access))
    }

    fn helper(&self, vm: &mut Vm<'_>, number: i32, args: [u64; 5]) -> Result<u64, Fault> {
        let helper =
            helper::find(number).ok_or_else(|| Fault::not_supported(format!("helper {number}")))?;
        self.unless_stopped(helper::call_interpreted(&helper.body, vm, args))
    }

    fn kfunc(&self, vm: &mut Vm<'_>, number: u32, args: [u64; 5]) -> Result<u64, Fault> {
        let kfunc = helper::KFUNCS.get(number as usize);
        let kfunc = kfunc.ok_or_else(|| Fault::not_supported(format!("kfunc {number}")))?;
        self.unless_stopped(helper::call_interpreted(&kfunc.body, vm, args))
    }

    fn tail_call(&self, handle: u64, index: u32) -> Result<Option<Arc<Linked>>, Fault> {
        // SAFETY: the handle of a map that the program refers to, as for a helper.
        let map = unsafe { &*(handle as *const Map) };
        let target = map.prog_array().and_then(|array| array.target(index));
        let linked = target.as_ref().map(|target| target.linked().clone());
        *self.target.borrow_mut() = target;
        Ok(linked)
    }

    /// The caller's time ends before the target's starts. If the caller is a function, its program
    /// continues after the target, whose time counts for both.
    fn tail_called(&self, from_main: bool) {
        if from_main {
            self.tail_ended();
        }
        let Some(target) = self.target.take() else { return };
        let begun = Running::begin(target.counters());
        self.running.borrow_mut().push(begun);
    }

    fn tail_ended(&self) {
        let ended = self.running.borrow_mut().pop();
        ended.into_iter().for_each(Running::end);
    }

    fn is_interrupted(&self) -> bool {
        self.current.ctx.env.is_interrupted()
    }

    fn cpu(&self) -> u32 {
        skep_mem::cpu::current()
    }

    fn stack(&self) -> Stack {
        let stack = self.current.ctx.stack();
        stack.map_or(Stack { base: 0, bytes: 0 }, |region| Stack {
            base: region.addr(0),
            bytes: region.len() as u64,
        })
    }
}
