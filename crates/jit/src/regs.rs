//! The assignment of the program's registers to the processor's.
//!
//! r0 to r5 are where the System V convention has result and arguments, so a helper call needs no
//! moves. r10, r11 are scratch registers of the emitter; r12 counts tail calls in functions that
//! may make some; rbp contains the run's environment if there is fuel, otherwise, unless exceptions
//! need it, the address of the first counter in programs with coverage ([`crate::coverage`]).

use crate::asm::X86;
use crate::op::Reg;

/// The emitter's scratch registers: never operands of ops.
pub(crate) const SCRATCH: X86 = X86::R11;
pub(crate) const SCRATCH2: X86 = X86::R10;
/// Number of tail calls so far, in functions from which one can be reached.
pub(crate) const TAIL_CALL_CNT: X86 = X86::R12;
/// `*mut RunEnv` in programs with fuel.
pub(crate) const RUN_ENV: X86 = X86::RBP;

/// The first counter in programs with coverage, if it is free; otherwise a word of the frame
/// contains it.
pub(crate) const COUNTERS: X86 = X86::RBP;

/// Spare registers that passes may assign if they are free.
pub(crate) const SPARE_R12: Reg = Reg(12);
pub(crate) const SPARE_RBP: Reg = Reg(13);
pub(crate) const SPARE_R9: Reg = Reg(11);

/// By number of the op's register. r10 is `rbp` in full frames only; otherwise it has no register.
const MAP: [X86; Reg::COUNT] = [
    X86::RAX,
    X86::RDI,
    X86::RSI,
    X86::RDX,
    X86::RCX,
    X86::R8,
    X86::RBX,
    X86::R13,
    X86::R14,
    X86::R15,
    X86::RBP,
    X86::R9,
    X86::R12,
    X86::RBP,
    X86::R10,
    X86::R11,
];

/// Where a register of the program is.
pub(crate) fn x86(reg: Reg) -> X86 {
    MAP[usize::from(reg.0) % Reg::COUNT]
}

/// Callee-saved registers, in the order in which a function saves those that it uses.
pub(crate) const CALLEE_SAVED: [Reg; 6] = [SPARE_RBP, Reg(6), SPARE_R12, Reg(7), Reg(8), Reg(9)];
