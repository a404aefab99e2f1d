//! Layers of files inside a crate: no file imports from a higher layer, and no import cycle is
//! larger than those in [`TABLE`].
//!
//! A cycle in the table has a reason (a trait and its implementations), or is still to be removed:
//! the table may only shrink.

use super::modules::Graph;
use super::tree::{Breaches, File};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The layers and cycles of each crate.
const TABLE: &str = "tidy-layers.toml";

/// The entry of one crate.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    /// From lowest to highest: the folders (`map`) and files (`map/value`) of each layer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    layers: Vec<Vec<String>>,
    /// The existing cycles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    circles: Vec<BTreeSet<String>>,
    /// Why they are allowed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    why: String,
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
                circles(name, (rules, &graph), breaches);
                if !rules.circles.is_empty() && rules.why.is_empty() {
                    breaches.push(format!("{TABLE}: [{name}] does not say why its circles may be"));
                }
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

fn circles(name: &str, (rules, graph): (&Rules, &Graph), breaches: &mut Breaches) {
    let found = graph.circles();
    for circle in &found {
        let is_in = |known: &BTreeSet<String>| circle.iter().all(|file| known.contains(*file));
        if !rules.circles.iter().any(is_in) {
            let files: Vec<_> = circle.iter().copied().collect();
            let (count, files) = (files.len(), files.join(", "));
            breaches.push(format!(
                "crates/{name}: a circle of {count} files that import each other: {files}; \
                 move what they share below them"
            ));
        }
    }
    for known in &rules.circles {
        let is_there = |circle: &BTreeSet<&str>| {
            circle.len() == known.len() && known.iter().all(|f| circle.contains(&**f))
        };
        if !found.iter().any(is_there) {
            let first = known.first().map_or("", String::as_str);
            breaches.push(format!(
                "{TABLE}: the circle of {first} in {name} has become smaller; \
                 run `cargo xtask tidy --shrink`"
            ));
        }
    }
}

/// Reduces the table's cycles to the existing ones, if these are subsets of the known ones.
pub(super) fn shrink(root: &Path, files: &[File]) -> Result<(), Box<dyn std::error::Error>> {
    let mut table = read(root)?;
    for (name, rules) in &mut table {
        let graph = Graph::of(name, files);
        let known = std::mem::take(&mut rules.circles);
        let is_known = |circle: &BTreeSet<&str>| {
            known.iter().any(|known| circle.iter().all(|file| known.contains(*file)))
        };
        let circles = graph.circles().into_iter().filter(is_known);
        rules.circles =
            circles.map(|circle| circle.into_iter().map(str::to_owned).collect()).collect();
    }
    Ok(fs::write(root.join(TABLE), text(&table))?)
}

/// The text of the table: a line for each layer and each cycle.
fn text(table: &Table) -> String {
    let line = |names: &mut dyn Iterator<Item = &String>| {
        let names: Vec<String> = names.map(|name| format!("{name:?}")).collect();
        format!("    [{}],\n", names.join(", "))
    };
    let mut text = String::from(HEADER);
    for (name, rules) in table {
        text.push_str(&format!("\n[{name}]\n"));
        if !rules.layers.is_empty() {
            let lines: String = rules.layers.iter().map(|rooms| line(&mut rooms.iter())).collect();
            text.push_str(&format!("layers = [\n{lines}]\n"));
        }
        let lines: String = rules.circles.iter().map(|files| line(&mut files.iter())).collect();
        if !lines.is_empty() {
            text.push_str(&format!("circles = [\n{lines}]\nwhy = {:?}\n", rules.why));
        }
    }
    text
}

const HEADER: &str = "\
# Layers of files within crates, and permitted import cycles: checked by `cargo xtask tidy`.
#
# `layers`: modules and files, from the lowest layer to the highest; a file may import from its own
# layer and from lower ones. `circles`: import cycles that are permitted, and `why`;
# `cargo xtask tidy --shrink` removes those that no longer exist.
";

/// The crates that have sources.
fn crates(files: &[File]) -> BTreeSet<&str> {
    let parts =
        files.iter().filter_map(|file| file.path.strip_prefix("crates/")?.split_once("/src/"));
    parts.map(|(name, _)| name).collect()
}

/// Sizes of the cycles of every crate, largest first; with their files if requested.
pub(super) fn report(files: &[File], with_files: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for name in crates(files) {
        let graph = Graph::of(name, files);
        let circles = graph.circles();
        let sizes: Vec<String> = circles.iter().map(|circle| circle.len().to_string()).collect();
        if !sizes.is_empty() {
            let (sizes, count) = (sizes.join(", "), graph.files.len());
            lines.push(format!("circles: {name}: {sizes} of {count} files"));
        }
        for circle in circles.iter().filter(|_| with_files) {
            let files: Vec<&str> = circle.iter().copied().collect();
            lines.push(format!("  {}", files.join(" ")));
        }
    }
    lines
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
        assert_eq!(of("use std::io;\nuse crate::high::H;\n").len(), 2, "a layer and a circle");
        assert!(of("use crate::high::H;")[0].starts_with("crates/x/src/low.rs:1: layer 0"));
        let stranger = file("crates/x/src/new.rs", "");
        assert_eq!(breaches(root.path(), &[lib(), stranger]).len(), 1);
    }

    #[test]
    fn known_circles_only_shrink() {
        let root = tempfile::tempdir().expect("a folder");
        let table = "[x]\ncircles = [[\"a.rs\", \"b.rs\", \"c.rs\"]]\nwhy = \"w\"\n";
        fs::write(root.path().join(TABLE), table).expect("written");
        let lib = || file("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\n");
        let a = || file("crates/x/src/a.rs", "use crate::b::B;\n");
        let b = |text| file("crates/x/src/b.rs", text);
        let c = |text| file("crates/x/src/c.rs", text);
        let whole =
            || [lib(), a(), b("use crate::c::C;\nuse crate::a::A;\n"), c("use crate::a::A;\n")];
        assert!(breaches(root.path(), &whole()).is_empty());
        fs::write(root.path().join(TABLE), table.replace("why = \"w\"\n", "")).expect("written");
        assert_eq!(breaches(root.path(), &whole()).len(), 1, "without a reason");
        fs::write(root.path().join(TABLE), "").expect("written");
        assert_eq!(breaches(root.path(), &whole()).len(), 1, "a crate that is not in the table");
        fs::write(root.path().join(TABLE), table).expect("written");
        let smaller = [lib(), a(), b("use crate::a::A;\n"), c("")];
        assert_eq!(breaches(root.path(), &smaller).len(), 1);
        shrink(root.path(), &smaller).expect("shrunk");
        assert!(breaches(root.path(), &smaller).is_empty());
        assert_eq!(breaches(root.path(), &whole()).len(), 2, "it may not grow again");
    }
}
