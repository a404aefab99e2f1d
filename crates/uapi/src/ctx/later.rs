//! Fields of contexts that were added in a later release than their context.
//!
//! Source: the release of the commit that added each. Tests: `cargo xtask` checks what skep reports
//! for a named kernel against that kernel's results (`tests/kernels/asked/*.fields.gz`), which are
//! the witness of every row after 5.10.

use super::field::CtxField;
use crate::since::Release;

/// A field, or a way to access it, that older kernels do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaterField {
    /// Its struct in the kernel's headers.
    pub of: &'static str,
    /// Its name there.
    pub field: &'static str,
    /// `__sk_buff.hwtstamp`; another name where only parts of the field came later.
    pub name: &'static str,
    /// Its release.
    pub since: Release,
    /// The title of the commit that added it.
    pub title: &'static str,
    /// Loads of fewer bytes than this were added later than the others; 0 if there is no such
    /// difference.
    pub whole_bytes: u32,
}

const fn row(name: &'static str, major: u8, minor: u8, title: &'static str) -> LaterField {
    let (of, field) = split(name);
    LaterField { of, field, name, since: Release { major, minor }, title, whole_bytes: 0 }
}

/// The struct, and its field.
const fn split(name: &'static str) -> (&'static str, &'static str) {
    let mut at = 0;
    while name.as_bytes()[at] != b'.' {
        at += 1;
    }
    let (of, rest) = name.split_at(at);
    (of, rest.split_at(1).1)
}

const HEADER_OPTIONS: &str = "bpf: tcp: Allow bpf prog to write and parse TCP header option";

/// By release. A context field that is in no row has been there since 5.4.
pub const LATER_FIELDS: [LaterField; 15] = [
    row("__sk_buff.gso_size", 5, 7, "bpf: Add gso_size to __sk_buff"),
    row("bpf_sock.rx_queue_mapping", 5, 8, "bpf: Add rx_queue_mapping to bpf_sock"),
    row("xdp_md.egress_ifindex", 5, 8, "xdp: Add xdp_txq_info to xdp_buff"),
    row("sk_msg_md.sk", 5, 8, "bpf, sk_msg: Add get socket storage helpers"),
    LaterField {
        name: "parts of bpf_sock_addr.user_port",
        whole_bytes: 4,
        ..row(
            "bpf_sock_addr.user_port",
            5,
            8,
            "bpf: Support narrow loads from bpf_sock_addr.user_port",
        )
    },
    row("bpf_sock_ops.skb_data", 5, 10, HEADER_OPTIONS),
    row("bpf_sock_ops.skb_data_end", 5, 10, HEADER_OPTIONS),
    row("bpf_sock_ops.skb_len", 5, 10, HEADER_OPTIONS),
    row("bpf_sock_ops.skb_tcp_flags", 5, 10, HEADER_OPTIONS),
    row(
        "sk_reuseport_md.sk",
        5,
        14,
        "bpf: Support BPF_FUNC_get_socket_cookie() for BPF_PROG_TYPE_SK_REUSEPORT.",
    ),
    row("sk_reuseport_md.migrating_sk", 5, 14, "bpf: Support socket migration by eBPF."),
    row("__sk_buff.hwtstamp", 5, 16, "bpf: Add hardware timestamp field to __sk_buff"),
    row("bpf_sk_lookup.ingress_ifindex", 5, 17, "bpf: Add ingress_ifindex to bpf_sk_lookup"),
    row(
        "__sk_buff.tstamp_type",
        5,
        18,
        "bpf: Remove BPF_SKB_DELIVERY_TIME_NONE and rename s/delivery_time_/tstamp_/",
    ),
    row("bpf_sock_ops.skb_hwtstamp", 6, 2, "bpf: Add hwtstamp field for the sockops prog"),
];

/// Which of [`LATER_FIELDS`] a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtxFields {
    /// One bit for each field that the kernel does not have, from the lowest.
    absent: u16,
}

impl CtxFields {
    /// All: those of Linux 6.18.
    pub const fn all() -> CtxFields {
        CtxFields { absent: 0 }
    }

    /// The fields that are present.
    pub fn those(is_there: impl Fn(&LaterField) -> bool) -> CtxFields {
        let bits = LATER_FIELDS.iter().enumerate();
        let absent = bits.filter(|(_, row)| !is_there(row)).fold(0, |all, (at, _)| all | 1 << at);
        CtxFields { absent }
    }

    /// The fields of the upstream kernel of a release.
    pub fn of_release(release: Release) -> CtxFields {
        CtxFields::those(|row| row.since <= release)
    }

    /// Whether a field of the struct `of` may not be accessed with this size, although it may on
    /// 6.18.
    pub fn lack(self, of: Option<&str>, field: &CtxField, size: u32) -> bool {
        self.absent != 0 && self.lacking(of, field, size).is_some()
    }

    fn lacking(self, of: Option<&str>, field: &CtxField, size: u32) -> Option<usize> {
        let at = LATER_FIELDS.iter().position(|row| row.is_of(of, field, size))?;
        (self.absent & 1 << at != 0).then_some(at)
    }
}

impl LaterField {
    /// What an access to a field of the struct `of` needs; `None` if every kernel has that.
    pub fn needed(of: Option<&str>, field: &CtxField, size: u32) -> Option<LaterField> {
        LATER_FIELDS.into_iter().find(|row| row.is_of(of, field, size))
    }

    fn is_of(&self, of: Option<&str>, field: &CtxField, size: u32) -> bool {
        Some(self.of) == of
            && self.field == field.name
            && (self.whole_bytes == 0 || size < self.whole_bytes)
    }
}

impl Default for CtxFields {
    fn default() -> CtxFields {
        CtxFields::all()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CtxLayout, CtxRange};
    use super::*;
    use crate::ProgType;

    #[test]
    fn rows_ascend_and_are_fields() {
        assert!(LATER_FIELDS.is_sorted_by(|a, b| a.since <= b.since));
        let fields: Vec<&CtxField> = ProgType::all()
            .flat_map(|ty| (0..64).filter_map(move |attach| CtxLayout::find(ty, attach)))
            .flat_map(|layout| layout.fields())
            .collect();
        for row in LATER_FIELDS {
            assert!(fields.iter().any(|field| field.name == row.field), "{}", row.name);
            assert!(row.name.ends_with(&format!("{}.{}", row.of, row.field)), "{}", row.name);
        }
    }

    #[test]
    fn a_field_is_there_from_its_release_on() {
        let layout = CtxLayout::find(ProgType::SchedCls, 0).expect("sched_cls");
        let access = layout.load(CtxRange { off: 184, size: 8 }, false).expect("hwtstamp");
        let on = |release: &str| CtxFields::of_release(release.parse().expect("a release"));
        let lacks = |release| on(release).lack(Some("__sk_buff"), access.field, 8);
        assert!(lacks("5.15") && !lacks("5.16") && !lacks("6.18"));
        assert_eq!(on("6.2"), CtxFields::all());
        let port = CtxLayout::find(ProgType::CgroupSockAddr, 8).expect("bind4");
        let port = port.load(CtxRange { off: 24, size: 2 }, false).expect("user_port").field;
        let lacks = |size| on("5.4").lack(Some("bpf_sock_addr"), port, size);
        assert!(lacks(1) && lacks(2) && !lacks(4));
    }
}
