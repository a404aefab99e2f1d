//! `cargo xtask kernels shipped`: verdicts on `tests/programs`, and on the witnesses of rules, for
//! every kernel that was asked, held against its answers. No kernel, no corpus and no BTF of
//! another kernel is needed: any machine does it.
//!
//! `shipped.csv` contains totals, and each program whose verdict differs. A difference that is not
//! listed there is a failure, and so is a lower total.

use super::agree::{self, END};
use super::surface;
use crate::answers;
use crate::objects;
use crate::outcome::Ended;
use rayon::prelude::*;
use skep::{Kernel, Session, Verdict, VerifyOptions};
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Record the agreement.
    #[arg(long)]
    write: bool,
}

/// Totals for one kernel, and the differences.
#[derive(Debug, Default)]
struct Held {
    /// Programs that the kernel judged and that have a verdict here.
    judged: usize,
    /// Programs that the kernel judged and that have no verdict here.
    not_known: usize,
    /// `accepted here`, `refused here`: object and program.
    differing: BTreeSet<String>,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let folders = ["tests/programs", "tests/kernels/witnesses"];
    let files = objects::find(&folders.map(|folder| crate::root().join(folder)))?;
    let mut lines = Vec::new();
    let releases = agree::releases_with(surface::END);
    let hold = |release: &String| hold(release, &files).map_err(|why| why.to_string());
    let all = releases.par_iter().map(hold).collect::<Result<Vec<Held>, String>>()?;
    for (release, held) in releases.iter().zip(all) {
        let wrong = held.differing.len();
        lines.push(format!("{release}{JUDGED}{},not known,{}", held.judged, held.not_known));
        println!("{release}: {} judged, {wrong} differ, {} not known", held.judged, held.not_known);
        lines.extend(held.differing.iter().map(|line| format!("{release},{line}")));
    }
    let path = agree::folder().join("shipped.csv");
    let text = lines.iter().fold(HEAD.to_owned(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    });
    if args.write {
        fs::write(&path, text)?;
        return Ok(Ended::Passed);
    }
    let known = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let known: BTreeSet<&str> = known.lines().collect();
    let worse: Vec<&String> = lines.iter().filter(|line| is_worse(line, &known)).collect();
    worse.iter().for_each(|line| println!("worse: {line}"));
    if worse.is_empty() && lines.iter().any(|line| !known.contains(line.as_str())) {
        println!("better: record it with `cargo xtask kernels shipped --write`");
    }
    Ok(worse.is_empty().into())
}

/// Whether a difference is not recorded, or a total is below the recorded one.
fn is_worse(line: &str, known: &BTreeSet<&str>) -> bool {
    let Some((release, sum)) = line.split_once(JUDGED) else { return !known.contains(line) };
    let number = |text: &str| text.split(',').next().and_then(|text| text.parse::<usize>().ok());
    let recorded = known.iter().find_map(|line| {
        line.split_once(JUDGED).filter(|(of, _)| *of == release).and_then(|(_, sum)| number(sum))
    });
    number(sum) < recorded
}

const JUDGED: &str = ",judged,";

const HEAD: &str = "# verdicts on tests/programs and tests/kernels/witnesses against kernels that were asked; by cargo xtask kernels shipped\n";

fn hold(release: &str, files: &[PathBuf]) -> Result<Held, Box<dyn Error>> {
    let table = answers::read(&agree::folder().join(format!("{release}{END}")))?;
    let session = Session { completes: true, ..Session::for_kernel(Kernel::open(release)?) };
    let mut held = Held::default();
    for path in files {
        let name = objects::short_name(path);
        let Ok(object) = session.open_file(path) else { continue };
        for entry in &object.programs {
            let answer = table.get(&(name.clone(), entry.name.clone()));
            let Some(answer) = answer.filter(|answer| answer.is_judged()) else { continue };
            let Ok(program) = &entry.program else {
                held.not_known += 1;
                continue;
            };
            let accepts = match session.verify(program, &VerifyOptions::default()).verdict {
                Verdict::Accepted(_) => true,
                Verdict::Rejected(_) => false,
                _ => {
                    held.not_known += 1;
                    continue;
                }
            };
            held.judged += 1;
            if accepts != (answer.verdict == "accepted") {
                let ours = if accepts { "accepted" } else { "refused" };
                held.differing.insert(format!("{ours} here,{name},{}", entry.name));
            }
        }
    }
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_differences_and_lower_sums_are_worse() {
        let known = BTreeSet::from(["6.1.0,judged,10,not known,2", "6.1.0,accepted here,a.o,p"]);
        assert!(!is_worse("6.1.0,accepted here,a.o,p", &known));
        assert!(is_worse("6.1.0,accepted here,a.o,q", &known));
        assert!(is_worse("6.1.0,judged,9,not known,3", &known));
        assert!(!is_worse("6.1.0,judged,11,not known,1", &known));
        assert!(!is_worse("7.0.0,judged,1,not known,1", &known), "a kernel that is new");
    }
}
