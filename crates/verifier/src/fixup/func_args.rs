//! Helpers that return the arguments and the result of the function to which a program is attached.
//! These are words of the context, so a few insns replace the call.
//!
//! Kernel: `do_misc_fixups` (6.18), which inlines them too; results as documented for the helpers
//! (`bpf-helpers(7)`).

use super::build::{alu_imm, alu_reg, goto, jump_imm};
use super::emit::Emit;
use super::source::{Rewritten, Source};
use crate::passes::call_facts::is_helper_call;
use crate::xlated::NotSupported;
use skep_btf::{Kind, TypeId};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_program::{AttachTarget, Program};
use skep_uapi::AttachType;
use skep_uapi::errno;
use skep_uapi::helper::HelperId;

/// Helpers whose calls are replaced before a program runs.
pub const INLINED_HELPERS: [HelperId; 3] =
    [HelperId::GetFuncArg, HelperId::GetFuncRet, HelperId::GetFuncArgCnt];

/// Rewrites the insn at `idx` if it calls one of these helpers.
pub(super) fn rewrite(source: &Source<'_>, idx: usize, out: &mut Emit) -> Rewritten {
    let insn = source.insns[idx];
    let helper = INLINED_HELPERS.into_iter().find(|helper| insn.imm == *helper as i32);
    let (true, Some(helper), Some(program)) = (is_helper_call(&insn), helper, source.program)
    else {
        return Ok(false);
    };
    let count = arg_count(program)?;
    match helper {
        HelperId::GetFuncArg => give_arg(count, out),
        HelperId::GetFuncRet => give_ret(program, count, out),
        _ => out.push(alu_imm(BPF_ALU64, BPF_MOV, 0, count as i32)),
    }
    Ok(true)
}

/// `*r3 = ctx[r2]`
fn give_arg(count: u32, out: &mut Emit) {
    out.touch_ctx(8 * count);
    out.push(alu_reg(BPF_ALU, BPF_MOV, 2, 2));
    out.push(jump_imm(BPF_JMP, BPF_JGE, 2, count as i32, 6));
    out.push(alu_imm(BPF_ALU64, BPF_LSH, 2, 3));
    out.push(alu_reg(BPF_ALU64, BPF_ADD, 2, 1));
    copy_word(2, 0, 3, out);
    out.push(goto(1));
    out.push(alu_imm(BPF_ALU64, BPF_MOV, 0, -errno::EINVAL));
}

/// `*r2 = ctx[count]`, if the context has a result.
fn give_ret(program: &Program, count: u32, out: &mut Emit) {
    use AttachType::{ModifyReturn, TraceFexit};
    if !matches!(program.attach_type(), Some(TraceFexit | ModifyReturn)) {
        return out.push(alu_imm(BPF_ALU64, BPF_MOV, 0, -errno::EOPNOTSUPP));
    }
    out.touch_ctx(8 * (count + 1));
    copy_word(1, 8 * count as i16, 2, out);
}

/// `*to = *(from + off)`; returns 0.
fn copy_word(from: u8, off: i16, to: u8, out: &mut Emit) {
    let load = BPF_LDX | BPF_MEM | BPF_DW;
    out.push(Insn { code: load, dst: 0, src: from, off, imm: 0 });
    let store = BPF_STX | BPF_MEM | BPF_DW;
    out.push(Insn { code: store, dst: to, src: 0, off: 0, imm: 0 });
    out.push(alu_imm(BPF_ALU64, BPF_MOV, 0, 0));
}

/// Number of context words that the function's arguments take.
fn arg_count(program: &Program) -> Result<u32, NotSupported> {
    let unknown = || NotSupported::new("the arguments of a function that is not known");
    let (AttachTarget::Kernel { btf_id, .. }, Some(btf)) =
        (&program.attach, program.kernel_btf.as_deref())
    else {
        return Err(unknown());
    };
    let func = btf.get(TypeId(*btf_id)).filter(|func| func.kind() == Kind::Func);
    let proto = func.ok_or_else(unknown)?.target();
    let mut count = 0;
    for param in proto.params() {
        let ty = btf.skip_modifiers(param.ty);
        // Larger structs are in the context by value; which words they take depends on the
        // trampoline.
        if ty.kind().is_composite() {
            return Err(NotSupported::new("a struct as argument of the function that is traced"));
        }
        count += 1;
    }
    Ok(count)
}
