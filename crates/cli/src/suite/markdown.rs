//! Tests in a Markdown file: its fenced blocks of `toml`, read as one TOML document.
//!
//! All other lines become comments, so places in the TOML are those in the file, and `--bless` can
//! put the text back.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

/// What a line of text becomes, with its number.
const MARK: &str = "#~markdown ";

/// The TOML of a Markdown file, line by line.
///
/// # Errors
///
/// There is no block, one has no end, or one is part of HTML.
pub(super) fn toml_of(text: &str) -> Result<String, &'static str> {
    let columns = columns(text)?;
    let mut toml = String::with_capacity(text.len());
    for (number, (line, column)) in text.lines().zip(columns).enumerate() {
        match column {
            Some(column) => toml.push_str(line.get(column..).unwrap_or_default()),
            None => toml.push_str(&format!("{MARK}{number}")),
        }
        toml.push('\n');
    }
    Ok(toml)
}

/// For each line the column where its TOML begins: blocks in lists are indented.
fn columns(text: &str) -> Result<Vec<Option<usize>>, &'static str> {
    let starts: Vec<usize> = std::iter::once(0)
        .chain(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1))
        .collect();
    let line_at = |offset: usize| starts.partition_point(|start| *start <= offset) - 1;
    let mut columns = vec![None; starts.len()];
    let (mut blocks, mut last_of_block) = (0, None);
    for (event, range) in Parser::new(text).into_offset_iter() {
        let lines = line_at(range.start)..=line_at(range.end.saturating_sub(1));
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                last_of_block = Some(*lines.end()).filter(|_| is_toml(&kind));
                let is_open =
                    matches!(kind, CodeBlockKind::Fenced(_)) && !is_closed(&text[range.clone()]);
                if is_open {
                    return Err("a block (```) without an end");
                }
                if last_of_block.is_some() {
                    blocks += 1;
                    // Blank lines may have fewer columns than the block is indented.
                    columns[lines.start() + 1..*lines.end()].fill(Some(usize::MAX));
                }
            }
            Event::Text(_) if last_of_block.is_some_and(|last| *lines.start() < last) => {
                // A line is one event or more: the end of a line may be one.
                let column = &mut columns[*lines.start()];
                if *column == Some(usize::MAX) {
                    *column = Some(range.start - starts[*lines.start()]);
                }
                columns[lines.start() + 1..=*lines.end()].fill(Some(0));
            }
            // Otherwise its tests would not be run, and nobody would know.
            Event::Html(line) if line.trim_start().starts_with("```toml") => {
                return Err("a ```toml block in HTML, which needs a blank line before it");
            }
            _ => {}
        }
    }
    if blocks == 0 { Err("no ```toml block") } else { Ok(columns) }
}

/// `toml` may have attributes behind it, such as a title.
fn is_toml(kind: &CodeBlockKind<'_>) -> bool {
    match kind {
        CodeBlockKind::Fenced(info) => info.split_whitespace().next() == Some("toml"),
        CodeBlockKind::Indented => false,
    }
}

/// Whether a fenced block ends with a fence at least as long as its first; in a list or quotation,
/// there may be something before it.
fn is_closed(block: &str) -> bool {
    let block = block.trim_start();
    let fence = block.chars().next().unwrap_or('`');
    let opened = block.chars().take_while(|c| *c == fence).count();
    let mut lines = block.trim_end().lines();
    let is_alone = lines.next_back().is_some_and(|last| {
        let closed = last.chars().rev().take_while(|c| *c == fence).count();
        closed >= opened && last.chars().rev().skip(closed).all(|c| " \t>".contains(c))
    });
    is_alone && lines.next().is_some()
}

/// The Markdown file again, with the changed TOML.
pub(super) fn text_of(toml: &str, before: &str) -> String {
    let lines: Vec<&str> = before.lines().collect();
    let columns = columns(before).unwrap_or_default();
    let (mut next, mut indentation, mut text) = (0, "", String::with_capacity(before.len()));
    for line in toml.lines() {
        let number = line.strip_prefix(MARK).and_then(|number| number.parse::<usize>().ok());
        let of_text = number.and_then(|number| Some((number, lines.get(number)?)));
        if let Some((number, of_text)) = of_text {
            text.push_str(of_text);
            next = number + 1;
        } else {
            let (column, was) = (columns.get(next).copied().flatten(), lines.get(next).copied());
            let (column, was) = (column.unwrap_or(usize::MAX), was.unwrap_or_default());
            if let Some((before, _)) = was.split_at_checked(column) {
                indentation = before;
            }
            match was.get(column..).unwrap_or_default() == line {
                true => text.push_str(was),
                false => text.extend([indentation, line]),
            }
            next += 1;
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Title\n\n```toml\na = 1\n```\n\n```c\n```toml\n```\n````toml\n[[t]]\nb = 2\n````\nend\n";

    const NESTED: &str = "
 ```toml title=\"x\"
 a = 1
 ```

- in a list

  1. of a list

     ```toml
     b = '''

       c'''
     ```

~~~~ toml
d = 2
```
~~~~~

> ```toml
> e = 3
> ```

    ```toml
    not = 4
    ```

```tomlx
no = 5
```
";

    #[test]
    fn blocks_stay_at_their_lines() {
        let toml = toml_of(TEXT).unwrap();
        assert_eq!(toml.lines().count(), TEXT.lines().count());
        let shown: Vec<_> = toml.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(shown, ["a = 1", "[[t]]", "b = 2"]);
        assert_eq!(toml.lines().nth(3), Some("a = 1"));
    }

    #[test]
    fn the_text_comes_back() {
        let toml = toml_of(TEXT).unwrap();
        assert_eq!(text_of(&toml, TEXT), TEXT);
        let changed = toml.replace("b = 2", "b = 77");
        assert_eq!(text_of(&changed, TEXT), TEXT.replace("b = 2", "b = 77"));
    }

    #[test]
    fn what_is_no_file_of_tests_is_said() {
        assert_eq!(toml_of("# Title\n```c\n```\n"), Err("no ```toml block"));
        assert_eq!(toml_of("```toml\na = 1\n"), Err("a block (```) without an end"));
        let html = "<div>\n```toml\na = 1\n```\n</div>\n\n```toml\nb = 1\n```\n";
        let wrong = "a ```toml block in HTML, which needs a blank line before it";
        assert_eq!(toml_of(html), Err(wrong));
        assert!(toml_of(&html.replace("<div>\n", "<div>\n\n")).is_ok());
    }

    #[test]
    fn blocks_are_those_of_commonmark() {
        for text in [NESTED.to_owned(), NESTED.replace('\n', "\r\n")] {
            let toml = toml_of(&text).unwrap();
            assert_eq!(toml.lines().count(), text.lines().count());
            let shown: Vec<_> = toml.lines().filter(|line| !line.starts_with('#')).collect();
            let expected = ["a = 1", "b = '''", "", "  c'''", "d = 2", "```", "e = 3"];
            assert_eq!(shown, expected, "{toml}");
            let text = text.replace("\r\n", "\n");
            assert_eq!(text_of(&toml, &text), text);
            // Values may have fewer lines than before, or more.
            let shorter = toml.replace("\n\n  c'''", "'''");
            let expected = text.replace("\n\n       c'''", "'''");
            assert_eq!(text_of(&shorter, &text), expected);
            let longer = toml.replace("e = 3", "e = [\n3]");
            assert_eq!(text_of(&longer, &text), text.replace("e = 3", "e = [\n> 3]"));
        }
    }

    #[test]
    fn an_end_is_a_fence_as_long() {
        for open in [
            "````toml\na = 1\n```\n",
            "```toml\na = 1\n~~~\n",
            "```toml\n",
            "- ```toml\n  a = 1\n\ntext\n",
        ] {
            assert_eq!(toml_of(open), Err("a block (```) without an end"), "{open}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_comes_back(text in "([ \\-`~>ta\t\n\r]|\r\n|```toml\n|\n```\n|\\PC){0,60}") {
            let found = toml_of(&text);
            // A line of TOML has no carriage return but that of its end.
            let is_toml = !text.replace("\r\n", "").contains('\r');
            if let (Ok(toml), true) = (found, is_toml) {
                let lines: String = text.lines().flat_map(|line| [line, "\n"]).collect();
                proptest::prop_assert_eq!(text_of(&toml, &text), lines);
            }
        }
    }
}
