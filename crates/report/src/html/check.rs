//! The page of `skep check`: every program, and the path to each rejection.

use super::block::{Block, Cell, SourceLine, Step, file_and_line, place_of};
use super::{ColumnKind, Page};
use crate::diagnostic::{Diagnostic, SourceSpot};
use std::collections::BTreeMap;

/// The result for one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedProgram {
    /// Object file, as the user named it.
    pub object: String,
    /// Program name; empty if it is about the whole object.
    pub prog: String,
    /// `accepted`, `refused` and so on.
    pub verdict: &'static str,
    /// Insns walked.
    pub insns: u64,
    /// Why it is not accepted.
    pub why: Option<Diagnostic>,
}

/// Creates the page; `explain` gives the catalogue's text of a code.
pub fn check_page(
    programs: &[CheckedProgram],
    explain: impl Fn(&str) -> Option<&'static str>,
) -> Page {
    let mut page = Page::new("skep check");
    page.column("Program", ColumnKind::Text, &["prog"]);
    page.column("File", ColumnKind::Text, &["file"]);
    page.column("Verdict", ColumnKind::Verdict, &["verdict"]);
    page.column("Insns", ColumnKind::Number, &["insns"]);
    page.column("Code", ColumnKind::Text, &["code"]);
    page.column("Message", ColumnKind::Text, &["message"]);
    for program in programs {
        let (code, message, blocks) = match &program.why {
            None => ("", "", Vec::new()),
            Some(diagnostic) => {
                let blocks = blocks(diagnostic, &explain);
                (&*diagnostic.rule, &*diagnostic.message, blocks)
            }
        };
        let cells = [
            Cell::Text(&program.prog),
            Cell::Text(&program.object),
            Cell::Text(program.verdict),
            Cell::Number(i64::try_from(program.insns).unwrap_or(i64::MAX)),
            Cell::Text(code),
            Cell::Text(message.lines().next().unwrap_or_default()),
        ];
        page.row(&cells, &blocks);
    }
    page
}

/// The path to a rejection.
fn blocks(diagnostic: &Diagnostic, explain: &impl Fn(&str) -> Option<&'static str>) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(advice) = &diagnostic.advice {
        blocks.push(Block::Prose { heading: advice.title.clone(), text: advice.help.clone() });
    }
    let message = diagnostic.message.clone();
    blocks.push(Block::Verbatim { heading: "Verifier message".to_owned(), text: message });
    let steps = steps(diagnostic);
    let lines = lines(&steps);
    if !steps.is_empty() {
        blocks.push(Block::Story { heading: "Path to the rejection".to_owned(), steps });
    }
    if !lines.is_empty() {
        let heading = "Source lines".to_owned();
        blocks.push(Block::Source { heading, columns: Vec::new(), lines });
    }
    if let Some(text) = explain(&diagnostic.rule) {
        let heading = format!("About {}", diagnostic.rule);
        blocks.push(Block::Prose { heading, text: text.to_owned() });
    }
    blocks
}

/// The notes, followed by the rejected insn.
fn steps(diagnostic: &Diagnostic) -> Vec<Step> {
    let notes = diagnostic.notes.iter();
    let mut steps: Vec<Step> =
        notes.map(|note| Step { text: note.text.clone(), at: note.at.clone() }).collect();
    let text = match (diagnostic.insn_idx, &diagnostic.insn) {
        (Some(idx), Some(insn)) => format!("rejected at insn {idx}: {insn}"),
        (Some(idx), None) => format!("rejected at insn {idx}"),
        (None, _) => return steps,
    };
    steps.push(Step { text, at: diagnostic.at.clone() });
    steps
}

/// The lines of the steps by file and line, each once.
fn lines(steps: &[Step]) -> Vec<SourceLine> {
    let mut lines: BTreeMap<(String, u32), (&SourceSpot, Vec<usize>)> = BTreeMap::new();
    for (number, step) in (1..).zip(steps) {
        let Some(at) = step.at.as_ref().filter(|at| !at.text.trim().is_empty()) else { continue };
        let place = place_of(at);
        let (file, line) = file_and_line(&place);
        lines.entry((file.to_owned(), line)).or_insert((at, Vec::new())).1.push(number);
    }
    let line = |(at, steps): (&SourceSpot, Vec<usize>)| SourceLine {
        place: place_of(at),
        text: at.text.clone(),
        numbers: Vec::new(),
        steps,
    };
    lines.into_values().map(line).collect()
}
