//! Prints insns in the notation of the kernel's verifier log.
//!
//! Kernel: `print_bpf_insn`, 6.18, as printed in the log. Every form was compared with the log of a
//! kernel that loaded it, with reserved fields set and not set. An opcode that the kernel does not
//! know never appears in its log; here it prints as `BUG_` and the opcode.
//!
//! Deliberately absent: `nospec` and other insns that only the verifier inserts.
//!
//! Tests: `tests/it/kernel_notation.rs`.

use crate::code::*;
use crate::table::{Form, Opcode};
use crate::{Insn, Reg};
use std::fmt::{Display, Formatter, Result, Write};

/// Names that the printer needs: of helpers, kfuncs and maps.
pub trait InsnNames {
    /// Name of helper `id` (`bpf_map_lookup_elem`), `None` for an id without helper.
    fn helper_name(&self, id: i32) -> Option<&str>;

    /// Name of the kfunc that `insn` (a `call` of `BPF_PSEUDO_KFUNC_CALL`) calls: `imm` is the BTF
    /// id, `off` the index of the module's BTF. `None` prints as an empty name, as the kernel does
    /// for id 0.
    fn kfunc_name(&self, insn: Insn) -> Option<&str>;

    /// The operand to print for an `ld_imm64`, given its first slot and the 64-bit immediate. The
    /// kernel has replaced maps by addresses at this point; this is where a caller supplies them.
    fn imm64(&self, _first: Insn, value: u64) -> u64 {
        value
    }
}

/// No names at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl InsnNames for NoNames {
    fn helper_name(&self, _: i32) -> Option<&str> {
        None
    }
    fn kfunc_name(&self, _: Insn) -> Option<&str> {
        None
    }
}

/// Prints the first insn of `insns` (two slots for `ld_imm64`) as the verifier's log does, with the
/// opcode in parentheses and without the newline. An empty slice prints nothing.
///
/// Without `allow_ptr_leaks`, `ld_imm64` of the kinds `BPF_PSEUDO_MAP_FD` and
/// `BPF_PSEUDO_MAP_VALUE` prints 0 (the kernel forgets to do so for the `MAP_IDX` kinds).
pub fn write_insn(
    out: &mut dyn Write,
    insns: &[Insn],
    names: &dyn InsnNames,
    allow_ptr_leaks: bool,
) -> Result {
    let Some(&insn) = insns.first() else { return Ok(()) };
    let code = insn.code;
    let Some(form) = printed_form(insn) else { return write!(out, "BUG_{code:02x}") };
    write!(out, "({code:02x}) ")?;
    match form {
        Form::LdImm64 => {
            let second = insns.get(1).copied().unwrap_or_default();
            let value = match insn.src {
                BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE if !allow_ptr_leaks => 0,
                _ => names.imm64(insn, insn.imm64(second)),
            };
            write!(out, "r{} = {value:#x}", insn.dst)
        }
        Form::CallHelper | Form::CallSubprog | Form::CallKfunc => write_call(out, insn, names),
        Form::Goto | Form::Gotol | Form::MayGoto | Form::Cond(_) | Form::Exit => {
            write_jump(out, insn, form)
        }
        _ if insn.class() == BPF_ALU || insn.class() == BPF_ALU64 => write_alu(out, insn, form),
        _ => write_memory(out, insn, form),
    }
}

/// The form that the kernel prints: an insn with a value that selects no form prints as the
/// plainest form of its opcode, except for atomics, whose operation is decoded before the width.
fn printed_form(insn: Insn) -> Option<Form> {
    if Opcode::all_of(insn.code).is_empty() {
        return None;
    }
    if insn.class() == BPF_STX && insn.mode() == BPF_ATOMIC {
        let widest = Insn { code: BPF_STX | BPF_ATOMIC | BPF_DW, ..insn };
        return Opcode::of(widest).map(|row| row.form);
    }
    if insn.code == BPF_ALU | BPF_MOV | BPF_X && insn.off == 32 {
        return Some(Form::MovSx(32));
    }
    Opcode::of(insn).or(Opcode::all_of(insn.code).first()).map(|row| row.form)
}

fn write_alu(out: &mut dyn Write, insn: Insn, form: Form) -> Result {
    let wide = insn.class() == BPF_ALU64;
    let dst = AluReg { wide, reg: insn.dst };
    let src = AluReg { wide, reg: insn.src };
    match form {
        Form::Alu(op) if insn.is_src_reg() => write!(out, "{dst} {op} {src}"),
        Form::Alu(op) => write!(out, "{dst} {op} {}", insn.imm),
        Form::MovSx(bits) => write!(out, "{dst} = (s{bits}){src}"),
        Form::AddrSpaceCast => {
            let (to, from) = (insn.imm as u32 >> 16, insn.imm as u32 & 0xffff);
            write!(out, "{dst} = addr_space_cast({src}, {to}, {from})")
        }
        Form::PercpuAddr => write!(out, "{dst} = &(void __percpu *)({src})"),
        Form::Neg => write!(out, "{dst} = -{dst}"),
        // In class ALU too, byte swaps print the 64-bit register.
        Form::Endian(name) => write!(out, "r{0} = {name}{1} r{0}", insn.dst, insn.imm),
        _ if insn.is_src_reg() => write!(out, "{dst} = {src}"),
        _ => write!(out, "{dst} = {}", insn.imm),
    }
}

fn write_memory(out: &mut dyn Write, insn: Insn, form: Form) -> Result {
    let (Insn { dst, src, imm, .. }, bits) = (insn, insn.size_bytes() * 8);
    let at_dst = Address { bits, reg: dst, off: insn.off };
    let at_src = Address { bits, reg: src, off: insn.off };
    let atomic = if insn.size() == BPF_DW { "atomic64" } else { "atomic" };
    match form {
        Form::LdAbs => write!(out, "r0 = *(u{bits} *)skb[{imm}]"),
        Form::LdInd => write!(out, "r0 = *(u{bits} *)skb[r{src} + {imm}]"),
        Form::Ldx => write!(out, "r{dst} = *{at_src}"),
        Form::Ldsx => write!(out, "r{dst} = *(s{bits} *)(r{src} {:+})", insn.off),
        Form::St => write!(out, "*{at_dst} = {imm}"),
        Form::AtomicRmw(op) => write!(out, "lock *{at_dst} {op} r{src}"),
        Form::AtomicFetch(op) => write!(out, "r{src} = {atomic}_fetch_{op}({at_dst}, r{src})"),
        Form::AtomicXchg => write!(out, "r{src} = {atomic}_xchg({at_dst}, r{src})"),
        Form::AtomicCmpxchg => write!(out, "r0 = {atomic}_cmpxchg({at_dst}, r0, r{src})"),
        Form::LoadAcquire => write!(out, "r{dst} = load_acquire({at_src})"),
        Form::StoreRelease => write!(out, "store_release({at_dst}, r{src})"),
        _ => write!(out, "*{at_dst} = r{src}"),
    }
}

fn write_jump(out: &mut dyn Write, insn: Insn, form: Form) -> Result {
    let wide = insn.class() == BPF_JMP;
    let dst = AluReg { wide, reg: insn.dst };
    let src = AluReg { wide, reg: insn.src };
    let Insn { off, imm, .. } = insn;
    match form {
        Form::Goto => write!(out, "goto pc{off:+}"),
        Form::Gotol => write!(out, "gotol pc{imm:+}"),
        Form::MayGoto if insn.src == BPF_MAY_GOTO => write!(out, "may_goto pc{off:+}"),
        // The kernel has no operator for other kinds of BPF_JCOND.
        Form::MayGoto => write!(out, "if {dst} (null) {imm:#x} goto pc{off:+}"),
        Form::Cond(op) if insn.is_src_reg() => write!(out, "if {dst} {op} {src} goto pc{off:+}"),
        Form::Cond(op) => write!(out, "if {dst} {op} {imm:#x} goto pc{off:+}"),
        _ => out.write_str("exit"),
    }
}

fn write_call(out: &mut dyn Write, insn: Insn, names: &dyn InsnNames) -> Result {
    let imm = insn.imm;
    match insn.src {
        BPF_PSEUDO_CALL => write!(out, "call pc{imm:+}"),
        BPF_PSEUDO_KFUNC_CALL => {
            write!(out, "call {}#{imm}", names.kfunc_name(insn).unwrap_or_default())
        }
        0 => write!(out, "call {}#{imm}", names.helper_name(imm).unwrap_or("unknown")),
        _ => write!(out, "call unknown#{imm}"),
    }
}

/// `r1`, or `w1` in 32-bit operations.
struct AluReg {
    wide: bool,
    reg: Reg,
}

impl Display for AluReg {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}{}", if self.wide { 'r' } else { 'w' }, self.reg)
    }
}

/// `(u32 *)(r1 +4)`
struct Address {
    bits: u32,
    reg: Reg,
    off: i16,
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "(u{} *)(r{} {:+})", self.bits, self.reg, self.off)
    }
}
