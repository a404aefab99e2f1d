//! BTF: every question that can be asked of every type, and writing it out again.

use skep_btf::{Btf, Endian, special_fields, struct_metas};

/// Searches that may take up to a bounded, but long, time are made for this many types only.
const SEARCHED_TYPES_MAX: usize = 32;

/// No panic, no endless recursion; what was parsed is written and read as the same in both byte
/// orders.
pub(crate) fn run(data: &[u8]) {
    let btf = match Btf::parse(data) {
        Ok(btf) => btf,
        Err(error) => return assert!(!error.to_string().contains('\n')),
    };
    for t in btf.iter() {
        let id = t.id();
        let _ = (btf.size_of(id), btf.align_of(id), t.stated_size(), t.array());
        let _ = (t.int_encoding(), t.int_bit_offset(), t.int_bits(), t.component_idx());
        let _ = (t.var_linkage(), t.func_linkage(), t.is_fwd_union(), t.is_signed_enum());
        let _ = (t.members().count(), t.enumerators().count(), t.params().count());
        let _ = (t.vars().count(), btf.skip_modifiers(id), btf.skip_modifiers_only(id));
        assert!(btf.get(id).is_some() && t.target().id() < btf.end_id());
        if !t.name().is_empty() {
            assert!(btf.find_by_name(t.name()).any(|same| same.id() == id));
            assert!(btf.find_by_name_kind(t.name(), t.kind()).is_some());
        }
    }
    for t in btf.iter().take(SEARCHED_TYPES_MAX) {
        let id = t.id();
        let _ = (btf.type_name(id), btf.declaration(id, "x"), btf.decl_tags(id, Some(0)).count());
        let _ = special_fields(&btf, id);
        for (off, size) in [(0, 8), (4, 4), (u32::MAX, 1), (8, 1)] {
            let _ = btf.struct_walk(id, off, size).map(drop);
            let _ = btf.struct_access(id, off, size).map(drop);
        }
    }
    let _ = struct_metas(&btf);
    for endian in [Endian::Little, Endian::Big] {
        let again = Btf::parse(&btf.to_bytes(endian)).expect("what we write can be read");
        assert_eq!(again.type_words(), btf.type_words());
        assert_eq!(again.string_bytes(), btf.string_bytes());
    }
}
