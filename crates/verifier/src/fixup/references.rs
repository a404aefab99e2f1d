//! References of 64-bit immediates: maps and functions stay symbolic (the engine has their
//! addresses); everything else has been resolved.
//!
//! Kernel: `resolve_pseudo_ldimm64`, `convert_pseudo_ld_imm64` (6.18).

use super::emit::Emit;
use super::source::{Rewritten, Source};
use crate::passes::call_facts::callee_start;
use crate::xlated::NotSupported;
use skep_insn::Insn;
use skep_insn::code::*;

/// Rewrites both slots of a `ld_imm64` at `idx`.
pub(super) fn rewrite(source: &Source<'_>, idx: usize, out: &mut Emit) -> Rewritten {
    let insn = source.insns[idx];
    if !insn.is_ld_imm64() {
        // A second slot was rewritten together with its first.
        return Ok(idx > 0 && source.insns[idx - 1].is_ld_imm64());
    }
    let second = source.insns.get(idx + 1).copied().unwrap_or_default();
    match insn.src {
        0 | BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE => out.push(insn),
        BPF_PSEUDO_FUNC => {
            let start = callee_start(idx, &insn);
            let walked = usize::try_from(start).is_ok_and(|s| source.walked.seen(source.insns, s));
            if walked {
                out.push_to(insn, start as u32);
            } else {
                // The function is never called and has been removed.
                out.push(Insn { src: 0, imm: 0, ..insn });
            }
        }
        BPF_PSEUDO_BTF_ID => return Err(NotSupported::new("a variable of the kernel")),
        kind => return Err(NotSupported::new(format!("ld_imm64 of kind {kind}"))),
    }
    out.push(second);
    Ok(true)
}
