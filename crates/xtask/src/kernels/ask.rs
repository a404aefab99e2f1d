//! Asks a kernel about every program of objects; writes a row per program as results arrive.
//!
//! The folder of answers has a folder for each release: `facts/` (facts about the kernel),
//! `answers.csv` (rows in order of arrival), `logs/` (verifier logs, compressed, one file per
//! object), `console`. Existing rows are not asked for again, so that an interrupted run can be
//! continued; a program that kills the guest or takes too long gets a row that says so.

use super::folder::{ANSWERS, config, folder, host};
use super::guest::Guest;
use super::machine::Machine;
use super::probe;
use crate::answers::{self, Row};
use crate::objects;
use crate::outcome::Ended;
use skep::program::Program;
use skep_kernel::kernel_log::KernelStats;
use skep_kernel::wire::{Load, LoadResult};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    machine: Machine,
    /// Object files, and folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Time limit per program in the guest, in seconds.
    #[arg(long, default_value_t = 120)]
    timeout_s: u64,
    /// Longer walks are not logged.
    #[arg(long, default_value_t = 10_000)]
    logged_insns: u64,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let folder = folder(&args.machine);
    fs::create_dir_all(folder.join("logs"))?;
    let mut asker = Asker { args, guest: None, folder: folder.clone() };
    if !folder.join("facts/btf/vmlinux").exists() {
        asker.facts()?;
    }
    let host = host(&folder)?;
    let path = folder.join(ANSWERS);
    let mut done: BTreeSet<_> = match path.exists() {
        true => answers::read(&path)?.into_keys().collect(),
        false => BTreeSet::new(),
    };
    let file = File::options().append(true).create(true).open(&path)?;
    let mut rows = csv::WriterBuilder::new().has_headers(done.is_empty()).from_writer(file);
    for path in objects::find(&args.paths)? {
        let object = objects::short_name(&path);
        let Ok(opened) = objects::open(&path, &host) else { continue };
        for entry in &opened.programs {
            if !done.insert((object.clone(), entry.name.clone())) {
                continue;
            }
            let mut row = match &entry.program {
                Ok(program) => asker.row(&object, program)?,
                Err(why) => Row {
                    verdict: "not-loaded".to_owned(),
                    message: why.to_string().rsplit(": ").next().unwrap_or_default().to_owned(),
                    ..Row::default()
                },
            };
            (row.object, row.program) = (object.clone(), entry.name.clone());
            rows.serialize(row)?;
            rows.flush()?;
        }
    }
    println!("{}: {} programs in {}", args.machine.kernel, done.len(), path.display());
    Ok(Ended::Passed)
}

struct Asker<'a> {
    args: &'a Args,
    /// Booted when first needed, and again after it was lost.
    guest: Option<Guest>,
    folder: PathBuf,
}

impl Asker<'_> {
    fn guest(&mut self) -> Result<&mut Guest, Box<dyn Error>> {
        if self.guest.is_none() {
            let guest = Guest::boot(&self.args.machine, &self.folder.join("console"))?;
            println!("{} answers", guest.release);
            self.guest = Some(guest);
        }
        self.guest.as_mut().ok_or_else(|| "no guest".into())
    }

    fn row(&mut self, object: &str, program: &Program) -> Result<Row, Box<dyn Error>> {
        let not_judged = |message: String| Row {
            verdict: "not-judged".to_owned(),
            with_btf: true,
            message,
            ..Row::default()
        };
        let mut load = match Load::new(program, 2 | 4) {
            Ok(load) => load,
            Err(why) => return Ok(not_judged(why.to_string())),
        };
        load.logged_insns_max = self.args.logged_insns;
        let limit = Duration::from_secs(self.args.timeout_s);
        let told = match self.guest()?.load(load, program.btf.as_ref(), limit) {
            Ok(told) => told,
            Err(why) => {
                self.guest = None;
                println!("{object} {}: lost: {why}", program.name);
                let late = why.kind() == std::io::ErrorKind::WouldBlock;
                let why = if late { "no answer in time" } else { "the guest died" };
                return Ok(not_judged(why.to_owned()));
            }
        };
        self.keep_log(object, program, &told)?;
        Ok(row(program, &told))
    }

    /// Appends a log to the file of its object.
    fn keep_log(&self, object: &str, program: &Program, told: &LoadResult) -> std::io::Result<()> {
        let name = format!("{}.gz", object.replace('/', "_"));
        let file =
            File::options().append(true).create(true).open(self.folder.join("logs").join(name))?;
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        let verdict = if told.accepted { "accepted" } else { "refused" };
        writeln!(packed, "@@ {} {verdict} errno {}", program.name, told.errno)?;
        packed.write_all(told.log.as_bytes())?;
        writeln!(packed)?;
        packed.finish().map(drop)
    }

    /// Copies the facts about the kernel.
    fn facts(&mut self) -> Result<(), Box<dyn Error>> {
        let facts = self.folder.join("facts");
        fs::create_dir_all(facts.join("btf"))?;
        let config = config(&self.args.machine);
        let guest = self.guest()?;
        let mut modules = guest.list("/sys/kernel/btf")?;
        for name in &modules {
            let btf = guest.read(&format!("/sys/kernel/btf/{name}"))?.unwrap_or_default();
            fs::write(facts.join("btf").join(name), btf)?;
        }
        // The ids in the kernel's log are only valid for the first module's BTF.
        modules.retain(|name| name != "vmlinux");
        modules.sort_by_key(|name| name != "bpf_testmod");
        fs::write(facts.join("modules"), modules.join("\n"))?;
        for (path, name) in FACTS {
            if let Some(bytes) = guest.read(path)? {
                fs::write(facts.join(name), bytes)?;
            }
        }
        fs::write(facts.join("btf_absent"), probe::absent_kinds(guest)?.join("\n"))?;
        fs::write(facts.join("release"), format!("{}\n", guest.release))?;
        match config {
            Some(config) => Ok(fs::copy(config, facts.join("config")).map(drop)?),
            None => Ok(()),
        }
    }
}

/// Files of the guest, and their names here.
const FACTS: [(&str, &str); 5] = [
    ("/proc/version", "version"),
    ("/proc/kallsyms", "kallsyms"),
    ("/sys/devices/system/cpu/possible", "cpus"),
    ("/sys/kernel/security/lsm", "lsm"),
    ("/sys/kernel/debug/error_injection/list", "error_injection"),
];

/// A kernel's answer as a row.
fn row(program: &Program, told: &LoadResult) -> Row {
    if !told.judged {
        return Row {
            verdict: "not-judged".to_owned(),
            with_btf: told.with_btf,
            message: told.log.clone(),
            ..Row::default()
        };
    }
    let stats = KernelStats::parse(&told.log).unwrap_or_default();
    let logged = told.log_level & 2 != 0;
    Row {
        verdict: if told.accepted { "accepted" } else { "rejected" }.to_owned(),
        with_btf: told.with_btf,
        errno: told.errno,
        insns: stats.insns_processed,
        states: stats.total_states,
        peak: stats.peak_states,
        log: if logged { answers::log_hash(&told.log, program) } else { String::new() },
        message: if told.accepted { String::new() } else { answers::message(&told.log) },
        ..Row::default()
    }
}
