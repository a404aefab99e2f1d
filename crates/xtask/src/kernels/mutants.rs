//! Compares our verifier with a kernel in a guest on mutated and generated programs.
//!
//! The same programs as in `cargo xtask mutate`; if one kills the guest, it is booted again.

use super::agree;
use super::folder::{folder, kernel};
use super::guest::Guest;
use super::machine::Machine;
use crate::mutate::{Judgement, OnKernel};
use crate::objects;
use crate::outcome::Ended;
use serde::{Deserialize, Serialize};
use skep::program::Program;
use skep_kernel::wire::Load;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    machine: Machine,
    /// Object files, and folders of them, whose programs are changed.
    #[arg(default_value = "tests/programs")]
    paths: Vec<PathBuf>,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Approximate number of programs.
    #[arg(long, default_value_t = 20_000)]
    count: u64,
    /// Stop after this many minutes, whatever the count.
    #[arg(long)]
    minutes: Option<f64>,
    /// Judge the programs of the suites and files as they are, each once, instead of mutants.
    #[arg(long)]
    unchanged: bool,
    /// Percentage of batches that consist of generated programs.
    #[arg(long, default_value_t = 50)]
    generated: u64,
    /// Record the figures in the table that `cargo xtask parity` prints.
    #[arg(long)]
    record: bool,
    /// Judge the findings in these files again, and write both logs (level 2) beside each.
    #[arg(long, num_args = 1..)]
    replay: Vec<PathBuf>,
}

/// Time limit for a short walk on an emulated machine.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let folder = folder(&args.machine);
    let (host, kernel) = kernel(&folder, &args.machine.kernel)?;
    let files = objects::find(&args.paths)?;
    let mut mutants = OnKernel::new(host, &kernel, files, args.seed, args.generated);
    let mut asked = Asked { args, guest: None, console: folder.join("console.mutants") };
    if !args.replay.is_empty() {
        for path in &args.replay {
            let both = mutants.replay(path, &mut |program| asked.ask(program, 2))?;
            println!("{}: {both}", path.display());
        }
        return Ok(Ended::Passed);
    }
    let start = Instant::now();
    let late = || args.minutes.is_some_and(|most| start.elapsed().as_secs_f64() > 60.0 * most);
    let mut number = 0;
    if args.unchanged {
        mutants.unchanged(&mut |program| asked.ask(program, 4));
    } else {
        while mutants.programs() < args.count && !late() {
            mutants.batch(number, &mut |program| asked.ask(program, 4));
            number += 1;
        }
    }
    print!("{}", mutants.write(&folder.join("mutants"))?);
    if args.record {
        record(args, &mutants)?;
    }
    println!("{:.0} s, {number} batches of seed {}", start.elapsed().as_secs_f64(), args.seed);
    Ok(match mutants.has_other_verdicts() {
        true => Ended::Failed,
        false => Ended::Passed,
    })
}

/// A line of the table of mutants: a figure of a kernel, or verdicts that differ.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) release: String,
    pub(crate) seed: u64,
    /// `programs`, `judged`, `false-accept`, `false-reject`.
    pub(crate) what: String,
    pub(crate) count: u64,
    /// For a difference: the kernel's message if we accept, ours if we refuse.
    pub(crate) says: String,
}

const TABLE: &str = "tests/kernels/mutants.csv";

/// The committed table, oldest kernel first.
pub(crate) fn figures() -> Result<Vec<Figure>, Box<dyn Error>> {
    let path = crate::root().join(TABLE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    Ok(csv::Reader::from_path(path)?.deserialize().collect::<Result<_, _>>()?)
}

/// Replaces the figures of the run's kernel and seed.
fn record(args: &Args, mutants: &OnKernel<'_>) -> Result<(), Box<dyn Error>> {
    let figure = |what: &str, count: u64, says: &str| Figure {
        release: args.machine.kernel.clone(),
        seed: args.seed,
        what: what.to_owned(),
        count,
        says: says.to_owned(),
    };
    let mut own =
        vec![figure("programs", mutants.programs(), ""), figure("judged", mutants.judged(), "")];
    own.extend(mutants.other_verdicts().into_iter().map(|(is_accept, n, says)| {
        figure(if is_accept { "false-accept" } else { "false-reject" }, n, says)
    }));
    let mut all = figures()?;
    all.retain(|it| it.release != args.machine.kernel || it.seed != args.seed);
    all.extend(own);
    let order = agree::releases();
    let place = |it: &Figure| order.iter().position(|release| *release == it.release);
    all.sort_by_key(|it| (place(it), it.seed));
    let mut csv = csv::Writer::from_path(crate::root().join(TABLE))?;
    all.iter().try_for_each(|it| csv.serialize(it))?;
    Ok(csv.flush()?)
}

struct Asked<'a> {
    args: &'a Args,
    guest: Option<Guest>,
    console: PathBuf,
}

impl Asked<'_> {
    fn ask(&mut self, program: &Program, level: u32) -> Judgement {
        let load = match Load::new(program, level) {
            Ok(load) => load,
            Err(why) => return Judgement::NotJudged(why.to_string()),
        };
        if self.guest.is_none() {
            match Guest::boot(&self.args.machine, &self.console) {
                Ok(guest) => self.guest = Some(guest),
                Err(why) => return Judgement::NotJudged(format!("no guest: {why}")),
            }
        }
        let Some(guest) = &mut self.guest else {
            return Judgement::NotJudged("no guest".to_owned());
        };
        match guest.load(load, program.btf.as_ref(), LIMIT) {
            Ok(told) if told.judged && !told.with_btf && program.btf.is_some() => {
                Judgement::NotJudged("without its BTF".to_owned())
            }
            Ok(told) if told.judged => Judgement::Judged { accepted: told.accepted, log: told.log },
            Ok(told) => Judgement::NotJudged(told.log),
            Err(why) => {
                self.guest = None;
                Judgement::NotJudged(format!("lost: {why}"))
            }
        }
    }
}
