//! `cargo xtask kernels probe`: asks a kernel like `skep kernel probe`, and compares the result
//! with the built-in kernel of the same release; records what differs. Also the small questions of
//! `ask`.

use super::agree;
use super::folder::{config, folder};
use super::guest::Guest;
use super::machine::Machine;
use crate::outcome::Ended;
use serde::{Deserialize, Serialize};
use skep::Kernel;
use skep::btf::LATER_KINDS;
use skep::kernel::ask::{calls, questions, witnesses_packed};
use skep::kernel::{Item, Judged};
use skep::program::Program;
use skep::uapi::helper::HookKey;
use skep::uapi::{BEHAVIOURS, nearest_asked, not_yet};
use skep_kernel::wire;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    machine: Machine,
}

/// Time limit for loading a small program.
const LIMIT: Duration = Duration::from_secs(60);

/// The guest kernel's result for a program.
pub(super) fn judge(guest: &mut Guest, program: &Program) -> io::Result<Judged> {
    wire::judged(program, |load| guest.load(load, program.btf.as_ref(), LIMIT))
}

/// Kinds of BTF that the kernel refuses: a program with such a type is loaded without its BTF.
pub(super) fn absent_kinds(guest: &mut Guest) -> Result<Vec<&'static str>, Box<dyn Error>> {
    let mut absent = Vec::new();
    for question in questions(None).into_iter().filter(|it| it.kind() == "btf") {
        if question.answer(&judge(guest, &question.program)?) == Some(false) {
            absent.push(question.name);
        }
    }
    Ok(absent)
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let folder = folder(&args.machine);
    fs::create_dir_all(&folder)?;
    let mut guest = Guest::boot(&args.machine, &folder.join("console.probe"))?;
    let started = Instant::now();
    let probed = probed(&args.machine, &mut guest)?;
    let seconds = started.elapsed().as_secs();
    let path = folder.join("probed.kernel");
    fs::write(&path, probed.to_bytes())?;
    let path = path.to_string_lossy();
    let probed = Kernel::open(&path)?;
    let [things, callers, rules] =
        probed.answers().map(skep::kernel::Answers::counts).unwrap_or_default();
    println!(
        "{}: {things} things, {callers} kinds of callers, {rules} rules answered in {seconds} s",
        probed.release(),
    );
    let differences = differences(&probed, &Kernel::open(&args.machine.kernel)?);
    println!("{} as the built-in kernel does not say", differences.len());
    differences.iter().for_each(|difference| println!("  {difference}"));
    let is_same = differences.is_empty();
    let counted = [("things", things), ("callers", callers), ("rules", rules)];
    let counted =
        counted.map(|(what, count)| Row { what: what.to_owned(), says: count.to_string() });
    let differing = differences.into_iter().map(|says| Row { what: "differs".to_owned(), says });
    let rows: Vec<Row> = counted.into_iter().chain(differing).collect();
    agree::write_rows(&args.machine.kernel, END, &rows)?;
    Ok(is_same.into())
}

/// A line about a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    /// `things`, `callers`, `rules`: how many were answered; `differs`.
    what: String,
    says: String,
}

/// Suffix of the tables' file names, after the release.
const END: &str = ".probe.csv";

const PROBES: &str = "
## Probes of the tested kernels

What `skep kernel probe` found in a guest with each of them: how many questions about features, kinds of programs that call helpers, and
rules were answered, and which answers differ from the built-in kernel (`cargo xtask kernels probe`; `tests/kernels/asked/*.probe.csv`).

| kernel | features | callers | rules | of | differences |
|---|--:|--:|--:|--:|---|
";

/// A table of all probes.
pub(super) fn table() -> Result<String, Box<dyn Error>> {
    let mut text = PROBES.to_owned();
    for release in agree::releases_with(END) {
        let rows: Vec<Row> = agree::read_rows(&release, END)?;
        let of = |what: &str| -> Vec<&str> {
            rows.iter().filter(|row| row.what == what).map(|row| row.says.as_str()).collect()
        };
        let counts = ["things", "callers", "rules"].map(|what| of(what).concat()).join(" | ");
        let differences = match of("differs") {
            none if none.is_empty() => "none".to_owned(),
            some => some.join("; "),
        };
        let rules = BEHAVIOURS.len();
        let _ = writeln!(text, "| {release} | {counts} | {rules} | {differences} |");
    }
    Ok(text)
}

/// The guest's kernel as `skep kernel probe` would determine it there.
fn probed(machine: &Machine, guest: &mut Guest) -> Result<Kernel, Box<dyn Error>> {
    const BTF: &str = "/sys/kernel/btf/vmlinux";
    let btf = guest.read(BTF)?.ok_or("no BTF there")?;
    let kernel = Kernel::of_image(Path::new(BTF), &btf, Some(&guest.release))?;
    let config = config(machine).map(fs::read_to_string).transpose()?;
    let kernel = kernel.with_kconfig(config.as_deref());
    let mut lost = None;
    let mut ask = |program: &Program| {
        judge(guest, program).unwrap_or_else(|why| {
            lost.get_or_insert(why);
            Judged::default()
        })
    };
    let asked = kernel.asked(&mut ask)?;
    match lost {
        Some(why) => Err(why.into()),
        None => Ok(asked),
    }
}

/// Their absence says nothing about the release: not built into Debian's cloud kernels; only there
/// if BPF is among the active security modules, which it is not by default on Ubuntu.
pub(super) const CONFIGURED: [&str; 2] = ["lirc_mode2", "inode_storage"];

/// Differences between a probed and a built-in kernel.
fn differences(probed: &Kernel, built_in: &Kernel) -> Vec<String> {
    let mut all = Vec::new();
    let mut differ = |what: String, one: Option<bool>, other: Option<bool>| {
        if one != other {
            all.push(format!("{what}: asked {one:?}, built in {other:?}"));
        }
    };
    for item in Item::all().filter(|item| !CONFIGURED.contains(&item.name())) {
        differ(item.to_string(), probed.has(item), built_in.has(item));
    }
    for rule in BEHAVIOURS {
        differ(format!("rule {}", rule.name), probed.holds(rule), built_in.holds(rule));
    }
    for asked in calls(None) {
        let hook =
            HookKey { prog_type: asked.prog_type, attach_type: asked.attach_type, target: "" };
        let nearest = nearest_asked(built_in.release());
        for id in asked.helpers() {
            let Some(refused) = probed.answers().and_then(|it| it.refuses_call(&hook, id)) else {
                continue;
            };
            // A missing helper is refused to all programs.
            let is_there = built_in.has(Item::Helper(id)) == Some(true);
            let expected = not_yet(nearest, &hook, id);
            if is_there {
                differ(
                    format!("{} from {}", id.name(), hook.prog_type),
                    Some(refused),
                    Some(expected),
                );
            }
        }
    }
    let (one, other) = (probed.host().absent_btf_kinds, built_in.host().absent_btf_kinds);
    for kind in LATER_KINDS {
        differ(kind.name().to_owned(), Some(one.contains(&kind)), Some(other.contains(&kind)));
    }
    all
}

/// The packed witness programs of the library.
const PACKED: &str = "crates/skep/src/kernel/ask/witnesses.gz";

/// Names of objects, and their bytes.
type Objects = Vec<(String, Vec<u8>)>;

/// The witness objects of all rules, all of them ours to distribute.
fn witnesses() -> Result<Objects, Box<dyn Error>> {
    let names: BTreeSet<&str> = BEHAVIOURS.iter().map(|row| row.witness.object).collect();
    let read = |name: &str| Ok((name.to_owned(), fs::read(witness_path(name))?));
    names.into_iter().map(read).collect()
}

/// Path of a witness's source, beside its object.
pub(super) fn witness_path(object: &str) -> PathBuf {
    let tests = crate::root().join("tests");
    match object.split_once('/') {
        Some(("witnesses", _)) => tests.join("kernels").join(object),
        Some(("programs", name)) => tests.join("programs").join(name),
        _ => tests.join("programs").join(object),
    }
}

/// Packs the witness programs for the library.
#[derive(clap::Args)]
pub(crate) struct PackArgs {
    /// Change nothing; fail if the file is not up to date.
    #[arg(long)]
    check: bool,
}

pub(crate) fn pack(args: &PackArgs) -> crate::Outcome {
    let path = crate::root().join(PACKED);
    let (packed, old) = (witnesses_packed(&witnesses()?), fs::read(&path).unwrap_or_default());
    let same = packed == old;
    if !same && args.check {
        println!("{PACKED}: out of date; run `cargo xtask kernels witnesses`");
    } else if !same {
        fs::write(&path, packed)?;
    }
    Ok(if same || !args.check { Ended::Passed } else { Ended::Failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_asks_with_the_witnesses_of_today() {
        let packed = witnesses_packed(&witnesses().expect("our objects"));
        let old = fs::read(crate::root().join(PACKED)).expect("it is committed");
        assert!(packed == old, "run `cargo xtask kernels witnesses`");
    }
}
