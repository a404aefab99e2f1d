//! Alignment, where the program or the kind of memory requires it.
//!
//! Kernel: `check_ptr_alignment` (6.18).

use crate::check::mem::access::MemAccess;
use crate::env::Facts;
use crate::rejection::{Check, MemFault, reject};
use crate::state::reg::Reg;
use crate::state::reg_type::{Base, RegType};
use skep_domain::Tnum;

/// `NET_IP_ALIGN` of machines that need alignment: packets start at this offset from a word
/// boundary.
const NET_IP_ALIGN: i32 = 2;

/// Refuses a misaligned access.
pub(crate) fn check_ptr_alignment(facts: &Facts<'_>, reg: &Reg, at: MemAccess) -> Check {
    // Slots are tracked as a whole, so stack accesses are always aligned.
    let strict = facts.strict_alignment || at.strict_alignment_once || reg.ty.is(Base::Stack);
    if !strict || at.size == 1 || reg.ty.is(Base::Arena) {
        return Ok(());
    }
    let packet = reg.ty.is_packet();
    let start = if packet { NET_IP_ALIGN } else { 0 };
    let fixed = start.wrapping_add(reg.off).wrapping_add(at.off);
    let sum = reg.val.var_off.add(Tnum::constant(i64::from(fixed) as u64));
    if sum.is_aligned(at.size as u64) {
        return Ok(());
    }
    let (var, fixed, off, size) = (reg.val.var_off, reg.off, at.off, at.size);
    if packet {
        reject!(EACCES, MemFault::MisalignedPacket { start, var, fixed, off, size });
    }
    let what = description(reg.ty);
    // Some kernels print the sum of the fixed and variable offset.
    let sum = var.add(Tnum::constant(i64::from(fixed) as u64));
    let signed = sum.value as i64;
    let sum = if sum.is_const() && signed < 0 { signed.to_string() } else { sum.to_string() };
    let sum = sum.into();
    let bits = format!("({:#x}; {:#x})", var.value, var.mask).into();
    reject!(EACCES, MemFault::Misaligned { what, var, fixed, off, size, sum, bits })
}

fn description(ty: RegType) -> &'static str {
    if !ty.flags.is_empty() {
        return "";
    }
    match ty.base {
        Base::FlowKeys => "flow keys ",
        Base::MapKey => "key ",
        Base::MapValue => "value ",
        Base::Ctx => "context ",
        Base::Stack => "stack ",
        Base::Socket => "sock ",
        Base::SockCommon => "sock_common ",
        Base::TcpSock => "tcp_sock ",
        Base::XdpSock => "xdp_sock ",
        _ => "",
    }
}
