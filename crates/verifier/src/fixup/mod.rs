//! What the kernel still refuses when it rewrites a program that was walked to its end.
//!
//! The rewrites themselves are not made here: the JIT does what they do. Insns that no path walked
//! are gone by then.
//!
//! Kernel: `do_misc_fixups`, `fixup_kfunc_call` (6.18).

use crate::env::{CallMap, Env};
use crate::log::reject;
use crate::passes::call_facts::{is_helper_call, is_kfunc_call};
use crate::rejection::Check;
use skep_uapi::helper::HelperId;

/// Checks the calls that some path walked.
pub(crate) fn do_misc_fixups(env: &mut Env<'_>) -> Check {
    for i in 0..env.insns.len() {
        let (insn, aux) = (env.insns[i], env.aux[i]);
        if !aux.seen {
            continue;
        }
        env.insn_idx = i as u32;
        if is_kfunc_call(&insn) && insn.imm == 0 {
            reject!(env, EINVAL, "invalid kernel function call not eliminated in verifier pass");
        }
        let is_tail_call = is_helper_call(&insn) && insn.imm == HelperId::TailCall.number() as i32;
        // The index is masked against speculation: with which mask must be known.
        if is_tail_call && !env.bypass_spec_v1 && aux.call_map == CallMap::Poisoned {
            reject!(env, EINVAL, "tail_call abusing map_ptr");
        }
    }
    Ok(())
}
