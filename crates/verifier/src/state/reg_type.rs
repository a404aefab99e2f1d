//! The type of a register: a base type and modifier flags.
//!
//! Kernel: `enum bpf_reg_type` and `enum bpf_type_flag` (6.18). Values are ours; names are the
//! kernel's.

pub(crate) use skep_uapi::TypeFlag;

/// Base type of a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Base {
    #[default]
    NotInit,
    Scalar,
    Ctx,
    ConstMapPtr,
    MapValue,
    MapKey,
    Stack,
    PacketMeta,
    Packet,
    PacketEnd,
    FlowKeys,
    Socket,
    SockCommon,
    TcpSock,
    TpBuffer,
    XdpSock,
    BtfId,
    Mem,
    Arena,
    Buf,
    Func,
    ConstDynptr,
}

/// Base type with its modifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegType {
    /// The base type.
    pub base: Base,
    /// The modifiers.
    pub flags: TypeFlag,
}

impl RegType {
    pub(crate) const NOT_INIT: RegType = RegType::of(Base::NotInit);
    pub(crate) const SCALAR: RegType = RegType::of(Base::Scalar);

    /// The base type without modifiers.
    pub(crate) const fn of(base: Base) -> RegType {
        RegType { base, flags: TypeFlag::empty() }
    }
    /// The same base with these modifiers added.
    pub(crate) const fn with(self, flags: TypeFlag) -> RegType {
        RegType { base: self.base, flags: self.flags.union(flags) }
    }
    /// The same base with these modifiers removed.
    pub(crate) const fn without(self, flags: TypeFlag) -> RegType {
        RegType { base: self.base, flags: self.flags.difference(flags) }
    }
    /// Whether all of `flags` are set.
    pub(crate) const fn has(self, flags: TypeFlag) -> bool {
        self.flags.contains(flags)
    }
    /// Whether the pointer may be NULL.
    pub const fn may_be_null(self) -> bool {
        self.has(TypeFlag::PTR_MAYBE_NULL)
    }
    /// Exactly this base, with no modifier.
    pub(crate) fn is(self, base: Base) -> bool {
        self == RegType::of(base)
    }
    /// A pointer into packet data or metadata.
    pub(crate) fn is_packet(self) -> bool {
        self.is(Base::Packet) || self.is(Base::PacketMeta)
    }
    /// A pointer to memory that only this run can access: its stack, its context, its packet.
    pub(crate) fn is_own_memory(self) -> bool {
        self.is_packet() || self.is(Base::Stack) || self.is(Base::Ctx)
    }
    /// A socket of any of the socket types (without modifiers).
    pub(crate) fn is_sk(self) -> bool {
        self.is(Base::Socket)
            || self.is(Base::TcpSock)
            || self.is(Base::SockCommon)
            || self.is(Base::XdpSock)
    }
}
