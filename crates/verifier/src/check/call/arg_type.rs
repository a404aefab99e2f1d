//! Whether a register's type and offset are allowed for an argument.
//!
//! Kernel: `check_reg_type`, `check_func_arg_reg_off` (6.18).

use super::field_args;
use super::meta::CallMeta;
use crate::check::mem::ctx;
use crate::check::mem::kptr::{Pointee, btf_struct_ids_match};
use crate::check::mem::region::check_ptr_off_reg;
use crate::env::Env;
use crate::rejection::{CallFault, Check, Regno, Stop, reject, unsupported};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag as F};
use skep_btf::{Kind, Type, TypeId};
use skep_uapi::helper::{ArgBase, ArgType, HelperId};

const fn plain(base: Base) -> RegType {
    RegType::of(base)
}
const fn with(base: Base, flags: F) -> RegType {
    RegType::of(base).with(flags)
}

/// On kernels with `syscall_ctx_is_memory`.
const MEM_OR_CTX: &[RegType] = &[
    plain(Base::Stack),
    plain(Base::Packet),
    plain(Base::PacketMeta),
    plain(Base::MapKey),
    plain(Base::MapValue),
    plain(Base::Mem),
    with(Base::Mem, F::MEM_RINGBUF),
    plain(Base::Buf),
    with(Base::BtfId, F::PTR_TRUSTED),
    plain(Base::Ctx),
];
/// The same without the context.
const MEM: &[RegType] = match MEM_OR_CTX {
    [mem @ .., _] => mem,
    [] => &[],
};
const SCALAR: &[RegType] = &[plain(Base::Scalar)];
const CTX: &[RegType] = &[plain(Base::Ctx)];
const CONST_MAP_PTR: &[RegType] = &[plain(Base::ConstMapPtr)];
const RINGBUF_MEM: &[RegType] = &[with(Base::Mem, F::MEM_RINGBUF)];
const SPIN_LOCK: &[RegType] = &[plain(Base::MapValue), with(Base::BtfId, F::MEM_ALLOC)];
const FULLSOCK: &[RegType] = &[plain(Base::Socket)];
const SOCKS: &[RegType] =
    &[plain(Base::SockCommon), plain(Base::Socket), plain(Base::TcpSock), plain(Base::XdpSock)];
const BTF_SOCKS: &[RegType] = &[
    plain(Base::SockCommon),
    plain(Base::Socket),
    plain(Base::TcpSock),
    plain(Base::XdpSock),
    plain(Base::BtfId),
    with(Base::BtfId, F::PTR_TRUSTED),
];
const BTF_PTR: &[RegType] =
    &[plain(Base::BtfId), with(Base::BtfId, F::PTR_TRUSTED), with(Base::BtfId, F::MEM_RCU)];
const PERCPU_PTR: &[RegType] = &[
    with(Base::BtfId, F::MEM_PERCPU),
    with(Base::BtfId, F::MEM_PERCPU.union(F::MEM_RCU)),
    with(Base::BtfId, F::MEM_PERCPU.union(F::PTR_TRUSTED)),
];
const FUNC: &[RegType] = &[plain(Base::Func)];
const STACK: &[RegType] = &[plain(Base::Stack)];
const MAP_VALUE: &[RegType] = &[plain(Base::MapValue)];
const KPTR_DEST: &[RegType] = &[plain(Base::MapValue), with(Base::BtfId, F::MEM_ALLOC)];
/// Where objects are changed under a lock: borrowed ones, too.
const KPTR_DEST_BORROWED: &[RegType] = &[
    plain(Base::MapValue),
    with(Base::BtfId, F::MEM_ALLOC),
    with(Base::BtfId, BORROWED),
    with(Base::BtfId, BORROWED.union(F::MEM_RCU)),
];
const BORROWED: F = F::MEM_ALLOC.union(F::NON_OWN_REF);
const DYNPTR: &[RegType] = &[plain(Base::Stack), plain(Base::ConstDynptr)];

/// Types that a register may have, in the order in which the message lists them.
fn compatible_types(base: ArgBase) -> Option<&'static [RegType]> {
    Some(match base {
        ArgBase::Mem | ArgBase::MapKey | ArgBase::MapValue => MEM,
        ArgBase::ConstSize | ArgBase::ConstSizeOrZero | ArgBase::ConstAllocSizeOrZero => SCALAR,
        ArgBase::ConstMapPtr => CONST_MAP_PTR,
        ArgBase::Ctx => CTX,
        ArgBase::SockCommon => SOCKS,
        ArgBase::BtfIdSockCommon => BTF_SOCKS,
        ArgBase::Socket => FULLSOCK,
        ArgBase::BtfId => BTF_PTR,
        ArgBase::SpinLock => SPIN_LOCK,
        ArgBase::RingbufMem => RINGBUF_MEM,
        ArgBase::PercpuBtfId => PERCPU_PTR,
        ArgBase::Func => FUNC,
        ArgBase::Stack => STACK,
        ArgBase::ConstStr | ArgBase::Timer => MAP_VALUE,
        ArgBase::KptrXchgDest => KPTR_DEST,
        ArgBase::Dynptr => DYNPTR,
        ArgBase::Dontcare | ArgBase::Anything | ArgBase::Arena => return None,
    })
}

/// Whether the argument is memory that the function accesses.
fn is_memory(base: ArgBase) -> bool {
    matches!(base, ArgBase::Mem | ArgBase::MapKey | ArgBase::MapValue)
}

/// Checks the type of argument register `regno`.
pub(crate) fn check_reg_type(
    env: &mut Env<'_>,
    regno: u8,
    arg: ArgType,
    meta: Option<&CallMeta>,
) -> Check {
    let reg = env.facts.as_used(env.reg(regno));
    let is_key = matches!(arg.base, ArgBase::MapKey | ArgBase::MapValue);
    let Some(mut types) = compatible_types(arg.base) else {
        return Err(Stop::bug("argument type without register types"));
    };
    let is_memory = is_memory(arg.base);
    let is_number = arg.flags.contains(F::MEM_FIXED_SIZE | F::MEM_WRITE);
    if is_key && !env.facts.rules().any_memory_as_key
        || is_number && !env.facts.rules().written_numbers_seen
    {
        types = &MEM[..5];
    } else if is_memory && env.facts.rules().syscall_ctx_is_memory {
        types = MEM_OR_CTX;
    }
    if arg.base == ArgBase::KptrXchgDest && env.facts.rules().xchg_under_lock {
        types = KPTR_DEST_BORROWED;
    } else if arg.base == ArgBase::KptrXchgDest && !env.facts.rules().kptrs_in_objects {
        types = MAP_VALUE;
    }
    let mut ignored = arg.flags & (F::MEM_RDONLY | F::PTR_MAYBE_NULL);
    if !env.facts.rules().null_or_memory_passed {
        ignored -= F::PTR_MAYBE_NULL;
    }
    if arg.base == ArgBase::Mem {
        ignored |= F::DYNPTR_TYPE_MASK;
    }
    let is_kptr_xchg = meta.is_some_and(|m| m.func == HelperId::KptrXchg);
    if is_kptr_xchg && reg.ty.has(F::MEM_ALLOC) && regno == 2 {
        ignored |= F::MEM_ALLOC | F::MEM_PERCPU;
    }
    let ty = reg.ty.without(ignored);
    let is_object = ty.base == Base::BtfId && is_memory;
    if !types.contains(&ty) || is_object && !env.facts.rules().objects_as_memory {
        let names: Vec<String> = types.iter().map(RegType::to_string).collect();
        let (got, expected) = (reg.ty, names.join(", "));
        reject!(EACCES, CallFault::ArgType { regno: Regno(regno), got, expected: expected.into() });
    }
    if reg.ty.base != Base::BtfId {
        return Ok(());
    }
    if is_memory {
        if !arg.flags.contains(F::MEM_RDONLY) {
            let name = meta.map_or("", |m| m.func.name());
            let got = reg.ty;
            reject!(
                EACCES,
                CallFault::MayWriteObject { name: name.into(), regno: Regno(regno), got }
            );
        }
        return Ok(());
    }
    check_btf_id(env, regno, arg, meta)
}

/// The type of a kernel object.
fn check_btf_id(env: &mut Env<'_>, regno: u8, arg: ArgType, meta: Option<&CallMeta>) -> Check {
    let reg = env.facts.as_used(env.reg(regno));
    if reg.ty.has(F::MEM_ALLOC) {
        // The kernel has no rule for objects that may be NULL or are only protected by RCU.
        let to_borrowed = arg.base == ArgBase::KptrXchgDest && env.facts.rules().xchg_under_lock;
        let rest = reg.ty.flags.difference(F::MEM_ALLOC | F::MEM_PERCPU);
        if !rest.is_empty() && !to_borrowed {
            reject!(EFAULT, CallFault::ObjectWithModifiers);
        }
        return match meta {
            Some(m) if m.func == HelperId::KptrXchg && regno == 2 => {
                field_args::check_kptr_match(env, m, &reg, regno)
            }
            _ => Ok(()),
        };
    }
    if reg.ty.has(F::MEM_PERCPU) {
        return Ok(());
    }
    let release = arg.flags.contains(F::OBJ_RELEASE);
    if reg.ty.may_be_null() && (!arg.maybe_null() || release) {
        reject!(EACCES, CallFault::MaybeNull { regno: Regno(regno) });
    }
    if let Some(m) = meta.filter(|m| m.func == HelperId::KptrXchg) {
        return field_args::check_kptr_match(env, m, &reg, regno);
    }
    let expected = if arg.base == ArgBase::BtfIdSockCommon { "sock_common" } else { arg.btf };
    let strict = release && meta.is_none_or(|m| m.func != HelperId::SkRelease);
    let Some(kernel) = env.facts.prog.kernel_btf.clone() else {
        return unsupported("arguments that are kernel objects, without the kernel's BTF");
    };
    let Some(need) = kernel.find_by_name_kind(expected, Kind::Struct) else {
        return unsupported(format!("kernel type {expected}, which this kernel's BTF has not"));
    };
    check_is_btf_type(env, &reg, regno, kernel.ty(need), strict)
}

/// Checks that the object is, or begins with, one of type `need`.
pub(crate) fn check_is_btf_type(
    env: &mut Env<'_>,
    reg: &Reg,
    regno: u8,
    need: Type<'_>,
    strict: bool,
) -> Check {
    let Extra::Btf { id, in_prog } = reg.extra else {
        return Err(Stop::bug("pointer to an object without type"));
    };
    if in_prog {
        return unsupported("objects of the program's own types as arguments");
    }
    let have = Pointee { id: TypeId(id), in_prog };
    let want = Pointee { id: need.id(), in_prog: false };
    if !btf_struct_ids_match(env, have, reg.off, want, strict) {
        let (got, want) = (need.btf().ty(have.id).name(), need.name());
        reject!(
            EACCES,
            CallFault::ObjectType { regno: Regno(regno), got: got.into(), want: want.into() }
        );
    }
    Ok(())
}

/// Checks that the pointer has an offset that is allowed for an argument of that type.
pub(crate) fn check_func_arg_reg_off(
    env: &Env<'_>,
    regno: u8,
    base: ArgBase,
    release: bool,
) -> Check {
    let reg = env.facts.as_used(env.reg(regno));
    if release {
        if base == ArgBase::Dynptr && reg.ty.is(Base::Stack) {
            return Ok(());
        }
        let anywhere = reg.ty.base == Base::Mem && !env.facts.rules().records_released_whole;
        if reg.off != 0 && !anywhere {
            reject!(EINVAL, CallFault::OffsetNotZero { regno: Regno(regno) });
        }
        return if anywhere { Ok(()) } else { check_ptr_off_reg(&reg, regno, false) };
    }
    let flags = reg.ty.flags;
    match reg.ty.base {
        Base::Stack
        | Base::Packet
        | Base::PacketMeta
        | Base::MapKey
        | Base::MapValue
        | Base::Scalar
        | Base::Arena
            if flags.is_empty() =>
        {
            Ok(())
        }
        Base::Mem if flags.is_empty() || flags == F::MEM_RDONLY || flags == F::MEM_RINGBUF => {
            Ok(())
        }
        Base::Buf if flags.is_empty() || flags == F::MEM_RDONLY => Ok(()),
        Base::Ctx if ctx::is_memory(env.facts) && is_memory(base) => Ok(()),
        Base::BtfId if may_have_fixed_off(flags) => check_ptr_off_reg(&reg, regno, true),
        _ => check_ptr_off_reg(&reg, regno, false),
    }
}

/// Kernel objects for which a pointer into the object is allowed.
fn may_have_fixed_off(flags: F) -> bool {
    flags.is_empty()
        || flags == F::MEM_ALLOC
        || flags == F::PTR_TRUSTED
        || flags == F::MEM_RCU
        || flags == F::MEM_ALLOC | F::NON_OWN_REF
        || flags == F::MEM_ALLOC | F::NON_OWN_REF | F::MEM_RCU
}
