//! What macros of ours write for others: public methods and constants, and traits.
//!
//! A `macro_rules!` is not expanded. What stands in an `impl` of its text is said as it stands
//! there: `$Variant` is what each call has, and the call's own rows are said beside it. So whoever
//! changes the macro or a call of it changes the snapshot.

use super::macros::members;
use super::words::text;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::BTreeMap;
use syn::Item;

/// Macros by name; of several with one name all.
#[derive(Default)]
pub(super) struct Macros(BTreeMap<String, Vec<TokenStream>>);

/// An `impl` that a macro writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// The name of the type; none if it is of the type that the call declares.
    pub(super) of: Option<String>,
    /// What follows the type's path in the snapshot.
    pub(super) lines: Vec<String>,
}

impl Macros {
    pub(super) fn add(&mut self, item: &Item) {
        let Item::Macro(item) = item else { return };
        if let Some(name) = &item.ident {
            self.0.entry(name.to_string()).or_default().push(item.mac.tokens.clone());
        }
    }

    /// What a call writes.
    pub(super) fn of_call(&self, call: &syn::Macro) -> Vec<Written> {
        let name = call.path.segments.last().map(|last| last.ident.to_string());
        let name = name.unwrap_or_default();
        let mut found = Vec::new();
        self.called(&name, 0, &mut found);
        // Rows of a type that is not declared here are said nowhere else.
        for written in found.iter_mut().filter(|written| written.of.is_some()) {
            let rows = members(call.tokens.clone()).into_iter();
            written.lines.extend(rows.map(|row| format!(": {name}!({row})")));
        }
        found
    }

    fn called(&self, name: &str, depth: usize, found: &mut Vec<Written>) {
        /// Macros that call macros.
        const DEPTH_MAX: usize = 4;
        let texts = self.0.get(name).filter(|_| depth < DEPTH_MAX);
        for tokens in texts.into_iter().flatten() {
            self.scan(tokens.clone(), name, depth, found);
        }
    }

    /// Looks for `impl ... { ... }`, and for calls of other macros.
    fn scan(&self, tokens: TokenStream, name: &str, depth: usize, found: &mut Vec<Written>) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(tree) = trees.get(at) {
            at += 1;
            match tree {
                TokenTree::Ident(word) if word == "impl" => {
                    let rest = &trees[at..];
                    let Some((head, body)) = up_to_block(rest) else { continue };
                    at += head.len() + 1;
                    found.extend(block(head, body, name));
                }
                TokenTree::Ident(other) if is_punct(trees.get(at), '!') && other != name => {
                    self.called(&other.to_string(), depth + 1, found);
                }
                TokenTree::Group(group) => self.scan(group.stream(), name, depth, found),
                _ => {}
            }
        }
    }
}

fn is_punct(tree: Option<&TokenTree>, wanted: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// What stands before the next block, and the block; none if a semicolon comes first.
fn up_to_block(trees: &[TokenTree]) -> Option<(&[TokenTree], &Group)> {
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                return Some((&trees[..at], group));
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => return None,
            _ => {}
        }
    }
    None
}

/// An `impl`: of a trait, or of methods.
fn block(head: &[TokenTree], body: &Group, name: &str) -> Option<Written> {
    let is_for = |tree: &TokenTree| matches!(tree, TokenTree::Ident(word) if word == "for");
    let for_at = head.iter().position(is_for);
    let of = match for_at {
        Some(at) => &head[at + 1..],
        None => head,
    };
    let is_variable = is_punct(of.first(), '$');
    let type_name = of.iter().find_map(|tree| match tree {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    })?;
    let lines = match for_at {
        Some(at) => vec![format!(": {}, of {name}!", text_of(&head[..at]))],
        None => methods(body.stream(), name),
    };
    Some(Written { of: (!is_variable).then_some(type_name), lines })
}

/// Public methods and constants of a block, those of repetitions too.
fn methods(body: TokenStream, name: &str) -> Vec<String> {
    let trees: Vec<TokenTree> = body.into_iter().collect();
    let mut found = Vec::new();
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Ident(word) if word == "pub" => {
                let is_end = |tree: &TokenTree| match tree {
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                    TokenTree::Punct(punct) => matches!(punct.as_char(), ';' | '='),
                    _ => false,
                };
                let rest = &trees[at + 1..];
                // `Item = T` of a result is inside of a signature.
                let has_fn = rest.iter().take(3).any(|tree| tree.to_string() == "fn");
                let ends = |tree: &TokenTree| match tree {
                    TokenTree::Punct(punct) if has_fn && punct.as_char() == '=' => false,
                    tree => is_end(tree),
                };
                let end = rest.iter().position(ends).unwrap_or(rest.len());
                found.push(format!("::{}, of {name}!", text_of(&rest[..end])));
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                found.extend(methods(group.stream(), name));
            }
            _ => {}
        }
    }
    found
}

fn text_of(trees: &[TokenTree]) -> String {
    text(trees.iter().cloned().collect::<TokenStream>()).replace("$ ", "$")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(file: &str) -> Vec<Written> {
        let items = syn::parse_file(file).expect("parses").items;
        let mut macros = Macros::default();
        items.iter().for_each(|item| macros.add(item));
        let calls = items.iter().filter_map(|item| match item {
            Item::Macro(item) if item.ident.is_none() => Some(&item.mac),
            _ => None,
        });
        calls.flat_map(|call| macros.of_call(call)).collect()
    }

    #[test]
    fn methods_and_traits_are_found() {
        let file = "macro_rules! causes { ($($c:ty),*) => { $(impl From<$c> for Error { \
                    fn from(c: $c) -> Error { Error } })* }; }\n\
                    macro_rules! kinds { (pub enum $T:ident { $($V:ident),* }) => { pub enum $T \
                    { $($V),* } impl $T { pub const fn all() -> impl Iterator<Item = $T> { x } \
                    fn own() {} pub const N: usize = 1; } } }\n\
                    causes!(u8, u16);\nkinds! { pub enum Kind { A, B } }";
        let of = |of: Option<&str>, lines: &[&str]| Written {
            of: of.map(str::to_owned),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        assert_eq!(
            written(file),
            [
                of(Some("Error"), &[": From<$c>, of causes!", ": causes!(u8)", ": causes!(u16)"]),
                of(
                    None,
                    &[
                        "::const fn all() -> impl Iterator<Item = $T>, of kinds!",
                        "::const N: usize, of kinds!"
                    ]
                ),
            ]
        );
    }
}
