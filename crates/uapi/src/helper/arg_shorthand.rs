//! Short names for the argument types, as used in the prototype tables.

use super::arg_type::{ArgBase, ArgType};
use crate::TypeFlag as F;

const NONE: F = F::empty();
const DYN_RINGBUF_REL: F = F::DYNPTR_TYPE_RINGBUF.union(F::OBJ_RELEASE);
const UNINIT_WRITE: F = F::MEM_UNINIT.union(F::MEM_WRITE);

pub(super) const ___: ArgType = ArgType::new(ArgBase::Dontcare, NONE);
pub(super) const ANY: ArgType = ArgType::new(ArgBase::Anything, NONE);
pub(super) const CTX: ArgType = ArgType::new(ArgBase::Ctx, NONE);
pub(super) const CTX_OR_NULL: ArgType = ArgType::new(ArgBase::Ctx, F::PTR_MAYBE_NULL);
pub(super) const MAP: ArgType = ArgType::new(ArgBase::ConstMapPtr, NONE);
pub(super) const KEY: ArgType = ArgType::new(ArgBase::MapKey, NONE);
pub(super) const VALUE: ArgType = ArgType::new(ArgBase::MapValue, NONE);
pub(super) const VALUE_OR_NULL: ArgType = ArgType::new(ArgBase::MapValue, F::PTR_MAYBE_NULL);
pub(super) const VALUE_OUT: ArgType = ArgType::new(ArgBase::MapValue, UNINIT_WRITE);
pub(super) const MEM: ArgType = ArgType::new(ArgBase::Mem, F::MEM_RDONLY);
pub(super) const MEM_OR_NULL: ArgType =
    ArgType::new(ArgBase::Mem, F::MEM_RDONLY.union(F::PTR_MAYBE_NULL));
/// Memory that is read and written.
pub(super) const MEM_INOUT: ArgType = ArgType::new(ArgBase::Mem, F::MEM_WRITE);
pub(super) const MEM_INOUT_OR_NULL: ArgType =
    ArgType::new(ArgBase::Mem, F::MEM_WRITE.union(F::PTR_MAYBE_NULL));
/// Memory that is only written, `ARG_PTR_TO_UNINIT_MEM`.
pub(super) const MEM_OUT: ArgType = ArgType::new(ArgBase::Mem, UNINIT_WRITE);
pub(super) const SIZE: ArgType = ArgType::new(ArgBase::ConstSize, NONE);
pub(super) const SIZE_OR_ZERO: ArgType = ArgType::new(ArgBase::ConstSizeOrZero, NONE);
pub(super) const ALLOC_SIZE: ArgType = ArgType::new(ArgBase::ConstAllocSizeOrZero, NONE);
pub(super) const SPIN_LOCK: ArgType = ArgType::new(ArgBase::SpinLock, NONE);
pub(super) const SOCK_COMMON: ArgType = ArgType::new(ArgBase::SockCommon, NONE);
pub(super) const SOCKET_OR_NULL: ArgType = ArgType::new(ArgBase::Socket, F::PTR_MAYBE_NULL);
pub(super) const BTF_SOCK: ArgType = ArgType::new(ArgBase::BtfIdSockCommon, NONE);
pub(super) const BTF_SOCK_OR_NULL: ArgType =
    ArgType::new(ArgBase::BtfIdSockCommon, F::PTR_MAYBE_NULL);
pub(super) const BTF_SOCK_REL: ArgType = ArgType::new(ArgBase::BtfIdSockCommon, F::OBJ_RELEASE);
pub(super) const RINGBUF_MEM_REL: ArgType = ArgType::new(ArgBase::RingbufMem, F::OBJ_RELEASE);
pub(super) const PERCPU: ArgType = ArgType::new(ArgBase::PercpuBtfId, NONE);
pub(super) const FUNC: ArgType = ArgType::new(ArgBase::Func, NONE);
pub(super) const STACK_OR_NULL: ArgType = ArgType::new(ArgBase::Stack, F::PTR_MAYBE_NULL);
pub(super) const CONST_STR: ArgType = ArgType::new(ArgBase::ConstStr, NONE);
pub(super) const TIMER: ArgType = ArgType::new(ArgBase::Timer, NONE);
pub(super) const KPTR_DEST: ArgType = ArgType::new(ArgBase::KptrXchgDest, NONE);
pub(super) const KPTR_REL: ArgType =
    ArgType::new(ArgBase::BtfId, F::PTR_MAYBE_NULL.union(F::OBJ_RELEASE));
pub(super) const DYNPTR_RDONLY: ArgType = ArgType::new(ArgBase::Dynptr, F::MEM_RDONLY);
pub(super) const DYNPTR_LOCAL_OUT: ArgType =
    ArgType::new(ArgBase::Dynptr, F::DYNPTR_TYPE_LOCAL.union(UNINIT_WRITE));
pub(super) const DYNPTR_RINGBUF_OUT: ArgType =
    ArgType::new(ArgBase::Dynptr, F::DYNPTR_TYPE_RINGBUF.union(UNINIT_WRITE));
pub(super) const DYNPTR_RINGBUF_REL: ArgType = ArgType::new(ArgBase::Dynptr, DYN_RINGBUF_REL);

/// Memory of `size` bytes that is only read.
pub(super) const fn fixed(size: u32) -> ArgType {
    let flags = F::MEM_FIXED_SIZE.union(F::MEM_RDONLY);
    ArgType { base: ArgBase::Mem, flags, size, btf: "" }
}

/// Memory of `size` bytes that is read and written, aligned to its size.
pub(super) const fn inout(size: u32) -> ArgType {
    let flags = F::MEM_FIXED_SIZE.union(F::MEM_WRITE).union(F::MEM_ALIGNED);
    ArgType { base: ArgBase::Mem, flags, size, btf: "" }
}

/// Memory of `size` bytes that is only written, aligned to its size.
pub(super) const fn out(size: u32) -> ArgType {
    let flags = F::MEM_FIXED_SIZE.union(UNINIT_WRITE).union(F::MEM_ALIGNED);
    ArgType { base: ArgBase::Mem, flags, size, btf: "" }
}

/// A kernel object.
pub(super) const fn btf(name: &'static str) -> ArgType {
    ArgType { base: ArgBase::BtfId, flags: NONE, size: 0, btf: name }
}

/// A kernel object or NULL.
pub(super) const fn btf_or_null(name: &'static str) -> ArgType {
    ArgType { base: ArgBase::BtfId, flags: F::PTR_MAYBE_NULL, size: 0, btf: name }
}
