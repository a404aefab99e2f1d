//! What BTF does not say about the arguments of iterators and raw tracepoints.
//!
//! An argument that is a pointer to a struct is `PTR_TO_BTF_ID | PTR_TRUSTED`, unless a row here
//! says otherwise.
//!
//! Kernel: `struct bpf_iter_reg::ctx_arg_info`, `raw_tp_null_args`, 6.18.

use super::btf_arg_table::{ITER_ROWS, RAW_TP_ROWS};

/// Type of an iterator's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterArg {
    /// `PTR_TO_BTF_ID | PTR_MAYBE_NULL`, not trusted.
    BtfOrNull,
    /// `PTR_TO_BTF_ID | PTR_MAYBE_NULL | PTR_TRUSTED`.
    TrustedBtfOrNull,
    /// `PTR_TO_BUF | PTR_MAYBE_NULL`.
    BufOrNull,
    /// `PTR_TO_BUF | PTR_MAYBE_NULL | MEM_RDONLY`.
    RdonlyBufOrNull,
}

#[derive(Debug)]
pub(super) struct IterRow {
    pub(super) func: &'static str,
    pub(super) args: &'static [(u8, IterArg)],
}

#[derive(Debug)]
pub(super) struct RawTpRow {
    pub(super) name: &'static str,
    pub(super) null_args: u16,
}

/// Arguments, by index, of an iterator's function (`bpf_iter_task`) that are not plain trusted
/// pointers; `None` if the kernel has no such iterator.
pub fn iter_args(func: &str) -> Option<&'static [(u8, IterArg)]> {
    let at = ITER_ROWS.binary_search_by(|row| row.func.cmp(func)).ok()?;
    Some(ITER_ROWS[at].args)
}

/// Whether an argument of a raw tracepoint may be NULL. `name` is without `btf_trace_`, `arg`
/// counts from 0.
pub fn raw_tp_arg_maybe_null(name: &str, arg: u32) -> bool {
    let row = RAW_TP_ROWS.binary_search_by(|row| row.name.cmp(name));
    row.is_ok_and(|at| arg < 16 && RAW_TP_ROWS[at].null_args >> arg & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(ITER_ROWS.windows(2).all(|p| p[0].func < p[1].func));
        assert!(RAW_TP_ROWS.windows(2).all(|p| p[0].name < p[1].name));
    }

    /// Seen on 6.18.
    #[test]
    fn arguments_are_those_of_the_kernel() {
        assert_eq!(iter_args("bpf_iter_task"), Some(&[(1, IterArg::TrustedBtfOrNull)][..]));
        assert_eq!(iter_args("bpf_iter_num_new"), None);
        assert!(raw_tp_arg_maybe_null("kfree_skb", 3));
        assert!(!raw_tp_arg_maybe_null("kfree_skb", 0));
        assert!(!raw_tp_arg_maybe_null("sched_switch", 1));
    }
}
