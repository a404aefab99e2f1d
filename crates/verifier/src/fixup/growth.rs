//! How many insns the kernel's rewrites add to an insn, and in which pass.
//!
//! Kernel: `optimize_bpf_loop`, `convert_ctx_accesses`, `do_misc_fixups` (6.18 on x86-64), as
//! observed by the resulting program length. Absent: exact lengths where `AtMost` is given.

use super::{ctx_growth, upper_half};
use crate::env::{CallMap, Env, Facts, LoopInline};
use crate::fixup::grown::Growth;
use crate::passes::call_facts::{is_helper_call, is_kfunc_call, is_may_goto};
use crate::state::reg_type::{Base, RegType};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::helper::HelperId;
use skep_uapi::{MapFlags, MapType, ProgFlags, ProgType};

/// Number of insns added by the longest rewrite.
pub(super) const MAX: usize = 31;

/// The rewriting passes, in order; each processes the whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Calls of `bpf_loop`, before insns are removed.
    Loops,
    /// Loads and stores.
    Accesses,
    /// Everything else.
    Misc,
    /// Zero extension.
    ZeroExt,
}

/// What the kernel's rewrites add to the insn at `idx`, which has been walked.
pub(super) fn of(env: &Env<'_>, idx: usize) -> (Pass, Growth) {
    let insn = env.facts.insns[idx];
    if env.facts.prog.prog_flags.contains(ProgFlags::TEST_RND_HI32) {
        return (Pass::ZeroExt, Growth::AtMost(MAX as u32));
    }
    let misc = match insn.class() {
        BPF_STX if upper_half::concerns(insn) && bypasses(env.facts) => {
            return (Pass::ZeroExt, upper_half::growth(env, idx));
        }
        BPF_LDX | BPF_ST | BPF_STX => return (Pass::Accesses, access(env, idx)),
        BPF_ALU | BPF_ALU64 => match insn.op() {
            BPF_DIV | BPF_MOD => division(insn),
            // Masking against speculation.
            BPF_ADD | BPF_SUB if !env.facts.bypass_spec_v1 => Growth::AtMost(12),
            // Address space casts.
            BPF_MOV if insn.off == BPF_ADDR_SPACE_CAST && insn.is_src_reg() => Growth::AtMost(2),
            _ => Growth::Exactly(0),
        },
        BPF_LD if insn.mode() == BPF_IMM => Growth::Exactly(0),
        // The register is added to the offset.
        BPF_LD if insn.mode() == BPF_IND && insn.imm != 0 => Growth::Exactly(6),
        BPF_LD => Growth::Exactly(5),
        _ if is_kfunc_call(&insn) => Growth::AtMost(10),
        _ if is_helper_call(&insn) => match env.learned.aux[idx].loop_inline() {
            LoopInline::Fits(_) => return (Pass::Loops, Growth::AtMost(MAX as u32)),
            _ => helper(env, idx),
        },
        // In addition to what is inserted at the start of the function.
        _ if is_may_goto(&insn) => Growth::Exactly(6),
        // Some struct_ops programs have an epilogue.
        BPF_JMP if insn.op() == BPF_EXIT && env.facts.prog.prog_type == ProgType::StructOps => {
            return (Pass::Accesses, Growth::AtMost(MAX as u32));
        }
        _ if !env.facts.bypass_spec_v1 => Growth::AtMost(1),
        _ => Growth::Exactly(0),
    };
    (Pass::Misc, misc)
}

/// Helpers that are inlined with several insns, or whose calls get several additional arguments.
const INLINED: [HelperId; 6] = {
    use HelperId as Id;
    [
        Id::Loop,
        Id::TimerSetCallback,
        Id::GetFuncArg,
        Id::GetFuncRet,
        Id::GetFuncArgCnt,
        Id::KptrXchg,
    ]
};

/// Helpers whose calls get one more argument, or that are inlined as a load.
const LONGER: [HelperId; 5] = {
    use HelperId as Id;
    [Id::SkStorageGet, Id::TaskStorageGet, Id::InodeStorageGet, Id::CgrpStorageGet, Id::GetFuncIp]
};

/// A map lookup, which is inlined for most map types.
fn lookup(facts: &Facts<'_>, map: CallMap) -> Growth {
    let unknown = Growth::AtMost(12);
    // The program's own maps are followed by the templates of inner maps.
    let CallMap::Known(map) = map else { return unknown };
    let Some(map) = facts.prog.maps.get(map as usize) else { return unknown };
    Growth::Exactly(match map.map_type {
        // Inner maps may have different sizes.
        MapType::Array if map.map_flags.contains(MapFlags::INNER_MAP) => 0,
        MapType::Array => 6,
        MapType::Hash => 2,
        MapType::PercpuArray => 8,
        MapType::PercpuHash => 4,
        MapType::LruHash => 5,
        MapType::ArrayOfMaps => 8,
        MapType::HashOfMaps => 3,
        MapType::Xskmap => 7,
        MapType::LruPercpuHash | MapType::LpmTrie | MapType::Devmap | MapType::DevmapHash => 0,
        _ => return unknown,
    })
}

/// A call of a helper.
fn helper(env: &Env<'_>, idx: usize) -> Growth {
    match u32::try_from(env.facts.insns[idx].imm).ok().and_then(HelperId::from_number) {
        Some(HelperId::MapLookupElem) => lookup(env.facts, env.learned.aux[idx].call_map()),
        Some(HelperId::TailCall) if !env.facts.bypass_spec_v1 => Growth::AtMost(4),
        Some(HelperId::GetSmpProcessorId | HelperId::Jiffies64) => Growth::Exactly(2),
        Some(HelperId::GetBranchSnapshot) => Growth::Exactly(10),
        Some(id) if INLINED.contains(&id) => Growth::AtMost(MAX as u32),
        Some(id) if LONGER.contains(&id) => Growth::AtMost(2),
        // Only the helper's number is replaced by an address.
        _ => Growth::Exactly(0),
    }
}

/// A division by a register: one or two jumps, and their replacement values.
fn division(insn: Insn) -> Growth {
    let is_long = insn.class() == BPF_ALU64;
    Growth::Exactly(match (insn.is_src_reg(), insn.off, insn.op()) {
        (false, ..) => 0,
        (true, 0, BPF_MOD) if is_long => 1,
        (true, 0, _) => 3,
        (true, _, BPF_DIV) => 7,
        (true, ..) if is_long => 6,
        (true, ..) => 8,
    })
}

/// A load or store; nothing is added if the memory is accessed directly.
fn access(env: &Env<'_>, idx: usize) -> Growth {
    let rewritten = |ty: RegType| {
        let plain = matches!(
            ty.base,
            Base::BtfId
                | Base::Mem
                | Base::Stack
                | Base::MapValue
                | Base::MapKey
                | Base::Packet
                | Base::PacketMeta
                | Base::Buf
        );
        ty.is_sk() || !plain
    };
    let spec = if bypasses(env.facts) { 0 } else { 2 };
    match env.learned.aux[idx].ptr_type() {
        Some(ty) if ty.is(Base::Ctx) && spec == 0 => {
            ctx_growth::growth(env.facts.prog, env.facts.insns[idx])
        }
        Some(ty) if rewritten(ty) => Growth::AtMost(16),
        _ if spec == 0 => Growth::Exactly(0),
        _ => Growth::AtMost(spec),
    }
}

/// Whether no masking against speculation is needed.
fn bypasses(facts: &Facts<'_>) -> bool {
    facts.bypass_spec_v4 && facts.bypass_spec_v1
}
