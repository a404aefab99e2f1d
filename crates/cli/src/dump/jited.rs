//! Machine code under the insns and the source lines that it was made from.
//!
//! Addresses are offsets in the code. Helpers and maps are stood in for by made-up addresses: the
//! code is for reading and is never run.

use super::xlated::Lines;
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter};
use skep::jit::{Linkage, MachineCode, Tuning, compile};
use skep::verifier::{VerifiedProgram, Xlated};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes one program; or says why it has no machine code.
pub(super) fn write(
    out: &mut dyn Write,
    verified: &VerifiedProgram,
    xlated: &Xlated,
) -> io::Result<Result<(), String>> {
    let linkage = Linkage::placeholder(xlated, &verified.program().maps);
    let code = match compile(xlated, &linkage, &Tuning::default()) {
        Ok(code) => code,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let bytes = code.bytes();
    let mut lines = Lines::new(verified, xlated);
    let mut next = 0;
    for idx in 0..xlated.insns().len() {
        let (start, end) = code.pc_map().code_of(idx).unwrap_or_default();
        // Thunks and padding belong to no insn.
        machine_insns(out, &code, &bytes, (next, start))?;
        lines.write(out, idx)?;
        machine_insns(out, &code, &bytes, (start, end))?;
        next = end;
    }
    writeln!(out)?;
    Ok(Ok(()))
}

fn machine_insns(
    out: &mut dyn Write,
    code: &MachineCode,
    bytes: &[u8],
    (start, end): (u32, u32),
) -> io::Result<()> {
    let slice = bytes.get(start as usize..end as usize).unwrap_or_default();
    let mut decoder = Decoder::with_ip(64, slice, u64::from(start), DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_space_after_operand_separator(true);
    let mut insn = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut insn);
        if insn.is_invalid() {
            break;
        }
        let off = insn.ip() as u32;
        let mut hex = String::new();
        let insn_bytes = bytes.get(off as usize..off as usize + insn.len()).unwrap_or_default();
        for byte in insn_bytes {
            let _ = write!(hex, "{byte:02x}");
        }
        let mut text = String::new();
        formatter.format(&insn, &mut text);
        let mark = if off == code.entry_off() { " <- entry" } else { "" };
        writeln!(out, "        {off:5x}: {hex:<22} {text}{mark}")?;
    }
    Ok(())
}
