//! The page of `skep stat`: every program with its statistics.

use super::block::{Block, Cell};
use super::{ColumnKind, Page};
use crate::row::{Row, Value};
use crate::spec::EmitSpec;
use crate::stat::Stat;

/// Creates the page of rows, in their order, with the columns of `emit`.
pub fn stat_page(rows: &[Row], emit: &EmitSpec) -> Page {
    let mut page = Page::new("skep stat");
    // The row's name comes first.
    let others = emit.stats.iter().filter(|&&stat| stat != Stat::ProgName);
    let stats: Vec<Stat> = std::iter::once(&Stat::ProgName).chain(others).copied().collect();
    for stat in &stats {
        let def = stat.def();
        let kind = match stat {
            Stat::Verdict => ColumnKind::Verdict,
            stat if stat.is_text() => ColumnKind::Text,
            _ => ColumnKind::Number,
        };
        page.column(def.header, kind, def.names);
    }
    for row in rows {
        let cell = |stat: &Stat| match row.get(*stat) {
            Value::Text(text) => Cell::Text(text),
            Value::Number(number) => Cell::Number(number),
        };
        let cells: Vec<Cell<'_>> = stats.iter().map(cell).collect();
        let why = |text: &String| Block::Verbatim { heading: "Why".to_owned(), text: text.clone() };
        page.row(&cells, row.reason.as_ref().map(why).as_slice());
    }
    page
}
