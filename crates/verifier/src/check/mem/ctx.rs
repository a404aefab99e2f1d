//! The program's context.
//!
//! Kernel: `check_ctx_access` (6.18); the tables are those of `skep_uapi::ctx`.

use super::btf_ctx;
use super::region::{Span, check_mem_region_access, check_ptr_off_reg};
use super::sock::may_load_part;
use crate::callees::attach_number;
use crate::check::exit::{ResultRange, lsm_range};
use crate::check::mem::access::{CtxLoad, MemAccess, check_no_leak, mark_loaded_unknown};
use crate::env::{Env, Facts};
use crate::rejection::{Check, MemFault, Stop, unsupported};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::Kind;
use skep_uapi::ProgType;
use skep_uapi::ctx::{CtxLayout, CtxRange, CtxValue, ctx_struct, needs_cap_bpf};
use skep_uapi::errno;

impl CtxLoad {
    pub(super) fn of(ty: RegType) -> CtxLoad {
        CtxLoad { ty, btf_id: 0, ref_obj_id: 0, is_retval: false }
    }
}

/// Whether a pointer to the context may be moved by a constant. Programs of two more types, whose
/// contexts are not rewritten either, were not tested.
fn may_move(facts: &Facts<'_>) -> bool {
    let prog_type = facts.prog.prog_type;
    facts.rules().ctx_pointers_move
        && !rewrites_ctx(prog_type)
        && !matches!(prog_type, ProgType::StructOps | ProgType::LircMode2)
}

/// Size of a syscall program's context where it is memory.
pub(crate) const SYSCALL_CTX_BYTES: u32 = u16::MAX as u32;

/// Whether the context is memory, of which any part may be accessed.
pub(crate) fn is_memory(facts: &Facts<'_>) -> bool {
    facts.prog.prog_type == ProgType::Syscall && facts.rules().syscall_ctx_is_memory
}

/// Whether the context that programs see differs from the kernel's, so that accesses are rewritten.
pub(crate) fn rewrites_ctx(prog_type: ProgType) -> bool {
    use ProgType as P;
    !matches!(
        prog_type,
        P::Kprobe
            | P::Tracepoint
            | P::RawTracepoint
            | P::RawTracepointWritable
            | P::Tracing
            | P::Lsm
            | P::StructOps
            | P::Syscall
            | P::CgroupDevice
            | P::LircMode2
            | P::Netfilter
    )
}

pub(super) fn access_ctx(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    check_no_leak(env, at, "ctx")?;
    if is_memory(env.facts) {
        check_mem_region_access(env, Span::of(at, off), SYSCALL_CTX_BYTES)?;
        mark_loaded_unknown(&mut env.walk, at);
        return Ok(());
    }
    check_ptr_off_reg(reg, at.regno, may_move(env.facts))?;
    let Some(load) = find_access(env, at, off)? else {
        let size = at.size;
        let stop = Stop::refuse(errno::EACCES, MemFault::BeyondCtx { off, size });
        let stop = env.trace.refused_first(stop);
        env.trace.print_source_line(env.facts, env.walk.insn_idx, "; ");
        return Err(stop);
    };
    let Some(value) = at.value_regno.filter(|_| !at.is_write()) else { return Ok(()) };
    if load.ty.is(Base::Scalar) {
        let mut loaded = Reg::unknown();
        if load.is_retval
            && let Some(ResultRange { range, .. }) = lsm_range(env.facts)
        {
            (loaded.val.s32_min, loaded.val.s32_max) = (range.min, range.max);
            (loaded.val.smin, loaded.val.smax) = (i64::from(range.min), i64::from(range.max));
            crate::check::scalar_rules::sync(env.facts.rules(), &mut loaded.val);
        }
        env.set_reg(value, loaded);
        return Ok(());
    }
    let mut loaded = Reg::pointer(load.ty);
    if load.ty.may_be_null() {
        loaded.id = env.store.new_id();
    }
    loaded.ref_obj_id = load.ref_obj_id;
    loaded.extra = match load.ty.base {
        Base::BtfId => Extra::Btf { id: load.btf_id, in_prog: false },
        Base::Packet | Base::PacketMeta => Extra::Range(0),
        _ => Extra::None,
    };
    env.set_reg(value, loaded);
    Ok(())
}

/// Whether this kernel's context, according to its BTF, ends before `end`.
fn ctx_ends_before(facts: &Facts<'_>, end: i32) -> bool {
    let raw_tp =
        matches!(facts.prog.prog_type, ProgType::RawTracepoint | ProgType::RawTracepointWritable);
    if facts.rules().whole_ctx || raw_tp {
        return false;
    }
    let name = ctx_struct(facts.prog.prog_type);
    let found = name.and_then(|name| {
        let btf = facts.prog.kernel_btf.as_deref()?.root();
        let fields = btf.ty(btf.find_by_name_kind(name, Kind::Struct)?).members();
        fields.map(|it| it.bit_offset / 8 + btf.size_of(it.ty).unwrap_or(0)).max()
    });
    found.is_some_and(|last| i64::from(end) > i64::from(last))
}

/// The context field at `off`; `None` if this kind of program may not access it.
fn find_access(env: &mut Env<'_>, at: MemAccess, off: i32) -> Check<Option<CtxLoad>> {
    let prog_type = env.facts.prog.prog_type;
    let attach_type = attach_number(env.facts.prog, env.facts.config);
    let Some(layout) = CtxLayout::find(prog_type, attach_type) else {
        return unsupported(format!(
            "the context of {prog_type} programs of attach type {attach_type}"
        ));
    };
    if matches!(layout, CtxLayout::Btf) {
        return btf_ctx::find_btf_access(env, at, off);
    }
    let range = CtxRange { off, size: at.size as u32 };
    let changes_registers =
        env.facts.prog.prog_type == ProgType::Kprobe && env.facts.rules().probes_change_registers;
    let access = match at.is_write() && !changes_registers {
        true => layout.store(range),
        false => layout.load(range, at.is_ldsx && env.facts.rules().packets_loaded_unsigned),
    };
    let Some(access) = access else { return Ok(None) };
    let fields = env.facts.config.profile.ctx_fields;
    if ctx_ends_before(env.facts, off + at.size)
        || fields.lack(ctx_struct(prog_type), access.field, range.size)
        || !may_load_part(env.facts.rules(), access.field, range)
    {
        return Ok(None);
    }
    if !env.facts.bpf_capable && needs_cap_bpf(prog_type, access.field, at.is_write()) {
        return Ok(None);
    }
    let ty = match access.value {
        _ if at.is_write() => RegType::SCALAR,
        CtxValue::Scalar => RegType::SCALAR,
        CtxValue::Packet => RegType::of(Base::Packet),
        CtxValue::PacketEnd => RegType::of(Base::PacketEnd),
        CtxValue::PacketMeta => RegType::of(Base::PacketMeta),
        CtxValue::FlowKeys => RegType::of(Base::FlowKeys),
        CtxValue::Socket => RegType::of(Base::Socket),
        CtxValue::SocketOrNull => RegType::of(Base::Socket).with(TypeFlag::PTR_MAYBE_NULL),
        CtxValue::SockCommonOrNull => RegType::of(Base::SockCommon).with(TypeFlag::PTR_MAYBE_NULL),
        CtxValue::TpBuffer => RegType::of(Base::TpBuffer),
        CtxValue::NfHookState | CtxValue::SkBuff => {
            RegType::of(Base::BtfId).with(TypeFlag::PTR_TRUSTED)
        }
    };
    let mut load = CtxLoad::of(ty);
    if let Some(name) = access.value.btf_name() {
        let btf = env.facts.prog.kernel_btf.as_ref();
        let Some(id) = btf.and_then(|b| b.find_by_name_kind(name, Kind::Struct)) else {
            return unsupported("a context with kernel types, without the kernel's BTF");
        };
        load.btf_id = id.0;
    }
    Ok(Some(load))
}
