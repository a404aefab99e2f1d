//! `--json`: insns with opcodes and source lines, in the shape of `bpftool -j prog dump` with
//! `opcodes` and `linum`.
//!
//! Departures: maps have their names; machine code is in Intel's notation, and names of functions
//! are without the kernel's prefix and tag. Of several programs each is an object with its name.

use super::names::{insn_text_of, line_info};
use super::xlated::resolved;
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter};
use serde::Serialize;
use skep::btf::TypeId;
use skep::insn::Insn;
use skep::program::Program;
use skep::verifier::{VerifiedProgram, Xlated};
use skep_jit::MachineCode;
use std::ops::Range;

/// A program among others.
#[derive(Serialize)]
pub(super) struct Named<T> {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) prog_type: &'static str,
    pub(super) insns: T,
}

/// What is printed of a program.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Dumped {
    Xlated(Vec<XlatedInsn>),
    Jited(Vec<Function>),
}

/// The source line that starts at an insn.
#[derive(Serialize)]
struct Line {
    src: String,
    file: String,
    line_num: u32,
    #[serde(skip_serializing_if = "is_zero")]
    line_col: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// An insn after the verifier's rewrites.
#[derive(Serialize)]
pub(super) struct XlatedInsn {
    #[serde(skip_serializing_if = "Option::is_none")]
    proto: Option<String>,
    #[serde(flatten)]
    line: Option<Line>,
    disasm: String,
    opcodes: Opcodes,
}

#[derive(Serialize)]
struct Opcodes {
    code: String,
    src_reg: String,
    dst_reg: String,
    off: Vec<String>,
    imm: Vec<String>,
}

impl Opcodes {
    /// Of one insn, or of both halves of a wide one.
    fn new(insn: Insn, second: Option<Insn>) -> Opcodes {
        let mut imm = insn.imm.to_le_bytes().to_vec();
        if let Some(second) = second {
            imm.extend([second.code, second.dst | second.src << 4]);
            imm.extend(second.off.to_le_bytes());
            imm.extend(second.imm.to_le_bytes());
        }
        Opcodes {
            code: hex(&insn.code),
            src_reg: format!("{:#x}", insn.src),
            dst_reg: format!("{:#x}", insn.dst),
            off: insn.off.to_le_bytes().iter().map(hex).collect(),
            imm: imm.iter().map(hex).collect(),
        }
    }
}

fn hex(byte: &u8) -> String {
    format!("{byte:#04x}")
}

/// Insns after the rewrites.
pub(super) fn xlated(verified: &VerifiedProgram, xlated: &Xlated) -> Dumped {
    let source = Source { program: verified.program(), xlated };
    let all = xlated.insns();
    let mut insns = Vec::new();
    let mut idx = 0;
    while let Some(&insn) = all.get(idx) {
        let second = if insn.is_ld_imm64() { all.get(idx + 1).copied() } else { None };
        let text = insn_text_of(source.program, &all[idx..]);
        insns.push(XlatedInsn {
            proto: source.proto(idx),
            line: source.line(idx),
            disasm: resolved(source.program, xlated, (idx, insn, text)),
            opcodes: Opcodes::new(insn, second),
        });
        idx += 1 + usize::from(second.is_some());
    }
    Dumped::Xlated(insns)
}

/// What is known of the source.
struct Source<'a> {
    program: &'a Program,
    xlated: &'a Xlated,
}

impl Source<'_> {
    /// The insns of a function; none of a stub.
    fn insns_of(&self, name: &str) -> Range<usize> {
        let subprogs = self.xlated.subprogs();
        let is_named = |number: &usize| match number {
            0 => self.program.name == name,
            _ => subprogs[*number].name == name,
        };
        let Some(number) = (0..subprogs.len()).find(is_named) else { return 0..0 };
        let end = subprogs.get(number + 1).map_or(self.xlated.insns().len(), |s| s.start as usize);
        subprogs[number].start as usize..end
    }

    /// The prototype of the function that starts at an insn.
    fn proto(&self, idx: usize) -> Option<String> {
        self.xlated.subprogs().iter().find(|subprog| subprog.start as usize == idx)?;
        let origin = self.xlated.origin(idx) as usize;
        let rows = &self.program.func_info;
        let row = rows.iter().find(|row| row.insn_off.index() == origin)?;
        let btf = self.program.btf.as_ref()?;
        let function = btf.get(TypeId(row.type_id))?;
        Some(btf.declaration(function.target_id(), function.name()))
    }

    /// The line that starts at an insn: the first of those that its insn became.
    fn line(&self, idx: usize) -> Option<Line> {
        let origin = self.xlated.origin(idx);
        if idx > 0 && self.xlated.origin(idx - 1) == origin {
            return None;
        }
        let row = line_info(self.program, origin as usize)?;
        let btf = self.program.btf.as_ref().filter(|_| row.insn_off.index() == origin as usize)?;
        Some(Line {
            src: btf.try_str(row.line_off)?.trim().to_owned(),
            file: btf.try_str(row.file_name_off)?.to_owned(),
            line_num: row.line(),
            line_col: row.col(),
        })
    }
}

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
    /// Where code is entered, and where it is patched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<String>,
}

/// Machine code, with what is said of offsets in it.
pub(super) fn jited(
    verified: &VerifiedProgram,
    xlated: &Xlated,
    (code, marks): (&MachineCode, &[(u32, String)]),
) -> Dumped {
    let source = Source { program: verified.program(), xlated };
    let bytes = code.bytes();
    let mut functions = Vec::new();
    let mut next = 0;
    let symbols = code.symbols().iter().map(|symbol| (&*symbol.name, symbol.off, symbol.len));
    for (symbol, off, len) in symbols.chain([("", bytes.len() as u32, 0)]) {
        // Thunks and padding are in front of functions.
        for (name, range) in [("", next..off), (symbol, off..off + len)] {
            let mut insns = insns(&bytes, range, marks);
            let own = source.insns_of(name);
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
    Dumped::Jited(functions)
}

/// The machine insns of a range, with their offsets.
fn insns(bytes: &[u8], range: Range<u32>, marks: &[(u32, String)]) -> Vec<(u32, JitedInsn)> {
    let slice = bytes.get(range.start as usize..range.end as usize).unwrap_or_default();
    let decoder = Decoder::with_ip(64, slice, u64::from(range.start), DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    let decoded = decoder.into_iter().take_while(|insn| !insn.is_invalid());
    let one = |insn: Instruction| {
        let off = insn.ip() as u32;
        let mut operation = String::new();
        formatter.format_mnemonic(&insn, &mut operation);
        let count = formatter.operand_count(&insn);
        let operands = (0..count).map(|operand| {
            let mut text = String::new();
            // Only a number that is none could be refused.
            let _ = formatter.format_operand(&insn, &mut text, operand);
            text
        });
        let operands = operands.collect();
        let opcodes = bytes.get(off as usize..off as usize + insn.len()).unwrap_or_default();
        let here = marks.iter().filter(|(at, _)| *at == off);
        let insn = JitedInsn {
            line: None,
            pc: format!("{off:#x}"),
            operation,
            operands,
            opcodes: opcodes.iter().map(hex).collect(),
            marks: here.map(|(_, mark)| mark.clone()).collect(),
        };
        (off, insn)
    };
    decoded.map(one).collect()
}
