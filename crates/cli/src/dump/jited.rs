//! Machine code below the insns and source lines from which it was generated.
//!
//! Addresses are offsets in the code. Addresses of helpers, maps and statistics are placeholders:
//! the code is only printed and never run. Entry points, and the places that are patched at run
//! time, are marked at the right of the insn.

use super::jited_json;
pub(super) use super::jited_json::Function;
use super::xlated::Lines;
use crate::digits::hex;
use crate::exit::Exit;
use iced_x86::{Formatter, IntelFormatter};
use skep::program::{MapIdx, Program};
use skep::verifier::{VerifiedProgram, Xlated};
use skep_jit::{Linkage, PatchKind, Tuning};
use skep_report::printable;
use skep_text::{MachineCode, compile};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes one program, or says why it has no machine code.
pub(super) fn write(
    out: &mut dyn Write,
    verified: &VerifiedProgram,
    xlated: &Xlated,
) -> io::Result<Result<(), (Exit, String)>> {
    let code = match compiled(verified, xlated) {
        Ok(code) => code,
        Err(error) => return Ok(Err(error)),
    };
    let listing = Listing { bytes: code.bytes(), marks: marks(&code, verified.program()) };
    let mut lines = Lines::new(verified, xlated);
    let mut next = 0;
    for idx in 0..xlated.insns().len() {
        let (start, end) = code.pc_map().code_of(idx).unwrap_or_default();
        // Thunks belong to no insn. After them, the code may be in a different order than the
        // insns.
        if idx == 0 {
            listing.write(out, 0, start)?;
        }
        lines.write(out, idx)?;
        listing.write(out, start, end)?;
        next = end.max(next);
    }
    for symbol in code.symbols().iter().filter(|symbol| symbol.off >= next) {
        writeln!(out, "{} (stub):", symbol.name)?;
        listing.write(out, symbol.off, symbol.off + symbol.len)?;
    }
    writeln!(out)?;
    Ok(Ok(()))
}

/// The code, for reading.
fn compiled(verified: &VerifiedProgram, xlated: &Xlated) -> Result<MachineCode, (Exit, String)> {
    let linkage = Linkage::placeholder(xlated, &verified.program().maps);
    compile(xlated, &linkage, &Tuning::default())
        .map_err(|why| (if why.is_bug() { Exit::Bug } else { Exit::Input }, why.to_string()))
}

/// Size of a program's machine code, without the stubs for enabling statistics: comparable to the
/// size that the kernel reports.
pub(crate) fn bytes(verified: &VerifiedProgram) -> Option<usize> {
    let xlated = verified.xlated().ok()?;
    let linkage = Linkage::placeholder(xlated, &verified.program().maps);
    let tuning = Tuning { sites: false, ..Tuning::default() };
    Some(compile(xlated, &linkage, &tuning).ok()?.bytes().len())
}

/// The same as JSON.
pub(super) fn json(
    verified: &VerifiedProgram,
    xlated: &Xlated,
) -> Result<Vec<Function>, (Exit, String)> {
    let code = compiled(verified, xlated)?;
    Ok(jited_json::jited(verified, xlated, &code, &marks(&code, verified.program())))
}

/// Comments for places in the code: entry points, patched places.
fn marks(code: &MachineCode, program: &Program) -> Vec<(u32, String)> {
    let slot = |map: u32, index: u32| {
        let name = program.map(MapIdx(map)).map_or("?", |map| map.name.as_str());
        format!("{}[{index}]", printable(name))
    };
    let mut marks = vec![(code.entry_off(), "entry".to_owned())];
    let tail_entry = (code.tail_entry() - code.address()) as u32;
    if tail_entry != code.entry_off() {
        marks.push((tail_entry, "entry of tail calls".to_owned()));
    }
    marks.extend(code.patch_sites().into_iter().map(|site| {
        let what = match site.kind {
            PatchKind::StatsEntry => "switch: statistics".to_owned(),
            PatchKind::StatsTailCall => "switch: statistics, at a tail call".to_owned(),
            PatchKind::TailCallVacant(map, index) => {
                format!("switch: {} is empty", slot(map, index))
            }
            PatchKind::TailCallJump(map, index) => format!("retarget: {}", slot(map, index)),
        };
        (site.off, what)
    }));
    marks
}

/// Machine code to be written.
struct Listing {
    bytes: Vec<u8>,
    marks: Vec<(u32, String)>,
}

impl Listing {
    /// The insns from one offset to another.
    fn write(&self, out: &mut dyn Write, start: u32, end: u32) -> io::Result<()> {
        let mut formatter = IntelFormatter::new();
        formatter.options_mut().set_space_after_operand_separator(true);
        for (off, insn, insn_bytes) in jited_json::decoded(&self.bytes, start..end) {
            let hex = hex(insn_bytes);
            let mut text = String::new();
            formatter.format(&insn, &mut text);
            for (_, mark) in self.marks.iter().filter(|(at, _)| *at == off) {
                let _ = write!(text, " <- {mark}");
            }
            writeln!(out, "        {off:5x}: {hex:<22} {text}")?;
        }
        Ok(())
    }
}
