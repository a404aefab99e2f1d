//! Machine code as JSON, in the shape of `bpftool -j prog dump jited`.

use super::json_source::{Line, Source, hex_byte};
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter};
use serde::Serialize;
use skep::verifier::{VerifiedProgram, Xlated};
use skep_text::MachineCode;
use std::ops::Range;

/// Machine code of a function or of a stub.
#[derive(Serialize)]
pub(super) struct Function {
    #[serde(skip_serializing_if = "Option::is_none")]
    proto: Option<String>,
    name: String,
    insns: Vec<JitedInsn>,
}

#[derive(Serialize)]
struct JitedInsn {
    #[serde(flatten)]
    line: Option<Line>,
    pc: String,
    operation: String,
    operands: Vec<String>,
    opcodes: Vec<String>,
    /// Entry points, and places that are patched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<String>,
}

/// Machine code, with comments by offset.
pub(super) fn jited(
    verified: &VerifiedProgram,
    xlated: &Xlated,
    code: &MachineCode,
    marks: &[(u32, String)],
) -> Vec<Function> {
    let source = Source { program: verified.program(), xlated };
    let bytes = code.bytes();
    let mut functions = Vec::new();
    let mut next = 0;
    let symbols = code.symbols().iter().map(|symbol| (&*symbol.name, symbol.off, symbol.len));
    for (symbol, off, len) in symbols.chain([("", bytes.len() as u32, 0)]) {
        // Thunks and padding are before functions.
        for (name, range) in [("", next..off), (symbol, off..off + len)] {
            let mut insns = insns(&bytes, range, marks);
            let own = insns_of(&source, name);
            let mut last = None;
            for (off, insn) in &mut insns {
                // Padding is the last function's.
                let from = code.pc_map().insn_at(*off).filter(|idx| own.contains(idx));
                if from != last {
                    insn.line = from.and_then(|idx| source.line(idx));
                    last = from;
                }
            }
            if !insns.is_empty() {
                functions.push(Function {
                    proto: (!own.is_empty()).then(|| source.proto(own.start)).flatten(),
                    name: name.to_owned(),
                    insns: insns.into_iter().map(|(_, insn)| insn).collect(),
                });
            }
        }
        next = off + len;
    }
    functions
}

/// The machine insns of a range, up to invalid bytes: their offsets and bytes.
pub(super) fn decoded(
    bytes: &[u8],
    range: Range<u32>,
) -> impl Iterator<Item = (u32, Instruction, &[u8])> {
    let slice = bytes.get(range.start as usize..range.end as usize).unwrap_or_default();
    let decoder = Decoder::with_ip(64, slice, u64::from(range.start), DecoderOptions::NONE);
    decoder.into_iter().take_while(|insn| !insn.is_invalid()).map(|insn| {
        let off = insn.ip() as usize;
        (off as u32, insn, bytes.get(off..off + insn.len()).unwrap_or_default())
    })
}

/// The machine insns of a range, with their offsets.
fn insns(bytes: &[u8], range: Range<u32>, marks: &[(u32, String)]) -> Vec<(u32, JitedInsn)> {
    let mut formatter = IntelFormatter::new();
    let one = |(off, insn, opcodes): (u32, Instruction, &[u8])| {
        let mut operation = String::new();
        formatter.format_mnemonic(&insn, &mut operation);
        let count = formatter.operand_count(&insn);
        let operands = (0..count).map(|operand| {
            let mut text = String::new();
            // It fails only for an invalid operand number.
            let _ = formatter.format_operand(&insn, &mut text, operand);
            text
        });
        let operands = operands.collect();
        let here = marks.iter().filter(|(at, _)| *at == off);
        let insn = JitedInsn {
            line: None,
            pc: format!("{off:#x}"),
            operation,
            operands,
            opcodes: opcodes.iter().map(hex_byte).collect(),
            marks: here.map(|(_, mark)| mark.clone()).collect(),
        };
        (off, insn)
    };
    decoded(bytes, range).map(one).collect()
}

/// The insns of a function; none of a stub.
fn insns_of(source: &Source<'_>, name: &str) -> Range<usize> {
    let subprogs = source.xlated.subprogs();
    let is_named = |number: &usize| match number {
        0 => source.program.name == name,
        _ => subprogs[*number].name == name,
    };
    let Some(number) = (0..subprogs.len()).find(is_named) else { return 0..0 };
    let end = subprogs.get(number + 1).map_or(source.xlated.insns().len(), |s| s.start as usize);
    subprogs[number].start as usize..end
}
