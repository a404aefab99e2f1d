//! The arguments of a function, read from its BTF.
//!
//! Kernel: `btf_prepare_func_args`, `btf_is_prog_ctx_type`, `btf_validate_prog_ctx_type` (6.18).

use crate::check::call::sub_arg::SubArg;
use crate::env::{Env, Facts};
use crate::rejection::{Check, FuncFault, OtherRule, Stop, reject};
use crate::state::reg_type::TypeFlag as F;
use skep_btf::{Btf, Kind, Type, TypeId};
use skep_uapi::ctx::ctx_struct;
use skep_uapi::errno;
use skep_uapi::limits::MAX_BPF_FUNC_REG_ARGS;
use skep_uapi::{AttachType, ProgType};

bitflags::bitflags! {
    /// `arg:` declaration tags of a parameter.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Tags: u8 {
        const CTX = 1;
        const NONNULL = 2;
        const TRUSTED = 4;
        const NULLABLE = 8;
        const ARENA = 16;
        const UNTRUSTED = 32;
    }
}

/// A function being described.
struct Func<'b> {
    btf: &'b Btf,
    ty: Type<'b>,
    is_global: bool,
}

/// Refuses without a message: static functions may have any prototype.
fn silently<T>(errno: i32) -> Check<T> {
    Err(Stop::refuse_silently(errno, FuncFault::UnusablePrototype))
}

/// The arguments of subprog `subprog`; a refusal if their types are not allowed.
pub(super) fn describe_args(env: &mut Env<'_>, subprog: u32) -> Check<Vec<SubArg>> {
    let start = env.facts.subprogs[subprog as usize].start;
    let row = env.facts.prog.func_info.iter().find(|f| f.insn_off.0 == start).copied();
    let (Some(row), Some(btf)) = (row, env.facts.prog.btf.clone()) else {
        return silently(errno::EINVAL);
    };
    let Some(ty) = btf.get(TypeId(row.type_id)).filter(|t| t.kind() == Kind::Func) else {
        reject!(EFAULT, FuncFault::NoFunctionType { type_id: row.type_id });
    };
    let is_global = ty.func_linkage() == skep_btf::FuncLinkage::Global as u16;
    let func = Func { btf: &btf, ty, is_global };
    let (name, proto) = (ty.name(), ty.target());
    if proto.kind() != Kind::FuncProto {
        reject!(EFAULT, FuncFault::NoPrototype { name: name.into() });
    }
    let count = proto.params().len();
    if count > MAX_BPF_FUNC_REG_ARGS {
        if !is_global {
            return silently(errno::EINVAL);
        }
        reject!(
            EINVAL,
            FuncFault::TooManyArgs { name: name.into(), count, max: MAX_BPF_FUNC_REG_ARGS }
        );
    }
    let result = btf.skip_modifiers(proto.target_id());
    let ret = result.kind();
    let is_void = ret == Kind::Void && is_global && env.facts.rules().void_global_functions;
    env.learned.subprogs[subprog as usize].returns_void = is_void;
    let is_number = ret == Kind::Int || ret.is_any_enum() || is_in_arena(env.facts, &btf, result);
    if !is_number && !is_void {
        if !is_global {
            return silently(errno::EINVAL);
        }
        reject!(EINVAL, FuncFault::NoScalarResult { name: name.into() });
    }
    proto
        .params()
        .enumerate()
        .map(|(i, param)| describe_arg(env.facts, &func, i as u32, param.ty))
        .collect()
}

fn describe_arg(facts: &Facts<'_>, func: &Func<'_>, i: u32, id: TypeId) -> Check<SubArg> {
    let tags = read_tags(facts, func, i)?;
    let t = func.btf.skip_modifiers(id);
    if t.kind() == Kind::Ptr
        && let Some(arg) = describe_pointer(facts, func, i, t, tags)?
    {
        return Ok(arg);
    }
    if !tags.is_empty() {
        reject!(EINVAL, FuncFault::TagOnScalar { i });
    }
    if t.kind() == Kind::Int || t.kind().is_any_enum() {
        return Ok(SubArg::Scalar);
    }
    if !func.is_global {
        return silently(errno::EINVAL);
    }
    let (kind, name) = (t.kind().name(), func.ty.name());
    reject!(EINVAL, FuncFault::ParamType { i, kind: kind.into(), name: name.into() })
}

fn read_tags(facts: &Facts<'_>, func: &Func<'_>, i: u32) -> Check<Tags> {
    let mut tags = Tags::empty();
    if !facts.rules().argument_tags {
        return Ok(tags);
    }
    let on_arg = func.btf.decl_tags(func.ty.id(), Some(i));
    for (nth, tag) in on_arg.filter_map(|t| t.strip_prefix("arg:")).enumerate() {
        if !func.is_global {
            reject!(EOPNOTSUPP, FuncFault::StaticTag { i });
        }
        if nth > 0 && !facts.rules().several_argument_tags {
            reject!(EEXIST, OtherRule::SeveralTags { i });
        }
        tags |= match tag {
            "trusted" | "untrusted" | "nullable" | "arena" if !facts.rules().trusted_arguments => {
                Tags::empty()
            }
            "ctx" => Tags::CTX,
            "trusted" => Tags::TRUSTED,
            "untrusted" if facts.rules().untrusted_arguments => Tags::UNTRUSTED,
            "nonnull" => Tags::NONNULL,
            "nullable" => Tags::NULLABLE,
            "arena" => Tags::ARENA,
            _ => reject!(EOPNOTSUPP, FuncFault::UnsupportedTags { i }),
        };
    }
    Ok(tags)
}

/// The kind of a pointer argument; `None` for any pointer of a static function.
fn describe_pointer(
    facts: &Facts<'_>,
    func: &Func<'_>,
    i: u32,
    t: Type<'_>,
    tags: Tags,
) -> Check<Option<SubArg>> {
    let bad_tags = || Err(Stop::refuse(errno::EINVAL, FuncFault::TagCombination { i }));
    if tags.contains(Tags::CTX) || is_prog_ctx_type(facts, func.btf, t) {
        if !(tags - Tags::CTX).is_empty() {
            return bad_tags();
        }
        if tags.contains(Tags::CTX) {
            validate_ctx_type(facts, func.btf, i, t)?;
        }
        return Ok(Some(SubArg::Ctx));
    }
    if func.is_global && !facts.rules().globals_take_memory {
        let (kind, name) = (t.kind().name(), func.ty.name());
        reject!(EINVAL, FuncFault::ParamType { i, kind: kind.into(), name: name.into() });
    }
    if func.is_global && tags.is_empty() && is_in_arena(facts, func.btf, t) {
        return Ok(Some(SubArg::Arena));
    }
    let to = func.btf.skip_modifiers(t.target_id());
    if to.kind() == Kind::Struct && to.name() == "bpf_dynptr" && facts.rules().argument_tags {
        return if tags.is_empty() { Ok(Some(SubArg::Dynptr)) } else { bad_tags() };
    }
    if tags.contains(Tags::TRUSTED) {
        if tags.contains(Tags::NONNULL) {
            return bad_tags();
        }
        let id = kernel_type(facts, i, to)?;
        let nullable = tags.contains(Tags::NULLABLE);
        let flags = if nullable { F::PTR_TRUSTED | F::PTR_MAYBE_NULL } else { F::PTR_TRUSTED };
        return Ok(Some(SubArg::Btf { id, flags }));
    }
    if tags.contains(Tags::UNTRUSTED) {
        return describe_untrusted(facts, i, to, tags).map(Some);
    }
    if tags.contains(Tags::ARENA) {
        if tags != Tags::ARENA {
            reject!(EINVAL, FuncFault::ArenaTagCombined { i });
        }
        return Ok(Some(SubArg::Arena));
    }
    if !func.is_global {
        return Ok(None);
    }
    if tags.contains(Tags::NULLABLE) {
        return bad_tags();
    }
    let Ok(size) = func.btf.size_of(to.id()) else {
        let (kind, name) = (to.kind().name(), to.name());
        reject!(EINVAL, FuncFault::ParamSize { i, kind: kind.into(), name: name.into() });
    };
    let nonnull = tags.contains(Tags::NONNULL);
    let flags = if nonnull { F::empty() } else { F::PTR_MAYBE_NULL };
    Ok(Some(SubArg::Mem { size, flags }))
}

fn describe_untrusted(facts: &Facts<'_>, i: u32, to: Type<'_>, tags: Tags) -> Check<SubArg> {
    if tags != Tags::UNTRUSTED {
        reject!(EINVAL, FuncFault::UntrustedTagCombined { i });
    }
    if is_primitive(to) {
        return Ok(SubArg::Mem { size: 0, flags: F::MEM_RDONLY | F::PTR_UNTRUSTED });
    }
    let id = kernel_type(facts, i, to)?;
    let kernel = facts.prog.kernel_btf.clone();
    if let Some(ty) = kernel.as_ref().map(|b| b.ty(TypeId(id)))
        && !ty.kind().is_composite()
    {
        let (kind, name) = (ty.kind().name(), ty.name());
        reject!(EINVAL, FuncFault::UntrustedTarget { i, kind: kind.into(), name: name.into() });
    }
    Ok(SubArg::Btf { id, flags: F::PTR_UNTRUSTED })
}

/// Whether any memory may be passed as such. An integer whose bits are no machine word's is looked
/// for among the kernel's types, like a struct; how many bytes it is stored in does not matter.
fn is_primitive(ty: Type<'_>) -> bool {
    let is_word = || matches!(ty.int_bits(), 8 | 16 | 32 | 64 | 128) && ty.int_bit_offset() == 0;
    match ty.kind() {
        Kind::Int => is_word(),
        kind => kind == Kind::Void || kind.is_any_enum(),
    }
}

/// The kernel type of that name, without the flavour after `___`; a module's type only if the
/// kernel itself has none.
fn kernel_type(facts: &Facts<'_>, i: u32, to: Type<'_>) -> Check<u32> {
    let Some(kernel) = facts.prog.kernel_btf.clone() else {
        return crate::rejection::unsupported("kernel types without the kernel's BTF");
    };
    if to.name().is_empty() {
        let kind = to.kind().name().into();
        reject!(EINVAL, FuncFault::NamelessKernelType { i, kind });
    }
    let base = to.name().split("___").next().unwrap_or("");
    let mut found: Vec<TypeId> =
        kernel.find_by_name(base).filter(|t| t.kind() == to.kind()).map(|t| t.id()).collect();
    let own = found.partition_point(|&id| id < kernel.root().end_id());
    if own > 0 {
        found.truncate(own);
    }
    let (kind, name) = (to.kind().name(), to.name());
    match found[..] {
        [id] => Ok(id.0),
        [] => reject!(ENOENT, FuncFault::NoKernelType { i, kind: kind.into(), name: name.into() }),
        _ => reject!(
            EINVAL,
            FuncFault::AmbiguousKernelType { i, kind: kind.into(), name: name.into() }
        ),
    }
}

/// Modifiers of a type that are looked at; more are no type that a program can have.
const MODIFIERS_MAX: usize = 32;

/// Whether the type is a pointer whose target is tagged as an arena's.
fn is_in_arena(facts: &Facts<'_>, btf: &Btf, ty: Type<'_>) -> bool {
    if !facts.rules().arena_types_passed || ty.kind() != Kind::Ptr {
        return false;
    }
    let modifiers = std::iter::successors(btf.get(ty.target_id()), |ty| {
        ty.kind().is_modifier().then(|| ty.target())
    });
    modifiers.take(MODIFIERS_MAX).any(|ty| ty.kind() == Kind::TypeTag && ty.name() == "arena")
}

/// The first typedef under modifiers.
fn typedef_name(btf: &Btf, id: TypeId) -> &str {
    let t = btf.skip_modifiers_only(id);
    if t.kind() == Kind::Typedef { t.name() } else { "" }
}

/// Whether `t` is a pointer to the context, according to the name of its target.
fn is_prog_ctx_type(facts: &Facts<'_>, btf: &Btf, t: Type<'_>) -> bool {
    let prog_type = facts.prog.prog_type;
    let rules = facts.rules();
    let is_regs = || typedef_name(btf, t.target_id()) == "bpf_user_pt_regs_t";
    if prog_type == ProgType::Kprobe && rules.regs_contexts_named && is_regs() {
        return true;
    }
    let to = btf.skip_modifiers(t.target_id());
    if !to.kind().is_composite() {
        return false;
    }
    match (ctx_struct(prog_type), to.name()) {
        (Some("__sk_buff"), "sk_buff") | (Some("xdp_md"), "xdp_buff") => {
            rules.kernel_contexts_named
        }
        (Some("pt_regs"), "bpf_user_pt_regs_t") => true,
        (Some("pt_regs"), "pt_regs") => rules.regs_contexts_named,
        (Some(ctx), name) => ctx == name,
        (None, _) => false,
    }
}

/// Checks the type of a parameter that is tagged as the context.
fn validate_ctx_type(facts: &Facts<'_>, btf: &Btf, i: u32, t: Type<'_>) -> Check {
    use ProgType as P;
    let prog_type = facts.prog.prog_type;
    let regs = matches!(prog_type, P::Kprobe | P::PerfEvent);
    if regs && typedef_name(btf, t.target_id()) == "bpf_user_pt_regs_t" {
        return Ok(());
    }
    let to = btf.skip_modifiers(t.target_id());
    if to.kind() == Kind::Void {
        return Ok(());
    }
    if to.name().is_empty() {
        reject!(EINVAL, FuncFault::CtxWithoutName { i });
    }
    let is_u64 = to.kind() == Kind::Int && to.stated_size() == Some(8);
    let is_struct = to.kind() == Kind::Struct;
    let fits = match prog_type {
        P::Kprobe | P::PerfEvent => is_struct && to.name() == "pt_regs",
        P::RawTracepoint | P::RawTracepointWritable | P::Lsm | P::StructOps => is_u64,
        P::Tracing => match facts.prog.attach_type() {
            Some(AttachType::TraceRawTp) => {
                is_u64 || (is_struct && to.name() == "bpf_raw_tracepoint_args")
            }
            Some(AttachType::TraceIter) => is_struct && to.name().starts_with("bpf_iter__"),
            Some(AttachType::TraceFentry | AttachType::TraceFexit | AttachType::ModifyReturn) => {
                is_u64
            }
            _ => false,
        },
        P::Tracepoint | P::Syscall | P::Ext => true,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let Some(ctx) = ctx_struct(prog_type) else {
        reject!(EINVAL, FuncFault::CtxNotVoid { i });
    };
    if !is_struct || to.name() != ctx {
        reject!(EINVAL, FuncFault::CtxOtherStruct { i, ctx: ctx.into() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_btf::BTF_MAGIC;

    /// BTF with one `INT u64` of 8 bytes and this data word: encoding, bit offset, bits.
    fn u64_with(data: u32) -> Btf {
        let strings = b"\0u64\0";
        let types = [1, (Kind::Int as u32) << 24, 8, data];
        let header = [1 << 16 | u32::from(BTF_MAGIC), 24, 0, 16, 16, strings.len() as u32];
        let words = header.into_iter().chain(types).flat_map(u32::to_ne_bytes);
        let bytes: Vec<u8> = words.chain(strings.iter().copied()).collect();
        Btf::parse(&bytes).expect("a type")
    }

    #[test]
    fn an_integer_of_odd_bits_is_no_memory() {
        // Found by mutants: 3 bits of 8 bytes are refused by 6.18.44 as a type that it does not
        // have, 8, 16 or 32 of them are memory.
        let offset = 1 << 16;
        for (data, primitive) in [
            (64, true),
            (32, true),
            (8, true),
            (3, false),
            (24, false),
            (63, false),
            (offset | 64, false),
            (offset | 32, false),
        ] {
            assert_eq!(is_primitive(u64_with(data).ty(TypeId(1))), primitive, "{data:#x}");
        }
        assert!(is_primitive(u64_with(64).ty(TypeId::VOID)));
    }
}
