//! The child process: judges batches on request.

use super::batch::{BATCH, Batch, Mutant, Sources};
use super::compare::{Compared, Difference, Kind, compare_also_long};
use super::minimise::minimise;
use super::replay::Case;
use crate::child::answer;
use crate::kernel_diff::STACK_SIZE;
use crate::objects;
use crate::outcome::Ended;
use serde::{Deserialize, Serialize};
use skep_kernel::held::Held;
use skep_kernel::judge::judge;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct WorkerArgs {
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    generated: u64,
    #[arg(long)]
    minimise: bool,
    #[arg(long)]
    only: Option<String>,
    paths: Vec<PathBuf>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) batch: u64,
    /// Report each mutant before it is judged.
    pub(super) careful: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Event {
    /// The mutant with this index is next.
    At(u64),
    /// A difference; with the whole case only for the worker's first of its key.
    Found(Box<Found>),
    /// The end of the batch: the number of programs by result.
    End(BTreeMap<String, u64>),
}

#[derive(Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) key: String,
    pub(super) case: Option<Case>,
}

pub(crate) fn worker(args: &WorkerArgs) -> crate::Outcome {
    let sources = Sources::new(objects::find(&args.paths)?, args.generated)?;
    let sources = sources.only(args.only.as_deref())?;
    skep_testkit::engine::record_panics();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
        let work = || {
            let mut it = Worker { sources: &sources, args, seen: BTreeSet::new() };
            for line in std::io::stdin().lock().lines() {
                let Ok(request) = serde_json::from_str(&line?) else { break };
                it.batch(&request)?;
            }
            Ok(Ended::Passed)
        };
        let handle = thread.spawn_scoped(scope, work)?;
        handle.join().unwrap_or_else(|_| Err(std::io::Error::other("the worker panicked")))
    })
    .map_err(Into::into)
}

/// One in this many mutants with a long walk is judged: each takes as long as a thousand others.
const LONG_EVERY: u64 = 50;

/// A mutant of the seed: the number of its batch, and its own in that.
#[derive(Clone, Copy)]
struct MutantNumber {
    batch: u64,
    i: u64,
}

struct Worker<'a> {
    sources: &'a Sources,
    args: &'a WorkerArgs,
    seen: BTreeSet<String>,
}

impl Worker<'_> {
    fn batch(&mut self, request: &Request) -> std::io::Result<()> {
        let mut counts = BTreeMap::new();
        let Some(batch) = self.sources.batch(self.args.seed, request.batch) else {
            return answer(&Event::End(counts));
        };
        let mut held = None;
        for i in 0..BATCH {
            if request.careful {
                answer(&Event::At(i))?;
            }
            let mutant = match skep::contain_panic(|| batch.mutant(i)) {
                Ok(Ok(mutant)) => mutant,
                Ok(Err(_)) => {
                    *counts.entry("left out: the loader refuses".to_owned()).or_default() += 1;
                    continue;
                }
                Err(why) => {
                    let at = MutantNumber { batch: request.batch, i };
                    self.loader_bug(&batch, at, why.to_string())?;
                    *counts.entry("different: Bug".to_owned()).or_default() += 1;
                    continue;
                }
            };
            let class = match judged(&mutant, i.is_multiple_of(LONG_EVERY), &mut held) {
                Compared::Equal { accepted: true } => "equal, accepted".to_owned(),
                Compared::Equal { accepted: false } => "equal, refused".to_owned(),
                Compared::Left(why) => format!("left out: {why}"),
                Compared::Different(difference) => {
                    let class = format!("different: {:?}", difference.kind);
                    let at = MutantNumber { batch: request.batch, i };
                    self.found(&batch, at, mutant, *difference)?;
                    class
                }
            };
            *counts.entry(class).or_default() += 1;
        }
        answer(&Event::End(counts))
    }

    /// What repeats one mutant.
    fn id(&self, MutantNumber { batch, i }: MutantNumber) -> String {
        format!("{}/{batch}/{i}", self.args.seed)
    }

    fn loader_bug(
        &mut self,
        batch: &Batch<'_>,
        at: MutantNumber,
        why: String,
    ) -> std::io::Result<()> {
        let id = self.id(at);
        let key = format!("loader: {} {why}", batch.name);
        answer(&Event::Found(Box::new(Found { id, kind: Kind::Bug, key, case: None })))
    }

    fn found(
        &mut self,
        batch: &Batch<'_>,
        at: MutantNumber,
        mutant: Mutant,
        difference: Difference,
    ) -> std::io::Result<()> {
        let id = self.id(at);
        let (kind, key) = (difference.kind, difference.key.clone());
        let new = self.seen.insert(format!("{kind:?} {key}"));
        let base = format!("{} ({id})", batch.name);
        let case = new.then(|| {
            let Mutant { program, loader, edits, .. } = mutant;
            let (program, loader, difference) = match self.args.minimise {
                true if kind != Kind::Slow => minimise(program, loader, difference),
                _ => (program, loader, difference),
            };
            Case::new(&base, &edits, &program, loader, difference)
        });
        answer(&Event::Found(Box::new(Found { id, kind, key, case })))
    }
}

fn judged(mutant: &Mutant, long: bool, held: &mut Option<Held>) -> Compared {
    let Mutant { program, loader, own_maps, .. } = mutant;
    if *own_maps {
        return compare_also_long(program, *loader, long, &mut |level| judge(program, level));
    }
    if held.is_none() {
        *held = Held::new(program).ok();
    }
    match held {
        Some(held) => {
            compare_also_long(program, *loader, long, &mut |level| held.judge(program, level))
        }
        None => Compared::Left("BTF refused".to_owned()),
    }
}
