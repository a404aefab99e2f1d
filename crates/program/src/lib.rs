//! A program as passed to BPF_PROG_LOAD: relocated insns, subprogs, map references, BTF, line info.
//!
//! `skep-object` creates programs from ELF files, test suites from text; the verifier reads nothing
//! else.

#![forbid(unsafe_code)]

mod debug_info;
mod map_def;
mod program;
mod source_place;
mod tag;
mod unresolved;

pub use debug_info::{FuncInfo, LineInfo, UnloadedInfo};
pub use map_def::{MapDef, MapIdx, MapSlot, Pinning, SlotTarget};
pub use program::{AttachTarget, Program, TargetFunction};
pub use skep_btf::Btf;
pub use source_place::SourcePlace;
pub use unresolved::{Missing, Unresolved};
