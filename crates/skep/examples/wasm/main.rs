//! The verifier as WebAssembly, with an interface of plain numbers: `input(bytes)` returns where to
//! put an object, `verify()` verifies its programs and returns the length of the result, and
//! `answer()` its address. `wasm.mjs` is the JavaScript side; `cargo xtask targets` runs both.
//!
//! ```sh
//! cargo build --release --target wasm32-unknown-unknown --example wasm \
//!     -p skep --no-default-features
//! ```
//!
//! # Invariants
//! 1. The exported names are unique to this example. Everything else is safe code: the memory that
//!    the other side writes belongs to it until it calls `verify`.

#![allow(unsafe_code)]

mod answers;

use answers::answers;
use std::cell::RefCell;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes room for an object.
// SAFETY: invariant 1.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        *input = vec![0; bytes];
        input.as_mut_ptr()
    })
}

/// Verifies every program of the object; returns the length of the result in bytes.
// SAFETY: invariant 1.
#[unsafe(no_mangle)]
pub extern "C" fn verify() -> usize {
    let text = INPUT.with_borrow(|input| answers(input));
    ANSWER.with_borrow_mut(|answer| {
        *answer = text;
        answer.len()
    })
}

/// The address of the result, in UTF-8.
// SAFETY: invariant 1.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
