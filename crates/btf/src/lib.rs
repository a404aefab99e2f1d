//! BTF and BTF.ext: types, layout, printing, line info, CO-RE relocation.
//!
//! Reading order: [`Btf`] (parsed once, shared as `Arc<Btf>`) gives [`Type`] views; `layout`,
//! `access` and `fields` compute their properties; [`BtfBuilder`] builds and edits BTF; [`BtfExt`]
//! is the companion section; [`core`] relocates insns from one BTF to another.
//!
//! Deliberately absent: deduplication, and formatting of values. Parsing checks only what readers
//! rely on; [`refused_by_kernel`] has the checks of `BPF_BTF_LOAD`.

#![forbid(unsafe_code)]

mod access;
mod btf;
mod build;
mod bytes;
pub mod core;
mod error;
mod ext;
mod field_kind;
mod fields;
mod find;
mod index;
mod kind;
mod layout;
mod module;
mod names;
mod older;
mod parse;
mod print;
mod renumber;
mod shift;
mod ty;
mod type_rules;
#[doc(hidden)]
pub mod waited;

pub use access::{PtrTag, Walk, WalkError, WalkRules};
pub use btf::{BTF_MAGIC, Btf, header_refused_by_kernel};
pub use build::{BtfBuilder, MemberDef};
pub use bytes::Endian;
pub use error::Error;
pub use ext::{BtfExt, CoreRelo, ExtSection, FuncInfo, LineInfo};
pub use field_kind::{FieldKind, SpecialField};
pub use fields::{repeated, special_fields, special_fields_of, struct_metas};
pub use kind::{FuncLinkage, IntEncoding, Kind, TypeId, VarLinkage};
pub use names::refused_by_kernel;
pub use older::LATER_KINDS;
pub use ty::{ArrayInfo, Enumerator, Member, Param, SecVar, Type};
