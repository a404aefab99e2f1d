//! Finds the subprogs of a program, and checks that each is closed under jumps.
//!
//! A subprog begins at insn 0, at each target of a call to a subprog, at each function whose
//! address is taken, and at the exception callback. It ends where the next one begins.
//!
//! # Invariants
//!
//! 1. `starts` is strictly increasing, begins with 0 and ends with the number of insns.
//! 2. After [`check_subprogs`], no jump leaves its subprog and no subprog falls into the next.
//!
//! Kernel: `add_subprog_and_kfunc`, `check_subprogs`, 6.18.

use super::PassReject;
use super::call_facts::is_tail_call;
use super::call_facts::{callee_start, is_kfunc_call, is_pseudo_call, is_pseudo_func};
use crate::rejection::FlowFault;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::Insns;
use skep_uapi::errno;
use skep_uapi::limits::BPF_MAX_SUBPROGS;
use std::fmt::Write;
use std::ops::Range;

/// Properties of a subprog that follow from its insns alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SubprogFlags {
    /// Contains a call of `bpf_tail_call`.
    pub(crate) has_tail_call: bool,
    /// Contains a legacy packet load (`BPF_ABS` or `BPF_IND`).
    pub(crate) has_ld_abs: bool,
    /// Is the exception callback (and so also a callback).
    pub(crate) is_exception_cb: bool,
}

/// The subprogs of a program, in the order of their insns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subprogs {
    /// First insn of each subprog, then the number of insns.
    starts: Vec<u32>,
    /// Subprog of each insn.
    of_insn: Vec<u16>,
    /// One for each subprog; filled by [`check_subprogs`].
    pub(crate) flags: Vec<SubprogFlags>,
    /// The exception callback, if there is one.
    pub(crate) exception_cb: Option<usize>,
}

impl Subprogs {
    /// Number of subprogs, at least 1; 0 before they have been found.
    pub(crate) fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
    /// First insn of a subprog.
    pub(crate) fn start(&self, subprog: usize) -> u32 {
        self.starts[subprog]
    }
    /// One past the last insn of a subprog.
    pub(crate) fn end(&self, subprog: usize) -> u32 {
        self.starts[subprog + 1]
    }
    /// The insns of each subprog.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|pair| pair[0] as usize..pair[1] as usize)
    }
    /// First insns of all subprogs.
    pub(crate) fn starts(&self) -> &[u32] {
        &self.starts[..self.count()]
    }
    /// The subprog that begins at `insn`. Kernel: `find_subprog`.
    pub(crate) fn starting_at(&self, insn: i64) -> Option<usize> {
        let insn = u32::try_from(insn).ok()?;
        self.starts().binary_search(&insn).ok()
    }
    /// The subprog that contains `insn`. Kernel: `bpf_find_containing_subprog`.
    pub(crate) fn containing(&self, insn: usize) -> usize {
        usize::from(self.of_insn[insn])
    }
    /// The lines `func#N @START` of log level 2, written when the subprogs have been found.
    pub(crate) fn log_text(&self) -> String {
        let mut text = String::new();
        for (subprog, start) in self.starts().iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "func#{subprog} @{start}");
        }
        text
    }
}

/// Collects the subprogs that insns refer to and passes each kfunc call to `add_kfunc`, in insn
/// order.
///
/// `bpf_capable`: whether the loader may use several functions and kfuncs (`CAP_BPF`);
/// `called_back`: whether the kernel takes addresses of functions. On a refusal, `starts` holds
/// those found before it.
///
/// Precondition: `insns` is not empty, and `starts` belongs to them.
///
/// Kernel: `add_subprog_and_kfunc`.
pub(crate) fn find_subprogs(
    insns: &[Insn],
    bpf_capable: bool,
    called_back: bool,
    starts: &mut StartSet,
    mut add_kfunc: impl FnMut(usize, &Insn) -> Result<(), PassReject>,
) -> Result<(), PassReject> {
    for (idx, insn) in insns.iter().enumerate() {
        let names_subprog = is_pseudo_call(insn) || called_back && is_pseudo_func(insn);
        if !names_subprog && !is_kfunc_call(insn) {
            continue;
        }
        if !bpf_capable {
            return Err(PassReject::at(idx, errno::EPERM, FlowFault::CallsUnprivileged));
        }
        if names_subprog {
            starts.add(idx, callee_start(idx, insn))?;
        } else {
            add_kfunc(idx, insn)?;
        }
    }
    Ok(())
}

/// The starts found so far, as a flag for each insn: most lookups are repeats.
pub(crate) struct StartSet {
    is_start: Vec<bool>,
    /// Number of starts found.
    pub(crate) count: usize,
}

impl StartSet {
    pub(crate) fn new(insn_cnt: usize) -> StartSet {
        let mut is_start = vec![false; insn_cnt];
        is_start[0] = true;
        StartSet { is_start, count: 1 }
    }

    /// Adds the subprog that the insn at `at` refers to.
    pub(crate) fn add(&mut self, at: usize, start: i64) -> Result<(), PassReject> {
        let slot = usize::try_from(start).ok().and_then(|i| self.is_start.get_mut(i));
        let Some(slot) = slot else {
            return Err(PassReject::at(at, errno::EINVAL, FlowFault::CallTarget));
        };
        if *slot {
            return Ok(());
        }
        if self.count >= BPF_MAX_SUBPROGS {
            return Err(PassReject::at(at, errno::E2BIG, FlowFault::TooManySubprogs));
        }
        *slot = true;
        self.count += 1;
        Ok(())
    }

    /// The subprogs found.
    pub(crate) fn into_subprogs(self, exception_cb: Option<u32>) -> Subprogs {
        let mut starts = Vec::with_capacity(self.count + 1);
        let mut of_insn = Vec::with_capacity(self.is_start.len());
        for (idx, &is_start) in self.is_start.iter().enumerate() {
            if is_start {
                starts.push(idx as u32);
            }
            of_insn.push((starts.len() - 1) as u16);
        }
        let mut flags = vec![SubprogFlags::default(); starts.len()];
        let exception_cb = exception_cb.and_then(|start| starts.binary_search(&start).ok());
        if let Some(subprog) = exception_cb {
            flags[subprog].is_exception_cb = true;
        }
        starts.push(self.is_start.len() as u32);
        Subprogs { starts, of_insn, flags, exception_cb }
    }
}

/// Checks that jumps stay in their subprog and that no subprog falls through its end; fills
/// [`Subprogs::flags`].
///
/// Kernel: `check_subprogs`.
pub(crate) fn check_subprogs(
    insns: &[Insn],
    there: Insns,
    subprogs: &mut Subprogs,
) -> Result<(), PassReject> {
    let is_jump_long = !there.lack("gotol");
    for subprog in 0..subprogs.count() {
        let (start, end) = (subprogs.start(subprog), subprogs.end(subprog));
        for idx in start..end {
            let insn = &insns[idx as usize];
            note_flags(insn, &mut subprogs.flags[subprog]);
            if let Some(target) = jump_target(idx, insn, is_jump_long)
                && !(i64::from(start)..i64::from(end)).contains(&target)
            {
                // The kernel counts in 32 bits.
                let (from, to) = (idx as usize, i64::from(target as i32));
                let kind = FlowFault::JumpOutOfRange { from, to };
                return Err(PassReject::at(from, errno::EINVAL, kind));
            }
        }
        let last = end as usize - 1;
        let ends_here = match insns[last].code {
            JMP32_JA => is_jump_long,
            code => matches!(code, JMP_EXIT | JMP_JA),
        };
        if !ends_here {
            return Err(PassReject::at(last, errno::EINVAL, FlowFault::FallsThrough));
        }
    }
    Ok(())
}

/// Without BTF for the functions, legacy packet loads and tail calls are only allowed in the main
/// one.
///
/// Kernel: `check_abnormal_return`; runs after [`check_subprogs`] if the program has no func info.
pub(crate) fn check_abnormal_return(subprogs: &Subprogs) -> Result<(), PassReject> {
    for (subprog, flags) in subprogs.flags.iter().enumerate().skip(1) {
        let what = match flags {
            SubprogFlags { has_ld_abs: true, .. } => "LD_ABS",
            SubprogFlags { has_tail_call: true, .. } => "tail_call",
            _ => continue,
        };
        let kind = FlowFault::NeedsFuncBtf { what };
        return Err(PassReject::at(subprogs.start(subprog) as usize, errno::EINVAL, kind));
    }
    Ok(())
}

const JMP_EXIT: u8 = BPF_JMP | BPF_EXIT;
const JMP_JA: u8 = BPF_JMP | BPF_JA;
const JMP32_JA: u8 = BPF_JMP32 | BPF_JA;

fn note_flags(insn: &Insn, flags: &mut SubprogFlags) {
    if is_tail_call(insn) {
        flags.has_tail_call = true;
    }
    if insn.class() == BPF_LD && matches!(insn.mode(), BPF_ABS | BPF_IND) {
        flags.has_ld_abs = true;
    }
}

/// Target of the jump at `idx`; `None` if it is not a jump.
fn jump_target(idx: u32, insn: &Insn, is_jump_long: bool) -> Option<i64> {
    if !matches!(insn.class(), BPF_JMP | BPF_JMP32) || matches!(insn.op(), BPF_EXIT | BPF_CALL) {
        return None;
    }
    let distance = if is_jump_long { jump_offset(insn) } else { i64::from(insn.off) };
    Some(i64::from(idx) + 1 + distance)
}

/// Distance of the jump `insn`, in insns: only `gotol` keeps it in `imm`. Kernel: `bpf_jmp_offset`.
pub(crate) fn jump_offset(insn: &Insn) -> i64 {
    if insn.code == JMP32_JA { i64::from(insn.imm) } else { i64::from(insn.off) }
}

#[cfg(test)]
mod tests {
    use super::super::program_fixture::*;
    use super::*;
    use skep_uapi::helper::HelperId;

    fn find(insns: &[Insn]) -> Result<Subprogs, PassReject> {
        let mut starts = StartSet::new(insns.len());
        find_subprogs(insns, true, true, &mut starts, |_, _| Ok(()))?;
        let mut subprogs = starts.into_subprogs(None);
        check_subprogs(insns, Insns::all(), &mut subprogs)?;
        Ok(subprogs)
    }

    #[test]
    fn starts_are_sorted_and_printed() {
        let insns = [call(3), call(0), call(-2), exit(), mov(0, 0), exit()];
        let subprogs = find(&insns);
        // Insns 0 and 1 fall into the subprog at 2.
        assert_eq!(message(subprogs), "last insn is not an exit or jmp");
        let insns = [call(1), exit(), mov(0, 0), exit()];
        let subprogs = find(&insns).unwrap();
        assert_eq!(subprogs.log_text(), "func#0 @0\nfunc#1 @2\n");
        assert_eq!((subprogs.containing(1), subprogs.containing(2)), (0, 1));
        assert_eq!((subprogs.starting_at(2), subprogs.starting_at(3)), (Some(1), None));
    }

    #[test]
    fn refusals() {
        let table: [(&[Insn], &str); 6] = [
            (&[call(5), exit()], "call to invalid destination"),
            (&[mov(0, 0), call(-5), exit()], "call to invalid destination"),
            (&[jeq(1, 0, 5), exit()], "jump out of range from insn 0 to 6"),
            (&[jeq(1, 0, -2), exit()], "jump out of range from insn 0 to -1"),
            (&[mov(0, 0)], "last insn is not an exit or jmp"),
            (&[call(1), mov(0, 0), exit()], "last insn is not an exit or jmp"),
        ];
        for (insns, expected) in table {
            assert_eq!(message(find(insns)), expected, "{insns:?}");
        }
    }

    #[test]
    fn tail_calls_and_packet_loads_need_btf_in_subprogs() {
        let ld_abs = insn(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0);
        let subprogs = find(&[call(1), exit(), ld_abs, exit()]).unwrap();
        let expected = "LD_ABS is not allowed in subprogs without BTF";
        assert_eq!(message(check_abnormal_return(&subprogs)), expected);
        let subprogs = find(&[ld_abs, helper(HelperId::TailCall as i32), exit()]).unwrap();
        assert_eq!(message(check_abnormal_return(&subprogs)), "accepted");
    }
}
