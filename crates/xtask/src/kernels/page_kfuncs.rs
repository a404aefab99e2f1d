//! The part of `docs/kernels.md` about kfuncs.

use super::fields::{self, Row};
use super::page_source::stated;
use super::{agree, surface};
use skep::uapi::kfunc::{Kfunc, KfuncFlags};
use skep::uapi::since;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;

const HEAD: &str = "
## Kfuncs

Functions of the kernel itself (no module's) that programs may call. `since` is the upstream release under this name. A tested
kernel has a kfunc if one of its sets of kfuncs lists it (`.BTF_ids`) and its BTF has the function, or if a program that calls it was
loaded; what a kernel was not built with it does not have: Debian's 6.12 is without sched_ext. `programs` may call it on
the newest kernel that has it: `tracing` are all that trace but kprobes, `lwt` and `cgroup` all of that name, with
`sock_ops`. `sleeps`: the program must be able to sleep, as the kernel answered. The other flags are those of 6.18;
where there are none but a dash, skep does not know the function, and says so of programs that call it.

| kfunc | flags | programs | since | tested: not on | on | source |
|---|---|---|--:|--:|--:|---|
";

/// The kfuncs of a tested kernel, and what was answered to programs that call them.
struct Tested {
    name: String,
    there: BTreeSet<String>,
    answers: BTreeMap<String, Row>,
}

fn read() -> Result<Vec<Tested>, Box<dyn Error>> {
    let mut all = Vec::new();
    for release in agree::releases_with(surface::END) {
        let asked = fields::read(&release)?.into_iter().filter(|row| row.kind == "kfunc");
        let answers: BTreeMap<String, Row> = asked.map(|row| (row.name.clone(), row)).collect();
        let callable = answers.values().filter(|row| !row.says.is_empty());
        let mut there: BTreeSet<String> = callable.map(|row| row.name.clone()).collect();
        there.extend(surface::kfuncs(&release)?);
        all.push(Tested { name: agree::short(&release).to_owned(), there, answers });
    }
    Ok(all)
}

pub(super) fn table() -> Result<String, Box<dyn Error>> {
    let kernels = read()?;
    let names: BTreeSet<&String> = kernels.iter().flat_map(|it| &it.there).collect();
    let mut text = HEAD.to_owned();
    for name in names {
        let has = |it: &&Tested| it.there.contains(name);
        let kernel = |it: Option<&Tested>| it.map_or("-", |it| &it.name).to_owned();
        let (with, without) = (kernels.iter().find(has), kernels.iter().rfind(|it| !has(it)));
        let newest = kernels.iter().rev().find_map(|it| it.answers.get(name));
        let (field, says) = newest.map_or(("", ""), |row| (&row.field, &row.says));
        let (flags, programs) = (flags(name, field), callers(says));
        let (without, with) = (kernel(without), kernel(with));
        let release = since::kfunc(name).map_or("-".to_owned(), |it| it.to_string());
        let source = stated(since::kfunc_source(name));
        let _ = writeln!(
            text,
            "| `{name}` | {flags} | {programs} | {release} | {without} | {with} | {source} |"
        );
    }
    Ok(text)
}

/// Callers, abbreviated if a group is complete.
fn callers(says: &str) -> String {
    const GROUPS: [(&str, &[&str]); 3] = [
        ("tracing", &["tracepoint", "perf_event", "raw_tracepoint", "tracing", "lsm"]),
        ("lwt", &["lwt_in", "lwt_out", "lwt_xmit", "lwt_seg6local"]),
        (
            "cgroup",
            &[
                "cgroup_skb",
                "cgroup_sock",
                "sock_ops",
                "cgroup_device",
                "cgroup_sock_addr",
                "cgroup_sysctl",
                "cgroup_sockopt",
            ],
        ),
    ];
    // Attach types make no difference here.
    let types = says.split_whitespace().filter_map(|it| it.split('/').next());
    let mut left: Vec<&str> = types.collect();
    if left.len() > 25 {
        return "any".to_owned();
    }
    for (name, group) in GROUPS {
        let Some(at) = left.iter().position(|it| *it == group[0]) else { continue };
        if group.iter().all(|it| left.contains(it)) {
            left[at] = name;
            left.retain(|it| *it == name || !group.contains(it));
        }
    }
    let named = left.iter().map(|it| format!("`{it}`"));
    named.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
}

/// The verifier's flags of a kfunc, other than what the kernel answered.
fn flags(name: &str, field: &str) -> String {
    let Some(kfunc) = Kfunc::find(name) else { return "-".to_owned() };
    let known = kfunc.flags.difference(KfuncFlags::SLEEPABLE);
    let names = known.iter_names().map(|(name, _)| name.to_lowercase());
    let sleeps = (!field.is_empty()).then(|| field.to_owned());
    names.chain(sleeps).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::uapi::since::Release;

    /// Kfuncs that kernels of distributions received before upstream's release, or that had the
    /// name of one that came later: the kernel, the kfunc.
    const EARLY: [(&str, &str); 8] = [
        ("6.2.0-39-", "bpf_list_push_back"),
        ("6.2.0-39-", "bpf_list_push_front"),
        ("6.2.0-39-", "bpf_rbtree_add"),
        ("6.2.0-39-", "bpf_rbtree_first"),
        ("6.2.0-39-", "bpf_rbtree_remove"),
        ("6.5.0-45-", "bpf_sock_addr_set_sun_path"),
        ("6.17.13+", "bpf_stream_vprintk"),
        ("6.17.0-42-", "bpf_stream_vprintk"),
    ];

    /// What the first tested kernel with a release's kfuncs was not built with.
    const NOT_BUILT: [(&str, &str); 5] = [
        ("6.12.43+", "scx_"),
        ("6.12.43+", "bpf_iter_scx_"),
        ("6.16.12+", "bpf_qdisc_"),
        ("6.16.12+", "bpf_kfree_skb"),
        ("6.16.12+", "bpf_skb_get_hash"),
    ];

    /// No tested kernel has a kfunc before its release, and the first one of that release has it.
    #[test]
    fn kfuncs_are_there_from_their_release_on() {
        let mut kernels: Vec<(Release, String, BTreeSet<String>)> = Vec::new();
        for (release, tested) in agree::releases_with(surface::END).into_iter().zip(read().unwrap())
        {
            kernels.push((release.parse().expect("a release"), release, tested.there));
        }
        let names: BTreeSet<&String> = kernels.iter().flat_map(|it| &it.2).collect();
        let mut dated = 0;
        for name in names {
            let Some(since) = since::kfunc(name) else { continue };
            let early = |release: &str| {
                EARLY.iter().any(|it| release.starts_with(it.0) && name.as_str() == it.1)
            };
            for (version, release, there) in &kernels {
                let is_early = *version < since && there.contains(name);
                assert_eq!(is_early, early(release), "{release}: {name} is since {since}");
            }
            let Some(first) = kernels.iter().find(|it| it.0 >= since) else { continue };
            let is_absent = !first.2.contains(name);
            let not_built =
                |it: &&(&str, &str)| first.1.starts_with(it.0) && name.starts_with(it.1);
            assert_eq!(is_absent, NOT_BUILT.iter().any(|it| not_built(&it)), "{}: {name}", first.1);
            dated += 1;
        }
        assert!(dated > 300, "{dated}");
    }

    /// Those that are not: the kernel's tests, what came and went with 6.2, what is too new.
    #[test]
    fn kfuncs_are_documented() {
        const GONE: [&str; 4] = [
            "bpf_cgroup_kptr_get",
            "bpf_task_acquire_not_zero",
            "bpf_task_kptr_get",
            "hid_bpf_device_event",
        ];
        let kernels = read().expect("the tables");
        let (newest, older) = kernels.split_last().expect("kernels");
        let is_newest = |name: &String| older.iter().all(|it| !it.there.contains(name));
        for name in kernels.iter().flat_map(|it| &it.there) {
            let is_test = name.starts_with("bpf_kfunc_call_") || name.contains("modify_return");
            let is_excused = is_test || GONE.contains(&name.as_str()) || is_newest(name);
            assert!(since::kfunc(name).is_some() || is_excused, "{name} is on {}", newest.name);
            assert_eq!(since::kfunc(name).is_some(), since::kfunc_source(name).is_some());
        }
    }
}
