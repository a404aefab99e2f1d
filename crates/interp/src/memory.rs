//! Loads, stores and atomic operations, through the host.
//!
//! Source: RFC 9669 section 5.

use crate::fault::FaultKind;
use crate::{AtomicAccess, AtomicOp, Fault, Host};
use skep_insn::Insn;
use skep_insn::code::*;

/// Registers: 0 to 10 and `AX`.
pub(crate) type Regs = [u64; 12];

/// An insn of class LDX, ST or STX. `probe`: a failed load gives 0.
pub(crate) fn access(
    insn: Insn,
    regs: &mut Regs,
    host: &dyn Host,
    probe: bool,
) -> Result<(), Fault> {
    let (dst, src) = (usize::from(insn.dst), usize::from(insn.src));
    let off = i64::from(insn.off) as u64;
    let size = insn.size_bytes();
    match (insn.class(), insn.mode()) {
        (BPF_LDX, BPF_MEM | BPF_MEMSX) => {
            let loaded = match host.load(regs[src].wrapping_add(off), size) {
                Err(fault) if probe && matches!(fault.kind, FaultKind::BadAccess { .. }) => 0,
                loaded => loaded?,
            };
            let signed = insn.mode() == BPF_MEMSX;
            regs[dst] = if signed { sign_extend(loaded, size) } else { loaded };
            Ok(())
        }
        (BPF_ST, BPF_MEM) => {
            host.store(regs[dst].wrapping_add(off), size, i64::from(insn.imm) as u64)
        }
        (BPF_STX, BPF_MEM) => host.store(regs[dst].wrapping_add(off), size, regs[src]),
        (BPF_STX, BPF_ATOMIC) => atomic(insn, regs, host),
        _ => Err(no_insn(insn)),
    }
}

fn atomic(insn: Insn, regs: &mut Regs, host: &dyn Host) -> Result<(), Fault> {
    let (dst, src) = (usize::from(insn.dst), usize::from(insn.src));
    let off = i64::from(insn.off) as u64;
    let size = insn.size_bytes();
    match insn.imm {
        BPF_LOAD_ACQ => {
            regs[dst] = host.load(regs[src].wrapping_add(off), size)?;
            return Ok(());
        }
        BPF_STORE_REL => return host.store(regs[dst].wrapping_add(off), size, regs[src]),
        _ => {}
    }
    let op = match insn.imm {
        BPF_XCHG => AtomicOp::Xchg,
        BPF_CMPXCHG => AtomicOp::Cmpxchg(low(regs[0], size)),
        imm => match (imm & !BPF_FETCH) as u8 {
            BPF_ADD => AtomicOp::Add,
            BPF_OR => AtomicOp::Or,
            BPF_AND => AtomicOp::And,
            BPF_XOR => AtomicOp::Xor,
            _ => return Err(no_insn(insn)),
        },
    };
    if size < 4 {
        return Err(no_insn(insn));
    }
    let access = AtomicAccess { op, size, value: low(regs[src], size) };
    let old = host.atomic(regs[dst].wrapping_add(off), access)?;
    if insn.imm == BPF_CMPXCHG {
        regs[0] = old;
    } else if insn.imm & BPF_FETCH != 0 {
        regs[src] = old;
    }
    Ok(())
}

fn low(value: u64, size: u32) -> u64 {
    if size == 4 { value & 0xffff_ffff } else { value }
}

fn sign_extend(value: u64, size: u32) -> u64 {
    match size {
        1 => i64::from(value as i8) as u64,
        2 => i64::from(value as i16) as u64,
        4 => i64::from(value as i32) as u64,
        _ => value,
    }
}

pub(crate) fn no_insn(insn: Insn) -> Fault {
    Fault::bug(format!("no insn: {insn:?}"))
}
