//! How many insns a rewrite of the kernel adds to an insn, and in which of its passes.
//!
//! Kernel: `optimize_bpf_loop`, `convert_ctx_accesses`, `do_misc_fixups` (6.18 on x86-64), as
//! observed by the length of what is left. Absent: the exact lengths of what `AtMost` says.

use super::{ctx_growth, upper_half};
use crate::env::{CallMap, Env, Facts, LoopInline};
use crate::fixup::grown::Growth;
use crate::passes::call_facts::{is_helper_call, is_kfunc_call, is_may_goto};
use crate::state::reg_type::{Base, RegType};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::helper::HelperId;
use skep_uapi::{MapFlags, MapType, ProgFlags, ProgType};

/// Insns that the longest rewrite adds.
pub(super) const MAX: usize = 31;

/// The passes that rewrite, in order; each goes over the whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Calls of `bpf_loop`, before anything is removed.
    Loops,
    /// Loads and stores.
    Accesses,
    /// All else.
    Misc,
    /// Upper halves.
    ZeroExt,
}

/// What the kernel's rewrites add to the insn at `idx`, which is walked.
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
            // Masks against speculation.
            BPF_ADD | BPF_SUB if !env.facts.bypass_spec_v1 => Growth::AtMost(12),
            // Pointers to and from an arena.
            BPF_MOV if insn.off == BPF_ADDR_SPACE_CAST && insn.is_src_reg() => Growth::AtMost(2),
            _ => Growth::Exactly(0),
        },
        BPF_LD if insn.mode() == BPF_IMM => Growth::Exactly(0),
        // A register is added to the offset.
        BPF_LD if insn.mode() == BPF_IND && insn.imm != 0 => Growth::Exactly(6),
        BPF_LD => Growth::Exactly(5),
        _ if is_kfunc_call(&insn) => Growth::AtMost(10),
        _ if is_helper_call(&insn) => match env.learned.aux[idx].loop_inline() {
            LoopInline::Fits(_) => return (Pass::Loops, Growth::AtMost(MAX as u32)),
            _ => helper(env, idx),
        },
        // Besides what is put before the function.
        _ if is_may_goto(&insn) => Growth::Exactly(6),
        // What programs of some structs do last.
        BPF_JMP if insn.op() == BPF_EXIT && env.facts.prog.prog_type == ProgType::StructOps => {
            return (Pass::Accesses, Growth::AtMost(MAX as u32));
        }
        _ if !env.facts.bypass_spec_v1 => Growth::AtMost(1),
        _ => Growth::Exactly(0),
    };
    (Pass::Misc, misc)
}

/// Helpers that are done in place at some length, or whose calls get more arguments.
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

/// Helpers whose calls get an argument more, or that are done in place with a load.
const LONGER: [HelperId; 5] = {
    use HelperId as Id;
    [Id::SkStorageGet, Id::TaskStorageGet, Id::InodeStorageGet, Id::CgrpStorageGet, Id::GetFuncIp]
};

/// Of a lookup: of most types it is done in place.
fn lookup(facts: &Facts<'_>, map: CallMap) -> Growth {
    let unknown = Growth::AtMost(12);
    // Behind the program's own maps are the templates of inner maps.
    let CallMap::Known(map) = map else { return unknown };
    let Some(map) = facts.prog.maps.get(map as usize) else { return unknown };
    Growth::Exactly(match map.map_type {
        // Its size may change.
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

/// Of a call of a helper.
fn helper(env: &Env<'_>, idx: usize) -> Growth {
    match u32::try_from(env.facts.insns[idx].imm).ok().and_then(HelperId::from_number) {
        Some(HelperId::MapLookupElem) => lookup(env.facts, env.learned.aux[idx].call_map()),
        Some(HelperId::TailCall) if !env.facts.bypass_spec_v1 => Growth::AtMost(4),
        Some(HelperId::GetSmpProcessorId | HelperId::Jiffies64) => Growth::Exactly(2),
        Some(HelperId::GetBranchSnapshot) => Growth::Exactly(10),
        Some(id) if INLINED.contains(&id) => Growth::AtMost(MAX as u32),
        Some(id) if LONGER.contains(&id) => Growth::AtMost(2),
        // The number becomes an address.
        _ => Growth::Exactly(0),
    }
}

/// Of a division by a register: a jump or two, and what is done in its place.
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

/// Of a load or store: nothing where memory is accessed as it is.
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

/// Whether speculation is no concern.
fn bypasses(facts: &Facts<'_>) -> bool {
    facts.bypass_spec_v4 && facts.bypass_spec_v1
}
