//! `skep kernel`: the kernels that programs can be checked for, and what is known about each.

mod archive;
mod facts;
mod image;
mod json;
mod probe;

pub(crate) use self::facts::source;

use self::facts::{KINDS, lacking, options};
use crate::exit::Exit;
use crate::flags::{KernelCommand, KernelImportFlags};
use crate::streams::Streams;
use skep::Kernel;
use skep::kernel::{Item, Source};
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
            Err(e) => Err(e.to_string()),
        },
        KernelCommand::Diff { one, other, format } => {
            match (Kernel::open(one), Kernel::open(other)) {
                (Ok(one), Ok(other)) if format.is_json() => {
                    return json::diff(&one, &other, streams);
                }
                (Ok(one), Ok(other)) => return diff(&one, &other, streams),
                (Err(e), _) | (_, Err(e)) => Err(e.to_string()),
            }
        }
        KernelCommand::Import(flags) => import(flags),
        KernelCommand::Probe { output, facts_only } => match probe::run(*facts_only) {
            Ok(probed) => {
                let said = probed.kernel.answers().map(probe::said);
                said.map_or(Ok(()), |said| streams.note(&said))?;
                for what in &probed.not_known {
                    streams.note(&format!("not known: {what}"))?;
                }
                write(&probed.kernel, output)
            }
            Err(e) => Err(e.to_string()),
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
    for kernel in Kernel::all() {
        let (name, promise) = (kernel.name(), kernel.promise());
        writeln!(streams.out, "{name:<5}  {:<26}  {promise}", kernel.release())?;
    }
    Ok(Exit::Success)
}

/// Maximum size of a file with an image.
const FILE_BYTES_MAX: u64 = 2 << 30;

fn import(flags: &KernelImportFlags) -> Result<(), String> {
    let path = &flags.file;
    let here = |why: String| format!("{}: while importing a kernel: {why}", path.display());
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes));
    read.map_err(|e| here(skep::io_text(&e)))?;
    let found = image::unpacked(bytes).map_err(here)?;
    let kernel = Kernel::of_image(path, &found.image, flags.release.as_deref());
    let kernel = kernel.map_err(|e| e.to_string())?;
    write(&kernel.with_kconfig(found.kconfig.as_deref()), &flags.output)
}

fn write(kernel: &Kernel, output: &Path) -> Result<(), String> {
    std::fs::write(output, kernel.to_bytes())
        .map_err(|e| format!("{}: {}", output.display(), skep::io_text(&e)))
}

/// Differences between two kernels, and facts known about one of them only.
fn diff(one: &Kernel, other: &Kernel, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let mut not_known = 0;
    for item in Item::all() {
        match (one.has(item), other.has(item)) {
            (Some(true), Some(false)) => writeln!(streams.out, "only {}: {item}", one.name())?,
            (Some(false), Some(true)) => writeln!(streams.out, "only {}: {item}", other.name())?,
            (Some(_), Some(_)) => {}
            _ => not_known += 1,
        }
    }
    if not_known > 0 {
        writeln!(streams.out, "unknown for one of them: {not_known}")?;
    }
    let mut not_known = 0;
    for rule in BEHAVIOURS {
        match (one.holds(rule), other.holds(rule)) {
            (Some(true), Some(false)) => {
                writeln!(streams.out, "only {}: rule: {}", one.name(), rule.text)?;
            }
            (Some(false), Some(true)) => {
                writeln!(streams.out, "only {}: rule: {}", other.name(), rule.text)?;
            }
            (Some(_), Some(_)) => {}
            _ => not_known += 1,
        }
    }
    if not_known > 0 {
        writeln!(streams.out, "rules unknown for one of them: {not_known}")?;
    }
    Ok(Exit::Success)
}

fn show(kernel: &Kernel, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let out = &mut *streams.out;
    writeln!(out, "release        {}", kernel.release())?;
    let asked = match kernel.source() {
        Source::Asked => "determined on a kernel of this release",
        Source::Table => "from the table of upstream releases, not tested",
        Source::File => "from its BTF, and from the table of upstream releases",
    };
    writeln!(out, "surface        {asked}")?;
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
    let (of, out) = (BEHAVIOURS.len(), &mut *streams.out);
    match kernel.rules_known() {
        (known, None) if known == of => writeln!(out, "rules known    all")?,
        (known, Some(whose)) if known == of => writeln!(out, "rules known    all; {whose}")?,
        (0, Some(whose)) => writeln!(out, "rules known    none; {whose}")?,
        (known, whose) => {
            let whose = whose.unwrap_or_default();
            writeln!(out, "rules known    {known} of {of}; otherwise {whose}")?;
        }
    }
    writeln!(streams.out, "accepted       {}", kernel.promise())?;
    Ok(Exit::Success)
}

/// Features of 6.18 that this kernel lacks.
fn absent(kernel: &Kernel, kind: &str, streams: &mut Streams<'_>) -> io::Result<()> {
    let names = lacking(kernel, kind);
    let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    writeln!(streams.out, "absent {kind}s: {list}")
}
