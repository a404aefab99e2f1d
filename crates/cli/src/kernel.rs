//! `skep kernel`: the kernels that programs can be checked for, and what is known about each.

mod archive;
mod facts;
mod image;
mod json;
mod probe;

pub(crate) use self::facts::source;

use self::facts::{KINDS, lacking, options, unclear, unknown};
use crate::Error;
use crate::exit::Exit;
use crate::flags::{KernelCommand, KernelImportFlags};
use crate::streams::Streams;
use skep::Kernel;
use skep::kernel::{ASKED, DISTRIBUTIONS, Item, Source};
use skep::uapi::BEHAVIOURS;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(command: &KernelCommand, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let done = match command {
        KernelCommand::List { format } => {
            return match format.is_json() {
                true => json::list(streams),
                false => list(streams),
            };
        }
        KernelCommand::Show { kernel, format } => match Kernel::open(kernel) {
            Ok(kernel) if format.is_json() => return json::show(&kernel, streams),
            Ok(kernel) => return show(&kernel, streams),
            Err(e) => Err(Error::caused(e)),
        },
        KernelCommand::Diff { one, other, unknown, format } => {
            match (Kernel::open(one), Kernel::open(other)) {
                (Ok(one), Ok(other)) if format.is_json() => {
                    return json::diff(&one, &other, streams);
                }
                (Ok(one), Ok(other)) => return diff(&one, &other, *unknown, streams),
                (Err(e), _) | (_, Err(e)) => Err(Error::caused(e)),
            }
        }
        KernelCommand::Import(flags) => match import(flags) {
            Ok(kernel) => {
                oddity(&kernel).map_or(Ok(()), |note| streams.note(&note))?;
                write(&kernel, &flags.output)
            }
            Err(why) => Err(why),
        },
        KernelCommand::Probe { output, facts_only } => match probe::run(*facts_only) {
            Ok(probed) => {
                let said = probed.kernel.answers().map(probe::said);
                said.map_or(Ok(()), |said| streams.note(&said))?;
                for what in &probed.not_known {
                    streams.note(&format!("not known: {what}"))?;
                }
                write(&probed.kernel, output)
            }
            Err(e) => Err(Error::caused(e)),
        },
    };
    match done {
        Ok(()) => Ok(Exit::Success),
        Err(why) => {
            streams.error(&why)?;
            Ok(Exit::Input)
        }
    }
}

fn list(streams: &mut Streams<'_>) -> io::Result<Exit> {
    for kernel in Kernel::builds() {
        let (name, worth) = (kernel.name(), worth(&kernel));
        writeln!(streams.out, "{name:<13}  {:<26}  {worth}", kernel.release())?;
    }
    for (of, name) in DISTRIBUTIONS {
        writeln!(streams.out, "{of:<13}  is {name}")?;
    }
    Ok(Exit::Success)
}

/// What verdicts for a kernel are worth, so short that a line of the list has 80 columns.
fn worth(kernel: &Kernel) -> String {
    let (known, of) = (kernel.rules_known().0, BEHAVIOURS.len());
    let Some(agreement) = kernel.agreement() else {
        let tested = if kernel.is_tested() { "tested" } else { "not tested" };
        return format!("{tested}: {known} of {of} rules known");
    };
    let share = agreement.percent();
    let wrong = match agreement.false_accepts {
        0 => String::new(),
        count => format!(", {count} too lenient"),
    };
    format!("tested: {share:.1} % of {} verdicts agree{wrong}", agreement.judged)
}

/// Maximum size of a file with an image.
const FILE_BYTES_MAX: u64 = 2 << 30;

fn import(flags: &KernelImportFlags) -> Result<Kernel, Error> {
    let path = &flags.file;
    let place = || format!("{}: while importing a kernel", path.display());
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes));
    read.map_err(|e| Error::io(place(), e))?;
    let found = image::unpacked(bytes).map_err(|e| Error::at(place(), e))?;
    let release = match (flags.release.as_deref(), found.release.as_deref()) {
        (Some(release), Some(named)) if release != named => {
            let why = format!("{}: it is the BTF of {named}, not that of --release", place());
            return Err(why.into());
        }
        (release, named) => release.or(named),
    };
    let kernel = Kernel::of_image(path, &found.image, release).map_err(Error::caused)?;
    Ok(kernel.with_kconfig(found.kconfig.as_deref()))
}

/// As many names are given.
const NAMES_MAX: usize = 5;

/// What is odd about a kernel's BTF: it is not that of the tested kernel of its release, or has
/// what came after it.
fn oddity(kernel: &Kernel) -> Option<String> {
    let release = kernel.release();
    let claims = ASKED.iter().any(|(_, asked)| *asked == release) && !kernel.was_asked();
    let other = claims.then(|| {
        format!("{release}: a kernel of this release was tested, but it has other BTF than this")
    });
    newer(kernel).or_else(|| other.filter(|_| kernel.btf().is_some()))
}

/// What a kernel's BTF has although its release is older.
fn newer(kernel: &Kernel) -> Option<String> {
    let items = kernel.newer_items();
    let first: Vec<String> = items.iter().take(NAMES_MAX).map(Item::to_string).collect();
    let more = items.len() - first.len();
    let and = if more > 0 { format!(", and {more} more") } else { String::new() };
    let (release, list) = (kernel.release(), first.join(", "));
    let note = format!(
        "{release}: its BTF has what came after this release: {list}{and}; either the kernel has \
         backports, or this is the BTF of another one"
    );
    (!items.is_empty()).then_some(note)
}

fn write(kernel: &Kernel, output: &Path) -> Result<(), Error> {
    std::fs::write(output, kernel.to_bytes()).map_err(|e| Error::io(output.display(), e))
}

/// Differences between two kernels, and what is not known about one of them.
fn diff(
    one: &Kernel,
    other: &Kernel,
    names_unknown: bool,
    streams: &mut Streams<'_>,
) -> io::Result<Exit> {
    let items = Item::all().map(|item| (item.to_string(), one.has(item), other.has(item)));
    let rules = BEHAVIOURS.iter();
    let rules =
        rules.map(|rule| (format!("rule: {}", rule.text), one.holds(rule), other.holds(rule)));
    let (mut items_unknown, mut rules_unknown) = (Vec::new(), Vec::new());
    for (is_rule, (text, one_has, other_has)) in
        items.map(|it| (false, it)).chain(rules.map(|it| (true, it)))
    {
        match (one_has, other_has) {
            (Some(true), Some(false)) => writeln!(streams.out, "only {}: {text}", one.name())?,
            (Some(false), Some(true)) => writeln!(streams.out, "only {}: {text}", other.name())?,
            (Some(_), Some(_)) => {}
            _ if is_rule => rules_unknown.push(text),
            _ => items_unknown.push(text),
        }
    }
    let unknown = [("unknown", items_unknown), ("rules unknown", rules_unknown)].into_iter();
    for (what, texts) in unknown.filter(|(_, texts)| !texts.is_empty()) {
        let count = texts.len();
        match names_unknown {
            true => writeln!(streams.out, "{what} for one of them: {count}")?,
            false => {
                writeln!(streams.out, "{what} for one of them: {count} (--unknown lists them)")?;
            }
        }
        for text in texts.iter().filter(|_| names_unknown) {
            writeln!(streams.out, "unknown: {text}")?;
        }
    }
    Ok(Exit::Success)
}

fn show(kernel: &Kernel, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let out = &mut *streams.out;
    writeln!(out, "release        {}", kernel.release())?;
    let asked = match kernel.source() {
        Source::Asked => "determined on a kernel of this release".to_owned(),
        Source::Table => "from the table of upstream releases, not tested".to_owned(),
        Source::File => surface(kernel),
    };
    writeln!(out, "surface        {asked}")?;
    if let Some(row) = kernel.from_table() {
        writeln!(out, "composed       of the BPF of {}, by {}", row.rules, row.source)?;
    }
    if let Some(answers) = kernel.answers() {
        writeln!(out, "answers        {}", probe::said(answers))?;
    }
    match kernel.btf() {
        Some(btf) => writeln!(out, "BTF            {} types", btf.len())?,
        None => writeln!(out, "BTF            not known; skep kernel import makes a file with it")?,
    }
    let options = options(kernel).map(|options| format!("{options} options"));
    let config = options.unwrap_or("not known".to_owned());
    writeln!(out, "configuration  {config}")?;
    for kind in KINDS {
        absent(kernel, kind, streams)?;
    }
    writeln!(streams.out, "rules known    {}", rules_known(kernel))?;
    let unclear = unclear(kernel);
    if !unclear.is_empty() {
        let list = unclear.join(", ");
        writeln!(streams.out, "rules unclear  {list}: the answers fit no known value")?;
    }
    if let Some(note) = oddity(kernel) {
        writeln!(streams.out, "note           {note}")?;
    }
    writeln!(streams.out, "accepted       {}", kernel.promise())?;
    Ok(Exit::Success)
}

/// Where the features of a kernel that was not tested here are from.
fn surface(kernel: &Kernel) -> String {
    let probed = kernel.answers().map(|_| "probed, otherwise ").unwrap_or_default();
    let btf = kernel.btf().map(|_| "from its BTF, and ").unwrap_or_default();
    format!("{probed}{btf}from the table of upstream releases")
}

/// How many rules are known, and from where: the kernel itself is asked about rules only when it is
/// probed, or was tested.
fn rules_known(kernel: &Kernel) -> String {
    let (of, (known, whose)) = (BEHAVIOURS.len(), kernel.rules_known());
    let probed = kernel.answers().map_or(0, |answers| answers.counts()[2]);
    if kernel.answers().is_none() && kernel.source() != Source::File {
        return match whose {
            None if known == of => "all".to_owned(),
            None => format!("{known} of {of}; otherwise those of 6.18"),
            Some(whose) if known == of => format!("all; {whose}"),
            Some(whose) if known == 0 => format!("none; {whose}"),
            Some(whose) => format!("{known} of {of}; otherwise {whose}"),
        };
    }
    if probed >= of {
        return "all, probed".to_owned();
    }
    let (by_release, others) = (known.saturating_sub(probed), of - known);
    let whose = whose.unwrap_or_else(|| "those of 6.18".to_owned());
    format!(
        "{probed} of {of} probed; {by_release} known of its release, {others} otherwise {whose}"
    )
}

/// Features of 6.18 that this kernel lacks, and those that it may lack.
fn absent(kernel: &Kernel, kind: &str, streams: &mut Streams<'_>) -> io::Result<()> {
    let (names, unknown) = (lacking(kernel, kind).join(", "), unknown(kernel, kind).join(", "));
    let list = match (names.is_empty(), unknown.is_empty()) {
        (true, true) => "none".to_owned(),
        (true, false) => format!("not known: {unknown}"),
        (false, true) => names,
        (false, false) => format!("{names}; not known: {unknown}"),
    };
    writeln!(streams.out, "absent {kind}s: {list}")
}
