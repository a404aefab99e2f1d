//! Tests in a Markdown file: the ```` ```toml ```` blocks, read as one TOML document.
//!
//! All other lines become comments, so places in the TOML are those in the file, and `--bless` can
//! put the text back.

/// What a line of text becomes, with its number.
const MARK: &str = "#~markdown ";

/// The TOML of a Markdown file, line by line.
///
/// # Errors
///
/// There is no block, or one has no end.
pub(super) fn toml_of(text: &str) -> Result<String, &'static str> {
    let mut toml = String::with_capacity(text.len());
    let (mut fence, mut blocks) = (None, 0);
    for (number, line) in text.lines().enumerate() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        let word = line.get(ticks..).unwrap_or_default().trim();
        let is_toml = match fence {
            None if ticks >= 3 => {
                blocks += usize::from(word == "toml");
                fence = Some((ticks, word == "toml"));
                false
            }
            None => false,
            Some((opened, _)) if ticks >= opened && word.is_empty() => {
                fence = None;
                false
            }
            Some((_, is_toml)) => is_toml,
        };
        match is_toml {
            true => toml.push_str(line),
            false => toml.push_str(&format!("{MARK}{number}")),
        }
        toml.push('\n');
    }
    match (fence, blocks) {
        (Some(_), _) => Err("a block (```) without an end"),
        (None, 0) => Err("no ```toml block"),
        (None, _) => Ok(toml),
    }
}

/// The Markdown file again, with the changed TOML.
pub(super) fn text_of(toml: &str, before: &str) -> String {
    let lines: Vec<&str> = before.lines().collect();
    let of_text = |line: &str| lines.get(line.strip_prefix(MARK)?.parse::<usize>().ok()?).copied();
    let restored = toml.lines().map(|line| of_text(line).unwrap_or(line));
    restored.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Title\n\n```toml\na = 1\n```\n\n```c\n```toml\n```\n````toml\n[[t]]\nb = 2\n````\nend\n";

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
    }
}
