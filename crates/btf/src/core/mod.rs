//! CO-RE: fitting insns to the types of the kernel they will run on.

use crate::{Btf, CoreRelo, Error};
use skep_insn::Insn;

/// What a relocation asks for; the numbers are those of `enum bpf_core_relo_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum ReloKind {
    FieldByteOffset = 0,
    FieldByteSize = 1,
    FieldExists = 2,
    FieldSigned = 3,
    FieldLshiftU64 = 4,
    FieldRshiftU64 = 5,
    TypeIdLocal = 6,
    TypeIdTarget = 7,
    TypeExists = 8,
    TypeSize = 9,
    EnumvalExists = 10,
    EnumvalValue = 11,
    TypeMatches = 12,
}

/// What came of a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreOutcome {
    /// The insn was changed from the one value to the other.
    Patched {
        /// What the compiler put there.
        from: u64,
        /// What is there now.
        to: u64,
    },
    /// Nothing in the target fits: the insn is now an invalid call, refused if it can be reached.
    Poisoned,
}

/// Applies one relocation to `insns[insn_idx]`.
///
/// `insns` is the ELF section or program that the relocation is about and `insn_idx` the slot in it
/// (`relo.insn_off / 8` for a whole section). `targets` are the BTFs to search: the kernel's first,
/// then modules'; none at all resolves local kinds only.
pub fn relocate(
    insns: &mut [Insn],
    insn_idx: usize,
    relo: &CoreRelo,
    btfs: (&Btf, &[&Btf]),
) -> Result<CoreOutcome, Error> {
    let _ = (insns, insn_idx, relo, btfs);
    Err(Error::new("CO-RE is not supported yet"))
}
