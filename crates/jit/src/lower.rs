//! Translates insns to ops, one for one. Only this module knows BPF's encodings.
//!
//! Source: RFC 9669 sections 4 and 5.
//!
//! # Invariants
//! 1. The op of an insn that only accesses its own registers is a literal translation: optimising
//!    is left to the passes.

use crate::asm::Width;
use crate::op::{
    Addr, AluOp, AtomicOp, Cond, DivOp, Op, Reg, RmwOp, ShiftOp, Size, Space, Src, Test,
};
use crate::{Error, Linkage};
use skep_insn::code::*;
use skep_insn::{Insn, Opcode};
use skep_uapi::helper::HelperId;
use skep_verifier::{OwnHelper, Xlated};

/// The ops of a whole program; second slots of `ld_imm64` are `Nop`s.
pub(crate) fn lower(xlated: &Xlated, linkage: &Linkage) -> Result<Vec<Op>, Error> {
    let insns = xlated.insns();
    let mut ops = Vec::with_capacity(insns.len());
    while let Some(&insn) = insns.get(ops.len()) {
        let at = ops.len();
        if Opcode::all_of(insn.code).is_empty() {
            return Err(Error::insn(at, "unknown opcode"));
        }
        if insn.dst > 11 || insn.src > 11 {
            return Err(Error::insn(at, "no such register"));
        }
        if insn.is_ld_imm64() {
            let second = insns.get(at + 1).copied();
            let second = second.ok_or_else(|| Error::insn(at, "incomplete ld_imm64"))?;
            ops.push(ld_imm64(at, insn, second, linkage)?);
            ops.push(Op::Nop);
            continue;
        }
        let lower = Lower { at, insn, xlated };
        ops.push(match insn.class() {
            BPF_ALU => lower.alu(Width::W32)?,
            BPF_ALU64 => lower.alu(Width::W64)?,
            BPF_JMP => lower.jmp(Width::W64)?,
            BPF_JMP32 => lower.jmp(Width::W32)?,
            _ => lower.memory()?,
        });
    }
    Ok(ops)
}

fn ld_imm64(at: usize, insn: Insn, second: Insn, linkage: &Linkage) -> Result<Op, Error> {
    let dst = Reg(insn.dst);
    let map = || {
        let map = insn.imm as u32;
        let link = linkage.maps.get(map as usize);
        link.filter(|link| link.handle != 0).ok_or_else(|| Error::no_map(at, map))
    };
    let value = match insn.src {
        0 => insn.imm64(second),
        BPF_PSEUDO_MAP_FD => map()?.handle,
        BPF_PSEUDO_MAP_VALUE => match map()?.values {
            0 => return Err(Error::insn(at, "the map does not support direct value addresses")),
            values => values.wrapping_add(u64::from(second.imm as u32)),
        },
        BPF_PSEUDO_FUNC => {
            return Ok(Op::LdFunc { dst, target: relative(at, i64::from(insn.imm)) });
        }
        _ => return Err(Error::unsupported(at, "this kind of ld_imm64")),
    };
    Ok(Op::LdImm { dst, value })
}

/// A target out of range becomes an op index that does not exist, which the control flow check
/// finds.
fn relative(at: usize, off: i64) -> u32 {
    u32::try_from(at as i64 + 1 + off).unwrap_or(u32::MAX)
}

struct Lower<'a> {
    at: usize,
    insn: Insn,
    xlated: &'a Xlated,
}

impl Lower<'_> {
    fn dst(&self) -> Reg {
        Reg(self.insn.dst)
    }

    fn src(&self) -> Src {
        match self.insn.is_src_reg() {
            true => Src::Reg(Reg(self.insn.src)),
            false => Src::Imm(self.insn.imm),
        }
    }

    fn unknown(&self) -> Error {
        Error::insn(self.at, "unknown opcode")
    }

    fn alu(&self, width: Width) -> Result<Op, Error> {
        let (dst, src) = (self.dst(), self.src());
        if dst == Reg::FP {
            return Err(Error::insn(self.at, "r10 is written"));
        }
        let signed = self.insn.off == 1;
        let plain = |op| Op::Alu { op, width, dst, src };
        let shift = |op| Op::Shift { op, width, dst, src: dst, by: masked(src, width) };
        let div = |op| Op::Div { op, width, dst, src };
        Ok(match self.insn.op() {
            BPF_ADD => plain(AluOp::Add),
            BPF_SUB => plain(AluOp::Sub),
            BPF_MUL => plain(AluOp::Mul),
            BPF_OR => plain(AluOp::Or),
            BPF_AND => plain(AluOp::And),
            BPF_XOR => plain(AluOp::Xor),
            BPF_DIV => div(if signed { DivOp::SDiv } else { DivOp::Div }),
            BPF_MOD => div(if signed { DivOp::SMod } else { DivOp::Mod }),
            BPF_LSH => shift(ShiftOp::Shl),
            BPF_RSH => shift(ShiftOp::Shr),
            BPF_ARSH => shift(ShiftOp::Sar),
            BPF_NEG => Op::Neg { width, dst },
            BPF_MOV => self.mov(width)?,
            BPF_END => self.endian(width)?,
            _ => return Err(self.unknown()),
        })
    }

    fn mov(&self, width: Width) -> Result<Op, Error> {
        let (dst, src) = (self.dst(), Reg(self.insn.src));
        let size = match self.insn.off {
            0 => return Ok(Op::Mov { width, dst, src: self.src() }),
            8 => Size::B1,
            16 => Size::B2,
            32 if width == Width::W64 => Size::B4,
            BPF_ADDR_SPACE_CAST => return Err(Error::unsupported(self.at, "arenas")),
            _ => return Err(Error::unsupported(self.at, "this kind of move")),
        };
        if !self.insn.is_src_reg() {
            return Err(self.unknown());
        }
        Ok(Op::MovSx { size, width, dst, src })
    }

    fn endian(&self, width: Width) -> Result<Op, Error> {
        let dst = self.dst();
        let swaps = width == Width::W64 || self.insn.is_src_reg();
        let size = match self.insn.imm {
            16 => Size::B2,
            32 => Size::B4,
            64 => Size::B8,
            _ => return Err(Error::insn(self.at, "invalid byte swap size")),
        };
        Ok(match (swaps, size) {
            (true, _) => Op::Swap { size, dst },
            (false, Size::B8) => Op::Nop,
            (false, _) => Op::Zext { size, dst, src: dst },
        })
    }

    fn jmp(&self, width: Width) -> Result<Op, Error> {
        let Insn { off, imm, .. } = self.insn;
        let cond = match self.insn.op() {
            BPF_JA if width == Width::W32 => {
                return Ok(Op::Jmp { to: relative(self.at, i64::from(imm)) });
            }
            BPF_JA => return Ok(Op::Jmp { to: relative(self.at, i64::from(off)) }),
            BPF_CALL => return self.call(),
            BPF_EXIT => return Ok(Op::Exit),
            BPF_JEQ => Cond::Eq,
            BPF_JNE => Cond::Ne,
            BPF_JGT => Cond::Gt,
            BPF_JGE => Cond::Ge,
            BPF_JLT => Cond::Lt,
            BPF_JLE => Cond::Le,
            BPF_JSGT => Cond::SGt,
            BPF_JSGE => Cond::SGe,
            BPF_JSLT => Cond::SLt,
            BPF_JSLE => Cond::SLe,
            BPF_JSET => Cond::Set,
            _ => return Err(Error::unsupported(self.at, "may_goto")),
        };
        let test = Test { cond, width, a: self.dst(), b: self.src() };
        Ok(Op::Br { test, to: relative(self.at, i64::from(off)) })
    }

    fn call(&self) -> Result<Op, Error> {
        let facts = self.xlated.facts(self.at);
        let map = facts.map.map(|map| map.0);
        match (self.insn.src, self.insn.imm) {
            // The index known to the verifier is not used: the kernel's verifier, and therefore
            // ours, loses the precision of values that atomics fetch from the stack.
            (0, helper) if helper == HelperId::TailCall as i32 => {
                Ok(Op::TailCall { map, index: None })
            }
            (0, helper) if helper == OwnHelper::Throw as i32 => Ok(Op::Throw),
            (0, helper) => Ok(Op::Call { helper, map }),
            (BPF_PSEUDO_CALL, off) => Ok(Op::CallSub { target: relative(self.at, i64::from(off)) }),
            (BPF_PSEUDO_KFUNC_CALL, id) => Ok(Op::Kfunc { id: id as u32 }),
            _ => Err(self.unknown()),
        }
    }

    fn memory(&self) -> Result<Op, Error> {
        let Insn { off, imm, .. } = self.insn;
        let (dst, src) = (Reg(self.insn.dst), Reg(self.insn.src));
        let size = match self.insn.size() {
            BPF_B => Size::B1,
            BPF_H => Size::B2,
            BPF_W => Size::B4,
            _ => Size::B8,
        };
        let facts = self.xlated.facts(self.at);
        let space = if facts.own_mem { Space::Own } else { Space::Shared };
        let load = |sign, space| {
            let addr = Addr::new(src, off, space);
            match facts.probe_mem {
                true => Op::Probe { size, sign, dst, addr },
                false => Op::Load { size, sign, big: false, dst, addr },
            }
        };
        let store =
            |src, space| Op::Store { size, big: false, addr: Addr::new(dst, off, space), src };
        let op = match (self.insn.class(), self.insn.mode()) {
            (BPF_LDX, BPF_MEM) => load(false, space),
            (BPF_LDX, BPF_MEMSX) => load(true, space),
            (BPF_ST, BPF_MEM) => store(Src::Imm(imm), space),
            (BPF_STX, BPF_MEM) => store(Src::Reg(src), space),
            // On this processor plain loads acquire and plain stores release, and passes preserve
            // the order of shared accesses.
            (BPF_STX, BPF_ATOMIC) if imm == BPF_LOAD_ACQ => load(false, Space::Shared),
            (BPF_STX, BPF_ATOMIC) if imm == BPF_STORE_REL => store(Src::Reg(src), Space::Shared),
            (BPF_STX, BPF_ATOMIC) => self.atomic(size)?,
            _ => return Err(self.unknown()),
        };
        match op.defs().has(Reg::FP) {
            true => Err(Error::insn(self.at, "r10 is written")),
            false => Ok(op),
        }
    }

    fn atomic(&self, size: Size) -> Result<Op, Error> {
        let fetch = self.insn.imm & BPF_FETCH != 0;
        let rmw = |op| AtomicOp::Rmw { op, fetch };
        let op = match self.insn.imm {
            BPF_XCHG => AtomicOp::Xchg,
            BPF_CMPXCHG => AtomicOp::Cmpxchg,
            imm => match (imm & !BPF_FETCH) as u8 {
                BPF_ADD => rmw(RmwOp::Add),
                BPF_OR => rmw(RmwOp::Or),
                BPF_AND => rmw(RmwOp::And),
                BPF_XOR => rmw(RmwOp::Xor),
                _ => return Err(self.unknown()),
            },
        };
        let width = match size {
            Size::B4 => Width::W32,
            Size::B8 => Width::W64,
            _ => return Err(self.unknown()),
        };
        let addr = Addr::new(self.dst(), self.insn.off, Space::Shared);
        Ok(Op::Atomic { op, width, addr, reg: Reg(self.insn.src) })
    }
}

/// The count of a shift by an immediate is taken modulo the width.
fn masked(by: Src, width: Width) -> Src {
    match by {
        Src::Imm(imm) => Src::Imm(imm & if width == Width::W64 { 63 } else { 31 }),
        by => by,
    }
}
