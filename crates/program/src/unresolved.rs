//! References that the loader could not resolve in a program that it loads nevertheless.
//!
//! libbpf writes a call of a helper that no kernel has if a CO-RE relocation fails, a weak kfunc is
//! absent, or a map is not created: the program is rejected only if the insn is reachable. This
//! records what the insn would have been.

use skep_insn::InsnIdx;
use std::fmt;

/// The kind of missing reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Missing {
    /// A CO-RE relocation that failed.
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

/// An insn that replaces an unresolved reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The insn; both halves of a `ld_imm64` have one.
    pub insn: InsnIdx,
    /// What it would have referred to.
    pub missing: Missing,
    /// One line: what it asks for, and what exists instead.
    pub what: String,
}
