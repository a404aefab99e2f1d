//! The verifier in WebAssembly, with an interface of plain numbers: `input(bytes)` says where an
//! object is to be put, `verify()` verifies its programs and says how long the answer is, and
//! `answer()` where that is. `wasm.mjs` is the other side; `cargo xtask targets` runs both.
//!
//! ```sh
//! cargo build --release --target wasm32-unknown-unknown --example wasm \
//!     -p skep --no-default-features
//! ```
//!
//! # Invariants
//! 1. The names of the functions are this example's alone. All else is safe code: what the other
//!    side writes is in memory that belongs to it until it calls `verify`.

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

/// Verifies every program of the object; the length of the answer in bytes.
// SAFETY: invariant 1.
#[unsafe(no_mangle)]
pub extern "C" fn verify() -> usize {
    let text = INPUT.with_borrow(|input| answers(input));
    ANSWER.with_borrow_mut(|answer| {
        *answer = text;
        answer.len()
    })
}

/// Where the answer is, in UTF-8.
// SAFETY: invariant 1.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
