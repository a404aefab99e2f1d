//! One insn per line, in the kernel's notation, below the source lines.

use crate::diagnostic::source_spot;
use crate::judge_files::base_name;
use skep::btf::TypeId;
use skep::insn_text::{insn_text, line_info, map_text};
use skep::program::Program;
use skep::uapi::ProgType;
use skep_report::{counted, printable};
use std::io::{self, Write};

/// The attach type, if the program type has several. 0 means both no attach type and that of
/// ingress.
fn attach_text(program: &Program) -> String {
    let said = program.expected_attach_type != 0 || program.prog_type == ProgType::CgroupSkb;
    let name = program.attach_type().map_or("unspec", |attach| attach.name());
    if said { format!(", attach {name}") } else { String::new() }
}

/// Writes one program.
pub(super) fn write(out: &mut dyn Write, program: &Program) -> io::Result<()> {
    writeln!(
        out,
        "program {} (section \"{}\", type {}{}, {})",
        printable(&program.name),
        printable(&program.section),
        program.prog_type.name(),
        attach_text(program),
        counted(program.insns.len() as u64, "insn")
    )?;
    let mut second_half = false;
    for (idx, insn) in program.insns.iter().enumerate() {
        if second_half {
            second_half = false;
            continue;
        }
        if let Some(name) = function_at(program, idx) {
            writeln!(out, "{}:", printable(&name))?;
        }
        if starts_line(program, idx)
            && let Some(spot) = source_spot(program, idx)
        {
            // As in the verifier's log: the file name without its folder.
            let (text, file) = (printable(spot.text.trim()), printable(base_name(&spot.file)));
            writeln!(out, "; {text} @ {file}:{}", spot.line)?;
        }
        let text = insn_text(program, idx).unwrap_or_default();
        match map_text(program, idx) {
            Some(map) => writeln!(out, "{idx}: {text:<40} ; {}", printable(&map))?,
            None => writeln!(out, "{idx}: {text}")?,
        }
        second_half = insn.is_ld_imm64();
    }
    writeln!(out)
}

/// Name of the function that starts here, from func info; the program's own name at 0.
fn function_at(program: &Program, idx: usize) -> Option<String> {
    let row = program.func_info.iter().find(|row| row.insn_off.index() == idx);
    let named = row.and_then(|row| program.btf.as_ref()?.get(TypeId(row.type_id)));
    match named {
        Some(ty) => Some(ty.name().to_owned()),
        None if idx == 0 => Some(program.name.clone()),
        None => None,
    }
}

fn starts_line(program: &Program, idx: usize) -> bool {
    line_info(program, idx).is_some_and(|row| row.insn_off.index() == idx)
}
