//! Our verifier's results for the programs of a seed, one per line, to check that a change of the
//! verifier changes no result. No kernel is used.

use super::args::Args;
use super::batch::{BATCH, Mutant, Sources};
use super::compare::WALK_MAX;
use crate::hash::fnv1a;
use crate::kernel_diff::STACK_SIZE;
use crate::objects;
use crate::outcome::Ended;
use skep_testkit::engine::{self, Ours};

pub(super) fn run(args: &Args) -> crate::Outcome {
    let sources = Sources::new(objects::find(&args.paths)?, args.generated)?;
    let sources = sources.only(args.only.as_deref())?;
    engine::record_panics();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
        let handle = thread.spawn_scoped(scope, || {
            for number in args.from..args.from + args.count.div_ceil(BATCH) {
                let Some(batch) = sources.batch(args.seed, number) else { continue };
                for i in 0..BATCH {
                    let answer = batch.mutant(i).map_or_else(|why| why, |it| answer(&it));
                    println!("{}/{number}/{i} {answer}", args.seed);
                }
            }
        })?;
        handle.join().map_err(|_| std::io::Error::other("the verifier panicked"))
    })?;
    Ok(Ended::Passed)
}

/// Verdict, code of the refusal, counts and a hash of both logs: the one without insns is from a
/// walk with all shortcuts.
fn answer(mutant: &Mutant) -> String {
    let privileges = mutant.loader.privileges();
    let quick = engine::verify_with(&mutant.program, 4, privileges);
    let words = |ours: &Ours| {
        let hash = fnv1a(ours.log.bytes().chain(ours.verdict.reason().bytes()));
        let verdict = format!("{} {}", ours.verdict.name(), ours.code.unwrap_or_default());
        format!("{} {} {hash:016x}", verdict.trim_end(), ours.stats.insns_processed)
    };
    if quick.stats.insns_processed > WALK_MAX {
        return words(&quick);
    }
    format!("{}; {}", words(&quick), words(&engine::verify_with(&mutant.program, 6, privileges)))
}
