//! The contents of pages, with hostile program names.

use super::*;
use crate::diagnostic::{Advice, Diagnostic, Note, Severity, SourceSpot};
use crate::lcov::{BranchCoverage, BranchKey, FileCoverage};
use crate::matrix::{CellReason, CellVerdict, Matrix, MatrixCell, MatrixKernel, MatrixRow};
use crate::profile::{
    FlowBlock, FunctionCost, LineCost, ProfiledLine, ProgProfile, Spent, StackCost,
};
use crate::row::{Row, RowVerdict};
use crate::spec::EmitSpec;
use crate::stat::Stat;
use crate::{Weight, join, matrix_page, profile_page, stat_page};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const HOSTILE: &str =
    "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>\u{1b}[2J\u{202e}\u{0}\"'&";

fn written(page: &Page) -> String {
    let mut out = Vec::new();
    write_html(&mut out, page).unwrap();
    String::from_utf8(out).unwrap()
}

fn data(html: &str) -> Value {
    let (_, rest) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn spot(line: u32) -> SourceSpot {
    let file = format!("dir/{HOSTILE}.c");
    SourceSpot {
        file,
        line,
        column: std::num::NonZeroU32::new(3),
        text: format!("\tx = {HOSTILE};"),
    }
}

fn refused(name: &str, insn_idx: usize) -> CheckedProgram {
    let diagnostic = Diagnostic {
        severity: Severity::Error,
        rule: "leaked-reference".into(),
        message: format!("Unreleased reference id=2 {name}\nsecond line"),
        object: name.to_owned(),
        prog: name.to_owned(),
        insn_idx: Some(insn_idx),
        insn: Some("exit".into()),
        at: Some(spot(7)),
        notes: vec![Note { text: name.to_owned(), at: Some(spot(5)) }],
        advice: Some(Advice { title: "A leak".into(), help: "Release it.".into() }),
    };
    let (object, prog) = (name.to_owned(), name.to_owned());
    let why = Some(diagnostic);
    CheckedProgram { object, prog, verdict: "refused", insns: 12, why }
}

fn profile(name: &str) -> ProgProfile {
    let line = ProfiledLine { place: format!("{name}:3"), text: name.to_owned() };
    let spent = Spent { insns: 5, ..Spent::default() };
    ProgProfile {
        file: name.to_owned(),
        prog: name.to_owned(),
        verdict: "success".into(),
        reason: Some(name.to_owned()),
        total: spent,
        functions: vec![FunctionCost { function: name.into(), own: spent, insns_with_callees: 5 }],
        lines: vec![LineCost { line, spent }],
        kept_apart: Vec::new(),
        flow: vec![FlowBlock {
            at: name.to_owned(),
            first_insn: 0,
            last_insn: 3,
            walked: 4,
            covered: 1,
            next: vec![name.to_owned()],
        }],
        stacks: vec![StackCost { stack: vec![name.to_owned()], spent }],
    }
}

fn matrix(name: &str) -> Matrix {
    let reason = CellReason {
        rule: "r".into(),
        message: name.into(),
        insn_idx: None,
        at: Some(spot(1)),
        decided_by: None,
        advice: None,
    };
    let cell = MatrixCell { verdict: CellVerdict::Refused, reason: Some(reason) };
    let [kernel, release, promise] = [name; 3].map(str::to_owned);
    Matrix {
        kernels: vec![MatrixKernel {
            name: kernel,
            release,
            source: "table",
            is_tested: false,
            promise,
        }],
        rows: vec![MatrixRow {
            object: name.into(),
            prog: name.into(),
            newest: Some(name.into()),
            cells: vec![cell],
        }],
    }
}

#[test]
fn a_kernel_that_was_not_tested_is_marked_where_nobody_overlooks_it() {
    let head = |matrix: &Matrix| data(&written(&matrix_page(matrix)))["head"].clone();
    let mut matrix = matrix("6.6");
    let marked = head(&matrix);
    assert_eq!(marked["notes_open"], true);
    assert_eq!(marked["notes"][0], "6.6*: 6.6");
    assert_eq!(marked["columns"][2]["heading"], "6.6*");
    matrix.kernels[0].is_tested = true;
    let plain = head(&matrix);
    assert_eq!(plain["notes_open"], false);
    assert_eq!(plain["columns"][2]["heading"], "6.6");
}

fn coverage(name: &str) -> BTreeMap<String, FileCoverage> {
    let branch = BranchCoverage { runs: 4, taken: 4 };
    let file = FileCoverage {
        lines: [(3, 4), (5, 0)].into(),
        functions: [((3, name.to_owned()), 4)].into(),
        branches: [
            (BranchKey { line: 3, function: name.to_owned(), index: 0 }, branch),
            (BranchKey { line: 5, function: name.to_owned(), index: 0 }, BranchCoverage::default()),
        ]
        .into(),
    };
    [(name.to_owned(), file)].into()
}

fn pages() -> [Page; 5] {
    let mut row = Row::new(HOSTILE, HOSTILE, RowVerdict::Failure);
    row.reason = Some(HOSTILE.into());
    [
        check_page(&[refused(HOSTILE, 4)], |_| Some("Why.\n\n```c\nx < y;\n```")),
        stat_page(&[row], &EmitSpec::csv_default()),
        profile_page(&[profile(HOSTILE)], Weight::Insns),
        matrix_page(&matrix(HOSTILE)),
        coverage_page(&coverage(HOSTILE), |_, _| Some(HOSTILE)),
    ]
}

#[test]
fn names_are_text_and_nothing_else() {
    for page in pages() {
        let html = written(&page);
        assert_eq!(html.matches("<script").count(), 2, "{}", page.title);
        assert_eq!(html.matches("</script").count(), 2, "{}", page.title);
        assert!(!html.contains("<!--") && !html.contains("<img"), "{}", page.title);
        let unseen = |c: char| (c.is_control() && !"\n\t".contains(c)) || c == '\u{202e}';
        assert!(!html.contains(unseen), "{}", page.title);
        let data = data(&html);
        let strings = data["head"]["strings"].as_array().unwrap();
        let name = Value::from(shown(HOSTILE));
        assert!(strings.contains(&name), "{}", page.title);
    }
}

#[test]
fn of_two_result_sets_the_change_is_a_column() {
    let row =
        |prog, insns| Row::new("a.o", prog, RowVerdict::Success).with(Stat::TotalInsns, insns);
    let (base, comp) = ([row("p", 200), row("old", 7)], [row("p", 150)]);
    let emit = EmitSpec::parse("file,prog,verdict,insns").unwrap();
    let page = data(&written(&compare_page(&join(&base, &comp), &emit)));
    let head = &page["head"];
    let strings = head["strings"].as_array().unwrap();
    let column = |heading: &str| {
        let columns = head["columns"].as_array().unwrap();
        columns.iter().find(|column| column["heading"] == heading).unwrap()["values"].clone()
    };
    // In the order of names: missing programs first.
    assert_eq!(column("Insns (A)"), json!([7, 200]));
    assert_eq!(column("Insns (B)"), json!([0, 150]));
    assert_eq!(column("Insns change"), json!([0, -50]));
    assert_eq!(column("Insns change, %"), json!([0, -25]));
    let gone = column("Verdict (B)")[0].as_u64().unwrap() as usize;
    assert_eq!(strings[gone], "not there");
}

#[test]
fn a_page_needs_no_other_file_and_makes_no_html_of_text() {
    let html = written(&Page::new("t")).replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", " src=", "url(", "@import", "import(", "fetch(", "<link"] {
        assert!(!html.contains(outside), "{outside}");
    }
    for made in ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function("]
    {
        assert!(!html.contains(made), "{made}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn a_title_and_the_template_stay_apart() {
    let html = written(&Page::new("<b>&{{data}}"));
    assert!(html.contains("<title>&lt;b&gt;&amp;{{data}}</title>"));
}

#[test]
fn what_is_said_twice_is_kept_once() {
    let programs: Vec<_> = (0..3).map(|idx| refused("same", idx)).collect();
    let html = written(&check_page(&programs, |_| Some("A long explanation.")));
    assert_eq!(html.matches("A long explanation.").count(), 1);
    let data = data(&html);
    assert_eq!(data["head"]["details"].as_array().unwrap().len(), 3);
    let kinds = |kind: &str| {
        data["blocks"].as_array().unwrap().iter().filter(|block| block["kind"] == kind).count()
    };
    assert_eq!([kinds("verbatim"), kinds("prose"), kinds("story"), kinds("source")], [1, 2, 3, 1]);
}

#[test]
fn thousands_of_programs_fit_into_a_page() {
    let name = |n: usize| format!("a_program_with_quite_a_long_name_{n}");
    let programs: Vec<_> = (0..3400).map(|n| refused(&name(n), n)).collect();
    let html = written(&check_page(&programs, |_| Some("Why.")));
    assert!(html.len() < 2 << 20, "{}", html.len());
}

#[test]
fn cells_that_are_missing_are_empty() {
    let mut page = Page::new("t");
    page.column("Name", ColumnKind::Text, &[]);
    page.column("Count", ColumnKind::Number, &[]);
    page.row(&[], &[]);
    page.row(&[Cell::Number(3), Cell::Text("no number")], &[]);
    let head = &data(&written(&page))["head"];
    assert_eq!(head["strings"], serde_json::json!(["", "3"]));
    assert_eq!(head["columns"][0]["values"], serde_json::json!([0, 1]));
    assert_eq!(head["columns"][1]["values"], serde_json::json!([0, 0]));
}

#[test]
fn a_kernel_of_which_nothing_is_known_takes_and_refuses_nothing() {
    use CellVerdict::{Accepted, NotKnown, Refused};
    let taken_by = |verdicts: &[CellVerdict]| {
        let mut matrix = matrix("m");
        let cell = |&verdict: &CellVerdict| MatrixCell { verdict, reason: None };
        matrix.rows[0].cells = verdicts.iter().map(cell).collect();
        let head = &data(&written(&matrix_page(&matrix)))["head"];
        let index = head["columns"][1]["values"][0].as_u64().unwrap();
        head["strings"][usize::try_from(index).unwrap()].as_str().unwrap().to_owned()
    };
    for (verdicts, expected) in [
        ([Accepted, Accepted], "all"),
        ([Accepted, Refused], "some"),
        ([Accepted, NotKnown], "some"),
        ([Refused, Refused], "none"),
        ([Refused, NotKnown], "not known"),
        ([NotKnown, NotKnown], "not known"),
    ] {
        assert_eq!(taken_by(&verdicts), expected, "{verdicts:?}");
    }
}

#[test]
fn coverage_counts_lines_functions_and_both_ways_of_branches() {
    let data =
        data(&written(&coverage_page(&coverage("a.c"), |_, line| (line == 3).then_some("x"))));
    let counts: Vec<_> = data["head"]["columns"].as_array().unwrap()[1..]
        .iter()
        .map(|column| column["values"][0].as_i64().unwrap())
        .collect();
    // For a branch that was always taken, one outcome was executed; for one never executed, none.
    assert_eq!(counts, [2, 1, 1, 1, 4, 1]);
    let source = &data["blocks"][0];
    assert_eq!(source["lines"][0][2], serde_json::json!([4, 2, 1]));
    assert_eq!(source["lines"][1][2], serde_json::json!([0, 2, 0]));
    let table = &data["blocks"][2];
    let text = |at: &Value| data["head"]["strings"][at[0].as_u64().unwrap() as usize].clone();
    let rows = table["rows"].as_array().unwrap();
    assert_eq!(
        (text(&rows[0][0]), &rows[0][2], &rows[0][3]),
        ("a.c:3".into(), &json!(4), &json!(0))
    );
    assert_eq!((text(&rows[1][2]), text(&rows[1][3])), ("-".into(), "-".into()));
}
