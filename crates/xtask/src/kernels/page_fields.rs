//! The parts of `docs/kernels.md` about context fields, map flags, and kfuncs.

use super::agree;
use super::fields::{self, Row};
use skep::uapi::kfunc::{Kfunc, KfuncFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;

const CTX: &str = "
## Context fields

Sizes in bytes of reads (`r`) and writes (`w`) at the start of a field, on the newest tested kernel that has it
(`cargo xtask kernels fields`). A field has one line for each way in which programs may use it.

| field | programs | sizes | tested: not on | on |
|---|---|---|--:|--:|
";

const MAPS: &str = "
## Map flags

Flags with which a map may be created, alone or with those that are mandatory.

| flag | maps | tested: not on | on |
|---|---|--:|--:|
";

const KFUNCS: &str = "
## Kfuncs

Functions of the kernel itself (no module's) that programs may call, and which programs, on the newest kernel that was
asked for them and has it: `tracing` are all that trace but kprobes, `lwt` and `cgroup` all of that name, with
`sock_ops`. `sleeps`: the program must be able to sleep, as the kernel answered. The other flags are those of 6.18;
where there are none but a dash, skep does not know the function, and says so of programs that call it.
";

const KFUNC_HEADINGS: &str = "
| kfunc | flags | programs | asked: not on | on |
|---|---|---|--:|--:|
";

/// Kind, type or kfunc, field or flag.
type Key = (String, String, String);

/// By kernel, oldest first: what exists, with the answer.
struct Asked(Vec<(String, BTreeMap<Key, String>)>);

impl Asked {
    fn read() -> Result<Asked, Box<dyn Error>> {
        let mut all = Vec::new();
        for release in agree::releases_with(fields::END) {
            let rows = fields::read(&release)?.into_iter().flat_map(keys).collect();
            all.push((agree::short(&release).to_owned(), rows));
        }
        Ok(Asked(all))
    }

    /// The newest kernel without it before the oldest with it, that one (and the newest with it, if
    /// later ones lack it), and the answer of the newest with it.
    fn of(&self, key: &Key) -> [String; 3] {
        let has = |it: &(String, BTreeMap<Key, String>)| it.1.contains_key(key);
        let (Some(first), Some(last)) = (self.0.iter().position(has), self.0.iter().rposition(has))
        else {
            return Default::default();
        };
        let name = |at: usize| self.0.get(at).map_or("-", |it| &it.0);
        let on = match (last + 1 == self.0.len(), first == last) {
            (true, _) => name(first).to_owned(),
            (false, true) => format!("{} only", name(first)),
            (false, false) => format!("{} to {}", name(first), name(last)),
        };
        let newest = self.0[last].1.get(key).cloned();
        [name(first.wrapping_sub(1)).to_owned(), on, newest.unwrap_or_default()]
    }

    /// All of a kind; entries that differ only in the type are combined.
    fn grouped(&self, kind: &str) -> BTreeMap<(String, [String; 3]), BTreeSet<String>> {
        let all: BTreeSet<&Key> = self.0.iter().flat_map(|it| it.1.keys()).collect();
        let mut groups: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for key in all.into_iter().filter(|key| key.0 == kind) {
            let whose = key.1.clone();
            groups.entry((key.2.clone(), self.of(key))).or_default().insert(whose);
        }
        groups
    }
}

/// A row of a map gives one key per flag.
fn keys(row: Row) -> Vec<(Key, String)> {
    let Row { kind, name, field, says } = row;
    match kind.as_str() {
        "map" => says
            .split_whitespace()
            .map(|flag| ((kind.clone(), name.clone(), flag.to_owned()), String::new()))
            .collect(),
        "kfunc" => vec![((kind, name, String::new()), format!("{field}|{says}"))],
        _ => vec![((kind, name, field), says)],
    }
}

fn code(names: &BTreeSet<String>) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
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

/// All tables.
pub(super) fn tables() -> Result<String, Box<dyn Error>> {
    let asked = Asked::read()?;
    let mut text = CTX.to_owned();
    for ((field, [without, with, says]), whose) in asked.grouped("ctx") {
        let _ = writeln!(text, "| `{field}` | {} | {says} | {without} | {with} |", code(&whose));
    }
    text.push_str(MAPS);
    for ((flag, [without, with, _]), whose) in asked.grouped("map") {
        let _ = writeln!(text, "| `{flag}` | {} | {without} | {with} |", code(&whose));
    }
    let is_kfunc = |key: &&Key| key.0 == "kfunc";
    let (with_kfuncs, others): (Vec<_>, Vec<_>) =
        asked.0.into_iter().partition(|it| it.1.keys().any(|key| is_kfunc(&key)));
    text.push_str(KFUNCS);
    let names = |kernels: &[(String, _)]| {
        kernels.iter().map(|it| it.0.as_str()).collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(
        text,
        "\nKfuncs were asked on {} only: the last two columns say nothing of {}, where a kfunc is there if\nthe \
         kernel's BTF lists it.",
        names(&with_kfuncs),
        names(&others)
    );
    text.push_str(KFUNC_HEADINGS);
    let asked = Asked(with_kfuncs);
    let kfuncs: BTreeSet<&Key> = asked.0.iter().flat_map(|it| it.1.keys()).collect();
    for key in kfuncs.into_iter().filter(is_kfunc) {
        let (name, [without, with, said]) = (&key.1, asked.of(key));
        let (field, says) = said.split_once('|').unwrap_or_default();
        let (flags, programs) = (flags(name, field), callers(says));
        let _ = writeln!(text, "| `{name}` | {flags} | {programs} | {without} | {with} |");
    }
    Ok(text)
}
