//! `skep kernel ... -o json`: the same as the text; the schemas are `docs/schema/kernel-*.v1.json`.

use super::facts::{KINDS, lacking, options, source, unclear, unknown};
use crate::exit::Exit;
use crate::streams::Streams;
use serde::Serialize;
use skep::Kernel;
use skep::kernel::Item;
use skep::uapi::{BEHAVIOURS, Behaviour};
use skep_report::{JsonForm, write_json_text};
use std::collections::BTreeMap;
use std::io;

/// A summary of a kernel.
#[derive(Serialize)]
struct Named {
    name: String,
    release: String,
    /// How the kernel's features are known.
    source: &'static str,
    /// Where it is documented whose features it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    documented: Option<&'static str>,
    /// How far its verdicts agreed with ours; which programs are accepted depends on it.
    promise: String,
}

#[derive(Serialize)]
struct Listed {
    version: u32,
    kernels: Vec<Named>,
}

#[derive(Serialize)]
struct Shown {
    version: u32,
    #[serde(flatten)]
    kernel: Named,
    btf_types: Option<usize>,
    config_options: Option<usize>,
    /// Names of the features of 6.18 that this kernel lacks, by kind.
    absent: BTreeMap<&'static str, Vec<&'static str>>,
    /// Names of those of which it is not known.
    not_known: BTreeMap<&'static str, Vec<&'static str>>,
    rules: Rules,
}

/// How many rules are known, and from where.
#[derive(Serialize)]
struct Rules {
    all: usize,
    known: usize,
    /// Those that the kernel itself answered.
    probed: usize,
    /// Those whose answers fit no known value.
    unclear: Vec<&'static str>,
}

#[derive(Serialize)]
struct Differences {
    version: u32,
    one: Named,
    other: Named,
    only_one: Vec<Feature>,
    only_other: Vec<Feature>,
    /// Number of features for which it is not known whether one of the two kernels has them.
    not_known: usize,
    /// These features.
    unknown: Vec<Feature>,
}

/// A feature that a kernel has or lacks.
#[derive(Serialize)]
struct Feature {
    kind: &'static str,
    name: &'static str,
    /// The release that brought it, upstream.
    since: Option<String>,
}

impl Named {
    fn of(kernel: &Kernel) -> Named {
        Named {
            name: kernel.name().to_owned(),
            release: kernel.release().to_owned(),
            source: source(kernel),
            documented: kernel.from_table().map(|it| it.source),
            promise: kernel.promise(),
        }
    }
}

impl Feature {
    fn of(item: Item) -> Feature {
        let since = item.since().map(|release| release.to_string());
        Feature { kind: item.kind(), name: item.name(), since }
    }

    fn of_rule(rule: &Behaviour) -> Feature {
        Feature { kind: "rule", name: rule.name, since: None }
    }
}

pub(super) fn list(streams: &mut Streams<'_>) -> io::Result<Exit> {
    let kernels = Kernel::builds().iter().map(Named::of).collect();
    print(&Listed { version: 1, kernels }, streams)
}

pub(super) fn show(kernel: &Kernel, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let shown = Shown {
        version: 1,
        kernel: Named::of(kernel),
        btf_types: kernel.btf().map(|btf| btf.len()),
        config_options: options(kernel),
        absent: KINDS.map(|kind| (kind, lacking(kernel, kind))).into(),
        not_known: KINDS.map(|kind| (kind, unknown(kernel, kind))).into(),
        rules: Rules {
            all: BEHAVIOURS.len(),
            known: BEHAVIOURS.iter().filter(|rule| kernel.holds(rule).is_some()).count(),
            probed: kernel.answers().map_or(0, |answers| answers.counts()[2]),
            unclear: unclear(kernel),
        },
    };
    print(&shown, streams)
}

pub(super) fn diff(one: &Kernel, other: &Kernel, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let (mut only_one, mut only_other, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for item in Item::all() {
        match (one.has(item), other.has(item)) {
            (Some(true), Some(false)) => only_one.push(Feature::of(item)),
            (Some(false), Some(true)) => only_other.push(Feature::of(item)),
            (Some(_), Some(_)) => {}
            _ => unknown.push(Feature::of(item)),
        }
    }
    for rule in BEHAVIOURS {
        match (one.holds(rule), other.holds(rule)) {
            (Some(true), Some(false)) => only_one.push(Feature::of_rule(rule)),
            (Some(false), Some(true)) => only_other.push(Feature::of_rule(rule)),
            (Some(_), Some(_)) => {}
            _ => unknown.push(Feature::of_rule(rule)),
        }
    }
    let (one, other) = (Named::of(one), Named::of(other));
    let not_known = unknown.len();
    let differences =
        Differences { version: 1, one, other, only_one, only_other, not_known, unknown };
    print(&differences, streams)
}

fn print(document: &impl Serialize, streams: &mut Streams<'_>) -> io::Result<Exit> {
    write_json_text(streams.out, document, JsonForm::Pretty)?;
    writeln!(streams.out)?;
    Ok(Exit::Success)
}
