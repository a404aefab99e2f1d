//! Legacy packet loads: `r0 = *(u32 *)skb[...]`, with the context in r6.
//!
//! Kernel: `check_ld_abs` (6.18).

use super::exit::{check_resource_leak, hidden_exit};
use super::mem::region::check_ptr_off_reg;
use super::reg_arg::Operand;
use crate::check::fields::check_fields;
use crate::env::Env;
use crate::explore::next::Next;
use crate::rejection::{Check, InsnFault, OtherRule, Regno, reject};
use crate::state::arena::PackedReg;
use crate::state::reg::Reg;
use crate::state::reg_type::Base;
use skep_insn::code::*;
use skep_uapi::may_access_skb;

/// The register that must hold the context.
pub(crate) const CTX_REG: u8 = 6;

/// On kernels where a callback may have no such load.
fn check_no_callback(env: &Env<'_>) -> Check {
    if env.walk.cur.frames.iter().any(|frame| frame.meta.in_callback_fn) {
        reject!(EINVAL, OtherRule::PacketLoadInCallback);
    }
    Ok(())
}

/// Walks a legacy packet load.
pub(crate) fn check_ld_abs(env: &mut Env<'_>) -> Check<Next> {
    let insn = env.insn();
    if !may_access_skb(env.facts.prog.prog_type) {
        reject!(EINVAL, InsnFault::LdAbsType);
    }
    check_fields(env)?;
    env.check_reg_arg(CTX_REG, Operand::Src)?;
    check_resource_leak(env, true, "BPF_LD_[ABS|IND]")?;
    if !env.reg(CTX_REG).ty.is(Base::Ctx) {
        reject!(EINVAL, InsnFault::LdAbsCtx { regno: Regno(6) });
    }
    if insn.mode() == BPF_IND {
        env.check_reg_arg(insn.src, Operand::Src)?;
    }
    if env.facts.rules().no_packet_loads_in_callbacks {
        check_no_callback(env)?;
    }
    let ctx = env.reg(CTX_REG);
    check_ptr_off_reg(&ctx, CTX_REG, false)?;
    for regno in 0..6 {
        env.walk.set_name(regno, PackedReg::NOT_INIT);
        env.note_write(regno);
    }
    env.walk.set_name(0, PackedReg::UNKNOWN);
    let next = env.walk.insn_idx + 1;
    if env.walk.cur.curframe() == 0 || !env.facts.rules().ld_abs_ends_function {
        return Ok(Next::Insn(next));
    }
    // If the packet is too short, the function returns 0.
    env.push_stack(next, env.walk.insn_idx, false)?;
    hidden_exit(env, Reg::constant(0))
}
