//! Renders rows and records as text for people and tools: veristat's table and CSV, JSON, SARIF,
//! GitHub annotations, source-annotated messages, HTML pages.
//!
//! Knows no BPF crate: callers fill [`Row`]s and [`Diagnostic`]s with plain strings and numbers.
//! Reading order: `stat` (the columns as data), `row`, `spec` and `filter` (what the user asks
//! for), then one file per output.
//!
//! Never: this crate runs nothing, opens no file and imports no other crate of the workspace.

#![forbid(unsafe_code)]

mod compare;
mod csv_rows;
mod diagnostic;
mod error;
mod escape;
mod executed;
mod filter;
mod flame;
mod gate;
mod github;
mod globals;
mod grid;
mod html;
mod join;
mod json;
mod json_text;
mod layout;
mod lcov;
mod markdown;
mod matrix;
mod matrix_text;
mod oldest;
mod profile;
mod prog;
mod rendered;
mod row;
mod sarif;
mod sort;
mod spec;
mod stat;
mod table;

pub use compare::{write_compare_csv, write_compare_json, write_compare_table};
pub use csv_rows::{CsvRows, read_csv, write_csv};
pub use diagnostic::{Advice, Diagnostic, Note, Severity, SourceSpot};
pub use error::Error;
pub use escape::{counted, printable};
pub use executed::{ExecutedLine, write_executed};
pub use filter::{Filters, glob_matches};
pub use flame::{Weight, write_flame_graph, write_folded};
pub use gate::{Breach, Gate};
pub use github::{write_github, write_github_notice};
pub use globals::{GlobalRow, write_globals};
pub use grid::Grid;
pub use html::{
    Block, Cell, CheckedProgram, ColumnKind, Page, SourceLine, Step, TableCell, check_page,
    compare_page, coverage_page, matrix_page, profile_page, stat_page, write_html,
};
pub use join::{JoinedRow, join};
pub use json::{write_diagnostics_json, write_json};
pub use json_text::{JsonForm, write_json_text};
pub use lcov::{BranchCoverage, BranchKey, FileCoverage, write_lcov};
pub use markdown::{write_compare_markdown, write_markdown};
pub use matrix::{
    CellReason, CellVerdict, DecidingRule, Matrix, MatrixCell, MatrixKernel, MatrixRow,
};
pub use matrix_text::{
    write_kernels_markdown, write_matrix, write_matrix_json, write_matrix_markdown,
};
pub use oldest::{Oldest, OldestKernels};
pub use profile::{
    ApartReason, FlowBlock, FunctionCost, LineCost, ProfiledLine, ProgProfile, Spent, StackCost,
    write_profile, write_profiles_json,
};
pub use prog::{ProgFormat, ProgRow, write_progs};
pub use rendered::{Style, render_text};
pub use row::{Row, RowVerdict, Value};
pub use sarif::write_sarif;
pub use sort::{sort_joined, sort_rows};
pub use spec::{EmitSpec, SortKey, SortSpec, Variant};
pub use stat::{STATS, Stat, StatDef};
pub use table::{Tally, write_table};
