//! The page of `skep stat -C`: what changed between two result sets.

use super::block::Cell;
use super::{ColumnKind, Page};
use crate::join::{JoinedRow, percent};
use crate::row::{Row, Value};
use crate::spec::EmitSpec;
use crate::stat::Stat;

/// The text for a missing program.
const MISSING: &str = "not there";

/// Creates the page from joined rows, in their order, with the columns of `emit`. For a number,
/// both sides, the change and the change in percent; a change is 0 if a side is missing.
pub fn compare_page(rows: &[JoinedRow<'_>], emit: &EmitSpec) -> Page {
    let mut page = Page::new("skep stat --compare");
    // The row's name comes first.
    let others = emit.stats.iter().filter(|&&stat| stat != Stat::ProgName);
    let stats: Vec<Stat> = std::iter::once(&Stat::ProgName).chain(others).copied().collect();
    for &stat in &stats {
        columns(&mut page, stat);
    }
    for row in rows {
        let cells: Vec<OwnedCell> = stats.iter().flat_map(|&stat| owned_cells(row, stat)).collect();
        let cells: Vec<Cell<'_>> = cells.iter().map(OwnedCell::cell).collect();
        page.row(&cells, &[]);
    }
    page
}

/// The names are those of filters: `insns_diff>0`.
fn columns(page: &mut Page, stat: Stat) {
    let def = stat.def();
    if stat.is_key() {
        return page.column(def.header, ColumnKind::Text, def.names);
    }
    let (kind, changes): (_, &[(&str, &str)]) = match (stat, stat.is_text()) {
        (Stat::Verdict, _) => (ColumnKind::Verdict, &[]),
        (_, true) => (ColumnKind::Text, &[]),
        (_, false) => (ColumnKind::Number, &[(" change", "_diff"), (" change, %", "_pct")]),
    };
    for (heading, suffix) in [(" (A)", "_a"), (" (B)", "_b")].iter().chain(changes) {
        let names: Vec<String> = def.names.iter().map(|name| format!("{name}{suffix}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        // The page counts and filters by the verdicts of the later set.
        let kind = if stat == Stat::Verdict && *suffix == "_a" { ColumnKind::Text } else { kind };
        page.column(&format!("{}{heading}", def.header), kind, &names);
    }
}

/// The content of a cell.
enum OwnedCell {
    Text(String),
    Number(i64),
}

impl OwnedCell {
    fn cell(&self) -> Cell<'_> {
        match self {
            OwnedCell::Text(text) => Cell::Text(text),
            OwnedCell::Number(number) => Cell::Number(*number),
        }
    }
}

fn owned_cells(row: &JoinedRow<'_>, stat: Stat) -> Vec<OwnedCell> {
    let side = |row: Option<&Row>| match row.map(|row| row.get(stat)) {
        Some(Value::Number(number)) => OwnedCell::Number(number),
        Some(Value::Text(text)) => OwnedCell::Text(text.to_owned()),
        None if stat.is_text() => OwnedCell::Text(MISSING.to_owned()),
        None => OwnedCell::Number(0),
    };
    if stat.is_key() {
        return vec![side(row.named())];
    }
    let mut cells = vec![side(row.base), side(row.comp)];
    if !stat.is_text() {
        let both = row.base.zip(row.comp).map(|(base, comp)| (base.get(stat), comp.get(stat)));
        let (change, part) = match both {
            Some((Value::Number(a), Value::Number(b))) => {
                (b.saturating_sub(a), percent(a as f64, b as f64).round() as i64)
            }
            _ => (0, 0),
        };
        cells.extend([OwnedCell::Number(change), OwnedCell::Number(part)]);
    }
    cells
}
