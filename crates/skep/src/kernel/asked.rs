//! The kernels that are built in.

use sources::*;

/// The tested kernels (packages of Debian and Ubuntu), oldest first: the name and the exact
/// release. One build of each series has the name of the series; each of the others has a longer
/// one.
pub const ASKED: [(&str, &str); 35] = [
    ("5.10.0-30", "5.10.0-30-cloud-amd64"),
    ("5.10", "5.10.0-46-cloud-amd64"),
    ("5.13", "5.13.0-52-generic"),
    ("5.15.0-25", "5.15.0-25-generic"),
    ("5.15", "5.15.0-204-generic"),
    ("5.19", "5.19.0-50-generic"),
    ("6.1.0-1012", "6.1.0-1012-oem"),
    ("6.1.0-47", "6.1.0-47-cloud-amd64"),
    ("6.1", "6.1.0-56-cloud-amd64"),
    ("6.2", "6.2.0-39-generic"),
    ("6.5", "6.5.0-45-generic"),
    ("6.8.0-31", "6.8.0-31-generic"),
    ("6.8", "6.8.0-151-generic"),
    ("6.11.0-17", "6.11.0-17-generic"),
    ("6.11", "6.11.0-29-generic"),
    ("6.12.43", "6.12.43+deb12-cloud-amd64"),
    ("6.12.90", "6.12.90+deb12-cloud-amd64"),
    ("6.12", "6.12.117+deb12-cloud-amd64"),
    ("6.14", "6.14.0-37-generic"),
    ("6.16", "6.16.12+deb13-cloud-amd64"),
    ("6.17", "6.17.13+deb13-cloud-amd64"),
    ("6.17.0-42", "6.17.0-42-generic"),
    ("6.18.5", "6.18.5+deb13-cloud-amd64"),
    ("6.18", "6.18.15+deb13-cloud-amd64"),
    ("6.19.6", "6.19.6+deb13-cloud-amd64"),
    ("6.19", "6.19.14+deb13-cloud-amd64"),
    ("7.0.0-14", "7.0.0-14-generic"),
    ("7.0.4", "7.0.4+deb13-cloud-amd64"),
    ("7.0", "7.0.13+deb13-cloud-amd64"),
    ("7.0.0-44", "7.0.0-44-generic"),
    ("7.1.3", "7.1.3+deb13-cloud-amd64"),
    ("7.1", "7.1.13+deb13-cloud-amd64"),
    ("7.2.6", "7.2.6+deb13-cloud-amd64"),
    ("7.2", "7.2.12+deb13-cloud-amd64"),
    ("7.3", "7.3.4+deb13-cloud-amd64"),
];

/// Distributions whose kernel was tested, and its name here.
pub const DISTRIBUTIONS: [(&str, &str); 7] = [
    ("debian-11", "5.10"),
    ("debian-12", "6.1"),
    ("debian-13", "6.12"),
    ("ubuntu-22.04", "5.15"),
    ("ubuntu-24.04", "6.8"),
    ("ubuntu-25.10", "6.17.0-42"),
    ("ubuntu-26.04", "7.0.0-44"),
];

/// A kernel that could not be tested: an upstream long-term release, or one of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FromTable {
    /// `6.6`, `rhel9.4`.
    pub name: &'static str,
    /// Its `uname -r`; `N` stands for the numbers of a build.
    pub release: &'static str,
    /// The release whose features and rules it has, as far as the source tells.
    pub rules: &'static str,
    /// Where that is documented.
    pub source: &'static str,
}

const fn row(
    name: &'static str,
    release: &'static str,
    rules: &'static str,
    source: &'static str,
) -> FromTable {
    FromTable { name, release, rules, source }
}

/// These kernels. For RHEL 9 the document is about the BPF: Red Hat's release notes (9.6), an issue
/// that refers to them (9.4), merge requests of CentOS Stream (9.2, 9.3, 9.5). For the others it
/// states the release of the kernel, and the BPF is taken to be that release's.
#[rustfmt::skip]
pub const FROM_TABLE: [FromTable; 22] = [
    row("5.4", "5.4", "5.4", UPSTREAM),
    row("6.6", "6.6", "6.6", UPSTREAM),
    row("ubuntu-20.04", "5.4.0-N-generic", "5.4", UBUNTU),
    row("rhel9.2", "5.14.0-284.N.el9_2", "6.0", RHEL_9_2),
    row("rhel9.3", "5.14.0-362.N.el9_3", "6.3", RHEL_9_3),
    row("rhel9.4", "5.14.0-427.N.el9_4", "6.6", RHEL_9_4),
    row("rhel9.5", "5.14.0-503.N.el9_5", "6.8", RHEL_9_5),
    row("rhel9.6", "5.14.0-570.N.el9_6", "6.12", RHEL_9_6),
    row("rhel10.0", "6.12.0-55.N.el10_0", "6.12", RHEL_10_0),
    row("amzn2-5.4", "5.4.N.amzn2", "5.4", AMAZON_2_5_4),
    row("amzn2-5.10", "5.10.N.amzn2", "5.10", AMAZON_2),
    row("amzn2-5.15", "5.15.N.amzn2", "5.15", AMAZON_2_5_15),
    row("amzn2023-6.1", "6.1.N.amzn2023", "6.1", AMAZON_2023),
    row("amzn2023-6.12", "6.12.N.amzn2023", "6.12", AMAZON_2023),
    row("amzn2023-6.18", "6.18.N.amzn2023", "6.18", AMAZON_2023),
    row("cos-113", "6.1.N+", "6.1", COS),
    row("cos-117", "6.6.N+", "6.6", COS),
    row("azurelinux-3", "6.6.N.azl3", "6.6", AZURE_LINUX),
    row("sles15-sp6", "6.4.0-150600.N-default", "6.4", SLES),
    row("uek6", "5.4.17-N.el8uek", "5.4", UEK_6),
    row("uek7", "5.15.0-N.el9uek", "5.15", UEK_7),
    row("uek8", "6.12.0-N.el10uek", "6.12", UEK_8),
];

#[rustfmt::skip]
mod sources {
    pub(super) const UPSTREAM: &str = "https://docs.ebpf.io/linux/";
    pub(super) const UBUNTU: &str = "https://canonical.com/security/livepatch/docs/kernels";
    pub(super) const AMAZON_2: &str = "https://docs.aws.amazon.com/linux/al2/ug/aml2-kernel.html";
    pub(super) const AMAZON_2_5_15: &str = "https://docs.amazonaws.cn/AL2/latest/relnotes/relnotes-20250605.html";
    pub(super) const AMAZON_2023: &str = "https://docs.amazonaws.cn/linux/al2023/release-notes/relnotes-2023.11.20260526.md";
    pub(super) const AMAZON_2_5_4: &str = "https://www.repost.aws/it/knowledge-center/amazon-linux-2-kernel-upgrade";
    pub(super) const UEK_7: &str = "https://docs.oracle.com/pls/topic/lookup?ctx=en%2Fdatabase%2Fother-databases%2Fnosql-database%2F23.1%2Fadmin&id=ol-about-uek";
    pub(super) const COS: &str = "https://github.com/firezone/firezone/pull/8533";
    pub(super) const AZURE_LINUX: &str = "https://github.com/microsoft/azurelinux/releases";
    pub(super) const SLES: &str = "https://github.com/SUSE/release-notes/blob/997f651db67b2940f40dfe9e5ce28ec5c19e55c5/adoc/sles/15sp6/attributes-product.adoc";
    pub(super) const UEK_6: &str = "https://docs.oracle.com/en/operating-systems/uek/6/relnotes6.0/uek6.0-NewFeaturesandChanges.html";
    pub(super) const UEK_8: &str = "https://docs.oracle.com/en/operating-systems/uek/8/relnotes8.1/uek8-AboutUEK8.html";
    pub(super) const RHEL_9_2: &str = "https://gitlab.com/redhat/centos-stream/src/kernel/centos-stream-9/-/merge_requests/1742";
    pub(super) const RHEL_9_3: &str = "https://gitlab.com/redhat/centos-stream/src/kernel/centos-stream-9/-/merge_requests/2583";
    pub(super) const RHEL_9_4: &str = "https://github.com/cilium/cilium/issues/44201";
    pub(super) const RHEL_9_5: &str = "https://gitlab.com/redhat/centos-stream/src/kernel/centos-stream-9/-/merge_requests/4110";
    pub(super) const RHEL_9_6: &str = "https://docs.redhat.com/ja/documentation/Red_Hat_Enterprise_Linux/9/html/9.6_release_notes/new-features-kernel";
    pub(super) const RHEL_10_0: &str = "https://docs.redhat.com/ja/documentation/Red_Hat_Enterprise_Linux/10/html/10.0_release_notes/new-features-and-enhancements-kernel";
}

/// The release whose features and rules a kernel of RHEL 9 has: those of the last row whose build
/// is not later. All of them call themselves 5.14.
pub(super) fn taken_over(release: &str) -> Option<&'static str> {
    let build = |release: &str| -> Option<u32> {
        let (number, _) = release.strip_prefix("5.14.0-")?.split_once('.')?;
        number.parse().ok().filter(|_| release.contains(".el9"))
    };
    let its = build(release)?;
    let begun = |row: &&FromTable| build(row.release).is_some_and(|it| it <= its);
    FROM_TABLE.iter().rfind(begun).map(|row| row.rules)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_build_of_rhel_9_has_the_bpf_of_the_last_row_before_it() {
        let told = [
            ("5.14.0-427.13.1.el9_4.x86_64", Some("6.6")),
            ("5.14.0-480.el9.x86_64", Some("6.6")),
            ("5.14.0-611.5.1.el9_7.x86_64", Some("6.12")),
            ("5.14.0-162.6.1.el9_1.x86_64", None),
            ("5.14.0-427-generic", None),
            ("6.12.0-55.9.1.el10_0.x86_64", None),
        ];
        for (release, rules) in told {
            assert_eq!(taken_over(release), rules, "{release}");
        }
    }

    #[test]
    fn names_and_releases_are_distinct_and_have_a_source() {
        let names = ASKED.iter().map(|it| it.0).chain(DISTRIBUTIONS.iter().map(|it| it.0));
        let names: Vec<&str> = names.chain(FROM_TABLE.iter().map(|it| it.name)).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let releases: BTreeSet<&str> = FROM_TABLE.iter().map(|it| it.release).collect();
        assert_eq!(releases.len(), FROM_TABLE.len(), "a kernel has its name by its release");
        assert!(FROM_TABLE.iter().all(|it| it.source.starts_with("https://")));
        assert!(DISTRIBUTIONS.iter().all(|it| ASKED.iter().any(|asked| asked.0 == it.1)));
    }
}
