//! The page of `skep profile`: the verification cost of each program, on its source.

use super::block::{Block, Cell, SourceLine, TableCell, file_and_line};
use super::{ColumnKind, Page};
use crate::flame::{Weight, write_flame_graph};
use crate::profile::{FlowBlock, ProgProfile, Spent, percent};

const COUNTS: [&str; 4] = ["Insns", "States", "Covered", "Apart"];

/// Creates the page; the flame graphs have boxes by `weight`.
pub fn profile_page(profiles: &[ProgProfile], weight: Weight) -> Page {
    let mut page = Page::new("skep profile");
    page.column("Program", ColumnKind::Text, &["prog"]);
    page.column("Verdict", ColumnKind::Verdict, &["verdict"]);
    for (heading, name) in COUNTS.into_iter().zip(["insns", "states", "covered", "apart"]) {
        page.column(heading, ColumnKind::Number, &[name]);
    }
    page.column("File", ColumnKind::Text, &["file"]);
    for profile in profiles {
        let mut cells = vec![Cell::Text(&profile.prog), Cell::Text(&profile.verdict)];
        cells.extend(numbers(&profile.total).map(Cell::Number));
        cells.push(Cell::Text(&profile.file));
        page.row(&cells, &blocks(profile, weight));
    }
    page
}

fn numbers(spent: &Spent) -> [i64; 4] {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    [spent.insns, spent.states, spent.covered, spent.apart].map(number)
}

fn blocks(profile: &ProgProfile, weight: Weight) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(reason) = &profile.reason {
        let heading = "Refused".to_owned();
        blocks.push(Block::Verbatim { heading, text: reason.clone() });
    }
    let mut svg = Vec::new();
    // Writing to a Vec cannot fail.
    let _ = write_flame_graph(&mut svg, std::slice::from_ref(profile), weight);
    let svg = String::from_utf8_lossy(&svg).into_owned();
    blocks.push(Block::Picture { heading: "Flame graph".to_owned(), svg });
    blocks.push(functions(profile));
    if !profile.kept_apart.is_empty() {
        blocks.push(kept_apart(profile));
    }
    if !profile.flow.is_empty() {
        blocks.push(flow(profile));
    }
    blocks.push(source(profile));
    blocks
}

fn functions(profile: &ProgProfile) -> Block {
    let headings = ["Function", "Insns", "%", "With callees", "States", "Covered", "Apart"];
    let row = |row: &crate::profile::FunctionCost| {
        vec![
            row.function.as_str().into(),
            row.own.insns.into(),
            percent(row.own.insns, profile.total.insns).as_str().into(),
            row.insns_with_callees.into(),
            row.own.states.into(),
            row.own.covered.into(),
            row.own.apart.into(),
        ]
    };
    Block::Table {
        heading: "Functions".to_owned(),
        columns: headings.map(str::to_owned).to_vec(),
        rows: profile.functions.iter().map(row).collect(),
    }
}

fn kept_apart(profile: &ProgProfile) -> Block {
    let headings = ["States saved at", "Times", "%", "Difference", "Needed by", "Saved", "Current"];
    let row = |row: &crate::profile::ApartReason| {
        let text = |text: &Option<String>| TableCell::from(text.as_deref().unwrap_or_default());
        vec![
            row.at.place.as_str().into(),
            row.times.into(),
            percent(row.times, profile.total.apart).as_str().into(),
            row.what.as_str().into(),
            row.needed_by.as_ref().map_or("", |line| &line.place).into(),
            text(&row.saved),
            text(&row.current),
        ]
    };
    Block::Table {
        heading: "Why states were not pruned".to_owned(),
        columns: headings.map(str::to_owned).to_vec(),
        rows: profile.kept_apart.iter().map(row).collect(),
    }
}

/// Blocks, how often each was walked, and where it goes on.
fn flow(profile: &ProgProfile) -> Block {
    let headings = ["Block at", "Insns", "Walked", "Covered", "Goes on at", "Or jumps to"];
    let row = |block: &FlowBlock| {
        let next = |at: usize| TableCell::from(block.next.get(at).map_or("", String::as_str));
        vec![
            block.at.as_str().into(),
            format!("{} to {}", block.first_insn, block.last_insn).as_str().into(),
            block.walked.into(),
            block.covered.into(),
            next(0),
            next(1),
        ]
    };
    Block::Table {
        heading: "Control flow".to_owned(),
        columns: headings.map(str::to_owned).to_vec(),
        rows: profile.flow.iter().map(row).collect(),
    }
}

/// All lines, in source order.
fn source(profile: &ProgProfile) -> Block {
    let mut lines: Vec<_> = profile.lines.iter().collect();
    lines.sort_by_key(|row| file_and_line(&row.line.place));
    let line = |row: &crate::profile::LineCost| SourceLine {
        place: row.line.place.clone(),
        text: row.line.text.clone(),
        numbers: numbers(&row.spent).to_vec(),
        steps: Vec::new(),
    };
    Block::Source {
        heading: "Source".to_owned(),
        columns: COUNTS.map(str::to_owned).to_vec(),
        lines: lines.into_iter().map(line).collect(),
    }
}
