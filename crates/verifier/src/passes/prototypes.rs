//! Prototypes that trampolines support.

use skep_btf::{Kind, Type, TypeId};
use skep_uapi::limits::MAX_BPF_FUNC_ARGS;

/// Why the function can be called neither by a trampoline nor by a program. Kernel:
/// `btf_distill_func_proto`.
pub(crate) fn prototype_fault(func: Type<'_>) -> Option<String> {
    let (btf, name) = (func.btf(), func.name());
    let proto = btf.skip_modifiers(func.target_id());
    let count = proto.params().len();
    if count > MAX_BPF_FUNC_ARGS {
        return Some(format!("The function {name} has {count} arguments. Too many."));
    }
    let result = btf.skip_modifiers(proto.target_id());
    if result.kind().is_composite() || passed_bytes(result).is_none() {
        let kind = result.kind().name();
        return Some(format!("The function {name} return type {kind} is unsupported."));
    }
    proto.params().enumerate().find_map(|(arg, param)| {
        if arg + 1 == count && param.ty == TypeId::VOID {
            return Some(format!("The function {name} with variable args is unsupported."));
        }
        let ty = btf.skip_modifiers(param.ty);
        match passed_bytes(ty) {
            Some(1..=16) => None,
            Some(0) => Some(format!("The function {name} has malformed void argument.")),
            _ => {
                let kind = ty.kind().name();
                Some(format!("The function {name} arg{arg} type {kind} is unsupported."))
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
