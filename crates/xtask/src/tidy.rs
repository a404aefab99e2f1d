//! `cargo xtask tidy`: checks of the source tree for rules of the house. Also a test.
//!
//! Each message says what to do instead. Exceptions for sizes are listed in `tidy-exceptions.toml`,
//! tuple parameters are counted in `tidy-tuples.toml`; both may only shrink.

mod crates;
mod documents;
mod generated;
mod imports;
mod layers;
mod manifests;
mod modules;
mod outside_tests;
mod ratchet;
mod rejects;
mod sizes;
mod sources;
mod tree;
mod tuples;
mod versions;
mod wrap;

use std::path::Path;
use tree::{Breaches, File, read_tree};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Lower the stored sizes to the current ones, never raising one, and write the parts of
    /// documents that are generated from the tree.
    #[arg(long)]
    shrink: bool,
    /// Wrap comment lines that are too long.
    #[arg(long)]
    wrap: bool,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let root = crate::root();
    if args.wrap {
        wrap::wrap(&root, &read_tree(&root)?)?;
    }
    let mut files = read_tree(&root)?;
    if args.shrink {
        sizes::shrink(&root, &files)?;
        rejects::shrink(&root, &files)?;
        tuples::shrink(&root, &files)?;
        generated::write(&root, &files)?;
        files = read_tree(&root)?;
    }
    let breaches = check(&root, &files);
    breaches.iter().for_each(|breach| println!("{breach}"));
    println!("tidy: {} files, {} breaches", files.len(), breaches.len());
    Ok(breaches.is_empty().into())
}

fn check(root: &Path, files: &[File]) -> Breaches {
    let mut breaches = Breaches::new();
    crates::check(files, &mut breaches);
    crates::check_list(files, &mut breaches);
    crates::check_published(files, &mut breaches);
    manifests::check(files, &mut breaches);
    sources::check(files, &mut breaches);
    versions::check(files, &mut breaches);
    sizes::check(root, files, &mut breaches);
    documents::check(root, files, &mut breaches);
    rejects::check(root, files, &mut breaches);
    layers::check(root, files, &mut breaches);
    tuples::check(root, files, &mut breaches);
    generated::check(files, &mut breaches);
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let root = crate::root();
        let breaches = check(&root, &read_tree(&root).expect("the tree is readable"));
        assert!(breaches.is_empty(), "{}", breaches.join("\n"));
    }
}
