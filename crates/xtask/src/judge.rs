//! `cargo xtask judge FILE [PROG]`: prints the host kernel's log for a program. `cargo xtask ours
//! FILE [PROG]`: prints ours. With `--side`: both, from where they differ.

use crate::objects;
use crate::outcome::Ended;
use skep::program::Program;
use skep_kernel::judge::{Answer, as_loaded, judge};
use skep_kernel::kernel_log::{self, Difference};
use skep_testkit::engine;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// An object file.
    file: PathBuf,
    /// Only the program of this name.
    prog: Option<String>,
    /// Log level: 1 branches and errors, 2 every insn; statistics are always included.
    #[arg(long, short, default_value_t = 2)]
    level: u32,
    /// Both logs, from shortly before the first line that differs.
    #[arg(long)]
    side: bool,
    /// With --side: how many lines before and after the first difference.
    #[arg(long, default_value_t = 12)]
    context: usize,
}

/// Whose log is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Kernel,
    Ours,
}

pub(crate) fn run(args: &Args, engine: Engine) -> crate::Outcome {
    let object = objects::open(&args.file, &objects::host()?)?;
    let wanted = |name: &str| args.prog.as_deref().is_none_or(|prog| prog == name);
    let mut found = false;
    for entry in object.programs.iter().filter(|entry| wanted(&entry.name)) {
        found = true;
        println!("# {} {}", entry.section, entry.name);
        match &entry.program {
            Err(error) => println!("not loaded: {error}"),
            Ok(program) if args.side => side(&as_loaded(program), args),
            Ok(program) if engine == Engine::Kernel => theirs(&as_loaded(program), args.level | 4),
            Ok(program) => ours(&as_loaded(program), args.level | 4),
        }
    }
    if !found {
        let names: Vec<_> = object.programs.iter().map(|entry| entry.name.as_str()).collect();
        return Err(format!("no such program; there are: {}", names.join(" ")).into());
    }
    Ok(Ended::Passed)
}

fn theirs(program: &Program, level: u32) {
    if let Some(why) = engine::verify(program, 0).must_not_load() {
        return println!("not asked: {why}");
    }
    match judge(program, level) {
        Answer::NotJudged(why) => println!("not judged: {why}"),
        Answer::Judged(it) => {
            print!("{}", it.log);
            let errno = skep_kernel::bpf::errno_name(it.errno);
            println!("# {}", if it.accepted { "accepted" } else { &errno });
        }
    }
}

fn ours(program: &Program, level: u32) {
    let it = engine::verify(program, level);
    print!("{}", it.log);
    println!("# {} {}", it.verdict.name(), it.verdict.reason());
}

fn side(program: &Program, args: &Args) {
    let ours = engine::verify(program, args.level | 4);
    if let Some(why) = ours.must_not_load() {
        return println!("not asked: {why}");
    }
    let (theirs, verdict) = match judge(program, args.level | 4) {
        Answer::NotJudged(why) => return println!("not judged: {why}"),
        Answer::Judged(it) => (it.log, if it.accepted { "accepted" } else { "rejected" }),
    };
    println!("ours: {} {}; kernel: {verdict}", ours.verdict.name(), ours.verdict.reason());
    let a = kernel_log::normalise(&ours.log, &program.insns);
    let b = kernel_log::normalise(&theirs, &program.insns);
    let Some(Difference { line, .. }) = kernel_log::first_difference(&a, &b) else {
        return println!("logs equal: {} lines", a.lines().count());
    };
    let from = line.saturating_sub(args.context + 1);
    println!("first difference at line {line} ('=' both, '-' ours, '+' kernel):");
    let same = line - 1 - from;
    a.lines().skip(from).take(same).for_each(|l| println!("= {l}"));
    a.lines().skip(line - 1).take(args.context).for_each(|l| println!("- {l}"));
    b.lines().skip(line - 1).take(args.context).for_each(|l| println!("+ {l}"));
}
