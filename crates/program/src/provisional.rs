//! Stand-ins until `skep-btf` and `skep-uapi` have these types; then this file goes.

/// `skep_btf::Btf`.
#[derive(Clone, Debug, Default)]
pub struct Btf;

/// `skep_uapi::ProgType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgType(pub u32);

/// `skep_uapi::MapType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapType(pub u32);
