//! The kind of a pointer argument of a kfunc, determined by the parameter's type, the suffix of its
//! name, and the register passed.
//!
//! Kernel: `get_kfunc_ptr_arg_type` and the `is_kfunc_arg_*` predicates (6.18).

use super::callee::Special;
use super::ctx_type::is_prog_ctx_type;
use super::meta::Meta;
use crate::env::Env;
use crate::log::note::Note;
use crate::rejection::{Check, KfuncFault, reject};
use crate::state::reg_type::{Base, RegType};
use skep_btf::{Btf, Kind, Param, Type};

/// Kind of a pointer argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum KfArg {
    Null,
    Ctx,
    AllocBtfId,
    RefcountedKptr,
    Dynptr,
    Iter,
    ListHead,
    ListNode,
    RbRoot,
    RbNode,
    ConstStr,
    Map,
    Workqueue,
    TaskWork,
    IrqFlag,
    ResSpinLock,
    BtfId,
    Callback,
    Mem,
    MemSize,
}

/// Maximum nesting of structs that count as plain data.
const SCALAR_STRUCT_DEPTH: u32 = 3;

/// Whether the parameter's name has the suffix, such as `__sz`.
pub(super) fn has_suffix(param: &Param<'_>, suffix: &str) -> bool {
    param.name.ends_with(suffix)
}

/// An integer or enum. Kernel: `btf_type_is_scalar`.
pub(super) fn is_scalar_type(t: Type<'_>) -> bool {
    t.kind() == Kind::Int || t.kind().is_any_enum()
}

/// The struct that a pointer parameter points to, without modifiers.
pub(crate) fn pointee<'a>(btf: &'a Btf, param: &Param<'_>) -> Type<'a> {
    btf.skip_modifiers(btf.skip_modifiers(param.ty).target_id())
}

/// Kernel: `btf_type_str`, which prints kinds in capitals.
pub(super) fn type_str(t: Type<'_>) -> &'static str {
    match t.kind() {
        Kind::Void => "UNKNOWN",
        Kind::Int => "INT",
        Kind::Ptr => "PTR",
        Kind::Array => "ARRAY",
        Kind::Struct => "STRUCT",
        Kind::Union => "UNION",
        Kind::Enum => "ENUM",
        Kind::Fwd => "FWD",
        Kind::Typedef => "TYPEDEF",
        Kind::Volatile => "VOLATILE",
        Kind::Const => "CONST",
        Kind::Restrict => "RESTRICT",
        Kind::Func => "FUNC",
        Kind::FuncProto => "FUNC_PROTO",
        Kind::Var => "VAR",
        Kind::Datasec => "DATASEC",
        Kind::Float => "FLOAT",
        Kind::DeclTag => "DECL_TAG",
        Kind::TypeTag => "TYPE_TAG",
        Kind::Enum64 => "ENUM64",
    }
}

/// Objects recognised by the struct that the parameter points to.
fn by_struct(name: &str) -> Option<KfArg> {
    Some(match name {
        "bpf_list_head" => KfArg::ListHead,
        "bpf_list_node" => KfArg::ListNode,
        "bpf_rb_root" => KfArg::RbRoot,
        "bpf_rb_node" => KfArg::RbNode,
        _ => return None,
    })
}

/// The kernel struct that a register type stands for. Kernel: `reg2btf_ids`.
pub(super) fn struct_of_base(base: Base) -> Option<&'static str> {
    match base {
        Base::Socket => Some("sock"),
        Base::SockCommon => Some("sock_common"),
        Base::TcpSock => Some("tcp_sock"),
        Base::ConstMapPtr => Some("bpf_map"),
        _ => None,
    }
}

impl Env<'_> {
    /// Whether parameter `nth` is the size of the preceding memory argument.
    fn is_mem_size(&self, params: &[Param<'_>], nth: usize, suffix: &str) -> bool {
        let Some(param) = params.get(nth) else { return false };
        let Some(btf) = self.facts.prog.kernel_btf.as_deref() else { return false };
        is_scalar_type(btf.skip_modifiers(param.ty))
            && self.reg(nth as u8 + 1).is_scalar()
            && has_suffix(param, suffix)
    }

    /// Whether parameter `nth` is such a size that must be constant.
    pub(super) fn is_const_mem_size(&self, params: &[Param<'_>], nth: usize) -> bool {
        self.is_mem_size(params, nth, "__szk")
    }

    /// The kind of pointer parameter `nth`, given the register that is passed.
    pub(super) fn kfunc_ptr_arg_kind(
        &mut self,
        meta: &Meta<'_>,
        params: &[Param<'_>],
        nth: usize,
    ) -> Check<KfArg> {
        let btf = meta.callee.proto.btf();
        let param = &params[nth];
        let reg = self.reg(nth as u8 + 1);
        let sized =
            self.is_mem_size(params, nth + 1, "__sz") || self.is_const_mem_size(params, nth + 1);
        // Newer kernels take the context of a session as `void *`.
        let is_session = matches!(meta.callee.name, "bpf_session_cookie" | "bpf_session_is_return");
        if meta.callee.special == Special::CastToKernCtx
            || is_session
            || is_prog_ctx_type(btf, btf.skip_modifiers(param.ty), self.facts.prog.prog_type)
        {
            return Ok(KfArg::Ctx);
        }
        if has_suffix(param, "__nullable") && reg.is_null() && !sized {
            return Ok(KfArg::Null);
        }
        let to = pointee(btf, param);
        if let Some(kind) = told_by_name(meta, param, nth, to) {
            return Ok(kind);
        }
        if reg.ty.base == Base::BtfId || struct_of_base(reg.ty.base).is_some() {
            if !to.kind().is_composite() {
                let (name, kind, to) = (meta.callee.name, type_str(to), to.name());
                reject!(
                    EINVAL,
                    KfuncFault::ArgPointer { name: name.into(), nth, kind, to: to.into() }
                );
            }
            return Ok(KfArg::BtfId);
        }
        if to.kind() == Kind::FuncProto {
            return Ok(KfArg::Callback);
        }
        self.plain_memory(to, nth, sized, reg.ty)
    }

    /// Memory of plain data.
    fn plain_memory(&mut self, to: Type<'_>, nth: usize, sized: bool, ty: RegType) -> Check<KfArg> {
        let plain = is_scalar_type(to) || self.is_scalar_struct(to, 0);
        let sized_void = sized && to.kind() == Kind::Void;
        if !plain && !sized_void {
            let (kind, name) = (type_str(to), to.name());
            let or_void = if sized { "void, " } else { "" };
            reject!(EINVAL, KfuncFault::ArgTarget { nth, kind, name: name.into(), or_void, ty });
        }
        Ok(if sized { KfArg::MemSize } else { KfArg::Mem })
    }

    /// Whether all members are plain data. Kernel: `__btf_type_is_scalar_struct`.
    pub(super) fn is_scalar_struct(&mut self, t: Type<'_>, depth: u32) -> bool {
        if !t.kind().is_composite() {
            return false;
        }
        let btf = t.btf();
        for member in t.members() {
            let mut m = btf.skip_modifiers(member.ty);
            if m.kind().is_composite() {
                if depth >= SCALAR_STRUCT_DEPTH {
                    self.trace.note(Note::NestedTooDeep);
                    return false;
                }
                if !self.is_scalar_struct(m, depth + 1) {
                    return false;
                }
                continue;
            }
            if let Some(array) = m.array() {
                if array.nelems == 0 {
                    return false;
                }
                m = btf.skip_modifiers(array.elem);
            }
            if !is_scalar_type(m) {
                return false;
            }
        }
        true
    }
}

/// Kinds that do not depend on the register.
fn told_by_name(meta: &Meta<'_>, param: &Param<'_>, nth: usize, to: Type<'_>) -> Option<KfArg> {
    let is = |name: &str| to.kind() == Kind::Struct && to.name() == name;
    let iter = if meta.callee.is_iter() { nth == 0 } else { has_suffix(param, "__iter") };
    let rows = [
        (has_suffix(param, "__alloc"), KfArg::AllocBtfId),
        (has_suffix(param, "__refcounted_kptr"), KfArg::RefcountedKptr),
        (is("bpf_dynptr") || is("bpf_dynptr_kern"), KfArg::Dynptr),
        (iter, KfArg::Iter),
    ];
    if let Some(row) = rows.iter().find(|row| row.0) {
        return Some(row.1);
    }
    if let Some(kind) = by_struct(to.name()).filter(|_| to.kind() == Kind::Struct) {
        return Some(kind);
    }
    let rows = [
        (has_suffix(param, "__str"), KfArg::ConstStr),
        (has_suffix(param, "__map") || has_suffix(param, "__const_map"), KfArg::Map),
        (is("bpf_wq"), KfArg::Workqueue),
        (is("bpf_task_work"), KfArg::TaskWork),
        (has_suffix(param, "__irq_flag"), KfArg::IrqFlag),
        (is("bpf_res_spin_lock"), KfArg::ResSpinLock),
    ];
    rows.iter().find(|row| row.0).map(|row| row.1)
}
