//! The kfuncs of the kernel's own test modules (`bpf_testmod` and its kin, 6.12), sorted by name.
//!
//! Flags are those of the modules' `.BTF_ids` sections. Other kernels have no functions with these
//! names, so no other program is affected.

use super::kfunc_table::*;
use super::row::{Filter, Kfunc, KfuncFlags};

const DESTRUCTIVE: u32 = KfuncFlags::DESTRUCTIVE.bits();
/// Program types that most of them are registered for.
const CHECKED: u16 = TC | TRACING | SYSCALL | STRUCT_OPS;

#[rustfmt::skip]
pub(super) static TEST_MODULE_KFUNCS: [Kfunc; 56] = [
    row("bpf_iter_testmod_seq_destroy", DESTROY, COMMON, Filter::Any),
    row("bpf_iter_testmod_seq_new", NEW, COMMON, Filter::Any),
    row("bpf_iter_testmod_seq_next", NULL | NEXT, COMMON, Filter::Any),
    row("bpf_iter_testmod_seq_value", 0, COMMON, Filter::Any),
    row("bpf_kfunc_call_int_mem_release", REL, CHECKED, Filter::Any),
    row("bpf_kfunc_call_kernel_bind", SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_call_kernel_connect", SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_call_kernel_getpeername", SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_call_kernel_getsockname", SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_call_kernel_listen", SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_call_kernel_sendmsg", SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_call_memb1_release", REL, CHECKED, Filter::Any),
    row("bpf_kfunc_call_memb_acquire", ACQ | NULL, CHECKED, Filter::Any),
    row("bpf_kfunc_call_sock_sendmsg", SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test1", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test2", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test3", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test4", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_acq_rdonly_mem", ACQ | NULL, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_acquire", ACQ | NULL, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_destructive", DESTRUCTIVE, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_fail1", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_fail2", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_fail3", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_get_rdonly_mem", NULL, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_get_rdwr_mem", NULL, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_mem_len_fail1", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_mem_len_fail2", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_mem_len_pass1", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_offset", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_pass1", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_pass2", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_pass_ctx", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_ref", TRUSTED | RCU, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_sleepable", SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_call_test_static_unused_arg", 0, CHECKED, Filter::Any),
    row("bpf_kfunc_close_sock", SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_common_test", 0, COMMON, Filter::Any),
    row("bpf_kfunc_dynptr_test", 0, COMMON, Filter::Any),
    row("bpf_kfunc_init_sock", SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_nested_acquire_nonzero_offset_test", ACQ, COMMON, Filter::Any),
    row("bpf_kfunc_nested_acquire_zero_offset_test", ACQ, COMMON, Filter::Any),
    row("bpf_kfunc_nested_release_test", REL, COMMON, Filter::Any),
    row("bpf_kfunc_rcu_task_test", RCU, COMMON, Filter::Any),
    row("bpf_kfunc_st_ops_inc10", TRUSTED, CHECKED, Filter::Any),
    row("bpf_kfunc_st_ops_test_epilogue", TRUSTED | SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_st_ops_test_pro_epilogue", TRUSTED | SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_st_ops_test_prologue", TRUSTED | SLEEP, CHECKED, Filter::Any),
    row("bpf_kfunc_trusted_num_test", TRUSTED, COMMON, Filter::Any),
    row("bpf_kfunc_trusted_task_test", TRUSTED, COMMON, Filter::Any),
    row("bpf_kfunc_trusted_vma_test", TRUSTED, COMMON, Filter::Any),
    row("bpf_test_modorder_retx", 0, TC, Filter::Any),
    row("bpf_test_modorder_rety", 0, TC, Filter::Any),
    row("bpf_testmod_ctx_create", ACQ | NULL, COMMON, Filter::Any),
    row("bpf_testmod_ctx_release", REL, COMMON, Filter::Any),
    row("bpf_testmod_test_mod_kfunc", 0, CHECKED, Filter::Any),
];
