//! What BTF does not say about the arguments of iterators and raw tracepoints.
//!
//! An argument that is a pointer to a struct is `PTR_TO_BTF_ID | PTR_TRUSTED`, unless a row here
//! says otherwise.
//!
//! Kernel: `struct bpf_iter_reg::ctx_arg_info`, `raw_tp_null_args`, 6.18.

use super::btf_arg_row::IterArg;
use super::btf_arg_table::{ITER_ROWS, RAW_TP_ROWS};
use crate::Behaviours;

/// Arguments, by index, of an iterator's function (`bpf_iter_task`) that are not plain trusted
/// pointers; `None` if the kernel has no such iterator.
pub fn iter_args(func: &str) -> Option<&'static [(u8, IterArg)]> {
    let at = ITER_ROWS.binary_search_by(|row| row.func.cmp(func)).ok()?;
    Some(ITER_ROWS[at].args)
}

/// What a pointer to a struct among the arguments of a raw tracepoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawTpArg {
    /// A trusted pointer.
    Object,
    /// A trusted pointer, or NULL.
    ObjectOrNull,
    /// A number: small ones have a meaning of their own.
    Number,
}

/// What a pointer to a struct among the arguments of a raw tracepoint is. `name` is without
/// `btf_trace_`, `arg` counts from 0.
pub fn raw_tp_arg(name: &str, arg: u32, rules: &Behaviours) -> RawTpArg {
    match (name, arg) {
        ("signal_deliver" | "signal_generate", 1) if rules.signal_infos_are_numbers => {
            return RawTpArg::Number;
        }
        ("sched_process_wait", 0) if rules.waited_for_may_be_null => {
            return RawTpArg::ObjectOrNull;
        }
        _ => {}
    }
    let row = RAW_TP_ROWS.binary_search_by(|row| row.name.cmp(name));
    let may_be_null = row.is_ok_and(|at| arg < 16 && RAW_TP_ROWS[at].null_args >> arg & 1 != 0);
    match may_be_null && rules.tracepoint_arguments_may_be_null
        || rules.tracepoint_arguments_checked
    {
        true => RawTpArg::ObjectOrNull,
        false => RawTpArg::Object,
    }
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
        let arg = |name, arg| raw_tp_arg(name, arg, &Behaviours::of_release("6.18.15"));
        assert_eq!(arg("kfree_skb", 3), RawTpArg::ObjectOrNull);
        assert_eq!(arg("kfree_skb", 0), RawTpArg::Object);
        assert_eq!(arg("sched_switch", 1), RawTpArg::Object);
    }
}
