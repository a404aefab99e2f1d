//! The parts of `docs/kernels.md` on fields of contexts and flags of maps.

use super::fields::{self, Row};
use super::{agree, page};
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

Flags with which a map may be created, alone or with those that are mandatory.

| flag | maps | tested: not on | on |
|---|---|--:|--:|
";

/// What is asked for: a kind, whose, which field or flag.
type Key = (String, String, String);

/// By kernel, oldest first: what there is, and what is said of it.
struct Asked(Vec<(String, BTreeMap<Key, String>)>);

impl Asked {
    fn read() -> Result<Asked, Box<dyn Error>> {
        let mut all = Vec::new();
        for release in agree::releases_with(fields::END) {
            let rows = fields::read(&release)?.into_iter().flat_map(keys).collect();
            all.push((page::short(&release).to_owned(), rows));
        }
        Ok(Asked(all))
    }

    /// The newest kernel without it, the oldest with it, and what the newest with it says.
    fn of(&self, key: &Key) -> [String; 3] {
        let has = |it: &&(String, BTreeMap<Key, String>)| it.1.contains_key(key);
        let name = |it: Option<&(String, _)>| it.map_or("-", |it| &it.0).to_owned();
        let newest = self.0.iter().rfind(has).and_then(|it| it.1.get(key));
        let without = self.0.iter().rfind(|it| !has(it));
        [name(without), name(self.0.iter().find(has)), newest.cloned().unwrap_or_default()]
    }

    /// All of a kind, those that nothing tells apart but whose they are in one.
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

/// A row of a map is one for each of its flags.
fn keys(row: Row) -> Vec<(Key, String)> {
    let Row { kind, name, field, says } = row;
    match kind.as_str() {
        "map" => says
            .split_whitespace()
            .map(|flag| ((kind.clone(), name.clone(), flag.to_owned()), String::new()))
            .collect(),
        _ => vec![((kind, name, field), says)],
    }
}

fn code(names: &BTreeSet<String>) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

/// Both tables.
pub(super) fn tables() -> Result<String, Box<dyn Error>> {
    let asked = Asked::read()?;
    let mut text = CTX.to_owned();
    for ((field, [without, with, says]), whose) in asked.grouped("ctx") {
        let _ = writeln!(text, "| `{field}` | {} | {says} | {without} | {with} |", code(&whose));
    }
    text.push_str(MAPS);
    for ((flag, [without, with, _]), whose) in asked.grouped("map") {
        let _ = writeln!(text, "| `{flag}` | {} | {without} | {with} |", code(&whose));
    }
    Ok(text)
}
