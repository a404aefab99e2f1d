//! Stand-in until `skep-btf` has this type; then this file goes.

/// `skep_btf::Btf`.
#[derive(Clone, Debug, Default)]
pub struct Btf;
