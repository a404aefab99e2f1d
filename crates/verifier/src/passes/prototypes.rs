//! Prototypes that trampolines support.

use crate::rejection::PrototypeFault;
use skep_btf::{Kind, Type, TypeId};
use skep_uapi::limits::MAX_BPF_FUNC_ARGS;

/// Why the function can be called neither by a trampoline nor by a program. Kernel:
/// `btf_distill_func_proto`.
pub(crate) fn prototype_fault(func: Type<'_>, structs: bool) -> Option<PrototypeFault> {
    let btf = func.btf();
    let name = || func.name().into();
    let proto = btf.skip_modifiers(func.target_id());
    let count = proto.params().len();
    if count > MAX_BPF_FUNC_ARGS {
        return Some(PrototypeFault::TooManyArguments { name: name(), count });
    }
    let result = btf.skip_modifiers(proto.target_id());
    if result.kind().is_composite() || passed_bytes(result).is_none() {
        let kind = result.kind().name();
        return Some(PrototypeFault::Result { name: name(), kind });
    }
    proto.params().enumerate().find_map(|(arg, param)| {
        if arg + 1 == count && param.ty == TypeId::VOID {
            return Some(PrototypeFault::VariableArguments { name: name() });
        }
        let ty = btf.skip_modifiers(param.ty);
        match passed_bytes(ty) {
            Some(1..=16) if structs || !ty.kind().is_composite() => None,
            Some(0) => Some(PrototypeFault::VoidArgument { name: name() }),
            _ => {
                let kind = ty.kind().name();
                Some(PrototypeFault::Argument { name: name(), arg, kind })
            }
        }
    })
}

/// Size of an argument or result in bytes; `None` if it is not passed in registers.
pub(crate) fn passed_bytes(ty: Type<'_>) -> Option<u32> {
    match ty.kind() {
        Kind::Void => Some(0),
        Kind::Ptr => Some(8),
        kind if kind == Kind::Int || kind.is_any_enum() || kind.is_composite() => ty.stated_size(),
        _ => None,
    }
}
