//! A kernel's answers as facts: one row per program, without any program text.
//!
//! `cargo xtask kernel-answers`, run on the kernel (in a guest, see `tests/kernels`), writes the
//! table; `cargo xtask kernel-diff --against TABLE` compares skep with it anywhere.

mod table;

use crate::objects;
use crate::outcome::Ended;
use skep::Host;
use skep::program::Program;
use skep_kernel::judge::{Answer, NotJudged, as_loaded, judge};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
pub(crate) use table::{LOGGED_INSNS_MAX, Row, Table, log_hash, message, read, write};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Write the table here (gzip if it ends in `.gz`).
    #[arg(long)]
    out: PathBuf,
    /// Only programs that this baseline lists as not judged or not loaded.
    #[arg(long)]
    unjudged_in: Option<PathBuf>,
    /// A folder with facts about this kernel, including its modules.
    #[arg(long)]
    kernel: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    if let Err(why) = skep_kernel::bpf::available() {
        return Ok(Ended::without_kernel(&why));
    }
    let wanted = match &args.unjudged_in {
        Some(path) => Some(unjudged(path)?),
        None => None,
    };
    let host = match &args.kernel {
        Some(dir) => Host::read_folder(dir).map_err(|e| e.to_string())?,
        None => objects::host()?,
    };
    let mut rows = Vec::new();
    for file in objects::find(&args.paths)? {
        let object = objects::short_name(&file);
        let Ok(opened) = objects::open(&file, &host) else { continue };
        for entry in &opened.programs {
            let key = (object.clone(), entry.name.clone());
            let program = entry.program.as_ref().ok();
            if let Some(program) =
                program.filter(|_| wanted.as_ref().is_none_or(|w| w.contains(&key)))
            {
                rows.push(Row { object: key.0, program: key.1, ..answer(program) });
            }
        }
    }
    let release = skep_kernel::bpf::release();
    let head = format!("Linux {release}; written by `cargo xtask kernel-answers` there");
    write(&args.out, &head, &rows)?;
    let judged = rows.iter().filter(|row| row.is_judged()).count();
    println!("{} programs, {judged} judged by {release}", rows.len());
    Ok(Ended::Passed)
}

fn unjudged(path: &Path) -> Result<BTreeSet<(String, String)>, csv::Error> {
    use crate::kernel_diff::{Class, read_baseline};
    let entries = read_baseline(path)?.into_iter();
    let unjudged =
        entries.filter(|entry| matches!(entry.class, Class::NotJudged | Class::NotLoaded));
    Ok(unjudged.map(|entry| (entry.object, entry.program)).collect())
}

fn answer(program: &Program) -> Row {
    let loaded = as_loaded(program);
    let with_btf = loaded.btf.is_some() == program.btf.is_some();
    match judge(&loaded, 4) {
        Answer::NotJudged(NotJudged { reason, detail }) => Row {
            verdict: "not-judged".to_owned(),
            with_btf,
            message: format!("{reason} {detail}").trim_end().to_owned(),
            ..Row::default()
        },
        Answer::Judged(it) => {
            let stats = it.stats.unwrap_or_default();
            let short = stats.insns_processed <= LOGGED_INSNS_MAX;
            let full = match judge(&loaded, if short { 2 | 4 } else { 4 }) {
                Answer::Judged(full) => full.log,
                Answer::NotJudged(_) => String::new(),
            };
            Row {
                verdict: if it.accepted { "accepted" } else { "rejected" }.to_owned(),
                with_btf,
                insns: stats.insns_processed,
                states: stats.total_states,
                peak: stats.peak_states,
                log: if short { log_hash(&full, &loaded) } else { String::new() },
                message: if it.accepted { String::new() } else { message(&full) },
                errno: it.errno as u32,
                ..Row::default()
            }
        }
    }
}
