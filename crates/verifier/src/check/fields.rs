//! Fields that an insn does not use, which must be zero.

use crate::env::{Env, Form};
use crate::passes::reserved::check_fields_on;
use crate::rejection::{Check, reject};

/// Refuses an insn with a non-zero value in a field that it does not use.
#[inline]
pub(crate) fn check_fields(env: &mut Env<'_>) -> Check {
    if env.aux().form == Form::Good {
        return Ok(());
    }
    if let Err(refused) =
        check_fields_on(env.walk.insn_idx as usize, &env.insn(), env.facts.insns_there())
    {
        reject!(EINVAL, *refused.kind);
    }
    env.aux_mut().form = Form::Good;
    Ok(())
}
