//! `skep kernel`: which kernels programs can be checked for, and what is known of each.

use crate::exit::Exit;
use crate::flags::{KernelCommand, KernelImportFlags};
use crate::streams::Streams;
use skep::Kernel;
use skep::kernel::{Item, Source};
use std::io;

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(command: &KernelCommand, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let done = match command {
        KernelCommand::List => {
            for kernel in Kernel::all() {
                let (name, promise) = (kernel.name(), kernel.promise());
                writeln!(streams.out, "{name:<5}  {:<26}  {promise}", kernel.release())?;
            }
            return Ok(Exit::Success);
        }
        KernelCommand::Show { kernel } => match Kernel::open(kernel) {
            Ok(kernel) => return show(&kernel, streams),
            Err(e) => Err(e.to_string()),
        },
        KernelCommand::Import(flags) => import(flags),
    };
    match done {
        Ok(()) => Ok(Exit::Success),
        Err(why) => {
            streams.error(&why)?;
            Ok(Exit::Input)
        }
    }
}

fn import(flags: &KernelImportFlags) -> Result<(), String> {
    let kernel =
        Kernel::import(&flags.file, flags.release.as_deref()).map_err(|e| e.to_string())?;
    std::fs::write(&flags.output, kernel.to_bytes())
        .map_err(|e| format!("{}: {}", flags.output.display(), skep::io_text(&e)))
}

fn show(kernel: &Kernel, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let out = &mut *streams.out;
    writeln!(out, "release        {}", kernel.release())?;
    let asked = match kernel.source() {
        Source::Asked => "a kernel of this release was asked what there is on it",
        Source::Table => "upstream's, from the table, not asked",
        Source::File => "its BTF says what there is; of the rest the table of upstream",
    };
    writeln!(out, "surface        {asked}")?;
    match kernel.btf() {
        Some(btf) => writeln!(out, "BTF            {} types", btf.len())?,
        None => writeln!(out, "BTF            not known; skep kernel import makes a file with it")?,
    }
    for kind in KINDS {
        absent(kernel, kind, streams)?;
    }
    writeln!(streams.out, "accepted       {}", kernel.promise())?;
    Ok(Exit::Success)
}

/// Kinds of what there is on a kernel, as `Item::kind` has them.
const KINDS: [&str; 5] = ["helper", "map type", "program type", "attach type", "insn"];

/// What 6.18 has and this kernel has not.
fn absent(kernel: &Kernel, kind: &str, streams: &mut Streams<'_>) -> io::Result<()> {
    let lacking = |item: &Item| item.kind() == kind && kernel.has(*item) == Some(false);
    let names: Vec<_> = Item::all().filter(lacking).map(Item::name).collect();
    let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    writeln!(streams.out, "absent {kind}s: {list}")
}
