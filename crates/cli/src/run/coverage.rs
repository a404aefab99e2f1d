//! `--coverage` and `--profile`: execution counts of lines, functions and branches.
//!
//! The count of a line is that of its most executed insn; where several functions or programs have
//! insns of the line, their counts are added. Insns that the verifier removed count as not
//! executed; branches that it decided are omitted.

use crate::diagnostic::source_spot;
use skep::btf::TypeId;
use skep::insn_text::insn_with_map;
use skep::program::Program;
use skep::runtime::{Coverage, Instance};
use skep_report::{BranchKey, ExecutedLine, FileCoverage, Page, ProfiledLine, coverage_page};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// A program that was loaded with counters.
pub(super) struct Counted {
    pub(super) program: Program,
    pub(super) instance: Instance,
}

/// Counts by the path of the source file.
pub(super) fn files(counted: &[Counted]) -> BTreeMap<String, FileCoverage> {
    let mut files = BTreeMap::new();
    for Counted { program, instance } in counted {
        if let Some(coverage) = instance.coverage() {
            add(&mut files, &Names::of(program), &coverage);
        }
    }
    files
}

/// The same as a page, with the text of the lines.
pub(super) fn page(counted: &[Counted], files: &BTreeMap<String, FileCoverage>) -> Page {
    let mut texts: HashMap<String, HashMap<u32, String>> = HashMap::new();
    for Counted { program, .. } in counted {
        for spot in (0..program.insns.len()).filter_map(|idx| source_spot(program, idx)) {
            texts.entry(spot.file).or_default().entry(spot.line).or_insert(spot.text);
        }
    }
    coverage_page(files, |path, line| texts.get(path)?.get(&line).map(String::as_str))
}

/// Names of the programs that do not occur in [`files`].
pub(super) fn without_lines(counted: &[Counted]) -> impl Iterator<Item = &str> {
    let has_lines =
        |program: &Program| (0..program.insns.len()).any(|idx| source_spot(program, idx).is_some());
    let without = counted.iter().filter(move |counted| !has_lines(&counted.program));
    without.map(|counted| &*counted.program.name)
}

/// The executed lines, most insns first.
pub(super) fn lines(counted: &[Counted]) -> Vec<ExecutedLine> {
    let mut rows: HashMap<(String, u32), ExecutedLine> = HashMap::new();
    for Counted { program, instance } in counted {
        let Some(coverage) = instance.coverage() else { continue };
        for insn in coverage.insns.iter().filter(|insn| insn.runs > 0) {
            let (key, line) = named_line(program, insn.origin);
            let row = rows.entry(key).or_insert(ExecutedLine { line, insns: 0 });
            row.insns = row.insns.saturating_add(insn.runs);
        }
    }
    let mut rows: Vec<ExecutedLine> = rows.into_values().collect();
    rows.sort_by_cached_key(|row| (Reverse(row.insns), row.line.clone()));
    rows
}

fn named_line(program: &Program, idx: usize) -> ((String, u32), ProfiledLine) {
    match source_spot(program, idx).filter(|spot| spot.line > 0) {
        Some(spot) => {
            let file = spot.file.rsplit('/').next().unwrap_or(&spot.file);
            let place = format!("{file}:{}", spot.line);
            let line = ProfiledLine { place, text: spot.text.trim().to_owned() };
            ((spot.file, spot.line), line)
        }
        None => {
            let place = format!("{} insn {idx}", program.name);
            let text = insn_with_map(program, idx).unwrap_or_default();
            ((place.clone(), 0), ProfiledLine { place, text })
        }
    }
}

/// The functions of a program.
struct Names<'a> {
    program: &'a Program,
    /// First insns, in order.
    starts: Vec<usize>,
}

impl<'a> Names<'a> {
    fn of(program: &'a Program) -> Names<'a> {
        let mut starts = vec![0];
        starts
            .extend(program.func_info.iter().map(|row| row.insn_off.index()).filter(|at| *at > 0));
        Names { program, starts }
    }

    /// The number of the function that contains an insn.
    fn function_of(&self, idx: usize) -> usize {
        self.starts.partition_point(|start| *start <= idx).saturating_sub(1)
    }

    fn name(&self, function: usize) -> String {
        let start = self.starts[function];
        if start == 0 {
            return self.program.name.clone();
        }
        let row = self.program.func_info.iter().find(|row| row.insn_off.index() == start);
        let name = row.and_then(|row| self.program.btf.as_ref()?.get(TypeId(row.type_id)));
        name.map_or_else(
            || format!("{} insn {start}", self.program.name),
            |name| name.name().into(),
        )
    }

    /// File and line.
    fn place(&self, idx: usize) -> Option<(String, u32)> {
        let spot = source_spot(self.program, idx).filter(|spot| spot.line > 0)?;
        Some((spot.file, spot.line))
    }
}

fn add(files: &mut BTreeMap<String, FileCoverage>, names: &Names<'_>, coverage: &Coverage) {
    let insns = names.program.insns.len();
    // By insn of the program; insns that the verifier removed have the count 0.
    let mut runs = vec![0u64; insns];
    for insn in &coverage.insns {
        if let Some(most) = runs.get_mut(insn.origin) {
            *most = insn.runs.max(*most);
        }
    }
    let mut lines: BTreeMap<(usize, String, u32), u64> = BTreeMap::new();
    for (idx, runs) in runs.iter().enumerate() {
        if let Some((file, line)) = names.place(idx) {
            let most = lines.entry((names.function_of(idx), file, line)).or_default();
            *most = (*most).max(*runs);
        }
    }
    for ((_, file, line), runs) in lines {
        let sum = files.entry(file).or_default().lines.entry(line).or_default();
        *sum = sum.saturating_add(runs);
    }
    add_functions(files, names, coverage);
    add_branches(files, names, coverage);
}

fn add_functions(
    files: &mut BTreeMap<String, FileCoverage>,
    names: &Names<'_>,
    coverage: &Coverage,
) {
    for function in 0..names.starts.len() {
        let Some((file, line)) = names.place(names.starts[function]) else { continue };
        let of_it = coverage.functions.iter().filter(|f| names.function_of(f.origin) == function);
        let calls: u64 = of_it.map(|of_it| of_it.calls).sum();
        let functions = &mut files.entry(file).or_default().functions;
        let sum = functions.entry((line, names.name(function))).or_default();
        *sum = sum.saturating_add(calls);
    }
}

fn add_branches(
    files: &mut BTreeMap<String, FileCoverage>,
    names: &Names<'_>,
    coverage: &Coverage,
) {
    let is_branch =
        |idx: usize| names.program.insns.get(idx).is_some_and(|insn| insn.is_conditional_jump());
    let found: HashMap<usize, (u64, u64)> = coverage
        .insns
        .iter()
        .filter(|insn| is_branch(insn.origin))
        .filter_map(|insn| Some((insn.origin, (insn.runs, insn.taken?))))
        .collect();
    let mut numbers: HashMap<(usize, String, u32), u32> = HashMap::new();
    for idx in (0..names.program.insns.len()).filter(|idx| is_branch(*idx)) {
        let Some((file, line)) = names.place(idx) else { continue };
        let function = names.function_of(idx);
        let next = numbers.entry((function, file.clone(), line)).or_default();
        let number = *next;
        *next += 1;
        let Some((runs, taken)) = found.get(&idx) else { continue };
        let branches = &mut files.entry(file).or_default().branches;
        let key = BranchKey { line, function: names.name(function), index: number };
        let branch = branches.entry(key).or_default();
        branch.runs = branch.runs.saturating_add(*runs);
        branch.taken = branch.taken.saturating_add(*taken);
    }
}
