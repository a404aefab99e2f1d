//! Kinds, ids and small enumerations of the BTF encoding.
//!
//! Source: `Documentation/bpf/btf.rst`, `include/uapi/linux/btf.h` (numbers are the ABI).

use std::fmt;

/// Number of a type in its BTF (split BTF continues the numbering of its base); 0 is `void`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

impl TypeId {
    /// `void`.
    pub const VOID: TypeId = TypeId(0);

    /// The id as a slice index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for TypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The kind of a type, with the number of the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Void = 0,
    Int = 1,
    Ptr = 2,
    Array = 3,
    Struct = 4,
    Union = 5,
    Enum = 6,
    Fwd = 7,
    Typedef = 8,
    Volatile = 9,
    Const = 10,
    Restrict = 11,
    Func = 12,
    FuncProto = 13,
    Var = 14,
    Datasec = 15,
    Float = 16,
    DeclTag = 17,
    TypeTag = 18,
    Enum64 = 19,
}

/// Row `n` is kind `n`: the kind, the kernel's name for it, and the number of words after the
/// common three: `fixed + per_vlen * vlen`.
const KINDS: [(Kind, &str, u8, u8); 20] = [
    (Kind::Void, "UNKNOWN", 0, 0),
    (Kind::Int, "INT", 1, 0),
    (Kind::Ptr, "PTR", 0, 0),
    (Kind::Array, "ARRAY", 3, 0),
    (Kind::Struct, "STRUCT", 0, 3),
    (Kind::Union, "UNION", 0, 3),
    (Kind::Enum, "ENUM", 0, 2),
    (Kind::Fwd, "FWD", 0, 0),
    (Kind::Typedef, "TYPEDEF", 0, 0),
    (Kind::Volatile, "VOLATILE", 0, 0),
    (Kind::Const, "CONST", 0, 0),
    (Kind::Restrict, "RESTRICT", 0, 0),
    (Kind::Func, "FUNC", 0, 0),
    (Kind::FuncProto, "FUNC_PROTO", 0, 2),
    (Kind::Var, "VAR", 1, 0),
    (Kind::Datasec, "DATASEC", 0, 3),
    (Kind::Float, "FLOAT", 0, 0),
    (Kind::DeclTag, "DECL_TAG", 1, 0),
    (Kind::TypeTag, "TYPE_TAG", 0, 0),
    (Kind::Enum64, "ENUM64", 0, 3),
];

impl Kind {
    /// The kind with this number, if there is one.
    pub fn from_number(number: u8) -> Option<Kind> {
        KINDS.get(usize::from(number)).map(|row| row.0)
    }

    /// The name used in the kernel's BTF log: `INT`, `FUNC_PROTO`.
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// Number of words after the first three of a type of this kind.
    pub(crate) fn extra_words(self, vlen: u16) -> usize {
        let row = &KINDS[self as usize];
        usize::from(row.2) + usize::from(row.3) * usize::from(vlen)
    }

    /// Whether words for each of its parts follow.
    pub(crate) fn has_parts(self) -> bool {
        KINDS[self as usize].3 != 0
    }

    /// `const`, `volatile`, `restrict` and type tags: the kernel's modifiers.
    pub fn is_modifier(self) -> bool {
        matches!(self, Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag)
    }

    /// A modifier or a typedef.
    pub fn is_modifier_or_typedef(self) -> bool {
        self.is_modifier() || self == Kind::Typedef
    }

    /// `struct` or `union`.
    pub fn is_composite(self) -> bool {
        matches!(self, Kind::Struct | Kind::Union)
    }

    /// `enum` of either width.
    pub fn is_any_enum(self) -> bool {
        matches!(self, Kind::Enum | Kind::Enum64)
    }

    /// Whether the third word is a size in bytes.
    pub(crate) fn has_size(self) -> bool {
        use Kind::*;
        matches!(self, Int | Struct | Union | Enum | Datasec | Float | Enum64)
    }

    /// Whether the third word is the id of another type.
    pub(crate) fn has_type(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Ptr | Typedef
                | Volatile
                | Const
                | Restrict
                | Func
                | FuncProto
                | Var
                | DeclTag
                | TypeTag
        )
    }
}

/// The encoding bits of an `INT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntEncoding(pub u8);

impl IntEncoding {
    /// No bit: an unsigned integer.
    pub const NONE: IntEncoding = IntEncoding(0);
    /// A signed integer.
    pub const SIGNED: IntEncoding = IntEncoding(1);
    /// A character.
    pub const CHAR: IntEncoding = IntEncoding(2);
    /// `bool`.
    pub const BOOL: IntEncoding = IntEncoding(4);

    /// Whether the integer is signed.
    pub fn is_signed(self) -> bool {
        self.0 & 1 != 0
    }
    /// Whether it is a `char`.
    pub fn is_char(self) -> bool {
        self.0 & 2 != 0
    }
    /// Whether it is a `bool`.
    pub fn is_bool(self) -> bool {
        self.0 & 4 != 0
    }
}

/// Linkage of a `FUNC`, stored in its `vlen`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FuncLinkage {
    /// Local to its object.
    Static = 0,
    /// A global function: verified on its own.
    Global = 1,
    /// Defined elsewhere: a kfunc.
    Extern = 2,
}

/// Linkage of a `VAR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum VarLinkage {
    /// Local to its object.
    Static = 0,
    /// Defined here, visible to all.
    Global = 1,
    /// Defined elsewhere: `.ksyms` or `.kconfig`.
    Extern = 2,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_n_is_kind_n() {
        for (n, row) in KINDS.iter().enumerate() {
            assert_eq!(row.0 as usize, n);
            assert_eq!(Kind::from_number(n as u8), Some(row.0));
        }
        assert_eq!(Kind::from_number(20), None);
    }
}
