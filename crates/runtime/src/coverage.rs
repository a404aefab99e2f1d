//! `Coverage`: how often the insns of a loaded program were executed, by either engine.

use crate::Error;
use skep_interp::Hits;
use skep_jit::coverage::{Counts, Plan};
use skep_verifier::Xlated;
use std::sync::Arc;

/// How often an insn ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsnRuns {
    /// The corresponding insn of [`skep_program::Program::insns`]; several executed insns may
    /// correspond to one, and none to an insn that the verifier removed as unreachable.
    pub origin: usize,
    /// Execution count; 0 for the second slot of a 64-bit immediate, which is not an insn.
    pub runs: u64,
    /// For a conditional jump: how often it was taken. Jumps whose target is the next insn do not
    /// count.
    pub taken: Option<u64>,
}

/// How often a function was called, by the host, by a program or by a helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionRuns {
    /// The insn of [`skep_program::Program::insns`] that corresponds to its first insn.
    pub origin: usize,
    /// How often.
    pub calls: u64,
}

/// How often the insns of a program were executed since it was loaded, in all its runs, including
/// tail calls to it and its callbacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// In the order of the executed code, which differs from the program's where the verifier
    /// rewrote it. Their sum is the number of insns executed.
    pub insns: Vec<InsnRuns>,
    /// The first is the program's own.
    pub functions: Vec<FunctionRuns>,
}

/// The execution counters of a program.
#[derive(Debug)]
pub(crate) struct Counting {
    pub(crate) hits: Arc<Hits>,
    /// Of machine code.
    pub(crate) plan: Option<Arc<Plan>>,
}

impl Counting {
    /// For the interpreter.
    pub(crate) fn of_insns(xlated: &Xlated, cpus: u32) -> Result<Counting, Error> {
        let hits = Hits::of_insns(cpus, xlated.insns().len()).ok_or_else(no_memory)?;
        Ok(Counting { hits: Arc::new(hits), plan: None })
    }

    /// For machine code.
    pub(crate) fn of_edges(xlated: &Xlated, cpus: u32, fuel: bool) -> Result<Counting, Error> {
        let plan = Plan::new(xlated, fuel);
        let hits = Hits::new(cpus, plan.counters()).ok_or_else(no_memory)?;
        Ok(Counting { hits: Arc::new(hits), plan: Some(Arc::new(plan)) })
    }

    /// What machine code needs to know.
    pub(crate) fn link(&self) -> Result<Option<skep_jit::coverage::Coverage>, Error> {
        let Some(plan) = self.plan.clone() else { return Ok(None) };
        let stride = i32::try_from(self.hits.stride_bytes()).map_err(|_| no_memory())?;
        let (address, stride_bytes) = (self.hits.address(), stride as u32);
        Ok(Some(skep_jit::coverage::Coverage {
            plan,
            address,
            stride_bytes,
            cpu_word: skep_mem::thread_word::cpu_offset(),
        }))
    }

    /// What was counted so far.
    pub(crate) fn read(&self, xlated: &Xlated) -> Coverage {
        let sums = self.hits.sums();
        let counts = match &self.plan {
            Some(plan) => plan.counts(&sums),
            None => of_interpreter(xlated, &sums),
        };
        let row = |(at, (runs, taken)): (usize, (&u64, &Option<u64>))| InsnRuns {
            origin: xlated.origin(at) as usize,
            runs: *runs,
            taken: *taken,
        };
        let insns = counts.insns.iter().zip(&counts.taken).enumerate().map(row).collect();
        Coverage { insns, functions: functions(xlated, &counts) }
    }
}

fn no_memory() -> Error {
    Error::memory("no memory for coverage counters".to_owned())
}

fn of_interpreter(xlated: &Xlated, sums: &[u64]) -> Counts {
    let (insns, taken) = sums.split_at(sums.len() / 2);
    let taken = xlated
        .insns()
        .iter()
        .zip(taken)
        .map(|(insn, taken)| (insn.is_conditional_jump() && insn.off != 0).then_some(*taken));
    Counts { insns: insns.to_vec(), taken: taken.collect() }
}

/// A function's first insn is executed by calls, and by jumps to it.
fn functions(xlated: &Xlated, counts: &Counts) -> Vec<FunctionRuns> {
    let insns = xlated.insns();
    let of = |start: u32, end: u32| {
        let jumps_there = |at: &usize| insns[*at].jump_target(*at) == Some(start as usize);
        let jumps = |at: usize| counts.taken[at].unwrap_or(counts.insns[at]);
        let jumped: u64 = (start as usize..end as usize).filter(jumps_there).map(jumps).sum();
        let calls = counts.insns[start as usize].saturating_sub(jumped);
        FunctionRuns { origin: xlated.origin(start as usize) as usize, calls }
    };
    xlated.subprogs().iter().map(|subprog| of(subprog.start, subprog.end)).collect()
}
