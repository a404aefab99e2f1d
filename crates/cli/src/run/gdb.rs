//! Symbols of machine code for gdb, through its JIT interface.
//!
//! The binary has this descriptor and not a library, because a process has only one, which another
//! JIT in an embedder's process may already define.
//!
//! Source: "JIT Compilation Interface" in gdb's manual.
//!
//! # Invariants
//! 1. The list is changed under [`LOCK`] only; gdb reads it while the process is stopped.
//! 2. An entry and its image do not move or go away while they are in the list.
#![allow(unsafe_code)]

use skep::runtime::Instance;
use skep_runtime::placed_code;
use skep_text::elf_symbols::elf_symbols;
use std::ptr::null_mut;
use std::sync::Mutex;

const REGISTER: u32 = 1;
const UNREGISTER: u32 = 2;

#[repr(C)]
struct Entry {
    next: *mut Entry,
    prev: *mut Entry,
    symfile: *const u8,
    symfile_bytes: u64,
}

#[repr(C)]
struct Descriptor {
    version: u32,
    action: u32,
    relevant: *mut Entry,
    first: *mut Entry,
}

static LOCK: Mutex<()> = Mutex::new(());

// SAFETY: gdb defines the name, and nothing else in this binary uses it.
#[unsafe(no_mangle)]
static mut __jit_debug_descriptor: Descriptor =
    Descriptor { version: 1, action: 0, relevant: null_mut(), first: null_mut() };

/// Where gdb has its breakpoint.
// SAFETY: as above.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn __jit_debug_register_code() {
    std::hint::black_box(());
}

/// Programs registered with gdb until this is dropped.
#[derive(Default)]
pub(super) struct Names(Vec<Name>);

struct Name {
    entry: Box<Entry>,
    _image: Vec<u8>,
}

impl Names {
    /// Registers every program that is machine code.
    pub(super) fn tell<'a>(instances: impl Iterator<Item = &'a Instance>) -> Names {
        let mut names = Names::default();
        for instance in instances {
            let Some(code) = placed_code(instance) else { continue };
            let image = elf_symbols(code, instance.name());
            let entry = Entry {
                next: null_mut(),
                prev: null_mut(),
                symfile: image.as_ptr(),
                symfile_bytes: image.len() as u64,
            };
            names.0.push(Name { entry: Box::new(entry), _image: image });
        }
        for name in &mut names.0 {
            change(&mut name.entry, REGISTER);
        }
        names
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        for name in &mut self.0 {
            change(&mut name.entry, UNREGISTER);
        }
    }
}

fn change(entry: &mut Entry, action: u32) {
    let _lock = LOCK.lock();
    // SAFETY: invariants 1 and 2: the list's pointers are valid, and nothing else changes it.
    unsafe {
        let descriptor = &raw mut __jit_debug_descriptor;
        if action == REGISTER {
            entry.next = (*descriptor).first;
            if !entry.next.is_null() {
                (*entry.next).prev = entry;
            }
            (*descriptor).first = entry;
        } else {
            match entry.prev.is_null() {
                true => (*descriptor).first = entry.next,
                false => (*entry.prev).next = entry.next,
            }
            if !entry.next.is_null() {
                (*entry.next).prev = entry.prev;
            }
        }
        (*descriptor).action = action;
        (*descriptor).relevant = entry;
    }
    __jit_debug_register_code();
}
