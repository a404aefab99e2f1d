//! `skep prog`: loaded programs and the cost of their runs, as printed by `bpftool prog`.

use crate::Error;
use crate::exit::Exit;
use crate::flags::run::{Poke, ProgCommand, ProgFlags};
use crate::judge_files::{Plan, exit_of_load, not_loaded};
use crate::kernels;
use crate::run::plan::exit_of;
use crate::streams::Streams;
use skep::object::Object;
use skep::runtime::Tuning;
use skep::runtime::{Ctx, Engine, Instance, LoadOptions, Options, ProgInfo, Runtime, StatsOptions};
use skep::{Session, VerifyOptions};
use skep_report::{JsonForm, ProgFormat, ProgRow, write_progs};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Runs of each program for `stat`.
const REPEAT_DEFAULT: u32 = 1000;
/// Size of a packet, and of a context whose program does not say how much it uses.
const INPUT_BYTES: usize = 64;

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(command: &ProgCommand, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let (flags, repeat) = match command {
        ProgCommand::Show(flags) => (flags, flags.repeat.map_or(0, u32::from)),
        ProgCommand::Stat(flags) => (flags, flags.repeat.map_or(REPEAT_DEFAULT, u32::from)),
    };
    let made = Plan::session_against(&flags.against).and_then(|session| {
        let runtime = Runtime::new(Options::default()).map_err(Error::caused)?;
        let stats = runtime.enable_stats(StatsOptions::sampled(flags.stats_sample));
        Ok((session, stats.map_err(Error::caused)?, runtime))
    });
    let (session, _stats, runtime) = match made {
        Ok(made) => made,
        Err(message) => {
            streams.error(&message)?;
            return Ok(Exit::Input);
        }
    };
    kernels::promise(&session, Some(kernels::RUNS_AS), streams)?;
    let mut loaded = Loaded::default();
    let loader = Loader { flags, session: &session, runtime: &runtime };
    for file in &flags.files {
        loaded.load(loader, file);
    }
    for instance in &loaded.instances {
        if let Err(message) = run_many(instance, repeat) {
            let message = format!("program '{}': {message}", instance.name());
            loaded.failures.push((message, Exit::Input));
        }
    }
    let mut exit = Exit::Success;
    for (message, how_bad) in loaded.failures {
        streams.failure(&message, how_bad)?;
        exit.raise(how_bad);
    }
    let format = match flags.output_format.json_form(flags.json, flags.pretty) {
        Some(JsonForm::Pretty) => ProgFormat::PrettyJson,
        Some(JsonForm::Line) => ProgFormat::Json,
        None => ProgFormat::Text,
    };
    if flags.engine() == Engine::MachineCode
        && flags.poke == Poke::Patch
        && let Some(why) = skep::runtime::poke::take_notice()
    {
        streams.note(&why)?;
    }
    let programs = runtime.programs();
    for program in &programs {
        if let Err(e) = program.stats.check_clock() {
            streams.note(&format!("{}: {e}", program.name))?;
        }
    }
    let rows: Vec<ProgRow> = programs.iter().map(row).collect();
    write_progs(streams.out, &rows, format)?;
    Ok(exit)
}

/// What programs are loaded with.
#[derive(Clone, Copy)]
struct Loader<'a> {
    flags: &'a ProgFlags,
    session: &'a Session,
    runtime: &'a Runtime,
}

/// The loaded programs, and errors.
#[derive(Default)]
struct Loaded {
    instances: Vec<Instance>,
    failures: Vec<(String, Exit)>,
}

impl Loaded {
    /// Loads every program of a file.
    fn load(&mut self, loader: Loader<'_>, file: &Path) {
        let session = loader.session;
        let object = session.read(file).and_then(|bytes| session.open(file, &bytes));
        match object {
            Ok(object) => self.load_all(loader, file, &object),
            Err(e) => self.failures.push((e.to_string(), Exit::Input)),
        }
    }

    fn load_all(&mut self, loader: Loader<'_>, file: &Path, object: &Object) {
        let Loader { flags, session, runtime } = loader;
        let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
        let tuning = Tuning { poke: flags.poke.into(), ..Tuning::default() };
        let options = LoadOptions { engine: flags.engine(), tuning, ..LoadOptions::default() };
        let file = file.display();
        for entry in &object.programs {
            let program = match &entry.program {
                Ok(program) => program,
                Err(e) => {
                    let text = format!("{file}: program '{}': {}", entry.name, not_loaded(e));
                    self.failures.push((text, exit_of_load(e)));
                    continue;
                }
            };
            let verified = match session.accept(program, &VerifyOptions::default()) {
                Ok(verified) => verified,
                Err(why) => {
                    self.failures.push((format!("{file}: {why}"), Exit::of_reason(&why.reason)));
                    continue;
                }
            };
            match runtime.load(&verified, &maps, &options) {
                Ok(instance) => self.instances.push(instance),
                Err(e) => self.failures.push((format!("{file}: {e}"), exit_of(&e))),
            }
        }
    }
}

/// Runs a program on zeroed input.
fn run_many(instance: &Instance, repeat: u32) -> Result<(), Error> {
    if repeat == 0 {
        return Ok(());
    }
    let prog_type = instance.prog_type();
    let zeros = vec![0; INPUT_BYTES.max(instance.ctx_bytes())];
    let ctx = match skep::runtime::takes_packet(prog_type) {
        true => Ctx::packet(prog_type, &zeros),
        false => Ctx::raw(prog_type, &zeros),
    };
    let mut ctx = ctx.map_err(Error::caused)?;
    instance.test_run(&mut ctx, repeat).map(drop).map_err(Error::caused)
}

/// A program as printed.
pub(crate) fn row(info: &ProgInfo) -> ProgRow {
    let loaded_at = info.loaded_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    ProgRow {
        id: info.id,
        prog_type: info.prog_type.to_string(),
        name: info.name.clone(),
        tag: crate::digits::hex(&info.tag),
        gpl_compatible: info.gpl_compatible,
        run_time_ns: info.stats.run_time_ns,
        run_cnt: info.stats.run_cnt,
        estimated_from: info.stats.is_estimate().then_some(info.stats.timed_cnt),
        recursion_misses: info.stats.recursion_misses,
        loaded_at,
        // The owner of the process.
        uid: std::fs::metadata("/proc/self").map_or(0, |metadata| metadata.uid()),
        bytes_xlated: info.bytes_xlated,
        jited: info.bytes_jited.is_some(),
        bytes_jited: info.bytes_jited.unwrap_or_default(),
        bytes_memlock: info.bytes_memlock,
        map_ids: info.map_ids.clone(),
    }
}
