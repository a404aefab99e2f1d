//! Types that macros declare: `bitflags! { pub struct Flags: u32 { const A = 1; } }`.

use super::words::text;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A public type declared by a macro call.
pub(super) struct Declared {
    pub(super) name: String,
    /// `struct` or `enum`.
    pub(super) kind: String,
    /// `const A = 1`.
    pub(super) members: Vec<String>,
}

/// The type that a macro call declares, if it has this form.
pub(super) fn declared(of: &syn::Macro) -> Option<Declared> {
    let tokens: Vec<TokenTree> = of.tokens.clone().into_iter().collect();
    let is = |tree: &TokenTree, word: &str| matches!(tree, TokenTree::Ident(i) if i == word);
    let at = tokens.windows(3).position(|three| {
        is(&three[0], "pub") && ["struct", "enum"].iter().any(|word| is(&three[1], word))
    })?;
    let body = tokens[at + 3..].iter().find_map(|tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
        _ => None,
    })?;
    let (kind, name) = (tokens[at + 1].to_string(), tokens[at + 2].to_string());
    Some(Declared { name, kind, members: members(body) })
}

/// The parts separated by semicolons, or by commas if there are none, without attributes and
/// comments.
pub(super) fn members(body: TokenStream) -> Vec<String> {
    let is_end = |tree: &TokenTree| matches!(tree, TokenTree::Punct(p) if p.as_char() == ';');
    let end = if body.clone().into_iter().any(|tree| is_end(&tree)) { ';' } else { ',' };
    let mut found = vec![TokenStream::new()];
    let mut trees = body.into_iter();
    while let Some(tree) = trees.next() {
        match &tree {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                trees.next();
            }
            TokenTree::Punct(punct) if punct.as_char() == end => {
                found.push(TokenStream::new());
            }
            _ => found.last_mut().into_iter().for_each(|last| last.extend([tree.clone()])),
        }
    }
    found.into_iter().filter(|member| !member.is_empty()).map(text).collect()
}
