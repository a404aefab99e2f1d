//! The rows: what is wrong, where, and the replacement.
//!
//! # Invariants
//! 1. The text that a row replaces occurs once in its file, and no two rows overlap.

use crate::hash::fnv1a;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The areas, each a file of `tests/faults/`, with their descriptions.
pub(super) const AREAS: [(&str, &str); 10] = [
    ("domain", "Known bits and bounds"),
    ("pruning", "Comparing states"),
    ("precision", "Precision marks"),
    ("linked", "Linked scalars"),
    ("references", "References"),
    ("locks", "Locks and critical sections"),
    ("dynptrs", "Dynptrs"),
    ("iterators", "Iterators and loops"),
    ("rewrites", "Rewrites"),
    ("loading", "Loading"),
];

/// Folder of the rows.
const FOLDER: &str = "tests/faults";

/// The module in each crate of the copy that says whether a fault is active.
const MODULE: &str = "fault";

/// Placeholder in a row's `to` for the condition that the fault is active.
const PLACEHOLDER: &str = "FAULT";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    fault: Vec<Row>,
}

/// One fault, as written in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    name: String,
    /// The resulting wrong behaviour.
    pub(super) wrong: String,
    /// Publicly known bugs of verifiers of this class.
    #[serde(default)]
    pub(super) like: String,
    /// The edit; see [`Edit`].
    file: String,
    from: String,
    to: String,
    /// Further edits of the same fault, if one edit alone would be compensated elsewhere.
    #[serde(default)]
    also: Vec<Edit>,
    /// Why no test detects it.
    #[serde(default)]
    pub(super) survives: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    /// Path below `crates/`.
    pub(super) file: String,
    /// Code that occurs once: an expression, or statements if it ends in `;` or `}`.
    from: String,
    /// The replacement if the fault is active; if it contains `FAULT`, it always replaces the text
    /// and tests the condition itself.
    to: String,
}

#[derive(Debug)]
pub(super) struct Fault {
    pub(super) area: &'static str,
    /// From 1; 0 means no fault.
    pub(super) number: u32,
    pub(super) row: Row,
    /// Not empty.
    pub(super) edits: Vec<Edit>,
}

impl Fault {
    pub(super) fn name(&self) -> &str {
        &self.row.name
    }

    /// The folder of the crate.
    pub(super) fn folder(&self) -> &str {
        self.row.file.split('/').next().unwrap_or_default()
    }

    /// A hash of the edits, eight digits.
    pub(super) fn hash(&self) -> String {
        let parts = self.edits.iter().flat_map(|Edit { file, from, to }| [file, from, to]);
        let hash = fnv1a(parts.flat_map(|part| part.bytes().chain([0])));
        format!("{:08x}", (hash ^ (hash >> 32)) as u32)
    }
}

impl Edit {
    /// The text of the copy at the place of the edit.
    fn branch(&self, number: u32) -> String {
        let Edit { from, to, .. } = self;
        let asks = format!("crate::{MODULE}::is({number})");
        if to.contains(PLACEHOLDER) {
            return to.replace(PLACEHOLDER, &asks);
        }
        match from.trim_end().ends_with([';', '}']) {
            true => format!("if {asks} {{ {to} }} else {{ {from} }}"),
            false => format!("(if {asks} {{ {to} }} else {{ {from} }})"),
        }
    }
}

/// All rows, numbered.
pub(super) fn read(root: &Path) -> Result<Vec<Fault>, String> {
    let mut faults: Vec<Fault> = Vec::new();
    for (area, _) in AREAS {
        let path = root.join(FOLDER).join(format!("{area}.toml"));
        let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|e| wrong(&e))?;
        let file: File = toml::from_str(&text).map_err(|e| wrong(&e))?;
        for row in file.fault {
            if faults.iter().any(|fault| fault.row.name == row.name) {
                return Err(wrong(&format!("a second fault {}", row.name)));
            }
            let Row { file, from, to, .. } = &row;
            let mut edits = row.also.clone();
            edits.push(Edit { file: file.clone(), from: from.clone(), to: to.clone() });
            faults.push(Fault { area, number: faults.len() as u32 + 1, row, edits });
        }
    }
    Ok(faults)
}

/// All edits, by the path of their file.
pub(super) fn by_file(faults: &[Fault]) -> BTreeMap<String, Vec<(&Fault, &Edit)>> {
    let mut files: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for fault in faults {
        for edit in &fault.edits {
            files.entry(format!("crates/{}", edit.file)).or_default().push((fault, edit));
        }
    }
    files
}

/// The text of a source file with the faults in it.
pub(super) fn edited(text: &str, faults: &[(&Fault, &Edit)]) -> Result<String, String> {
    let mut edits = Vec::new();
    for &(fault, edit) in faults {
        let (name, Edit { file, from, .. }) = (fault.name(), edit);
        let mut places = text.match_indices(from.as_str()).map(|(at, _)| at);
        let (Some(at), None) = (places.next(), places.next()) else {
            let count = text.matches(from.as_str()).count();
            return Err(format!(
                "{name}: its text occurs {count} times in crates/{file}; update its row in {FOLDER} to \
                 the current text"
            ));
        };
        edits.push((at, at + from.len(), (fault, edit)));
    }
    edits.sort_unstable_by_key(|&(at, ..)| at);
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for (at, end, (fault, edit)) in edits {
        if at < done {
            return Err(format!("{}: its text is part of another fault's", fault.name()));
        }
        out.push_str(&text[done..at]);
        out.push_str(&edit.branch(fault.number));
        done = end;
    }
    out.push_str(&text[done..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(rows: &[(&str, &str)]) -> Vec<Fault> {
        let fault = |(number, (from, to)): (u32, &(&str, &str))| {
            let text = format!("name='f'\nwrong=''\nfile='a/b'\nfrom='{from}'\nto='{to}'");
            let row: Row = toml::from_str(&text).expect("a row");
            let edits = vec![toml::from_str(&text[text.find("file").unwrap()..]).expect("an edit")];
            Fault { area: "domain", number, row, edits }
        };
        (1..).zip(rows).map(fault).collect()
    }

    fn edited_by(text: &str, rows: &[(&str, &str)]) -> Result<String, String> {
        edited(text, &by_file(&edits(rows))["crates/a/b"])
    }

    #[test]
    fn faults_are_branches_in_place_of_their_text() {
        let rows = [("x + 1", "x"), ("f();", "g();"), ("!z", "FAULT")];
        assert_eq!(
            edited_by("let y = x + 1; f(); !z", &rows).unwrap(),
            "let y = (if crate::fault::is(1) { x } else { x + 1 }); \
             if crate::fault::is(2) { g(); } else { f(); } crate::fault::is(3)"
        );
    }

    #[test]
    fn a_text_that_is_gone_or_not_alone_is_said() {
        assert!(edited_by("x + 1 - x + 1", &[("x + 1", "x")]).is_err());
        assert!(edited_by("y", &[("x + 1", "x")]).is_err());
        assert!(edited_by("x + 1", &[("x + 1", "x"), ("1", "2")]).is_err());
    }
}
