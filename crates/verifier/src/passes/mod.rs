//! The passes over the whole program, before and after the walk.
//!
//! Each is a pure function of the insns and of the results of earlier passes; none of them uses the
//! states of the walk. They run in the order of `bpf_check`: [`subprogs`], [`reserved`],
//! [`cfg`], [`postorder`], [`scc`], [`live_regs`], [`fastcall`], then the walk (which feeds
//! [`live_stack`]), then [`stack_depth`].
//!
//! Kernel: `bpf_check`, 6.18.

pub(crate) mod call_facts;
pub(crate) mod cfg;
pub(crate) mod const_regs;
pub(crate) mod dead_func;
pub(crate) mod exception_cb;
pub(crate) mod fastcall;
pub(crate) mod final_depth;
pub(crate) mod live_regs;
pub(crate) mod live_stack;
pub(crate) mod postorder;
#[cfg(test)]
mod program_fixture;
pub(crate) mod prototypes;
pub(crate) mod recursion;
pub(crate) mod reserved;
pub(crate) mod scc;
pub(crate) mod stack_depth;
pub(crate) mod stack_use;
pub(crate) mod subprogs;
pub(crate) mod worklist;

use crate::rejection::RejectKind;
use skep_insn::InsnIdx;

/// A program refused by a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PassReject {
    /// The insn that the refusal is about, if any.
    pub(crate) insn_idx: Option<InsnIdx>,
    /// Positive errno.
    pub(crate) errno: i32,
    /// What is wrong.
    pub(crate) kind: Box<RejectKind>,
    /// Insns whose source line the kernel prints before the message, each with the prefix
    /// `<insn>: ` (it prints nothing for a program without line info).
    pub(crate) source_lines: Vec<InsnIdx>,
    /// The kernel does not end the line that it writes to its log.
    pub(crate) open_line: bool,
}

impl PassReject {
    /// A refusal at `insn_idx` without source lines.
    pub(crate) fn at(insn_idx: usize, errno: i32, kind: impl Into<RejectKind>) -> PassReject {
        PassReject {
            insn_idx: Some(InsnIdx(insn_idx as u32)),
            errno,
            kind: Box::new(kind.into()),
            source_lines: Vec::new(),
            open_line: false,
        }
    }

    /// The same refusal, after the source lines of `insns`.
    pub(crate) fn with_source(mut self, insns: &[u32]) -> PassReject {
        self.source_lines = insns.iter().map(|&i| InsnIdx(i)).collect();
        self
    }
}
