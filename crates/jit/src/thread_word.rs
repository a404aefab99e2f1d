//! One word of each thread at a fixed distance from its thread pointer, so that machine code
//! reaches it with one load: where the thread's slots are ([`crate::stats`]).
//!
//! The word is thread-local storage of the initial-exec model, which `thread_local!` cannot
//! promise: the linker and the loader give it the same distance in every thread, also in a library
//! that is loaded later (for which the C library keeps a few hundred bytes), or refuse to load it.
//!
//! # Invariants
//! 1. The word is read and written by its own thread only.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".hidden skep_jit_thread_word",
    ".globl skep_jit_thread_word",
    ".type skep_jit_thread_word,@object",
    ".size skep_jit_thread_word,8",
    "skep_jit_thread_word:",
    ".zero 8",
    ".popsection",
);

/// Distance of the word from the thread pointer, the same in all threads.
#[cfg(target_arch = "x86_64")]
pub fn offset() -> i32 {
    let offset: i64;
    // SAFETY: loads what the loader has written for the symbol above; touches nothing else.
    unsafe {
        core::arch::asm!(
            "mov {}, qword ptr [rip + skep_jit_thread_word@GOTTPOFF]",
            out(reg) offset,
            options(nostack, readonly, preserves_flags, pure),
        );
    }
    // Static thread-local storage of a process is far smaller than 2 GB.
    offset as i32
}

/// Sets the calling thread's word.
#[cfg(target_arch = "x86_64")]
pub fn set(value: u64) {
    let offset = i64::from(offset());
    // SAFETY: invariant 1; the word is this crate's, and 8 bytes long.
    unsafe {
        core::arch::asm!(
            "mov qword ptr fs:[{}], {}",
            in(reg) offset,
            in(reg) value,
            options(nostack, preserves_flags),
        );
    }
}

/// The calling thread's word; 0 in a thread that has not set it.
#[cfg(target_arch = "x86_64")]
pub fn get() -> u64 {
    let offset = i64::from(offset());
    let found: u64;
    // SAFETY: as for `set`.
    unsafe {
        core::arch::asm!(
            "mov {}, qword ptr fs:[{}]",
            out(reg) found,
            in(reg) offset,
            options(nostack, readonly, preserves_flags),
        );
    }
    found
}

/// There is no machine code that would read it.
#[cfg(not(target_arch = "x86_64"))]
pub fn offset() -> i32 {
    0
}

/// There is no machine code that would read it.
#[cfg(not(target_arch = "x86_64"))]
pub fn set(_value: u64) {}

/// There is no machine code that would read it.
#[cfg(not(target_arch = "x86_64"))]
pub fn get() -> u64 {
    0
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_at_the_same_distance() {
        let here = offset();
        set(5);
        let there = std::thread::spawn(|| (offset(), get(), set(7), get())).join().unwrap();
        assert_eq!(there, (here, 0, (), 7));
        assert_eq!(get(), 5);
    }
}
