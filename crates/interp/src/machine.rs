//! The machine: registers, frames, and the loop over insns.

use crate::{Fault, Host, Linked};
use std::sync::Arc;

/// Bounds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Insns that may run, callbacks included.
    pub fuel: u64,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Result.
    pub r0: u64,
    /// Insns that ran, callbacks included.
    pub insns: u64,
}

/// A run under way, as helpers see it.
pub struct Vm<'a> {
    host: &'a dyn Host,
    fuel: u64,
}

impl Vm<'_> {
    /// Runs the function at `addr` (`Linked::func_base`) and gives its result.
    pub fn callback(&mut self, addr: u64, args: [u64; 5]) -> Result<u64, Fault> {
        let _ = (addr, args, self.host, self.fuel);
        Err(Fault::not_supported("callbacks"))
    }
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
    call((program, 0), host, [ctx, 0, 0, 0, 0], limits)
}

/// Runs one function of a program, by the index of its first insn: a callback after the run that
/// registered it has ended.
///
/// # Errors
///
/// Where and why it stopped.
pub fn call(
    (program, start): (&Arc<Linked>, u32),
    host: &dyn Host,
    args: [u64; 5],
    limits: Limits,
) -> Result<Exit, Fault> {
    let _ = (program, start, args, Vm { host, fuel: limits.fuel });
    Err(Fault::bug("the interpreter is not written yet"))
}
