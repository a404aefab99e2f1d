//! The crates of this repository as module trees, and the resolution of paths.

use super::macros;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Item, UseTree, Visibility};

/// A module of a crate: the crate's name in paths (`skep_btf`), the index of the module.
pub(super) type Place = (String, usize);

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Module(Place),
    /// An item of a module, by index.
    Item(Place, usize),
    /// An item of another project's crate.
    Foreign(String),
}

#[derive(Default)]
pub(super) struct Module {
    pub(super) items: Vec<Item>,
    /// Names of submodules, and their indices.
    pub(super) below: BTreeMap<String, usize>,
    above: Option<usize>,
    uses: Vec<Use>,
}

/// A leaf of a `use`.
pub(super) struct Use {
    pub(super) path: Vec<String>,
    /// `*` for all of a module.
    pub(super) name: String,
    pub(super) is_public: bool,
}

/// The crates by name in paths; module 0 is the root.
#[derive(Default)]
pub(super) struct Crates(BTreeMap<String, Vec<Module>>);

/// Maximum number of imports followed for one path.
const DEPTH_MAX: usize = 16;

impl Crates {
    /// Reads the crates in `crates/`.
    pub(super) fn read(root: &Path) -> Result<Crates, Box<dyn Error>> {
        let mut crates = Crates::default();
        for folder in fs::read_dir(root.join("crates"))? {
            let folder = folder?;
            let name = folder.file_name().to_string_lossy().into_owned();
            let name = if name == "skep" { name } else { format!("skep_{name}") };
            let src = folder.path().join("src");
            if src.join("lib.rs").is_file() {
                let read = |path: &Path| fs::read_to_string(src.join(path)).ok();
                crates.add(&name, &read)?;
            }
        }
        Ok(crates)
    }

    /// From files: package, path, text.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str, &str)]) -> Result<Crates, Box<dyn Error>> {
        let mut crates = Crates::default();
        for (name, ..) in files.iter().filter(|(_, path, _)| *path == "lib.rs") {
            let read = |path: &Path| {
                let mut all = files.iter();
                let found = all.find(|(of, at, _)| of == name && Path::new(at) == path);
                found.map(|(.., text)| (*text).to_owned())
            };
            crates.add(&name.replace('-', "_"), &read)?;
        }
        Ok(crates)
    }

    fn add(
        &mut self,
        name: &str,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<(), Box<dyn Error>> {
        let text = read(Path::new("lib.rs")).ok_or("no lib.rs")?;
        let items = syn::parse_file(&text).map_err(|e| format!("{name}: lib.rs: {e}"))?.items;
        let mut modules = vec![Module::default()];
        fill(&mut modules, 0, items, &Files { folder: PathBuf::new(), read })?;
        self.0.insert(name.to_owned(), modules);
        Ok(())
    }

    pub(super) fn module(&self, place: &Place) -> &Module {
        &self.0[&place.0][place.1]
    }

    /// All modules of a crate.
    pub(super) fn places(&self, name: &str) -> Vec<Place> {
        (0..self.0[name].len()).map(|at| (name.to_owned(), at)).collect()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// The targets of a path in a module; several if a name is both a type and a function.
    pub(super) fn find(&self, from: &Place, path: &[String], depth: usize) -> Vec<Target> {
        let Some((first, rest)) = path.split_first().filter(|_| depth < DEPTH_MAX) else {
            return vec![];
        };
        let module = self.module(from);
        let next = |at: usize| (from.0.clone(), at);
        match &**first {
            "crate" => return self.inside(&next(0), rest, depth),
            "self" => return self.inside(from, rest, depth),
            "super" => {
                return module.above.map_or(vec![], |at| self.inside(&next(at), rest, depth));
            }
            _ => {}
        }
        let here = self.inside(from, path, depth);
        if !here.is_empty() {
            return here;
        }
        match self.0.contains_key(first) {
            true => self.inside(&(first.clone(), 0), rest, depth),
            false => vec![Target::Foreign(path.join("::"))],
        }
    }

    /// Resolves a path inside a module.
    fn inside(&self, from: &Place, path: &[String], depth: usize) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else {
            return vec![Target::Module(from.clone())];
        };
        if depth >= DEPTH_MAX {
            return vec![];
        }
        let module = self.module(from);
        if first == "self" || first == "super" {
            return self.find(from, path, depth + 1);
        }
        if let Some(&below) = module.below.get(first) {
            return self.inside(&(from.0.clone(), below), rest, depth);
        }
        let own =
            (0..).zip(&module.items).filter(|(_, item)| name_of(item).as_ref() == Some(first));
        let own: Vec<Target> = own.map(|(number, _)| Target::Item(from.clone(), number)).collect();
        if !own.is_empty() {
            return own;
        }
        let named = module.uses.iter().filter(|leaf| leaf.name == *first);
        for leaf in named.filter(|leaf| leaf.path != path) {
            let whole: Vec<String> = leaf.path.iter().chain(rest).cloned().collect();
            let found = self.find(from, &whole, depth + 1);
            if !found.is_empty() {
                return found;
            }
        }
        for glob in module.uses.iter().filter(|leaf| leaf.name == "*") {
            for target in self.find(from, &glob.path, depth + 1) {
                if let Target::Module(at) = target
                    && at != *from
                {
                    let found = self.inside(&at, path, depth + 1);
                    if !found.is_empty() {
                        return found;
                    }
                }
            }
        }
        vec![]
    }
}

impl Module {
    pub(super) fn public_uses(&self) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(|leaf| leaf.is_public)
    }
}

/// The files of modules.
struct Files<'a> {
    folder: PathBuf,
    read: &'a dyn Fn(&Path) -> Option<String>,
}

fn fill(
    modules: &mut Vec<Module>,
    at: usize,
    items: Vec<Item>,
    files: &Files<'_>,
) -> Result<(), Box<dyn Error>> {
    for item in items.into_iter().filter(|item| !is_left_out(item)) {
        match item {
            Item::Mod(item) => {
                let name = item.ident.to_string();
                let folder = files.folder.join(&name);
                let inner = match item.content {
                    Some((_, items)) => items,
                    None => {
                        let paths = [folder.with_extension("rs"), folder.join("mod.rs")];
                        let text = paths.iter().find_map(|path| (files.read)(path));
                        let text = text.ok_or_else(|| format!("no file of module {name}"))?;
                        syn::parse_file(&text)
                            .map_err(|e| format!("{}: {e}", folder.display()))?
                            .items
                    }
                };
                let number = modules.len();
                modules.push(Module { above: Some(at), ..Module::default() });
                modules[at].below.insert(name, number);
                // The declaration is kept for its visibility; its contents are a separate module.
                modules[at].items.push(Item::Mod(syn::ItemMod { content: None, ..item }));
                fill(modules, number, inner, &Files { folder, read: files.read })?;
            }
            Item::Use(item) => {
                let is_public = matches!(item.vis, Visibility::Public(_));
                let mut path = Vec::new();
                leaves(&item.tree, &mut path, is_public, &mut modules[at].uses);
            }
            item => modules[at].items.push(item),
        }
    }
    Ok(())
}

fn leaves(tree: &UseTree, path: &mut Vec<String>, is_public: bool, found: &mut Vec<Use>) {
    let mut leaf = |path: &[String], name: String| {
        let path = match path.split_last() {
            Some((last, module)) if last == "self" => module,
            _ => path,
        };
        let name = if name == "self" { path.last().cloned().unwrap_or_default() } else { name };
        found.push(Use { path: path.to_vec(), name, is_public });
    };
    match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.to_string());
            leaves(&tree.tree, path, is_public, found);
            path.pop();
        }
        UseTree::Name(name) => {
            let whole = [path.clone(), vec![name.ident.to_string()]].concat();
            leaf(&whole, name.ident.to_string());
        }
        UseTree::Rename(name) => {
            let whole = [path.clone(), vec![name.ident.to_string()]].concat();
            leaf(&whole, name.rename.to_string());
        }
        UseTree::Glob(_) => leaf(path, "*".to_owned()),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| leaves(tree, path, is_public, found));
        }
    }
}

/// Whether an item is a test or hidden from documentation.
fn is_left_out(item: &Item) -> bool {
    let attributes = match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(is_hiding)
}

/// `#[cfg(test)]`, `#[cfg(doctest)]`, `#[cfg(loom)]`, `#[doc(hidden)]`.
pub(super) fn is_hiding(attribute: &syn::Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    let words = list.tokens.to_string();
    let first = words.split(|c: char| !c.is_alphanumeric() && c != '_').next();
    match () {
        () if list.path.is_ident("doc") => words == "hidden",
        () if list.path.is_ident("cfg") => {
            matches!(first, Some("test" | "doctest" | "loom"))
                || (first == Some("all") && words.contains("doctest"))
        }
        () => false,
    }
}

/// The name that an item declares.
pub(super) fn name_of(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Macro(item) => return macros::declared(&item.mac).map(|made| made.name),
        _ => return None,
    };
    Some(ident.to_string())
}
