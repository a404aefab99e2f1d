//! Calls of kernel functions: who may call which, what the arguments must be, what comes back.
//!
//! Kernel: `check_kfunc_call` and what it calls (6.18).

pub(crate) mod callee;
mod critical;
pub(crate) mod dynptr;
mod irq_flag;
mod iter;
mod meta;
mod slots;
