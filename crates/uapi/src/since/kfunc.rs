//! The release of each kfunc, of the kernel and of its modules, by release.
//!
//! A name is where it is a kfunc now: `bpf_list_push_back` of 6.2 and 6.3 was another function,
//! which 6.4 named `bpf_list_push_back_impl`. Source: the pages of docs.ebpf.io, which name the
//! commit; where the tested kernels show that a page is wrong, the commit.

use super::release::Release;
use super::source::Source;

/// A release, and the kfuncs whose pages state it.
type Row = (Release, &'static [&'static str]);

const fn row(major: u8, minor: u8, names: &'static [&'static str]) -> Row {
    (Release::new(major, minor), names)
}

#[rustfmt::skip]
const DOCUMENTED: [Row; 25] = [
    row(5, 13, &[
        "bbr_cwnd_event", "bbr_init", "bbr_main", "bbr_min_tso_segs", "bbr_set_state",
        "bbr_sndbuf_expand", "bbr_ssthresh", "bbr_undo_cwnd", "cubictcp_acked",
        "cubictcp_cong_avoid", "cubictcp_cwnd_event", "cubictcp_init", "cubictcp_recalc_ssthresh",
        "cubictcp_state", "dctcp_cwnd_event", "dctcp_cwnd_undo", "dctcp_init", "dctcp_ssthresh",
        "dctcp_state", "dctcp_update_alpha", "tcp_cong_avoid_ai", "tcp_reno_cong_avoid",
        "tcp_reno_ssthresh", "tcp_reno_undo_cwnd", "tcp_slow_start",
    ]),
    row(5, 18, &[
        "bpf_ct_release", "bpf_skb_ct_lookup", "bpf_xdp_ct_lookup",
    ]),
    row(6, 0, &[
        "bpf_ct_change_status", "bpf_ct_change_timeout", "bpf_ct_insert_entry",
        "bpf_ct_set_status", "bpf_ct_set_timeout", "bpf_skb_ct_alloc", "bpf_xdp_ct_alloc",
    ]),
    row(6, 1, &[
        "bpf_ct_set_nat_info", "bpf_key_put", "bpf_lookup_system_key", "bpf_lookup_user_key",
        "bpf_verify_pkcs7_signature", "cgroup_rstat_flush", "cgroup_rstat_updated", "crash_kexec",
    ]),
    row(6, 2, &[
        "bpf_cast_to_kern_ctx", "bpf_cgroup_acquire", "bpf_cgroup_ancestor", "bpf_cgroup_release",
        "bpf_list_pop_back", "bpf_list_pop_front", "bpf_obj_drop_impl", "bpf_obj_new_impl",
        "bpf_rcu_read_lock", "bpf_rcu_read_unlock", "bpf_rdonly_cast", "bpf_skb_get_xfrm_info",
        "bpf_skb_set_xfrm_info", "bpf_task_acquire", "bpf_task_from_pid", "bpf_task_release",
    ]),
    row(6, 3, &[
        "bpf_cpumask_acquire", "bpf_cpumask_and", "bpf_cpumask_clear", "bpf_cpumask_clear_cpu",
        "bpf_cpumask_copy", "bpf_cpumask_create", "bpf_cpumask_empty", "bpf_cpumask_equal",
        "bpf_cpumask_first", "bpf_cpumask_first_zero", "bpf_cpumask_full",
        "bpf_cpumask_intersects", "bpf_cpumask_or", "bpf_cpumask_release", "bpf_cpumask_set_cpu",
        "bpf_cpumask_setall", "bpf_cpumask_subset", "bpf_cpumask_test_and_clear_cpu",
        "bpf_cpumask_test_and_set_cpu", "bpf_cpumask_test_cpu", "bpf_cpumask_xor",
        "bpf_rbtree_first", "bpf_rbtree_remove", "bpf_xdp_metadata_rx_hash",
        "bpf_xdp_metadata_rx_timestamp", "hid_bpf_allocate_context", "hid_bpf_attach_prog",
        "hid_bpf_get_data", "hid_bpf_hw_request", "hid_bpf_release_context",
    ]),
    row(6, 4, &[
        "bpf_cgroup_from_id", "bpf_dynptr_from_skb", "bpf_dynptr_from_xdp", "bpf_dynptr_slice",
        "bpf_dynptr_slice_rdwr", "bpf_iter_num_destroy", "bpf_iter_num_new", "bpf_iter_num_next",
        "bpf_list_push_back_impl", "bpf_list_push_front_impl", "bpf_rbtree_add_impl",
        "bpf_refcount_acquire_impl", "bpf_skb_get_fou_encap", "bpf_skb_set_fou_encap",
    ]),
    row(6, 5, &[
        "bpf_cpumask_any_and_distribute", "bpf_cpumask_any_distribute", "bpf_cpumask_first_and",
        "bpf_dynptr_adjust", "bpf_dynptr_clone", "bpf_dynptr_is_null", "bpf_dynptr_size",
        "bpf_sock_destroy", "bpf_task_under_cgroup",
    ]),
    row(6, 6, &[
        "bpf_map_sum_elem_count",
    ]),
    row(6, 7, &[
        "bpf_iter_css_destroy", "bpf_iter_css_new", "bpf_iter_css_next",
        "bpf_iter_css_task_destroy", "bpf_iter_css_task_new", "bpf_iter_css_task_next",
        "bpf_iter_task_destroy", "bpf_iter_task_new", "bpf_iter_task_next",
        "bpf_iter_task_vma_destroy", "bpf_iter_task_vma_new", "bpf_iter_task_vma_next",
        "bpf_percpu_obj_drop_impl", "bpf_percpu_obj_new_impl", "bpf_sock_addr_set_sun_path",
        "bpf_throw",
    ]),
    row(6, 8, &[
        "bpf_cpumask_weight", "bpf_get_file_xattr", "bpf_get_fsverity_digest",
        "bpf_task_get_cgroup1", "bpf_xdp_get_xfrm_state", "bpf_xdp_metadata_rx_vlan_tag",
        "bpf_xdp_xfrm_state_release",
    ]),
    row(6, 9, &[
        "bpf_arena_alloc_pages", "bpf_arena_free_pages",
    ]),
    row(6, 10, &[
        "bpf_crypto_ctx_acquire", "bpf_crypto_ctx_create", "bpf_crypto_ctx_release",
        "bpf_crypto_decrypt", "bpf_crypto_encrypt", "bpf_preempt_disable", "bpf_preempt_enable",
        "bpf_session_cookie", "bpf_session_is_return", "bpf_wq_init", "bpf_wq_set_callback_impl",
        "bpf_wq_start", "hid_bpf_hw_output_report", "hid_bpf_input_report",
    ]),
    row(6, 11, &[
        "bpf_iter_bits_destroy", "bpf_iter_bits_new", "bpf_iter_bits_next", "bpf_xdp_flow_lookup",
        "hid_bpf_try_input_report",
    ]),
    row(6, 12, &[
        "bpf_copy_from_user_str", "bpf_get_dentry_xattr", "bpf_get_task_exe_file",
        "bpf_iter_scx_dsq_destroy", "bpf_iter_scx_dsq_new", "bpf_iter_scx_dsq_next",
        "bpf_path_d_path", "bpf_put_file", "scx_bpf_consume", "scx_bpf_cpu_rq",
        "scx_bpf_cpuperf_cap", "scx_bpf_cpuperf_cur", "scx_bpf_cpuperf_set", "scx_bpf_create_dsq",
        "scx_bpf_destroy_dsq", "scx_bpf_dispatch", "scx_bpf_dispatch_cancel",
        "scx_bpf_dispatch_from_dsq", "scx_bpf_dispatch_from_dsq_set_slice",
        "scx_bpf_dispatch_from_dsq_set_vtime", "scx_bpf_dispatch_nr_slots",
        "scx_bpf_dispatch_vtime", "scx_bpf_dispatch_vtime_from_dsq", "scx_bpf_dsq_nr_queued",
        "scx_bpf_dump_bstr", "scx_bpf_error_bstr", "scx_bpf_exit_bstr",
        "scx_bpf_get_idle_cpumask", "scx_bpf_get_idle_smtmask", "scx_bpf_get_online_cpumask",
        "scx_bpf_get_possible_cpumask", "scx_bpf_kick_cpu", "scx_bpf_nr_cpu_ids",
        "scx_bpf_pick_any_cpu", "scx_bpf_pick_idle_cpu", "scx_bpf_put_cpumask",
        "scx_bpf_put_idle_cpumask", "scx_bpf_reenqueue_local", "scx_bpf_select_cpu_dfl",
        "scx_bpf_task_cgroup", "scx_bpf_task_cpu", "scx_bpf_task_running",
        "scx_bpf_test_and_clear_cpu_idle",
    ]),
    row(6, 13, &[
        "bpf_get_kmem_cache", "bpf_iter_kmem_cache_destroy", "bpf_iter_kmem_cache_new",
        "bpf_iter_kmem_cache_next", "bpf_send_signal_task", "bpf_task_from_vpid",
        "scx_bpf_dsq_insert", "scx_bpf_dsq_insert_vtime", "scx_bpf_dsq_move",
        "scx_bpf_dsq_move_set_slice", "scx_bpf_dsq_move_set_vtime", "scx_bpf_dsq_move_to_local",
        "scx_bpf_dsq_move_vtime",
    ]),
    row(6, 14, &[
        "bpf_local_irq_restore", "bpf_local_irq_save", "scx_bpf_now",
    ]),
    row(6, 15, &[
        "bpf_copy_from_user_task_str", "bpf_cpumask_populate", "bpf_dynptr_copy",
        "bpf_remove_dentry_xattr", "bpf_res_spin_lock", "bpf_res_spin_lock_irqsave",
        "bpf_res_spin_unlock", "bpf_res_spin_unlock_irqrestore", "bpf_set_dentry_xattr",
        "bpf_sock_ops_enable_tx_tstamp", "scx_bpf_cpu_node", "scx_bpf_events",
        "scx_bpf_get_idle_cpumask_node", "scx_bpf_get_idle_smtmask_node", "scx_bpf_nr_node_ids",
        "scx_bpf_pick_any_cpu_node", "scx_bpf_pick_idle_cpu_node",
    ]),
    row(6, 16, &[
        "__bpf_trap", "bpf_copy_from_user_dynptr", "bpf_copy_from_user_str_dynptr",
        "bpf_copy_from_user_task_dynptr", "bpf_copy_from_user_task_str_dynptr",
        "bpf_iter_dmabuf_destroy", "bpf_iter_dmabuf_new", "bpf_iter_dmabuf_next", "bpf_kfree_skb",
        "bpf_list_back", "bpf_list_front", "bpf_probe_read_kernel_dynptr",
        "bpf_probe_read_kernel_str_dynptr", "bpf_probe_read_user_dynptr",
        "bpf_probe_read_user_str_dynptr", "bpf_qdisc_bstats_update", "bpf_qdisc_init_prologue",
        "bpf_qdisc_reset_destroy_epilogue", "bpf_qdisc_skb_drop", "bpf_qdisc_watchdog_schedule",
        "bpf_rbtree_left", "bpf_rbtree_right", "bpf_rbtree_root", "bpf_skb_get_hash",
        "css_rstat_flush", "css_rstat_updated", "scx_bpf_select_cpu_and",
    ]),
    row(6, 17, &[
        "bpf_arena_reserve_pages", "bpf_cgroup_read_xattr", "bpf_dynptr_memset", "bpf_strchr",
        "bpf_strchrnul", "bpf_strcmp", "bpf_strcspn", "bpf_strlen", "bpf_strnchr", "bpf_strnlen",
        "bpf_strnstr", "bpf_strrchr", "bpf_strspn", "bpf_strstr",
    ]),
    row(6, 18, &[
        "bpf_dynptr_from_skb_meta", "bpf_strcasecmp", "bpf_task_work_schedule_resume_impl",
        "bpf_task_work_schedule_signal_impl", "bpf_xdp_pull_data", "scx_bpf_cpu_curr",
        "scx_bpf_locked_rq",
    ]),
    row(6, 19, &[
        "__scx_bpf_dsq_insert_vtime", "__scx_bpf_select_cpu_and", "bpf_dynptr_file_discard",
        "bpf_dynptr_from_file", "bpf_strcasestr", "bpf_strncasestr", "scx_bpf_dsq_insert___v2",
        "scx_bpf_dsq_peek", "scx_bpf_reenqueue_local___v2", "scx_bpf_task_set_dsq_vtime",
        "scx_bpf_task_set_slice",
    ]),
    row(7, 0, &[
        "bpf_get_mem_cgroup", "bpf_get_root_mem_cgroup", "bpf_mem_cgroup_flush_stats",
        "bpf_mem_cgroup_memory_events", "bpf_mem_cgroup_page_state", "bpf_mem_cgroup_usage",
        "bpf_mem_cgroup_vm_events", "bpf_put_mem_cgroup", "bpf_stream_print_stack",
        "bpf_stream_vprintk", "bpf_strncasecmp", "bpf_task_work_schedule_resume",
        "bpf_task_work_schedule_signal", "bpf_timer_cancel_async", "bpf_wq_set_callback",
    ]),
    row(7, 1, &[
        "bbr_cwnd_event_tx_start", "bpf_io_uring_get_region", "bpf_io_uring_submit_sqes",
        "bpf_list_push_back", "bpf_list_push_front", "bpf_obj_drop", "bpf_obj_new",
        "bpf_percpu_obj_drop", "bpf_percpu_obj_new", "bpf_rbtree_add", "bpf_refcount_acquire",
        "cubictcp_cwnd_event_tx_start", "dctcp_cwnd_event_tx_start",
        "scx_bpf_dsq_move_to_local___v2", "scx_bpf_dsq_reenq", "scx_bpf_sub_dispatch",
    ]),
    row(7, 2, &[
        "bpf_list_add", "bpf_list_del", "bpf_list_empty", "bpf_list_is_first", "bpf_list_is_last",
        "bpf_real_data_inode", "bpf_wakeup_sources_get_head", "bpf_wakeup_sources_read_lock",
        "bpf_wakeup_sources_read_unlock", "scx_bpf_cid_curr", "scx_bpf_cid_override",
        "scx_bpf_cid_to_cpu", "scx_bpf_cid_topo", "scx_bpf_cidperf_cap", "scx_bpf_cidperf_cur",
        "scx_bpf_cidperf_set", "scx_bpf_cpu_to_cid", "scx_bpf_kick_cid", "scx_bpf_nr_cids",
        "scx_bpf_nr_online_cids", "scx_bpf_task_cid", "scx_bpf_this_cid", "scx_bpf_tid_to_task",
    ]),
];

/// Kfuncs, their release, and the title of the commit that added them under this name. Their pages
/// state another release: 5.19, where kernels lack it up to 6.2; 6.11, where the commit is of
/// January 2024; and 6.17, where it has another name.
const CORRECTED: [(&str, Release, &str); 3] = [
    (
        "bpf_dynptr_is_rdonly",
        Release::new(6, 5),
        "bpf: Add bpf_dynptr_is_null and bpf_dynptr_is_rdonly",
    ),
    ("bpf_sk_assign_tcp_reqsk", Release::new(6, 9), "bpf: tcp: Support arbitrary SYN Cookie."),
    (
        "bpf_stream_vprintk_impl",
        Release::new(6, 18),
        "bpf: add _impl suffix for bpf_stream_vprintk() kfunc",
    ),
];

/// The release that introduced the kfunc; `None` if it is not documented.
pub fn kfunc(name: &str) -> Option<Release> {
    let corrected = CORRECTED.iter().find(|row| row.0 == name).map(|row| row.1);
    let documented = || DOCUMENTED.iter().find(|row| row.1.contains(&name)).map(|row| row.0);
    corrected.or_else(documented)
}

/// What states it.
pub fn kfunc_source(name: &str) -> Option<Source> {
    let corrected = CORRECTED.iter().find(|row| row.0 == name).map(|row| Source::Commit(row.2));
    corrected.or_else(|| kfunc(name).map(|_| Source::Page(format!("kfuncs/{name}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_ascend_and_each_name_is_in_one_row() {
        assert!(DOCUMENTED.is_sorted_by(|one, other| one.0 < other.0));
        let documented = DOCUMENTED.iter().flat_map(|row| row.1).copied();
        let mut all: Vec<&str> = documented.chain(CORRECTED.iter().map(|row| row.0)).collect();
        all.sort_unstable();
        assert!(all.is_sorted_by(|one, other| one < other), "twice");
        assert_eq!(kfunc("bpf_throw"), Some(Release::new(6, 7)));
        assert_eq!(kfunc("bpf_dynptr_is_rdonly"), Some(Release::new(6, 5)));
        assert_eq!(kfunc("bpf_loop"), None);
    }
}
