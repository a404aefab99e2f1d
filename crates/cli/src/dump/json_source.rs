//! Shared by the JSON of all stages: source lines, prototypes, bytes.

use crate::digits::is_zero;
use serde::Serialize;
use skep::btf::TypeId;
use skep::insn_text::line_info;
use skep::program::Program;
use skep::verifier::Xlated;

/// The source line that starts at an insn.
#[derive(Serialize)]
pub(super) struct Line {
    src: String,
    file: String,
    line_num: u32,
    #[serde(skip_serializing_if = "is_zero")]
    line_col: u32,
}

/// A byte as in bpftool's JSON.
pub(super) fn hex_byte(byte: &u8) -> String {
    format!("{byte:#04x}")
}

/// Source information of a program.
pub(super) struct Source<'a> {
    pub(super) program: &'a Program,
    pub(super) xlated: &'a Xlated,
}

impl Source<'_> {
    /// The prototype of the function that starts at an insn.
    pub(super) fn proto(&self, idx: usize) -> Option<String> {
        self.xlated.subprogs().iter().find(|subprog| subprog.start as usize == idx)?;
        let origin = self.xlated.origin(idx) as usize;
        let rows = &self.program.func_info;
        let row = rows.iter().find(|row| row.insn_off.index() == origin)?;
        let btf = self.program.btf.as_ref()?;
        let function = btf.get(TypeId(row.type_id))?;
        Some(btf.declaration(function.target_id(), function.name()))
    }

    /// The line that starts at an insn: of the insns rewritten from one, only the first has it.
    pub(super) fn line(&self, idx: usize) -> Option<Line> {
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
