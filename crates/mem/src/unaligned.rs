//! Unaligned accesses by interpreted programs and helpers, as one insn, like in machine code. Rust
//! has no unaligned accesses with which others may race.

#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::asm;

/// Loads 2, 4 or 8 bytes.
///
/// # Safety
///
/// There are that many bytes at `from`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub unsafe fn load(from: *const u8, size: usize) -> u64 {
    let value: u64;
    // SAFETY: guaranteed by the caller; concurrent writes may or may not be observed.
    unsafe {
        match size {
            2 => asm!("movzx {:e}, word ptr [{}]", out(reg) value, in(reg) from,
                options(nostack, preserves_flags, readonly)),
            4 => asm!("mov {:e}, dword ptr [{}]", out(reg) value, in(reg) from,
                options(nostack, preserves_flags, readonly)),
            _ => asm!("mov {}, qword ptr [{}]", out(reg) value, in(reg) from,
                options(nostack, preserves_flags, readonly)),
        }
    }
    value
}

/// Stores the low 2, 4 or 8 bytes.
///
/// # Safety
///
/// There are that many bytes at `to`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub unsafe fn store(to: *mut u8, size: usize, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            2 => asm!("mov word ptr [{}], {:x}", in(reg) to, in(reg) value,
                options(nostack, preserves_flags)),
            4 => asm!("mov dword ptr [{}], {:e}", in(reg) to, in(reg) value,
                options(nostack, preserves_flags)),
            _ => asm!("mov qword ptr [{}], {}", in(reg) to, in(reg) value,
                options(nostack, preserves_flags)),
        }
    }
}

/// On other processors an unaligned access is made byte by byte, in no order.
///
/// # Safety
///
/// There are that many bytes at `from`, which others access with atomics only.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub unsafe fn load(from: *const u8, size: usize) -> u64 {
    use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Acquire};
    if (from as usize).is_multiple_of(size) && size >= 4 {
        // SAFETY: guaranteed by the caller, and aligned.
        return unsafe {
            match size {
                4 => AtomicU32::from_ptr(from.cast_mut().cast()).load(Acquire).into(),
                _ => AtomicU64::from_ptr(from.cast_mut().cast()).load(Acquire),
            }
        };
    }
    // SAFETY: the caller's promise.
    let byte = |i| unsafe { AtomicU8::from_ptr(from.cast_mut().add(i)) }.load(Acquire);
    (0..size).rev().fold(0, |value, i| value << 8 | u64::from(byte(i)))
}

/// The same.
///
/// # Safety
///
/// There are that many bytes at `to`, which others access with atomics only.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub unsafe fn store(to: *mut u8, size: usize, value: u64) {
    use std::sync::atomic::{AtomicU8, Ordering::Release};
    for (i, byte) in value.to_le_bytes().into_iter().take(size).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { AtomicU8::from_ptr(to.add(i)) }.store(byte, Release);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn low_bytes_are_loaded_and_stored() {
        for size in [2, 4, 8] {
            let mut bytes = [0xee_u8; 16];
            let value = 0x8877_6655_4433_2211_u64;
            let mask = u64::MAX >> (64 - 8 * size as u32);
            // One pointer for both: what others access with atomics is not borrowed.
            let at = bytes.as_mut_ptr().wrapping_add(3);
            // SAFETY: inside of the array.
            let seen = unsafe {
                super::store(at, size, value);
                super::load(at, size)
            };
            assert_eq!(seen, value & mask);
            let rest = bytes.iter().filter(|byte| **byte == 0xee).count();
            assert_eq!(rest, 16 - size);
        }
    }
}
