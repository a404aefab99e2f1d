//! The insns after the verifier's rewrites, as `bpftool prog dump xlated` prints them.
//!
//! Departure: bpftool identifies a map by its id in the kernel; here it has its name.

use crate::diagnostic::source_spot;
use skep::insn::Insn;
use skep::insn::code::*;
use skep::insn_text::insn_text_of;
use skep::program::{MapIdx, Program};
use skep::verifier::{VerifiedProgram, Xlated};
use skep_report::{SourceSpot, printable};
use std::io::{self, Write};

/// Writes one program.
pub(super) fn write(
    out: &mut dyn Write,
    verified: &VerifiedProgram,
    xlated: &Xlated,
) -> io::Result<()> {
    let mut lines = Lines::new(verified, xlated);
    for idx in 0..xlated.insns().len() {
        lines.write(out, idx)?;
    }
    writeln!(out)
}

/// The lines of a program, insn by insn.
pub(super) struct Lines<'a> {
    program: &'a Program,
    xlated: &'a Xlated,
    last_spot: Option<SourceSpot>,
    second_half: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(verified: &'a VerifiedProgram, xlated: &'a Xlated) -> Lines<'a> {
        Lines { program: verified.program(), xlated, last_spot: None, second_half: false }
    }

    /// The function and the source line that start at an insn, and the insn.
    pub(super) fn write(&mut self, out: &mut dyn Write, idx: usize) -> io::Result<()> {
        let (program, xlated) = (self.program, self.xlated);
        let Some(&insn) = xlated.insns().get(idx) else { return Ok(()) };
        if std::mem::take(&mut self.second_half) {
            return Ok(());
        }
        if let Some(subprog) = xlated.subprogs().iter().find(|s| s.start as usize == idx) {
            let name = if idx == 0 { &program.name } else { &subprog.name };
            writeln!(out, "{}:", printable(name))?;
        }
        let spot = source_spot(program, xlated.origin(idx) as usize);
        if let Some(spot) = spot.filter(|spot| self.last_spot.as_ref() != Some(spot)) {
            writeln!(out, "; {}", printable(spot.text.trim()))?;
            self.last_spot = Some(spot);
        }
        let text = insn_text_of(program, &xlated.insns()[idx..]);
        writeln!(out, "{idx:4}: {}", printable(&resolved(program, xlated, idx, insn, text)))?;
        self.second_half = insn.is_ld_imm64();
        Ok(())
    }
}

/// The text with the names of maps and functions.
pub(super) fn resolved(
    program: &Program,
    xlated: &Xlated,
    idx: usize,
    insn: Insn,
    text: String,
) -> String {
    let function = || {
        let start = (idx as i64 + 1 + i64::from(insn.imm)) as u32;
        let found = xlated.subprogs().iter().find(|s| s.start == start);
        found.map(|s| s.name.as_str()).unwrap_or_default()
    };
    let map = || {
        let found = u32::try_from(insn.imm).ok().and_then(|map| program.map(MapIdx(map)));
        found.map(|map| map.name.as_str()).unwrap_or_default()
    };
    let value = match (insn.is_ld_imm64(), insn.src) {
        (true, BPF_PSEUDO_MAP_FD) => format!("map[{}]", map()),
        (true, BPF_PSEUDO_MAP_VALUE) => {
            let off = xlated.insns().get(idx + 1).map_or(0, |second| second.imm);
            format!("map[{}][0]{off:+}", map())
        }
        (true, BPF_PSEUDO_FUNC) => format!("subprog[{:+}]", insn.imm),
        (false, BPF_PSEUDO_CALL) if insn.code == BPF_JMP | BPF_CALL => {
            return format!("{text}#{}", function());
        }
        _ => return text,
    };
    match text.split_once(" = ") {
        Some((left, _)) => format!("{left} = {value}"),
        None => text,
    }
}
