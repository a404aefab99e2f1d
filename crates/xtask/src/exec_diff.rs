//! `cargo xtask exec-diff`: random programs that verify; every engine runs each on random inputs.
//! Results and contexts must be the same.
//!
//! A program is identified by its seed, as in `random`. The kernel only runs the first `--kernel`
//! inputs of each program, because each test run is a system call.

mod args;
mod builder;
mod calls;
mod corpus;
mod counts;
mod engines;
pub(crate) mod generate;
mod idioms;
mod map_ops;
mod probes;
mod sequences;
mod skb_ops;
mod worker;
mod xdp_ops;

use crate::outcome;
pub(crate) use args::Args;
use skep_testkit::engine;
use std::time::Instant;

pub(crate) fn run(args: &Args) -> crate::Outcome {
    engine::record_panics();
    if args.load {
        return corpus::load(&args.objects);
    }
    if !args.objects.is_empty() {
        worker::stay_on_cpu(0);
        return corpus::run(&args.objects, args.inputs);
    }
    let judge = outcome::judge();
    if let Err(why) = &judge {
        println!("exec-diff: running without the kernel: {why}");
    }
    let makes = args.makes();
    let started = Instant::now();
    let counts = worker::all(args, &makes, judge.is_ok())?;
    let names: Vec<_> = makes.iter().map(|make| make.name).collect();
    print!("{}", counts::table(&names, &counts));
    println!("{:.1} minutes", started.elapsed().as_secs_f64() / 60.0);
    Ok(counts.iter().all(|counts| counts.different == 0).into())
}
