//! Loads through pointers to sockets, and through the flow dissector's keys.
//!
//! Kernel: `bpf_sock_common_is_valid_access`, `bpf_sock_is_valid_access`,
//! `bpf_tcp_sock_is_valid_access`, `bpf_xdp_sock_is_valid_access`, `check_flow_keys_access`, 6.18.
//! 6.18 accepts a u32 load of the upper half of `bytes_received` and `bytes_acked` of a
//! `bpf_tcp_sock` in its main pass, and then finds no conversion
//! ([`SockPointer::lacks_conversion`]).

use super::field::CtxRange;
use super::layout_row::CtxLayout;
use super::sock_ptr_table::{SOCK, SOCK_COMMON, TCP_SOCK, TCP_SOCK_NOT_CONVERTED, XDP_SOCK};

/// Bytes of `struct bpf_flow_keys`: any load or store inside is allowed, at any alignment.
pub const FLOW_KEYS_BYTES: u32 = 56;

/// A register type that points to a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SockPointer {
    /// `PTR_TO_SOCK_COMMON`.
    SockCommon,
    /// `PTR_TO_SOCKET`.
    Socket,
    /// `PTR_TO_TCP_SOCK`.
    TcpSock,
    /// `PTR_TO_XDP_SOCK`.
    XdpSock,
}

impl SockPointer {
    /// The loads that are allowed; no stores are (`R%d cannot write into sock`).
    ///
    /// The rejection is `R%d invalid sock_common access off=%d size=%d`, with the name of the
    /// register type.
    pub fn layout(self) -> CtxLayout {
        CtxLayout::Fields(match self {
            SockPointer::SockCommon => &SOCK_COMMON,
            SockPointer::Socket => &SOCK,
            SockPointer::TcpSock => &TCP_SOCK,
            SockPointer::XdpSock => &XDP_SOCK,
        })
    }

    /// Its struct in the kernel's headers, if fields were added to it.
    pub fn name(self) -> Option<&'static str> {
        matches!(self, SockPointer::SockCommon | SockPointer::Socket).then_some("bpf_sock")
    }

    /// A load that the main pass accepts, but for which the program is rejected afterwards.
    pub fn lacks_conversion(self, at: CtxRange) -> bool {
        self == SockPointer::TcpSock && TCP_SOCK_NOT_CONVERTED.contains(&at)
    }
}
