//! Parameters that are tuples: their parts have no names where the function is called. The number
//! of each crate is stored and may only shrink.

use super::ratchet::{Numbers, Ratchet};
use super::tree::{Breaches, File};
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{FnArg, ItemMod, Signature, Type};

/// Number of such parameters by crate, outside of tests.
const TABLE: Ratchet = Ratchet {
    file: "tidy-tuples.toml",
    head: "# Number of parameters that are tuples, by crate: checked by `cargo xtask tidy`, may only shrink.\n\n",
    fewer: "has fewer now",
};

pub(super) fn check(root: &Path, files: &[File], breaches: &mut Breaches) {
    TABLE.check(root, &counts(files), breaches, |name, count, limit| {
        format!(
            "crates/{name}: {count} parameters are tuples, at most {limit}; pass the parts one by \
             one, or as a struct that names them"
        )
    });
}

/// Lowers the stored numbers.
pub(super) fn shrink(root: &Path, files: &[File]) -> Result<(), Box<dyn std::error::Error>> {
    TABLE.shrink(root, &counts(files))
}

/// By crate, only those that have any.
fn counts(files: &[File]) -> Numbers {
    let mut counts = Numbers::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let name = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
        if let Some((name, _)) = name
            && let count @ 1.. = of_file(&file.text)
        {
            *counts.entry(name.to_owned()).or_default() += count;
        }
    }
    counts
}

fn of_file(text: &str) -> usize {
    let mut counter = Counter(0);
    // What does not parse does not compile either.
    if let Ok(file) = syn::parse_file(text) {
        counter.visit_file(&file);
    }
    counter.0
}

struct Counter(usize);

impl<'ast> Visit<'ast> for Counter {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        let is_tuple = |input: &&FnArg| matches!(input, FnArg::Typed(it) if has_parts(&it.ty));
        self.0 += signature.inputs.iter().filter(is_tuple).count();
        visit::visit_signature(self, signature);
    }
}

fn has_parts(ty: &Type) -> bool {
    match ty {
        Type::Tuple(tuple) => tuple.elems.len() > 1,
        Type::Reference(to) => has_parts(&to.elem),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_are_counted_outside_of_tests() {
        let text = "fn a((x, y): (u8, u8), z: &(u8, u8), u: ()) {}\n\
                    impl A { fn b(&self, (x, y): (u8, u8)) -> (u8, u8) { (x, y) } }\n\
                    #[cfg(test)]\nmod tests { fn c((x, y): (u8, u8)) {} }\n";
        assert_eq!(of_file(text), 3);
    }

    #[test]
    fn the_number_may_only_shrink() {
        let text = "fn a((x, y): (u8, u8)) {}\n".to_owned();
        let files = [File { path: "crates/a/src/lib.rs".to_owned(), text }];
        let root = tempfile::tempdir().expect("a folder");
        let count = || {
            let mut breaches = Breaches::new();
            check(root.path(), &files, &mut breaches);
            breaches.len()
        };
        assert_eq!(count(), 1);
        std::fs::write(root.path().join(TABLE.file), "a = 2\nb = 1\n").expect("written");
        assert_eq!(count(), 2, "fewer than stored");
        shrink(root.path(), &files).expect("shrunk");
        assert_eq!(count(), 0);
    }
}
