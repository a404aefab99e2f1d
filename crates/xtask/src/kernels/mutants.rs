//! Programs that nobody looked at, before our verifier and a kernel in a guest.
//!
//! The same mutants and generated programs as `cargo xtask mutate`; the guest may die of them, and
//! is booted again.

use super::Machine;
use super::ask::folder;
use super::guest::Guest;
use crate::mutate::{OnKernel, Told};
use crate::objects;
use crate::outcome::Ended;
use skep::program::Program;
use skep::{Host, Kernel};
use skep_kernel::wire::Load;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    machine: Machine,
    /// Object files, and folders of them, whose programs are changed.
    #[arg(default_value = "tests/programs")]
    paths: Vec<PathBuf>,
    /// Folder of answers: `ask` has put the kernel's facts there. Findings go beside them.
    #[arg(long)]
    out: PathBuf,
    /// What everything follows from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many programs, about.
    #[arg(long, default_value_t = 20_000)]
    count: u64,
    /// Minutes after which to stop, whatever the count.
    #[arg(long)]
    minutes: Option<f64>,
    /// Of 100 batches, so many are of generated programs.
    #[arg(long, default_value_t = 50)]
    generated: u64,
    /// Judge the findings of these files again, and write both logs (level 2) beside each.
    #[arg(long, num_args = 1..)]
    replay: Vec<PathBuf>,
}

/// A short walk takes less, where the machine is emulated.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let folder = folder(&args.out, &args.machine.kernel);
    let facts = folder.join("facts");
    let host = Host::read_folder(&facts).map_err(|e| e.to_string())?;
    let kernel = Kernel::import(&facts.join("btf/vmlinux"), Some(&args.machine.kernel))?;
    let files = objects::find(&args.paths)?;
    let mut mutants = OnKernel::new((host, &kernel), files, (args.seed, args.generated));
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
    while mutants.programs() < args.count && !late() {
        mutants.batch(number, &mut |program| asked.ask(program, 4));
        number += 1;
    }
    print!("{}", mutants.write(&folder.join("mutants"))?);
    println!("{:.0} s, {number} batches of seed {}", start.elapsed().as_secs_f64(), args.seed);
    Ok(match mutants.has_other_verdicts() {
        true => Ended::Failed,
        false => Ended::Passed,
    })
}

struct Asked<'a> {
    args: &'a Args,
    guest: Option<Guest>,
    console: PathBuf,
}

impl Asked<'_> {
    fn ask(&mut self, program: &Program, level: u32) -> Told {
        let load = match Load::new(program, level) {
            Ok(load) => load,
            Err(why) => return Told::NotJudged(why),
        };
        if self.guest.is_none() {
            match Guest::boot(&self.args.machine, &self.console) {
                Ok(guest) => self.guest = Some(guest),
                Err(why) => return Told::NotJudged(format!("no guest: {why}")),
            }
        }
        let Some(guest) = &mut self.guest else { return Told::NotJudged("no guest".to_owned()) };
        match guest.load(load, program.btf.as_ref(), LIMIT) {
            Ok(told) if told.judged && !told.with_btf && program.btf.is_some() => {
                Told::NotJudged("without its BTF".to_owned())
            }
            Ok(told) if told.judged => Told::Judged { accepted: told.accepted, log: told.log },
            Ok(told) => Told::NotJudged(told.log),
            Err(why) => {
                self.guest = None;
                Told::NotJudged(format!("lost: {why}"))
            }
        }
    }
}
