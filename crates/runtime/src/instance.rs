//! `Instance`: a loaded program that any thread can run.

use crate::ctx::Ctx;
use crate::current::{self, Current};
use crate::engine::{self, Interrupter};
use crate::image::ProgImage;
use crate::runtime::Shared;
use crate::{Error, epoch};
use skep_jit::MachineCode;
use skep_uapi::ProgType;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a program returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunResult {
    /// The result, as BPF_PROG_TEST_RUN gives it.
    pub retval: u32,
    /// All of the register.
    pub r0: u64,
    /// Insns that ran, if they were counted: interpreted runs are.
    pub insns: Option<u64>,
}

/// A loaded program. Cheap to clone; every thread may run it, each with a [`Ctx`] of its own.
#[derive(Clone)]
pub struct Instance {
    shared: Arc<Shared>,
    image: Arc<ProgImage>,
    fuel: Option<u64>,
}

impl Instance {
    pub(crate) fn new(shared: Arc<Shared>, image: Arc<ProgImage>, fuel: Option<u64>) -> Instance {
        Instance { shared, image, fuel }
    }

    /// Name of the program.
    pub fn name(&self) -> &str {
        &self.image.name
    }

    /// Number of the program in this process: the value of a prog array's slot.
    pub fn id(&self) -> u32 {
        self.image.id
    }

    /// Its type.
    pub fn prog_type(&self) -> ProgType {
        self.image.prog_type
    }

    /// Bytes of context that it may use.
    pub fn ctx_bytes(&self) -> usize {
        self.image.ctx_bytes
    }

    /// Its machine code; `None` if it is interpreted.
    pub fn machine_code(&self) -> Option<&MachineCode> {
        self.image.code.as_ref()
    }

    /// Runs the program once.
    ///
    /// # Errors
    ///
    /// The context is for another type of program or too short; more threads run programs than the
    /// runtime has CPUs; the fuel is used up or the run was interrupted; a helper failed.
    #[inline]
    pub fn run(&self, ctx: &mut Ctx) -> Result<RunResult, Error> {
        self.check(ctx)?;
        let _epoch = epoch::enter().ok_or_else(|| self.too_many_threads())?;
        if !self.shared.cpus.enter() {
            return Err(self.too_many_threads());
        }
        self.run_entered(ctx)
    }

    /// Runs the program `repeat` times and gives the last result with the mean time of a run, as
    /// BPF_PROG_TEST_RUN does: the packet is what the run before left.
    ///
    /// # Errors
    ///
    /// As of [`Instance::run`], of the first run that fails.
    pub fn test_run(&self, ctx: &mut Ctx, repeat: u32) -> Result<(RunResult, Duration), Error> {
        let repeat = repeat.max(1);
        let started = Instant::now();
        let mut result = self.run(ctx)?;
        for _ in 1..repeat {
            result = self.run(ctx)?;
        }
        Ok((result, started.elapsed() / repeat))
    }

    #[inline]
    fn check(&self, ctx: &Ctx) -> Result<(), Error> {
        if ctx.prog_type() == self.image.prog_type && ctx.len() >= self.image.ctx_bytes {
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
                "program '{name}' is of type {its}, the context of {other}"
            ));
        }
        let (has, needs) = (ctx.len(), self.image.ctx_bytes);
        Error::input(format!("program '{name}' uses {needs} bytes of context, there are {has}"))
    }

    #[cold]
    fn too_many_threads(&self) -> Error {
        let cpus = self.shared.cpus.count();
        Error::input(format!("more threads run programs than the runtime has CPUs ({cpus})"))
    }

    #[inline]
    fn run_entered(&self, ctx: &mut Ctx) -> Result<RunResult, Error> {
        ctx.effects.clear();
        let mark = 0u8;
        let code = match &self.image.code {
            Some(code) => code,
            None => return self.interpret(ctx),
        };
        let env = ctx.env.prepare(self.fuel);
        let current =
            Current { ctx, shared: &self.shared, env, stack_top: std::ptr::from_ref(&mark) as u64 };
        let r0 = current::enter(&current, || engine::run_machine_code(code, &current));
        let ctx = current.ctx;
        if self.fuel.is_some() {
            ctx.env.outcome().map_err(|why| why.context(&self.image.name))?;
        }
        self.finish(ctx, (r0, None))
    }

    fn interpret(&self, ctx: &mut Ctx) -> Result<RunResult, Error> {
        ctx.make_stack()?;
        let current =
            Current { ctx, shared: &self.shared, env: std::ptr::null_mut(), stack_top: 0 };
        let exit = current::enter(&current, || {
            engine::interpret(
                (&self.image.linked, 0),
                ([current.ctx.addr(), 0, 0, 0, 0], self.fuel),
                &current,
            )
        });
        let exit = exit.map_err(|e| e.context(format!("program '{}'", self.image.name)))?;
        self.finish(current.ctx, (exit.r0, Some(exit.insns)))
    }

    #[inline]
    fn finish(&self, ctx: &Ctx, (r0, insns): (u64, Option<u64>)) -> Result<RunResult, Error> {
        if let Some(why) = ctx.effects.take_failure() {
            return Err(Error::bug(why).context(format!("program '{}'", self.image.name)));
        }
        Ok(RunResult { retval: r0 as u32, r0, insns })
    }
}

impl Ctx {
    /// Where the last run wanted the packet to go.
    pub fn redirect(&self) -> Option<current::Redirect> {
        self.effects.redirect.borrow().clone()
    }

    /// Interfaces that the last run sent clones of the packet to, with the packet as it was then.
    pub fn clones(&self) -> Vec<(u32, Vec<u8>)> {
        self.effects.clones.borrow().clone()
    }

    /// What can stop runs with this context from another thread, if they have fuel.
    pub fn interrupter(&self) -> Interrupter {
        self.env.interrupter()
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Instance {{ {} {} }}", self.id(), self.name())
    }
}
