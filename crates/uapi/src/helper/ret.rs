//! Short names for the result types, as used in the prototype tables.

use super::arg_type::{RetBase, RetType};
use crate::TypeFlag as F;

const NONE: F = F::empty();

pub(super) const INT: RetType = RetType::new(RetBase::Integer, NONE);
pub(super) const VOID: RetType = RetType::new(RetBase::Void, NONE);
pub(super) const VALUE: RetType = RetType::new(RetBase::MapValue, NONE);
pub(super) const VALUE_OR_NULL: RetType = RetType::new(RetBase::MapValue, F::PTR_MAYBE_NULL);
pub(super) const SOCKET_OR_NULL: RetType = RetType::new(RetBase::Socket, F::PTR_MAYBE_NULL);
pub(super) const TCP_SOCK_OR_NULL: RetType = RetType::new(RetBase::TcpSock, F::PTR_MAYBE_NULL);
pub(super) const SOCK_COMMON_OR_NULL: RetType =
    RetType::new(RetBase::SockCommon, F::PTR_MAYBE_NULL);
pub(super) const RINGBUF_MEM_OR_NULL: RetType =
    RetType::new(RetBase::Mem, F::PTR_MAYBE_NULL.union(F::MEM_RINGBUF));
pub(super) const DYNPTR_MEM_OR_NULL: RetType = RetType::new(RetBase::Mem, F::PTR_MAYBE_NULL);
pub(super) const MEM_OR_BTF: RetType = RetType::new(RetBase::MemOrBtfId, F::MEM_RDONLY);
pub(super) const MEM_OR_BTF_OR_NULL: RetType =
    RetType::new(RetBase::MemOrBtfId, F::MEM_RDONLY.union(F::PTR_MAYBE_NULL));

/// A kernel object.
pub(super) const fn btf(name: &'static str) -> RetType {
    RetType { base: RetBase::BtfId, flags: NONE, btf: name }
}

/// A trusted kernel object.
pub(super) const fn btf_trusted(name: &'static str) -> RetType {
    RetType { base: RetBase::BtfId, flags: F::PTR_TRUSTED, btf: name }
}

/// A kernel object or NULL.
pub(super) const fn btf_or_null(name: &'static str) -> RetType {
    RetType { base: RetBase::BtfId, flags: F::PTR_MAYBE_NULL, btf: name }
}
