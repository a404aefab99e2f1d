//! `Sites`: small functions with a site each, and what they return in each state.
//!
//! Function `n` returns `4n + state`, where the state is which of its bodies it ends in; anything
//! else is a wrong execution. A switch has two bodies, a jump four.
//!
//! # Invariants
//! 1. `entries` are addresses of functions in `code`, which lives as long as the `Sites`, and whose
//!    `cells` do too.
//! 2. [`Sites::write`] and [`Sites::write_word`] stay within the code.
//! 3. Breakpoints fill the gaps between bodies: a partly written jump crashes.

#![allow(unsafe_code)]

use skep_cli::Error;
use skep_jit::SwitchSite;
use skep_text::{BareCode, Jump, MachineCode, Switch, Target};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// How the functions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `test eax, imm32`, whose first byte makes it `jmp rel32`; at all alignments.
    Switch,
    /// An insn of two bytes or more, over which `jmp rel8` to the jump in front is written; at all
    /// even places.
    Insn,
    /// A 5-byte nop, which is replaced by `jmp rel32`.
    Nop,
    /// A byte in memory, one for all functions, is tested.
    Flag,
    /// A jump through a pointer in memory, one for each function.
    Pointer,
    /// `jmp rel32` whose displacement is at a multiple of 4, at all of those in a cache line.
    Jump,
    /// Switches and jumps, alternating.
    Mixed,
    /// `jmp rel32` at all alignments: for a negative control.
    Misaligned,
}

/// States of a jump, and of all sites together.
pub const STATES: u32 = 4;
/// Bytes of `mov eax, imm32; ret`.
const BODY_BYTES: u32 = 6;
/// The patch sites of a loaded program's statistics.
pub(super) fn stats_switches(code: &MachineCode) -> (Option<Switch>, Vec<Switch>) {
    // SAFETY: they belong to an `Instance`, whose runtime keeps the counters, and gives each thread
    // that runs it a slot.
    unsafe { code.stats_switches() }
}

/// Bytes of a 5-byte insn.
pub(super) const INSN_BYTES: u32 = 5;
/// `nop dword [rax + rax]`.
pub(super) const NOP: [u8; 5] = [0x0f, 0x1f, 0x44, 0x00, 0x00];
/// `jmp` over the first `mov eax, imm32; ret`.
pub(super) const JMP: [u8; 5] = [0xe9, 6, 0, 0, 0];
/// `int3`.
const TRAP: u8 = 0xcc;
/// Added to the distance of the bodies of one state from those of the next, so that displacements
/// differ in three bytes, and any mixture of them leads between bodies or to another function's.
const APART: u32 = 0x01_0101;

impl Shape {
    /// Bytes in front of the site, and from the site to the adjacent bodies.
    fn head(self) -> (u32, u32) {
        match self {
            Shape::Switch | Shape::Nop => (0, INSN_BYTES),
            Shape::Insn => (1 + INSN_BYTES, 0),
            Shape::Flag => (0, 13),
            Shape::Pointer => (0, 12),
            Shape::Jump | Shape::Mixed => (3, INSN_BYTES),
            Shape::Misaligned => (0, INSN_BYTES),
        }
    }

    /// Whether bodies are not adjacent to sites.
    fn is_far(self) -> bool {
        matches!(self, Shape::Jump | Shape::Mixed | Shape::Misaligned)
    }

    /// Distance between functions.
    fn stride(self) -> u32 {
        match self {
            // Odd multiples of 4, so that all such offsets in a line occur.
            Shape::Jump => 12,
            Shape::Mixed => 20,
            // Even, and no multiple of 4.
            Shape::Insn => 18,
            Shape::Misaligned => 13,
            Shape::Pointer => self.head().1 + STATES * BODY_BYTES,
            _ => self.head().1 + 2 * BODY_BYTES,
        }
    }

    /// Whether function `n` has a switch, whose off state falls through.
    fn is_switch(self, n: u32) -> bool {
        matches!(self, Shape::Switch | Shape::Insn) || (self == Shape::Mixed && n.is_multiple_of(2))
    }

    /// The states of a function, less one: a mask.
    fn mask(self, n: u32) -> u32 {
        match self {
            Shape::Jump | Shape::Misaligned | Shape::Pointer => STATES - 1,
            Shape::Mixed if n % 2 == 1 => STATES - 1,
            _ => 1,
        }
    }
}

/// Data that functions read.
#[derive(Debug, Default)]
struct Cells {
    flag: AtomicU8,
    pointers: Vec<AtomicU64>,
}

/// What changes in a function.
pub enum Site {
    /// On or off.
    Switch(Switch),
    /// One state per target.
    Jump(Jump, Vec<Target>),
}

/// Functions with a site each.
#[derive(Debug)]
pub struct Sites {
    shape: Shape,
    code: BareCode,
    len_bytes: usize,
    cells: Box<Cells>,
    entries: Vec<u64>,
    /// Of even functions and of odd ones.
    masks: [u32; 2],
}

/// Offset of a body.
fn body(shape: Shape, count: u32, n: u32, state: u32) -> u32 {
    let own = n * shape.stride();
    let (front, behind) = shape.head();
    match shape.is_far() {
        false => own + front + behind + state * BODY_BYTES,
        true if shape.is_switch(n) && state == 0 => own + front + INSN_BYTES,
        true => {
            let all = (count * shape.stride()).next_multiple_of(1 << 16);
            own + (state + 1) * (all + APART)
        }
    }
}

/// `rel32` of a jump from the site of function `n`.
fn displacement(shape: Shape, count: u32, n: u32, state: u32) -> u32 {
    body(shape, count, n, state) - (n * shape.stride() + shape.head().0 + INSN_BYTES)
}

impl Sites {
    /// Generates and places `count` functions, all in state 0.
    ///
    /// # Errors
    ///
    /// The host provides no memory for code.
    pub fn new(shape: Shape, count: u32) -> Result<Sites, Error> {
        let pointers = (0..count).map(|_| AtomicU64::new(0)).collect();
        let cells = Box::new(Cells { flag: AtomicU8::new(0), pointers });
        let masks = [shape.mask(0), shape.mask(1)];
        let last = body(shape, count, count.max(1) - 1, shape.mask(count.max(1) - 1));
        let mut bytes = vec![TRAP; (last + 4 * BODY_BYTES + shape.stride()) as usize];
        let mut put = |off: u32, part: &[u8]| {
            bytes[off as usize..off as usize + part.len()].copy_from_slice(part);
        };
        for n in 0..count {
            put(n * shape.stride() + shape.head().0, &head(shape, count, n, &cells));
            if shape == Shape::Insn {
                // Over the body of state 0, whose first insn is the site, to that of state 1.
                put(n * shape.stride() + 1, &JMP);
            }
            for state in 0..=shape.mask(n) {
                let value = (STATES * n + state).to_le_bytes();
                let at = body(shape, count, n, state);
                put(at, &[0xb8, value[0], value[1], value[2], value[3], 0xc3]);
            }
        }
        let code = BareCode::new(&bytes).map_err(Error::caused)?;
        let entry = |n| code.address(n * shape.stride() + shape.head().0);
        let entries = (0..count).map(entry).collect();
        let sites = Sites { shape, code, len_bytes: bytes.len(), cells, entries, masks };
        sites.point(0);
        Ok(sites)
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of states of function `n`, minus one: after all functions were put into `state`, its
    /// state is `state & mask`.
    #[inline]
    pub fn mask(&self, n: usize) -> u32 {
        self.masks[n % 2]
    }

    /// Calls function `n`; a result above its mask is wrong.
    #[inline]
    pub fn call(&self, n: usize) -> u32 {
        let entry = self.entries[n];
        // SAFETY: the function exists (1), takes no arguments, clobbers only `rax` and flags, and
        // returns in every state of its site. In a negative control it may crash the child process.
        let function: extern "C" fn() -> u32 =
            unsafe { std::mem::transmute::<*const u8, extern "C" fn() -> u32>(entry as *const u8) };
        function().wrapping_sub(STATES * n as u32)
    }

    /// The patch site of function `n`, if it has one.
    pub fn site(&self, n: u32) -> Option<Site> {
        let off = n * self.shape.stride() + self.shape.head().0;
        if self.shape == Shape::Insn {
            return self.code.insn_switch(off).map(Site::Switch);
        }
        if self.shape.is_switch(n) {
            return self.code.switch(off).map(Site::Switch);
        }
        let jump = self.code.jump(off).filter(|_| self.shape.is_far())?;
        let target = |state| self.code.target(body(self.shape, self.len() as u32, n, state));
        Some(Site::Jump(jump, (0..STATES).map(target).collect::<Option<_>>()?))
    }

    /// Sets the flag of all functions.
    pub fn set_flag(&self, state: u32) {
        self.cells.flag.store((state & 1) as u8, Ordering::SeqCst);
    }

    /// Points the pointer of each function to one of its bodies.
    pub fn point(&self, state: u32) {
        let off = self.shape.head().1 + (state & self.masks[0]) * BODY_BYTES;
        for (entry, pointer) in self.entries.iter().zip(&self.cells.pointers) {
            pointer.store(entry + u64::from(off), Ordering::Release);
        }
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    /// First site, stride and number of the functions.
    pub(super) fn layout(&self) -> (u64, u64, u64) {
        let first = self.code.address(self.shape.head().0);
        (first, u64::from(self.shape.stride()), self.len() as u64)
    }

    /// The insn of a nop or jump site in a state; the same in all functions.
    pub(super) fn insn(&self, state: u32) -> [u8; 5] {
        match (self.shape.is_far(), state & 1) {
            (false, 0) => NOP,
            (false, _) => JMP,
            (true, _) => {
                let to = displacement(self.shape, self.len() as u32, 0, state).to_le_bytes();
                [0xe9, to[0], to[1], to[2], to[3]]
            }
        }
    }

    /// The first two bytes of function `n` in a state, if its first insn is the site.
    pub(super) fn two(&self, n: usize, state: u32) -> [u8; 2] {
        match state & 1 {
            // mov eax, imm32
            0 => [0xb8, (STATES * n as u32) as u8],
            _ => SwitchSite::HOP,
        }
    }

    /// Distance from the end of [`Sites::insn`] to where it jumps.
    pub(super) fn skips(&self, state: u32) -> u32 {
        let [op, disp @ ..] = self.insn(state);
        if op == JMP[0] { u32::from_le_bytes(disp) } else { 0 }
    }

    /// Offset of the site of function `n`, of which `len` bytes will be written.
    fn place(&self, n: usize, at: u32, len: usize) -> usize {
        let (front, stride) = (self.shape.head().0 as usize, self.shape.stride() as usize);
        let off = n * stride + front + at as usize;
        assert!(off + len <= self.len_bytes);
        off
    }

    /// Writes bytes at an offset from the site of function `n`, one store each, regardless of
    /// running threads.
    pub(super) fn write(&self, n: usize, at: u32, bytes: &[u8]) {
        let off = self.place(n, at, bytes.len());
        for (i, byte) in bytes.iter().enumerate() {
            // SAFETY: within the code (2), which is written by atomic stores only. In the int3
            // protocol threads execute right code; in negative controls wrong code is the point.
            unsafe {
                AtomicU8::from_ptr(self.code.writable().add(off + i))
                    .store(*byte, Ordering::Release);
            }
        }
    }

    /// Writes eight bytes, or four, with one store at any alignment.
    pub(super) fn write_word(&self, n: usize, at: u32, bytes: &[u8]) {
        let off = self.place(n, at, bytes.len());
        // SAFETY: within the code (2); for negative controls only, in a process of their own.
        unsafe {
            let to = self.code.writable().add(off);
            match *bytes {
                [a, b, c, d] => {
                    to.cast::<u32>().write_unaligned(u32::from_le_bytes([a, b, c, d]));
                }
                [a, b, c, d, e, f, g, h] => {
                    let word = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
                    to.cast::<u64>().write_unaligned(word);
                }
                _ => {}
            }
        }
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    /// The first eight bytes from the site of function `n`.
    pub(super) fn eight(&self, n: usize) -> [u8; 8] {
        let off = self.place(n, 0, 8);
        // SAFETY: within the code (2), which is readable.
        unsafe { self.code.writable().add(off).cast::<[u8; 8]>().read_unaligned() }
    }
}

/// The first insns of function `n`.
fn head(shape: Shape, count: u32, n: u32, cells: &Cells) -> Vec<u8> {
    let mut bytes = Vec::new();
    match shape {
        Shape::Nop => bytes.extend(NOP),
        Shape::Insn => {}
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
        Shape::Switch | Shape::Jump | Shape::Mixed | Shape::Misaligned => {
            // test eax, imm32: off; or jmp rel32.
            let is_switch = shape.is_switch(n);
            bytes.push(if is_switch { 0xa9 } else { 0xe9 });
            let to = displacement(shape, count, n, u32::from(is_switch));
            bytes.extend(to.to_le_bytes());
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use Shape::{Flag, Insn, Jump, Misaligned, Mixed, Nop, Pointer, Switch};

    #[test]
    fn functions_say_their_number_and_state() {
        for shape in [Switch, Insn, Nop, Flag, Pointer, Jump, Mixed, Misaligned] {
            let sites = Sites::new(shape, 70).unwrap();
            for state in 0..STATES {
                sites.set_flag(state);
                sites.point(state);
                if matches!(shape, Nop | Jump | Misaligned) {
                    (0..70).for_each(|n| sites.write(n, 0, &sites.insn(state)));
                }
                let is_turned = matches!(shape, Switch | Insn | Mixed);
                let wanted = |n: usize| if is_turned { 0 } else { state & sites.mask(n) };
                assert!((0..70).all(|n| sites.call(n) == wanted(n)), "{shape:?} {state}");
            }
        }
    }

    #[test]
    fn jumps_stand_at_every_multiple_of_four() {
        let sites = Sites::new(Jump, 64).unwrap();
        let (first, stride, count) = sites.layout();
        let all = (0..count).map(|n| (first + n * stride + 1) % 64);
        assert_eq!(all.collect::<std::collections::BTreeSet<_>>().len(), 16);
        assert!((0..64).all(|n| sites.site(n).is_some()));
        let sites = Sites::new(Mixed, 64).unwrap();
        assert!((0..64).all(|n| matches!(sites.site(n), Some(Site::Switch(_))) == (n % 2 == 0)));
        let sites = Sites::new(Misaligned, 4).unwrap();
        assert!(sites.site(0).is_none());
    }

    #[test]
    fn a_mixture_of_two_displacements_is_none_of_either() {
        for count in [1, 164, 4096] {
            let all: Vec<[u8; 4]> = (0..STATES)
                .map(|state| displacement(Jump, count, 0, state).to_le_bytes())
                .collect();
            for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
                // The first `cut` bytes of one displacement, the rest of the other.
                for cut in 1..=3 {
                    let mut mixed = *b;
                    mixed[..cut].copy_from_slice(&a[..cut]);
                    assert!(a == b || cut == 3 || !all.contains(&mixed), "{a:x?} {b:x?}");
                }
            }
        }
    }
}
