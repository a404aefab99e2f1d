//! Findings by cause: their counts, a file for each, and a table.

use super::args::Args;
use super::batch::Sources;
use super::compare::{Compared, Difference, Kind, compare, compare_also_long};
use super::minimise::minimise;
use super::replay::{Case, listing};
use super::worker::Found;
use crate::hash::fnv1a;
use crate::objects;
use crate::outcome::Ended;
use skep_kernel::judge::judge;
use skep_kernel::kernel_log;
use skep_testkit::engine;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A group, probably with one cause.
struct Group {
    count: u64,
    /// The first mutants, as `SEED/BATCH/INDEX`.
    ids: Vec<String>,
    case: Option<Case>,
}

/// Number of mutants listed per group.
const IDS_MAX: usize = 5;

#[derive(Default)]
pub(super) struct Groups {
    counts: BTreeMap<String, u64>,
    groups: BTreeMap<(Kind, String), Group>,
    /// Programs that killed a worker.
    lost: Vec<String>,
}

impl Groups {
    pub(super) fn add(&mut self, counts: BTreeMap<String, u64>, found: Vec<Found>) {
        for (class, n) in counts {
            *self.counts.entry(class).or_default() += n;
        }
        for it in found {
            let group = self.groups.entry((it.kind, it.key)).or_insert_with(|| Group {
                count: 0,
                ids: Vec::new(),
                case: None,
            });
            group.count += 1;
            if group.ids.len() < IDS_MAX {
                group.ids.push(it.id);
            }
            let len = |case: &Case| case.listing.len();
            if let Some(case) = it.case
                && group.case.as_ref().is_none_or(|had| len(had) > len(&case))
            {
                group.case = Some(case);
            }
        }
    }

    pub(super) fn lost(&mut self, id: &str, why: &str) {
        self.lost.push(format!("{id}: {why}"));
    }

    /// Number of programs.
    pub(super) fn programs(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The worst kind of difference found.
    pub(super) fn worst(&self) -> Option<Kind> {
        let lost = (!self.lost.is_empty()).then_some(Kind::Bug);
        self.groups.keys().map(|(kind, _)| *kind).chain(lost).min()
    }

    /// The number of each difference, with its key.
    pub(super) fn differences(&self) -> impl Iterator<Item = (Kind, u64, &str)> {
        self.groups.iter().map(|((kind, key), group)| (*kind, group.count, key.as_str()))
    }

    pub(super) fn judged(&self) -> (u64, u64) {
        let of = |prefix: &str| {
            let fits = self.counts.iter().filter(|(class, _)| class.starts_with(prefix));
            fits.map(|(_, n)| n).sum::<u64>()
        };
        (of("equal"), of("equal") + of("different"))
    }

    /// Writes a file for each group, and writes and returns the table.
    pub(super) fn write(&self, out: &Path) -> std::io::Result<String> {
        std::fs::create_dir_all(out)?;
        let (equal, judged) = self.judged();
        let mut text = format!("programs {}, judged {judged}, equal {equal}", self.programs());
        let percent = 100.0 * equal as f64 / judged.max(1) as f64;
        let _ = writeln!(text, " ({percent:.3} %)");
        for (class, n) in &self.counts {
            let _ = writeln!(text, "  {n:>8}  {class}");
        }
        for lost in &self.lost {
            let _ = writeln!(text, "  lost at {lost}");
        }
        let mut sorted: Vec<_> = self.groups.iter().collect();
        sorted.sort_by_key(|((kind, _), group)| (*kind, std::cmp::Reverse(group.count)));
        for ((kind, key), group) in sorted {
            let path = file_of(out, *kind, key);
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let _ = writeln!(text, "{:>6} {kind:?}: {key}", group.count);
            let _ = writeln!(text, "         {file}  {}", group.ids.join(" "));
            if let Some(case) = &group.case {
                let it = &case.difference;
                let _ = writeln!(text, "         - {}   {}", it.ours, it.line_ours);
                let _ = writeln!(text, "         + {}   {}", it.kernel, it.line_kernel);
                std::fs::write(path, serde_json::to_string_pretty(case)?)?;
            }
        }
        std::fs::write(out.join("summary.txt"), &text)?;
        Ok(text)
    }
}

/// The file name of a group.
fn file_of(out: &Path, kind: Kind, key: &str) -> PathBuf {
    let kind = format!("{kind:?}").to_lowercase();
    out.join(format!("{kind}-{:08x}.json", fnv1a(key.bytes()) as u32))
}

/// Writes the program with an id to a file.
pub(super) fn show(args: &Args, id: &str) -> crate::Outcome {
    let numbers: Vec<u64> = id.split('/').filter_map(|word| word.parse().ok()).collect();
    let [seed, number, i] = numbers[..] else { return Err("an id is SEED/BATCH/INDEX".into()) };
    let sources = Sources::new(objects::find(&args.paths)?, args.generated)?;
    let sources = sources.only(args.only.as_deref())?;
    let batch = sources.batch(seed, number).ok_or("no program in that batch")?;
    let mutant = batch.mutant(i)?;
    let difference = Difference { ours: "not judged".to_owned(), ..Difference::none() };
    let base = format!("{} ({id})", batch.name);
    let case = Case::new(&base, &mutant.edits, &mutant.program, mutant.loader, difference);
    std::fs::create_dir_all(&args.out)?;
    let path = args.out.join(format!("shown-{}.json", id.replace('/', "-")));
    std::fs::write(&path, serde_json::to_string_pretty(&case)?)?;
    println!("{base} {:?} {:?}", mutant.edits, mutant.loader);
    case.listing.iter().for_each(|line| println!("{line}"));
    println!("{}", path.display());
    Ok(Ended::Passed)
}

/// Judges the program of a file again, and shows where the results differ.
pub(super) fn replay(path: &Path, smaller: bool, lines: usize) -> crate::Outcome {
    let case: Case = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let mut program = case.program(objects::host()?.kernel_btf)?;
    let mut loader = case.loader;
    engine::record_panics();
    let mut kernels = String::new();
    let mut compared =
        compare_also_long(&program, loader, true, &mut |level| judge(&program, level));
    if let (true, Compared::Different(difference)) = (smaller, &compared)
        && difference.kind != Kind::Slow
    {
        let small;
        (program, loader, small) = minimise(program, loader, (**difference).clone());
        compared = Compared::Different(Box::new(small));
    }
    println!("{} {:?} {loader:?}", program.prog_type.name(), program.attach_type());
    listing(&program).iter().for_each(|line| println!("{line}"));
    let Compared::Different(difference) = compared else {
        println!("{compared:?}");
        return Ok(Ended::Passed);
    };
    let mut ours = String::new();
    if difference.kind != Kind::Bug {
        compare(&program, loader, &mut |level| {
            let answer = judge(&program, level);
            if let skep_kernel::judge::Answer::Judged(it) = &answer {
                kernels = kernel_log::normalise(&it.log, &program.insns);
            }
            answer
        });
        let privileges = loader.privileges();
        ours = engine::verify_with(&program, 6, privileges).log;
        ours = kernel_log::normalise(&ours, &program.insns);
    }
    println!("ours:   {}\nkernel: {}", difference.ours, difference.kernel);
    let from = difference.line.saturating_sub(lines.max(8));
    let shown = difference.line.saturating_sub(1 + from);
    ours.lines().skip(from).take(shown).for_each(|line| println!("= {line}"));
    ours.lines().skip(from + shown).take(lines).for_each(|line| println!("- {line}"));
    kernels.lines().skip(from + shown).take(lines).for_each(|line| println!("+ {line}"));
    Ok(Ended::Failed)
}
