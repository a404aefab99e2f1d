//! Atomics. Operations without an insn of their own become a loop around `cmpxchg`.
//!
//! Source: RFC 9669 section 5.3.

use super::Emit;
use crate::asm::{Cc, Mem, Width, X86, forms};
use crate::op::{Addr, AtomicOp, Reg, RmwOp};
use crate::regs::{SCRATCH, SCRATCH2};

impl Emit<'_> {
    pub(super) fn atomic(&mut self, op: AtomicOp, width: Width, addr: Addr, reg: Reg) {
        let mem = self.mem(addr);
        let operand = self.read(reg, SCRATCH);
        match op {
            AtomicOp::Rmw { op, fetch: false } => {
                let form = match op {
                    RmwOp::Add => &forms::LOCK_ADD,
                    RmwOp::Or => &forms::LOCK_OR,
                    RmwOp::And => &forms::LOCK_AND,
                    RmwOp::Xor => &forms::LOCK_XOR,
                };
                self.asm.rm(form, width, operand, mem);
            }
            AtomicOp::Rmw { op: RmwOp::Add, fetch: true } => {
                self.asm.rm(&forms::LOCK_XADD, width, operand, mem);
            }
            AtomicOp::Rmw { op, fetch: true } => self.fetch_loop(op, width, mem, operand),
            AtomicOp::Xchg => self.asm.rm(&forms::XCHG_MR, width, operand, mem),
            AtomicOp::Cmpxchg => {
                self.asm.rm(&forms::LOCK_CMPXCHG, width, operand, mem);
                if width == Width::W32 {
                    // `eax` is not written if the comparison succeeds.
                    self.asm.rr(&forms::MOV_RM, width, X86::RAX, X86::RAX);
                }
            }
        }
    }

    /// The old value in `operand`; `rax`, which `cmpxchg` needs, is saved in `r10` meanwhile.
    fn fetch_loop(&mut self, op: RmwOp, width: Width, mem: Mem, operand: X86) {
        let form = match op {
            RmwOp::Add => &forms::ADD_RM,
            RmwOp::Or => &forms::OR_RM,
            RmwOp::And => &forms::AND_RM,
            RmwOp::Xor => &forms::XOR_RM,
        };
        let renamed = |reg: X86| if reg == X86::RAX { SCRATCH2 } else { reg };
        let mem = Mem {
            base: renamed(mem.base),
            index: mem.index.map(|(index, scale)| (renamed(index), scale)),
            ..mem
        };
        self.asm.rr(&forms::MOV_RM, Width::W64, SCRATCH2, X86::RAX);
        self.asm.rm(&forms::MOV_RM, width, X86::RAX, mem);
        let again = self.asm.label();
        self.asm.bind(again);
        self.asm.rr(&forms::MOV_RM, width, SCRATCH, X86::RAX);
        self.asm.rr(form, width, SCRATCH, renamed(operand));
        self.asm.rm(&forms::LOCK_CMPXCHG, width, SCRATCH, mem);
        self.asm.jcc(Cc::NE, again);
        if operand != X86::RAX {
            self.asm.rr(&forms::MOV_RM, width, operand, X86::RAX);
            self.asm.rr(&forms::MOV_RM, Width::W64, X86::RAX, SCRATCH2);
        }
    }
}
