//! From insns and call paths to functions, lines and stacks.

use crate::diagnostic::source_spot;
use skep::insn_text::{function_name, insn_with_map};
use skep::profile::{CallPath, Cost, CostAt, KeptApart, Profile};
use skep::program::Program;
use skep_report::{
    ApartReason, FunctionCost, LineCost, ProfiledLine, ProgProfile, Spent, StackCost,
};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// The contents of a profile, with the program's names. Each list is sorted by cost, highest first.
pub(super) fn aggregate(program: &Program, profile: &Profile) -> ProgProfile {
    let names = Names::of(program, profile);
    let mut total = Spent::default();
    let mut of_lines = vec![Spent::default(); names.lines.len()];
    let mut stacks: HashMap<(usize, usize), Spent> = HashMap::new();
    let mut paths = vec![Spent::default(); profile.paths().len()];
    for CostAt { path, insn_idx, cost } in profile.costs() {
        let (spent, line) = (spent(cost), names.line_number(insn_idx));
        total += spent;
        of_lines[line] += spent;
        *stacks.entry((path, names.place(line))).or_default() += spent;
        paths[path] += spent;
    }
    let lines = names.lines.iter().zip(of_lines);
    let mut lines: Vec<LineCost> = lines
        .filter(|(_, spent)| *spent != Spent::default())
        .map(|(line, spent)| LineCost { line: line.clone(), spent })
        .collect();
    lines.sort_by_cached_key(|row| (Reverse(row.spent.insns), row.line.clone()));
    // Calls of one line may be several insns.
    let mut merged: HashMap<Vec<String>, Spent> = HashMap::new();
    for ((path, place), spent) in stacks {
        *merged.entry(names.stack(path, &names.lines[place].place)).or_default() += spent;
    }
    let mut stacks: Vec<StackCost> =
        merged.into_iter().map(|(stack, spent)| StackCost { stack, spent }).collect();
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
    /// The line of each insn, and one extra: verification may end after the last insn.
    of_insns: Vec<usize>,
    /// The first line that has the same place.
    places: Vec<usize>,
}

impl<'a> Names<'a> {
    fn of(program: &'a Program, profile: &'a Profile) -> Names<'a> {
        let mut names = Names {
            program,
            paths: profile.paths(),
            lines: Vec::new(),
            of_insns: Vec::new(),
            places: Vec::new(),
        };
        // Insns between two rows of the table have the line of the first one.
        let rows = program.source_lines().0.iter().map(|row| row.insn_off.index());
        let starts: HashSet<usize> = rows.chain(program.function_starts()).collect();
        let (mut known, mut places) = (HashMap::new(), HashMap::new());
        let mut last = None;
        for idx in 0..=program.insns.len() {
            if starts.contains(&idx) {
                last = None;
            }
            let number = last.unwrap_or_else(|| {
                let (line, has_line) = names.new_line(idx);
                let number = *known.entry(line.clone()).or_insert(names.lines.len());
                if number == names.lines.len() {
                    names.places.push(*places.entry(line.place.clone()).or_insert(number));
                    names.lines.push(line);
                }
                last = has_line.then_some(number);
                number
            });
            names.of_insns.push(number);
        }
        names
    }

    /// The line of an insn, or the insn itself, and whether it is a line.
    fn new_line(&self, idx: usize) -> (ProfiledLine, bool) {
        match source_spot(self.program, idx).filter(|spot| spot.line > 0) {
            Some(spot) => {
                let file = spot.file.rsplit('/').next().unwrap_or(&spot.file);
                let place = format!("{file}:{}", spot.line);
                (ProfiledLine { place, text: spot.text.trim_end().to_owned() }, true)
            }
            None => {
                let text = insn_with_map(self.program, idx).unwrap_or_default();
                (ProfiledLine { place: format!("insn {idx}"), text }, false)
            }
        }
    }

    fn line_number(&self, insn_idx: usize) -> usize {
        self.of_insns[insn_idx.min(self.of_insns.len() - 1)]
    }

    fn line(&self, insn_idx: usize) -> &ProfiledLine {
        &self.lines[self.line_number(insn_idx)]
    }

    fn place(&self, line: usize) -> usize {
        self.places[line]
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
