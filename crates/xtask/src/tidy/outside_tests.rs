//! The lines of a source that are not tests: all but the items marked `#[cfg(test)]`, wherever they
//! stand.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::ops::RangeInclusive;

const MARK: &str = "#[cfg(test)]";

/// The numbers (from 1) and texts of the lines that are outside of tests.
pub(super) fn lines_outside_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let marked = marked(text);
    let lines = (1..).zip(text.lines());
    lines.filter(move |(number, _)| !marked.iter().any(|lines| lines.contains(number)))
}

/// The lines of each marked item.
fn marked(text: &str) -> Vec<RangeInclusive<usize>> {
    let mut found = Vec::new();
    // What is not made of tokens does not compile either.
    if text.contains(MARK)
        && let Ok(tokens) = text.parse()
    {
        search(tokens, &mut found);
    }
    found
}

fn search(tokens: TokenStream, found: &mut Vec<RangeInclusive<usize>>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut rest = &trees[..];
    while let Some(first) = rest.first() {
        if attribute(rest).is_some_and(|attribute| attribute == "cfg(test)") {
            let (item, after) = rest.split_at(length(rest));
            let last = item.last().unwrap_or(first);
            found.push(first.span().start().line..=last.span().end().line);
            rest = after;
            continue;
        }
        if let TokenTree::Group(group) = first {
            search(group.stream(), found);
        }
        rest = &rest[1..];
    }
}

/// The text of an attribute at the start, without spaces.
fn attribute(trees: &[TokenTree]) -> Option<String> {
    match trees {
        [TokenTree::Punct(mark), TokenTree::Group(group), ..]
            if mark.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
        {
            Some(group.stream().to_string().replace(' ', ""))
        }
        _ => None,
    }
}

/// What the end of an item is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Semicolon,
    /// Its braces; a semicolon if it has none.
    Braces,
    /// That of a field, an arm or a statement: braces, a semicolon or a comma.
    Any,
}

/// The number of trees of an item with its attributes.
fn length(trees: &[TokenTree]) -> usize {
    let mut start = 0;
    while attribute(&trees[start..]).is_some() {
        start += 2;
    }
    let item = &trees[start..];
    let end = end_of(item);
    let ends = |tree: &TokenTree| match tree {
        TokenTree::Punct(it) => it.as_char() == ';' || it.as_char() == ',' && end == End::Any,
        TokenTree::Group(it) => it.delimiter() == Delimiter::Brace && end != End::Semicolon,
        _ => false,
    };
    start + item.iter().position(ends).map_or(item.len(), |at| at + 1)
}

fn end_of(item: &[TokenTree]) -> End {
    let words = item.iter().filter_map(|tree| match tree {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    });
    let mut words = words.skip_while(|word| word == "pub");
    let first = words.next().unwrap_or_default();
    match &*first {
        "const"
            if matches!(words.next().as_deref(), Some("fn" | "unsafe" | "async" | "extern")) =>
        {
            End::Braces
        }
        "use" | "const" | "static" | "type" | "let" => End::Semicolon,
        "fn" | "mod" | "struct" | "enum" | "union" | "trait" | "impl" | "unsafe" | "async"
        | "extern" | "macro_rules" => End::Braces,
        _ => End::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_marked_is_left_out() {
        let code = |text: &str| -> Vec<usize> {
            lines_outside_tests(text).map(|(number, _)| number).collect()
        };
        for item in [
            "mod tests;",
            "pub(crate) mod tests;",
            "use a::{b, c};",
            "use a::{\n    b,\n    c,\n};",
            "#[allow(dead_code)]\nconst A: [u8; 2] = [1, 2];",
            "const A: B =\n    B { c: 1 };",
            "const fn f() {}",
            "fn f<A, B>(\n    a: A,\n) -> [u8; 2]\nwhere\n    A: B,\n{\n    g();\n}",
            "/// What.\nstruct A<B, C>(B, C);",
            "mod tests {\n    const TEXT: &str = r#\"\n}\n#[cfg(test)]\n\"#;\n}",
        ] {
            let text = format!("a!();\n#[cfg(test)]\n{item}\nb!();\n");
            assert_eq!(code(&text), [1, 3 + item.lines().count()], "{item}");
        }
        let inside = "impl A {\n    #[cfg(test)]\n    fn f() {\n    }\n\n    fn g() {}\n}\n\
                      struct B {\n    #[cfg(test)]\n    a: u8,\n    b: u8,\n}\n";
        assert_eq!(code(inside), [1, 5, 6, 7, 8, 11, 12]);
        let statement = "fn f() {\n    #[cfg(test)]\n    if a {\n    }\n    b();\n}\n";
        assert_eq!(code(statement), [1, 5, 6]);
        assert_eq!(code("#[cfg(unix)]\nmod a;\nlet c = '(;\n"), [1, 2, 3]);
    }
}
