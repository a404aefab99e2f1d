//! Timer callbacks: runs of a program's function that no caller started.

use crate::ctx::Ctx;
use crate::current::{self, Current, RunBy};
use crate::shared::Shared;
use crate::timer::{Caller, Due};
use crate::{engine, helper};
use skep_mem::cpu::{self, Cpus, Turn};
use skep_mem::epoch;
use skep_uapi::ProgType;
use std::sync::Arc;

/// Begins a run of the calling thread, which is in none; `None` if that is not possible.
fn begin(cpus: &Arc<Cpus>) -> Option<(epoch::Guard, Turn<'_>)> {
    let mut turns = 0;
    loop {
        let epoch = epoch::enter().ok()?;
        if let Some(turn) = cpus.enter(false) {
            return Some((epoch, turn));
        }
        drop(epoch);
        cpu::wait(&mut turns);
    }
}

impl Caller for Shared {
    /// Calls a timer's function with its map, key and value.
    fn call(self: &Arc<Shared>, due: &Due) {
        let Ok(mut ctx) = Ctx::raw(ProgType::Syscall, &[]) else { return };
        let Ok(()) = ctx.make_stack() else { return };
        let Some((_epoch, _turn)) = begin(&self.cpus) else { return };
        let Some((key, value)) = due.map.kind().entry_at(due.addr) else { return };
        let program = &*due.program;
        let env = ctx.env.prepare(program.wants_fuel().then_some(u64::MAX));
        let current = Current::new(&ctx, self, 0, RunBy::MachineCode(env));
        let args = [Arc::as_ptr(&due.map) as u64, key, value, 0, 0];
        // Errors in a callback have no run to which they could be reported.
        let called = || engine::call_function(program, due.func, args, &current);
        let _ = current::enter(&current, called);
        current::enter(&current, helper::release_held);
    }
}
