//! `HelperId`: the number of each helper, and its name.
//!
//! Kernel: `enum bpf_func_id` (include/uapi/linux/bpf.h), 6.18, read from its BTF.

use crate::abi_enum::abi_enum;

abi_enum! {
    /// A helper. The discriminant is the `imm` of its call insn; variants are named after
    /// `bpf_<name>`. 0 is a number (`bpf_unspec`), but not a helper.
    #[allow(missing_docs)] // one name a row: the variant says all
    pub enum HelperId {
        Unspec = 0, "bpf_unspec";
        MapLookupElem = 1, "bpf_map_lookup_elem";
        MapUpdateElem = 2, "bpf_map_update_elem";
        MapDeleteElem = 3, "bpf_map_delete_elem";
        ProbeRead = 4, "bpf_probe_read";
        KtimeGetNs = 5, "bpf_ktime_get_ns";
        TracePrintk = 6, "bpf_trace_printk";
        GetPrandomU32 = 7, "bpf_get_prandom_u32";
        GetSmpProcessorId = 8, "bpf_get_smp_processor_id";
        SkbStoreBytes = 9, "bpf_skb_store_bytes";
        L3CsumReplace = 10, "bpf_l3_csum_replace";
        L4CsumReplace = 11, "bpf_l4_csum_replace";
        TailCall = 12, "bpf_tail_call";
        CloneRedirect = 13, "bpf_clone_redirect";
        GetCurrentPidTgid = 14, "bpf_get_current_pid_tgid";
        GetCurrentUidGid = 15, "bpf_get_current_uid_gid";
        GetCurrentComm = 16, "bpf_get_current_comm";
        GetCgroupClassid = 17, "bpf_get_cgroup_classid";
        SkbVlanPush = 18, "bpf_skb_vlan_push";
        SkbVlanPop = 19, "bpf_skb_vlan_pop";
        SkbGetTunnelKey = 20, "bpf_skb_get_tunnel_key";
        SkbSetTunnelKey = 21, "bpf_skb_set_tunnel_key";
        PerfEventRead = 22, "bpf_perf_event_read";
        Redirect = 23, "bpf_redirect";
        GetRouteRealm = 24, "bpf_get_route_realm";
        PerfEventOutput = 25, "bpf_perf_event_output";
        SkbLoadBytes = 26, "bpf_skb_load_bytes";
        GetStackid = 27, "bpf_get_stackid";
        CsumDiff = 28, "bpf_csum_diff";
        SkbGetTunnelOpt = 29, "bpf_skb_get_tunnel_opt";
        SkbSetTunnelOpt = 30, "bpf_skb_set_tunnel_opt";
        SkbChangeProto = 31, "bpf_skb_change_proto";
        SkbChangeType = 32, "bpf_skb_change_type";
        SkbUnderCgroup = 33, "bpf_skb_under_cgroup";
        GetHashRecalc = 34, "bpf_get_hash_recalc";
        GetCurrentTask = 35, "bpf_get_current_task";
        ProbeWriteUser = 36, "bpf_probe_write_user";
        CurrentTaskUnderCgroup = 37, "bpf_current_task_under_cgroup";
        SkbChangeTail = 38, "bpf_skb_change_tail";
        SkbPullData = 39, "bpf_skb_pull_data";
        CsumUpdate = 40, "bpf_csum_update";
        SetHashInvalid = 41, "bpf_set_hash_invalid";
        GetNumaNodeId = 42, "bpf_get_numa_node_id";
        SkbChangeHead = 43, "bpf_skb_change_head";
        XdpAdjustHead = 44, "bpf_xdp_adjust_head";
        ProbeReadStr = 45, "bpf_probe_read_str";
        GetSocketCookie = 46, "bpf_get_socket_cookie";
        GetSocketUid = 47, "bpf_get_socket_uid";
        SetHash = 48, "bpf_set_hash";
        Setsockopt = 49, "bpf_setsockopt";
        SkbAdjustRoom = 50, "bpf_skb_adjust_room";
        RedirectMap = 51, "bpf_redirect_map";
        SkRedirectMap = 52, "bpf_sk_redirect_map";
        SockMapUpdate = 53, "bpf_sock_map_update";
        XdpAdjustMeta = 54, "bpf_xdp_adjust_meta";
        PerfEventReadValue = 55, "bpf_perf_event_read_value";
        PerfProgReadValue = 56, "bpf_perf_prog_read_value";
        Getsockopt = 57, "bpf_getsockopt";
        OverrideReturn = 58, "bpf_override_return";
        SockOpsCbFlagsSet = 59, "bpf_sock_ops_cb_flags_set";
        MsgRedirectMap = 60, "bpf_msg_redirect_map";
        MsgApplyBytes = 61, "bpf_msg_apply_bytes";
        MsgCorkBytes = 62, "bpf_msg_cork_bytes";
        MsgPullData = 63, "bpf_msg_pull_data";
        Bind = 64, "bpf_bind";
        XdpAdjustTail = 65, "bpf_xdp_adjust_tail";
        SkbGetXfrmState = 66, "bpf_skb_get_xfrm_state";
        GetStack = 67, "bpf_get_stack";
        SkbLoadBytesRelative = 68, "bpf_skb_load_bytes_relative";
        FibLookup = 69, "bpf_fib_lookup";
        SockHashUpdate = 70, "bpf_sock_hash_update";
        MsgRedirectHash = 71, "bpf_msg_redirect_hash";
        SkRedirectHash = 72, "bpf_sk_redirect_hash";
        LwtPushEncap = 73, "bpf_lwt_push_encap";
        LwtSeg6StoreBytes = 74, "bpf_lwt_seg6_store_bytes";
        LwtSeg6AdjustSrh = 75, "bpf_lwt_seg6_adjust_srh";
        LwtSeg6Action = 76, "bpf_lwt_seg6_action";
        RcRepeat = 77, "bpf_rc_repeat";
        RcKeydown = 78, "bpf_rc_keydown";
        SkbCgroupId = 79, "bpf_skb_cgroup_id";
        GetCurrentCgroupId = 80, "bpf_get_current_cgroup_id";
        GetLocalStorage = 81, "bpf_get_local_storage";
        SkSelectReuseport = 82, "bpf_sk_select_reuseport";
        SkbAncestorCgroupId = 83, "bpf_skb_ancestor_cgroup_id";
        SkLookupTcp = 84, "bpf_sk_lookup_tcp";
        SkLookupUdp = 85, "bpf_sk_lookup_udp";
        SkRelease = 86, "bpf_sk_release";
        MapPushElem = 87, "bpf_map_push_elem";
        MapPopElem = 88, "bpf_map_pop_elem";
        MapPeekElem = 89, "bpf_map_peek_elem";
        MsgPushData = 90, "bpf_msg_push_data";
        MsgPopData = 91, "bpf_msg_pop_data";
        RcPointerRel = 92, "bpf_rc_pointer_rel";
        SpinLock = 93, "bpf_spin_lock";
        SpinUnlock = 94, "bpf_spin_unlock";
        SkFullsock = 95, "bpf_sk_fullsock";
        TcpSock = 96, "bpf_tcp_sock";
        SkbEcnSetCe = 97, "bpf_skb_ecn_set_ce";
        GetListenerSock = 98, "bpf_get_listener_sock";
        SkcLookupTcp = 99, "bpf_skc_lookup_tcp";
        TcpCheckSyncookie = 100, "bpf_tcp_check_syncookie";
        SysctlGetName = 101, "bpf_sysctl_get_name";
        SysctlGetCurrentValue = 102, "bpf_sysctl_get_current_value";
        SysctlGetNewValue = 103, "bpf_sysctl_get_new_value";
        SysctlSetNewValue = 104, "bpf_sysctl_set_new_value";
        Strtol = 105, "bpf_strtol";
        Strtoul = 106, "bpf_strtoul";
        SkStorageGet = 107, "bpf_sk_storage_get";
        SkStorageDelete = 108, "bpf_sk_storage_delete";
        SendSignal = 109, "bpf_send_signal";
        TcpGenSyncookie = 110, "bpf_tcp_gen_syncookie";
        SkbOutput = 111, "bpf_skb_output";
        ProbeReadUser = 112, "bpf_probe_read_user";
        ProbeReadKernel = 113, "bpf_probe_read_kernel";
        ProbeReadUserStr = 114, "bpf_probe_read_user_str";
        ProbeReadKernelStr = 115, "bpf_probe_read_kernel_str";
        TcpSendAck = 116, "bpf_tcp_send_ack";
        SendSignalThread = 117, "bpf_send_signal_thread";
        Jiffies64 = 118, "bpf_jiffies64";
        ReadBranchRecords = 119, "bpf_read_branch_records";
        GetNsCurrentPidTgid = 120, "bpf_get_ns_current_pid_tgid";
        XdpOutput = 121, "bpf_xdp_output";
        GetNetnsCookie = 122, "bpf_get_netns_cookie";
        GetCurrentAncestorCgroupId = 123, "bpf_get_current_ancestor_cgroup_id";
        SkAssign = 124, "bpf_sk_assign";
        KtimeGetBootNs = 125, "bpf_ktime_get_boot_ns";
        SeqPrintf = 126, "bpf_seq_printf";
        SeqWrite = 127, "bpf_seq_write";
        SkCgroupId = 128, "bpf_sk_cgroup_id";
        SkAncestorCgroupId = 129, "bpf_sk_ancestor_cgroup_id";
        RingbufOutput = 130, "bpf_ringbuf_output";
        RingbufReserve = 131, "bpf_ringbuf_reserve";
        RingbufSubmit = 132, "bpf_ringbuf_submit";
        RingbufDiscard = 133, "bpf_ringbuf_discard";
        RingbufQuery = 134, "bpf_ringbuf_query";
        CsumLevel = 135, "bpf_csum_level";
        SkcToTcp6Sock = 136, "bpf_skc_to_tcp6_sock";
        SkcToTcpSock = 137, "bpf_skc_to_tcp_sock";
        SkcToTcpTimewaitSock = 138, "bpf_skc_to_tcp_timewait_sock";
        SkcToTcpRequestSock = 139, "bpf_skc_to_tcp_request_sock";
        SkcToUdp6Sock = 140, "bpf_skc_to_udp6_sock";
        GetTaskStack = 141, "bpf_get_task_stack";
        LoadHdrOpt = 142, "bpf_load_hdr_opt";
        StoreHdrOpt = 143, "bpf_store_hdr_opt";
        ReserveHdrOpt = 144, "bpf_reserve_hdr_opt";
        InodeStorageGet = 145, "bpf_inode_storage_get";
        InodeStorageDelete = 146, "bpf_inode_storage_delete";
        DPath = 147, "bpf_d_path";
        CopyFromUser = 148, "bpf_copy_from_user";
        SnprintfBtf = 149, "bpf_snprintf_btf";
        SeqPrintfBtf = 150, "bpf_seq_printf_btf";
        SkbCgroupClassid = 151, "bpf_skb_cgroup_classid";
        RedirectNeigh = 152, "bpf_redirect_neigh";
        PerCpuPtr = 153, "bpf_per_cpu_ptr";
        ThisCpuPtr = 154, "bpf_this_cpu_ptr";
        RedirectPeer = 155, "bpf_redirect_peer";
        TaskStorageGet = 156, "bpf_task_storage_get";
        TaskStorageDelete = 157, "bpf_task_storage_delete";
        GetCurrentTaskBtf = 158, "bpf_get_current_task_btf";
        BprmOptsSet = 159, "bpf_bprm_opts_set";
        KtimeGetCoarseNs = 160, "bpf_ktime_get_coarse_ns";
        ImaInodeHash = 161, "bpf_ima_inode_hash";
        SockFromFile = 162, "bpf_sock_from_file";
        CheckMtu = 163, "bpf_check_mtu";
        ForEachMapElem = 164, "bpf_for_each_map_elem";
        Snprintf = 165, "bpf_snprintf";
        SysBpf = 166, "bpf_sys_bpf";
        BtfFindByNameKind = 167, "bpf_btf_find_by_name_kind";
        SysClose = 168, "bpf_sys_close";
        TimerInit = 169, "bpf_timer_init";
        TimerSetCallback = 170, "bpf_timer_set_callback";
        TimerStart = 171, "bpf_timer_start";
        TimerCancel = 172, "bpf_timer_cancel";
        GetFuncIp = 173, "bpf_get_func_ip";
        GetAttachCookie = 174, "bpf_get_attach_cookie";
        TaskPtRegs = 175, "bpf_task_pt_regs";
        GetBranchSnapshot = 176, "bpf_get_branch_snapshot";
        TraceVprintk = 177, "bpf_trace_vprintk";
        SkcToUnixSock = 178, "bpf_skc_to_unix_sock";
        KallsymsLookupName = 179, "bpf_kallsyms_lookup_name";
        FindVma = 180, "bpf_find_vma";
        Loop = 181, "bpf_loop";
        Strncmp = 182, "bpf_strncmp";
        GetFuncArg = 183, "bpf_get_func_arg";
        GetFuncRet = 184, "bpf_get_func_ret";
        GetFuncArgCnt = 185, "bpf_get_func_arg_cnt";
        GetRetval = 186, "bpf_get_retval";
        SetRetval = 187, "bpf_set_retval";
        XdpGetBuffLen = 188, "bpf_xdp_get_buff_len";
        XdpLoadBytes = 189, "bpf_xdp_load_bytes";
        XdpStoreBytes = 190, "bpf_xdp_store_bytes";
        CopyFromUserTask = 191, "bpf_copy_from_user_task";
        SkbSetTstamp = 192, "bpf_skb_set_tstamp";
        ImaFileHash = 193, "bpf_ima_file_hash";
        KptrXchg = 194, "bpf_kptr_xchg";
        MapLookupPercpuElem = 195, "bpf_map_lookup_percpu_elem";
        SkcToMptcpSock = 196, "bpf_skc_to_mptcp_sock";
        DynptrFromMem = 197, "bpf_dynptr_from_mem";
        RingbufReserveDynptr = 198, "bpf_ringbuf_reserve_dynptr";
        RingbufSubmitDynptr = 199, "bpf_ringbuf_submit_dynptr";
        RingbufDiscardDynptr = 200, "bpf_ringbuf_discard_dynptr";
        DynptrRead = 201, "bpf_dynptr_read";
        DynptrWrite = 202, "bpf_dynptr_write";
        DynptrData = 203, "bpf_dynptr_data";
        TcpRawGenSyncookieIpv4 = 204, "bpf_tcp_raw_gen_syncookie_ipv4";
        TcpRawGenSyncookieIpv6 = 205, "bpf_tcp_raw_gen_syncookie_ipv6";
        TcpRawCheckSyncookieIpv4 = 206, "bpf_tcp_raw_check_syncookie_ipv4";
        TcpRawCheckSyncookieIpv6 = 207, "bpf_tcp_raw_check_syncookie_ipv6";
        KtimeGetTaiNs = 208, "bpf_ktime_get_tai_ns";
        UserRingbufDrain = 209, "bpf_user_ringbuf_drain";
        CgrpStorageGet = 210, "bpf_cgrp_storage_get";
        CgrpStorageDelete = 211, "bpf_cgrp_storage_delete";
    }
}

impl HelperId {
    /// The helper with this name, with or without `bpf_`.
    pub fn from_name(name: &str) -> Option<HelperId> {
        let bare = name.strip_prefix("bpf_").unwrap_or(name);
        HelperId::all().find(|helper| helper.name().strip_prefix("bpf_") == Some(bare))
    }
}

/// The name of a helper number as the log prints it: `bpf_map_lookup_elem`, or `unknown`.
///
/// Kernel: `func_id_name`.
pub fn func_id_name(number: u32) -> &'static str {
    HelperId::from_number(number).map_or("unknown", HelperId::name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_have_their_prefix() {
        for helper in HelperId::all() {
            assert_eq!(HelperId::from_name(helper.name()), Some(helper));
            assert!(helper.name().starts_with("bpf_"));
        }
        assert_eq!(func_id_name(1), "bpf_map_lookup_elem");
        assert_eq!(func_id_name(211), "bpf_cgrp_storage_delete");
        assert_eq!(func_id_name(212), "unknown");
    }
}
