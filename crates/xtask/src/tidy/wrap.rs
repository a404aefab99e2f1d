//! `cargo xtask tidy --wrap`: wraps comment lines that are too long, moving words to the next line
//! of the same paragraph.

use super::sources::COLUMNS_MAX;
use super::tree::File;
use std::fs;
use std::path::Path;

/// Rewrites the sources with such lines.
pub(super) fn wrap(root: &Path, files: &[File]) -> std::io::Result<()> {
    for file in files.iter().filter(|file| file.is_rust()) {
        let wrapped = wrapped(&file.text);
        if wrapped != file.text {
            fs::write(root.join(&file.path), wrapped)?;
        }
    }
    Ok(())
}

fn wrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines: Vec<String> = text.lines().rev().map(str::to_owned).collect();
    while let Some(line) = lines.pop() {
        match split(&line) {
            None => out.push_str(&line),
            Some((head, prefix, tail)) => {
                out.push_str(head);
                let next = lines.pop();
                let joins = next
                    .as_deref()
                    .and_then(|next| next.strip_prefix(&prefix))
                    .filter(|rest| !rest.is_empty() && !starts_paragraph(rest));
                match joins {
                    Some(rest) => lines.push(format!("{prefix}{tail} {rest}")),
                    None => {
                        lines.extend(next.clone());
                        lines.push(format!("{prefix}{tail}"));
                    }
                }
            }
        }
        out.push('\n');
    }
    out
}

/// A comment line that is too long: the part that stays, the prefix of the next line, the part that
/// moves there.
fn split(line: &str) -> Option<(&str, String, &str)> {
    if line.chars().count() <= COLUMNS_MAX {
        return None;
    }
    let indentation = line.len() - line.trim_start().len();
    let body = line.get(indentation..)?;
    let slashes = ["//! ", "/// ", "// "].into_iter().find(|start| body.starts_with(start))?;
    let start = indentation + slashes.len();
    let words = line.get(start..)?;
    let hang = if starts_paragraph(words) && !words.starts_with(' ') {
        words.find(' ').map_or(0, |at| at + 1)
    } else {
        words.len() - words.trim_start().len()
    };
    let limit = line.char_indices().nth(COLUMNS_MAX).map_or(line.len(), |(at, _)| at);
    let cut = line.get(..=limit).or_else(|| line.get(..limit))?.rfind(' ')?;
    let table = words.starts_with('|');
    let prefix = format!("{}{}", line.get(..start)?, " ".repeat(hang));
    (cut > start + hang && !table)
        .then(|| Some((line.get(..cut)?, prefix, line.get(cut + 1..)?)))?
}

/// Whether the text is a list item, heading, table or indented: it does not continue the previous
/// line.
fn starts_paragraph(text: &str) -> bool {
    let numbered = text.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
    numbered || ["- ", "#", "* ", "```", "|", " "].iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_carried_into_the_same_paragraph() {
        let long = "x".repeat(96);
        let text = format!("/// {long} one\n/// two\nfn a() {{}}\n");
        assert_eq!(wrapped(&text), format!("/// {long}\n/// one two\nfn a() {{}}\n"));
        let item = format!("//! 1. {} one\n//! 2. two\n", "y".repeat(92));
        let expected = format!("//! 1. {}\n//!    one\n//! 2. two\n", "y".repeat(92));
        assert_eq!(wrapped(&item), expected);
    }

    #[test]
    fn tables_and_code_stay() {
        let table = format!("//! | {} | b |\n", "z".repeat(100));
        assert_eq!(wrapped(&table), table);
        let code = format!("let a = \"{} b\";\n", "z".repeat(100));
        assert_eq!(wrapped(&code), code);
    }
}
