//! The release of each attach type, and the commit that added it.

use super::release::Release;
use super::source::Source;
use crate::AttachType;

/// The first attach type of a commit, its release, the commit's title.
type Row = (u32, Release, &'static str);

const fn row(first: u32, major: u8, minor: u8, title: &'static str) -> Row {
    (first, Release::new(major, minor), title)
}

#[rustfmt::skip]
const ATTACHES: [Row; 39] = [
    row(0, 4, 10, "bpf: add new prog type for cgroup socket filtering"),
    row(2, 4, 10, "bpf: Add new cgroup attach type to enable sock modifications"),
    row(3, 4, 13, "bpf: BPF support for sock_ops"),
    row(4, 4, 14, "bpf: convert sockmap field attach_bpf_fd2 to type"),
    row(6, 4, 15, "bpf, cgroup: implement eBPF-based device controller for cgroup v2"),
    row(7, 4, 17, "bpf: create tcp_bpf_ulp allowing BPF to monitor socket TX/RX data"),
    row(8, 4, 17, "bpf: Hooks for sys_bind"),
    row(10, 4, 17, "bpf: Hooks for sys_connect"),
    row(12, 4, 17, "bpf: Post-hooks for sys_bind"),
    row(14, 4, 18, "bpf: Hooks for sys_sendmsg"),
    row(16, 4, 18, "media: rc: introduce BPF_PROG_LIRC_MODE2"),
    row(17, 4, 20, "flow_dissector: implements flow dissector BPF hook"),
    row(18, 5, 2, "bpf: Sysctl hook"),
    row(19, 5, 2, "bpf: fix unconnected udp hooks"),
    row(21, 5, 3, "bpf: implement getsockopt and setsockopt hooks"),
    row(23, 5, 5, "bpf: Replace prog_raw_tp+btf_id with prog_tracing"),
    row(24, 5, 5, "bpf: Introduce BPF trampoline"),
    row(26, 5, 7, "bpf: Introduce BPF_MODIFY_RETURN"),
    row(27, 5, 7, "bpf: Introduce BPF_PROG_TYPE_LSM"),
    row(28, 5, 8, "bpf: Allow loading of a bpf_iter program"),
    row(29, 5, 8, "bpf: Add get{peer, sock}name attach types for sock_addr"),
    row(33, 5, 8, "bpf: Add support to attach bpf program to a devmap entry"),
    row(34, 5, 9, "bpf: Add BPF_CGROUP_INET_SOCK_RELEASE hook"),
    row(35, 5, 9, "bpf: cpumap: Add the possibility to attach an eBPF program to cpumap"),
    row(36, 5, 9, "bpf: Introduce SK_LOOKUP program type with a dedicated attach point"),
    row(37, 5, 9, "bpf, xdp: Add bpf_link-based XDP attachment API"),
    row(38, 5, 13, "sock_map: Introduce BPF_SK_SKB_VERDICT"),
    row(39, 5, 14, "bpf: Support socket migration by eBPF."),
    row(41, 5, 15, "bpf: Implement minimal BPF perf link"),
    row(42, 5, 18, "bpf: Add multi kprobe link"),
    row(43, 6, 0, "bpf: per-cgroup lsm flavor"),
    row(44, 6, 4, "bpf: Create links for BPF struct_ops maps."),
    row(45, 6, 4, "bpf: add bpf_link support for BPF_NETFILTER programs"),
    row(46, 6, 6, "bpf: Add fd-based tcx multi-prog infra with link support"),
    row(48, 6, 6, "bpf: Add multi uprobe link"),
    row(49, 6, 7, "bpf: Implement cgroup sockaddr hooks for unix sockets"),
    row(54, 6, 7, "netkit, bpf: Add bpf programmable net device"),
    row(56, 6, 10, "bpf: Add support for kprobe session attach"),
    row(57, 6, 13, "bpf: Add support for uprobe multi session attach"),
];

fn of(attach_type: AttachType) -> Option<&'static Row> {
    ATTACHES.iter().take_while(|row| row.0 <= attach_type.number()).last()
}

/// The release that introduced the attach type.
pub fn attach_type(attach_type: AttachType) -> Option<Release> {
    of(attach_type).map(|row| row.1)
}

/// What states it: the commit. Attach types have no page each.
pub fn attach_type_source(attach_type: AttachType) -> Option<Source> {
    of(attach_type).map(|row| Source::Commit(row.2))
}

/// The first attach type that a release does not have.
pub fn attach_end(release: Release) -> u32 {
    let later = AttachType::all().filter(|&of| attach_type(of) > Some(release));
    later.map(AttachType::number).min().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_ascend_and_cover_all() {
        assert!(ATTACHES.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        assert!(AttachType::all().all(|of| attach_type(of).is_some()));
    }

    /// 6.2 lacks links to struct_ops and 6.5 has them, which is all that was asked; the commit is
    /// of March 2023.
    #[test]
    fn struct_ops_are_attached_since_links_to_them() {
        assert_eq!(attach_type(AttachType::StructOps), Some(Release::new(6, 4)));
        assert_eq!(attach_end(Release::new(6, 3)), AttachType::StructOps.number());
    }
}
