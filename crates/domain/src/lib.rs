//! What is known about a 64-bit value: tnum, signed and unsigned bounds, transfer functions, branch
//! refinement.
//!
//! Why: the verifier asks three questions about a number: what is it after this insn ([`alu`],
//! [`neg`], the `coerce_*` functions), can this branch be taken ([`is_branch_taken`]), and what
//! does the branch imply ([`refine`]).
//!
//! # Invariants
//! 1. Every function is sound: concrete values inside the operands give a concrete result inside
//!    the result.
//! 2. Every result equals Linux 6.18's, bound for bound (recorded vectors in `tests/`), because
//!    bounds decide pruning.
//! 3. No allocation, no panic: arithmetic wraps deliberately.

#![forbid(unsafe_code)]

mod alu;
mod arc;
mod bounds;
mod branch;
mod coerce;
mod deduction;
mod division;
mod older;
mod refine;
mod sanity;
mod scalar;
mod sync;
mod tnum;
mod wrapped;
mod wrapped_jmp;
mod wrapped_ops;

pub use alu::{AluOp, ByteOrder, alu, byte_order, fork_sign_mask, neg};
pub use branch::{JmpOp, is_branch_taken};
pub use deduction::{Deduction, Products};
pub use division::{Division, divide};
pub use older::{add_unsynced, alu_by, find_anew, refine_branches_by, refine_by, refine_same_by};
pub use refine::{refine, refine_branches, refine_same};
pub use sanity::BoundsViolation;
pub use scalar::{Scalar, ScalarAt, Wrapped};
pub use tnum::Tnum;
pub use wrapped_jmp::{is_taken_wrapped, refine_wrapped};
pub use wrapped_ops::{
    add_wrapped_unsynced, alu_wrapped, byte_order_wrapped, divide_wrapped, move_wrapped,
    neg_wrapped,
};
