//! Calls keep their form, annotated with what the walk found to be the same on all paths: the map,
//! and the index of a tail call. The engines implement `bpf_throw`.
//!
//! Kernel: `do_misc_fixups` (6.18), for the calls that it inlines.

use super::build::{alu_imm, alu_reg, call_helper, jump_imm, ld_imm64};
use super::emit::Emit;
use super::source::{Rewritten, Source};
use crate::check::exit::THROW;
use crate::env::{CallMap, Found, LoopInline};
use crate::passes::call_facts::{is_helper_call, is_kfunc_call};
use crate::xlated::{NotSupported, OwnHelper};
use skep_btf::{FieldKind, TypeId, special_fields};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_program::MapIdx;
use skep_uapi::limits::BPF_MAX_LOOPS;

const LOOPS_MAX: i32 = BPF_MAX_LOOPS as i32;

/// Rewrites the insn at `idx` if it is a call of a helper, or a cast of address spaces.
pub(super) fn rewrite(source: &Source<'_>, idx: usize, out: &mut Emit) -> Rewritten {
    let insn = source.insns[idx];
    let is_move = insn.code == BPF_ALU64 | BPF_MOV | BPF_X;
    if is_move && insn.off == BPF_ADDR_SPACE_CAST {
        return Err(NotSupported::new("an arena"));
    }
    let found = source.walked.aux.get(idx).map(|aux| aux.found);
    if found == Some(Found::KernelMem) {
        return Err(NotSupported::new("a struct of the kernel as memory"));
    }
    if throws(source, &insn) {
        out.push(call_helper(OwnHelper::Throw as i32));
        return Ok(true);
    }
    if !is_helper_call(&insn) {
        return make_object(source, idx, out);
    }
    let facts = source.program.zip(source.walked.aux.get(idx));
    let Some((program, aux)) = facts else {
        out.push(insn);
        return Ok(true);
    };
    if matches!(aux.loop_inline(), LoopInline::Fits(_)) {
        // The kernel's inlined loop compares all 64 bits of the count, of which the helper receives
        // 32, and returns -E2BIG as a 32-bit value.
        out.push(jump_imm(BPF_JMP, BPF_JLE, 1, LOOPS_MAX, 1));
        out.push(alu_imm(BPF_ALU, BPF_MOV, 1, -1));
        out.push(insn);
        out.push(alu_reg(BPF_ALU, BPF_MOV, 0, 0));
        return Ok(true);
    }
    out.push(insn);
    // The program's own maps are followed by the templates of inner maps, which are not real maps.
    let own = |map: &u32| (*map as usize) < program.maps.len();
    let map = match aux.call_map() {
        CallMap::Known(map) => Some(map).filter(own).map(MapIdx),
        CallMap::Unknown | CallMap::Poisoned => None,
    };
    if let Some(facts) = out.facts() {
        facts.map = map;
    }
    Ok(true)
}

fn throws(source: &Source<'_>, insn: &Insn) -> bool {
    if !is_kfunc_call(insn) || insn.off != 0 {
        return false;
    }
    let btf = source.program.and_then(|program| program.kernel_btf.as_deref());
    let callee = btf.and_then(|btf| btf.get(TypeId(u32::try_from(insn.imm).ok()?)));
    callee.is_some_and(|callee| callee.name() == THROW)
}

/// Maximum number of words of an object with owning fields: the number of bits in a register.
const OWNING_WORDS: u32 = 64;

/// A call that creates an object. The runtime needs its size instead of its type, and which of its
/// words own other objects: r2 is the bit mask of pointers, r3 that of list heads and tree roots.
fn make_object(source: &Source<'_>, idx: usize, out: &mut Emit) -> Rewritten {
    let found = source.walked.aux.get(idx).map(|aux| aux.found);
    let btf = source.program.and_then(|program| program.btf.as_ref());
    let unknown = || NotSupported::new("an object of more than one type");
    let (id, btf) = match (found, btf) {
        (Some(Found::LocalType(id)), Some(btf)) => (id, btf),
        (Some(Found::MixedLocalType), Some(_)) => return Err(unknown()),
        _ => return Ok(false),
    };
    let size = btf.get(TypeId(id)).and_then(|ty| ty.stated_size()).ok_or_else(unknown)?;
    let (mut pointers, mut heads) = (0u64, 0u64);
    for field in special_fields(btf, TypeId(id)).unwrap_or_default() {
        use FieldKind as K;
        let word = field.offset / 8;
        let owner = match field.kind {
            K::ListNode | K::RbNode | K::Refcount | K::SpinLock | K::ResSpinLock | K::KptrUnref => {
                continue;
            }
            K::KptrRef | K::KptrPercpu if word < OWNING_WORDS => &mut pointers,
            K::ListHead | K::RbRoot if word < OWNING_WORDS => &mut heads,
            kind => {
                let what = format!("{} in an object of a program", kind.name());
                return Err(NotSupported::new(what));
            }
        };
        *owner |= 1 << word;
    }
    out.push(alu_imm(BPF_ALU64, BPF_MOV, 1, size as i32));
    for (dst, words) in [(2, pointers), (3, heads)] {
        ld_imm64(dst, words).into_iter().for_each(|insn| out.push(insn));
    }
    out.push(source.insns[idx]);
    Ok(true)
}
