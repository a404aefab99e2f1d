//! The functions, constants and types of the domain's source.

use std::collections::BTreeMap;
use std::path::Path;
use syn::{GenericParam, ImplItem, Item, Type};

/// A function: its name, its owner, and the owner's constants.
pub(super) struct Function {
    pub(super) sig: syn::Signature,
    pub(super) block: syn::Block,
    pub(super) owner: Option<String>,
    /// `W`, `H` of `impl<const W: u32, const H: u32>`.
    pub(super) consts: Vec<String>,
}

/// A struct: its constants, and its fields in order.
pub(super) struct Struct {
    pub(super) consts: Vec<String>,
    pub(super) fields: Vec<(String, Type)>,
}

/// The contents of the source, by name: `alu`, `Tnum::add`.
#[derive(Default)]
pub(super) struct Source {
    pub(super) functions: BTreeMap<String, Function>,
    pub(super) constants: BTreeMap<String, (Type, syn::Expr)>,
    pub(super) structs: BTreeMap<String, Struct>,
    pub(super) enums: BTreeMap<String, Vec<String>>,
    pub(super) aliases: BTreeMap<String, Type>,
    /// The file of each function.
    pub(super) files: BTreeMap<String, String>,
}

/// The files of a crate's `src`, as (name, text).
pub(super) fn files(folder: &Path) -> std::io::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".rs") {
            files.push((name, std::fs::read_to_string(entry.path())?));
        }
    }
    files.sort();
    Ok(files)
}

fn const_names(generics: &syn::Generics) -> Vec<String> {
    let name = |p: &GenericParam| match p {
        GenericParam::Const(c) => Some(c.ident.to_string()),
        _ => None,
    };
    generics.params.iter().filter_map(name).collect()
}

fn last_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
        _ => None,
    }
}

impl Source {
    pub(super) fn parse(files: &[(String, String)]) -> Result<Source, String> {
        let mut source = Source::default();
        for (name, text) in files {
            let file = syn::parse_file(text).map_err(|e| format!("{name}: {e}"))?;
            for item in file.items {
                source.item(name, item);
            }
        }
        Ok(source)
    }

    fn item(&mut self, file: &str, item: Item) {
        match item {
            Item::Fn(f) => {
                let consts = Vec::new();
                let function = Function { sig: f.sig, block: *f.block, owner: None, consts };
                self.function(file, function);
            }
            Item::Impl(block) => self.methods(file, block),
            Item::Const(c) => {
                self.constants.insert(c.ident.to_string(), (*c.ty, *c.expr));
            }
            Item::Struct(s) => {
                let fields = s.fields.into_iter();
                let fields = fields.filter_map(|f| Some((f.ident?.to_string(), f.ty))).collect();
                let consts = const_names(&s.generics);
                self.structs.insert(s.ident.to_string(), Struct { consts, fields });
            }
            Item::Enum(e) => {
                let variants = e.variants.iter().map(|v| v.ident.to_string()).collect();
                self.enums.insert(e.ident.to_string(), variants);
            }
            Item::Type(alias) => {
                self.aliases.insert(alias.ident.to_string(), *alias.ty);
            }
            _ => {}
        }
    }

    fn methods(&mut self, file: &str, block: syn::ItemImpl) {
        let Some(owner) = last_name(&block.self_ty) else { return };
        let consts = const_names(&block.generics);
        for item in block.items {
            match item {
                ImplItem::Fn(f) => {
                    let (owner, consts) = (Some(owner.clone()), consts.clone());
                    self.function(file, Function { sig: f.sig, block: f.block, owner, consts });
                }
                ImplItem::Const(c) => {
                    self.constants.insert(format!("{owner}::{}", c.ident), (c.ty, c.expr));
                }
                _ => {}
            }
        }
    }

    fn function(&mut self, file: &str, function: Function) {
        let name = function.sig.ident.to_string();
        for stmt in &function.block.stmts {
            if let syn::Stmt::Item(Item::Fn(f)) = stmt {
                self.item(file, Item::Fn(f.clone()));
            }
        }
        let key = function.owner.as_ref().map_or(name.clone(), |owner| format!("{owner}::{name}"));
        self.files.insert(key.clone(), file.to_owned());
        self.functions.insert(key, function);
    }
}
