//! `cargo xtask api`: writes a snapshot of `skep`'s public API, which is committed so that every
//! change of it is seen in review. CI compares it (`--check`).
//!
//! It is read from the source, with all features enabled: every public item that can be named from
//! the root of `skep`, including those of other crates through `pub use`. Each item is described
//! once, under the first path that leads to it; further paths refer to that one.
//!
//! Two rules are checked: no tuple of more than two in a public signature, because its parts would
//! have no names; and no raw address as an argument or result of a safe function.
//!
//! Items produced by our own macros are printed as they appear in the macro, with `$` names
//! (`written`); for other macros, such as `bitflags!`, only the declared types with their members
//! are printed.

mod macros;
mod public;
mod rules;
mod tree;
mod words;
mod written;

use crate::outcome::{Ended, Outcome};
use public::Public;
use tree::Crates;

/// The snapshot.
const PAGE: &str = "crates/skep/api.txt";
const HEAD: &str = "# What `skep` lets others see. Written by `cargo xtask api`; a line that goes or\n\
                    # changes breaks who depends on it, and belongs in CHANGELOG.md.\n\n";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Compare with the file instead of writing it.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let public = Public::of("skep", &Crates::read(&crate::root())?);
    for breach in &public.breaches {
        println!("{breach}");
    }
    let page = format!("{HEAD}{}", public.text());
    let path = crate::root().join(PAGE);
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    if !args.check {
        std::fs::write(path, &page)?;
        println!("{PAGE}: {} items", public.lines.len());
    }
    let changed = if args.check { difference(&known, &page) } else { Vec::new() };
    changed.iter().for_each(|line| println!("{line}"));
    if !changed.is_empty() {
        println!("the public API is not what {PAGE} says: `cargo xtask api` writes it anew");
    }
    Ok(if changed.is_empty() { public.breaches.is_empty().into() } else { Ended::Failed })
}

/// Lines of each text that are not in the other.
fn difference(before: &str, after: &str) -> Vec<String> {
    let lacks = |text: &str, line: &&str| !text.lines().any(|other| other == *line);
    let gone = before.lines().filter(|line| lacks(after, line)).map(|line| format!("- {line}"));
    let new = after.lines().filter(|line| lacks(before, line)).map(|line| format!("+ {line}"));
    gone.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(lib: &str, other: &str) -> Public {
        let files = [("skep", "lib.rs", lib), ("skep-other", "lib.rs", other)];
        Public::of("skep", &Crates::of(&files).expect("parses"))
    }

    #[test]
    fn what_can_be_named_is_said_once() {
        let lib = "mod a { pub struct A { pub x: u32, y: u8 } impl A { pub fn f(&self) -> u8 { 1 } \
                   fn g() {} } pub struct Unnamed; }\n\
                   pub use a::A;\npub use skep_other as other;\npub use skep_other::E as Short;\n\
                   fn own() {}\n#[doc(hidden)] pub fn hidden() {}\n#[cfg(test)] pub mod t {}";
        let other = "pub enum E { One, Two(u8) } impl std::fmt::Display for E { }\n\
                     bits! { pub struct Flags: u32 { /// of a.\n const A = 1; const B = 2; } }";
        let wanted = "skep::A: struct { .. }\nskep::A.x: u32\nskep::A::f(&self) -> u8\n\
                      skep::other: mod\nskep::other::E: enum, Display\nskep::other::E::One\n\
                      skep::other::E::Two(u8)\nskep::other::Flags: struct, of bits!\n\
                      skep::other::Flags: const A = 1\nskep::other::Flags: const B = 2\n\
                      skep::Short = skep::other::E\n";
        let mut wanted: Vec<&str> = wanted.lines().collect();
        wanted.sort_unstable();
        assert_eq!(public(lib, other).lines, wanted);
    }

    #[test]
    fn long_tuples_and_addresses_are_breaches() {
        for (item, breach) in [
            ("pub fn f(a: (u8, u8)) {}", None),
            ("pub fn f(a: Option<&[(u8, u8, u8)]>) {}", Some("tuple")),
            ("pub struct S { pub a: (u8, u8, u8) }", Some("tuple")),
            ("pub struct S { a: (u8, u8, u8) }", None),
            ("pub trait T { fn f(&self) -> impl Fn((u8, u8, u8)); }", Some("tuple")),
            ("pub type T = Vec<(u8, u8, u8)>;", Some("tuple")),
            ("pub fn f() -> *const u8 {}", Some("address")),
            ("pub unsafe fn f() -> *const u8 {}", None),
            ("pub fn f(addr: u64) {}", Some("address")),
            ("pub fn map_address() -> u64 {}", Some("address")),
            ("pub fn local_addr() -> std::net::SocketAddr {}", None),
        ] {
            let found = public(item, "").breaches;
            assert_eq!(found.len(), usize::from(breach.is_some()), "{item}: {found:?}");
            assert!(found.iter().all(|f| f.contains(breach.unwrap_or_default())), "{found:?}");
        }
    }
}
