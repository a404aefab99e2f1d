//! What a program still holds when it is rejected (a reference, a lock, a section): the call that
//! acquired it, and where the path to a rejected exit misses the release.
//!
//! Compilers merge all returns, so the line of the exit insn is that of the closing brace. What has
//! to change is at the last branch of the path with a release on one side and none on the side that
//! was taken; or at the acquiring call, if nothing releases what it returns.

use crate::diagnosis::dataflow::{Check, Dataflow, Id, Origin};
use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{Described, callee, insn_idx, since};
use crate::insn::Insn;
use crate::insn::code::*;
use crate::program::Program;
use crate::{Refusal, Step, Verification, WalkedPath};

/// Functions that acquire, by the beginning of their names, and those that release.
const RELEASED_BY: [(&str, &[&str]); 24] = [
    ("bpf_ringbuf_reserve_dynptr", &["bpf_ringbuf_submit_dynptr", "bpf_ringbuf_discard_dynptr"]),
    ("bpf_ringbuf_reserve", &["bpf_ringbuf_submit", "bpf_ringbuf_discard"]),
    ("bpf_sk_lookup", &["bpf_sk_release"]),
    ("bpf_skc_lookup", &["bpf_sk_release"]),
    // Only a lookup in a map of sockets acquires.
    ("bpf_map_lookup_elem", &["bpf_sk_release"]),
    ("bpf_task_get_cgroup", &["bpf_cgroup_release"]),
    ("bpf_task_", &["bpf_task_release"]),
    ("bpf_cgroup_", &["bpf_cgroup_release"]),
    ("bpf_cpumask_", &["bpf_cpumask_release"]),
    ("bpf_crypto_ctx_", &["bpf_crypto_ctx_release"]),
    ("bpf_xdp_ct_", &["bpf_ct_release"]),
    ("bpf_skb_ct_", &["bpf_ct_release"]),
    ("bpf_ct_insert_entry", &["bpf_ct_release"]),
    ("bpf_xdp_get_xfrm_state", &["bpf_xdp_xfrm_state_release"]),
    ("bpf_get_task_exe_file", &["bpf_put_file"]),
    ("bpf_lookup_", &["bpf_key_put"]),
    ("bpf_percpu_obj_new", &["bpf_percpu_obj_drop"]),
    ("bpf_obj_new", &["bpf_obj_drop"]),
    ("bpf_refcount_acquire", &["bpf_obj_drop"]),
    ("bpf_list_pop", &["bpf_obj_drop"]),
    ("bpf_rbtree_remove", &["bpf_obj_drop"]),
    ("scx_bpf_get_idle_", &["scx_bpf_put_idle_cpumask"]),
    ("scx_bpf_get_", &["scx_bpf_put_cpumask"]),
    ("scx_bpf_task_cgroup", &["bpf_cgroup_release"]),
];

/// Words in the names of functions that release something, or hand it over to a map.
const RELEASES: [&str; 6] = ["release", "submit", "discard", "_put", "destroy", "drop"];
const HANDS_OVER: [&str; 3] = ["kptr_xchg", "_push_", "rbtree_add"];

/// A lock, section or reference that one call acquires and another releases.
struct Acquisition {
    /// Refusals that are about it.
    codes: &'static [&'static str],
    /// A word of the messages, if the codes also cover other things.
    word: &'static str,
    begins: &'static [&'static str],
    ends: &'static [&'static str],
    says: &'static str,
}

const ACQUISITIONS: [Acquisition; 6] = [
    Acquisition {
        codes: &["unlock-without-lock"],
        word: "lock",
        begins: &["bpf_spin_unlock"],
        ends: &["bpf_spin_lock"],
        says: "a lock was last released at",
    },
    Acquisition {
        codes: &[
            "call-under-lock",
            "end-under-lock",
            "global-function-under-lock",
            "lock-of-other-allocation",
            "lock-taken-twice",
            "sleeping-global-function",
            "two-locks",
            "unlock-of-other-lock",
            "unlock-out-of-order",
        ],
        word: "lock",
        begins: &["bpf_spin_lock", "bpf_res_spin_lock", "bpf_res_spin_lock_irqsave"],
        ends: &["bpf_spin_unlock", "bpf_res_spin_unlock", "bpf_res_spin_unlock_irqrestore"],
        says: "the held lock was acquired at",
    },
    Acquisition {
        codes: &[
            "end-inside-section",
            "sleeps-with-preemption-off",
            "sleeping-global-function",
            "sleeping-helper-in-section",
        ],
        word: "preempt",
        begins: &["bpf_preempt_disable"],
        ends: &["bpf_preempt_enable"],
        says: "preemption was disabled at",
    },
    Acquisition {
        codes: &[
            "end-inside-section",
            "sleeps-in-rcu-section",
            "sleeping-global-function",
            "sleeping-helper-in-section",
        ],
        word: "rcu",
        begins: &["bpf_rcu_read_lock"],
        ends: &["bpf_rcu_read_unlock"],
        says: "the RCU section began at",
    },
    Acquisition {
        codes: &[
            "end-inside-section",
            "sleeps-with-interrupts-off",
            "sleeping-global-function",
            "sleeping-helper-in-section",
        ],
        word: "irq",
        begins: &["bpf_local_irq_save"],
        ends: &["bpf_local_irq_restore"],
        says: "interrupts were disabled at",
    },
    Acquisition {
        codes: &["dynptr-not-initialized"],
        word: "dynptr",
        begins: &[
            "bpf_ringbuf_discard_dynptr",
            "bpf_ringbuf_submit_dynptr",
            "bpf_dynptr_file_discard",
        ],
        ends: &[],
        says: "the dynptr and its clones were released at",
    },
];

impl Acquisition {
    /// The last call of a path that began it and was not followed by the end of it.
    fn open_at_end(
        &self,
        path: &[usize],
        program: &Program,
        describe: &impl Fn(usize) -> Described,
    ) -> Option<usize> {
        let mut open = Vec::new();
        for &idx in path {
            match callee(program, idx, describe) {
                Some(name) if self.begins.contains(&name.as_str()) => open.push(idx),
                Some(name) if self.ends.contains(&name.as_str()) => drop(open.pop()),
                _ => {}
            }
        }
        open.last().copied()
    }
}

/// What is held at a rejection.
pub(crate) struct Held {
    /// The call that acquired it.
    pub(crate) by: usize,
    says: &'static str,
    /// Names of the functions that release it; empty if they are not known.
    ends: Vec<String>,
}

/// Where the path to a rejected exit misses the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// The other side of this branch could have released it.
    Since(usize),
    /// Nothing that can be reached from the acquiring call releases it.
    Everywhere,
    /// Neither: a release was passed that was not for it.
    Unknown,
}

impl Held {
    /// What is held, if a rejection is because of that.
    pub(crate) fn at(
        refusal: &Refusal,
        verification: &Verification,
        program: &Program,
        describe: &impl Fn(usize) -> Described,
    ) -> Option<Held> {
        if let Some(by) = verification.acquired_by {
            let ends = callee(program, by, describe).map_or_else(Vec::new, |name| ends_of(&name));
            return Some(Held { by, says: "the unreleased reference was acquired at", ends });
        }
        let message = refusal.message.to_ascii_lowercase();
        let says = |it: &&Acquisition| {
            it.codes.contains(&refusal.kind.as_str()) && message.contains(it.word)
        };
        let path = verification.path.as_ref()?;
        let insns: Vec<usize> = path.steps().filter_map(insn_idx).collect();
        // The last insn is the rejected one.
        let (_, before) = insns.split_last()?;
        // A message may name several.
        ACQUISITIONS.iter().filter(says).find_map(|acquisition| {
            let by = acquisition.open_at_end(before, program, describe)?;
            let ends = acquisition.ends.iter().map(|&name| name.to_owned()).collect();
            Some(Held { by, says: acquisition.says, ends })
        })
    }

    /// Where it was acquired.
    pub(crate) fn note(&self, describe: &impl Fn(usize) -> Described) -> Note {
        since(self.says, self.by, describe)
    }

    /// The insn to look at.
    pub(crate) fn place(&self, missed: Missed) -> usize {
        match missed {
            Missed::Since(branch) => branch,
            Missed::Everywhere | Missed::Unknown => self.by,
        }
    }

    /// What is the matter with that insn.
    pub(crate) fn why(&self, missed: Missed) -> Note {
        let (begun, ended) = match self.says.contains("acquired") {
            true => ("acquired", "release"),
            false => ("begun", "end"),
        };
        let text = match missed {
            Missed::Since(_) => {
                format!("the path that this branch takes to the exit does not {ended} it")
            }
            Missed::Everywhere => {
                format!("it is {begun} here, and no path from here to an exit {ended}s it")
            }
            Missed::Unknown => format!("it is {begun} here, and this path does not {ended} it"),
        };
        Note { text, at: None }
    }

    /// The functions that release it: `a()` or `b()`, without the outer quotes.
    pub(crate) fn released_by(&self) -> Option<String> {
        let calls: Vec<String> = self.ends.iter().map(|name| format!("{name}()")).collect();
        (!calls.is_empty()).then(|| calls.join("` or `"))
    }

    /// `None` if the rejection is not at an exit.
    pub(crate) fn missed(
        &self,
        refusal: &Refusal,
        path: &WalkedPath,
        program: &Program,
        describe: &impl Fn(usize) -> Described,
    ) -> Option<Missed> {
        let exit = program.insns.get(refusal.insn_idx?)?;
        if exit.class() != BPF_JMP || exit.op() != BPF_EXIT {
            return None;
        }
        let ends = |idx: usize| callee(program, idx, describe).is_some_and(|it| self.is_end(&it));
        let reaches = reaching(program, ends);
        if reaches.get(self.by + 1) != Some(&true) && !self.is_of_callee(path) {
            return Some(Missed::Everywhere);
        }
        let choice = last_choice(self.by, path, program, &reaches);
        let made = choice.map(|branch| made_before(branch, self.by, path, program, &reaches));
        Some(made.map_or(Missed::Unknown, Missed::Since))
    }

    fn is_end(&self, name: &str) -> bool {
        let name = name.strip_suffix("_impl").unwrap_or(name);
        let has_any = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let releases = match self.ends.is_empty() {
            true => has_any(&RELEASES),
            false => self.ends.iter().any(|end| end == name),
        };
        releases || has_any(&HANDS_OVER)
    }

    /// Whether a called function acquired it, so that the release may be in a caller.
    fn is_of_callee(&self, path: &WalkedPath) -> bool {
        path.steps().any(|step| {
            matches!(step, Step::Insn { insn_idx, frame }
                if *insn_idx as usize == self.by && *frame > 0)
        })
    }
}

/// The functions that release what a function acquires.
fn ends_of(acquires: &str) -> Vec<String> {
    let iterator = acquires.strip_prefix("bpf_iter_").and_then(|it| it.strip_suffix("_new"));
    if let Some(kind) = iterator {
        return vec![format!("bpf_iter_{kind}_destroy")];
    }
    let row = RELEASED_BY.iter().find(|(begin, _)| acquires.starts_with(begin));
    row.map_or(&[][..], |(_, ends)| *ends).iter().map(|&end| end.to_owned()).collect()
}

/// From which insns one with a property can be reached, in the same function or those it calls.
fn reaching(program: &Program, has: impl Fn(usize) -> bool) -> Vec<bool> {
    let insns = &program.insns;
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); insns.len()];
    for (idx, insn) in insns.iter().enumerate() {
        for next in successors(*insn, idx) {
            if let (Some(list), Ok(idx)) = (before.get_mut(next), u32::try_from(idx)) {
                list.push(idx);
            }
        }
    }
    let mut reaches: Vec<bool> = (0..insns.len()).map(has).collect();
    let mut open: Vec<usize> = (0..insns.len()).filter(|&idx| reaches[idx]).collect();
    while let Some(idx) = open.pop() {
        for &from in &before[idx] {
            let from = from as usize;
            if !std::mem::replace(&mut reaches[from], true) {
                open.push(from);
            }
        }
    }
    reaches
}

/// The insns that may be next, the start of a called function included.
pub(super) fn successors(insn: Insn, idx: usize) -> Vec<usize> {
    let from_next = |off: i32| usize::try_from(idx as i64 + 1 + i64::from(off)).ok();
    let (next, target) = match insn.class() {
        BPF_LD if insn.is_ld_imm64() => {
            (true, (insn.src == BPF_PSEUDO_FUNC).then(|| from_next(insn.imm)).flatten())
        }
        BPF_JMP if insn.op() == BPF_EXIT => (false, None),
        BPF_JMP if insn.op() == BPF_CALL => {
            (true, (insn.src == BPF_PSEUDO_CALL).then(|| from_next(insn.imm)).flatten())
        }
        BPF_JMP | BPF_JMP32 => (insn.is_conditional_jump(), insn.jump_target(idx)),
        _ => (true, None),
    };
    next.then_some(idx + 1).into_iter().chain(target).collect()
}

/// The last branch after the insn `by` that was taken to where nothing is reached any more.
fn last_choice(by: usize, path: &WalkedPath, program: &Program, reaches: &[bool]) -> Option<usize> {
    let mut calls: Vec<usize> = Vec::new();
    let mut last: Option<(usize, usize, bool)> = None;
    let mut found = None;
    for step in path.steps() {
        let Step::Insn { insn_idx, frame } = step else { continue };
        let (idx, frame) = (*insn_idx as usize, *frame as usize);
        match last {
            Some((call, before, _)) if frame > before => calls.push(call),
            Some((_, before, _)) if frame < before => drop(calls.pop()),
            _ => {}
        }
        let of_caller = |call: &usize| reaches.get(call + 1) == Some(&true);
        let reaches = reaches.get(idx) == Some(&true) || calls.iter().any(of_caller);
        if let Some((branch, before, true)) = last
            && !reaches
            && frame == before
            && program.insns.get(branch).is_some_and(|insn| insn.is_conditional_jump())
        {
            found = Some(branch);
        }
        if idx == by {
            found = None;
        }
        last = Some((idx, frame, reaches));
    }
    found
}

/// The branch that decided which way `branch` goes, if that depends on constants alone: compilers
/// number the ways out of a loop, and tell them apart after they have joined.
fn made_before(
    branch: usize,
    by: usize,
    path: &WalkedPath,
    program: &Program,
    reaches: &[bool],
) -> usize {
    let insns: Vec<usize> = path.steps().filter_map(insn_idx).collect();
    let since_then = insns.iter().rposition(|&idx| idx == by).unwrap_or(0);
    let branches = insns[since_then..]
        .iter()
        .filter(|&&idx| program.insns.get(idx).is_some_and(|insn| insn.is_conditional_jump()));
    let dataflow = Dataflow::of(path, program);
    let first = dataflow.checks.len().saturating_sub(branches.count());
    let is_fixed = |of: Id| matches!(dataflow.values[of].made, Origin::Constant | Origin::Computed);
    let is_decided = |check: &Check| {
        check.operands().all(|id| dataflow.ancestors(id, |_| true).into_iter().all(is_fixed))
    };
    let others = |check: &Check| match check.is_taken {
        true => Some(check.insn_idx + 1),
        false => program.insns.get(check.insn_idx)?.jump_target(check.insn_idx),
    };
    let ends = |check: &Check| others(check).is_some_and(|idx| reaches.get(idx) == Some(&true));
    let mut back = dataflow.checks[first..].iter().rev();
    match back.find(|check| check.insn_idx == branch) {
        Some(check) if is_decided(check) => {
            let made = back.find(|check| !is_decided(check) && ends(check));
            made.map_or(branch, |check| check.insn_idx)
        }
        _ => branch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uapi::kfunc::{Kfunc, KfuncFlags};

    #[test]
    fn functions_that_release() {
        let of = |name| ends_of(name).join(" ");
        assert_eq!(of("bpf_ringbuf_reserve"), "bpf_ringbuf_submit bpf_ringbuf_discard");
        assert_eq!(
            of("bpf_ringbuf_reserve_dynptr"),
            "bpf_ringbuf_submit_dynptr bpf_ringbuf_discard_dynptr"
        );
        assert_eq!(of("bpf_iter_num_new"), "bpf_iter_num_destroy");
        assert_eq!(of("bpf_sk_lookup_tcp"), "bpf_sk_release");
        assert_eq!(of("bpf_kptr_xchg"), "");
        assert_eq!(of("bpf_task_get_cgroup1"), "bpf_cgroup_release");
    }

    #[test]
    fn what_kernel_functions_acquire_others_release() {
        let releases = |name: &String| {
            Kfunc::find(name).is_some_and(|it| it.flags.contains(KfuncFlags::RELEASE))
        };
        for kfunc in Kfunc::all().filter(|it| it.flags.contains(KfuncFlags::ACQUIRE)) {
            let ends = ends_of(kfunc.name);
            assert!(!ends.is_empty() && ends.iter().all(releases), "{}: {ends:?}", kfunc.name);
        }
    }
}
