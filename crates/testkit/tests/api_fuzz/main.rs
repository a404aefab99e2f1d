//! Calls the library in random order with extreme values, from safe code: whatever is called, the
//! process neither crashes nor hangs.
//!
//! `--operations N` sets their number (default 30,000), `--seed N` selects others. Each batch runs
//! in a separate process, so that the one that crashes is reported; `--worker` is such a process.
//! With `API_FUZZ_TRACE=1` it prints its operations.
//!
//! Reading order: `programs` (what is loaded), `world` (the state of a thread), `operations` (what
//! it does).

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod maps;
mod operations;
mod programs;
mod random;
mod world;

use std::io;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

/// Operations per process; some limits of a process are shared by all its runtimes.
const BATCH: u64 = 100_000;
/// Threads per process.
const THREADS: u64 = 3;
/// A batch that takes longer is considered to hang.
const BATCH_TIME: Duration = Duration::from_secs(600);

/// The number after an option.
fn option(name: &str) -> Option<u64> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)?.parse().ok()
}

fn main() -> ExitCode {
    let operations = option("--operations").unwrap_or(30_000);
    let seed = option("--seed").unwrap_or(1);
    if std::env::args().any(|argument| argument == "--worker") {
        world::run(seed, operations, THREADS);
        return ExitCode::SUCCESS;
    }
    let mut left = operations;
    for batch in 0.. {
        let now = left.min(BATCH);
        if now == 0 {
            break;
        }
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(batch);
        let how = match start(now, seed).and_then(|child| wait(child, BATCH_TIME)) {
            Ok(Some(status)) if status.success() => None,
            Ok(Some(status)) => Some(status.to_string()),
            Ok(None) => Some(format!("no end after {} s", BATCH_TIME.as_secs())),
            Err(why) => Some(why.to_string()),
        };
        if let Some(how) = how {
            eprintln!("api-fuzz: --worker --operations {now} --seed {seed}: {how}");
            return ExitCode::FAILURE;
        }
        left -= now;
        if operations > BATCH {
            println!("api-fuzz: {} operations", operations - left);
        }
    }
    println!("api-fuzz: {operations} operations, no crash");
    ExitCode::SUCCESS
}

fn start(operations: u64, seed: u64) -> io::Result<Child> {
    let [operations, seed] = [operations, seed].map(|number| number.to_string());
    let arguments = ["--worker", "--operations", &operations, "--seed", &seed];
    Command::new(std::env::current_exe()?).args(arguments).spawn()
}

/// How the process ended; `None` if it had to be killed.
fn wait(mut child: Child, time: Duration) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + time;
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}
