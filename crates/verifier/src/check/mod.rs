//! The effect of one insn on the state, and whether it is allowed.
//!
//! Kernel: `do_check_insn` (6.18).

pub(crate) mod alu;
pub(crate) mod alu_rules;
pub(crate) mod atomic;
pub(crate) mod attach;
mod attach_target;
pub(crate) mod call;
pub(crate) mod entry;
pub(crate) mod exit;
pub(crate) mod fields;
pub(crate) mod func_info;
pub(crate) mod jmp;
pub(crate) mod kfunc;
pub(crate) mod ld_abs;
pub(crate) mod ld_imm;
pub(crate) mod ld_imm_resolve;
pub(crate) mod line_info;
mod linked_jump;
pub(crate) mod linked_regs;
pub(crate) mod mem;
pub(crate) mod patch;
pub(crate) mod ptr_arith;
pub(crate) mod ptr_mask;
pub(crate) mod reg_arg;
pub(crate) mod replaced;
pub(crate) mod scalar_insn;
mod scalar_rules;
pub(crate) mod struct_ops;

use crate::env::Env;
use crate::explore::next::Next;
use crate::rejection::{Check, InsnFault, reject};
use skep_insn::code::*;

/// Walks the insn at `env.walk.insn_idx`.
pub(crate) fn do_check_insn(env: &mut Env<'_>) -> Check<Next> {
    let insn = env.insn();
    let next = Next::Insn(env.walk.insn_idx + 1);
    match insn.class() {
        BPF_ALU | BPF_ALU64 => alu::check_alu_op(env)?,
        BPF_LDX => mem::check_load(env)?,
        BPF_STX if insn.mode() == BPF_ATOMIC => atomic::check_atomic(env)?,
        BPF_STX => mem::check_store_reg(env)?,
        BPF_ST => mem::check_store_imm(env)?,
        BPF_JMP | BPF_JMP32 => return check_jump_class(env),
        _ => match insn.mode() {
            BPF_ABS | BPF_IND => return ld_abs::check_ld_abs(env),
            BPF_IMM => {
                ld_imm::check_ld_imm(env)?;
                return Ok(Next::Insn(env.walk.insn_idx + 2));
            }
            _ => reject!(EINVAL, InsnFault::LdMode),
        },
    }
    Ok(next)
}

fn check_jump_class(env: &mut Env<'_>) -> Check<Next> {
    let insn = env.insn();
    env.walk.pace.jmps += 1;
    match insn.op() {
        BPF_CALL => call::check_call(env),
        BPF_JA => jmp::check_ja(env),
        BPF_EXIT => exit::check_exit(env),
        _ => jmp::check_cond_jmp(env),
    }
}
