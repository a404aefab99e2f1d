//! Rewrites a walked program into the insns that run; also the rejections of this stage.
//!
//! [`do_misc_fixups`] is part of the verdict. [`translate`] runs later, if the program is to be
//! run: one pass over the insns that some path walked, offering each to the rewrites in order.
//!
//! Kernel: `do_misc_fixups`, `fixup_kfunc_call` (6.18).

mod bare;
mod build;
mod calls;
mod ctx_access;
mod ctx_growth;
mod ctx_growth_row;
mod ctx_growth_skb;
mod ctx_growth_sock;
mod dead_code;
mod div_mod;
mod emit;
mod func_args;
mod grown;
mod growth;
mod jump_reach;
mod ld_abs;
mod left;
mod may_goto;
mod may_goto_left;
mod native_bytes;
mod native_jumps;
mod references;
mod source;
mod upper_half;
mod walked;
mod zext;

pub use func_args::INLINED_HELPERS;
pub(crate) use walked::Walked;

use crate::env::{CallMap, Env, InsnFlags};
use crate::fixup::source::{Rewritten, Source};
use crate::passes::call_facts::{is_kfunc_call, is_pseudo_call, is_tail_call};
use crate::passes::final_depth::StackRewrites;
use crate::rejection::{CallFault, Check, InsnFault, reject};
use crate::xlated::{NotSupported, Xlated};
use emit::Emit;
pub(crate) use left::insns_left;
use skep_insn::Insn;
use skep_program::{AttachTarget, Program};

/// Checks the calls that were walked.
pub(crate) fn do_misc_fixups(env: &mut Env<'_>) -> Check {
    for i in 0..env.facts.insns.len() {
        let (insn, aux) = (env.facts.insns[i], env.learned.aux[i]);
        if !aux.has(InsnFlags::SEEN) {
            continue;
        }
        env.walk.insn_idx = i as u32;
        env.learned.stack_rewrites.may_gotos = i;
        if is_kfunc_call(&insn) && insn.imm == 0 {
            reject!(EINVAL, InsnFault::KfuncNotRemoved);
        }
        // The index is masked against speculation, for which the map must be known.
        if is_tail_call(&insn) && !env.facts.bypass_spec_v1 && aux.call_map() == CallMap::Poisoned {
            reject!(EINVAL, CallFault::TailCallIndex);
        }
    }
    env.learned.stack_rewrites = StackRewrites::all(env.facts.insns.len());
    jump_reach::check(env)?;
    if env.facts.rules().jumps_always_compiled { Ok(()) } else { native_jumps::check(env) }
}

/// A rewrite: appends the replacement of the insn at an index.
type Rewrite = fn(&Source<'_>, usize, &mut Emit) -> Rewritten;

/// The first rewrite that accepts an insn applies; if none does, the insn is copied.
const REWRITES: [Rewrite; 8] = [
    references::rewrite,
    ctx_access::rewrite,
    div_mod::rewrite,
    ld_abs::rewrite,
    may_goto::rewrite,
    zext::rewrite,
    func_args::rewrite,
    calls::rewrite,
];

/// The insns that run.
pub(crate) fn translate(program: &Program, walked: &Walked) -> Result<Xlated, NotSupported> {
    if matches!(program.attach, AttachTarget::Function(_)) {
        return Err(NotSupported::new("a program that replaces a function of another"));
    }
    rewrite(&Source { program: Some(program), insns: &program.insns, walked })
}

fn rewrite(source: &Source<'_>) -> Result<Xlated, NotSupported> {
    let kept = dead_code::kept(source);
    let mut out = Emit::new(source.insns.len());
    for (idx, &keep) in kept.iter().enumerate() {
        if let Some(subprog) = source.walked.subprog_at(idx)
            && may_goto_left::is_in(source, source.walked.range(subprog, source.insns.len()))
        {
            out.enter(idx);
            may_goto::prologue(source.walked.depth(subprog), &mut out)?;
        }
        out.begin(idx);
        if !keep {
            continue;
        }
        let mut taken = false;
        for rewrite in REWRITES {
            taken = taken || rewrite(source, idx, &mut out)?;
        }
        if !taken {
            dead_code::copy(source, idx, &mut out);
        }
        // A function that always throws does not return: nothing after its call is kept, so the
        // caller needs a last insn.
        let returns = || source.walked.seen(source.insns, idx + 1);
        if is_pseudo_call(&source.insns[idx]) && idx + 1 < kept.len() && !returns() {
            out.push(build::exit());
        }
    }
    out.touch_ctx(source.walked.ctx_mem_end);
    out.finish(source)
}

impl Xlated {
    /// Unverified insns, only for conformance tests of engines; the caller is responsible for their
    /// effects. Every function gets 512 bytes of stack.
    ///
    /// # Errors
    ///
    /// If they are not closed (invariant 1).
    pub fn bare(insns: &[Insn]) -> Result<Xlated, NotSupported> {
        bare::check(insns)?;
        rewrite(&Source { program: None, insns, walked: &bare::walked(insns) })
    }
}
