//! `skep kernel`: which kernels programs can be checked for, and what is known of each.

use crate::exit::Exit;
use crate::flags::{KernelCommand, KernelImportFlags};
use crate::streams::Streams;
use skep::Kernel;
use skep::kernel::ASKED;
use skep::program::{MapDef, Program};
use skep::uapi::helper::HelperId;
use skep::uapi::{MapType, ProgType};
use std::io;

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(command: &KernelCommand, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let done = match command {
        KernelCommand::List => {
            for (name, release) in ASKED {
                writeln!(streams.out, "{name:<6} {release}")?;
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
    let asked = match kernel.was_asked() {
        true => "a kernel of this release was asked what there is on it",
        false => "from the table, not asked",
    };
    writeln!(out, "surface        {asked}")?;
    match kernel.btf() {
        Some(btf) => writeln!(out, "BTF            {} types", btf.len())?,
        None => writeln!(out, "BTF            not known; skep kernel import makes a file with it")?,
    }
    let lacking = |program: Program| kernel.lacks(&program, 0..program.insns.len()).is_some();
    let helper = |id: &HelperId| {
        use skep::insn::Insn;
        use skep::insn::code::{BPF_CALL, BPF_JMP};
        let call = Insn { code: BPF_JMP | BPF_CALL, imm: *id as i32, ..Insn::default() };
        lacking(Program { insns: vec![call], ..Program::default() })
    };
    let map = |map_type: &MapType| {
        let map = MapDef { map_type: *map_type, autocreate: true, ..MapDef::default() };
        lacking(Program { maps: vec![map].into(), ..Program::default() })
    };
    let prog =
        |prog_type: &ProgType| lacking(Program { prog_type: *prog_type, ..Program::default() });
    let helpers = HelperId::all().filter(helper).map(HelperId::name);
    let maps = MapType::all().filter(map).map(MapType::name);
    let progs = ProgType::all().filter(prog).map(ProgType::name);
    absent("helpers", helpers.collect(), streams)?;
    absent("map types", maps.collect(), streams)?;
    absent("program types", progs.collect(), streams)?;
    writeln!(streams.out, "behaviours     {}", Kernel::CAVEAT)?;
    Ok(Exit::Success)
}

/// What 6.18 has and this kernel has not.
fn absent(what: &str, names: Vec<&str>, streams: &mut Streams<'_>) -> io::Result<()> {
    let list = if names.is_empty() { "none".to_owned() } else { names.join(" ") };
    writeln!(streams.out, "absent {what}: {list}")
}
