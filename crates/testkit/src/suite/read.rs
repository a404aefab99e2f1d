//! Reads a suite.

use super::case::{Case, Transcript, TranscriptKind};
use super::options::Options;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};
use std::ops::Range;

/// A heading: its level, its text, and the merged options.
struct Level {
    level: HeadingLevel,
    title: String,
    options: toml::Table,
}

/// The reader's state.
#[derive(Default)]
struct Reader {
    levels: Vec<Level>,
    cases: Vec<Case>,
    /// The number of the heading that the last case belongs to.
    case_heading: Option<usize>,
    headings: usize,
}

/// Reads a suite. The error names the line.
pub fn read(text: &str) -> Result<Vec<Case>, String> {
    let mut reader = Reader::default();
    let mut events = Parser::new(text).into_offset_iter();
    while let Some((event, range)) = events.next() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let mut title = String::new();
                for (event, _) in events.by_ref() {
                    match event {
                        Event::End(TagEnd::Heading(_)) => break,
                        Event::Text(part) | Event::Code(part) => title.push_str(&part),
                        _ => {}
                    }
                }
                reader.heading(level, title);
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                let line = line_of(text, range.start);
                let content = content(text, range);
                let block = text.get(content.clone()).unwrap_or_default();
                reader
                    .block(&language, block, content, line)
                    .map_err(|error| format!("line {line}: {error}"))?;
            }
            _ => {}
        }
    }
    Ok(reader.cases)
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
}

/// The lines between the fences of a block.
fn content(text: &str, block: Range<usize>) -> Range<usize> {
    let inside = text.get(block.clone()).unwrap_or_default();
    let start = inside.find('\n').map_or(inside.len(), |at| at + 1);
    let end = inside.trim_end().rfind('\n').map_or(start, |at| at + 1).max(start);
    block.start + start..block.start + end
}

impl Reader {
    fn heading(&mut self, level: HeadingLevel, title: String) {
        self.levels.retain(|above| above.level < level);
        let options = self.levels.last().map(|above| above.options.clone()).unwrap_or_default();
        self.levels.push(Level { level, title, options });
        self.headings += 1;
    }

    fn block(
        &mut self,
        language: &str,
        text: &str,
        range: Range<usize>,
        line: usize,
    ) -> Result<(), String> {
        let kind = match language {
            "toml" => return self.options(text),
            "bpf" => return self.case(text, line),
            "log" => TranscriptKind::Log,
            "stats" => TranscriptKind::Stats,
            "run" => TranscriptKind::Run,
            other => return Err(format!("a block of unknown kind `{other}`")),
        };
        match self.cases.last_mut() {
            Some(case) if self.case_heading == Some(self.headings) => {
                case.transcripts.push(Transcript { kind, text: text.to_owned(), range });
                Ok(())
            }
            _ => Err("a transcript without a `bpf` block before it".to_owned()),
        }
    }

    fn options(&mut self, text: &str) -> Result<(), String> {
        if self.case_heading == Some(self.headings) {
            return Err("options must come before the `bpf` block".to_owned());
        }
        let new: toml::Table = text.parse().map_err(|e: toml::de::Error| e.message().to_owned())?;
        let Some(level) = self.levels.last_mut() else {
            return Err("options before the first heading".to_owned());
        };
        merge(&mut level.options, new);
        Options::from_table(&level.options).map(drop)
    }

    fn case(&mut self, bpf: &str, line: usize) -> Result<(), String> {
        if self.case_heading == Some(self.headings) {
            return Err("a second `bpf` block under one heading".to_owned());
        }
        let Some(level) = self.levels.last() else {
            return Err("a case without a heading".to_owned());
        };
        let titles: Vec<&str> = self.levels.iter().skip(1).map(|l| l.title.as_str()).collect();
        let name = if titles.is_empty() { level.title.clone() } else { titles.join(" / ") };
        if self.cases.iter().any(|case| case.name == name) {
            return Err(format!("a second case of the name `{name}`"));
        }
        let options = Options::from_table(&level.options)?;
        let case = Case { name, line, options, bpf: bpf.to_owned(), transcripts: Vec::new() };
        self.cases.push(case);
        self.case_heading = Some(self.headings);
        Ok(())
    }
}

/// `new` over `old`, table by table.
fn merge(old: &mut toml::Table, new: toml::Table) {
    for (key, value) in new {
        match (old.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            (_, value) => drop(old.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = "# S\n\n```toml\nprog_type = \"xdp\"\n[map.m]\ntype = \"hash\"\nkey = 4\n```\n\n## A\n\nText.\n\n\
        ```bpf\nexit\n```\n\n```log\nold\n```\n\n## B\n\n```toml\n[map.m]\nkey = 8\n```\n\n### C\n\n```bpf\nexit\n```\n";

    #[test]
    fn cases_inherit_options_and_keep_transcripts() {
        let cases = read(SUITE).expect("reads");
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["A", "B / C"]);
        assert_eq!(cases[0].options.prog_type, "xdp");
        assert_eq!((cases[0].options.map["m"].key, cases[1].options.map["m"].key), (4, 8));
        assert_eq!(&SUITE[cases[0].transcripts[0].range.clone()], "old\n");
        assert_eq!(cases[0].line, 14);
    }

    #[test]
    fn a_word_that_means_nothing_is_an_error() {
        let error = |text: &str| read(text).expect_err("an error");
        assert!(error("# S\n```toml\nprog = 1\n```\n").starts_with("line 2: unknown field"));
        assert!(error("# S\n```log\n```\n").contains("without a `bpf` block"));
        assert!(error("# S\n```c\n```\n").contains("unknown kind `c`"));
    }
}
