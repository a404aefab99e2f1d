//! Accesses to the context: converted from the struct that the program was compiled against to the
//! one in memory (`skep_uapi::run_ctx`); and accesses to memory that does not exist here.
//!
//! Kernel: `convert_ctx_accesses` (6.18).

use super::build::{goto, jump_imm};
use super::emit::Emit;
use super::source::{Rewritten, Source};
use crate::env::Found;
use crate::state::reg_type::{Base, TypeFlag};
use crate::xlated::NotSupported;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_program::Program;
use skep_uapi::ctx::{CtxLayout, CtxRange, CtxValue};
use skep_uapi::run_ctx::{RunCtx, RunPlace, StoreRule, run_ctx};
use skep_uapi::{AttachType, ProgType};

/// Rewrites the insn at `idx` if it loads or stores.
pub(super) fn rewrite(source: &Source<'_>, idx: usize, out: &mut Emit) -> Rewritten {
    let (insn, Some(program)) = (source.insns[idx], source.program) else { return Ok(false) };
    let is_load = insn.class() == BPF_LDX;
    if !is_load && !matches!(insn.class(), BPF_ST | BPF_STX) {
        return Ok(false);
    }
    let Some((aux, ty)) = source.walked.aux.get(idx).and_then(|aux| Some((aux, aux.ptr_type()?)))
    else {
        return Ok(false);
    };
    let untrusted = ty.has(TypeFlag::PTR_UNTRUSTED) || matches!(aux.found, Found::MixedPtrType(_));
    match ty.base {
        Base::Ctx if program.prog_type == ProgType::Ext => {
            Err(NotSupported::new("the context of a program that replaces another"))
        }
        Base::Ctx => {
            let ctx = run_ctx(program.prog_type);
            if is_load && ctx.bytes == 0 {
                refuse_pointers(program, insn)?;
            }
            convert(ctx, insn, out)?;
            if let Some(facts) = out.facts() {
                facts.own_mem = true;
            }
            Ok(true)
        }
        Base::ConstMapPtr => Err(NotSupported::new("the fields of a map")),
        Base::BtfId if !is_load && !ty.has(TypeFlag::MEM_ALLOC) => {
            Err(NotSupported::new("a store to a struct of the kernel"))
        }
        Base::Arena => Err(NotSupported::new("an arena")),
        _ if !is_load && untrusted => {
            Err(NotSupported::new("an atomic access to what may not be there"))
        }
        base if untrusted || matches!(base, Base::BtfId | Base::Mem) && is_load => {
            out.push(insn);
            if let Some(facts) = out.facts() {
                facts.probe_mem = untrusted || base == Base::BtfId && !ty.has(TypeFlag::MEM_ALLOC);
            }
            Ok(true)
        }
        // Atomic insns are rewritten regardless of the pointer's type.
        _ if ty.is_own_memory() && insn.mode() != BPF_ATOMIC => {
            out.push(insn);
            if let Some(facts) = out.facts() {
                facts.own_mem = true;
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// A context that is not converted is supplied by the embedder: pointers in it must not be
/// followed. (Pointers to kernel structs are read with fault handling: `probe_mem`.)
fn refuse_pointers(program: &Program, insn: Insn) -> Result<(), NotSupported> {
    let (prog_type, attach) = (program.prog_type, program.expected_attach_type);
    let what = || NotSupported::new(format!("pointers in the context of {prog_type} programs"));
    if attach == AttachType::TraceIter as u32 && prog_type == ProgType::Tracing {
        return Err(what());
    }
    let at = CtxRange { off: i32::from(insn.off), size: insn.size_bytes() };
    let layout = CtxLayout::find(prog_type, attach);
    let access = layout.and_then(|layout| layout.load(at, insn.mode() == BPF_MEMSX));
    match access {
        Some(access) if access.value != CtxValue::Scalar => Err(what()),
        _ => Ok(()),
    }
}

fn convert(ctx: &RunCtx, insn: Insn, out: &mut Emit) -> Result<(), NotSupported> {
    let Ok(uapi_off) = u32::try_from(insn.off) else {
        return Err(NotSupported::new("a load from before the context"));
    };
    let size = insn.size_bytes();
    if insn.class() == BPF_LDX {
        return match ctx.place(uapi_off, size) {
            RunPlace::Pointer(off) => {
                let code = BPF_LDX | BPF_MEM | BPF_DW;
                push_at(Insn { code, ..insn }, off, 8, out)
            }
            RunPlace::Mirror(off) => push_at(insn, off, size, out),
        };
    }
    let off = ctx.mirror + uapi_off;
    let half = Insn { code: insn.code & !SIZE_MASK | BPF_H, ..insn };
    let rule = ctx.store_rule(uapi_off).filter(|_| size == 4);
    let is_imm = insn.class() == BPF_ST;
    match rule {
        None => push_at(insn, off, size, out),
        Some(StoreRule::Low16) => push_at(half, off, 2, out),
        Some(StoreRule::Low16UnlessMax) if is_imm && insn.imm >= 0xffff => {
            // Nothing is stored, but an insn is needed as a jump target.
            out.push(goto(0));
            Ok(())
        }
        Some(StoreRule::Low16UnlessMax) if is_imm => push_at(half, off, 2, out),
        Some(StoreRule::Low16UnlessMax) => {
            out.push(jump_imm(BPF_JMP, BPF_JGE, insn.src, 0xffff, 1));
            push_at(half, off, 2, out)
        }
    }
}

/// Appends `insn`, which accesses `size` bytes at `off` of the context.
fn push_at(insn: Insn, off: u32, size: u32, out: &mut Emit) -> Result<(), NotSupported> {
    let Ok(signed) = i16::try_from(off) else {
        return Err(NotSupported::new("a context of more than 32767 bytes"));
    };
    out.touch_ctx(off + size);
    out.push(Insn { off: signed, ..insn });
    Ok(())
}
