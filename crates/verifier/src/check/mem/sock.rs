//! Fields of sockets, which look to programs as `struct bpf_sock`, `bpf_tcp_sock`, `bpf_xdp_sock`.
//!
//! Kernel: `check_sock_access`, `bpf_sock_is_valid_access`, `bpf_tcp_sock_is_valid_access` (6.18).

use super::MemAccess;
use super::region::refuse_negative;
use crate::env::Env;
use crate::log::reject;
use crate::rejection::Check;
use crate::state::reg::Reg;
use crate::state::reg_type::Base;

pub(super) fn access_sock(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    if at.is_write() {
        reject!(env, EACCES, "R{} cannot write into {}", at.regno, reg.ty);
    }
    if reg.val.smin < 0 {
        return refuse_negative(env, at.regno);
    }
    let valid = match reg.ty.base {
        Base::SockCommon => !(8..24).contains(&off) && is_sock_field(off, at.size),
        Base::Socket => is_sock_field(off, at.size),
        Base::TcpSock => is_tcp_sock_field(off, at.size),
        _ => off == 0 && at.size == 4,
    };
    if !valid {
        let (regno, size) = (at.regno, at.size);
        reject!(env, EACCES, "R{regno} invalid {} access off={off} size={size}", reg.ty);
    }
    if let Some(value) = at.value_regno {
        env.set_reg(value, Reg::unknown());
    }
    Ok(())
}

/// A load of `struct bpf_sock` that the kernel takes.
fn is_sock_field(off: i32, size: i32) -> bool {
    if !(0..80).contains(&off) || off % size != 0 {
        return false;
    }
    match off {
        // dst_port is two bytes, with two of padding behind it.
        48 => matches!(size, 1 | 2 | 4),
        49 => size == 1,
        50 | 51 => false,
        // Fields of which a part may be read.
        4..16 | 24..48 | 52..80 => size <= 4 && off % 4 + size <= 4,
        _ => size == 4,
    }
}

/// A load of `struct bpf_tcp_sock` that the kernel takes.
fn is_tcp_sock_field(off: i32, size: i32) -> bool {
    (0..TCP_SOCK_BYTES).contains(&off)
        && off % size == 0
        && size == if matches!(off, 80 | 88) { 8 } else { 4 }
}

/// `sizeof(struct bpf_tcp_sock)`.
const TCP_SOCK_BYTES: i32 = 112;
