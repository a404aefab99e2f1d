//! Arguments of helpers, by the type that the prototype gives.
//!
//! Kernel: `check_func_arg` (6.18).

use super::arg_mem::{ArgMem, check_helper_mem_access, check_mem_size_reg};
use super::arg_type::{check_func_arg_reg_off, check_reg_type};
use super::meta::{CallMeta, MapArg};
use super::{dynptr, field_args, format, lock, map_args};
use crate::HoleKind;
use crate::check::mem::access::AccessType;
use crate::check::mem::access::MemAccess;
use crate::check::mem::align::check_ptr_alignment;
use crate::check::reg_arg::Operand;
use crate::env::{Env, Facts};
use crate::rejection::{CallFault, Check, OtherRule, Regno, Stop, reject, unsupported};
use crate::state::reference::RefKind;
use crate::state::reg::{Extra, Reg};
use skep_uapi::ProgType;
use skep_uapi::errno;
use skep_uapi::helper::{ArgBase, ArgType, HelperId};
use skep_uapi::{TypeFlag, may_pass_packet};

/// Checks argument `arg` (0 to 4) and records in `meta` what it says.
pub(crate) fn check_func_arg(env: &mut Env<'_>, meta: &mut CallMeta, arg: usize) -> Check {
    let mut ty = meta.proto.args[arg];
    let regno = arg as u8 + 1;
    if ty.base == ArgBase::Dontcare {
        return Ok(());
    }
    env.check_reg_arg(regno, Operand::Src)?;
    if ty.base == ArgBase::Anything {
        if env.is_pointer_value(regno) {
            reject!(EACCES, CallFault::LeaksAddr { regno: Regno(regno) });
        }
        return Ok(());
    }
    let reg = env.reg(regno);
    if reg.ty.is_packet() && !may_pass_packet(env.facts.prog.prog_type, meta.proto) {
        reject!(EACCES, CallFault::NoPacketArg);
    }
    let needs_object = match meta.func {
        HelperId::GetSocketCookie => !env.facts.rules().cookies_of_null,
        func => is_owner_of_storage(func, regno) && !env.facts.rules().storage_of_null,
    };
    if needs_object {
        ty.flags.remove(TypeFlag::PTR_MAYBE_NULL);
    }
    if makes_syncookie(meta.func) && !env.facts.rules().syncookies_of_nothing && regno == 3 {
        ty.base = ArgBase::ConstSize;
    }
    if ty.base == ArgBase::MapValue {
        map_args::resolve_value_type(env.facts, meta, &mut ty)?;
    }
    if reg.is_null() && ty.maybe_null() {
        if env.facts.rules().null_to_helpers_is_precise || env.goes_by(HoleKind::NullArgument) {
            env.mark_chain_precision(regno)?;
        }
    } else {
        check_reg_type(env, regno, ty, Some(meta))?;
        check_func_arg_reg_off(env, regno, ty.base, ty.flags.contains(TypeFlag::OBJ_RELEASE))?;
    }
    if ty.flags.contains(TypeFlag::OBJ_RELEASE) {
        check_release(env, meta, regno, ty)?;
    }
    if reg.ref_obj_id != 0 && ty.base != ArgBase::KptrXchgDest {
        if meta.ref_obj_id != 0 && !env.facts.rules().two_references_passed {
            let (first, second) = (meta.ref_obj_id, reg.ref_obj_id);
            let kind = CallFault::TwoReferences { regno: Regno(regno), second, first };
            // The kernel does not end this line.
            return Err(Stop::refuse_open_line(errno::EACCES, kind));
        }
        if meta.ref_obj_id == 0 || ty.flags.contains(TypeFlag::OBJ_RELEASE) {
            meta.ref_obj_id = reg.ref_obj_id;
        }
    }
    check_by_kind(env, meta, regno, ty, &reg)
}

/// Checks that the released argument was acquired.
fn check_release(env: &mut Env<'_>, meta: &mut CallMeta, regno: u8, ty: ArgType) -> Check {
    let reg = env.reg(regno);
    if ty.base == ArgBase::Dynptr {
        dynptr::check_release(env, &reg, regno)?;
    } else if reg.ref_obj_id == 0 && !reg.is_null() {
        let helper = meta.proto.id.name().into();
        reject!(EINVAL, CallFault::ReleaseOfUnreferenced { regno: Regno(regno), helper });
    }
    meta.release_regno = Some(regno);
    Ok(())
}

/// How the helper accesses memory that is passed to it, as far as the kernel knows.
fn access_type(facts: &Facts<'_>, func: HelperId, flags: TypeFlag) -> AccessType {
    let unknown = match func {
        HelperId::FibLookup => !facts.rules().fib_lookup_writes,
        HelperId::SysctlGetName => !facts.rules().sysctl_names_seen,
        HelperId::GetStack => stack_is_input(facts, func),
        HelperId::ReadBranchRecords | HelperId::Snprintf | HelperId::SnprintfBtf => {
            !facts.rules().helper_outputs_seen
        }
        _ => false,
    };
    let number = flags.contains(TypeFlag::MEM_FIXED_SIZE) && !facts.rules().written_numbers_seen;
    let writes = flags.contains(TypeFlag::MEM_WRITE) && !unknown && !number;
    if writes || takes_store_for_load(facts, func) { AccessType::Write } else { AccessType::Read }
}

/// Whether the bytes that are stored to a packet are declared as if they were loaded from it.
fn takes_store_for_load(facts: &Facts<'_>, func: HelperId) -> bool {
    func == HelperId::XdpStoreBytes && !facts.rules().xdp_stores_read
}

/// Whether the buffer for the stack is declared as if it were read, as it once was for raw
/// tracepoints.
fn stack_is_input(facts: &Facts<'_>, func: HelperId) -> bool {
    let of_raw_tracepoint = facts.prog.prog_type == ProgType::RawTracepoint;
    func == HelperId::GetStack && of_raw_tracepoint && !facts.rules().helper_outputs_seen
}

fn makes_syncookie(func: HelperId) -> bool {
    matches!(func, HelperId::TcpRawGenSyncookieIpv4 | HelperId::TcpRawGenSyncookieIpv6)
}

/// Whether the argument is the task whose storage is looked up or deleted.
fn is_owner_of_storage(func: HelperId, regno: u8) -> bool {
    use HelperId::*;
    let of_tasks = matches!(func, TaskStorageGet | TaskStorageDelete);
    let of_others =
        matches!(func, SkStorageGet | SkStorageDelete | InodeStorageGet | InodeStorageDelete);
    regno == 2 && (of_tasks || of_others)
}

fn looks_up_socket(func: HelperId) -> bool {
    matches!(func, HelperId::SkLookupTcp | HelperId::SkLookupUdp | HelperId::SkcLookupTcp)
}

fn check_by_kind(
    env: &mut Env<'_>,
    meta: &mut CallMeta,
    regno: u8,
    ty: ArgType,
    reg: &Reg,
) -> Check {
    match ty.base {
        ArgBase::ConstMapPtr => note_map(meta, reg),
        ArgBase::MapKey => map_args::check_key(env, meta, regno),
        ArgBase::MapValue => map_args::check_value(env, meta, regno, ty),
        ArgBase::Mem => check_mem(env, meta, regno, ty),
        ArgBase::ConstSize | ArgBase::ConstSizeOrZero => {
            let before = meta.proto.args[regno as usize - 2];
            let zero_size_allowed = ty.base == ArgBase::ConstSizeOrZero
                && (env.facts.rules().lookups_of_no_address || !looks_up_socket(meta.func));
            if before.maybe_null() && env.reg(regno - 1).ty.may_be_null() && reg.val.umax > 0 {
                env.goes_through(HoleKind::NullMemory);
            }
            let seen = reg.val.is_const() || env.facts.rules().writes_of_any_size_seen;
            let access = match access_type(env.facts, meta.func, before.flags) {
                AccessType::Write if !seen => AccessType::Read,
                access => access,
            };
            check_mem_size_reg(env, regno, access, zero_size_allowed, meta)
        }
        ArgBase::ConstAllocSizeOrZero => {
            let Some(size) = reg.const_value() else {
                reject!(EACCES, CallFault::NotConstant { regno: Regno(regno) });
            };
            if size > u64::from(u32::MAX) && env.facts.rules().allocations_fit {
                reject!(EINVAL, OtherRule::AllocationSize { regno: Regno(regno) });
            }
            meta.mem_size = size as u32;
            env.mark_chain_precision(regno)
        }
        ArgBase::PercpuBtfId => {
            if reg.btf_id() == 0 {
                reject!(EACCES, CallFault::NoPercpuType { regno: Regno(regno) });
            }
            meta.percpu = Some(*reg);
            Ok(())
        }
        ArgBase::Func => {
            let Extra::Subprog(subprogno) = reg.extra else {
                return Err(Stop::bug("function pointer without function"));
            };
            meta.subprogno = subprogno;
            Ok(())
        }
        ArgBase::SpinLock => check_lock(env, meta, regno),
        ArgBase::Timer => field_args::process_timer(env, meta, regno),
        ArgBase::KptrXchgDest => field_args::process_kptr_dest(env, meta, regno),
        ArgBase::Dynptr => dynptr::process_dynptr(env, regno, ty.flags),
        ArgBase::ConstStr => format::check_const_str(env, regno),
        ArgBase::Arena => unsupported("arena pointers as arguments of helpers"),
        ArgBase::Dontcare
        | ArgBase::Anything
        | ArgBase::Ctx
        | ArgBase::SockCommon
        | ArgBase::Socket
        | ArgBase::BtfId
        | ArgBase::RingbufMem
        | ArgBase::BtfIdSockCommon
        | ArgBase::Stack => Ok(()),
    }
}

/// Records the map to which later arguments and the result belong.
fn note_map(meta: &mut CallMeta, reg: &Reg) -> Check {
    let Some(map) = reg.map() else {
        return Err(Stop::bug("map pointer without map"));
    };
    let arg = MapArg { map, uid: reg.map_uid() };
    if let Some(other) = meta.map.filter(|&m| m != arg) {
        let (held, given) = (other.uid, arg.uid);
        let (timer, map) = (Regno(1), Regno(2));
        reject!(EINVAL, CallFault::TimerOfOtherMap { timer, held, map, given });
    }
    meta.map = Some(arg);
    Ok(())
}

fn check_mem(env: &mut Env<'_>, meta: &mut CallMeta, regno: u8, ty: ArgType) -> Check {
    let is_number = ty.flags.contains(TypeFlag::MEM_FIXED_SIZE);
    let reads = (meta.func == HelperId::DPath && env.facts.rules().path_buffers_read)
        || (is_number && !env.facts.rules().written_numbers_seen)
        || stack_is_input(env.facts, meta.func);
    let only_writes = ty.flags.contains(TypeFlag::MEM_UNINIT) && !reads;
    meta.raw_mode = only_writes || takes_store_for_load(env.facts, meta.func);
    if !is_number {
        return Ok(());
    }
    let access = access_type(env.facts, meta.func, ty.flags);
    let raw = if meta.raw_mode { Some(&mut meta.raw) } else { None };
    let mem = ArgMem { regno, size: ty.size as i32, zero_size_allowed: false };
    check_helper_mem_access(env, mem, access, raw)?;
    if !ty.flags.contains(TypeFlag::MEM_ALIGNED) {
        return Ok(());
    }
    let reg = env.reg(regno);
    let at = MemAccess {
        regno,
        off: 0,
        size: ty.size as i32,
        ty: access_type(env.facts, meta.func, ty.flags),
        value_regno: None,
        strict_alignment_once: true,
        is_ldsx: false,
    };
    check_ptr_alignment(env.facts, &reg, at)
}

/// Acquires or releases the lock that register `regno` points to.
fn check_lock(env: &mut Env<'_>, meta: &CallMeta, regno: u8) -> Check {
    if env.in_rbtree_lock_required_cb() {
        reject!(EACCES, CallFault::LockInRbtreeCb);
    }
    let takes = meta.func == HelperId::SpinLock;
    lock::process_spin_lock(env, lock::LockCall { takes, kind: RefKind::Lock }, regno)
}
