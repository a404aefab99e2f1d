//! Generated parts of documents: the graph of the crates, and the table of `unsafe`. `cargo xtask
//! tidy --shrink` writes them.

use super::crates::dependencies;
use super::outside_tests::lines_outside_tests;
use super::tree::{Breaches, File};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A part of a document, between `<!-- NAME -->` and `<!-- end of NAME -->`.
struct Part {
    page: &'static str,
    name: &'static str,
    made: fn(&[File]) -> String,
}

const PARTS: [Part; 2] = [
    Part { page: "ARCHITECTURE.md", name: "picture of the crates", made: picture },
    Part { page: "docs/unsafe.md", name: "lines of unsafe", made: unsafe_table },
];

pub(super) fn check(files: &[File], breaches: &mut Breaches) {
    for part in PARTS {
        match part.renewed(files) {
            Ok((before, after)) if before != after => breaches.push(format!(
                "{}: {} is out of date; run `cargo xtask tidy --shrink`",
                part.page, part.name
            )),
            Ok(_) => {}
            Err(why) => breaches.push(why),
        }
    }
}

pub(super) fn write(root: &Path, files: &[File]) -> std::io::Result<()> {
    for part in PARTS {
        if let Ok((before, after)) = part.renewed(files)
            && before != after
        {
            fs::write(root.join(part.page), after)?;
        }
    }
    Ok(())
}

impl Part {
    /// The current page, and the correct one.
    fn renewed<'a>(&self, files: &'a [File]) -> Result<(&'a str, String), String> {
        let page = files.iter().find(|file| file.path == self.page);
        let text = page.map(|file| &*file.text).unwrap_or_default();
        let (start, end) =
            (format!("<!-- {} -->\n", self.name), format!("<!-- end of {}", self.name));
        let parts = text.split_once(&start).and_then(|(head, rest)| {
            let (_, tail) = rest.split_once(&end)?;
            Some((head, tail))
        });
        let (head, tail) = parts.ok_or_else(|| format!("{}: no {start}", self.page))?;
        Ok((text, format!("{head}{start}\n{}\n{end}{tail}", (self.made)(files))))
    }
}

/// The dependency graph of the crates, without arrows implied by others.
fn picture(files: &[File]) -> String {
    let mut on: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut internal = BTreeSet::new();
    for file in files {
        let name = file.path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml"));
        if let Some(name) = name.filter(|name| !name.contains('/')) {
            on.insert(name.to_owned(), dependencies(file).into_iter().collect());
            if file.text.contains("\npublish = false") {
                internal.insert(name);
            }
        }
    }
    let mut out = String::from("```mermaid\ngraph BT\n");
    for name in on.keys() {
        let shape = if internal.contains(&**name) { ("([", "])") } else { ("[", "]") };
        out += &format!("  {name}{}{name}{}\n", shape.0, shape.1);
    }
    for (name, needs) in &on {
        let implied = |to: &&String| needs.iter().any(|by| by != *to && reaches(&on, by, to));
        for to in needs.iter().filter(|to| !implied(to)) {
            out += &format!("  {name} --> {to}\n");
        }
    }
    out + "```\n"
}

fn reaches(on: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    on.get(from)
        .is_some_and(|needs| needs.contains(to) || needs.iter().any(|by| reaches(on, by, to)))
}

/// A row for each crate with `unsafe`: files, blocks and functions, lines.
fn unsafe_table(files: &[File]) -> String {
    let mut rows: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let path = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
        let Some((name, _)) = path else { continue };
        let row = rows.entry(name).or_default();
        if !file.text.contains("unsafe") {
            continue;
        }
        let code: String = lines_outside_tests(&file.text).flat_map(|(_, l)| [l, "\n"]).collect();
        let mut found = Found::default();
        // Code that is balanced only with its tests is counted whole.
        found.search(code.parse().or_else(|_| file.text.parse()).unwrap_or_default());
        row[0] += usize::from(found.places > 0);
        row[1] += found.places;
        row[2] += found.lines.len();
    }
    let mut out = String::from(
        "| Crate | Files | Blocks, functions, `impl`s | Lines in them |\n\
         |---|--:|--:|--:|\n",
    );
    let mut sum = [0; 3];
    for (name, row) in rows.iter().filter(|(_, row)| row[0] > 0) {
        (0..3).for_each(|at| sum[at] += row[at]);
        let [files, places, lines] = row;
        out += &format!("| `{name}` | {files} | {places} | {lines} |\n");
    }
    let without: Vec<String> =
        rows.iter().filter(|(_, row)| row[0] == 0).map(|(name, _)| format!("`{name}`")).collect();
    out += &format!("| all of these | {} | {} | {} |\n", sum[0], sum[1], sum[2]);
    format!("{out}\nNone in {}.\n", without.join(", "))
}

/// Counts of `unsafe` in a source.
#[derive(Default)]
struct Found {
    places: usize,
    lines: BTreeSet<usize>,
}

impl Found {
    /// Counts each `unsafe` with the lines of its braces.
    fn search(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, tree) in trees.iter().enumerate() {
            match tree {
                TokenTree::Group(group) => self.search(group.stream()),
                TokenTree::Ident(word) if word == "unsafe" => {
                    if let Some(body) = body_of(&trees[at + 1..]) {
                        self.places += 1;
                        let first = word.span().start().line;
                        self.lines.extend(first..=body.span_close().end().line);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The braces of an unsafe block, function or `impl`; none for an attribute, type or declaration.
fn body_of(after: &[TokenTree]) -> Option<&proc_macro2::Group> {
    if matches!(after.first(), Some(TokenTree::Group(g)) if g.delimiter() != Delimiter::Brace) {
        return None;
    }
    let ends = |tree: &&TokenTree| !matches!(tree, TokenTree::Punct(p) if [';', '='].contains(&p.as_char()));
    after.iter().take_while(ends).find_map(|tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn an_arrow_that_others_imply_is_left_out() {
        let files = [
            file(
                "crates/a/Cargo.toml",
                "[dependencies]\nskep-b.workspace = true\nskep-c.workspace = true\n",
            ),
            file("crates/b/Cargo.toml", "[dependencies]\nskep-c.workspace = true\nserde = \"1\"\n"),
            file("crates/c/Cargo.toml", "publish = false\n"),
        ];
        let picture = picture(&files);
        assert!(picture.contains("  a --> b\n") && picture.contains("  b --> c\n"), "{picture}");
        assert!(!picture.contains("a --> c") && !picture.contains("serde"), "{picture}");
    }

    #[test]
    fn lines_in_what_is_unsafe_are_counted_once() {
        let text = "#[unsafe(no_mangle)]\nfn f() {\n    unsafe {\n        g();\n    }\n}\n\
                    unsafe fn h(at: *const u8) {\n    unsafe { at.read() };\n}\nunsafe impl Send for X {}\n\
                    type F = unsafe fn(u8) -> u8;\nstruct S { f: unsafe fn() }\n\
                    #[cfg(test)]\nmod tests { fn t() { unsafe { x() } } }\n";
        let table =
            unsafe_table(&[file("crates/a/src/x.rs", text), file("crates/b/src/y.rs", "\n")]);
        assert!(table.contains("| `a` | 1 | 4 | 7 |\n"), "{table}");
        assert!(table.ends_with("\nNone in `b`.\n"), "{table}");
    }

    #[test]
    fn a_part_is_renewed_between_its_marks() {
        let page =
            "a\n<!-- picture of the crates -->\nold\n<!-- end of picture of the crates -->\nb\n";
        let files = [file("ARCHITECTURE.md", page)];
        let (_, after) = PARTS[0].renewed(&files).unwrap();
        assert!(after.starts_with("a\n<!-- picture of the crates -->\n\n```mermaid\n"), "{after}");
        assert!(after.ends_with("```\n\n<!-- end of picture of the crates -->\nb\n"), "{after}");
        let mut breaches = Breaches::new();
        check(&files, &mut breaches);
        assert_eq!(breaches.len(), 2, "{breaches:?}");
    }
}
