//! The table of helpers; documentation and linkage derive from it.
//!
//! `plain` helpers only use their arguments, `calling` ones call functions of the program. Each is
//! entered through `entry::guarded`, which costs nothing while nothing panics.

#![allow(unsafe_code)]

use super::call::Call;
use super::entry::{helpers, kfuncs, own_helpers};
use super::{Helper, Kfunc};
use super::{
    csum, dynptr, iter_num, iterate, map, packet, packet_dynptr, printk, probe, redirect, ring,
    skb, string, sync, system, timer,
};
use skep_uapi::helper::HelperId as Id;
use skep_verifier::OwnHelper;

/// Every helper that there is, in the order of the ABI.
#[rustfmt::skip]
pub(crate) static HELPERS: &[Helper] = helpers![
    MapLookupElem: plain map::lookup_elem,
    MapUpdateElem: plain map::update_elem,
    MapDeleteElem: plain map::delete_elem,
    ProbeRead: plain probe::read,
    KtimeGetNs: plain system::ktime_get_ns,
    TracePrintk: plain printk::trace_printk,
    GetPrandomU32: plain system::get_prandom_u32,
    GetSmpProcessorId: plain system::get_smp_processor_id,
    SkbStoreBytes: plain packet::skb_store_bytes,
    L3CsumReplace: plain csum::l3_csum_replace,
    L4CsumReplace: plain csum::l4_csum_replace,
    CloneRedirect: plain redirect::clone_redirect,
    GetCurrentPidTgid: plain system::get_current_pid_tgid,
    GetCurrentUidGid: plain system::get_current_uid_gid,
    GetCurrentComm: plain system::get_current_comm,
    SkbVlanPush: plain skb::vlan_push,
    SkbVlanPop: plain skb::vlan_pop,
    Redirect: plain redirect::redirect,
    PerfEventOutput: plain ring::perf_event_output,
    SkbLoadBytes: plain packet::skb_load_bytes,
    GetStackid: plain system::get_stackid,
    CsumDiff: plain csum::csum_diff,
    SkbChangeType: plain skb::change_type,
    GetHashRecalc: plain skb::get_hash_recalc,
    SkbChangeTail: plain skb::change_tail,
    SkbPullData: plain skb::pull_data,
    CsumUpdate: plain csum::csum_update,
    SetHashInvalid: plain skb::set_hash_invalid,
    GetNumaNodeId: plain system::get_numa_node_id,
    SkbChangeHead: plain skb::change_head,
    XdpAdjustHead: plain packet::xdp_adjust_head,
    ProbeReadStr: plain probe::read_str,
    SetHash: plain skb::set_hash,
    SkbAdjustRoom: plain skb::adjust_room,
    RedirectMap: plain redirect::redirect_map,
    XdpAdjustMeta: plain packet::xdp_adjust_meta,
    XdpAdjustTail: plain packet::xdp_adjust_tail,
    GetStack: plain system::get_stack,
    SkbLoadBytesRelative: plain packet::skb_load_bytes_relative,
    MapPushElem: plain map::push_elem,
    MapPopElem: plain map::pop_elem,
    MapPeekElem: plain map::peek_elem,
    SpinLock: plain sync::spin_lock,
    SpinUnlock: plain sync::spin_unlock,
    Strtol: plain string::strtol,
    Strtoul: plain string::strtoul,
    ProbeReadUser: plain probe::read_user,
    ProbeReadKernel: plain probe::read_kernel,
    ProbeReadUserStr: plain probe::read_user_str,
    ProbeReadKernelStr: plain probe::read_kernel_str,
    Jiffies64: plain system::jiffies64,
    XdpOutput: plain ring::perf_event_output,
    KtimeGetBootNs: plain system::ktime_get_boot_ns,
    RingbufOutput: plain ring::ringbuf_output,
    RingbufReserve: plain ring::ringbuf_reserve,
    RingbufSubmit: plain ring::ringbuf_submit,
    RingbufDiscard: plain ring::ringbuf_discard,
    RingbufQuery: plain ring::ringbuf_query,
    RedirectNeigh: plain redirect::redirect_neigh,
    RedirectPeer: plain redirect::redirect_peer,
    KtimeGetCoarseNs: plain system::ktime_get_coarse_ns,
    ForEachMapElem: calling iterate::for_each_map_elem,
    Snprintf: plain printk::snprintf,
    TimerInit: plain timer::init,
    TimerSetCallback: plain timer::set_callback,
    TimerStart: plain timer::start,
    TimerCancel: plain timer::cancel,
    TraceVprintk: plain printk::trace_vprintk,
    Loop: calling iterate::run_loop,
    Strncmp: plain string::strncmp,
    XdpGetBuffLen: plain packet::xdp_get_buff_len,
    XdpLoadBytes: plain packet::xdp_load_bytes,
    XdpStoreBytes: plain packet::xdp_store_bytes,
    MapLookupPercpuElem: plain map::lookup_percpu_elem,
    DynptrFromMem: plain dynptr::from_mem,
    RingbufReserveDynptr: plain dynptr::ringbuf_reserve,
    RingbufSubmitDynptr: plain dynptr::ringbuf_submit,
    RingbufDiscardDynptr: plain dynptr::ringbuf_discard,
    DynptrRead: plain dynptr::read,
    DynptrWrite: plain dynptr::write,
    DynptrData: plain dynptr::data,
    KtimeGetTaiNs: plain system::ktime_get_tai_ns,
];

/// Every kfunc that there is, by name.
#[rustfmt::skip]
pub(crate) static KFUNCS: &[Kfunc] = kfuncs![
    bpf_dynptr_adjust: plain dynptr::adjust,
    bpf_dynptr_clone: plain dynptr::clone,
    bpf_dynptr_from_skb: plain packet_dynptr::from_skb,
    bpf_dynptr_from_xdp: plain packet_dynptr::from_xdp,
    bpf_dynptr_is_null: plain dynptr::is_null,
    bpf_dynptr_is_rdonly: plain dynptr::is_rdonly,
    bpf_dynptr_size: plain dynptr::size,
    bpf_dynptr_slice: plain dynptr::slice,
    bpf_dynptr_slice_rdwr: plain dynptr::slice_rdwr,
    bpf_iter_num_destroy: plain iter_num::destroy,
    bpf_iter_num_new: plain iter_num::new,
    bpf_iter_num_next: plain iter_num::next,
    bpf_local_irq_restore: plain sync::nothing,
    bpf_local_irq_save: plain sync::irq_save,
    bpf_preempt_disable: plain sync::nothing,
    bpf_preempt_enable: plain sync::nothing,
    bpf_rcu_read_lock: plain sync::nothing,
    bpf_rcu_read_unlock: plain sync::nothing,
];

/// Calls that only rewrites make.
pub(crate) static OWN_HELPERS: &[Helper] = own_helpers![
    SkbLoad8: plain packet::load_8,
    SkbLoad16: plain packet::load_16,
    SkbLoad32: plain packet::load_32,
];
