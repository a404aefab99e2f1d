//! What a function's BTF requires of its arguments, and whether a call satisfies it.
//!
//! Kernel: `btf_prepare_func_args`, `btf_check_subprog_call`, `btf_check_func_arg_match` (6.18).

use super::arg_mem::check_mem_reg;
use super::arg_type::{check_func_arg_reg_off, check_is_btf_type};
use super::dynptr;
use super::func_args::describe_args;
use crate::HoleKind;
use crate::check::call::sub_arg::SubArg;
use crate::env::Env;
use crate::rejection::{
    CallFault, Check, FuncFault, Refused, Regno, RejectKind, Stop, reject, unsupported,
};
use crate::state::reg::Reg;
use crate::state::reg_type::{Base, TypeFlag as F};
use skep_btf::TypeId;
use skep_uapi::errno;
use skep_uapi::helper::ArgBase;

/// Whether a call matches the callee's prototype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contract {
    Kept,
    /// It does not, with this `errno` and reason; this does not matter for static functions.
    Broken(i32, Option<RejectKind>),
}

/// Determines the argument types of a function, once; `Err` with an `errno` if its BTF does not
/// say.
pub(crate) fn prepare_func_args(
    env: &mut Env<'_>,
    subprog: u32,
) -> Check<Result<(), Box<Refused>>> {
    if env.learned.subprogs[subprog as usize].args.is_some() {
        return Ok(Ok(()));
    }
    match describe_args(env, subprog) {
        Ok(args) => {
            env.learned.subprogs[subprog as usize].args = Some(args.into());
            Ok(Ok(()))
        }
        Err(stop) => {
            let refused = stop.into_refused()?;
            env.trace.refused(&refused);
            Ok(Err(Box::new(refused)))
        }
    }
}

/// Compares R1 to R5 with what the callee requires.
pub(crate) fn check_subprog_call(env: &mut Env<'_>, subprog: u32) -> Check<Contract> {
    let info = &env.learned.subprogs[subprog as usize];
    if info.unreliable || env.facts.prog.func_info.is_empty() {
        return Ok(Contract::Broken(errno::EINVAL, None));
    }
    let Refused { errno, kind, .. } = *match prepare_func_args(env, subprog)? {
        Err(refused) => refused,
        Ok(()) => match check_args(env, subprog) {
            Ok(()) => return Ok(Contract::Kept),
            Err(stop) => {
                let refused = stop.into_refused()?;
                env.trace.refused(&refused);
                Box::new(refused)
            }
        },
    };
    env.learned.subprogs[subprog as usize].unreliable = true;
    if errno == errno::EFAULT {
        return Err(Stop::refuse_silently(errno, FuncFault::BadContract));
    }
    Ok(Contract::Broken(errno, Some(kind)))
}

fn check_args(env: &mut Env<'_>, subprog: u32) -> Check {
    let args = env.learned.subprogs[subprog as usize].args.clone().unwrap_or_default();
    for (i, arg) in args.iter().enumerate() {
        check_arg(env, subprog, i as u8, *arg)?;
    }
    Ok(())
}

fn check_arg(env: &mut Env<'_>, subprog: u32, i: u8, arg: SubArg) -> Check {
    let regno = i + 1;
    let reg = env.reg(regno);
    match arg {
        // Loads through it cannot fail, whatever it is.
        SubArg::Mem { flags, .. } | SubArg::Btf { flags, .. }
            if flags.contains(F::PTR_UNTRUSTED) =>
        {
            Ok(())
        }
        SubArg::Scalar => {
            if !reg.is_scalar() {
                reject!(EINVAL, FuncFault::ArgNotScalar { regno: Regno(regno) });
            }
            Ok(())
        }
        SubArg::Ctx => {
            check_func_arg_reg_off(env, regno, ArgBase::Dontcare, false)?;
            if !reg.ty.is(Base::Ctx) {
                reject!(EINVAL, FuncFault::ArgNotCtx { i });
            }
            Ok(())
        }
        SubArg::Mem { size, flags } => {
            check_func_arg_reg_off(env, regno, ArgBase::Mem, false)?;
            let moves = env.facts.subprogs[subprog as usize].changes_pkt_data;
            if moves
                && reg.ty.is_packet()
                && (env.facts.rules().moved_packets_not_passed
                    || env.goes_by(HoleKind::PacketSlice))
            {
                reject!(EINVAL, FuncFault::ArgPacketMoves { regno: Regno(regno), subprog });
            }
            if reg.ty.base == Base::BtfId && !env.facts.rules().objects_as_memory {
                let (got, expected) = (reg.ty, "fp".into());
                reject!(EINVAL, CallFault::ArgType { regno: Regno(regno), got, expected });
            }
            check_mem_reg(env, regno, size).map_err(|stop| stop.with_errno(errno::EINVAL))?;
            if flags.contains(F::PTR_MAYBE_NULL) {
                return pass_null(env, regno, &reg);
            }
            if reg.ty.may_be_null()
                || reg.is_null()
                    && (env.facts.rules().null_is_no_argument
                        || env.goes_by(HoleKind::NullForMemory))
            {
                reject!(EINVAL, FuncFault::ArgMaybeNull { i });
            }
            Ok(())
        }
        SubArg::Arena => {
            if !reg.ty.is(Base::Arena) && !reg.is_scalar() {
                reject!(EINVAL, FuncFault::ArgNotArena { regno: Regno(regno) });
            }
            Ok(())
        }
        SubArg::Dynptr => {
            check_func_arg_reg_off(env, regno, ArgBase::Dynptr, false)?;
            dynptr::process_dynptr(env, regno, F::MEM_RDONLY)
        }
        SubArg::Btf { id, flags } => check_btf_arg(env, regno, id, flags),
    }
}

/// NULL, where it may be passed: another number in its place is not a pointer.
fn pass_null(env: &mut Env<'_>, regno: u8, reg: &Reg) -> Check {
    if reg.is_null()
        && (env.facts.rules().null_to_functions_is_precise || env.goes_by(HoleKind::NullArgument))
    {
        env.mark_chain_precision(regno)?;
    }
    Ok(())
}

/// A kernel object.
fn check_btf_arg(env: &mut Env<'_>, regno: u8, id: u32, flags: F) -> Check {
    let reg = env.facts.as_used(env.reg(regno));
    if reg.is_null() && flags.contains(F::PTR_MAYBE_NULL) {
        return pass_null(env, regno, &reg);
    }
    let ignored = if flags.contains(F::PTR_MAYBE_NULL) { F::PTR_MAYBE_NULL } else { F::empty() };
    let ty = reg.ty.without(ignored);
    let plain = ty.base == Base::BtfId
        && (ty.flags.is_empty() || ty.flags == F::PTR_TRUSTED || ty.flags == F::MEM_RCU);
    if !plain {
        let got = reg.ty;
        reject!(EACCES, CallFault::ObjectArgType { regno: Regno(regno), got });
    }
    if reg.ty.may_be_null() && !flags.contains(F::PTR_MAYBE_NULL) {
        reject!(EACCES, CallFault::MaybeNull { regno: Regno(regno) });
    }
    let Some(kernel) = env.facts.prog.kernel_btf.clone() else {
        return unsupported("arguments that are kernel objects, without the kernel's BTF");
    };
    check_is_btf_type(env, &reg, regno, kernel.ty(TypeId(id)), false)?;
    check_func_arg_reg_off(env, regno, ArgBase::BtfId, false)
}
