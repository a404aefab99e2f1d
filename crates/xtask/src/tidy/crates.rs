//! Crates depend only on lower rows, and keep the promises of ARCHITECTURE.md's *never* lines as
//! far as a text search can tell.

use super::imports::{Source, code_of};
use super::tree::{Breaches, File};

/// Crate and row. A crate may only depend on crates with smaller rows.
const ROWS: [(&str, u8); 19] = [
    ("insn", 0),
    ("domain", 0),
    ("mem", 0),
    ("btf", 1),
    ("uapi", 1),
    ("report", 1),
    ("program", 2),
    ("object", 3),
    ("verifier", 3),
    ("kernel", 3),
    ("guest", 4),
    ("interp", 4),
    ("jit", 4),
    ("text", 5),
    ("runtime", 6),
    ("skep", 7),
    ("cli", 8),
    ("bench", 9),
    ("testkit", 9),
];

/// The row of developer tools.
const ROW_DEV: u8 = 10;

/// Crate, word that its library code must not contain, and the reason.
const NEVER: [(&str, &str, &str); 15] = [
    ("verifier", "std::fs", "the verifier never sees a file"),
    ("verifier", "std::time", "the verifier never sees a clock"),
    ("verifier", "std::env", "the verifier asks nothing of its surroundings"),
    ("verifier", "std::collections::HashMap", "hash-map order; use FxHashMap and never iterate it"),
    ("verifier", "std::collections::HashSet", "hash-map order; use FxHashSet and never iterate it"),
    ("object", "std::fs", "bytes come in, files are the caller's"),
    ("object", "std::env", "the host is passed in as OpenOptions"),
    ("object", "std::process", "the host is passed in as OpenOptions"),
    ("btf", "std::fs", "bytes come in, files are the caller's"),
    ("uapi", "std::fs", "uapi is data"),
    ("insn", "std::fs", "insn is a pure library"),
    ("domain", "std::fs", "domain is a pure library"),
    ("jit", "std::fs", "jit is a pure function"),
    ("report", "std::fs", "report returns text, the caller writes it"),
    ("report", "skep_", "report knows no crate of ours; cli fills its rows"),
];

/// The binaries, which may print.
const PRINTERS: [&str; 3] = ["cli", "guest", "xtask"];

/// Crates of programs: what they do may depend on environment variables.
const PROGRAMS: [&str; 4] = ["bench", "cli", "guest", "xtask"];

/// The files with `unsafe`. Each documents the invariants.
const UNSAFE: &[&str] = &[
    "crates/kernel/src/bpf.rs",
    "crates/cli/src/allocator.rs",
    "crates/cli/src/run/gdb.rs",
    "crates/cli/src/run/interrupt.rs",
    "crates/mem/src/cpu.rs",
    "crates/mem/src/epoch/mod.rs",
    "crates/mem/src/fork.rs",
    "crates/mem/src/mem.rs",
    "crates/mem/src/region.rs",
    "crates/mem/src/spin.rs",
    "crates/mem/src/thread_word.rs",
    "crates/text/src/bare.rs",
    "crates/text/src/machine_code.rs",
    "crates/text/src/poke/direct.rs",
    "crates/text/src/pool.rs",
    "crates/text/src/text.rs",
    "crates/bench/src/poke/code.rs",
    "crates/bench/src/poke/int3.rs",
    "crates/bench/src/run/machine.rs",
    "crates/runtime/src/current.rs",
    "crates/runtime/src/engine.rs",
    "crates/runtime/src/processor.rs",
    "crates/runtime/src/helper/call.rs",
    "crates/runtime/src/helper/entry.rs",
    "crates/runtime/src/instance.rs",
    "crates/runtime/src/map/prog_array.rs",
    "crates/runtime/src/run/call.rs",
    "crates/runtime/src/stats/prog_slots.rs",
    "crates/testkit/src/exec/native.rs",
    "crates/testkit/src/forked.rs",
];

fn row(name: &str) -> u8 {
    ROWS.iter().find(|(known, _)| *known == name).map_or(ROW_DEV, |(_, row)| *row)
}

pub(super) fn check(files: &[File], breaches: &mut Breaches) {
    for file in files {
        let Some((name, rest)) =
            file.path.strip_prefix("crates/").and_then(|path| path.split_once('/'))
        else {
            continue;
        };
        if rest == "Cargo.toml" {
            rows(file, name, breaches);
        } else if rest.starts_with("src/") && file.is_rust() {
            never(file, name, breaches);
            attributes(file, name, rest, breaches);
        }
    }
}

fn rows(file: &File, name: &str, breaches: &mut Breaches) {
    if file.text.parse::<toml::Table>().is_err() {
        breaches.push(format!("{}: no TOML", file.path));
    }
    for on in dependencies(file) {
        if row(&on) >= row(name) {
            let (mine, its) = (row(name), row(&on));
            breaches.push(format!(
                "{}: {name} (row {mine}) depends on {on} (row {its}); \
                 a crate depends only on rows above its own, see ARCHITECTURE.md",
                file.path
            ));
        }
    }
}

/// Crates of this workspace that a manifest links, including platform-specific ones.
pub(super) fn dependencies(manifest: &File) -> Vec<String> {
    let manifest = manifest.text.parse::<toml::Table>().unwrap_or_default();
    let table = |of: &toml::Table| of.get("dependencies").and_then(toml::Value::as_table).cloned();
    let platforms = manifest.get("target").and_then(toml::Value::as_table);
    let platforms = platforms.into_iter().flat_map(toml::Table::values);
    let tables = platforms.filter_map(toml::Value::as_table).chain([&manifest]).filter_map(table);
    let ours = |package: &String| match package.strip_prefix("skep-") {
        Some(name) => Some(name.to_owned()),
        None => (package == "skep").then(|| package.clone()),
    };
    tables.flat_map(|table| table.keys().filter_map(ours).collect::<Vec<_>>()).collect()
}

fn never(file: &File, name: &str, breaches: &mut Breaches) {
    let source = Source::of(&file.text);
    for (_, word, why) in NEVER.iter().filter(|(of, ..)| *of == name) {
        for number in source.lines_that_name(word) {
            breaches.push(format!("{}:{number}: {word}: {why}", file.path));
        }
    }
    for (number, line) in &source.lines {
        let code = code_of(line);
        let prints = ["println!", "print!(", "eprint!(", "dbg!("].iter().any(|p| code.contains(p));
        if prints && !PRINTERS.contains(&name) {
            breaches.push(format!("{}:{number}: libraries never print", file.path));
        }
        let is_environment = ["env::var", "option_env!("].iter().any(|p| code.contains(p));
        if is_environment && !PROGRAMS.contains(&name) {
            let path = &file.path;
            breaches.push(format!("{path}:{number}: libraries never read the environment"));
        }
    }
}

/// Requires `#![forbid(unsafe_code)]` in every crate without a file of [`UNSAFE`].
fn attributes(file: &File, name: &str, rest: &str, breaches: &mut Breaches) {
    let is_root = rest == "src/lib.rs" || rest == "src/main.rs";
    let listed = |path: &&str| path.split('/').nth(1) == Some(name);
    let wanted = match UNSAFE.iter().any(listed) {
        true => "#![deny(unsafe_code)]",
        false => "#![forbid(unsafe_code)]",
    };
    if is_root && !file.text.lines().any(|line| line == wanted) {
        breaches.push(format!("{}: {wanted} is missing", file.path));
    }
    if UNSAFE.contains(&file.path.as_str()) {
        return;
    }
    // On a crate, module or item, alone or in a list, with `allow` or `expect`.
    for (number, line) in (1..).zip(file.text.lines()) {
        let code = code_of(line);
        let lint = concat!("unsafe", "_code");
        let strict = ["deny(", "forbid("].iter().any(|level| code.contains(level));
        if code.contains(lint) && !strict {
            let only = UNSAFE.join(", ");
            breaches.push(format!("{}:{number}: unsafe belongs in {only} only", file.path));
        }
    }
}

/// ARCHITECTURE.md names exactly the crates that are not published, and exactly those that are
/// published because `skep` and `cli` need them.
pub(super) fn check_published(files: &[File], breaches: &mut Breaches) {
    let manifests = files.iter().filter_map(|file| {
        let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        Some((name, file.text.lines().any(|line| line == "publish = false")))
    });
    let (mut internal, mut helpers) = (Vec::new(), Vec::new());
    for (name, is_internal) in manifests.filter(|(name, _)| !["skep", "cli"].contains(name)) {
        if is_internal { internal.push(name) } else { helpers.push(name) }
    }
    let Some(document) = files.iter().find(|file| file.path == "ARCHITECTURE.md") else { return };
    let text = document.text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (what, says, mut wanted) in [
        ("internal", "are internal (`publish = false`)", internal),
        ("published for others", "are published only because", helpers),
    ] {
        let sentence = text.split(". ").find(|s| s.contains(says)).unwrap_or_default();
        let list = sentence.split(says).next().unwrap_or_default();
        let mut named: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        named.sort_unstable();
        wanted.sort_unstable();
        if named != wanted {
            let (named, wanted) = (named.join(", "), wanted.join(", "));
            breaches.push(format!("ARCHITECTURE.md: {what} are {wanted}, it says {named}"));
        }
    }
}

/// The list of files with `unsafe` contains no file that has none or does not exist.
pub(super) fn check_list(files: &[File], breaches: &mut Breaches) {
    let allow = concat!("#![allow(", "unsafe", "_code)]");
    for listed in UNSAFE {
        let asks = |file: &File| file.path == *listed && file.text.contains(allow);
        if !files.iter().any(asks) {
            breaches.push(format!("{listed}: has no {allow}; take it from the list in tidy"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> Breaches {
        let mut found = Breaches::new();
        check(&[File { path: path.to_owned(), text: text.to_owned() }], &mut found);
        found
    }

    #[test]
    fn a_dependency_on_a_later_row_is_a_breach() {
        let up = "[dependencies]\nskep-object.workspace = true\n";
        assert_eq!(breaches("crates/verifier/Cargo.toml", up).len(), 1);
        let on_linux = "[target.'cfg(target_os = \"linux\")'.dependencies]\nskep-object = {}\n";
        assert_eq!(breaches("crates/verifier/Cargo.toml", on_linux).len(), 1);
        assert_eq!(breaches("crates/skep/Cargo.toml", up).len(), 0);
        assert_eq!(breaches("crates/cli/Cargo.toml", "[dependencies]\nskep = 1\n").len(), 0);
    }

    #[test]
    fn never_lines_hold_outside_tests_and_comments() {
        let path = "crates/verifier/src/a.rs";
        assert_eq!(breaches(path, "use std::fs;\n").len(), 1);
        assert_eq!(breaches(path, "// std::fs\n#[cfg(test)]\nuse std::fs;\n").len(), 0);
        assert_eq!(breaches("crates/btf/src/a.rs", "println!();\n").len(), 1);
        assert_eq!(breaches("crates/uapi/src/a.rs", "std::env::var(\"A\")\n").len(), 1);
        assert_eq!(breaches("crates/cli/src/a.rs", "std::env::var_os(\"A\")\n").len(), 0);
        assert_eq!(breaches(path, "use std::{fs, time};\n").len(), 2);
        assert_eq!(breaches(path, "use std::collections::{BTreeMap, HashMap};\n").len(), 1);
    }

    #[test]
    fn unsafe_is_in_the_listed_files_only() {
        let lint = concat!("unsafe", "_code");
        for level in
            ["#![allow", "#[allow", "    #[expect", "#![allow(dead_code, warnings)]\n#[allow"]
        {
            let text = format!("{level}({lint})]\nfn f() {{}}\n");
            assert_eq!(breaches("crates/jit/src/a.rs", &text).len(), 1, "{text}");
            assert_eq!(breaches("crates/text/src/pool.rs", &text).len(), 0, "{text}");
        }
        let among = format!("#[allow(dead_code, {lint})]\n");
        assert_eq!(breaches("crates/jit/src/a.rs", &among).len(), 1);
        let mut gone = Breaches::new();
        check_list(&[], &mut gone);
        assert_eq!(gone.len(), UNSAFE.len());
    }

    #[test]
    fn the_document_names_who_is_published() {
        let manifest = |name: &str, text: &str| {
            let path = format!("crates/{name}/Cargo.toml");
            File { path, text: text.to_owned() }
        };
        let breaches = |text: &str| {
            let page = File { path: "ARCHITECTURE.md".to_owned(), text: text.to_owned() };
            let own = manifest("xtask", "publish = false\n");
            let mut found = Breaches::new();
            check_published(&[manifest("btf", ""), manifest("skep", ""), own, page], &mut found);
            found
        };
        let all =
            "`btf` are published only because of two. `xtask` are internal (`publish = false`). ";
        assert_eq!(breaches(all), Breaches::new());
        assert_eq!(breaches(&all.replace("btf", "mem")).len(), 1);
        assert_eq!(breaches("").len(), 2);
    }
}
