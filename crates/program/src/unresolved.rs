//! What the loader could not resolve in a program that it loads all the same.
//!
//! libbpf writes a call of a helper that no kernel has where a CO-RE relocation fails, a weak kfunc
//! is absent, or a map is not created: the program is refused only if the insn can be reached. Here
//! stands what the insn would have been.

use skep_insn::InsnIdx;
use std::fmt;

/// Which kind of reference is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Missing {
    /// A CO-RE relocation: the kernel's types have no answer.
    Core,
    /// A weak kfunc.
    Kfunc,
    /// A map that is not created.
    Map,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Missing::Core => "core",
            Missing::Kfunc => "kfunc",
            Missing::Map => "map",
        })
    }
}

/// An insn that stands for a reference which could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The insn; both halves of a `ld_imm64` have one.
    pub insn: InsnIdx,
    /// What it would have referred to.
    pub missing: Missing,
    /// One line: what was asked for, and what is there instead.
    pub what: String,
}
