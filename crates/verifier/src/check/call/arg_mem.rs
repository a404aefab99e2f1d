//! Memory arguments of helpers and functions.
//!
//! Kernel: `check_helper_mem_access`, `check_mem_size_reg`, `check_mem_reg` (6.18).

use super::meta::CallMeta;
use crate::check::jmp::mark_ptr_not_null;
use crate::check::mem::access::{AccessType, MemAccess};
use crate::check::mem::btf_ptr::access_btf_ptr;
use crate::check::mem::check_mem_access;
use crate::check::mem::ctx;
use crate::check::mem::map_value::{
    AccessSource, check_map_access, check_map_access_type, map_def,
};
use crate::check::mem::packet::{check_buffer_access, check_packet_access};
use crate::check::mem::region::{Span, check_mem_region_access};
use crate::check::mem::stack_range::{RawRange, check_stack_range_initialized};
use crate::env::{Env, Facts, Found};
use crate::rejection::{CallFault, Check, MemFault, Regno, Stop, reject};
use crate::state::reg::Reg;
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_uapi::errno;
use skep_uapi::limits::BPF_MAX_VAR_SIZ;

/// Memory behind a pointer argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgMem {
    pub(crate) regno: u8,
    pub(crate) size: i32,
    pub(crate) zero_size_allowed: bool,
}

/// Checks that the callee may access `mem`. If `raw`, the stack need not be initialized.
pub(crate) fn check_helper_mem_access(
    env: &mut Env<'_>,
    mem: ArgMem,
    ty: AccessType,
    raw: Option<&mut Option<RawRange>>,
) -> Check {
    let ArgMem { regno, size, zero_size_allowed } = mem;
    let reg = env.reg(regno);
    let span = Span { regno, off: reg.off, size, zero_size_allowed };
    let write = ty == AccessType::Write;
    match reg.ty.base {
        Base::Packet | Base::PacketMeta => check_packet_access(env, span),
        Base::MapKey => {
            if write && env.facts.rules().keys_left_by_helpers {
                reject!(EACCES, MemFault::NotWritable { regno: Regno(regno), ty: reg.ty });
            }
            let key_size = map_def(env.facts, &reg)?.key_size;
            check_mem_region_access(env, Span { zero_size_allowed: false, ..span }, key_size)
        }
        Base::MapValue => {
            check_map_access_type(env, span, ty)?;
            check_map_access(env, span, AccessSource::Helper)
        }
        Base::Mem => {
            if write && reg.ty.has(TypeFlag::MEM_RDONLY) {
                reject!(EACCES, MemFault::NotWritable { regno: Regno(regno), ty: reg.ty });
            }
            check_mem_region_access(env, span, reg.mem_size())
        }
        Base::Buf => {
            if write && reg.ty.has(TypeFlag::MEM_RDONLY) {
                reject!(EACCES, MemFault::NotWritable { regno: Regno(regno), ty: reg.ty });
            }
            check_buffer_access(env, &reg, span)
        }
        Base::Stack => check_stack_range_initialized(env, span, ty, raw),
        Base::BtfId => {
            if !reg.ty.has(TypeFlag::MEM_ALLOC) {
                env.aux_mut().found = Found::KernelMem;
            }
            let ty = if env.facts.rules().objects_written_as_such { ty } else { AccessType::Read };
            let at = access(regno, 0, size, ty);
            if reg.ty.may_be_null() {
                return check_mem_access(env, at);
            }
            // Checked directly rather than like an insn: the callee copies bytes, which need no
            // alignment.
            access_btf_ptr(env, &reg, at, reg.off)
        }
        Base::Ctx if ctx::is_memory(env.facts) => {
            check_mem_region_access(env, span, ctx::SYSCALL_CTX_BYTES)
        }
        Base::Ctx if is_given(env.facts) => check_whole_ctx(env, mem, ty),
        _ => refuse_or_nothing(mem, &reg),
    }
}

fn access(regno: u8, off: i32, size: i32, ty: AccessType) -> MemAccess {
    MemAccess {
        regno,
        off,
        size,
        ty,
        value_regno: None,
        strict_alignment_once: false,
        is_ldsx: false,
    }
}

/// Whether the context may be given to a function as memory.
fn is_given(facts: &Facts<'_>) -> bool {
    !ctx::rewrites_ctx(facts.prog.prog_type) && !facts.rules().ctx_is_no_memory
}

/// A memory argument that is the context: the last byte of the range must be accessible.
fn check_whole_ctx(env: &mut Env<'_>, mem: ArgMem, ty: AccessType) -> Check {
    if mem.size == 0 {
        if mem.zero_size_allowed {
            return Ok(());
        }
        return Err(Stop::refuse_silently(errno::EACCES, CallFault::CtxOfNoSize));
    }
    // The callee gets the address of offset 0, and may access this many bytes.
    env.learned.ctx_mem_end = env.learned.ctx_mem_end.max(mem.size as u32);
    check_mem_access(env, access(mem.regno, mem.size - 1, 1, ty))
}

/// NULL is allowed only with size 0.
fn refuse_or_nothing(mem: ArgMem, reg: &Reg) -> Check {
    if mem.zero_size_allowed && mem.size == 0 && reg.is_null() {
        return Ok(());
    }
    let expected = RegType::of(Base::Stack);
    let (regno, got) = (mem.regno, reg.ty);
    reject!(
        EACCES,
        CallFault::ArgType { regno: Regno(regno), got, expected: expected.to_string().into() }
    )
}

/// Checks a size argument and the memory argument before it.
pub(crate) fn check_mem_size_reg(
    env: &mut Env<'_>,
    regno: u8,
    ty: AccessType,
    zero_size_allowed: bool,
    meta: &mut CallMeta,
) -> Check {
    let val = env.reg(regno).val;
    meta.msize_max = val.umax;
    if val.smin < 0 {
        reject!(EACCES, CallFault::NegativeSize { regno: Regno(regno) });
    }
    if val.umin == 0 && !zero_size_allowed {
        let (min, max, of) = (val.umin as i64, val.umax as i64, env.reg(regno - 1).ty);
        reject!(EACCES, CallFault::ZeroSize { regno: Regno(regno), min, max, of });
    }
    if val.umax >= BPF_MAX_VAR_SIZ {
        reject!(EACCES, CallFault::UnboundedSize { regno: Regno(regno) });
    }
    let raw = if val.is_const() && meta.raw_mode { Some(&mut meta.raw) } else { None };
    let mem = ArgMem { regno: regno - 1, size: val.umax as i32, zero_size_allowed };
    check_helper_mem_access(env, mem, ty, raw)?;
    env.mark_chain_precision(regno)
}

/// Checks that a function may read and write `size` bytes at the pointer, or that it is NULL.
pub(crate) fn check_mem_reg(env: &mut Env<'_>, regno: u8, size: u32) -> Check {
    let (name, saved) = (env.walk.cur.frame().name(regno), env.reg(regno));
    if saved.is_null() {
        return Ok(());
    }
    if saved.ty.may_be_null() {
        let mut reg = saved;
        mark_ptr_not_null(env.facts, &mut reg);
        env.store.arena.set_reg(env.walk.cur.frame_mut(), regno, &reg);
    }
    let mem = ArgMem { regno, size: size as i32, zero_size_allowed: true };
    let mut checked = check_helper_mem_access(env, mem, AccessType::Read, None);
    if checked.is_ok() && env.facts.rules().arguments_written {
        checked = check_helper_mem_access(env, mem, AccessType::Write, None);
    }
    if saved.ty.may_be_null() {
        env.walk.cur.frame_mut().set_name(regno, name);
    }
    checked
}
