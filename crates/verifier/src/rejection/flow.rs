//! Errors in control flow: jumps, loops, exits, limits.

use super::row::{CallChain, KnownRange, Name, Regno, Unreleased, Word, kinds};
use super::variant::OtherRule;
use crate::state::reg_type::RegType;

kinds! {
    /// An error in control flow.
    FlowFault {
        // Control flow.
        NoInsns { n: usize, max: u32 } "program-length"
            "program of {n} insns, allowed are 1 to {max}";
        JumpOutOfRange { from: usize, to: i64 } "jump-out-of-range"
            "jump out of range from insn {from} to {to}";
        BackEdge { from: usize, target: usize } "back-edge"
            "back-edge from insn {from} to {target}";
        Unreachable { idx: usize } "unreachable-insn"
            "unreachable insn {idx}";
        IntoLdImm64 { idx: usize } "jump-into-wide-constant"
            "jump into the middle of ldimm64 insn {idx}";
        FallsThrough "function-falls-through"
            "last insn is not an exit or jmp";
        CallTarget "call-target"
            "call to invalid destination";
        TooManySubprogs "too-many-functions"
            "too many subprograms";
        CallsUnprivileged "call-unprivileged"
            "loading/calling other bpf or kernel functions are allowed for \
             CAP_BPF and CAP_SYS_ADMIN";
        NeedsFuncBtf { what: Word } "early-end-needs-function-info"
            "{what} is not allowed in subprogs without BTF";
        InsnIdx { insn_idx: i32, n: usize } "insn-out-of-program"
            "invalid insn idx {insn_idx} insn_cnt {n}";

        // Stack depth.
        TailCallStack { bytes: u32, chain: CallChain } "stack-too-large-for-tail-call"
            "tail_calls are not allowed when call stack of previous frames is {bytes} bytes. \
             Too large";
        SubprogStack { subprog: usize, depth: u32, chain: CallChain } "function-stack-too-large"
            "stack size of subprog {subprog} is {depth}. Too large";
        CombinedStack { calls: usize, bytes: u32, chain: CallChain } "combined-stack-too-large"
            "combined stack size of {calls} calls is {bytes}. Too large";
        TooDeep { frames: usize, chain: CallChain } "calls-too-deep"
            "the call stack of {frames} frames is too deep !";

        // Rules that 6.18 does not have.
        Recursion { from: Name, to: Name } "recursive-call"
            "";
        JumpsNotCompiled "jumps-not-compiled"
            "";
        OtherRule { rule: OtherRule } "rule-of-another-kernel"
            "{rule}";

        // Limits of the walk.
        TooManyInsns { n: u32 } "too-many-insns"
            "BPF program is too large. Processed {n} insn";
        TooManyJumps { len: usize } "too-many-jumps"
            "The sequence of {len} jumps is too complex.";
        InfiniteLoop { insn_idx: u32 } "infinite-loop"
            "infinite loop detected at insn {insn_idx}";
        SccExit { chain: Name } "loop-without-visit"
            "verifier bug: scc exit: no visit info for call chain {chain}";
        LoopOutside { insn_idx: u32 } "loop-not-found"
            "verifier bug: add backedge: no SCC in verification path, insn_idx {insn_idx}";

        // References and return values.
        Leak { unreleased: Unreleased, what: Word } "leaked-reference"
            "{unreleased}{what} would lead to reference leak";
        EndUnderLock { what: Word } "end-under-lock"
            "{what} cannot be used inside bpf_spin_lock-ed region";
        EndInRegion { what: Word, region: Word, open: u32, are: Word } "end-inside-section"
            "{what} cannot be used inside {region} region";
        ReturnsStack "stack-pointer-returned"
            "cannot return stack pointer to the caller";
        CallbackResult { regno: Regno } "callback-result-not-a-number"
            "R{regno} not a scalar value";
        ResultLeaksAddr { regno: Regno } "returned-pointer-leaks"
            "R{regno} leaks addr as return value";
        SubprogResult { regno: Regno, ty: RegType } "function-result-not-a-number"
            "At subprogram exit the register R{regno} is not a scalar value ({ty})";
        UnknownResult { when: Word, regno: Regno, ty: RegType } "result-not-a-number"
            "{when} the register R{regno} is not a known value ({ty})";
        ResultRange { when: Word, regno: Regno, known: KnownRange, min: i32, max: i32, bits: Name, allowed: Name } "result-out-of-range"
            "{when} the register R{regno} has{known} should have been in [{min}, {max}]";
    }
}
