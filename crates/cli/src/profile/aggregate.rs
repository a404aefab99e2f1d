//! From insns and call paths to functions, lines and stacks.

use crate::diagnostic::source_spot;
use skep::insn_text::{function_name, insn_with_map};
use skep::profile::{CallPath, Cost, CostAt, KeptApart, Profile};
use skep::program::Program;
use skep_report::{
    ApartReason, FunctionCost, LineCost, ProfiledLine, ProgProfile, Spent, StackCost,
};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The contents of a profile, with the program's names. Each list is sorted by cost, highest first.
pub(super) fn aggregate(program: &Program, profile: &Profile) -> ProgProfile {
    let names = Names::of(program, profile);
    let mut total = Spent::default();
    let mut lines: HashMap<&ProfiledLine, Spent> = HashMap::new();
    let mut stacks: HashMap<(usize, &str), Spent> = HashMap::new();
    let mut paths = vec![Spent::default(); profile.paths().len()];
    for CostAt { path, insn_idx, cost } in profile.costs() {
        let (spent, line) = (spent(cost), names.line(insn_idx));
        total += spent;
        *lines.entry(line).or_default() += spent;
        *stacks.entry((path, &line.place)).or_default() += spent;
        paths[path] += spent;
    }
    let mut lines: Vec<LineCost> =
        lines.into_iter().map(|(line, spent)| LineCost { line: line.clone(), spent }).collect();
    lines.sort_by_cached_key(|row| (Reverse(row.spent.insns), row.line.clone()));
    let mut stacks: Vec<StackCost> = stacks
        .into_iter()
        .map(|((path, place), spent)| StackCost { stack: names.stack(path, place), spent })
        .collect();
    stacks.sort_by_cached_key(|row| (Reverse(row.spent.insns), row.stack.clone()));
    ProgProfile {
        file: String::new(),
        prog: program.name.clone(),
        verdict: String::new(),
        reason: None,
        total,
        functions: functions(&names, &paths),
        lines,
        kept_apart: reasons(&names, &profile.kept_apart()),
        flow: super::flow::blocks(program, profile, |idx| names.line(idx).place.clone()),
        stacks,
    }
}

fn spent(cost: Cost) -> Spent {
    Spent {
        insns: cost.insns.into(),
        states: cost.states.into(),
        covered: cost.covered.into(),
        apart: cost.apart.into(),
    }
}

/// The insns of each function itself, and including its callees.
fn functions(names: &Names<'_>, paths: &[Spent]) -> Vec<FunctionCost> {
    let mut functions: HashMap<usize, FunctionCost> = HashMap::new();
    for (path, spent) in paths.iter().enumerate() {
        // A function that calls itself through a callback is counted once.
        let mut above: Vec<usize> = names.callers(path).map(|path| path.insns.start).collect();
        above.sort_unstable();
        above.dedup();
        for start in above {
            let row = functions.entry(start).or_insert_with(|| FunctionCost {
                function: names.function(start),
                own: Spent::default(),
                insns_with_callees: 0,
            });
            row.insns_with_callees += spent.insns;
            if start == names.paths[path].insns.start {
                row.own += *spent;
            }
        }
    }
    let mut functions: Vec<FunctionCost> = functions.into_values().collect();
    functions.sort_by_cached_key(|row| (Reverse(row.own.insns), row.function.clone()));
    functions
}

/// Why states were not pruned, by line: the states of a macro or an unrolled loop are in one row.
fn reasons(names: &Names<'_>, told: &[KeptApart]) -> Vec<ApartReason> {
    let mut rows: HashMap<(String, String, Option<String>), ApartReason> = HashMap::new();
    // The most frequent reason is first, and is the example.
    for reason in told.iter().map(|reason| names.reason(reason)) {
        let needed_by = reason.needed_by.as_ref().map(|line| line.place.clone());
        let times = reason.times;
        let row = rows.entry((reason.at.place.clone(), reason.what.clone(), needed_by));
        row.and_modify(|row| row.times += times).or_insert(reason);
    }
    let mut rows: Vec<ApartReason> = rows.into_values().collect();
    rows.sort_by_cached_key(|row| (Reverse(row.times), row.insn_idx, row.what.clone()));
    rows
}

/// The names of a program's insns.
struct Names<'a> {
    program: &'a Program,
    paths: &'a [CallPath],
    lines: Vec<ProfiledLine>,
}

impl<'a> Names<'a> {
    fn of(program: &'a Program, profile: &'a Profile) -> Names<'a> {
        let line = |idx: usize| match source_spot(program, idx).filter(|spot| spot.line > 0) {
            Some(spot) => {
                let file = spot.file.rsplit('/').next().unwrap_or(&spot.file);
                let place = format!("{file}:{}", spot.line);
                ProfiledLine { place, text: spot.text.trim_end().to_owned() }
            }
            None => ProfiledLine {
                place: format!("insn {idx}"),
                text: insn_with_map(program, idx).unwrap_or_default(),
            },
        };
        // One extra: verification may end after the last insn.
        let lines = (0..=program.insns.len()).map(line).collect();
        Names { program, paths: profile.paths(), lines }
    }

    fn line(&self, insn_idx: usize) -> &ProfiledLine {
        &self.lines[insn_idx.min(self.lines.len() - 1)]
    }

    /// The name of the function that starts at an insn.
    fn function(&self, start: usize) -> String {
        function_name(self.program, start)
    }

    /// A call path and those above it.
    fn callers(&self, path: usize) -> impl Iterator<Item = &'a CallPath> + use<'a> {
        let paths = self.paths;
        std::iter::successors(Some(&paths[path]), move |path| Some(&paths[path.parent?]))
    }

    /// Functions and the lines of calls, the outermost first; a line at the end.
    fn stack(&self, path: usize, place: &str) -> Vec<String> {
        let mut stack = vec![place.to_owned()];
        for path in self.callers(path) {
            let rest = if path.is_rest { " (on other paths)" } else { "" };
            stack.push(format!("{}{rest}", self.function(path.insns.start)));
            stack.extend(path.call.map(|call| self.line(call).place.clone()));
        }
        // A global function is verified separately.
        if stack.last() != Some(&self.program.name) {
            stack.push(self.program.name.clone());
        }
        stack.reverse();
        stack
    }

    fn reason(&self, reason: &KeptApart) -> ApartReason {
        ApartReason {
            insn_idx: reason.insn_idx,
            at: self.line(reason.insn_idx).clone(),
            what: reason.why.to_string(),
            saved: reason.saved.clone(),
            current: reason.current.clone(),
            needed_by: reason.needed_by.map(|by| self.line(by).clone()),
            times: reason.times,
        }
    }
}
