//! Runs a case as machine code without the runtime: no maps, no helpers except `bpf_loop`. The
//! counterpart of [`super::on_interp`].
//!
//! # Invariants
//! 1. Only a program that our verifier accepted is compiled; it has no maps, and only calls helpers
//!    that exist here.
//! 2. The context is at least as long as the program may touch.

#![allow(unsafe_code)]

use skep::program::Program;
use skep::uapi::helper::HelperId;
use skep::uapi::limits::BPF_MAX_LOOPS;
use skep::uapi::{ProgType, errno};
use skep_jit::{Linkage, RunEnv, Tuning};
use skep_text::{MachineCode, compile};
use skep_verifier::VerifiedProgram;
use std::cell::Cell;

/// A compiled program that only computes.
#[derive(Debug)]
pub struct Native {
    code: MachineCode,
    ctx_bytes: usize,
}

impl Native {
    /// Compiles a program; `None` if it has maps or takes packets.
    ///
    /// # Errors
    ///
    /// Something is not supported yet.
    pub fn new(verified: &VerifiedProgram, tuning: &Tuning) -> Result<Option<Native>, String> {
        let program: &Program = verified.program();
        if !program.maps.is_empty() || program.prog_type != ProgType::Syscall {
            return Ok(None);
        }
        let xlated = verified.insns_to_run().map_err(|e| e.to_string())?;
        let mut linkage = Linkage::default();
        linkage.helpers.insert(HelperId::Loop as i32, bpf_loop as *const () as u64);
        let code = compile(xlated, &linkage, tuning).map_err(|e| e.to_string())?;
        Ok(Some(Native { code, ctx_bytes: xlated.ctx_bytes() as usize }))
    }

    /// Runs it on a context, which it changes.
    ///
    /// # Errors
    ///
    /// The context is too short.
    pub fn run(&self, ctx: &mut [u8]) -> Result<u64, String> {
        if ctx.len() < self.ctx_bytes {
            return Err(format!("a context of {} bytes, not {}", ctx.len(), self.ctx_bytes));
        }
        let mut env = RunEnv { fuel: i64::MAX.into(), ..RunEnv::default() };
        ENV.set(&raw mut env);
        // SAFETY: invariants 1 and 2: the program was verified for this context, and accesses
        // nothing else except its stack.
        Ok(unsafe { self.code.entry()(ctx.as_mut_ptr(), &mut env) })
    }
}

thread_local! {
    /// The run of this thread, for callbacks.
    static ENV: Cell<*mut RunEnv> = const { Cell::new(std::ptr::null_mut()) };
}

type Callback = extern "C" fn(u64, u64, u64, u64, u64, *mut RunEnv) -> u64;

extern "C" fn bpf_loop(rounds: u64, callback: u64, ctx: u64, flags: u64, _: u64) -> u64 {
    let rounds = rounds & 0xffff_ffff;
    if flags != 0 {
        return i64::from(-errno::EINVAL) as u64;
    }
    // A callback that no path walked has been removed; then there are no iterations.
    if callback == 0 {
        return 0;
    }
    if rounds > u64::from(BPF_MAX_LOOPS) {
        return i64::from(-errno::E2BIG) as u64;
    }
    // SAFETY: the verifier only allows the address of a function here, and machine code converts it
    // to one with this signature.
    let callback = unsafe { std::mem::transmute::<*const (), Callback>(callback as *const ()) };
    for round in 0..rounds {
        if callback(round, ctx, 0, 0, 0, ENV.get()) != 0 {
            return round + 1;
        }
    }
    rounds
}
