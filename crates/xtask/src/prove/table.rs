//! docs/proofs.md: every function of the domain, and what is proved about it.

use super::goals::Goal;
use super::solver::{Answer, Question};
use super::source::Source;
use std::collections::BTreeMap;
use std::fmt::Write;

const PRODUCT: &str = "solvers give no answer for products of 12 bits or more; enumerated at 4 bits, \
                       sampled at 6, random at 64 (`crates/domain/tests`)";
const TEXT: &str = "text only";
const ANSWERS: &str = "only reads a field";

const PART: &str = "`ScalarAt::sync` with one step fewer";
const ENUMERATED: &str = "enumerated at 4 bits in its test";

const COPIES: &str = "copies bounds that fit, and drops the others";

/// Functions without a goal, with the reasons.
pub(super) const EXCEPTIONS: [(&str, &str); 38] = [
    ("AluOp::from_code", "a table of opcodes, without arithmetic"),
    ("Bounds::mul", PRODUCT),
    ("Bounds::mul_s", PRODUCT),
    ("Bounds::narrow_each_by_other_if", PART),
    ("BoundsViolation::fmt", TEXT),
    ("JmpOp::from_code", "a table of opcodes, without arithmetic"),
    ("Scalar::violation", "reports an empty register; computes none"),
    ("ScalarAt::half_from_whole", COPIES),
    ("ScalarAt::narrow_by_bits_if", PART),
    ("ScalarAt::sync_by", PART),
    ("ScalarAt::truncate_by", "`ScalarAt::truncate_to_bits`, with one step fewer"),
    ("ScalarAt::whole_from_half", COPIES),
    ("Tnum::fmt", TEXT),
    ("Tnum::is_unknown", ANSWERS),
    ("Tnum::mul", PRODUCT),
    ("Tnum::mul_by", "one of the three products"),
    ("Tnum::mul_by_sums", PRODUCT),
    ("Tnum::mul_by_halves", PRODUCT),
    ("Tnum::subreg", "`Tnum::cast` to 4 bytes"),
    ("Views::deduce_by", PART),
    ("Views::narrow_bits_by", PART),
    ("Views::narrow_by_bits_if", PART),
    ("Wrapped::words", ANSWERS),
    ("add_unsynced", "`combine_by` for sums"),
    ("add_wrapped_unsynced", "`combine_wrapped` for sums"),
    ("move_wrapped", "`combine_wrapped` for sums, without the low half"),
    ("alu_by", "`alu`, then `ScalarAt::sync_by`"),
    ("combine_by", "`combine`, then `weaken`"),
    ("divide", ENUMERATED),
    ("divide_bare", ENUMERATED),
    ("divide_bounds", ENUMERATED),
    ("divide_wrapped", "`divide_bare`, then `ScalarAt::sync_wrapped`"),
    ("find_anew", "drops bounds, then `ScalarAt::sync_by`"),
    ("positive_product", ENUMERATED),
    ("refine_branches_by", "`refine_by`, then `ScalarAt::sync_by`"),
    ("refine_by", "`refine`, which keeps more bounds on some kernels: see `narrow_both`"),
    ("refine_same_by", "`refine_same` with `ScalarAt::sync_by`"),
    ("weaken", "drops bounds and narrows none; for products see `positive_product`"),
];

const HEAD: &str = "# Proofs at 64 bits

Written by `cargo xtask prove`; `cargo xtask prove --check` compares the names with the source.

The functions of `crates/domain/src` are interpreted symbolically from their source,
and z3 is asked for a counterexample: abstract operands, concrete values contained in them, and a
concrete result not contained in the abstract result (for a branch: the comparison holds, but the
refined operand excludes its value). *Proved* means that there is none, for all 64-bit values.
Arithmetic wraps and shifts as in the release build; the interpreter itself is not proved.

A function that is called in several steps has a goal of its own, which the goals of its callers
assume: `sync` assumes its three steps, `alu` and `refine_branches` assume `sync`. `alu Mul` assumes
both multiplications, which are exceptions.

The same holds for wrapping ranges (kernels from 7.2 on): each goal assumes those of the functions
that it calls: on single ranges (`Arc`), on scalars (`Known`), on registers, on insns.
`is_taken_wrapped` requires operands in the form that `sync` produces: if all bits of a register, or
of its lower half, are known, its bounds contain only that value; `refine_wrapped` preserves this.

| function | file | case | result | seconds |
| --- | --- | --- | --- | --- |
";

/// A goal, its scripts, and the answer.
pub(super) type Done<'a> = (&'a Goal, Question, Answer);

impl Answer {
    fn cells(&self) -> String {
        match self {
            Answer::Proved(took) => format!("proved | {:.2}", took.as_secs_f64()),
            Answer::Refuted => "REFUTED |".to_owned(),
            Answer::Timeout(seconds) => format!("no answer | {seconds}"),
            Answer::Vacuous => "VACUOUS |".to_owned(),
            Answer::Broken(why) => format!("BROKEN: {why} |"),
        }
    }
}

fn reason(function: &str) -> Option<&'static str> {
    EXCEPTIONS.iter().find(|(name, _)| *name == function).map(|(_, why)| *why)
}

/// Functions that have no goal, are not executed by one, and are not exceptions.
pub(super) fn forgotten(source: &Source, done: &[Done<'_>]) -> Vec<String> {
    let covered = |name: &String| {
        reason(name).is_some()
            || done.iter().any(|(goal, asked, _)| goal.of == name || asked.walked.contains(name))
    };
    source.functions.keys().filter(|name| !covered(name)).cloned().collect()
}

/// The page.
pub(super) fn page(source: &Source, done: &[Done<'_>]) -> String {
    let mut out = HEAD.to_owned();
    let mut within: BTreeMap<&str, Vec<&'static str>> = BTreeMap::new();
    for (goal, asked, _) in done {
        for name in &asked.walked {
            let goals = within.entry(name).or_default();
            if !goals.contains(&goal.of) {
                goals.push(goal.of);
            }
        }
    }
    for name in source.functions.keys() {
        let file = source.files.get(name).map_or("", String::as_str);
        let own: Vec<_> = done.iter().filter(|(goal, ..)| goal.of == name).collect();
        // Writing to a string does not fail.
        for (goal, _, answer) in &own {
            let cells = answer.cells();
            let _ = writeln!(out, "| `{name}` | {file} | {} | {cells} |", goal.case);
        }
        if !own.is_empty() {
            continue;
        }
        let _ = match (reason(name), within.get(name.as_str())) {
            (Some(why), _) => writeln!(out, "| `{name}` | {file} | | exception: {why} | |"),
            (None, Some(goals)) => {
                let goals: Vec<String> = goals.iter().map(|goal| format!("`{goal}`")).collect();
                let goals = goals.join(", ");
                writeln!(out, "| `{name}` | {file} | | within {goals} | |")
            }
            (None, None) => writeln!(out, "| `{name}` | {file} | | NO GOAL | |"),
        };
    }
    out
}

/// The first three columns of a page, which do not depend on the machine.
pub(super) fn names(page: &str) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.split('|').take(4).collect::<Vec<_>>().join("|")).collect()
}

/// The goals proved within `limit` seconds according to a page, as row prefixes.
pub(super) fn quick(page: &str, limit: f64) -> Vec<String> {
    let quick = |row: &&str| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        cells.get(4) == Some(&"proved")
            && cells.get(5).and_then(|s| s.parse::<f64>().ok()).is_some_and(|took| took <= limit)
    };
    page.lines().filter(quick).flat_map(names).collect()
}

/// The row of a goal, in the format of [`names`].
pub(super) fn row(source: &Source, goal: &Goal) -> String {
    let file = source.files.get(goal.of).map_or("", String::as_str);
    format!("| `{}` | {file} | {} ", goal.of, goal.case)
}
