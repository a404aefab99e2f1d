//! Layers of files inside a crate: no file imports from a higher layer of [`TABLE`], and no files
//! of any crate import each other in a cycle.

use super::modules::Graph;
use super::tree::{Breaches, File};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The layers of each crate that has any.
const TABLE: &str = "tidy-layers.toml";

/// The entry of one crate.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    /// From lowest to highest: the folders (`map`) and files (`map/value`) of each layer.
    layers: Vec<Vec<String>>,
}

type Table = BTreeMap<String, Rules>;

fn read(root: &Path) -> Result<Table, String> {
    match fs::read_to_string(root.join(TABLE)) {
        Ok(text) => toml::from_str(&text).map_err(|e| e.to_string()),
        Err(_) => Ok(Table::new()),
    }
}

pub(super) fn check(root: &Path, files: &[File], breaches: &mut Breaches) {
    match read(root) {
        Ok(mut table) => {
            for name in crates(files) {
                table.entry(name.to_owned()).or_default();
            }
            for (name, rules) in &table {
                let graph = Graph::of(name, files);
                layers(name, rules, &graph, breaches);
                cycles(name, &graph, breaches);
            }
        }
        Err(error) => breaches.push(format!("{TABLE}: {error}")),
    }
}

/// The layer of a file: that of the longest matching name of it or of a folder around it.
fn layer(rules: &Rules, file: &str) -> Option<usize> {
    let file = file.strip_suffix(".rs").unwrap_or(file);
    let file = file.strip_suffix("/mod").unwrap_or(file);
    let holds =
        |room: &str| file == room || file.strip_prefix(room).is_some_and(|f| f.starts_with('/'));
    let rooms = (0..).zip(&rules.layers).flat_map(|(at, rooms)| rooms.iter().map(move |r| (r, at)));
    rooms.filter(|(room, _)| holds(room)).max_by_key(|(room, _)| room.len()).map(|(_, at)| at)
}

fn layers(name: &str, rules: &Rules, graph: &Graph, breaches: &mut Breaches) {
    if rules.layers.is_empty() {
        return;
    }
    let layers: Vec<_> = graph.files.iter().map(|file| layer(rules, file)).collect();
    for (file, _) in graph.files.iter().zip(&layers).filter(|(_, layer)| layer.is_none()) {
        breaches.push(format!("crates/{name}/src/{file}: in no layer of {TABLE}"));
    }
    for ((from, to), line) in &graph.arrows {
        if let (Some(mine), Some(its)) = (layers[*from], layers[*to])
            && its > mine
        {
            let (file, above) = (&graph.files[*from], &graph.files[*to]);
            breaches.push(format!(
                "crates/{name}/src/{file}:{line}: layer {mine} imports from {above} of layer {its}; \
                 move what both need down, or hand it in ({TABLE})"
            ));
        }
    }
}

fn cycles(name: &str, graph: &Graph, breaches: &mut Breaches) {
    for cycle in graph.cycles() {
        let files: Vec<&str> = cycle.into_iter().collect();
        let (count, files) = (files.len(), files.join(", "));
        breaches.push(format!(
            "crates/{name}: {count} files import each other in a cycle: {files}; \
             move what they share below them"
        ));
    }
}

/// The crates that have sources.
fn crates(files: &[File]) -> BTreeSet<&str> {
    let parts =
        files.iter().filter_map(|file| file.path.strip_prefix("crates/")?.split_once("/src/"));
    parts.map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    fn breaches(root: &Path, files: &[File]) -> Breaches {
        let mut found = Breaches::new();
        check(root, files, &mut found);
        found
    }

    #[test]
    fn an_import_from_a_layer_above_is_a_breach() {
        let root = tempfile::tempdir().expect("a folder");
        let table = "[x]\nlayers = [[\"low\", \"high/base\"], [\"high\", \"lib\"]]\n";
        fs::write(root.path().join(TABLE), table).expect("written");
        let lib = || file("crates/x/src/lib.rs", "mod low;\nmod high;\n");
        let high = || file("crates/x/src/high/mod.rs", "use crate::low::L;\n");
        let base = || file("crates/x/src/high/base.rs", "struct B;\n");
        let low = |text| file("crates/x/src/low.rs", text);
        let of = |text| breaches(root.path(), &[lib(), high(), base(), low(text)]);
        assert!(of("use crate::high::base::B;\n").is_empty());
        assert_eq!(of("use std::io;\nuse crate::high::H;\n").len(), 2, "a layer and a cycle");
        assert!(of("use crate::high::H;")[0].starts_with("crates/x/src/low.rs:1: layer 0"));
        let stranger = file("crates/x/src/new.rs", "");
        assert_eq!(breaches(root.path(), &[lib(), stranger]).len(), 1);
    }

    #[test]
    fn files_that_import_each_other_are_a_breach() {
        let root = tempfile::tempdir().expect("a folder");
        let lib = || file("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\n");
        let a = || file("crates/x/src/a.rs", "use crate::b::B;\n");
        let b = || file("crates/x/src/b.rs", "use crate::c::C;\n");
        let c = |text| file("crates/x/src/c.rs", text);
        assert!(breaches(root.path(), &[lib(), a(), b(), c("")]).is_empty());
        let found = breaches(root.path(), &[lib(), a(), b(), c("use crate::a::A;\n")]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("3 files import each other in a cycle: a.rs, b.rs, c.rs"));
    }
}
