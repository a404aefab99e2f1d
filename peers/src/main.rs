//! Another eBPF engine, as `skep-bench run --peer` asks it: `skep-peers ENGINE` reads lines and
//! answers them (see `crates/bench/src/run/peer.rs`).

mod rbpf;
mod sbpf;

use std::io::{Write, stdin, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Runs its program once.
type Run = Box<dyn FnMut() -> Result<u64, String>>;

/// Makes something of bytecode, of the bytes that it works on, and of the result that it must give.
type Load = fn(Vec<u8>, Vec<u8>, u64) -> Result<Run, String>;

/// What the programs are given: where their bytes begin and end.
#[repr(C)]
struct Ctx {
    data: u64,
    data_end: u64,
}

fn main() {
    // What an engine's panic says is the answer.
    std::panic::set_hook(Box::new(|_| {}));
    let load: Load = match std::env::args().nth(1).as_deref() {
        Some("rbpf") => rbpf::load,
        Some("sbpf") => sbpf::load_bare,
        Some("sbpf-default") => sbpf::load_default,
        _ => {
            eprintln!("usage: skep-peers rbpf|sbpf|sbpf-default");
            std::process::exit(2);
        }
    };
    let mut run: Option<Run> = None;
    for line in stdin().lines() {
        let Ok(line) = line else { break };
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match *words {
            ["load", code, data, expected] => match open(load, code, data, expected) {
                Ok(loaded) => {
                    run = Some(loaded);
                    "ok".to_owned()
                }
                Err(why) => format!("no {}", why.lines().next().unwrap_or("reason")),
            },
            ["run", runs] => timed(run.as_mut(), runs).unwrap_or_else(|why| why),
            _ => "what?".to_owned(),
        };
        println!("{answer}");
        let _ = stdout().flush();
    }
}

fn open(load: Load, code: &str, data: &str, expected: &str) -> Result<Run, String> {
    let read = |path: &str| std::fs::read(path).map_err(|e| format!("{path}: {e}"));
    let (code, data) = (read(code)?, read(data)?);
    let expected = expected.parse().map_err(|_| "no number".to_owned())?;
    contained(|| {
        let mut run = load(code, data, expected)?;
        match run()? {
            result if result == expected => Ok(run),
            result => Err(format!("it gives {result:#x}, not {expected:#x}")),
        }
    })
}

fn contained<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("it panics: {}", text.unwrap_or("without a message")))
    })
}

fn timed(run: Option<&mut Run>, runs: &str) -> Result<String, String> {
    let run = run.ok_or("nothing is loaded")?;
    let runs: u32 = runs.parse().map_err(|_| "no number")?;
    let mut result = 0;
    let started = Instant::now();
    for _ in 0..runs {
        result = run()?;
    }
    Ok(format!("{result} {}", started.elapsed().as_nanos() as f64 / f64::from(runs)))
}
