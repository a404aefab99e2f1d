//! The source's name of a value: the variable assigned by the line that computed it.
//!
//! BTF has no local variables, but it has the lines: `u64 *v = bpf_map_lookup_elem(&m, &key);`
//! names `v`. A name is given only if the line assigns one variable, and exactly this value.

use crate::dataflow::{Dataflow, Id, Origin};
use crate::dump::names::source_spot;
use crate::notes::{self, Described};
use skep::insn::code::*;
use skep::program::Program;

/// The variable to which a value was assigned.
pub(crate) fn of_value(
    dataflow: &Dataflow<'_>,
    id: Id,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<String> {
    let value = &dataflow.values[id];
    let by = value.by?;
    let insn = program.insns.get(by)?;
    match value.made {
        // A copy of the lower half has the name of its source.
        Origin::Computed if insn.op() == BPF_MOV => {
            of_value(dataflow, value.of[0].filter(|of| *of < id)?, program, describe)
        }
        Origin::Returned => of_call(program, by, describe),
        Origin::Loaded if value.of == [None; 2] => {
            set_by_load(&source_spot(program, by)?.text).map(str::to_owned)
        }
        _ => None,
    }
}

/// The variable to which a call's result is assigned.
pub(crate) fn of_call(
    program: &Program,
    idx: usize,
    describe: &impl Fn(usize) -> Described,
) -> Option<String> {
    let callee = notes::callee(program, idx, describe)?;
    let text = source_spot(program, idx)?.text;
    // Macros hide the suffixes that the kernel adds to names.
    let callee = callee.strip_suffix("_impl").unwrap_or(&callee);
    set_by_call(&text, callee).map(str::to_owned)
}

fn set_by_call<'t>(text: &'t str, callee: &str) -> Option<&'t str> {
    let mut calls = text.match_indices(callee).filter(|(at, _)| {
        let after = text[at + callee.len()..].trim_start();
        after.starts_with('(') && !text[..*at].ends_with(is_of_name)
    });
    let (at, _) = calls.next()?;
    if calls.next().is_some() {
        return None;
    }
    let before = without_cast(text[..at].trim_end());
    set(before.strip_suffix('=')?)
}

/// `x = a->b;` only.
fn set_by_load(text: &str) -> Option<&str> {
    let (left, right) = text.trim().strip_suffix(';')?.split_once('=')?;
    let mut steps = right.matches("->").count() + right.matches('.').count();
    steps += right.matches('[').count();
    let is_part = |c: char| is_of_name(c) || "->.[] ".contains(c);
    let is_path = right.chars().all(is_part) && !right.replace("->", "").contains(['-', '>']);
    (steps <= 1 && is_path).then(|| set(left))?
}

/// Without the trailing cast.
fn without_cast(text: &str) -> &str {
    let inner = text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
    match inner {
        Some((before, cast)) if cast.trim_end().ends_with('*') => before.trim_end(),
        _ => text,
    }
}

/// The last name on the left of `=`.
fn set(left: &str) -> Option<&str> {
    let left = left.trim_end();
    let is_path = |c: char| is_of_name(c) || c == '.';
    let mut start = left.len();
    loop {
        let before = left[..start].trim_end_matches(is_path);
        if before.len() == start {
            return None;
        }
        start = before.len();
        match before.strip_suffix("->") {
            Some(more) => start = more.len(),
            None => break,
        }
    }
    let name = &left[start..];
    let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    is_name.then_some(name)
}

fn is_of_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_that_a_line_sets() {
        for (text, name) in [
            ("\tu64 *v = lookup(&m, &key);", Some("v")),
            ("if (!(v = lookup(&m, &key)))", Some("v")),
            ("e->task = (struct task *)lookup(&m);", Some("e->task")),
            ("s.sk = lookup (&m);", Some("s.sk")),
            ("if (x == lookup(&m))", None),
            ("v += lookup(&m);", None),
            ("return lookup(&m);", None),
            ("a = my_lookup(&m);", None),
            ("a = lookup(lookup(&m));", None),
            ("a[3] = lookup(&m);", None),
        ] {
            assert_eq!(set_by_call(text, "lookup"), name, "{text}");
        }
        for (text, name) in [
            ("int len = ctx->count;", Some("len")),
            ("x = *p;", None),
            ("x = a->b->c;", None),
            ("x = f(a->b);", None),
            ("x = a->b + 1;", None),
            ("x = a > b;", None),
            ("x -= a->b;", None),
            ("if (x = a->b)", None),
            ("for (x = a->b; x; x = x->next);", None),
        ] {
            assert_eq!(set_by_load(text), name, "{text}");
        }
    }
}
