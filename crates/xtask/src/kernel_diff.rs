//! `cargo xtask kernel-diff`: verifies every program of every object with skep and with the host
//! kernel, from the same relocated insns; prints one row per program, a summary, and the comparison
//! with a baseline.
//!
//! The work is done by child processes (`kernel-diff-worker`), one per job: if one hangs, overflows
//! its stack or runs out of memory, only its current program gets a `bug` row.

mod baseline;
mod pool;
mod row;
mod shape;
mod summary;
mod worker;

use crate::answers::LOGGED_INSNS_MAX;
use crate::objects;
use crate::outcome::{self, Ended};
use skep_kernel::reference::Absent;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use baseline::{Entry, read_all as read_baseline, worse_than, write as write_baseline};
pub(crate) use pool::Pool;
pub(crate) use row::{Class, OTHER_INSNS, OTHER_STATES, Row};
pub(crate) use shape::shape;
pub(crate) use worker::{STACK_SIZE, WorkerArgs, worker};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Write all rows to this file.
    #[arg(long)]
    csv: Option<PathBuf>,
    /// Fail if a program agrees less than in this baseline.
    #[arg(long)]
    baseline: Option<PathBuf>,
    /// Write this baseline, or update it for the programs compared.
    #[arg(long)]
    write_baseline: Option<PathBuf>,
    /// Log level for both: 0 statistics only, 1, 2.
    #[arg(long, short, default_value_t = 2)]
    level: u32,
    /// Longer walks are compared by verdict and counts only.
    #[arg(long, default_value_t = LOGGED_INSNS_MAX, conflicts_with = "against")]
    logged_insns: u64,
    /// Only programs whose `object:program` contains this.
    #[arg(long)]
    filter: Option<String>,
    /// Number of processes.
    #[arg(long, short, default_value_t = 2)]
    jobs: usize,
    /// Time limit per program in seconds.
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
        Some(path) => worse_than(path, &rows, args.logged_insns)?,
        None => Vec::new(),
    };
    worse.iter().for_each(|line| say(&format!("worse: {line}")));
    if let Some(path) = &args.write_baseline {
        write_baseline(path, &rows)?;
    }
    Ok(worse.is_empty().into())
}

/// Prints a line. If the reader has gone, the comparison continues: files and exit status are still
/// written.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn worker_args(args: &Args) -> Vec<String> {
    let mut list = vec!["kernel-diff-worker".to_owned(), format!("--level={}", args.level)];
    list.push(format!("--logged-insns={}", args.logged_insns));
    list.extend(args.other.args());
    list.extend(args.filter.iter().map(|filter| format!("--filter={filter}")));
    list
}
