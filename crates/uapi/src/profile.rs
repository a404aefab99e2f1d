//! A kernel version as data: what differs between kernels is a field here, never a version test in
//! the verifier.

use crate::ctx::CtxFields;
use crate::since::Insns;
use crate::words::Words;
use crate::{Behaviours, limits};

/// The rules of one kernel version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelProfile {
    /// For people: `6.18`.
    pub name: &'static str,
    /// Largest number of insns of a privileged program, and of processed insns.
    pub insns_max: u32,
    /// Most insns of an unprivileged program.
    pub insns_unpriv_max: u32,
    /// Largest number of pending branches.
    pub jmp_seq_max: u32,
    /// States saved for one insn of an unprivileged program.
    pub states_unpriv_max: u32,
    /// Most functions of a program.
    pub subprogs_max: usize,
    /// Most maps of a program.
    pub used_maps_max: usize,
    /// Rules that not every kernel has.
    pub behaviours: Behaviours,
    /// The first helper number that the kernel does not have.
    pub helpers_end: u32,
    /// The first attach type that the kernel does not have.
    pub attach_end: u32,
    /// Fields of contexts that not every kernel has.
    pub ctx_fields: CtxFields,
    /// Insns that not every kernel has.
    pub insns: Insns,
    /// Texts that are not every kernel's.
    pub words: Words,
}

impl KernelProfile {
    /// Linux 6.18, the reference.
    pub const fn v6_18() -> KernelProfile {
        KernelProfile {
            name: "6.18",
            insns_max: limits::BPF_COMPLEXITY_LIMIT_INSNS,
            insns_unpriv_max: limits::BPF_MAXINSNS,
            jmp_seq_max: limits::BPF_COMPLEXITY_LIMIT_JMP_SEQ,
            states_unpriv_max: limits::BPF_COMPLEXITY_LIMIT_STATES,
            subprogs_max: limits::BPF_MAX_SUBPROGS,
            used_maps_max: limits::MAX_USED_MAPS,
            behaviours: Behaviours::reference(),
            helpers_end: u32::MAX,
            attach_end: u32::MAX,
            ctx_fields: CtxFields::all(),
            insns: Insns::all(),
            words: Words::reference(),
        }
    }
}
