//! The result of a load from the context.

/// Type of the loaded value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CtxValue {
    /// A number, bounded by the size of the load.
    Scalar,
    /// `PTR_TO_PACKET`.
    Packet,
    /// `PTR_TO_PACKET_END`.
    PacketEnd,
    /// `PTR_TO_PACKET_META`.
    PacketMeta,
    /// `PTR_TO_FLOW_KEYS`.
    FlowKeys,
    /// `PTR_TO_SOCKET`.
    Socket,
    /// `PTR_TO_SOCKET_OR_NULL`.
    SocketOrNull,
    /// `PTR_TO_SOCK_COMMON_OR_NULL`.
    SockCommonOrNull,
    /// `PTR_TO_TP_BUFFER`.
    TpBuffer,
    /// `PTR_TO_BTF_ID | PTR_TRUSTED` to `struct nf_hook_state`.
    NfHookState,
    /// `PTR_TO_BTF_ID | PTR_TRUSTED` to `struct sk_buff`.
    SkBuff,
}

impl CtxValue {
    /// The kernel struct that the pointer points to, for `PTR_TO_BTF_ID`.
    pub const fn btf_name(self) -> Option<&'static str> {
        match self {
            CtxValue::NfHookState => Some("nf_hook_state"),
            CtxValue::SkBuff => Some("sk_buff"),
            _ => None,
        }
    }

    /// Whether a sign-extending load is allowed. It is not for a packet pointer.
    const fn sign_extends(self) -> bool {
        !matches!(self, CtxValue::Packet | CtxValue::PacketEnd | CtxValue::PacketMeta)
    }

    /// Whether the access is allowed for this kind of load.
    pub(super) const fn loads(self, sign_extend: bool) -> bool {
        !sign_extend || self.sign_extends()
    }
}
