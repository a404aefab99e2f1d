//! Objects with a field of their tables changed: names and headers of sections, symbols,
//! relocations, BTF, map definitions, insns that refer to something.
//!
//! `mutate` changes any byte, which a loader mostly refuses at once. Here the file stays well
//! formed, and what it says is another thing than the compiler meant.

mod btf;
mod edited;
mod ext;
mod tables;

use edited::{COUNT_AT, Edited, HEADER_BYTES, SECTIONS_AT, number};
use skep_testkit::rng::Rng;

/// Attempts to find something to change in an object.
const ATTEMPTS_MAX: usize = 20;

type Edit = fn(&mut Edited<'_>) -> Option<String>;

/// The classes of changes; one that is listed twice is twice as frequent.
const EDITS: [(&str, Edit); 24] = [
    ("rename", tables::rename),
    ("program", tables::rename_program),
    ("program", tables::rename_program),
    ("header", tables::header),
    ("file", tables::file),
    ("symbol", tables::symbol),
    ("symbol", tables::symbol),
    ("relocation", tables::relocation),
    ("relocation", tables::relocation),
    ("add-symbol", tables::add_symbol),
    ("add-relocation", tables::add_relocation),
    ("add-section", tables::add_section),
    ("place", tables::place),
    ("insn", tables::insn),
    ("bytes", tables::bytes),
    ("word", btf::word),
    ("strings", btf::strings_cut),
    ("type", btf::ty),
    ("type", btf::ty),
    ("name", btf::name),
    ("map", btf::map),
    ("map", btf::map),
    ("ext", ext::record),
    ("repeat", ext::repeat),
];

/// The names of the classes.
pub(super) fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = EDITS.iter().map(|row| row.0).collect();
    names.dedup();
    names
}

/// A changed copy, and what was changed: by one of the classes of that name, or by any; none if
/// this object has nothing of the kind.
pub(super) fn edit(rng: &mut Rng, bytes: &[u8], class: Option<&str>) -> Option<(Vec<u8>, String)> {
    let table = usize::try_from(number(bytes, SECTIONS_AT, 8)?).ok()?;
    let (count, names) = (number(bytes, COUNT_AT, 2)? as usize, number(bytes, 62, 2)? as usize);
    let headers: Vec<usize> = (0..count).map(|at| table + at * HEADER_BYTES).collect();
    let names = *headers.get(names)?;
    bytes.get(table..table + count * HEADER_BYTES)?;
    let rows: Vec<(&str, Edit)> =
        EDITS.iter().copied().filter(|row| class.is_none_or(|name| row.0 == name)).collect();
    let mut edited = Edited { rng, bytes: bytes.to_vec(), headers, names };
    (0..ATTEMPTS_MAX).find_map(|_| {
        edited.bytes.clear();
        edited.bytes.extend_from_slice(bytes);
        let (name, change) = edited.rng.pick(&rows);
        let what = change(&mut edited)?;
        (edited.bytes != bytes).then(|| (edited.bytes.clone(), format!("{name}_{what}")))
    })
}
