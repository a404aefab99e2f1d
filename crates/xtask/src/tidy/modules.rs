//! The import graph of a crate's files, in which layers and cycles are found.
//!
//! An edge goes from a file to the file that defines what it names, through re-exports: a `pub use`
//! alone is not an edge. Only paths are considered; a method's type has been named by a path
//! somewhere else.

use super::imports::{Import, split};
use super::outside_tests::lines_outside_tests;
use super::tree::File;
use std::collections::{BTreeMap, BTreeSet};

/// The files of a crate, and the edges between them.
pub(super) struct Graph {
    /// Paths from the crate's `src`.
    pub(super) files: Vec<String>,
    /// From, to, and the line of the first reference.
    pub(super) arrows: BTreeMap<(usize, usize), usize>,
}

/// One file.
struct Module<'a> {
    file: String,
    /// Path in the crate; the root's is empty.
    path: Vec<String>,
    imports: Vec<Import>,
    /// Lines that are not part of an import.
    code: Vec<(usize, &'a str)>,
}

/// The target of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Module(usize),
    ItemOf(usize),
}

/// Maximum number of imports followed for one path.
const DEPTH_MAX: usize = 8;

struct Modules<'a> {
    all: Vec<Module<'a>>,
    by_path: BTreeMap<Vec<String>, usize>,
}

impl Graph {
    /// The graph of `crates/<name>`.
    pub(super) fn of(name: &str, files: &[File]) -> Graph {
        let modules = Modules::of(name, files);
        let mut arrows = BTreeMap::new();
        for from in 0..modules.all.len() {
            for (line, to) in modules.named_by(from) {
                let first = arrows.entry((from, to)).or_insert(line);
                *first = line.min(*first);
            }
        }
        Graph { files: modules.all.into_iter().map(|module| module.file).collect(), arrows }
    }

    /// All strongly connected components with more than one file, largest first.
    pub(super) fn cycles(&self) -> Vec<BTreeSet<&str>> {
        let count = self.files.len();
        let (mut next, mut back) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (from, to) in self.arrows.keys() {
            next[*from].push(*to);
            back[*to].push(*from);
        }
        let mut seen = vec![false; count];
        let mut order = Vec::new();
        (0..count).for_each(|at| walk(&next, at, &mut seen, &mut order));
        let mut seen = vec![false; count];
        let mut cycles = Vec::new();
        for at in order.into_iter().rev() {
            let mut cycle = Vec::new();
            walk(&back, at, &mut seen, &mut cycle);
            if cycle.len() > 1 {
                cycles.push(cycle.into_iter().map(|at| &*self.files[at]).collect());
            }
        }
        cycles.sort_by_key(|cycle: &BTreeSet<_>| std::cmp::Reverse(cycle.len()));
        cycles
    }
}

/// Everything reachable from `at` that has not been seen, in postorder.
fn walk(next: &[Vec<usize>], at: usize, seen: &mut [bool], order: &mut Vec<usize>) {
    if !std::mem::replace(&mut seen[at], true) {
        next[at].iter().for_each(|to| walk(next, *to, seen, order));
        order.push(at);
    }
}

impl<'a> Modules<'a> {
    fn of(name: &str, files: &'a [File]) -> Modules<'a> {
        let src = format!("crates/{name}/src/");
        let mut all = Vec::new();
        let mine = files.iter().filter(|file| file.is_rust());
        let has_library = files.iter().any(|file| file.path == format!("{src}lib.rs"));
        for (file, text) in
            mine.filter_map(|file| Some((file.path.strip_prefix(&src)?, &*file.text)))
        {
            if has_library && file == "main.rs" {
                continue;
            }
            let lines: Vec<_> = lines_outside_tests(text).collect();
            let (imports, code) = split(&lines);
            all.push(Module { file: file.to_owned(), path: path_of(file), imports, code });
        }
        let by_path = (0..).zip(&all).map(|(at, module)| (module.path.clone(), at)).collect();
        Modules { all, by_path }
    }

    /// The files to which a file refers, and the lines.
    fn named_by(&self, from: usize) -> Vec<(usize, usize)> {
        let module = &self.all[from];
        let mut named = Vec::new();
        for import in &module.imports {
            let is_used =
                || module.code.iter().any(|(_, code)| words(code).any(|w| w == import.name));
            if import.is_public && !is_used() {
                continue;
            }
            let path: Vec<&str> = import.path.split("::").collect();
            match (self.find(from, &path, DEPTH_MAX), import.name == "*") {
                (Some(Place::ItemOf(to)), _) | (Some(Place::Module(to)), true) => {
                    named.push((import.line, to));
                }
                _ => {}
            }
        }
        for (line, code) in &module.code {
            for path in paths(code) {
                if let Some(Place::ItemOf(to)) = self.find(from, &path, DEPTH_MAX) {
                    named.push((*line, to));
                }
            }
        }
        named.retain(|(_, to)| *to != from);
        named
    }

    /// The target of `path` in a file; `None` if it is not in the crate.
    fn find(&self, from: usize, path: &[&str], depth: usize) -> Option<Place> {
        let depth = depth.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        match *first {
            "crate" => self.walk(*self.by_path.get(&Vec::new())?, rest, depth),
            "self" => self.walk(from, rest, depth),
            "super" => self.walk(self.above(from)?, rest, depth),
            "*" => Some(Place::Module(from)),
            name if self.below(from, name).is_some() => self.walk(from, path, depth),
            name => match self.find(from, &self.import(from, name)?, depth)? {
                Place::Module(at) => self.walk(at, rest, depth),
                item => Some(item),
            },
        }
    }

    /// The target of `path` from a module.
    fn walk(&self, from: usize, path: &[&str], depth: usize) -> Option<Place> {
        let Some((first, rest)) = path.split_first() else { return Some(Place::Module(from)) };
        if *first == "super" {
            return self.walk(self.above(from)?, rest, depth);
        }
        if *first == "*" {
            return Some(Place::Module(from));
        }
        if let Some(below) = self.below(from, first) {
            return self.walk(below, rest, depth);
        }
        if self.import(from, first).is_some() {
            let whole: Vec<&str> = path.to_vec();
            return self.find(from, &whole, depth);
        }
        let globs = self.all[from].imports.iter().filter(|import| import.name == "*");
        for glob in globs.filter(|_| !self.declares(from, first)) {
            let glob: Vec<&str> = glob.path.split("::").collect();
            if let Some(Place::Module(at)) = self.find(from, &glob, depth.checked_sub(1)?)
                && at != from
                && (self.declares(at, first) || self.import(at, first).is_some())
            {
                return self.walk(at, path, depth.checked_sub(1)?);
            }
        }
        Some(Place::ItemOf(from))
    }

    fn above(&self, of: usize) -> Option<usize> {
        let (_, above) = self.all[of].path.split_last()?;
        self.by_path.get(above).copied()
    }

    fn below(&self, of: usize, name: &str) -> Option<usize> {
        let mut path = self.all[of].path.clone();
        path.push(name.to_owned());
        self.by_path.get(&path).copied()
    }

    /// The path imported under this name.
    fn import(&self, of: usize, name: &str) -> Option<Vec<&str>> {
        let mut imports = self.all[of].imports.iter();
        imports.find(|import| import.name == name).map(|import| import.path.split("::").collect())
    }

    /// Whether a module declares an item with this name.
    fn declares(&self, of: usize, name: &str) -> bool {
        const BEFORE: [&str; 9] =
            ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "macro_rules"];
        self.all[of].code.iter().any(|(_, code)| {
            let words: Vec<&str> = words(code).collect();
            words.windows(2).any(|pair| BEFORE.contains(&pair[0]) && pair[1] == name)
        })
    }
}

/// Path of a file's module in its crate.
fn path_of(file: &str) -> Vec<String> {
    let file = file.strip_suffix(".rs").unwrap_or(file);
    let mut path: Vec<String> = file.split('/').map(str::to_owned).collect();
    let is_root = path.len() == 1 && ["lib", "main"].contains(&&*path[0]);
    if is_root || path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    path
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c| !in_word(c)).filter(|word| !word.is_empty())
}

/// The paths with more than one segment in a line, except continuations of `<T>`.
fn paths(code: &str) -> impl Iterator<Item = Vec<&str>> {
    let runs = code.split(|c| !in_word(c) && c != ':');
    runs.filter(|run| run.contains("::") && !run.starts_with(':')).map(|run| {
        let parts = run.split("::").take_while(|part| !part.is_empty() && !part.contains(':'));
        parts.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(files: &[(&str, &str)]) -> Graph {
        let file = |(path, text): &(&str, &str)| File {
            path: format!("crates/x/src/{path}"),
            text: (*text).to_owned(),
        };
        let files: Vec<File> = files.iter().map(file).collect();
        Graph::of("x", &files)
    }

    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let graph = graph(files);
        let arrow =
            |(from, to): &(usize, usize)| format!("{}>{}", graph.files[*from], graph.files[*to]);
        graph.arrows.keys().map(arrow).collect()
    }

    #[test]
    fn a_path_leads_to_the_file_that_has_the_item() {
        let lib = ("lib.rs", "mod a;\nmod b;\npub use a::deep::Item;\npub use a::*;\n");
        let a = ("a/mod.rs", "mod deep;\npub(crate) use deep::Other as Same;\nfn own() {}\n");
        let deep = ("a/deep.rs", "struct Item;\nstruct Other;\n");
        for (user, to) in [
            ("use crate::Item;", "a/deep.rs"),
            ("use crate::a::{Same};", "a/deep.rs"),
            ("use super::Same;", "a/deep.rs"),
            ("use crate::a;\nlet x = a::Same::new();", "a/deep.rs"),
            ("use crate::a::deep as other;\nother::f::<u8>();", "a/deep.rs"),
            ("let x = crate::a::own();", "a/mod.rs"),
            ("use crate::a::*;", "a/mod.rs"),
            ("macro_rules! m { () => { $crate::own() } }", "a/mod.rs"),
        ] {
            let found = arrows(&[lib, a, deep, ("b.rs", user)]);
            assert_eq!(found, [format!("b.rs>{to}")], "{user}");
        }
        for user in ["use std::a;", "use crate::a;", "// crate::a::own()", "pub use crate::Item;"] {
            assert!(arrows(&[lib, a, deep, ("b.rs", user)]).is_empty(), "{user}");
        }
    }

    #[test]
    fn cycles_are_found_the_largest_first() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\nmod e;\nmod f;\n"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::a::A;\nuse crate::d::D;"),
            ("d.rs", "use crate::e::E;"),
            ("e.rs", "use crate::d::D;"),
            ("f.rs", "use crate::a::A;"),
        ];
        let graph = graph(&files);
        let cycles: Vec<Vec<_>> =
            graph.cycles().into_iter().map(|c| c.into_iter().collect()).collect();
        assert_eq!(cycles, [vec!["a.rs", "b.rs", "c.rs"], vec!["d.rs", "e.rs"]]);
    }
}
