//! Which kfuncs a kernel has, from its facts: the functions in its sets of kfuncs that its BTF has
//! too.
//!
//! Sets of functions are in the section `.BTF_ids`, where each element has a symbol,
//! `__BTF_ID__func__NAME__NUMBER`, and so has the set: `__BTF_ID__set8__NAME` with elements of
//! eight bytes, before 6.0 `__BTF_ID__set__NAME` of four. Where a kernel's BTF tags kfuncs, it
//! tells them from what stands behind a set.

use skep::btf::{Btf, Kind};
use skep::uapi::kfunc::Kfunc;
use skep::uapi::since;
use std::collections::{BTreeMap, BTreeSet};

/// The tag of kfuncs.
const TAG: &str = "bpf_kfunc";

/// The kfuncs of the kernel itself, no module's, by name.
pub(super) fn kfuncs(kallsyms: &str, btf: &Btf) -> BTreeSet<String> {
    let mut funcs = BTreeMap::new();
    for func in btf.iter().filter(|ty| ty.kind() == Kind::Func) {
        funcs.insert(func.name(), btf.decl_tags(func.id(), None).any(|tag| tag == TAG));
    }
    let has_tags = funcs.values().any(|&tagged| tagged);
    let is_kfunc = |name: &str| {
        let known = since::kfunc(name).is_some() || Kfunc::find(name).is_some();
        funcs.get(name).is_some_and(|&tagged| tagged || known || !has_tags)
    };
    let listed = in_sets(kallsyms).into_iter().filter(|name| !name.ends_with("_dtor"));
    listed.filter(|name| is_kfunc(name)).map(str::to_owned).collect()
}

/// The functions in sets of kfuncs.
fn in_sets(kallsyms: &str) -> BTreeSet<&str> {
    let mut at: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for line in kallsyms.lines() {
        let mut words = line.split_whitespace();
        let (address, name) = (words.next(), words.nth(1));
        let Some(name) = name.and_then(|it| it.strip_prefix("__BTF_ID__")) else { continue };
        let Some(address) = address.and_then(|it| u64::from_str_radix(it, 16).ok()) else {
            continue;
        };
        // A module's symbol has its name behind it.
        if words.next().is_none() {
            at.entry(address).or_default().push(name);
        }
    }
    let func = |address: u64| {
        let mut names = at.get(&address)?.iter().filter_map(|it| it.strip_prefix("func__"));
        Some(names.next()?.rsplit_once("__")?.0)
    };
    let sets = at.iter().flat_map(|(&address, names)| {
        names.iter().filter_map(move |name| elements(name).map(|it| (address, it)))
    });
    let mut found = BTreeSet::new();
    for (address, (first, step)) in sets {
        let names = (0..).map_while(|index| func(address + first + index * step));
        found.extend(names);
    }
    found
}

/// Where the elements of a set of kfuncs begin behind its symbol, and their size, in bytes. Sets of
/// functions whose return value programs may modify are of the same kind.
fn elements(name: &str) -> Option<(u64, u64)> {
    if name.contains("fmodret") || name.contains("modify_return") {
        return None;
    }
    match name.split_once("__")? {
        ("set8", _) => Some((8, 8)),
        ("set", name) if name.contains("kfunc") => Some((4, 4)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_follow_their_set_without_a_gap() {
        let kallsyms = "\
            ffffffff81000000 T bpf_throw\n\
            ffffffff82000000 r __BTF_ID__set8__generic_kfunc_ids\n\
            ffffffff82000008 r __BTF_ID__func__bpf_throw__12\n\
            ffffffff82000010 r __BTF_ID__func__bpf_obj__new__13\n\
            ffffffff8200001c r __BTF_ID__func__vfs_read__14\n\
            ffffffff82000020 r __BTF_ID__set8__x_fmodret_ids\n\
            ffffffff82000028 r __BTF_ID__func__vfs_write__15\n\
            ffffffff82000040 r __BTF_ID__set__old_kfunc_ids\n\
            ffffffff82000044 r __BTF_ID__func__tcp_slow_start__16\n\
            ffffffff82000048 r __BTF_ID__func__tcp_cong__17\n\
            ffffffff82000060 r __BTF_ID__set__others\n\
            ffffffff82000064 r __BTF_ID__func__vfs_open__18\n\
            ffffffffc0000000 r __BTF_ID__set8__m_kfunc_ids\t[m]\n\
            ffffffffc0000008 r __BTF_ID__func__m_kfunc__1\t[m]\n";
        let found: Vec<&str> = in_sets(kallsyms).into_iter().collect();
        assert_eq!(found, ["bpf_obj__new", "bpf_throw", "tcp_cong", "tcp_slow_start"]);
    }
}
