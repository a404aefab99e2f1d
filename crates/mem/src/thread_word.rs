//! Two words per thread at a fixed offset from its thread pointer, which machine code reaches with
//! one load each: the offset of the thread's slots (`skep_runtime::stats`), and the CPU whose
//! values of per-CPU maps it uses.
//!
//! The words are thread-local storage in the initial-exec model, which `thread_local!` cannot
//! guarantee: the linker and the loader give it the same offset in every thread, even in a library
//! loaded later (for which the C library reserves a few hundred bytes), or fail to load it.
//!
//! # Invariants
//! 1. The words are only accessed by their own thread.

#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", not(miri)))]
core::arch::global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 16",
    ".hidden skep_thread_words",
    ".globl skep_thread_words",
    ".type skep_thread_words,@object",
    ".size skep_thread_words,16",
    "skep_thread_words:",
    ".zero 16",
    ".popsection",
);

/// Bytes of a thread's slot in memory that machine code counts in: a registered thread's word is
/// its number in [`crate::epoch`] times this.
pub const SLOT_BYTES: usize = 512;

/// Distance of the word from the thread pointer, the same in all threads.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub fn offset() -> i32 {
    let offset: i64;
    // SAFETY: loads the offset that the loader wrote for the symbol above; accesses nothing else.
    unsafe {
        core::arch::asm!(
            "mov {}, qword ptr [rip + skep_thread_words@GOTTPOFF]",
            out(reg) offset,
            options(nostack, readonly, preserves_flags, pure),
        );
    }
    // Static thread-local storage of a process is far smaller than 2 GB.
    offset as i32
}

/// Offset of the second word, the thread's CPU number.
pub fn cpu_offset() -> i32 {
    offset() + 8
}

/// Sets the calling thread's word.
///
/// # Safety
///
/// All code with statistics that the thread runs from now on adds `value` to the address of its
/// slots (`skep_jit::stats::StatsLink::slots`) and writes there: that must be a slot that no other
/// thread writes.
pub unsafe fn set(value: u64) {
    store(offset(), value);
}

/// Sets the calling thread's CPU number.
///
/// # Safety
///
/// All code that the thread runs from now on uses this CPU's values of per-CPU maps: no other
/// thread that runs code may have the same number at that time.
pub unsafe fn set_cpu(cpu: u32) {
    store(cpu_offset(), cpu.into());
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn store(offset: i32, value: u64) {
    let offset = i64::from(offset);
    // SAFETY: invariant 1; the words belong to this crate, and are 8 bytes long each.
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
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub fn get() -> u64 {
    let offset = i64::from(offset());
    let found: u64;
    // SAFETY: as for `store`.
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

/// The calling thread's CPU number, 0 if it has not set one; `None` where there is no such word.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub fn cpu() -> Option<u32> {
    let found: u32;
    // SAFETY: as for `store`, of the second word.
    unsafe {
        core::arch::asm!(
            "mov {0:r}, qword ptr [rip + skep_thread_words@GOTTPOFF]",
            "mov {0:e}, dword ptr fs:[{0:r} + 8]",
            out(reg) found,
            options(nostack, readonly, preserves_flags),
        );
    }
    Some(found)
}

/// There is no machine code that would read it.
#[cfg(any(not(target_arch = "x86_64"), miri))]
pub fn offset() -> i32 {
    0
}

#[cfg(any(not(target_arch = "x86_64"), miri))]
fn store(_offset: i32, _value: u64) {}

/// There is none.
#[cfg(any(not(target_arch = "x86_64"), miri))]
pub fn cpu() -> Option<u32> {
    None
}

/// There is no machine code that would read it.
#[cfg(any(not(target_arch = "x86_64"), miri))]
pub fn get() -> u64 {
    0
}

#[cfg(test)]
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_at_the_same_distance() {
        let here = offset();
        // SAFETY: no code runs here.
        let put = |value| unsafe { set(value) };
        put(5);
        let there = std::thread::spawn(move || (offset(), get(), put(7), get())).join().unwrap();
        assert_eq!(there, (here, 0, (), 7));
        assert_eq!(get(), 5);
    }
}
