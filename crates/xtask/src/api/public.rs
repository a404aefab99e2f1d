//! The public items of a crate: a walk from its root.

use super::tree::{Crates, Place, Target, is_hiding, name_of};
use super::words::text;
use super::written::Macros;
use super::{macros, rules};
use std::collections::{BTreeMap, BTreeSet};
use syn::{Fields, ImplItem, Item, ItemImpl, TraitItem, Type, Visibility};

const UNNAMED: &str = "re-export it, or return something else";

/// The lines of the snapshot, in order, and violated rules.
#[derive(Default)]
pub(super) struct Public {
    pub(super) lines: Vec<String>,
    pub(super) breaches: Vec<String>,
}

/// An `impl` block, and the module that it is in.
#[derive(Clone)]
struct Block<'a> {
    of: &'a ItemImpl,
    place: Place,
}

struct Walk<'a> {
    crates: &'a Crates,
    /// The `impl` blocks of types.
    impls: BTreeMap<(Place, usize), Vec<Block<'a>>>,
    /// Lines for types from macros, to be prefixed with the type's path.
    written: BTreeMap<(Place, usize), Vec<String>>,
    /// The first path to each item and module.
    seen: BTreeMap<Target, String>,
    /// The module of what is being described.
    here: Place,
    /// Types in signatures: where they are, and what they are.
    used: Vec<(String, Target)>,
    found: Public,
}

impl Public {
    pub(super) fn of(name: &str, crates: &Crates) -> Public {
        let mut walk = Walk {
            crates,
            impls: BTreeMap::new(),
            written: BTreeMap::new(),
            seen: BTreeMap::new(),
            here: (name.to_owned(), 0),
            used: Vec::new(),
            found: Public::default(),
        };
        let mut macros = Macros::default();
        for name in crates.names() {
            let places = crates.places(name).into_iter();
            places.for_each(|at| crates.module(&at).items.iter().for_each(|it| macros.add(it)));
        }
        for name in crates.names() {
            walk.collect_impls(name);
            walk.collect_written(name, &macros);
        }
        walk.module(name, &(name.to_owned(), 0));
        walk.find_unnamed();
        walk.found.lines.sort();
        walk.found.lines.dedup();
        walk.found
    }

    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

impl<'a> Walk<'a> {
    fn collect_impls(&mut self, name: &str) {
        for from in self.crates.places(name) {
            for item in &self.crates.module(&from).items {
                let Item::Impl(block) = item else { continue };
                let Some(path) = path_of(&block.self_ty) else { continue };
                for target in self.crates.find(&from, &path, 0) {
                    if let Target::Item(place, number) = target {
                        let at = self.impls.entry((place, number)).or_default();
                        at.push(Block { of: block, place: from.clone() });
                    }
                }
            }
        }
    }

    fn collect_written(&mut self, name: &str, macros: &Macros) {
        for place in self.crates.places(name) {
            for (number, item) in self.crates.module(&place).items.iter().enumerate() {
                let Item::Macro(item) = item else { continue };
                for written in macros.of_call(&item.mac) {
                    let declared = || vec![Target::Item(place.clone(), number)];
                    let named = |name: String| self.crates.find(&place, &[name], 0);
                    for target in written.of.map_or_else(declared, named) {
                        if let Target::Item(place, number) = target {
                            let lines = self.written.entry((place, number)).or_default();
                            lines.extend(written.lines.iter().cloned());
                        }
                    }
                }
            }
        }
    }

    /// Own items first, so that re-exports refer to them.
    fn module(&mut self, path: &str, place: &Place) {
        let crates = self.crates;
        let module = crates.module(place);
        for (number, item) in module.items.iter().enumerate() {
            let Some(name) = name_of(item) else { continue };
            let is_macro = matches!(item, Item::Macro(_));
            if is_macro || is_public(item) {
                self.target(&format!("{path}::{name}"), &Target::Item(place.clone(), number));
            }
        }
        // Names of single items before whole modules, so that the shorter path comes first.
        let mut modules = Vec::new();
        for item in &module.items {
            let Item::Mod(declared) = item else { continue };
            if matches!(declared.vis, Visibility::Public(_)) {
                let name = declared.ident.to_string();
                let below = (place.0.clone(), module.below[&name]);
                modules.push((format!("{path}::{name}"), Target::Module(below)));
            }
        }
        for leaf in module.public_uses() {
            for target in crates.find(place, &leaf.path, 0) {
                match (&*leaf.name, target) {
                    ("*", Target::Module(at)) => self.module(path, &at),
                    (name, target @ Target::Module(_)) => {
                        modules.push((format!("{path}::{name}"), target));
                    }
                    (name, Target::Foreign(of)) => {
                        self.found.lines.push(format!("{path}::{name} = {of}"));
                    }
                    (name, target) => modules.push((format!("{path}::{name}"), target)),
                }
            }
        }
        // Modules first: an item is described where it is defined.
        modules.sort_by_key(|(_, target)| matches!(target, Target::Item(..)));
        modules.iter().for_each(|(path, target)| self.target(path, target));
    }

    fn target(&mut self, path: &str, target: &Target) {
        if let Some(first) = self.seen.get(target) {
            if first != path {
                self.found.lines.push(format!("{path} = {first}"));
            }
            return;
        }
        self.seen.insert(target.clone(), path.to_owned());
        match target {
            Target::Module(place) => {
                self.found.lines.push(format!("{path}: mod"));
                self.module(path, place);
            }
            Target::Item(place, number) => {
                let crates = self.crates;
                let item = &crates.module(place).items[*number];
                let impls = self.impls.get(&(place.clone(), *number)).cloned().unwrap_or_default();
                self.here.clone_from(place);
                self.item(path, item, &impls);
                let written = self.written.get(&(place.clone(), *number)).into_iter().flatten();
                self.found.lines.extend(written.map(|line| format!("{path}{line}")));
            }
            Target::Foreign(_) => {}
        }
    }

    fn item(&mut self, path: &str, item: &Item, blocks: &[Block<'a>]) {
        let impls: Vec<&ItemImpl> = blocks.iter().map(|block| block.of).collect();
        let impls = &*impls;
        let mut head = String::new();
        match item {
            Item::Const(item) => self.typed(&format!("{path}: const {}", text(&item.ty)), &item.ty),
            Item::Static(item) => {
                self.typed(&format!("{path}: static {}", text(&item.ty)), &item.ty)
            }
            Item::Type(item) => {
                let generics = text(&item.generics);
                self.typed(&format!("{path}{generics}: type {}", text(&item.ty)), &item.ty);
            }
            Item::Fn(item) => self.function(path, &item.sig, item.sig.ident.to_string().len()),
            Item::Struct(item) => {
                head = format!("{path}{}: struct", text(&item.generics));
                head += &derives(&item.attrs, impls);
                self.fields(path, &item.fields, &mut head);
            }
            Item::Enum(item) => {
                head =
                    format!("{path}{}: enum{}", text(&item.generics), derives(&item.attrs, impls));
                for variant in &item.variants {
                    if matches!(variant.fields, Fields::Named(_) | Fields::Unnamed(_)) {
                        variant.fields.iter().for_each(|field| {
                            self.rule(path, rules::of_type(&field.ty));
                            self.uses(path, rules::types_of_type(&field.ty));
                        });
                    }
                    let bare = syn::Variant {
                        attrs: Vec::new(),
                        fields: bare(&variant.fields),
                        ..variant.clone()
                    };
                    self.found.lines.push(format!("{path}::{}", text(bare)));
                }
            }
            Item::Trait(item) => {
                let above = text(&item.supertraits);
                head = format!("{path}{}: trait {above}", text(&item.generics));
                head.truncate(head.trim_end().len());
                item.items.iter().for_each(|member| self.trait_member(path, member));
            }
            Item::Macro(item) => {
                let Some(made) = macros::declared(&item.mac) else { return };
                let by = item.mac.path.segments.last().map(|last| last.ident.to_string());
                head = format!("{path}: {}, of {}!", made.kind, by.unwrap_or_default());
                head += &derives(&[], impls);
                let member = |member: String| format!("{path}: {member}");
                self.found.lines.extend(made.members.into_iter().map(member));
            }
            _ => return,
        }
        if !head.is_empty() {
            self.found.lines.push(head);
        }
        for block in blocks.iter().filter(|block| block.of.trait_.is_none()) {
            self.here.clone_from(&block.place);
            self.block(path, block.of);
        }
    }

    /// Types that a caller gets, but cannot name.
    fn find_unnamed(&mut self) {
        for (at, target) in std::mem::take(&mut self.used) {
            let Target::Item(place, number) = &target else { continue };
            let item = &self.crates.module(place).items[*number];
            // What an alias stands for need not have this name.
            let name = name_of(item).filter(|_| !matches!(item, Item::Type(_)));
            if let Some(name) = name.filter(|_| !self.seen.contains_key(&target)) {
                let breach = format!("{at}: {name} cannot be named from here: {UNNAMED}");
                self.found.breaches.push(breach);
            }
        }
    }

    /// Notes the types in what is being described.
    fn uses(&mut self, at: &str, paths: Vec<Vec<String>>) {
        for path in paths {
            let found = self.crates.find(&self.here, &path, 0);
            self.used.extend(found.into_iter().map(|target| (at.to_owned(), target)));
        }
    }

    fn trait_member(&mut self, path: &str, member: &TraitItem) {
        match member {
            TraitItem::Fn(member) => {
                let name = member.sig.ident.to_string();
                self.function(&format!("{path}::{name}"), &member.sig, name.len());
            }
            TraitItem::Type(member) => {
                self.found.lines.push(format!("{path}::{}: type", member.ident));
            }
            TraitItem::Const(member) => {
                let line = format!("{path}::{}: const {}", member.ident, text(&member.ty));
                self.typed(&line, &member.ty);
            }
            _ => {}
        }
    }

    /// Adds the items of an `impl` block to a type.
    fn block(&mut self, path: &str, block: &ItemImpl) {
        for member in &block.items {
            match member {
                ImplItem::Fn(member) if matches!(member.vis, Visibility::Public(_)) => {
                    let name = member.sig.ident.to_string();
                    let path = format!("{path}::{name}");
                    // What is hidden can still be called.
                    match member.attrs.iter().any(is_hiding) {
                        true => self.rules(&path, &member.sig),
                        false => self.function(&path, &member.sig, name.len()),
                    }
                }
                ImplItem::Const(member) if matches!(member.vis, Visibility::Public(_)) => {
                    let line = format!("{path}::{}: const {}", member.ident, text(&member.ty));
                    self.typed(&line, &member.ty);
                }
                _ => {}
            }
        }
    }

    fn fields(&mut self, path: &str, fields: &Fields, head: &mut String) {
        let mut hidden = false;
        for (number, field) in fields.iter().enumerate() {
            if !matches!(field.vis, Visibility::Public(_)) || field.attrs.iter().any(is_hiding) {
                hidden = true;
                continue;
            }
            let name = field.ident.as_ref().map_or(number.to_string(), ToString::to_string);
            self.typed(&format!("{path}.{name}: {}", text(&field.ty)), &field.ty);
            self.rule(&format!("{path}.{name}"), rules::of_field(&name, &field.ty));
        }
        if hidden {
            *head = head.replacen(": struct", ": struct { .. }", 1);
        }
    }

    fn rules(&mut self, path: &str, signature: &syn::Signature) {
        self.rule(path, rules::of_signature(signature));
        self.uses(path, rules::types_of_signature(signature));
    }

    fn function(&mut self, path: &str, signature: &syn::Signature, name: usize) {
        self.rules(path, signature);
        let words = text(signature);
        let (before, after) = words.split_once("fn ").unwrap_or(("", &words));
        self.found.lines.push(format!("{path}{} {before}", &after[name..]).trim_end().to_owned());
    }

    fn typed(&mut self, line: &str, ty: &Type) {
        self.rule(line, rules::of_type(ty));
        self.uses(line, rules::types_of_type(ty));
        self.found.lines.push(line.to_owned());
    }

    fn rule(&mut self, at: &str, breach: Option<&str>) {
        self.found.breaches.extend(breach.map(|breach| format!("{at}: {breach}")));
    }
}

fn is_public(item: &Item) -> bool {
    let vis = match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        _ => return false,
    };
    matches!(vis, Visibility::Public(_))
}

/// The path of a type without its arguments.
fn path_of(ty: &Type) -> Option<Vec<String>> {
    let Type::Path(ty) = ty else { return None };
    Some(ty.path.segments.iter().map(|segment| segment.ident.to_string()).collect())
}

/// Fields without attributes.
fn bare(fields: &Fields) -> Fields {
    let mut fields = fields.clone();
    fields.iter_mut().for_each(|field| field.attrs.clear());
    fields
}

/// The traits of a type, from `derive` or `impl`, and whether it is `non_exhaustive`.
fn derives(attributes: &[syn::Attribute], impls: &[&ItemImpl]) -> String {
    let mut traits = BTreeSet::new();
    let mut open = "";
    for attribute in attributes {
        if attribute.path().is_ident("non_exhaustive") {
            open = ", non_exhaustive";
        }
        if let (true, syn::Meta::List(list)) =
            (attribute.path().is_ident("derive"), &attribute.meta)
        {
            let names = text(&list.tokens);
            traits.extend(names.split(',').filter_map(last_word));
        }
    }
    for block in impls {
        if let Some((_, path, _)) = &block.trait_ {
            let name = path.segments.last().map(text);
            traits.extend(name);
        }
    }
    traits.iter().fold(open.to_owned(), |all, name| format!("{all}, {name}"))
}

fn last_word(path: &str) -> Option<String> {
    path.rsplit("::").next().map(|last| last.trim().to_owned()).filter(|last| !last.is_empty())
}
