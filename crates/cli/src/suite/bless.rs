//! `--bless`: writes actual values in place of expected ones that differ; the rest of the file,
//! including its comments, is unchanged.

use super::case::Change;
use super::file::{FILE_BYTES_MAX, Number, is_markdown};
use super::markdown;
use crate::Error;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Value};

/// Changes tests of a file, identified by their numbers.
///
/// # Errors
///
/// One line: the file cannot be read again or written, or has changed in the meantime.
pub(super) fn write<'a>(
    path: &Path,
    changes: impl Iterator<Item = (usize, &'a [Change])>,
) -> Result<(), Error> {
    let io = |e| Error::caused(skep::Error::io(path, "writing", e));
    let text = crate::inputs::read_text_of(path, FILE_BYTES_MAX).map_err(io)?;
    let wrong = |what: &str| format!("{}: {what}", path.display());
    let is_markdown = is_markdown(path);
    let toml = match is_markdown {
        true => markdown::toml_of(&text).map_err(wrong)?,
        false => text.clone(),
    };
    let mut document: DocumentMut = toml.parse().map_err(|_| wrong("changed meanwhile"))?;
    for (number, changes) in changes {
        for change in changes {
            let tests = document.get_mut("test").and_then(Item::as_array_of_tables_mut);
            let test = tests.and_then(|tests| tests.get_mut(number));
            let (last, tables) = change.keys.split_last().ok_or_else(|| wrong("no key"))?;
            let mut item = test.and_then(|test| match tables {
                [] => test.get_mut(last),
                [first, ..] => test.get_mut(first),
            });
            for key in tables.iter().skip(1).chain((!tables.is_empty()).then_some(last)) {
                item = item.and_then(|item| item.get_mut(key));
            }
            let value = item.and_then(Item::as_value_mut);
            let value = value.ok_or_else(|| wrong("changed meanwhile"))?;
            let decor = value.decor().clone();
            *value = match &change.value {
                Number::Integer(number) => Value::from(*number),
                Number::Text(text) => Value::from(&**text),
            };
            *value.decor_mut() = decor;
        }
    }
    let toml = document.to_string();
    let changed = if is_markdown { markdown::text_of(&toml, &text) } else { toml };
    std::fs::write(path, with_line_ends(&changed, &text)).map_err(io)
}

/// Lines end as before: each where it was or, if there are now more or fewer, all like the first.
fn with_line_ends(changed: &str, before: &str) -> String {
    let end_of = |line: &str| match line.strip_suffix('\n') {
        Some(rest) if rest.ends_with('\r') => "\r\n",
        Some(_) => "\n",
        None => "",
    };
    let ends: Vec<&str> = before.split_inclusive('\n').map(end_of).collect();
    let (first, last) = (ends.first(), ends.last());
    let count = changed.lines().count();
    let end = |at: usize| match count == ends.len() || at + 1 == count {
        true => {
            if at + 1 == count {
                last
            } else {
                ends.get(at)
            }
        }
        false => first,
    };
    let lines = changed.lines().enumerate();
    lines.flat_map(|(at, line)| [line, end(at).copied().unwrap_or("\n")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_before() {
        for before in ["a\r\nb\r\n", "a\r\nb\n", "a\nb", "", "a\n"] {
            let changed = before.replace("\r\n", "\n");
            assert_eq!(with_line_ends(&changed, before), before);
        }
        assert_eq!(with_line_ends("a\nb\nc\n", "a\r\nc\r\n"), "a\r\nb\r\nc\r\n");
        assert_eq!(with_line_ends("a\n", "a\r\nc"), "a");
    }
}
