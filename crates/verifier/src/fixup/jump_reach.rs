//! Whether jumps still reach their targets after rewrites have made the program longer: most have a
//! 16-bit offset.
//!
//! The kernel rewrites pass by pass and insn by insn, and refuses the program at the first rewrite
//! that moves a jump target out of reach. Which one that is depends on the insns that remain
//! ([`left`]) and on the length of each rewrite ([`growth`]), for some of which only an upper bound
//! is known. So programs in which nothing can overflow pass, those whose lengths are known are
//! refused where the kernel refuses them, and the rest is not supported yet.
//!
//! Kernel: `bpf_patch_insn_data`, `bpf_adj_branches` (6.18).

use super::growth::{self, Pass};
use super::left;
use crate::env::Env;
use crate::fixup::grown::Growth;
use crate::passes::call_facts::is_may_goto;
use crate::passes::subprogs::jump_offset;
use crate::rejection::{Check, InsnFault, reject, unsupported};
use crate::xlated::is_jump;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::ProgType;

/// Margin for insns inserted before the first one of a function.
const RESERVE: i64 = 64;
/// Maximum jump distance.
const REACH: i64 = i16::MAX as i64;

/// Checks that after the rewrites every jump of a walked program still reaches its target.
pub(super) fn check(env: &mut Env<'_>) -> Check {
    let reaches = |over: usize| (over + 1) * (growth::MAX + 1) < (REACH - RESERVE) as usize;
    // The common case: a jump cannot cross more insns than its offset.
    let is_near = |insn: &Insn| {
        !is_jump(*insn)
            || insn.code == BPF_JMP32 | BPF_JA
            || reaches(insn.off.unsigned_abs().into())
    };
    if reaches(env.facts.insns.len()) || env.facts.insns.iter().all(is_near) {
        return Ok(());
    }
    let lengths = Lengths::of(env);
    let far: Vec<Jump> = lengths.jumps(env).filter(|jump| lengths.is_far(jump)).collect();
    if far.iter().any(|jump| lengths.is_vague(jump)) {
        return unsupported("rewrites that may move a target of a jump out of its reach");
    }
    let refused = (0..PASSES).find_map(|pass| {
        let at = far.iter().filter_map(|jump| lengths.overflow(jump, pass));
        Some((pass, at.min()?))
    });
    let Some((pass, insn)) = refused else { return Ok(()) };
    let rewritten = &mut env.learned.stack_rewrites;
    if pass == LOOPS {
        rewritten.loops = insn;
    }
    if pass <= MISC {
        rewritten.may_gotos = if pass == MISC { insn } else { 0 };
    }
    env.walk.insn_idx = insn as u32;
    reject!(ENOMEM, InsnFault::NotPatchable { insn })
}

/// A jump with a 16-bit offset, and the insns between jump and target, whose growth affects it; for
/// a backward jump they begin with the target.
struct Jump {
    from: usize,
    to: usize,
    /// Whether it still exists when calls other than those of `bpf_loop` are rewritten.
    left: bool,
}

/// The number of passes, including the insertions before first insns: of the main function after
/// the first pass, of all functions after the third.
const PASSES: usize = 6;
const LOOPS: usize = 0;
const PROLOGUE: usize = 1;
const MISC: usize = 3;
const ENTRIES: usize = 4;

fn number(pass: Pass) -> usize {
    match pass {
        Pass::Loops => LOOPS,
        Pass::Accesses => 2,
        Pass::Misc => MISC,
        Pass::ZeroExt => 5,
    }
}

/// Insns that the kernel inserts before a loop with `may_goto`: a counter and a time stamp.
const MAY_GOTO_ENTRY: u32 = 2;
/// Insns inserted at the start of a program that writes to packets.
const PROLOGUE_INSNS: u32 = 10;

/// Program length at each insn: sums over all insns before it.
struct Lengths {
    left: Vec<u32>,
    /// The insns added by each pass.
    added: [Vec<u32>; PASSES],
    /// The number of insns whose growth is not known exactly.
    vague: Vec<u32>,
}

fn sums(of: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut sum = 0;
    let after = of.map(|n| {
        sum += n;
        sum
    });
    std::iter::once(0).chain(after).collect()
}

impl Lengths {
    fn of(env: &Env<'_>) -> Lengths {
        let len = env.facts.insns.len();
        let left = left::insns_left(env);
        let mut vague = vec![0; len];
        let mut added: [Vec<u32>; PASSES] = std::array::from_fn(|_| vec![0; len]);
        for idx in (0..len).filter(|&idx| left[idx] && left::was_walked(env, idx)) {
            let (pass, growth) = growth::of(env, idx);
            added[number(pass)][idx] = growth.max();
            vague[idx] = u32::from(matches!(growth, Growth::AtMost(_)));
        }
        if has_prologue(env) {
            added[PROLOGUE][0] = PROLOGUE_INSNS;
            vague[0] |= u32::from(env.facts.prog.prog_type == ProgType::StructOps);
        }
        for mut range in env.facts.layout.ranges() {
            let start = range.start;
            if range.any(|idx| left[idx] && is_may_goto(&env.facts.insns[idx])) {
                added[ENTRIES][start] = MAY_GOTO_ENTRY;
            }
        }
        let left = sums(left.into_iter().map(u32::from));
        Lengths {
            left,
            added: added.map(|added| sums(added.into_iter())),
            vague: sums(vague.into_iter()),
        }
    }

    fn jumps(&self, env: &Env<'_>) -> impl Iterator<Item = Jump> {
        let jump = |idx: usize| {
            let insn = env.facts.insns[idx];
            if !is_jump(insn) || insn.code == BPF_JMP32 | BPF_JA {
                return None;
            }
            let target = usize::try_from(idx as i64 + 1 + jump_offset(&insn)).ok()?;
            let (from, to) = if target > idx { (idx + 1, target) } else { (target, idx) };
            let left = self.left[idx] < self.left[idx + 1];
            (to < env.facts.insns.len()).then_some(Jump { from, to, left })
        };
        (0..env.facts.insns.len()).filter_map(jump)
    }

    /// Distance of the jump before a pass.
    fn distance(&self, jump: &Jump, pass: usize) -> i64 {
        let over = |sums: &[u32]| i64::from(sums[jump.to] - sums[jump.from]);
        if pass == LOOPS {
            return (jump.to - jump.from) as i64;
        }
        // Insns inserted at the start of a function are never between a jump and the function's
        // first insn.
        let grown = (0..pass).filter(|&pass| pass != PROLOGUE && pass != ENTRIES);
        over(&self.left) + grown.map(|pass| over(&self.added[pass])).sum::<i64>()
    }

    /// The insn at which a pass moves the target out of reach.
    fn overflow(&self, jump: &Jump, pass: usize) -> Option<usize> {
        if pass != LOOPS && !jump.left {
            return None;
        }
        let (before, added) = (self.distance(jump, pass), &self.added[pass]);
        let fits = |after: &u32| before + i64::from(after - added[jump.from]) <= REACH;
        let at = jump.from + added[jump.from + 1..=jump.to].partition_point(fits);
        (at < jump.to).then_some(at)
    }

    /// Whether a target may become unreachable.
    fn is_far(&self, jump: &Jump) -> bool {
        (0..PASSES).any(|pass| self.overflow(jump, pass).is_some())
    }

    fn is_vague(&self, jump: &Jump) -> bool {
        self.vague[jump.from] < self.vague[jump.to]
    }
}

/// Whether the kernel may insert insns at the start of the program.
fn has_prologue(env: &Env<'_>) -> bool {
    use ProgType as T;
    let writes_packets =
        matches!(env.facts.prog.prog_type, T::SchedCls | T::SchedAct | T::LwtXmit | T::SkSkb);
    writes_packets && env.learned.seen_direct_write || env.facts.prog.prog_type == T::StructOps
}
