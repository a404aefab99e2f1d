//! Kinds of relocations.

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

/// Row `n` is kind `n`, with libbpf's word for it in messages.
const KINDS: [(ReloKind, &str); 13] = [
    (ReloKind::FieldByteOffset, "byte_off"),
    (ReloKind::FieldByteSize, "byte_sz"),
    (ReloKind::FieldExists, "field_exists"),
    (ReloKind::FieldSigned, "signed"),
    (ReloKind::FieldLshiftU64, "lshift_u64"),
    (ReloKind::FieldRshiftU64, "rshift_u64"),
    (ReloKind::TypeIdLocal, "local_type_id"),
    (ReloKind::TypeIdTarget, "target_type_id"),
    (ReloKind::TypeExists, "type_exists"),
    (ReloKind::TypeSize, "type_size"),
    (ReloKind::EnumvalExists, "enumval_exists"),
    (ReloKind::EnumvalValue, "enumval_value"),
    (ReloKind::TypeMatches, "type_matches"),
];

impl ReloKind {
    /// The kind with this number, if there is one.
    pub fn from_number(number: u32) -> Option<ReloKind> {
        KINDS.get(number as usize).map(|row| row.0)
    }
    /// Short name: `byte_off`, `type_exists`.
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }
    pub(super) fn is_field(self) -> bool {
        (self as u8) <= ReloKind::FieldRshiftU64 as u8
    }
    pub(super) fn is_enumval(self) -> bool {
        matches!(self, ReloKind::EnumvalExists | ReloKind::EnumvalValue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_n_is_kind_n() {
        for (n, row) in KINDS.iter().enumerate() {
            assert_eq!(row.0 as usize, n);
        }
        assert_eq!(ReloKind::from_number(13), None);
    }
}
