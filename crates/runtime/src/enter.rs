//! Calls into and out of machine code: the processor-specific parts, in one place. The calling
//! convention is that of `skep_jit::linkage`.
//!
//! On other processors the compiler's output can be inspected but not run ([`IS_RUN_HERE`]), and
//! nothing here is called.

#![allow(unsafe_code)]

use skep_jit::RunEnv;

/// Whether this processor can run what `skep_jit` compiles.
pub(crate) const IS_RUN_HERE: bool = cfg!(target_arch = "x86_64");

/// Calls a program, and records at `top` where its frames begin.
///
/// # Safety
///
/// `entry` is that of code which may run with this context and environment; `top` is writable.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn program(entry: u64, ctx: u64, env: *mut RunEnv, top: *mut u64) -> u64 {
    let r0;
    // SAFETY: guaranteed by the caller; helpers do not unwind; the stack is the caller's, aligned.
    unsafe {
        core::arch::asm!(
            "mov qword ptr [{top}], rsp",
            "call {entry}",
            top = in(reg) top,
            entry = in(reg) entry,
            in("rdi") ctx,
            in("rsi") env,
            lateout("rax") r0,
            clobber_abi("C"),
        );
    }
    r0
}

/// Calls a function of a program, and records at `top` where its frames begin.
///
/// # Safety
///
/// `addr` is that of a compiled function which may be called with these arguments, `env` belongs to
/// the run; `top` is writable.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn function(
    addr: u64,
    [a, b, c, d, e]: [u64; 5],
    env: *mut RunEnv,
    top: *mut u64,
) -> u64 {
    let r0: u64;
    // SAFETY: guaranteed by the caller; helpers do not unwind; the stack is the caller's, aligned.
    unsafe {
        core::arch::asm!(
            "mov qword ptr [{top}], rsp",
            "call {addr}",
            top = in(reg) top,
            addr = in(reg) addr,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("rcx") d,
            in("r8") e,
            in("r9") env,
            lateout("rax") r0,
            clobber_abi("C"),
        );
    }
    r0
}

/// There is no machine code here that could be called.
///
/// # Safety
///
/// None.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn program(_: u64, _: u64, _: *mut RunEnv, _: *mut u64) -> u64 {
    std::process::abort()
}

/// The same.
///
/// # Safety
///
/// None.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn function(_: u64, _: [u64; 5], _: *mut RunEnv, _: *mut u64) -> u64 {
    std::process::abort()
}

/// A function for machine code to call, which continues at `$body` with its arguments and, in the
/// following argument register, its caller's stack pointer.
#[cfg(target_arch = "x86_64")]
macro_rules! knowing_its_caller {
    ($vis:vis $entry:ident($($arg:ident: $ty:ty),*), $register:literal, $body:path) => {
        #[unsafe(naked)]
        $vis unsafe extern "C" fn $entry($($arg: $ty),*) -> u64 {
            core::arch::naked_asm!(
                concat!("lea ", $register, ", [rsp + 8]"),
                "jmp {body}",
                body = sym $body,
            )
        }
    };
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! knowing_its_caller {
    ($vis:vis $entry:ident($($arg:ident: $ty:ty),*), $register:literal, $body:path) => {
        $vis unsafe extern "C" fn $entry($($arg: $ty),*) -> u64 {
            // SAFETY: there is no machine code that would call it.
            unsafe { $body($($arg,)* 0) }
        }
    };
}

pub(crate) use knowing_its_caller;
