//! What a kernel supports, tested with small programs: helpers, map types, program types, insns;
//! and attach types and kfuncs, which its own facts list. The answers are the evidence for
//! `uapi::since`.
//!
//! `yes` means that the kernel knows the item: a helper that a socket filter may not call also
//! counts. That a kernel takes programs for an attach type, where it checks that when it loads
//! them, is in the tables of [`super::fields`].

use super::folder::{folder, host};
use super::guest::Guest;
use super::machine::Machine;
use super::{agree, kfunc_sets, probe};
use crate::outcome::Ended;
use serde::{Deserialize, Serialize};
use skep::btf::{Btf, Kind};
use skep::kernel::Item;
use skep::kernel::ask::{Calls, calls, calls_by_attach, insns_named, questions};
use skep::uapi::helper::HelperId;
use skep::uapi::{AttachType, ProgType};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    machine: Machine,
    /// Boot nothing: only replace what the facts in `--out` tell, attach types and kfuncs.
    #[arg(long)]
    from_facts: bool,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// `helper`, `map`, `prog`, `insn`, `attach`; `kfuncs`: all; `calls` and `grants`: helpers that
    /// programs may not, or may, call although it is the other way on 6.18.
    pub(crate) kind: String,
    pub(crate) name: String,
    /// `yes` or `no`.
    pub(crate) there: String,
    /// The kernel's message; for an attach type, the value in its BTF.
    pub(crate) message: String,
}

/// Suffix of the tables' file names, after the release.
pub(crate) const END: &str = ".surface.csv";

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let folder = folder(&args.machine);
    let host = host(&folder)?;
    let own = host.kernel_btf.as_ref().ok_or("no BTF of the kernel")?.root();
    let kallsyms = fs::read_to_string(folder.join("facts/kallsyms"))?;
    let mut facts = attach_types(own)?;
    facts.push(row_of_kfuncs(&kfunc_sets::kfuncs(&kallsyms, own)));
    if args.from_facts {
        return replace(&args.machine.kernel, facts);
    }
    let mut guest = Guest::boot(&args.machine, &folder.join("console.surface"))?;
    let btf = host.kernel_btf.as_ref();
    let mut rows = Vec::new();
    for question in questions(btf).into_iter().filter(|it| it.kind() != "btf") {
        let told = probe::judge(&mut guest, &question.program)?;
        let there = question.answer(&told) == Some(true);
        rows.push(Row {
            kind: question.kind().to_owned(),
            name: question.name.to_owned(),
            there: if there { "yes" } else { "no" }.to_owned(),
            message: if told.accepted { String::new() } else { told.message },
        });
    }
    rows.extend(facts);
    for asked in calls(btf).into_iter().chain(calls_by_attach(btf)) {
        if !may_attach(&mut guest, &asked)? {
            continue;
        }
        rows.extend(refused_calls(&mut guest, &asked)?);
        rows.extend(granted_calls(&mut guest, &asked)?);
    }
    agree::write_rows(&args.machine.kernel, END, &rows)?;
    let there = rows.iter().filter(|row| row.there == "yes").count();
    println!("{}: {there} of {} are there", args.machine.kernel, rows.len());
    Ok(Ended::Passed)
}

/// Reads a table that [`run`] wrote.
pub(super) fn read(release: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    agree::read_rows(release, END)
}

/// Replaces the rows of a table that facts tell.
fn replace(release: &str, facts: Vec<Row>) -> crate::Outcome {
    let mut rows = read(release)?;
    rows.retain(|row| ![ATTACH, KFUNCS].contains(&&*row.kind));
    let at = rows.iter().position(|row| matches!(&*row.kind, "calls" | "grants"));
    let at = at.unwrap_or(rows.len());
    println!("{release}: {} rows from its facts", facts.len());
    rows.splice(at..at, facts);
    agree::write_rows(release, END, &rows)?;
    Ok(Ended::Passed)
}

/// The kind of the row about kfuncs.
const KFUNCS: &str = "kfuncs";

fn row_of_kfuncs(names: &BTreeSet<String>) -> Row {
    let there = if names.is_empty() { "no" } else { "yes" }.to_owned();
    let message = names.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    Row { kind: KFUNCS.to_owned(), name: "all".to_owned(), there, message }
}

/// The kfuncs that a kernel lists.
pub(super) fn kfuncs(release: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let rows = read(release)?.into_iter().filter(|row| row.kind == KFUNCS);
    let messages: Vec<String> = rows.map(|row| row.message).collect();
    Ok(messages.iter().flat_map(|it| it.split_whitespace()).map(str::to_owned).collect())
}

/// The kind of rows about attach types.
pub(super) const ATTACH: &str = "attach";

/// The attach types that BTF lists, also those that are not known here, and the known ones that it
/// does not list.
fn attach_types(btf: &Btf) -> Result<Vec<Row>, Box<dyn Error>> {
    let list = btf.find_by_name_kind("bpf_attach_type", Kind::Enum).ok_or("no attach types")?;
    let row = |name: &str, there: &str, message: String| Row {
        kind: ATTACH.to_owned(),
        name: name.to_owned(),
        there: there.to_owned(),
        message,
    };
    let listed = btf.ty(list).enumerators().filter_map(|it| {
        let name = it.name.strip_prefix("BPF_")?.to_lowercase();
        Some(row(&name, "yes", format!("{} = {}", it.name, it.value)))
    });
    let mut rows: Vec<Row> = listed.collect();
    for known in AttachType::all() {
        if rows.iter().all(|it| it.name != known.name()) {
            rows.push(row(known.name(), "no", String::new()));
        }
    }
    Ok(rows)
}

/// Whether an answer is about an item. Those about fields are made from tables of their own.
pub(super) fn is_about(row: &Row, item: Item) -> bool {
    let named = |kind: &str| row.kind == kind && row.name == item.name();
    match item {
        Item::Helper(_) => named("helper"),
        Item::Map(_) => named("map"),
        Item::Prog(_) => named("prog"),
        Item::Attach(_) => named(ATTACH),
        Item::Field(_) => named("field"),
        Item::Insn(feature) => row.kind == "insn" && insns_named(&row.name).contains(&feature),
    }
}

/// Whether there are such programs; every one may call this helper.
fn may_attach(guest: &mut Guest, asked: &Calls<'_>) -> Result<bool, Box<dyn Error>> {
    let told = probe::judge(guest, &asked.program(HelperId::KtimeGetNs))?;
    Ok(told.accepted || told.message.starts_with("At program exit"))
}

/// The helpers that a program type may not call there, although it may on 6.18 and the kernel has
/// them; no row if there are none.
fn refused_calls(guest: &mut Guest, asked: &Calls<'_>) -> Result<Option<Row>, Box<dyn Error>> {
    let mut refused = Vec::new();
    for id in asked.helpers() {
        if Calls::is_refused(&probe::judge(guest, &asked.program(id))?) {
            refused.push(id.name());
        }
    }
    Ok(row_of_calls("calls", asked, &refused))
}

/// The helpers that a program type may call there, although it may not on 6.18.
fn granted_calls(guest: &mut Guest, asked: &Calls<'_>) -> Result<Option<Row>, Box<dyn Error>> {
    let usual = asked.helpers();
    let mut granted = Vec::new();
    for id in HelperId::all().skip(1).filter(|id| !usual.contains(id)) {
        let told = probe::judge(guest, &asked.program(id))?;
        if told.judged && !Calls::is_refused(&told) && !told.message.starts_with("invalid func") {
            granted.push(id.name());
        }
    }
    Ok(row_of_calls("grants", asked, &granted))
}

fn row_of_calls(kind: &str, asked: &Calls<'_>, helpers: &[&str]) -> Option<Row> {
    let attach = AttachType::from_number(asked.attach_type).map_or("", |it| it.name());
    let always_sleeps = asked.prog_type == ProgType::Syscall;
    let sleeps = if asked.may_sleep && !always_sleeps { "/sleepable" } else { "" };
    let name = format!("{}/{attach}{sleeps}", asked.prog_type.name());
    let (kind, there) = (kind.to_owned(), "yes".to_owned());
    (!helpers.is_empty()).then(|| Row { kind, name, there, message: helpers.join(" ") })
}

#[cfg(test)]
mod tests {
    use super::super::fields;
    use super::*;
    use skep::uapi::ctx::CtxLayout;
    use skep::uapi::helper::{HelperId, HelperRow, HookKey};
    use skep::uapi::since::{self, Release};
    use skep::uapi::{MapType, ProgType, nearest_asked, not_yet};
    use std::collections::BTreeMap;

    /// The release that introduced an item, according to the table.
    fn expected(row: &Row) -> Option<Release> {
        match row.kind.as_str() {
            "helper" => since::helper(HelperId::all().find(|id| id.name() == row.name)?),
            "map" => since::map_type(MapType::all().find(|of| of.name() == row.name)?),
            "prog" => since::prog_type(ProgType::all().find(|of| of.name() == row.name)?),
            ATTACH => since::attach_type(AttachType::all().find(|of| of.name() == row.name)?),
            KFUNCS => None,
            _ => insns_named(&row.name).first().map(|it| it.since),
        }
    }

    /// Programs of a type may not call what the kernel refused, and may call all else.
    #[test]
    fn refused_calls_are_in_the_table() {
        let mut asked = 0;
        for release in agree::releases_with(END) {
            let mut refused: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            let rows = read(&release).expect("a table");
            for row in rows.iter().filter(|row| row.kind == "calls") {
                let hook = row.name.strip_suffix("/sleepable").unwrap_or(&row.name);
                refused.entry(hook).or_default().extend(row.message.split_whitespace());
            }
            for (name, refused) in refused {
                let (prog_type, attach) = name.split_once('/').expect("two names");
                let prog_type = ProgType::all().find(|it| it.name() == prog_type);
                let attach = AttachType::all().find(|it| it.name() == attach);
                let prog_type = prog_type.expect("a type");
                let attach_type = attach.expect("a type").number();
                let hook = HookKey { prog_type, attach_type, target: "" };
                let kernel = nearest_asked(&release);
                // Not asked: what such programs may not call on 6.18 either.
                let row = HelperRow::find(&hook).expect("a row").usable();
                let usable = HelperId::all().filter(|&id| row.contains(id));
                let table = usable.filter(|&id| not_yet(kernel, &hook, id));
                let table: BTreeSet<&str> = table.map(HelperId::name).collect();
                assert_eq!(table, refused, "{release} {name}");
                asked += 1;
            }
        }
        assert!(asked > 0, "no kernel was asked");
    }

    #[test]
    fn what_kernels_answered_is_what_the_table_says() {
        let mut asked = 0;
        for release in agree::releases_with(END) {
            let version: Release = release.parse().expect("a release");
            for row in read(&release).expect("a table") {
                let Some(since) = expected(&row) else { continue };
                if probe::CONFIGURED.contains(&row.name.as_str()) {
                    continue;
                }
                let there = row.there == "yes";
                if since::is_backported(&release, &row.name) {
                    assert!(there && since > version, "{release}: {}", row.name);
                    continue;
                }
                assert_eq!(there, since <= version, "{release}: {} {}", row.kind, row.name);
                asked += 1;
            }
        }
        assert!(asked > 0, "no kernel was asked");
    }

    /// Numbers are not reused: each is the value that the kernel's BTF gives to the name.
    #[test]
    fn every_kernel_lists_attach_types_with_the_numbers_here() {
        for release in agree::releases_with(END) {
            let rows = read(&release).expect("a table");
            for known in AttachType::all() {
                let about = Item::Attach(known);
                let row = rows.iter().find(|row| is_about(row, about)).expect("a row");
                let value = format!("{} = {}", known.kernel_name(), known.number());
                let message = if row.there == "yes" { value } else { String::new() };
                assert_eq!(row.message, message, "{release} {}", known.name());
            }
        }
    }

    /// A kernel that checks what programs of a type attach to, when it loads them, takes those
    /// attach types that its BTF lists.
    #[test]
    fn programs_load_for_the_attach_types_of_the_kernel() {
        let mut taken = 0;
        for release in agree::releases_with(END) {
            let rows = read(&release).expect("a table");
            let lists = |name: &str| {
                rows.iter().any(|it| it.kind == ATTACH && it.name == name && it.there == "yes")
            };
            let fields = fields::read(&release).expect("a table");
            let loaded: BTreeSet<&str> =
                fields.iter().filter(|it| it.kind == "ctx").map(|it| &*it.name).collect();
            for hook in calls(None) {
                let (caller, attach) = (fields::caller(&hook), hook.attach_type);
                let Some((prog_type, name)) = caller.split_once('/') else { continue };
                let is_field = CtxLayout::find(hook.prog_type, attach).is_some();
                if !is_field || !CHECKED.contains(&prog_type) {
                    continue;
                }
                assert_eq!(loaded.contains(&*caller), lists(name), "{release} {caller}");
                taken += 1;
            }
        }
        assert!(taken >= 35 * 25, "{taken}");
    }

    /// The types whose attach type every kernel checks when it loads a program.
    const CHECKED: [&str; 6] = [
        "cgroup_skb",
        "cgroup_sock",
        "cgroup_sock_addr",
        "cgroup_sockopt",
        "netfilter",
        "sk_lookup",
    ];
}
