//! Contexts that consist of a kernel function's arguments, 8 bytes each.
//!
//! Kernel: `btf_ctx_access`, `tracing_prog_ctx_access`, `prog_args_trusted` (6.18).

use crate::check::mem::access::CtxLoad;
use crate::check::mem::access::MemAccess;
use crate::check::struct_ops::Target;
use crate::env::{Env, Facts};
use crate::log::note::Note;
use crate::rejection::{Check, unsupported};
use crate::state::reg::Reg;
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::{Kind, Type, TypeId};
use skep_program::AttachTarget;
use skep_uapi::ctx::{IterArg, RawTpArg, iter_args, raw_tp_arg};
use skep_uapi::limits::MAX_BPF_FUNC_ARGS;
use skep_uapi::{AttachType, Behaviours, ProgType};

/// The function whose arguments the context holds.
struct Func<'a> {
    proto: Type<'a>,
    /// Name in messages.
    name: &'a str,
    /// Parameters that are not in the context (`void *__data` of tracepoints).
    skip: usize,
}

/// The argument at `off`; `None` if it cannot be loaded this way.
pub(super) fn find_btf_access(
    env: &mut Env<'_>,
    at: MemAccess,
    off: i32,
) -> Check<Option<CtxLoad>> {
    let size = at.size;
    if !(0..8 * MAX_BPF_FUNC_ARGS as i32).contains(&off) || at.is_write() || off % size != 0 {
        return Ok(None);
    }
    let func = attach_func(env.facts)?;
    let name = func.name;
    if off % 8 != 0 {
        env.trace.note(Note::ArgumentOffset { name, off });
        return Ok(None);
    }
    let arg = arg_idx(&func, off);
    let params = func.proto.params().len().saturating_sub(func.skip);
    if arg > params || (arg == params && !has_retval(env.facts)) {
        env.trace.note(Note::NoArgument { name, nth: arg + 1 });
        return Ok(None);
    }
    let btf = func.proto.btf();
    let mut load = CtxLoad::of(RegType::SCALAR);
    let (mut ty, mut param_name) = (func.proto.target_id(), "");
    if arg == params {
        load.is_retval = env.facts.prog.attach_type() == Some(AttachType::LsmMac);
    } else if let Some(param) = func.proto.params().nth(arg + func.skip) {
        (ty, param_name) = (param.ty, param.name);
    }
    let ty = skip_modifiers(btf, ty);
    if is_small_int(ty) || ty.kind().is_any_enum() || ty.kind().is_composite() {
        return Ok(Some(load));
    }
    if ty.kind() != Kind::Ptr {
        let (of, kind) = (shown_name(ty), ty.kind().name());
        env.trace.note(Note::ArgumentKind { name, arg, of, kind });
        return Ok(None);
    }
    // Else a part of a pointer is taken for the pointer.
    if size != 8 && env.facts.rules().arguments_loaded_whole {
        env.trace.note(Note::ArgumentSize { name, size });
        return Ok(None);
    }
    pointer_arg(env, CtxArg { func: &func, nth: arg, param_name }, ty, load)
}

/// Skips the modifiers that the kernel's `btf_type_is_modifier` accepts, one by one.
fn skip_modifiers(btf: &skep_btf::Btf, id: TypeId) -> Type<'_> {
    btf.skip_modifiers(id)
}

/// Index of the argument at `off`; structs may take more than 8 bytes.
///
/// Kernel: `btf_ctx_arg_idx` (6.18).
fn arg_idx(func: &Func<'_>, off: i32) -> usize {
    let btf = func.proto.btf();
    let types = func.proto.params().map(|p| p.ty).chain([func.proto.target_id()]);
    let mut end = 0;
    let mut n = 0;
    for ty in types {
        let ty = btf.skip_modifiers(ty);
        let bytes = if ty.kind() == Kind::Ptr { 8 } else { ty.stated_size().unwrap_or(0) };
        end += i64::from(bytes.next_multiple_of(8));
        if i64::from(off) < end {
            return n;
        }
        n += 1;
    }
    n
}

/// Name of a type in messages. Kernel: `__btf_name_by_offset`.
fn shown_name(ty: Type<'_>) -> &str {
    if ty.name().is_empty() { "(anon)" } else { ty.name() }
}

fn is_small_int(ty: Type<'_>) -> bool {
    ty.kind() == Kind::Int && ty.stated_size().is_some_and(|size| size <= 8)
}

/// Whether the return value follows the arguments.
fn has_retval(facts: &Facts<'_>) -> bool {
    matches!(
        facts.prog.attach_type(),
        Some(
            AttachType::LsmMac
                | AttachType::LsmCgroup
                | AttachType::TraceFexit
                | AttachType::ModifyReturn
        )
    ) && facts.prog.prog_type != ProgType::StructOps
}

/// An argument of the function that the program is attached to.
#[derive(Clone, Copy)]
struct CtxArg<'a> {
    func: &'a Func<'a>,
    nth: usize,
    param_name: &'a str,
}

/// A pointer in an argument.
fn pointer_arg(
    env: &mut Env<'_>,
    arg: CtxArg<'_>,
    ptr: Type<'_>,
    mut load: CtxLoad,
) -> Check<Option<CtxLoad>> {
    let CtxArg { func, nth, param_name } = arg;
    let btf = ptr.btf();
    let is_iter = env.facts.prog.attach_type() == Some(AttachType::TraceIter)
        && env.facts.prog.prog_type == ProgType::Tracing;
    let special = if is_iter { iter_arg(func.name, nth)? } else { None };
    if let Some(IterArg::BufOrNull | IterArg::RdonlyBufOrNull) = special {
        let mut flags = TypeFlag::PTR_MAYBE_NULL;
        if special == Some(IterArg::RdonlyBufOrNull) {
            flags |= TypeFlag::MEM_RDONLY;
        }
        load.ty = RegType::of(Base::Buf).with(flags);
        return Ok(Some(load));
    }
    let to = skip_modifiers(btf, ptr.target_id());
    let rules = env.facts.rules();
    let is_number = match to.kind() {
        Kind::Void => rules.const_void_in_ctx || ptr.target().kind() == Kind::Void,
        Kind::Int => rules.int_pointers_in_ctx || is_readable_int(ptr, rules),
        kind => rules.other_pointers_in_ctx && !kind.is_composite(),
    };
    if is_number {
        return Ok(Some(load));
    }
    if let Some(special) = special {
        let mut flags = TypeFlag::PTR_MAYBE_NULL;
        if special == IterArg::TrustedBtfOrNull {
            flags |= TypeFlag::PTR_TRUSTED;
        }
        load.ty = RegType::of(Base::BtfId).with(flags);
        load.btf_id = to.id().0;
        return Ok(Some(load));
    }
    if env.facts.prog.prog_type == ProgType::StructOps
        && Target::of(env.facts).is_some_and(|target| target.may_be_null(nth))
    {
        load.ty = RegType::of(Base::BtfId).with(TypeFlag::PTR_TRUSTED | TypeFlag::PTR_MAYBE_NULL);
        load.btf_id = to.id().0;
        return Ok(Some(load));
    }
    let mut flags = if args_trusted(env.facts) { TypeFlag::PTR_TRUSTED } else { TypeFlag::empty() };
    if param_name.ends_with("__nullable") {
        flags |= TypeFlag::PTR_MAYBE_NULL;
    }
    match is_raw_tp(env.facts).then(|| raw_tp_arg(func.name, nth as u32, rules)) {
        Some(RawTpArg::Number) => return Ok(Some(load)),
        Some(RawTpArg::ObjectOrNull) => flags |= TypeFlag::PTR_MAYBE_NULL,
        Some(RawTpArg::Object) | None => {}
    }
    let tag = ptr.target();
    if tag.kind() == Kind::TypeTag && !tag.kflag() {
        match tag.name() {
            "user" => flags |= TypeFlag::MEM_USER,
            "percpu" => flags |= TypeFlag::MEM_PERCPU,
            _ => {}
        }
    }
    let (name, kind) = (func.name, to.kind().name());
    if !to.kind().is_composite() {
        env.trace.note(Note::ArgumentNoStruct { name, arg: nth, kind });
        return Ok(None);
    }
    let (id, of) = (to.id().0, shown_name(to));
    env.trace.note(Note::ArgumentType { name, arg: nth, id, kind, of });
    load.ty = RegType::of(Base::BtfId).with(flags);
    load.btf_id = match Target::of(env.facts) {
        Some(target) if env.facts.prog.prog_type == ProgType::StructOps => {
            target.promoted(to.id()).0
        }
        _ => id,
    };
    Ok(Some(load))
}

/// Whether a pointer is one to numbers by their own type, constant or not, that may be loaded.
fn is_readable_int(ptr: Type<'_>, rules: &Behaviours) -> bool {
    let to = ptr.target();
    let to = if to.kind() == Kind::Const { to.target() } else { to };
    let is_byte = to.stated_size() == Some(1);
    to.kind() == Kind::Int && (is_byte || rules.plain_int_pointers_in_ctx)
}

/// Special properties of argument `arg` of an iterator.
fn iter_arg(func: &str, arg: usize) -> Check<Option<IterArg>> {
    match iter_args(func) {
        Some(args) => Ok(args.iter().find(|a| usize::from(a.0) == arg).map(|a| a.1)),
        None => unsupported(format!("iterator {func}")),
    }
}

impl Facts<'_> {
    /// Whether the pointer is an argument that may be NULL, and may be used all the same.
    pub(crate) fn is_unchecked_argument(&self, reg: &Reg) -> bool {
        let flags = TypeFlag::PTR_TRUSTED | TypeFlag::PTR_MAYBE_NULL;
        let is_argument = reg.ty.flags == flags && reg.ref_obj_id == 0;
        self.rules().tracepoint_arguments_checked && is_raw_tp(self) && is_argument
    }

    /// The register as it is used: an unchecked argument is not NULL.
    pub(crate) fn as_used(&self, mut reg: Reg) -> Reg {
        if self.is_unchecked_argument(&reg) {
            reg.ty = reg.ty.without(TypeFlag::PTR_MAYBE_NULL);
        }
        reg
    }
}

fn is_raw_tp(facts: &Facts<'_>) -> bool {
    facts.prog.prog_type == ProgType::Tracing
        && facts.prog.attach_type() == Some(AttachType::TraceRawTp)
}

/// Whether pointer arguments are valid objects. Kernel: `prog_args_trusted`.
fn args_trusted(facts: &Facts<'_>) -> bool {
    if !facts.fields_have_trust {
        return false;
    }
    match facts.prog.prog_type {
        ProgType::Tracing => {
            matches!(facts.prog.attach_type(), Some(AttachType::TraceRawTp | AttachType::TraceIter))
        }
        ProgType::Lsm => !is_untrusted_hook(facts),
        ProgType::StructOps => true,
        _ => false,
    }
}

/// Hooks whose objects are not yet initialized or already being freed. Kernel:
/// `untrusted_lsm_hooks`.
fn is_untrusted_hook(facts: &Facts<'_>) -> bool {
    let AttachTarget::Kernel { name, .. } = &facts.prog.attach else { return true };
    matches!(
        name.strip_prefix("bpf_lsm_").unwrap_or(name),
        "bpf_map_free"
            | "bpf_prog_free"
            | "file_alloc_security"
            | "file_free_security"
            | "sk_alloc_security"
            | "sk_free_security"
            | "task_free"
    )
}

fn attach_func<'a>(facts: &Facts<'a>) -> Check<Func<'a>> {
    let prog = facts.prog;
    if prog.prog_type == ProgType::StructOps {
        return match Target::of(facts) {
            Some(target) => Ok(Func { proto: target.proto, name: target.name, skip: 0 }),
            None => unsupported("a struct_ops program without its member in the kernel's BTF"),
        };
    }
    let (AttachTarget::Kernel { btf_id, .. }, Some(btf)) =
        (&prog.attach, prog.kernel_btf.as_deref())
    else {
        return unsupported("a tracing program without a target in the kernel's BTF");
    };
    let Some(target) = btf.get(TypeId(*btf_id)) else {
        return unsupported("a tracing program with an unknown target");
    };
    let func = match target.kind() {
        Kind::Func => Some(Func { proto: target.target(), name: target.name(), skip: 0 }),
        Kind::Typedef => {
            let name = target.name();
            let name = name.strip_prefix("btf_trace_").unwrap_or(name);
            // The stub function names its parameters; a suffix of the name says which may be NULL.
            let stub = btf.find_by_name_kind(&format!("__bpf_trace_{name}"), Kind::Func);
            let proto = match stub {
                Some(stub) => btf.ty(stub).target(),
                None => btf.skip_modifiers(btf.skip_modifiers(target.target_id()).target_id()),
            };
            Some(Func { proto, name, skip: 1 })
        }
        _ => None,
    };
    match func.filter(|f| f.proto.kind() == Kind::FuncProto) {
        Some(func) => Ok(func),
        None => unsupported("a tracing program whose target is no function"),
    }
}
