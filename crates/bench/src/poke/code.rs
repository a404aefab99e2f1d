//! `Sites`: small functions with a site each, and what they return in each state.
//!
//! Function `n` returns `2n` while its site is off and `2n + 1` while it is on; anything else is a
//! wrong execution. Functions stand at all alignments.
//!
//! # Invariants
//! 1. `entries` are addresses of functions in `code`, which lives as long as the `Sites`, and whose
//!    `cells` do too.
//! 2. [`Sites::write`] stays within the code.

#![allow(unsafe_code)]

use skep_jit::{BareCode, Switch};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// How the functions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `test eax, imm32`, whose first byte makes it `jmp rel32`.
    Switch,
    /// A 5-byte nop, which is replaced by `jmp rel32`.
    Nop,
    /// A byte in memory, one for all functions, is tested.
    Flag,
    /// A jump through a pointer in memory, one for each function.
    Pointer,
}

/// Bytes of what follows a site: two times `mov eax, imm32; ret`.
const BODY_BYTES: u32 = 12;
/// Bytes of a 5-byte insn.
pub(super) const INSN_BYTES: u32 = 5;
/// `nop dword [rax + rax]`.
pub(super) const NOP: [u8; 5] = [0x0f, 0x1f, 0x44, 0x00, 0x00];
/// `jmp` over the first `mov eax, imm32; ret`.
pub(super) const JMP: [u8; 5] = [0xe9, 6, 0, 0, 0];

impl Shape {
    /// Bytes before the two bodies.
    fn head_bytes(self) -> u32 {
        match self {
            Shape::Switch | Shape::Nop => INSN_BYTES,
            Shape::Flag => 13,
            Shape::Pointer => 12,
        }
    }

    /// From one function to the next.
    fn stride(self) -> u32 {
        self.head_bytes() + BODY_BYTES
    }
}

/// What functions read.
#[derive(Debug, Default)]
struct Cells {
    flag: AtomicU8,
    pointers: Vec<AtomicU64>,
}

/// Functions with a site each.
#[derive(Debug)]
pub struct Sites {
    shape: Shape,
    code: BareCode,
    cells: Box<Cells>,
    entries: Vec<u64>,
}

impl Sites {
    /// Writes and places `count` functions, all off.
    ///
    /// # Errors
    ///
    /// The host gives no memory for code.
    pub fn new(shape: Shape, count: u32) -> Result<Sites, String> {
        let pointers = (0..count).map(|_| AtomicU64::new(0)).collect();
        let cells = Box::new(Cells { flag: AtomicU8::new(0), pointers });
        let mut bytes = Vec::new();
        for n in 0..count {
            match shape {
                Shape::Switch => bytes.extend([0xa9, 6, 0, 0, 0]),
                Shape::Nop => bytes.extend(NOP),
                Shape::Flag => {
                    // mov al, [flag]; test al, al; jne
                    bytes.push(0xa0);
                    bytes.extend((cells.flag.as_ptr() as u64).to_le_bytes());
                    bytes.extend([0x84, 0xc0, 0x75, 6]);
                }
                Shape::Pointer => {
                    // mov rax, &pointer; jmp [rax]
                    let pointer = &cells.pointers[n as usize];
                    bytes.extend([0x48, 0xb8]);
                    bytes.extend((pointer.as_ptr() as u64).to_le_bytes());
                    bytes.extend([0xff, 0x20]);
                }
            }
            for value in [2 * n, 2 * n + 1] {
                bytes.push(0xb8);
                bytes.extend(value.to_le_bytes());
                bytes.push(0xc3);
            }
        }
        let code = BareCode::new(&bytes).map_err(|e| e.to_string())?;
        let entries = (0..count).map(|n| code.address(n * shape.stride())).collect();
        let sites = Sites { shape, code, cells, entries };
        sites.point(false);
        Ok(sites)
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Calls function `n`.
    #[inline]
    pub fn call(&self, n: usize) -> u32 {
        let entry = self.entries[n];
        // SAFETY: the function is there (1), takes nothing, clobbers `rax` and flags only, and ends
        // in every state of its site. In a negative control the child process may die of it.
        let function: extern "sysv64" fn() -> u32 = unsafe {
            std::mem::transmute::<*const u8, extern "sysv64" fn() -> u32>(entry as *const u8)
        };
        function()
    }

    /// The switches, if the functions have some.
    pub fn switches(&self) -> Vec<Switch> {
        (0..self.len() as u32).filter_map(|n| self.code.switch(n * self.shape.stride())).collect()
    }

    /// Turns the flag of all functions.
    pub fn set_flag(&self, on: bool) {
        self.cells.flag.store(u8::from(on), Ordering::SeqCst);
    }

    /// Sends the pointer of each function to one of its bodies.
    pub fn point(&self, on: bool) {
        let off = self.shape.head_bytes() + if on { BODY_BYTES / 2 } else { 0 };
        for (entry, pointer) in self.entries.iter().zip(&self.cells.pointers) {
            pointer.store(entry + u64::from(off), Ordering::Release);
        }
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    /// Start, stride and number of the functions.
    pub(super) fn layout(&self) -> (u64, u64, u64) {
        (self.code.address(0), u64::from(self.shape.stride()), self.len() as u64)
    }

    /// Writes bytes at a distance from the start of function `n`, each with a store of its own,
    /// whatever threads make of it.
    pub(super) fn write(&self, n: usize, at: u32, bytes: &[u8]) {
        let off = n * self.shape.stride() as usize + at as usize;
        assert!(off + bytes.len() <= self.len() * self.shape.stride() as usize);
        for (i, byte) in bytes.iter().enumerate() {
            // SAFETY: within the code (2), which is written by atomic stores only. What threads
            // then run is right in the int3 protocol, and in negative controls what is to be shown.
            unsafe {
                AtomicU8::from_ptr(self.code.writable().add(off + i))
                    .store(*byte, Ordering::Release);
            }
        }
    }

    /// Writes eight bytes with one store at any alignment.
    pub(super) fn write_eight(&self, n: usize, bytes: [u8; 8]) {
        let off = n * self.shape.stride() as usize;
        assert!(off + 8 <= self.len() * self.shape.stride() as usize);
        // SAFETY: within the code (2); for negative controls only, in a process of their own.
        unsafe {
            let to = self.code.writable().add(off).cast::<u64>();
            to.write_unaligned(u64::from_le_bytes(bytes));
        }
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    /// The first eight bytes of function `n`.
    pub(super) fn eight(&self, n: usize) -> [u8; 8] {
        let off = n * self.shape.stride() as usize;
        assert!(off + 8 <= self.len() * self.shape.stride() as usize);
        // SAFETY: within the code (2), which is readable.
        unsafe { self.code.writable().add(off).cast::<[u8; 8]>().read_unaligned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_say_their_number_and_state() {
        for shape in [Shape::Switch, Shape::Nop, Shape::Flag, Shape::Pointer] {
            let sites = Sites::new(shape, 70).unwrap();
            let all = |on: u32| (0..70).all(|n| sites.call(n) == 2 * n as u32 + on);
            assert!(all(0), "{shape:?}");
            sites.set_flag(true);
            sites.point(true);
            if shape == Shape::Nop {
                (0..70).for_each(|n| sites.write(n, 0, &JMP));
            }
            assert_eq!(all(1), shape != Shape::Switch, "{shape:?}");
        }
    }
}
