//! The parts of `docs/kernels.md` about context fields and map flags.

use super::fields::{self, Row};
use super::page_source::stated;
use super::{agree, surface};
use skep::uapi::ctx::{LATER_FIELDS, LaterField, ctx_struct};
use skep::uapi::{MapFlags, ProgType, since};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;

const CTX: &str = "
## Context fields

Sizes in bytes of reads (`r`) and writes (`w`) at the start of a field, on the newest tested kernel that has it
(`cargo xtask kernels fields`). A field has one line for each way in which programs may use it.

| field | programs | sizes | tested: not on | on |
|---|---|---|--:|--:|
";

const MAPS: &str = "
## Map flags

Flags with which a map may be created, alone or with those that are mandatory. `since` is the upstream release of the
flag; some types of maps are newer.

| flag | maps | since | tested: not on | on | source |
|---|---|--:|--:|--:|---|
";

/// Kind, type, field or flag.
type Key = (String, String, String);

/// By kernel, oldest first: what exists, with the answer.
struct Asked(Vec<(String, BTreeMap<Key, String>)>);

impl Asked {
    fn read() -> Result<Asked, Box<dyn Error>> {
        let mut all = Vec::new();
        for release in agree::releases_with(fields::END) {
            let rows = fields::read(&release)?.into_iter().flat_map(keys).collect();
            all.push((agree::short(&release).to_owned(), rows));
        }
        Ok(Asked(all))
    }

    /// The newest kernel without it before the oldest with it, that one (and the newest with it, if
    /// later ones lack it), and the answer of the newest with it.
    fn of(&self, key: &Key) -> [String; 3] {
        let has = |it: &(String, BTreeMap<Key, String>)| it.1.contains_key(key);
        let (Some(first), Some(last)) = (self.0.iter().position(has), self.0.iter().rposition(has))
        else {
            return Default::default();
        };
        let name = |at: usize| self.0.get(at).map_or("-", |it| &it.0);
        let on = match (last + 1 == self.0.len(), first == last) {
            (true, _) => name(first).to_owned(),
            (false, true) => format!("{} only", name(first)),
            (false, false) => format!("{} to {}", name(first), name(last)),
        };
        let newest = self.0[last].1.get(key).cloned();
        [name(first.wrapping_sub(1)).to_owned(), on, newest.unwrap_or_default()]
    }

    /// All of a kind; entries that differ only in the type are combined.
    fn grouped(&self, kind: &str) -> BTreeMap<(String, [String; 3]), BTreeSet<String>> {
        let all: BTreeSet<&Key> = self.0.iter().flat_map(|it| it.1.keys()).collect();
        let mut groups: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for key in all.into_iter().filter(|key| key.0 == kind) {
            let whose = key.1.clone();
            groups.entry((key.2.clone(), self.of(key))).or_default().insert(whose);
        }
        groups
    }
}

/// A row of a map gives one key per flag.
fn keys(row: Row) -> Vec<(Key, String)> {
    let Row { kind, name, field, says } = row;
    match kind.as_str() {
        "map" => says
            .split_whitespace()
            .map(|flag| ((kind.clone(), name.clone(), flag.to_owned()), String::new()))
            .collect(),
        "kfunc" => Vec::new(),
        _ => vec![((kind, name, field), says)],
    }
}

fn code(names: &BTreeSet<String>) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

/// Whether a kernel has the fields that came later than their context: a row of its surface each.
pub(super) fn later(asked: &[Row]) -> impl Iterator<Item = surface::Row> {
    LATER_FIELDS.iter().map(|field| surface::Row {
        kind: "field".to_owned(),
        name: field.name.to_owned(),
        there: if asked.iter().any(|row| shows(row, field)) { "yes" } else { "no" }.to_owned(),
        message: String::new(),
    })
}

/// Whether an answer shows that a field is there.
fn shows(row: &Row, field: &LaterField) -> bool {
    let prog_type = row.name.split('/').next().and_then(|name| {
        ProgType::all()
            .find(|it| row.kind == "ctx" && it.name() == name && row.field == field.field)
    });
    let bytes = |word: &str| word.get(1..).and_then(|it| it.parse::<u32>().ok());
    let is_part = |word: &str| bytes(word).is_some_and(|it| it < field.whole_bytes);
    prog_type.and_then(ctx_struct) == Some(field.of)
        && (field.whole_bytes == 0 || row.says.split_whitespace().any(is_part))
}

/// All tables.
pub(super) fn tables() -> Result<String, Box<dyn Error>> {
    let asked = Asked::read()?;
    let mut text = CTX.to_owned();
    for ((field, [without, with, says]), whose) in asked.grouped("ctx") {
        let _ = writeln!(text, "| `{field}` | {} | {says} | {without} | {with} |", code(&whose));
    }
    text.push_str(MAPS);
    for ((flag, [without, with, _]), whose) in asked.grouped("map") {
        let known = MapFlags::from_name(&flag);
        let since = known.and_then(since::map_flag).map_or("-".to_owned(), |it| it.to_string());
        let (whose, source) = (code(&whose), stated(known.and_then(since::map_flag_source)));
        let _ = writeln!(text, "| `{flag}` | {whose} | {since} | {without} | {with} | {source} |");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::uapi::since::Release;

    /// No kernel takes a flag before its release; all but the bits that are not known have one.
    #[test]
    fn flags_are_there_from_their_release_on() {
        let mut checked = 0;
        for release in agree::releases_with(fields::END) {
            let version: Release = release.parse().expect("a release");
            let rows = fields::read(&release).expect("a table");
            for (key, _) in rows.into_iter().filter(|row| row.kind == "map").flat_map(keys) {
                if key.2.starts_with("BIT_") {
                    continue;
                }
                let flag = MapFlags::from_name(&key.2).expect("a flag");
                let since = since::map_flag(flag).expect("a release");
                assert!(since <= version, "{release}: {} is since {since}", key.2);
                checked += 1;
            }
        }
        assert!(checked > 35 * 13, "{checked}");
    }
}
