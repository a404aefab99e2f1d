//! The number of insns that rewrites add to accesses to all other contexts.
//!
//! Columns: name; for a load of the whole field: insns; size in bytes of the field in the kernel (a
//! narrower load needs a mask, or a shift and a mask); additional insns if the context register is
//! overwritten; additional insns for sign extension; for a store of a register; for a store of an
//! immediate. `X`: not known, or refused. Generated from the lengths of programs with each access
//! on Linux 6.18.44; `cargo test -p skep-testkit --test it ctx_growth` compares them again.

use crate::fixup::ctx_growth_row::{Row, X, row};

#[rustfmt::skip]
pub(super) static XDP_DEVMAP: [Row; 6] = [
    row("data", 0, 0, 0, 0, X, X),
    row("data_end", 0, 0, 0, 0, X, X),
    row("data_meta", 0, 0, 0, 0, X, X),
    row("ingress_ifindex", 2, 0, 0, 1, X, X),
    row("rx_queue_index", 1, 0, 0, 1, X, X),
    row("egress_ifindex", 2, 0, 0, 1, X, X),
];

#[rustfmt::skip]
pub(super) static XDP: [Row; 5] = [
    row("data", 0, 0, 0, 0, X, X),
    row("data_end", 0, 0, 0, 0, X, X),
    row("data_meta", 0, 0, 0, 0, X, X),
    row("ingress_ifindex", 2, 0, 0, 1, X, X),
    row("rx_queue_index", 1, 0, 0, 1, X, X),
];

#[rustfmt::skip]
pub(super) static PERF_EVENT: [Row; 23] = [
    row("regs.r15", 1, 0, 0, 0, X, X),
    row("regs.r14", 1, 0, 0, 0, X, X),
    row("regs.r13", 1, 0, 0, 0, X, X),
    row("regs.r12", 1, 0, 0, 0, X, X),
    row("regs.bp", 1, 0, 0, 0, X, X),
    row("regs.bx", 1, 0, 0, 0, X, X),
    row("regs.r11", 1, 0, 0, 0, X, X),
    row("regs.r10", 1, 0, 0, 0, X, X),
    row("regs.r9", 1, 0, 0, 0, X, X),
    row("regs.r8", 1, 0, 0, 0, X, X),
    row("regs.ax", 1, 0, 0, 0, X, X),
    row("regs.cx", 1, 0, 0, 0, X, X),
    row("regs.dx", 1, 0, 0, 0, X, X),
    row("regs.si", 1, 0, 0, 0, X, X),
    row("regs.di", 1, 0, 0, 0, X, X),
    row("regs.orig_ax", 1, 0, 0, 0, X, X),
    row("regs.ip", 1, 0, 0, 0, X, X),
    row("regs.cs", 1, 0, 0, 0, X, X),
    row("regs.flags", 1, 0, 0, 0, X, X),
    row("regs.sp", 1, 0, 0, 0, X, X),
    row("regs.ss", 1, 0, 0, 0, X, X),
    row("sample_period", 1, 8, 0, 1, X, X),
    row("addr", 1, 8, 0, 1, X, X),
];

#[rustfmt::skip]
pub(super) static CGROUP_SOCK: [Row; 12] = [
    row("bound_dev_if", 0, 0, 0, 1, 0, 0),
    row("family", 0, 2, 0, 1, X, X),
    row("type", 0, 2, 0, 1, X, X),
    row("protocol", 0, 2, 0, 1, X, X),
    row("mark", 0, 0, 0, 1, 0, 0),
    row("priority", 0, 0, 0, 1, 0, 0),
    row("dst_port", 0, 2, 0, 1, X, X),
    row("dst_port", 0, 2, 0, 1, X, X),
    row("dst_ip4", 0, 4, 0, 1, X, X),
    row("dst_ip6", 0, 4, 0, 1, X, X),
    row("state", 0, 0, 0, 1, X, X),
    row("rx_queue_mapping", 2, X, 0, 1, X, X),
];

#[rustfmt::skip]
pub(super) static CGROUP_SOCK_POST_BIND4: [Row; 11] = [
    row("family", 0, 2, 0, 1, X, X),
    row("type", 0, 2, 0, 1, X, X),
    row("protocol", 0, 2, 0, 1, X, X),
    row("src_ip4", 0, 4, 0, 1, X, X),
    row("src_port", 0, 2, 0, 1, X, X),
    row("dst_port", 0, 2, 0, 1, X, X),
    row("dst_port", 0, 2, 0, 1, X, X),
    row("dst_ip4", 0, 4, 0, 1, X, X),
    row("dst_ip6", 0, 4, 0, 1, X, X),
    row("state", 0, 0, 0, 1, X, X),
    row("rx_queue_mapping", 2, X, 0, 1, X, X),
];

#[rustfmt::skip]
pub(super) static CGROUP_SOCK_POST_BIND6: [Row; 11] = [
    row("family", 0, 2, 0, 1, X, X),
    row("type", 0, 2, 0, 1, X, X),
    row("protocol", 0, 2, 0, 1, X, X),
    row("src_ip6", 0, 4, 0, 1, X, X),
    row("src_port", 0, 2, 0, 1, X, X),
    row("dst_port", 0, 2, 0, 1, X, X),
    row("dst_port", 0, 2, 0, 1, X, X),
    row("dst_ip4", 0, 4, 0, 1, X, X),
    row("dst_ip6", 0, 4, 0, 1, X, X),
    row("state", 0, 0, 0, 1, X, X),
    row("rx_queue_mapping", 2, X, 0, 1, X, X),
];

#[rustfmt::skip]
pub(super) static SOCK_OPS: [Row; 42] = [
    row("op", 0, 0, 0, 1, X, X),
    row("args", 0, 0, 0, 1, 0, 0),
    row("args", 0, 0, 0, 1, 0, 0),
    row("family", 1, 0, 0, 1, X, X),
    row("remote_ip4", 1, 0, 0, 1, X, X),
    row("local_ip4", 1, 0, 0, 1, X, X),
    row("remote_ip6", 1, 0, 0, 1, X, X),
    row("local_ip6", 1, 0, 0, 1, X, X),
    row("remote_port", 2, 0, 0, 1, X, X),
    row("local_port", 1, 0, 0, 1, X, X),
    row("is_fullsock", 0, 0, 0, 1, X, X),
    row("snd_cwnd", 3, 0, 5, 1, X, X),
    row("srtt_us", 3, 0, 5, 1, X, X),
    row("bpf_sock_ops_cb_flags", 3, 0, 5, 1, X, X),
    row("state", 1, 0, 0, 1, X, X),
    row("rtt_min", 1, 0, 0, 1, X, X),
    row("snd_ssthresh", 3, 0, 5, 1, X, X),
    row("rcv_nxt", 3, 0, 5, 1, X, X),
    row("snd_nxt", 3, 0, 5, 1, X, X),
    row("snd_una", 3, 0, 5, 1, X, X),
    row("mss_cache", 3, 0, 5, 1, X, X),
    row("ecn_flags", 3, 0, 5, 1, X, X),
    row("rate_delivered", 3, 0, 5, 1, X, X),
    row("rate_interval_us", 3, 0, 5, 1, X, X),
    row("packets_out", 3, 0, 5, 1, X, X),
    row("retrans_out", 3, 0, 5, 1, X, X),
    row("total_retrans", 3, 0, 5, 1, X, X),
    row("segs_in", 3, 0, 5, 1, X, X),
    row("data_segs_in", 3, 0, 5, 1, X, X),
    row("segs_out", 3, 0, 5, 1, X, X),
    row("data_segs_out", 3, 0, 5, 1, X, X),
    row("lost_out", 3, 0, 5, 1, X, X),
    row("sacked_out", 3, 0, 5, 1, X, X),
    row("sk_txhash", 3, 0, 5, 1, 5, 5),
    row("bytes_received", 3, 0, 5, 0, X, X),
    row("bytes_acked", 3, 0, 5, 0, X, X),
    row("sk", 2, 0, 5, 0, X, X),
    row("skb_data", 2, 0, 0, 0, X, X),
    row("skb_data_end", 0, 0, 0, 0, X, X),
    row("skb_len", 2, 0, 0, 1, X, X),
    row("skb_tcp_flags", 2, 2, 0, 1, X, X),
    row("skb_hwtstamp", 5, 0, 0, 0, X, X),
];

#[rustfmt::skip]
pub(super) static SK_MSG: [Row; 11] = [
    row("data", 0, 0, 0, 0, X, X),
    row("data_end", 0, 0, 0, 0, X, X),
    row("family", 1, 0, 0, 1, X, X),
    row("remote_ip4", 1, 0, 0, 1, X, X),
    row("local_ip4", 1, 0, 0, 1, X, X),
    row("remote_ip6", 1, 0, 0, 1, X, X),
    row("local_ip6", 1, 0, 0, 1, X, X),
    row("remote_port", 2, 0, 0, 1, X, X),
    row("local_port", 1, 0, 0, 1, X, X),
    row("size", 0, 0, 0, 1, X, X),
    row("sk", 0, 0, 0, 0, X, X),
];

#[rustfmt::skip]
pub(super) static SOCK_ADDR_INET4: [Row; 7] = [
    row("user_family", 1, 0, 0, 1, X, X),
    row("user_ip4", 1, 4, 0, 1, 3, 3),
    row("user_port", 1, 2, 0, 1, 3, 3),
    row("family", 1, 0, 0, 1, X, X),
    row("type", 1, 0, 0, 1, X, X),
    row("protocol", 1, 0, 0, 1, X, X),
    row("sk", 0, 0, 0, 0, X, X),
];

#[rustfmt::skip]
pub(super) static SOCK_ADDR_INET6: [Row; 7] = [
    row("user_family", 1, 0, 0, 1, X, X),
    row("user_ip6", 1, 4, 0, 1, 3, 3),
    row("user_port", 1, 2, 0, 1, 3, 3),
    row("family", 1, 0, 0, 1, X, X),
    row("type", 1, 0, 0, 1, X, X),
    row("protocol", 1, 0, 0, 1, X, X),
    row("sk", 0, 0, 0, 0, X, X),
];

#[rustfmt::skip]
pub(super) static SOCK_ADDR_SENDMSG4: [Row; 8] = [
    row("user_family", 1, 0, 0, 1, X, X),
    row("user_ip4", 1, 4, 0, 1, 3, 3),
    row("user_port", 1, 2, 0, 1, 3, 3),
    row("family", 1, 0, 0, 1, X, X),
    row("type", 1, 0, 0, 1, X, X),
    row("protocol", 1, 0, 0, 1, X, X),
    row("msg_src_ip4", 1, 4, 0, 1, 3, 3),
    row("sk", 0, 0, 0, 0, X, X),
];

#[rustfmt::skip]
pub(super) static SOCK_ADDR_SENDMSG6: [Row; 8] = [
    row("user_family", 1, 0, 0, 1, X, X),
    row("user_ip6", 1, 4, 0, 1, 3, 3),
    row("user_port", 1, 2, 0, 1, 3, 3),
    row("family", 1, 0, 0, 1, X, X),
    row("type", 1, 0, 0, 1, X, X),
    row("protocol", 1, 0, 0, 1, X, X),
    row("msg_src_ip6", 1, 4, 0, 1, 3, 3),
    row("sk", 0, 0, 0, 0, X, X),
];

#[rustfmt::skip]
pub(super) static SOCK_ADDR_UNIX: [Row; 6] = [
    row("user_family", 1, 0, 0, 1, X, X),
    row("user_port", 1, 2, 0, 1, 3, 3),
    row("family", 1, 0, 0, 1, X, X),
    row("type", 1, 0, 0, 1, X, X),
    row("protocol", 1, 0, 0, 1, X, X),
    row("sk", 0, 0, 0, 0, X, X),
];

#[rustfmt::skip]
pub(super) static SK_REUSEPORT: [Row; 9] = [
    row("data", 1, 0, 0, 0, X, X),
    row("data_end", 0, 0, 0, 0, X, X),
    row("len", 1, 4, 0, 1, X, X),
    row("eth_protocol", 1, 0, 0, 1, X, X),
    row("ip_protocol", 1, 2, 0, 1, X, X),
    row("bind_inany", 0, 0, 0, 1, X, X),
    row("hash", 0, 0, 0, 1, X, X),
    row("sk", 0, 0, 0, 0, X, X),
    row("migrating_sk", 0, 0, 0, 0, X, X),
];

#[rustfmt::skip]
pub(super) static CGROUP_SYSCTL: [Row; 2] = [
    row("write", 0, 4, 0, 1, X, X),
    row("file_pos", 1, 4, 0, 1, 3, 3),
];

#[rustfmt::skip]
pub(super) static CGROUP_GETSOCKOPT: [Row; 7] = [
    row("sk", 0, 0, 0, 0, X, X),
    row("optval", 0, 0, 0, 0, X, X),
    row("optval_end", 0, 0, 0, 0, X, X),
    row("level", 0, 0, 0, 1, X, X),
    row("optname", 0, 0, 0, 1, X, X),
    row("optlen", 0, 0, 0, 1, 0, 0),
    row("retval", 2, 0, 0, 1, 4, 4),
];

#[rustfmt::skip]
pub(super) static CGROUP_SETSOCKOPT: [Row; 6] = [
    row("sk", 0, 0, 0, 0, X, X),
    row("optval", 0, 0, 0, 0, X, X),
    row("optval_end", 0, 0, 0, 0, X, X),
    row("level", 0, 0, 0, 1, 0, 0),
    row("optname", 0, 0, 0, 1, 0, 0),
    row("optlen", 0, 0, 0, 1, 0, 0),
];

#[rustfmt::skip]
pub(super) static SK_LOOKUP: [Row; 14] = [
    row("sk", 0, 0, 0, 0, X, X),
    row("family", 0, 2, 0, 1, X, X),
    row("protocol", 0, 2, 0, 1, X, X),
    row("remote_ip4", 0, 4, 0, 1, X, X),
    row("remote_ip6", 2, 4, 0, 1, X, X),
    row("remote_port", 0, 2, 0, 1, X, X),
    row("remote_port", 0, 0, 0, 1, X, X),
    row("remote_port", 1, 0, 0, 1, X, X),
    row("remote_port", 0, 2, 0, 1, X, X),
    row("remote_port", 2, 0, 0, 1, X, X),
    row("local_ip4", 0, 4, 0, 1, X, X),
    row("local_ip6", 2, 4, 0, 1, X, X),
    row("local_port", 0, 2, 0, 1, X, X),
    row("ingress_ifindex", 0, 4, 0, 1, X, X),
];
