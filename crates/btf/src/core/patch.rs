//! Writes a resolved value into its insn, in the insn's encoding.

use super::value::{Resolution, Width};
use crate::Error;
use skep_insn::Insn;
use skep_insn::code::*;

/// Immediate of the call that a poisoned insn becomes: no helper has this number (`0xbad2310`,
/// "bad relo").
pub const POISON_IMM: i32 = 195_896_080;

/// The outcome of a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreOutcome {
    /// The insn was changed from the one value to the other.
    Patched {
        /// The value that the compiler should have written (not always checked).
        from: u64,
        /// What is there now.
        to: u64,
    },
    /// Nothing in the target matches: the insn is now an invalid call, which is rejected if
    /// reachable.
    Poisoned,
}

/// Writes `resolution` into `insns[idx]` (and the slot after it for `ld_imm64`).
pub(super) fn apply(
    insns: &mut [Insn],
    idx: usize,
    resolution: &Resolution,
) -> Result<CoreOutcome, Error> {
    let Some(rest) = insns.get_mut(idx..).filter(|rest| !rest.is_empty()) else {
        return Err(Error::new("insn is out of range"));
    };
    let class = rest[0].class();
    if !matches!(class, BPF_ALU | BPF_ALU64 | BPF_LD | BPF_LDX | BPF_ST | BPF_STX) {
        // Also one that was poisoned before.
        let code = rest[0].code;
        return Err(Error::new(format!("cannot relocate an insn with opcode {code:#x}")));
    }
    // Whether or not there is a value for it.
    check_form(rest)?;
    let Some(to) = resolution.to else { return Ok(poison(rest)) };
    match class {
        BPF_ALU | BPF_ALU64 => alu(&mut rest[0], resolution, to)?,
        BPF_LDX | BPF_ST | BPF_STX => {
            check(resolution, i64::from(rest[0].off) as u64)?;
            let off = i16::try_from(to)
                .map_err(|_| Error::new(format!("offset {to} does not fit in a load or store")))?;
            match resolution.width {
                Width::Unfit => return Ok(poison(rest)),
                Width::Same => {}
                Width::Change { from, to } => set_size(&mut rest[0], from, to)?,
            }
            rest[0].off = off;
        }
        _ => ld_imm64(rest, resolution, to)?,
    }
    Ok(CoreOutcome::Patched { from: resolution.from, to })
}

/// An ALU insn has an immediate, a load of the class `LD` is a plain `ld_imm64`.
fn check_form(insns: &[Insn]) -> Result<(), Error> {
    let first = insns[0];
    match first.class() {
        BPF_ALU | BPF_ALU64 if first.is_src_reg() => {
            Err(Error::new("cannot relocate an ALU insn without an immediate"))
        }
        BPF_LD => {
            let Some(second) = insns.get(1) else {
                return Err(Error::new("ld_imm64 is truncated"));
            };
            let Insn { code: 0, dst: 0, src: 0, off: 0, .. } = second else {
                return Err(Error::new("malformed second slot of ld_imm64"));
            };
            let is_plain = first.is_ld_imm64() && first.src == 0 && first.off == 0;
            let code = first.code;
            is_plain
                .then_some(())
                .ok_or_else(|| Error::new(format!("cannot relocate a load with opcode {code:#x}")))
        }
        _ => Ok(()),
    }
}

fn alu(insn: &mut Insn, resolution: &Resolution, to: u64) -> Result<(), Error> {
    check(resolution, i64::from(insn.imm) as u64)?;
    insn.imm = to as i32;
    Ok(())
}

fn ld_imm64(insns: &mut [Insn], resolution: &Resolution, to: u64) -> Result<(), Error> {
    let [first, second, ..] = insns else {
        return Err(Error::new("ld_imm64 is truncated"));
    };
    check(resolution, (second.imm as u32 as u64) << 32 | first.imm as u32 as u64)?;
    first.imm = to as u32 as i32;
    second.imm = (to >> 32) as u32 as i32;
    Ok(())
}

/// The insn must contain what the compiler is known to write.
fn check(resolution: &Resolution, holds: u64) -> Result<(), Error> {
    let from = resolution.from;
    if resolution.validate && holds != from {
        return Err(Error::new(format!("insn holds {holds} where {from} was expected")));
    }
    Ok(())
}

fn set_size(insn: &mut Insn, from: u32, to: u32) -> Result<(), Error> {
    if insn.size_bytes() != from {
        let bytes = insn.size_bytes();
        return Err(Error::new(format!("insn accesses {bytes} bytes of a {from}-byte field")));
    }
    let size = match to {
        1 => BPF_B,
        2 => BPF_H,
        4 => BPF_W,
        8 => BPF_DW,
        _ => return Err(Error::new(format!("no insn accesses {to} bytes"))),
    };
    insn.code = insn.code & !SIZE_MASK | size;
    Ok(())
}

/// Replaces the insn, both slots of `ld_imm64`, by calls of a helper that does not exist.
fn poison(insns: &mut [Insn]) -> CoreOutcome {
    let slots = if insns[0].is_ld_imm64() { 2 } else { 1 };
    for insn in insns.iter_mut().take(slots) {
        *insn = Insn { code: BPF_JMP | BPF_CALL, imm: POISON_IMM, ..Insn::default() };
    }
    CoreOutcome::Poisoned
}
