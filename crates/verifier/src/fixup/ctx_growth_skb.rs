//! The number of insns that rewrites add to accesses to contexts of `struct __sk_buff`.
//!
//! Columns: name; for a load of the whole field: insns; size in bytes of the field in the kernel (a
//! narrower load needs a mask, or a shift and a mask); additional insns if the context register is
//! overwritten; additional insns for sign extension; for a store of a register; for a store of an
//! immediate. `X`: not known, or refused. Generated from the lengths of programs with each access
//! on Linux 6.18.44; `cargo test -p skep-testkit --test it ctx_growth` compares them again.

use crate::fixup::ctx_growth_row::{Row, X, row};

#[rustfmt::skip]
pub(super) static SOCKET_FILTER: [Row; 18] = [
    row("len", 0, 4, 0, 1, X, X),
    row("pkt_type", 1, 0, 0, 1, X, X),
    row("mark", 0, 4, 0, 1, X, X),
    row("queue_mapping", 0, 2, 0, 1, X, X),
    row("protocol", 0, 2, 0, 1, X, X),
    row("vlan_present", 2, 4, 0, 1, X, X),
    row("vlan_tci", 0, 2, 0, 1, X, X),
    row("vlan_proto", 0, 2, 0, 1, X, X),
    row("priority", 0, 4, 0, 1, X, X),
    row("ingress_ifindex", 0, 4, 0, 1, X, X),
    row("ifindex", 2, 4, 0, 1, X, X),
    row("tc_index", 0, 2, 0, 1, X, X),
    row("cb", 0, 0, 0, 1, 0, 0),
    row("hash", 0, 4, 0, 1, X, X),
    row("napi_id", 2, 4, 0, 1, X, X),
    row("gso_segs", 3, 2, 0, 1, X, X),
    row("sk", 0, 0, 0, 0, X, X),
    row("gso_size", 3, 2, 0, 1, X, X),
];

#[rustfmt::skip]
pub(super) static SCHED: [Row; 26] = [
    row("len", 0, 4, 0, 1, X, X),
    row("pkt_type", 1, 0, 0, 1, X, X),
    row("mark", 0, 4, 0, 1, 0, 0),
    row("queue_mapping", 0, 2, 0, 1, 1, 0),
    row("protocol", 0, 2, 0, 1, X, X),
    row("vlan_present", 2, 4, 0, 1, X, X),
    row("vlan_tci", 0, 2, 0, 1, X, X),
    row("vlan_proto", 0, 2, 0, 1, X, X),
    row("priority", 0, 4, 0, 1, 0, 0),
    row("ingress_ifindex", 0, 4, 0, 1, X, X),
    row("ifindex", 1, 4, 0, 1, X, X),
    row("tc_index", 0, 2, 0, 1, 0, 0),
    row("cb", 0, 0, 0, 1, 0, 0),
    row("hash", 0, 4, 0, 1, X, X),
    row("tc_classid", 0, 2, 0, 1, 0, 0),
    row("data", 0, 0, 0, 0, X, X),
    row("data_end", 0, 0, 0, 0, X, X),
    row("napi_id", 2, 4, 0, 1, X, X),
    row("data_meta", 0, 0, 0, 0, X, X),
    row("tstamp", X, X, X, X, X, X),
    row("wire_len", 0, 4, 0, 1, X, X),
    row("gso_segs", 3, 2, 0, 1, X, X),
    row("sk", 0, 0, 0, 0, X, X),
    row("gso_size", 3, 2, 0, 1, X, X),
    row("tstamp_type", 1, 0, 0, 1, X, X),
    row("hwtstamp", 3, 0, 0, 0, X, X),
];

#[rustfmt::skip]
pub(super) static CGROUP_SKB: [Row; 29] = [
    row("len", 0, 4, 0, 1, X, X),
    row("pkt_type", 1, 0, 0, 1, X, X),
    row("mark", 0, 4, 0, 1, 0, 0),
    row("queue_mapping", 0, 2, 0, 1, X, X),
    row("protocol", 0, 2, 0, 1, X, X),
    row("vlan_present", 2, 4, 0, 1, X, X),
    row("vlan_tci", 0, 2, 0, 1, X, X),
    row("vlan_proto", 0, 2, 0, 1, X, X),
    row("priority", 0, 4, 0, 1, 0, 0),
    row("ingress_ifindex", 0, 4, 0, 1, X, X),
    row("ifindex", 2, 4, 0, 1, X, X),
    row("tc_index", 0, 2, 0, 1, X, X),
    row("cb", 0, 0, 0, 1, 0, 0),
    row("hash", 0, 4, 0, 1, X, X),
    row("data", 0, 0, 0, 0, X, X),
    row("data_end", 0, 0, 0, 0, X, X),
    row("napi_id", 2, 4, 0, 1, X, X),
    row("family", 1, 2, 0, 1, X, X),
    row("remote_ip4", 1, 0, 0, 1, X, X),
    row("local_ip4", 1, 0, 0, 1, X, X),
    row("remote_ip6", 1, 0, 0, 1, X, X),
    row("local_ip6", 1, 0, 0, 1, X, X),
    row("remote_port", 2, 2, 0, 1, X, X),
    row("local_port", 1, 2, 0, 1, X, X),
    row("tstamp", X, X, X, X, X, X),
    row("gso_segs", 3, 2, 0, 1, X, X),
    row("sk", 0, 0, 0, 0, X, X),
    row("gso_size", 3, 2, 0, 1, X, X),
    row("hwtstamp", 3, 0, 0, 0, X, X),
];

#[rustfmt::skip]
pub(super) static LWT: [Row; 20] = [
    row("len", 0, 4, 0, 1, X, X),
    row("pkt_type", 1, 0, 0, 1, X, X),
    row("mark", 0, 4, 0, 1, 0, 0),
    row("queue_mapping", 0, 2, 0, 1, X, X),
    row("protocol", 0, 2, 0, 1, X, X),
    row("vlan_present", 2, 4, 0, 1, X, X),
    row("vlan_tci", 0, 2, 0, 1, X, X),
    row("vlan_proto", 0, 2, 0, 1, X, X),
    row("priority", 0, 4, 0, 1, 0, 0),
    row("ingress_ifindex", 0, 4, 0, 1, X, X),
    row("ifindex", 2, 4, 0, 1, X, X),
    row("tc_index", 0, 2, 0, 1, X, X),
    row("cb", 0, 0, 0, 1, 0, 0),
    row("hash", 0, 4, 0, 1, X, X),
    row("data", 0, 0, 0, 0, X, X),
    row("data_end", 0, 0, 0, 0, X, X),
    row("napi_id", 2, 4, 0, 1, X, X),
    row("gso_segs", 3, 2, 0, 1, X, X),
    row("sk", 0, 0, 0, 0, X, X),
    row("gso_size", 3, 2, 0, 1, X, X),
];

#[rustfmt::skip]
pub(super) static SK_SKB: [Row; 26] = [
    row("len", 0, 4, 0, 1, X, X),
    row("pkt_type", 1, 0, 0, 1, X, X),
    row("queue_mapping", 0, 2, 0, 1, X, X),
    row("protocol", 0, 2, 0, 1, X, X),
    row("vlan_present", 2, 4, 0, 1, X, X),
    row("vlan_tci", 0, 2, 0, 1, X, X),
    row("vlan_proto", 0, 2, 0, 1, X, X),
    row("priority", 0, 4, 0, 1, 0, 0),
    row("ingress_ifindex", 0, 4, 0, 1, X, X),
    row("ifindex", 2, 4, 0, 1, X, X),
    row("tc_index", 0, 2, 0, 1, 0, 0),
    row("cb", 0, 0, 0, 1, X, X),
    row("hash", 0, 4, 0, 1, X, X),
    row("data", 0, 0, 0, 0, X, X),
    row("data_end", 4, 0, 4, 0, X, X),
    row("napi_id", 2, 4, 0, 1, X, X),
    row("family", 1, 2, 0, 1, X, X),
    row("remote_ip4", 1, 0, 0, 1, X, X),
    row("local_ip4", 1, 0, 0, 1, X, X),
    row("remote_ip6", 1, 0, 0, 1, X, X),
    row("local_ip6", 1, 0, 0, 1, X, X),
    row("remote_port", 2, 2, 0, 1, X, X),
    row("local_port", 1, 2, 0, 1, X, X),
    row("gso_segs", 3, 2, 0, 1, X, X),
    row("sk", 0, 0, 0, 0, X, X),
    row("gso_size", 3, 2, 0, 1, X, X),
];
