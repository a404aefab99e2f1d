//! Whether the jumps still reach their targets when rewrites have made the program longer: most
//! have 16 bits for the distance.
//!
//! The kernel rewrites insn by insn, and refuses the program at the first rewrite that moves a
//! target out of reach. How long its rewrites are is known exactly of most divisions; of others
//! only a length that they do not exceed. So programs in which nothing can overflow pass, those
//! that only divide are refused where the kernel refuses them, and the rest is not supported yet.
//!
//! Kernel: `bpf_patch_insn_data`, `bpf_adj_branches` (6.18). Absent: the exact lengths of all other
//! rewrites.

use crate::env::{CallMap, Env, InsnFlags};
use crate::log::reject;
use crate::passes::call_facts::{is_helper_call, is_kfunc_call};
use crate::passes::subprogs::jump_offset;
use crate::rejection::{Check, InsnFault, unsupported};
use crate::state::reg_type::{Base, RegType};
use crate::xlated::is_jump;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::helper::HelperId;
use skep_uapi::{MapType, ProgType};

/// Insns that the longest rewrite adds.
const GROWTH_MAX: usize = 31;
/// Kept free for insns before the first one of a function.
const RESERVE: i64 = 64;
/// Longest distance of a jump.
const REACH: i64 = i16::MAX as i64;

/// What a rewrite adds to an insn.
#[derive(Clone, Copy)]
enum Growth {
    Exactly(u32),
    AtMost(u32),
}

impl Growth {
    fn max(self) -> u32 {
        match self {
            Growth::Exactly(n) | Growth::AtMost(n) => n,
        }
    }
}

/// Checks that every jump of a walked program reaches its target after the rewrites.
pub(super) fn check(env: &mut Env<'_>) -> Check {
    let reaches = |over: usize| (over + 1) * (GROWTH_MAX + 1) < (REACH - RESERVE) as usize;
    // Nearly always: a jump goes over no more insns than its offset says.
    let is_near = |insn: &Insn| {
        !is_jump(*insn)
            || insn.code == BPF_JMP32 | BPF_JA
            || reaches(insn.off.unsigned_abs().into())
    };
    if reaches(env.insns.len()) || env.insns.iter().all(is_near) {
        return Ok(());
    }
    let growths: Vec<Growth> = (0..env.insns.len()).map(|i| growth(env, i)).collect();
    let before = |added: &dyn Fn(usize) -> u32| -> Vec<i64> {
        let mut sum = 0;
        let sums = (0..env.insns.len()).map(|i| {
            let here = sum;
            sum += i64::from(added(i));
            here
        });
        let mut sums: Vec<i64> = sums.collect();
        sums.push(sum);
        sums
    };
    let kept = before(&|i| u32::from(is_kept(env, i)));
    let grown = before(&|i| growths[i].max());
    // Of each jump that may not reach: the insns over which it goes, which are those whose growth
    // it feels, and its distance before.
    let far: Vec<(usize, usize, i64)> = (0..env.insns.len())
        .filter(|&i| is_kept(env, i))
        .filter_map(|i| jumped_over(env, i))
        .map(|(from, to)| (from, to, kept[to] - kept[from]))
        .filter(|(from, to, kept)| kept + grown[*to] - grown[*from] > REACH - RESERVE)
        .collect();
    let Some(first) = first_refused(&far, &grown) else { return Ok(()) };
    let is_exact = |growth: &Growth| matches!(growth, Growth::Exactly(_));
    if !far.iter().all(|&(from, to, _)| growths[from..to].iter().all(is_exact)) {
        return unsupported("rewrites that may move a target of a jump out of its reach");
    }
    let Some(insn) = first else { return Ok(()) };
    env.insn_idx = insn as u32;
    reject!(env, ENOMEM, InsnFault::NotPatchable { insn })
}

/// The first insn whose rewrite moves a target out of reach, if there is one; nothing if no jump is
/// far.
fn first_refused(far: &[(usize, usize, i64)], grown: &[i64]) -> Option<Option<usize>> {
    if far.is_empty() {
        return None;
    }
    let refused = far.iter().filter_map(|&(from, to, kept)| {
        let fits = |after: &i64| kept + after - grown[from] <= REACH;
        let at = from + grown[from + 1..=to].partition_point(fits);
        (at < to).then_some(at)
    });
    Some(refused.min())
}

/// Whether some path walked the insn. The second slot of `ld_imm64` is its first's.
fn is_kept(env: &Env<'_>, idx: usize) -> bool {
    let first = if idx > 0 && env.insns[idx - 1].is_ld_imm64() { idx - 1 } else { idx };
    env.aux[first].has(InsnFlags::SEEN)
}

/// The insns between a jump with 16 bits of distance and its target; of a jump back with both.
fn jumped_over(env: &Env<'_>, idx: usize) -> Option<(usize, usize)> {
    let insn = env.insns[idx];
    if !is_jump(insn) || insn.code == BPF_JMP32 | BPF_JA {
        return None;
    }
    let target = usize::try_from(idx as i64 + 1 + jump_offset(&insn)).ok()?;
    let range = if target > idx { (idx + 1, target) } else { (target, idx) };
    (range.1 < env.insns.len()).then_some(range)
}

/// What the kernel's rewrites add to the insn at `idx`.
fn growth(env: &Env<'_>, idx: usize) -> Growth {
    let insn = env.insns[idx];
    if !is_kept(env, idx) {
        return Growth::Exactly(0);
    }
    match insn.class() {
        BPF_ALU | BPF_ALU64 => match insn.op() {
            BPF_DIV | BPF_MOD => division(insn),
            // Masks against speculation.
            BPF_ADD | BPF_SUB if !env.bypass_spec_v1 => Growth::AtMost(12),
            // Pointers to and from an arena.
            BPF_MOV if insn.off != 0 && insn.is_src_reg() => Growth::AtMost(2),
            _ => Growth::Exactly(0),
        },
        BPF_LDX | BPF_ST | BPF_STX => access(env, idx),
        BPF_LD if insn.mode() == BPF_IMM => Growth::Exactly(0),
        BPF_LD => Growth::AtMost(GROWTH_MAX as u32),
        _ if is_kfunc_call(&insn) => Growth::AtMost(10),
        _ if is_helper_call(&insn) => helper(env, idx),
        _ if insn.op() == BPF_JCOND => Growth::AtMost(8),
        _ if !env.bypass_spec_v1 => Growth::AtMost(1),
        _ => Growth::Exactly(0),
    }
}

/// Helpers that are done in place at some length, or whose calls get more arguments.
const INLINED: [HelperId; 10] = {
    use HelperId as Id;
    [
        Id::MapLookupPercpuElem,
        Id::TailCall,
        Id::Loop,
        Id::Jiffies64,
        Id::TimerSetCallback,
        Id::GetBranchSnapshot,
        Id::GetFuncArg,
        Id::GetFuncRet,
        Id::GetFuncArgCnt,
        Id::KptrXchg,
    ]
};

/// Helpers whose calls get an argument more, or that are done in place with a load.
const LONGER: [HelperId; 7] = {
    use HelperId as Id;
    [
        Id::GetCurrentTask,
        Id::GetCurrentTaskBtf,
        Id::SkStorageGet,
        Id::TaskStorageGet,
        Id::InodeStorageGet,
        Id::CgrpStorageGet,
        Id::GetFuncIp,
    ]
};

/// Of a lookup: an element of a hash table is followed to its value.
fn lookup(map: CallMap, env: &Env<'_>) -> Growth {
    let of_type = match map {
        CallMap::Known(map) => env.maps.get(map as usize).map(|map| map.def.map_type),
        _ => None,
    };
    match of_type {
        Some(MapType::Hash) => Growth::AtMost(2),
        _ => Growth::AtMost(12),
    }
}

/// Of a call of a helper.
fn helper(env: &Env<'_>, idx: usize) -> Growth {
    match u32::try_from(env.insns[idx].imm).ok().and_then(HelperId::from_number) {
        Some(HelperId::MapLookupElem) => lookup(env.aux[idx].call_map(), env),
        Some(id) if INLINED.contains(&id) => Growth::AtMost(GROWTH_MAX as u32),
        Some(HelperId::GetSmpProcessorId) => Growth::Exactly(2),
        Some(id) if LONGER.contains(&id) => Growth::AtMost(2),
        // The number becomes an address.
        _ => Growth::Exactly(0),
    }
}

/// Of a division by a register: a jump or two, and what is done in its place.
fn division(insn: Insn) -> Growth {
    match (insn.is_src_reg(), insn.off) {
        (false, _) => Growth::Exactly(0),
        (true, 0) if insn.op() == BPF_MOD && insn.class() == BPF_ALU64 => Growth::Exactly(1),
        (true, 0) => Growth::Exactly(3),
        // Seen on 6.18; the other three signed ones were not looked at.
        (true, _) if insn.op() == BPF_DIV && insn.class() == BPF_ALU64 => Growth::Exactly(7),
        (true, _) => Growth::AtMost(10),
    }
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
    let spec = if env.bypass_spec_v4 && env.bypass_spec_v1 { 0 } else { 2 };
    match env.aux[idx].ptr_type() {
        // One or two loads; a part of a field is shifted and masked.
        Some(ty) if ty.is(Base::Ctx) && env.prog.prog_type == ProgType::Xdp => {
            Growth::AtMost(if env.insns[idx].size_bytes() == 4 { 1 } else { 3 })
        }
        Some(ty) if rewritten(ty) => Growth::AtMost(16),
        _ if spec == 0 => Growth::Exactly(0),
        _ => Growth::AtMost(spec),
    }
}
