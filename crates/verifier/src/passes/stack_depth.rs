//! Limits the stack of every call chain, after the walk has found the depth of each subprog.
//!
//! The chains are all those that the insns allow, dead or not: from the main subprog, and from each
//! callback that runs later on its own stack.
//!
//! # Invariants
//!
//! 1. `bytes` is the sum of the rounded depths of the subprogs in `frames` and of the current
//!    one, without those that have a private stack.
//! 2. `frames` holds the callers only, fewer than [`MAX_CALL_FRAMES`].
//!
//! Kernel: `check_max_stack_depth`, `check_max_stack_depth_subprog`, 6.18. The kernel follows every
//! chain; here a subprog that is entered again under the same conditions is not searched again,
//! because a few hundred insns could otherwise take years.

use super::PassReject;
use super::call_facts::{Callees, callee_start, is_kfunc_call, is_pseudo_call, is_pseudo_func};
use super::subprogs::Subprogs;
use crate::rejection::{CallChain, ChainFrame, FlowFault, FuncFault, OtherRule};
use rustc_hash::FxHashSet;
use skep_insn::Insn;
use skep_uapi::errno;
use skep_uapi::limits::{MAX_BPF_STACK_BYTES, MAX_CALL_FRAMES, MAX_TAIL_CALL_STACK_BYTES};

/// If private stacks are allowed, subprogs that use at least this much get one.
const BPF_PRIV_STACK_MIN_SIZE: u32 = 64;
/// A subprog with a tail call may be entered only with less than this on the stack.
const MAX_STACK_BEFORE_TAIL_CALL: u32 = MAX_TAIL_CALL_STACK_BYTES;

/// Results of the walk for a subprog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SubprogStack {
    /// Bytes of stack used.
    pub(crate) depth: u16,
    /// Its address was passed as a callback.
    pub(crate) is_cb: bool,
    /// It is called back later, on another stack (or when an exception is thrown).
    pub(crate) is_async_cb: bool,
    /// Calls of it do not count towards the limit of frames.
    pub(crate) is_uncounted: bool,
}

/// What determines the stack layout, apart from the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackRules {
    /// Whether the program is compiled: frames are rounded to 16 bytes, otherwise to 32.
    pub(crate) jit_requested: bool,
    /// The JIT supports private stacks, and this program type (kprobe, tracepoint, perf event, raw
    /// tracepoint, and those attached through a trampoline that may recur) gets them.
    pub(crate) private_stack: bool,
    /// Maximum number of functions in a chain.
    pub(crate) frames_max: usize,
    /// Functions that callbacks call may not tail call.
    pub(crate) no_tail_calls_in_callbacks: bool,
    /// Nor load from packets by legacy insns.
    pub(crate) no_packet_loads_in_callbacks: bool,
    /// Callbacks that run later are measured, too.
    pub(crate) later_callbacks_measured: bool,
    /// Where such a callback is called directly, its stack adds to that of its caller.
    pub(crate) called_callbacks_measured: bool,
}

/// The stack of a subprog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StackMode {
    Undecided,
    /// On the stack of the caller of the program.
    Shared,
    Private,
}

/// Checks all call chains; on success, returns from which subprogs a tail call is reachable.
pub(crate) fn check_max_stack_depth<C: Callees>(
    insns: &[Insn],
    subprogs: &Subprogs,
    callees: &C,
    stacks: &[SubprogStack],
    rules: StackRules,
) -> Result<Vec<bool>, PassReject> {
    let any_tail_call = subprogs.flags.iter().any(|flags| flags.has_tail_call);
    let private_allowed = rules.private_stack && !any_tail_call;
    let mut check = Check {
        insns,
        subprogs,
        callees,
        stacks,
        rounding: if rules.jit_requested { 16 } else { 32 },
        modes: vec![StackMode::Undecided; subprogs.count()],
        frames_max: rules.frames_max,
        no_tail_calls_in_callbacks: rules.no_tail_calls_in_callbacks,
        no_packet_loads_in_callbacks: rules.no_packet_loads_in_callbacks,
        called_callbacks_measured: rules.called_callbacks_measured,
        tail_call_reachable: subprogs.flags.iter().map(|flags| flags.has_tail_call).collect(),
    };
    // Callbacks that run later use the stack of the context that they interrupt. They come first,
    // so that a subprog shared with the main program is known to be shared.
    for root in (0..subprogs.count()).rev() {
        if root == 0 || stacks[root].is_async_cb && rules.later_callbacks_measured {
            check.chains_from(root, private_allowed && root == 0)?;
        }
    }
    Ok(check.tail_call_reachable)
}

struct Check<'a, C> {
    insns: &'a [Insn],
    subprogs: &'a Subprogs,
    callees: &'a C,
    stacks: &'a [SubprogStack],
    rounding: u32,
    modes: Vec<StackMode>,
    frames_max: usize,
    no_tail_calls_in_callbacks: bool,
    no_packet_loads_in_callbacks: bool,
    called_callbacks_measured: bool,
    tail_call_reachable: Vec<bool>,
}

/// A call chain, and the position in its last subprog.
struct Chain {
    /// Callers: subprog, and the insn to continue with.
    frames: Vec<(usize, usize)>,
    subprog: usize,
    idx: usize,
    bytes: u32,
    private_allowed: bool,
    /// A subprog with a tail call has been entered since the root.
    met_tail_call: bool,
    /// The entries of subprogs so far: the same entry again finds nothing new.
    entered: FxHashSet<Entry>,
}

/// Everything that determines the result below a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    callee: usize,
    frames: usize,
    bytes: u32,
    below_callback: bool,
    met_tail_call: bool,
}

/// The callee of an insn.
enum Callee {
    None,
    Enter(usize),
}

impl<C: Callees> Check<'_, C> {
    fn chains_from(&mut self, root: usize, private_allowed: bool) -> Result<(), PassReject> {
        let mut chain = Chain {
            frames: Vec::with_capacity(MAX_CALL_FRAMES),
            subprog: root,
            idx: self.subprogs.start(root) as usize,
            bytes: 0,
            private_allowed,
            met_tail_call: false,
            entered: FxHashSet::default(),
        };
        self.enter(&mut chain)?;
        loop {
            if chain.idx < self.subprogs.end(chain.subprog) as usize {
                match self.callee_at(&chain)? {
                    Callee::None => chain.idx += 1,
                    Callee::Enter(callee) => self.call(&mut chain, callee)?,
                }
                continue;
            }
            self.note_tail_calls(&chain)?;
            if self.modes[chain.subprog] != StackMode::Private {
                chain.bytes -= self.rounded_depth(chain.subprog);
            }
            let Some((caller, next)) = chain.frames.pop() else {
                return Ok(());
            };
            (chain.subprog, chain.idx) = (caller, next);
        }
    }

    fn rounded_depth(&self, subprog: usize) -> u32 {
        let depth = u32::from(self.stacks[subprog].depth);
        // Without a JIT even an empty frame takes one unit.
        let least = if self.rounding == 32 { 1 } else { 0 };
        depth.max(least).next_multiple_of(self.rounding)
    }

    /// The functions of a chain, for explanations.
    fn calls(&self, chain: &Chain) -> CallChain {
        let frame = |subprog: usize, call: Option<u32>| ChainFrame {
            start: self.subprogs.start(subprog),
            call,
            stack_bytes: match self.modes[subprog] {
                StackMode::Private => 0,
                StackMode::Undecided | StackMode::Shared => self.rounded_depth(subprog),
            },
        };
        let callers =
            chain.frames.iter().map(|&(subprog, next)| frame(subprog, Some(next as u32 - 1)));
        CallChain(callers.chain([frame(chain.subprog, None)]).collect())
    }

    fn refuse(&self, chain: &Chain, errno: i32, kind: FlowFault) -> PassReject {
        PassReject::at(self.subprogs.start(chain.subprog) as usize, errno, kind)
    }

    /// Adds the frame of `chain.subprog`, which is entered now.
    fn enter(&mut self, chain: &mut Chain) -> Result<(), PassReject> {
        let subprog = chain.subprog;
        if !chain.private_allowed {
            self.modes[subprog] = StackMode::Shared;
        }
        let loads_packet = self.subprogs.flags[subprog].has_ld_abs;
        if loads_packet && self.no_packet_loads_in_callbacks && self.is_below_callback(chain) {
            let at = self.subprogs.start(subprog) as usize;
            return Err(PassReject::at(at, errno::EINVAL, OtherRule::PacketLoadInCallback));
        }
        let has_tail_call = self.subprogs.flags[subprog].has_tail_call;
        if subprog != 0 && has_tail_call && chain.bytes >= MAX_STACK_BEFORE_TAIL_CALL {
            let kind = FlowFault::TailCallStack { bytes: chain.bytes, chain: self.calls(chain) };
            return Err(self.refuse(chain, errno::EACCES, kind));
        }
        let depth = self.rounded_depth(subprog);
        if self.modes[subprog] == StackMode::Undecided && depth >= BPF_PRIV_STACK_MIN_SIZE {
            self.modes[subprog] = StackMode::Private;
        }
        if self.modes[subprog] == StackMode::Private {
            if depth > MAX_BPF_STACK_BYTES {
                let kind = FlowFault::SubprogStack { subprog, depth, chain: self.calls(chain) };
                return Err(self.refuse(chain, errno::EACCES, kind));
            }
            return Ok(());
        }
        chain.bytes += depth;
        if chain.bytes > MAX_BPF_STACK_BYTES {
            let calls = chain.frames.len() + 1;
            let bytes = chain.bytes;
            let kind = FlowFault::CombinedStack { calls, bytes, chain: self.calls(chain) };
            return Err(self.refuse(chain, errno::EACCES, kind));
        }
        Ok(())
    }

    /// The subprog called by the insn at `chain.idx`, on this stack.
    fn callee_at(&self, chain: &Chain) -> Result<Callee, PassReject> {
        let insn = &self.insns[chain.idx];
        if is_kfunc_call(insn) && insn.off == 0 {
            return self.check_throw(chain).map(|()| Callee::None);
        }
        let is_direct = is_pseudo_call(insn);
        if !is_direct && !is_pseudo_func(insn) {
            return Ok(Callee::None);
        }
        let Some(callee) = self.subprogs.starting_at(callee_start(chain.idx, insn)) else {
            return Ok(Callee::None);
        };
        if self.stacks[callee].is_async_cb {
            if !is_direct || !self.called_callbacks_measured {
                return Ok(Callee::None);
            }
            if self.subprogs.flags[callee].is_exception_cb {
                let kind = FuncFault::ExceptionCbCalled { idx: chain.idx };
                let refusal = PassReject::at(chain.idx, errno::EINVAL, kind);
                return Err(PassReject { open_line: true, ..refusal });
            }
        }
        Ok(Callee::Enter(callee))
    }

    /// An exception must not be thrown across the caller of a callback.
    fn check_throw(&self, chain: &Chain) -> Result<(), PassReject> {
        if !self.callees.kfunc(&self.insns[chain.idx]).throws {
            return Ok(());
        }
        if !self.is_below_callback(chain) {
            return Ok(());
        }
        let (idx, subprog) = (chain.idx, chain.subprog);
        Err(PassReject::at(idx, errno::EINVAL, FuncFault::ThrowFromCallback { idx, subprog }))
    }

    /// Whether some active subprog is a callback.
    fn is_below_callback(&self, chain: &Chain) -> bool {
        let callers = chain.frames.iter().map(|&(subprog, _)| subprog);
        callers.chain([chain.subprog]).any(|subprog| self.stacks[subprog].is_cb)
    }

    fn call(&mut self, chain: &mut Chain, callee: usize) -> Result<(), PassReject> {
        let call_idx = chain.idx;
        let entry = Entry {
            callee,
            frames: chain.frames.len(),
            bytes: chain.bytes,
            below_callback: self.is_below_callback(chain),
            met_tail_call: chain.met_tail_call,
        };
        chain.frames.push((chain.subprog, call_idx + 1));
        chain.subprog = callee;
        chain.idx = self.subprogs.start(callee) as usize;
        chain.met_tail_call |= self.subprogs.flags[callee].has_tail_call;
        if !chain.entered.insert(entry) {
            // Skip it: only its callers may differ from before.
            self.note_tail_calls(chain)?;
            if let Some((caller, next)) = chain.frames.pop() {
                (chain.subprog, chain.idx) = (caller, next);
            }
            return Ok(());
        }
        let callees = chain.frames.iter().skip(1).map(|frame| frame.0).chain([callee]);
        let frames = callees.filter(|&subprog| !self.stacks[subprog].is_uncounted).count();
        // A chain with more calls that do not count than there are functions has no end.
        let calls_max = self.frames_max + self.subprogs.count();
        if frames >= self.frames_max || chain.frames.len() > calls_max {
            let kind = FlowFault::TooDeep { frames, chain: self.calls(chain) };
            return Err(PassReject::at(call_idx, errno::E2BIG, kind));
        }
        self.enter(chain)
    }

    /// All callers of a subprog with a tail call must preserve the tail call counter.
    fn note_tail_calls(&mut self, chain: &Chain) -> Result<(), PassReject> {
        if !chain.met_tail_call {
            return Ok(());
        }
        for &(caller, _) in &chain.frames {
            if self.subprogs.flags[caller].is_exception_cb {
                let at = self.subprogs.start(chain.subprog) as usize;
                let kind = FuncFault::TailCallInExceptionCb;
                return Err(PassReject::at(at, errno::EINVAL, kind));
            }
            if self.no_tail_calls_in_callbacks && self.stacks[caller].is_cb {
                let at = self.subprogs.start(chain.subprog) as usize;
                let kind = FuncFault::TailCallInCallback;
                return Err(PassReject::at(at, errno::EINVAL, kind));
            }
            self.tail_call_reachable[caller] = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::program_fixture::*;
    use super::*;
    use skep_uapi::helper::HelperId;

    const SHARED: StackRules = StackRules {
        jit_requested: true,
        private_stack: false,
        frames_max: MAX_CALL_FRAMES,
        no_tail_calls_in_callbacks: false,
        no_packet_loads_in_callbacks: false,
        later_callbacks_measured: true,
        called_callbacks_measured: true,
    };
    const PRIVATE: StackRules = StackRules { private_stack: true, ..SHARED };
    const TAIL_CALL: i32 = HelperId::TailCall as i32;

    /// Subprogs of these depths, each calling the next; the last one may tail call.
    fn chain(depths: &[u16], tail_call: bool, rules: StackRules) -> String {
        let last = depths.len() - 1;
        let mut insns = Vec::new();
        for subprog in 0..=last {
            let middle = if subprog < last { call(1) } else { mov(0, 0) };
            let is_tail = tail_call && subprog == last;
            insns.extend([if is_tail { helper(TAIL_CALL) } else { middle }, exit()]);
        }
        let subprogs = subprogs_of(&insns);
        let stack = |&depth| SubprogStack { depth, ..SubprogStack::default() };
        let stacks: Vec<_> = depths.iter().map(stack).collect();
        message(check_max_stack_depth(&insns, &subprogs, &SocketFilter, &stacks, rules))
    }

    /// Twelve functions without a stack: none but the first and the last are counted.
    #[test]
    fn uncounted_calls_do_not_deepen_a_chain() {
        let mut insns: Vec<_> = (0..11).flat_map(|_| [call(1), exit()]).collect();
        insns.extend([mov(0, 0), exit()]);
        let subprogs = subprogs_of(&insns);
        let mut stacks = vec![SubprogStack::default(); 12];
        let judged = |stacks: &[SubprogStack]| {
            message(check_max_stack_depth(&insns, &subprogs, &SocketFilter, stacks, SHARED))
        };
        assert_eq!(judged(&stacks), "the call stack of 8 frames is too deep !");
        stacks[1..11].iter_mut().for_each(|stack| stack.is_uncounted = true);
        assert_eq!(judged(&stacks), "accepted");
    }

    /// A function that calls itself, and is not counted.
    #[test]
    fn endless_chains_end() {
        let insns = [call(1), exit(), call(-1), exit()];
        let subprogs = subprogs_of(&insns);
        let mut stacks = vec![SubprogStack::default(); 2];
        stacks[1].is_uncounted = true;
        let got = check_max_stack_depth(&insns, &subprogs, &SocketFilter, &stacks, SHARED);
        assert!(message(got).contains("is too deep"), "no end");
    }

    #[test]
    fn sums_of_rounded_depths() {
        assert_eq!(chain(&[256, 256], false, SHARED), "accepted");
        assert_eq!(chain(&[504, 0], false, SHARED), "accepted");
        assert_eq!(chain(&[64; 8], false, SHARED), "accepted");
        let table = [
            (chain(&[264, 256], false, SHARED), (2, 528)),
            (chain(&[256, 264], false, SHARED), (2, 528)),
            (chain(&[512, 64], false, SHARED), (2, 576)),
            (chain(&[72; 8], false, SHARED), (7, 560)),
        ];
        for (got, (calls, bytes)) in table {
            let expected = format!("combined stack size of {calls} calls is {bytes}. Too large");
            assert_eq!(got, expected);
        }
    }

    /// The callback of a timer, called directly.
    #[test]
    fn called_callbacks_add_up_if_they_are_measured() {
        let insns = [call(1), exit(), mov(0, 0), exit()];
        let subprogs = subprogs_of(&insns);
        let stack = |is_async_cb| SubprogStack { depth: 320, is_async_cb, ..Default::default() };
        let judged = |called_callbacks_measured| {
            let rules = StackRules { called_callbacks_measured, ..SHARED };
            let stacks = [stack(false), stack(true)];
            message(check_max_stack_depth(&insns, &subprogs, &SocketFilter, &stacks, rules))
        };
        assert_eq!(judged(true), "combined stack size of 2 calls is 640. Too large");
        assert_eq!(judged(false), "accepted");
    }

    #[test]
    fn private_stacks_do_not_add_up() {
        assert_eq!(chain(&[512, 512], false, PRIVATE), "accepted");
        assert_eq!(chain(&[80, 80, 80, 80, 80, 80, 80, 8], false, PRIVATE), "accepted");
    }

    #[test]
    fn frames_are_limited_even_where_the_call_is_dead() {
        let insns = [mov(0, 0), jeq(0, 0, 1), call(-3), exit()];
        let subprogs = subprogs_of(&insns);
        let stacks = [SubprogStack::default()];
        let got = check_max_stack_depth(&insns, &subprogs, &SocketFilter, &stacks, SHARED);
        assert_eq!(message(got), "the call stack of 8 frames is too deep !");
        assert_eq!(chain(&[8, 0, 0, 0, 0, 0, 0, 8], false, SHARED), "accepted");
    }

    #[test]
    fn tail_calls_need_a_small_stack_below() {
        let large = |bytes| {
            format!(
                "tail_calls are not allowed when call stack of previous frames is {bytes} bytes. \
                 Too large"
            )
        };
        for rules in [SHARED, PRIVATE] {
            assert_eq!(chain(&[248, 0], true, rules), large(256));
            assert_eq!(chain(&[240, 8, 0], true, rules), large(256));
            assert_eq!(chain(&[248, 8, 0], true, rules), large(272));
            assert_eq!(chain(&[504], true, rules), "accepted");
            assert_eq!(chain(&[240, 272], true, rules), "accepted");
        }
    }

    #[test]
    fn a_tail_call_anywhere_forbids_private_stacks() {
        let insns = [helper(TAIL_CALL), call(1), exit(), mov(0, 0), exit()];
        let subprogs = subprogs_of(&insns);
        let stacks = [SubprogStack { depth: 304, ..SubprogStack::default() }; 2];
        let got = check_max_stack_depth(&insns, &subprogs, &SocketFilter, &stacks, PRIVATE);
        assert_eq!(message(got), "combined stack size of 2 calls is 608. Too large");
    }

    /// 100 calls at each of 7 levels: 10^14 chains.
    #[test]
    fn many_chains_are_few_entries() {
        let mut insns = Vec::new();
        for level in 0..8 {
            for left in (1..=100).rev() {
                insns.push(if level < 7 { call(left) } else { mov(0, 0) });
            }
            insns.push(exit());
        }
        let subprogs = subprogs_of(&insns);
        let stacks = [SubprogStack { depth: 64, ..SubprogStack::default() }; 8];
        let got = check_max_stack_depth(&insns, &subprogs, &SocketFilter, &stacks, SHARED);
        assert_eq!(message(got), "accepted");
    }
}
