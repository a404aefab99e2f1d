//! Every dependency in a `Cargo.toml` is used. An unused one is built, updated and audited for
//! nothing, and cargo has no lint for it.

use super::imports::code_of;
use super::tree::{Breaches, File};

/// Packages whose crate has a different name.
const RENAMED: [(&str, &str); 1] = [("perf-event2", "perf_event")];
/// Sources outside of `crates/` that tests of crates include.
const INCLUDED: &str = "fuzz/bodies/";

/// Tables of dependencies, and the folders of the crate that may use them.
const TABLES: [(&str, &[&str]); 3] = [
    ("dependencies", &["src/"]),
    ("dev-dependencies", &["src/", "tests/", "examples/", "benches/"]),
    ("build-dependencies", &["build.rs"]),
];

pub(super) fn check(files: &[File], breaches: &mut Breaches) {
    for file in files {
        let Some(folder) = file.path.strip_suffix("Cargo.toml").filter(|f| !f.is_empty()) else {
            continue;
        };
        // An invalid manifest is reported elsewhere.
        let manifest = file.text.parse::<toml::Table>().unwrap_or_default();
        for (table, places) in TABLES {
            let entries = manifest.get(table).and_then(toml::Value::as_table);
            for package in entries.into_iter().flat_map(toml::Table::keys) {
                let named = |source: &File| is_in(source, folder, places) && names(source, package);
                if !files.iter().any(named) {
                    breaches.push(format!(
                        "{}: {package}: no code in {} names it; remove it from [{table}]",
                        file.path,
                        places.join(", ")
                    ));
                }
            }
        }
    }
}

/// Whether a source is in one of the folders of a crate; separate workspaces have sources anywhere.
fn is_in(source: &File, folder: &str, places: &[&str]) -> bool {
    let Some(rest) = source.path.strip_prefix(folder) else {
        return source.path.starts_with(INCLUDED) && places.contains(&"tests/");
    };
    let own_workspace = !folder.starts_with("crates/");
    source.is_rust() && (own_workspace || places.iter().any(|place| rest.starts_with(place)))
}

/// Whether a source uses the crate of a package, at the start of a path or in a `use`.
fn names(source: &File, package: &str) -> bool {
    let renamed = RENAMED.iter().find(|(of, _)| *of == package).map(|(_, name)| *name);
    let name = renamed.map_or_else(|| package.replace('-', "_"), str::to_owned);
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    source.text.lines().any(|line| {
        let code = code_of(line);
        let is_use = code.trim_start().trim_start_matches("pub ").starts_with("use ");
        code.match_indices(&name).any(|(at, _)| {
            let (before, after) = (&code[..at], &code[at + name.len()..]);
            let is_path = after.starts_with("::");
            let is_import = is_use && !after.starts_with(in_word);
            !before.ends_with(in_word) && (is_path || is_import)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(manifest: &str, sources: &[(&str, &str)]) -> Breaches {
        let file = |(path, text): (&str, &str)| File { path: path.into(), text: text.into() };
        let manifest = file(("crates/a/Cargo.toml", manifest));
        let mut files: Vec<File> = sources.iter().copied().map(file).collect();
        files.push(manifest);
        let mut found = Breaches::new();
        check(&files, &mut found);
        found
    }

    #[test]
    fn what_no_code_names_is_a_breach() {
        let manifest = "[dependencies]\nserde-json.workspace = true\n";
        for named in ["use serde_json;", "serde_json::to_string(&a);", "pub use serde_json as j;"] {
            assert_eq!(breaches(manifest, &[("crates/a/src/lib.rs", named)]).len(), 0, "{named}");
        }
        for not in ["", "// serde_json::x", "my_serde_json::x();", "let serde_json = 1;"] {
            assert_eq!(breaches(manifest, &[("crates/a/src/lib.rs", not)]).len(), 1, "{not}");
        }
    }

    #[test]
    fn only_tests_need_what_only_tests_name() {
        let sources = [("crates/a/tests/b.rs", "use tempfile::tempdir;\n")];
        assert_eq!(breaches("[dependencies]\ntempfile = \"3\"\n", &sources).len(), 1);
        assert_eq!(breaches("[dev-dependencies]\ntempfile = \"3\"\n", &sources).len(), 0);
        let other = [("crates/other/src/lib.rs", "use tempfile::tempdir;\n")];
        assert_eq!(breaches("[dev-dependencies]\ntempfile = \"3\"\n", &other).len(), 1);
        let included = [("fuzz/bodies/b.rs", "use tempfile::tempdir;\n")];
        assert_eq!(breaches("[dev-dependencies]\ntempfile = \"3\"\n", &included).len(), 0);
    }
}
