//! `Assembly`: a program read from text.

use super::draft::Draft;
use crate::{Insn, InsnIdx};

/// A program read from text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembly {
    /// The insns, `ld_imm64` as two slots. Symbolic references have `imm` 0 until they are
    /// resolved.
    pub insns: Vec<Insn>,
    /// Source line (from 1) of each slot of `insns`.
    pub lines: Vec<u32>,
    /// `rN = map[NAME]` and `rN = map_value[NAME]+OFF`, in order: the first slot's `imm` is to
    /// become the map. Its `src` says which of the two (`BPF_PSEUDO_MAP_FD`,
    /// `BPF_PSEUDO_MAP_VALUE`); the offset is in place.
    pub map_refs: Vec<SymbolRef>,
    /// `call kfunc[NAME]`, in order: `imm` is to become the BTF id, `off` the index of its BTF.
    pub kfunc_refs: Vec<SymbolRef>,
    /// `rN = ksym[NAME]`, in order: the two `imm` are to become BTF id and index of its BTF.
    pub ksym_refs: Vec<SymbolRef>,
    /// The labels and the insns that follow them, in order; at the end of the text, one past the
    /// last insn.
    pub labels: Vec<SymbolRef>,
}

/// A name, and the insn (first slot) that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolRef {
    /// Index in `Assembly::insns`.
    pub insn: InsnIdx,
    /// The name as written.
    pub name: String,
}

impl Assembly {
    pub(super) fn push(&mut self, line: u32, draft: Draft<'_>) {
        for slot in [Some(draft.insn), draft.second].into_iter().flatten() {
            self.insns.push(slot);
            self.lines.push(line);
        }
    }

    /// The insn at which `label` stands.
    pub fn label(&self, name: &str) -> Option<InsnIdx> {
        self.labels.iter().find(|label| label.name == name).map(|label| label.insn)
    }
}
