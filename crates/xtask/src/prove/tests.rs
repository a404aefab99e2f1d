//! Incorrect functions are refuted; otherwise a proof would mean nothing.

use super::solver::{self, Answer, Question};
use super::source::{self, Source};
use super::{all_goals, table};

/// A file, its text, an incorrect replacement, and the goal that has to fail.
const MISTAKES: [(&str, &str, &str, &str); 16] = [
    // A dropped carry.
    ("tnum.rs", "(sigma ^ sv) | self.mask", "self.mask", "Tnum::add"),
    ("tnum.rs", "(alpha ^ beta) | self.mask", "self.mask", "Tnum::sub"),
    ("tnum.rs", "if bits > 63", "if bits > 64", "Tnum::range"),
    (
        "bounds.rs",
        "let u_over = umin >= self.umin &&",
        "let u_over = umin > self.umax &&",
        "Bounds::add 64 bits",
    ),
    (
        "bounds.rs",
        "self.umax <= 1u64 << (W - 1 - shift)",
        "self.umax <= 1u64 << (W - shift)",
        "Bounds::lsh 64 bits",
    ),
    (
        "bounds.rs",
        "} else if self.umax < low {",
        "} else if self.umax <= low {",
        "Bounds::narrow_each_by_other 64 bits",
    ),
    ("sync.rs", "(next > umax)", "(next >= umax)", "Views::pin_single_value"),
    ("sync.rs", "half.smin >= 0 && wide.smin >=", "wide.smin >=", "Views::wide_from_half"),
    (
        "coerce.rs",
        "min >> bits == max >> bits",
        "min >> bits <= max >> bits",
        "ScalarAt::coerce_to_size_sx 1 bytes",
    ),
    ("branch.rs", "less(a.umax < b.umin,", "less(a.umax <= b.umin,", "is_branch_taken Lt, 64 bits"),
    (
        "refine.rs",
        "JmpOp::Le => narrow_below_u(x, y, 0)",
        "JmpOp::Le => narrow_below_u(x, y, 1)",
        "refine_branches Le, 64 bits",
    ),
    ("refine.rs", "if tested.is_power_of_two()", "if tested != 0", "refine_branches Set, 64 bits"),
    ("arc.rs", "from <= self.size && other.size", "other.size", "Arc::covers 64 bits"),
    ("wrapped.rs", "wide.size < Bounds::<H>::UMAX", "wide.size > 0", "Known::half_from_wide"),
    // An old range that is kept.
    (
        "wrapped.rs",
        "        self.wrapped.forget_wide();\n        if let",
        "        if let",
        "ScalarAt::set_known",
    ),
    (
        "wrapped_jmp.rs",
        "JmpOp::Lt => below_u(x, y, 1)",
        "JmpOp::Lt => below_u(x, y, 2)",
        "narrow_sides Lt, 64 bits",
    ),
];

fn files() -> Vec<(String, String)> {
    source::files(&crate::root().join("crates/domain/src")).unwrap()
}

fn prove(source: &Source, name: &str) -> Answer {
    let goals = all_goals();
    let goal = goals.iter().find(|goal| goal.name() == name).unwrap();
    Question::of(goal, source).answer(60)
}

#[test]
fn a_wrong_function_is_refuted() {
    if !solver::is_there() {
        return;
    }
    for (file, right, wrong, goal) in MISTAKES {
        let mut files = files();
        let (_, text) = files.iter_mut().find(|(name, _)| name == file).unwrap();
        assert!(text.contains(right), "{file}: {right}");
        *text = text.replace(right, wrong);
        let source = Source::parse(&files).unwrap();
        assert_eq!(prove(&source, goal), Answer::Refuted, "{goal}: {wrong}");
    }
}

#[test]
fn a_right_function_is_proved() {
    if !solver::is_there() {
        return;
    }
    let source = Source::parse(&files()).unwrap();
    for goal in ["Tnum::and", "Tnum::range", "Bounds::lsh 64 bits"] {
        assert!(matches!(prove(&source, goal), Answer::Proved(_)), "{goal}");
    }
}

#[test]
fn a_new_function_needs_a_goal_or_a_reason() {
    let mut files = files();
    files.push(("new.rs".to_owned(), "impl Tnum { fn new_one(self) -> Self { self } }".to_owned()));
    let source = Source::parse(&files).unwrap();
    assert_eq!(table::forgotten(&source, &[]).iter().filter(|n| *n == "Tnum::new_one").count(), 1);
    assert!(table::names(&table::page(&source, &[])).iter().any(|row| row.contains("new_one")));
}
