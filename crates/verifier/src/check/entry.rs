//! Registers at the entry of the main program or of a global function that is verified on its own.
//!
//! Kernel: the first half of `do_check_common` (6.18).

use super::call::func_contract::prepare_func_args;
use crate::check::call::sub_arg::SubArg;
use crate::env::{Env, Facts, Store};
use crate::rejection::{Check, FuncFault, Stop, reject, unsupported};
use crate::state::reg::{DynptrKind, Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::{Kind, TypeId};
use skep_uapi::ProgType;

/// Sets up the argument registers of subprog `subprogno`.
pub(crate) fn prepare_args(env: &mut Env<'_>, subprogno: u32) -> Check {
    if subprogno != 0 || env.facts.prog.prog_type == ProgType::Ext || env.facts.is_replacement() {
        return prepare_global(env, subprogno);
    }
    if !env.facts.prog.func_info.is_empty() {
        let described = prepare_func_args(env, 0)?;
        let main = &mut env.learned.subprogs[0];
        let plain = matches!(main.args.as_deref(), Some([SubArg::Ctx]));
        main.unreliable = described.is_err() || !plain;
    }
    env.set_reg(1, Reg::pointer(RegType::of(Base::Ctx)));
    Ok(())
}

/// A function that may be called with any arguments that match its prototype.
fn prepare_global(env: &mut Env<'_>, subprogno: u32) -> Check {
    if env.facts.prog.prog_type == ProgType::Ext {
        return unsupported("programs that replace functions of other programs");
    }
    if let Err(refused) = prepare_func_args(env, subprogno)? {
        let stop = Stop::refuse_silently(refused.errno, FuncFault::NoEntryArgs);
        return Err(stop.because(Some(refused.kind)));
    }
    let args = env.learned.subprogs[subprogno as usize].args.clone().unwrap_or_default();
    if env.facts.subprogs[subprogno as usize].is_exception_cb {
        env.walk.frame_mut().meta_mut().in_exception_callback_fn = true;
        if returns_void(env.facts, subprogno) {
            reject!(EINVAL, FuncFault::ExceptionCbVoid);
        }
        if !matches!(*args, [SubArg::Scalar]) {
            reject!(EINVAL, FuncFault::ExceptionCbArgs);
        }
    }
    for (i, arg) in args.iter().enumerate() {
        let reg = arg_register(&mut env.store, *arg);
        env.set_reg(i as u8 + 1, reg);
    }
    Ok(())
}

/// Kernel: `subprog_returns_void` (6.18).
fn returns_void(facts: &Facts<'_>, subprogno: u32) -> bool {
    let start = facts.subprogs[subprogno as usize].start;
    let row = facts.prog.func_info.iter().find(|row| row.insn_off.0 == start);
    let (Some(row), Some(btf)) = (row, facts.prog.btf.as_deref()) else { return false };
    let proto = btf.ty(TypeId(row.type_id)).target();
    btf.skip_modifiers(proto.target_id()).kind() == Kind::Void
}

fn arg_register(store: &mut Store, arg: SubArg) -> Reg {
    match arg {
        SubArg::Scalar => Reg::unknown(),
        SubArg::Ctx => Reg::pointer(RegType::of(Base::Ctx)),
        SubArg::Arena => Reg::unknown(),
        SubArg::Dynptr => Reg {
            id: store.new_id(),
            extra: Extra::Dynptr { kind: DynptrKind::Local, first_slot: true },
            ..Reg::pointer(RegType::of(Base::ConstDynptr))
        },
        SubArg::Mem { size, flags } => {
            let mut reg = Reg::pointer(RegType::of(Base::Mem).with(flags));
            reg.extra = Extra::Mem { size, dynptr_id: 0 };
            if flags.contains(TypeFlag::PTR_MAYBE_NULL) {
                reg.id = store.new_id();
            }
            reg
        }
        SubArg::Btf { id, flags } => Reg {
            id: store.new_id(),
            extra: Extra::Btf { id, in_prog: false },
            ..Reg::pointer(RegType::of(Base::BtfId).with(flags))
        },
    }
}
