//! Packet data, and other memory with a limit that is checked when the program is loaded or
//! attached: flow keys, tracepoint buffers, buffers of iterators.
//!
//! Kernel: `check_packet_access`, `check_flow_keys_access`, `check_tp_buffer_access`,
//! `check_buffer_access` (6.18).

use super::region::{OUTSIDE, Span, check_inside, check_mem_region_access, refuse_negative};
use crate::check::mem::access::{MemAccess, check_no_leak, mark_loaded_unknown};
use crate::env::Env;
use crate::rejection::{Check, MemFault, Regno, Word, reject};
use crate::state::reg::Reg;
use crate::state::reg_type::TypeFlag;
use skep_uapi::ctx::FLOW_KEYS_BYTES;
use skep_uapi::may_write_packet;

pub(super) fn access_packet(env: &mut Env<'_>, _reg: &Reg, at: MemAccess, off: i32) -> Check {
    if at.is_write() {
        if !may_write_packet(env.facts.prog.prog_type) {
            reject!(EACCES, MemFault::PacketReadOnly);
        }
        env.learned.seen_direct_write = true;
    }
    check_no_leak(env, at, "packet")?;
    check_packet_access(env, Span::of(at, off))?;
    mark_loaded_unknown(&mut env.walk, at);
    Ok(())
}

/// Checks that the span is within the range established by a comparison with `data_end`.
pub(crate) fn check_packet_access(env: &Env<'_>, span: Span) -> Check {
    let reg = env.reg(span.regno);
    if env.facts.rules().offsets_are_bounds && reg.range() >= 0 {
        return check_mem_region_access(env, span, reg.range() as u32);
    }
    if reg.val.smin < 0 {
        return refuse_negative(span.regno);
    }
    let regno = Regno(span.regno);
    let range = reg.range();
    if range < 0 {
        let told = "offset is outside of the packet";
        reject!(EINVAL, MemFault::OutsidePacket { regno, told });
    }
    match check_inside(env, span, range as u32) {
        Ok(()) => Ok(()),
        Err(stop) => Err(stop.led_to(MemFault::OutsidePacket { regno, told: OUTSIDE })),
    }
}

pub(super) fn access_flow_keys(env: &mut Env<'_>, at: MemAccess, off: i32) -> Check {
    check_no_leak(env, at, "flow keys")?;
    check_flow_keys_access(off, at.size)?;
    mark_loaded_unknown(&mut env.walk, at);
    Ok(())
}

/// Checks a range of `struct bpf_flow_keys`.
pub(crate) fn check_flow_keys_access(off: i32, size: i32) -> Check {
    if size < 0 || off < 0 || i64::from(off) + i64::from(size) > i64::from(FLOW_KEYS_BYTES) {
        reject!(EACCES, MemFault::BeyondFlowKeys { off, size });
    }
    Ok(())
}

pub(super) fn access_tp_buffer(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    check_buffer(env, reg, Span::of(at, off), "tracepoint")?;
    mark_loaded_unknown(&mut env.walk, at);
    Ok(())
}

pub(super) fn access_buf(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    if at.is_write() && reg.ty.has(TypeFlag::MEM_RDONLY) {
        reject!(EACCES, MemFault::NotWritable { regno: Regno(at.regno), ty: reg.ty });
    }
    check_buffer_access(env, reg, Span::of(at, off))?;
    mark_loaded_unknown(&mut env.walk, at);
    Ok(())
}

/// Checks an access to a buffer whose size is only known when the program is attached.
pub(crate) fn check_buffer_access(env: &Env<'_>, reg: &Reg, span: Span) -> Check {
    let what = if reg.ty.has(TypeFlag::MEM_RDONLY) { "rdonly" } else { "rdwr" };
    check_buffer(env, reg, span, what)
}

fn check_buffer(env: &Env<'_>, reg: &Reg, span: Span, what: Word) -> Check {
    let Span { regno, mut off, size, .. } = span;
    if env.facts.rules().buffer_moves_ignored {
        off = off.wrapping_sub(reg.off);
    }
    if off < 0 {
        let (regno, at, moved) = (Regno(regno), off.wrapping_sub(reg.off), reg.off);
        reject!(EACCES, MemFault::NegativeBuffer { regno, what, off, size, at, moved });
    }
    let var = reg.val.var_off;
    if !var.is_const() || var.value != 0 {
        reject!(EACCES, MemFault::VariableBuffer { regno: Regno(regno), off, var });
    }
    Ok(())
}
