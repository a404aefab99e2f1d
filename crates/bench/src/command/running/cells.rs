//! Cells of the tables of `skep-bench run`.

use crate::command::figures;
use crate::run::compute::Computed;
use crate::{Ratio, geometric_mean};
use skep_report::Grid;

pub(super) fn grid(headings: &[String]) -> Grid {
    Grid::new(&headings.iter().map(String::as_str).collect::<Vec<_>>(), 1)
}

pub(super) fn ns(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| format!("{ns:.*}", if ns < 10.0 { 2 } else { 1 }))
}

pub(super) fn ratio(ratio: Option<&Ratio>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| figures::ratio(ratio.value))
}

/// `1.021 to 1.034`, `-` without values.
pub(super) fn interval(ratio: Option<&Ratio>) -> String {
    ratio.map_or_else(|| "-".to_owned(), figures::interval)
}

/// The geometric mean of one engine's ratio to another, over all programs that both run.
pub(super) fn mean(rows: &[Computed], of: usize, to: usize) -> Option<Ratio> {
    let ratio = |row: &Computed| row.engines.get(of)?.over(row.engines.get(to)?);
    geometric_mean(&rows.iter().filter_map(ratio).collect::<Vec<_>>())
}
