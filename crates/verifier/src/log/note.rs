//! Notes: what only readers of the kernel's log see, as data. Checks record what happened, and the
//! text is produced here.
//!
//! Insns, states and refusals are events of the trace; notes are printed between their lines.

use crate::explore::scc_visits::CallChain;
use crate::passes::final_depth::stack_depth_text;
use crate::passes::subprogs::Subprogs;
use crate::precision::backtrack_state::{RegMask, SlotMask};
use crate::stats::VerifierStats;
use std::fmt;

/// Defines the notes: `Variant { operand: type } "text";`.
macro_rules! notes {
    ($(#[$doc:meta])* $notes:ident<$life:lifetime> { $(
        $note:ident $({ $($operand:ident: $ty:ty),* $(,)? })? $text:literal;
    )* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) enum $notes<$life> { $($note $({ $($operand: $ty),* })?,)* }

        impl fmt::Display for $notes<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Self::$note $({ $($operand),* })? => write!(f, $text),)* }
            }
        }
    };
}

notes! {
    /// A note in the log. Those without a final newline begin the line of a state.
    Note<'a> {
        // Before the walk, and after it.
        Functions { functions: FunctionList<'a> } "{functions}";
        LiveRegisters { listing: &'a str } "{listing}";
        StackDepths { depths: DepthList<'a> } "{depths}";
        Totals { totals: Totals<'a> } "{totals}";

        // Functions and their calls.
        Validating { name: &'a str, subprog: usize } "Validating {name}() func#{subprog}...\n";
        SafeForAll { name: &'a str, subprog: usize }
            "Func#{subprog} ('{name}') is safe for any args that match its prototype\n";
        AssumedValid { name: &'a str, subprog: u32 }
            "Func#{subprog} ('{name}') is global and assumed valid.\n";
        Caller "caller:\n";
        Callee "callee:\n";
        ReturningFrom "returning from callee:\n";
        ReturningTo { next: u32 } "to caller at {next}:\n";
        LastRound { frame: u32 } "frame{frame} bpf_loop iteration limit reached\n";

        // Loops.
        StackLiveness { listing: &'a str } "{listing}";
        ComponentEntered { chain: &'a CallChain } "SCC enter {chain}\n";
        ComponentLeft { chain: &'a CallChain } "SCC exit {chain}\n";
        ComponentBackedge { chain: &'a CallChain } "SCC backedge {chain}\n";
        TooManyRounds "propagate_backedges: too many iterations\n";
        CurrentState "cur state:";
        OldState "old state:";

        // Precision.
        Backtracks { frame: usize, last: i64, first: i64, subseq: i64 }
            "mark_precise: frame{frame}: last_idx {last} first_idx {first} subseq_idx {subseq} \n";
        BacktracksOver { frame: usize, tracked: Tracked, idx: u32, insn: &'a str }
            "mark_precise: frame{frame}: {tracked} before {idx}: {insn}\n";
        BacktracksInto { frame: usize, tracked: Tracked }
            "mark_precise: frame{frame}: parent state {tracked}: ";
        FallsBack { frame: u32 }
            "mark_precise: frame{frame}: falling back to forcing all scalars precise\n";
        Forced { frame: usize, place: Marked } "force_precise: frame{frame}: forcing {place} to be precise\n";
        Propagated { frame: usize, place: Marked } "frame {frame}: propagating {place}";
        PropagatedToo { place: Marked } ",{place}";
        LineEnds "\n";

        // What a refusal does not say, or what did not lead to one.
        Overruled { fault: &'a dyn fmt::Display } "{fault}\n";
        ResultHasNoEffect
            "Note, BPF_LSM_CGROUP that attach to void LSM hooks can't modify return value!\n";
        NestedTooDeep "max struct nesting depth exceeded\n";
        ArgumentOffset { name: &'a str, off: i32 } "func '{name}' offset {off} is not multiple of 8\n";
        NoArgument { name: &'a str, nth: usize } "func '{name}' doesn't have {nth}-th argument\n";
        ArgumentKind { name: &'a str, arg: usize, of: &'a str, kind: &'a str }
            "func '{name}' arg{arg} '{of}' has type {kind}. Only pointer access is allowed\n";
        ArgumentSize { name: &'a str, size: i32 } "func '{name}' size {size} must be 8\n";
        ArgumentNoStruct { name: &'a str, arg: usize, kind: &'a str }
            "func '{name}' arg{arg} type {kind} is not a struct\n";
        ArgumentType { name: &'a str, arg: usize, id: u32, kind: &'a str, of: &'a str }
            "func '{name}' arg{arg} has btf_id {id} type {kind} '{of}'\n";
    }
}

/// The functions of a program.
#[derive(Clone, Copy)]
pub(crate) struct FunctionList<'a>(pub(crate) &'a Subprogs);

impl fmt::Display for FunctionList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.log_text())
    }
}

/// The stack depth of each function.
#[derive(Clone, Copy)]
pub(crate) struct DepthList<'a>(pub(crate) &'a [u16]);

impl fmt::Display for DepthList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&stack_depth_text(self.0))
    }
}

/// The last line of the log.
#[derive(Clone, Copy)]
pub(crate) struct Totals<'a>(pub(crate) &'a VerifierStats);

impl fmt::Display for Totals<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.0;
        write!(f, "processed {} insns (limit {}) ", s.insns_processed, s.insns_limit)?;
        write!(f, "max_states_per_insn {} ", s.max_states_per_insn)?;
        write!(f, "total_states {} peak_states {} ", s.total_states, s.peak_states)?;
        writeln!(f, "mark_read {}", s.mark_read)
    }
}

/// The registers and slots of a frame whose precision is tracked.
#[derive(Clone, Copy)]
pub(crate) struct Tracked {
    pub(crate) regs: u16,
    pub(crate) slots: u64,
}

impl fmt::Display for Tracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "regs={} stack={}", RegMask(self.regs), SlotMask(self.slots))
    }
}

/// A register or slot.
#[derive(Clone, Copy)]
pub(crate) enum Marked {
    Reg(usize),
    Slot(usize),
}

impl fmt::Display for Marked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Marked::Reg(regno) => write!(f, "r{regno}"),
            Marked::Slot(spi) => write!(f, "fp{}", -8 * (*spi as i32 + 1)),
        }
    }
}
