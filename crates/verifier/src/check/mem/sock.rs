//! Fields of sockets, which look to programs as `struct bpf_sock`, `bpf_tcp_sock`, `bpf_xdp_sock`.
//!
//! Kernel: `check_sock_access` (6.18); the tables are those of `skep_uapi::ctx`.

use super::MemAccess;
use super::region::refuse_negative;
use crate::env::Env;
use crate::log::reject;
use crate::rejection::Check;
use crate::state::arena::PackedReg;
use crate::state::reg::Reg;
use crate::state::reg_type::Base;
use skep_uapi::ctx::{CtxRange, SockPointer};

pub(super) fn access_sock(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    if at.is_write() {
        reject!(env, EACCES, "R{} cannot write into {}", at.regno, reg.ty);
    }
    if reg.val.smin < 0 {
        return refuse_negative(env, at.regno);
    }
    let pointer = match reg.ty.base {
        Base::SockCommon => SockPointer::SockCommon,
        Base::Socket => SockPointer::Socket,
        Base::TcpSock => SockPointer::TcpSock,
        _ => SockPointer::XdpSock,
    };
    let range = CtxRange { off, size: at.size as u32 };
    if pointer.layout().load(range, at.is_ldsx).is_none() {
        let (regno, size) = (at.regno, at.size);
        reject!(env, EACCES, "R{regno} invalid {} access off={off} size={size}", reg.ty);
    }
    if let Some(value) = at.value_regno {
        env.set_name(value, PackedReg::UNKNOWN);
    }
    Ok(())
}
