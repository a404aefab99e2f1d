//! What differs between processors, in one place: calls into and out of machine code, whose calling
//! convention is that of `skep_jit::linkage`, and the time stamp counter.
//!
//! On other processors the compiler's output can be inspected but not run ([`IS_RUN_HERE`]), and
//! none of these calls is made.

#![allow(unsafe_code)]

use skep_jit::RunEnv;

/// Whether this processor can run what `skep_jit` compiles.
pub(crate) const IS_RUN_HERE: bool = cfg!(target_arch = "x86_64");

/// What machine code finds in the register of its environment.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn address(env: Option<&RunEnv>) -> *const RunEnv {
    env.map_or(std::ptr::null(), std::ptr::from_ref)
}

/// Calls a program, and records at `top` where its frames begin.
///
/// # Safety
///
/// `entry` is that of code which may run with this context and environment; `top` is writable.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn program(entry: u64, ctx: u64, env: Option<&RunEnv>, top: *mut u64) -> u64 {
    let r0;
    // SAFETY: guaranteed by the caller; helpers do not unwind; the stack is the caller's, aligned.
    unsafe {
        core::arch::asm!(
            "mov qword ptr [{top}], rsp",
            "call {entry}",
            top = in(reg) top,
            entry = in(reg) entry,
            in("rdi") ctx,
            in("rsi") address(env),
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
    env: Option<&RunEnv>,
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
            in("r9") address(env),
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
pub(crate) unsafe fn program(_: u64, _: u64, _: Option<&RunEnv>, _: *mut u64) -> u64 {
    std::process::abort()
}

/// The same.
///
/// # Safety
///
/// None.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn function(_: u64, _: [u64; 5], _: Option<&RunEnv>, _: *mut u64) -> u64 {
    std::process::abort()
}

/// A function for machine code to call, which continues at `$body` with its arguments and, in the
/// following argument register, its caller's stack pointer.
#[cfg(target_arch = "x86_64")]
macro_rules! knowing_its_caller {
    ($vis:vis $entry:ident[$($generics:tt)*]($($arg:ident: $ty:ty),*), $register:literal, $body:path) => {
        #[unsafe(naked)]
        $vis unsafe extern "C" fn $entry<$($generics)*>($($arg: $ty),*) -> u64 {
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
    ($vis:vis $entry:ident[$($generics:tt)*]($($arg:ident: $ty:ty),*), $register:literal, $body:path) => {
        $vis unsafe extern "C" fn $entry<$($generics)*>($($arg: $ty),*) -> u64 {
            // SAFETY: there is no machine code that would call it.
            unsafe { $body($($arg,)* 0) }
        }
    };
}

pub(crate) use knowing_its_caller;

/// The time stamp counter, as machine code reads it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn tsc() -> u64 {
    // SAFETY: `rdtsc` touches no memory, and every x86-64 processor has it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// There is none; the system's clock.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn tsc() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Whether it counts at a constant rate in all states of the processor.
///
/// AMD64 Architecture Programmer's Manual volume 3, appendix E.4.7: TscInvariant. Intel's is the
/// same bit.
#[cfg(target_arch = "x86_64")]
pub(crate) fn tsc_is_invariant() -> bool {
    const POWER: u32 = 0x8000_0007;
    const TSC_INVARIANT: u32 = 1 << 8;
    // Miri has no such insns.
    if cfg!(miri) {
        return false;
    }
    let max = std::arch::x86_64::__cpuid(0x8000_0000).eax;
    max >= POWER && std::arch::x86_64::__cpuid(POWER).edx & TSC_INVARIANT != 0
}

/// There is none.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn tsc_is_invariant() -> bool {
    false
}
