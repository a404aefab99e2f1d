//! `cargo xtask kernel-diff`: every program of every object into our verifier and into the host
//! kernel, from the same relocated insns; one row a program, a summary, and the comparison with a
//! baseline.
//!
//! Work is done by child processes (`kernel-diff-worker`), one a job: whatever hangs, overflows the
//! stack or runs out of memory costs its own program a `bug` row and nothing else.

mod baseline;
mod pool;
mod row;
mod summary;
mod worker;

use crate::objects;
use crate::outcome::{self, Ended};
use skep_kernel::reference::Absent;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use baseline::{Entry, read_all as read_baseline, worse_than, write as write_baseline};
pub(crate) use pool::Pool;
pub(crate) use row::{Class, OTHER_INSNS, OTHER_STATES, Row};
pub(crate) use summary::shape;
pub(crate) use worker::{STACK_SIZE, WorkerArgs, worker};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Write all rows here.
    #[arg(long)]
    csv: Option<PathBuf>,
    /// Fail if a program agrees less than this file says.
    #[arg(long)]
    baseline: Option<PathBuf>,
    /// Write (or bring up to date, for the programs seen) this baseline.
    #[arg(long)]
    write_baseline: Option<PathBuf>,
    /// Log level that both are asked for: 0 statistics only, 1, 2.
    #[arg(long, short, default_value_t = 2)]
    level: u32,
    /// Only programs whose `object:program` contains this.
    #[arg(long)]
    filter: Option<String>,
    /// Processes at once.
    #[arg(long, short, default_value_t = 2)]
    jobs: usize,
    /// Seconds that a program may take.
    #[arg(long, default_value_t = 60)]
    timeout_s: u64,
    #[command(flatten)]
    other: worker::OtherKernel,
    /// Print every row, not only those that disagree.
    #[arg(long, short)]
    verbose: bool,
    /// Print the summary only.
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    // Without a baseline, any kernel may be compared with.
    let expects = args.baseline.is_some() || args.write_baseline.is_some();
    let absent = match (args.other.named(&args.paths), expects) {
        (Some(there), _) => there.err(),
        (None, true) => outcome::judge().err().map(|why| why.to_string()),
        (None, false) => {
            skep_kernel::bpf::available().map_err(Absent::Refused).err().map(|why| why.to_string())
        }
    };
    if let Some(why) = absent {
        return Ok(Ended::Skipped(why));
    }
    let files = objects::find(&args.paths)?;
    let mut csv = args.csv.as_ref().map(csv::Writer::from_path).transpose()?;
    let shown = |row: &&Row| !args.quiet && (args.verbose || row.class.is_disagreement());
    let mut rows: Vec<Row> = Vec::new();
    let pool = Pool {
        files: &files,
        jobs: args.jobs.max(1),
        timeout: Duration::from_secs(args.timeout_s),
        worker_args: worker_args(args),
    };
    pool.each(|done| {
        done.iter().filter(shown).for_each(|row| say(&row.line()));
        if let Some(csv) = &mut csv {
            done.iter().try_for_each(|row| csv.serialize(row))?;
            csv.flush()?;
        }
        rows.extend(done);
        Ok(())
    })?;
    say(summary::of(&rows).trim_end());
    let worse = match &args.baseline {
        Some(path) => worse_than(path, &rows)?,
        None => Vec::new(),
    };
    worse.iter().for_each(|line| say(&format!("worse: {line}")));
    if let Some(path) = &args.write_baseline {
        write_baseline(path, &rows)?;
    }
    Ok(worse.is_empty().into())
}

/// A line for whoever reads: who has left ends nothing, what is compared still goes into files and
/// into the exit status.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn worker_args(args: &Args) -> Vec<String> {
    let mut list = vec!["kernel-diff-worker".to_owned(), format!("--level={}", args.level)];
    list.extend(args.other.args());
    list.extend(args.filter.iter().map(|filter| format!("--filter={filter}")));
    list
}
