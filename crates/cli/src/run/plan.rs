//! From the command line to a runnable instance: open, verify, create maps, load.

use super::coverage::Counted;
use super::ctx_json::CtxType;
use super::{map_input, profile};
use crate::Error;
use crate::choice::read_presets;
use crate::diagnostic::diagnostic;
use crate::exit::Exit;
use crate::flags::run::RunFlags;
use crate::judge_files::{Plan, exit_of_load, not_loaded};
use skep::object::Object;
use skep::program::Program;
use skep::runtime::Tuning;
use skep::runtime::{ErrorKind, Instance, LoadOptions, ObjectMaps, Options, Runtime};
use skep::uapi::MapType;
use skep::verifier::VerifiedProgram;
use skep::{NotAccepted, Session, Verdict, VerifyOptions};
use skep_report::Diagnostic;

/// What can run.
pub(super) struct Loaded {
    /// Configuration of its verification.
    pub(super) session: Session,
    pub(super) runtime: Runtime,
    pub(super) maps: ObjectMaps,
    pub(super) instance: Instance,
    /// BTF type of its context.
    pub(super) ctx_type: Option<CtxType>,
    /// Programs that can be tail called.
    pub(super) others: Vec<Instance>,
    /// All of them, if executed insns are counted.
    pub(super) counted: Vec<Counted>,
    /// Data for a profiler.
    pub(super) _profile: profile::Profile,
}

/// Why there is nothing to run.
pub(crate) struct Failure {
    /// One line.
    pub(crate) message: String,
    pub(crate) exit: Exit,
    /// Why a program is refused, with its source line.
    pub(crate) diagnostic: Option<Box<Diagnostic>>,
}

impl Failure {
    pub(super) fn input(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), exit: Exit::Input, diagnostic: None }
    }

    /// The runtime's message; it may be an internal error.
    fn runtime(why: &skep::runtime::Error) -> Failure {
        Failure { message: why.to_string(), exit: exit_of(why), diagnostic: None }
    }

    fn not_accepted(why: &NotAccepted) -> Failure {
        let exit = Exit::of_reason(&why.reason);
        Failure { message: why.to_string(), exit, diagnostic: None }
    }
}

/// The exit status for an error of the runtime, which may be an internal error.
pub(crate) fn exit_of(error: &skep::runtime::Error) -> Exit {
    match error.kind() {
        ErrorKind::Bug => Exit::Bug,
        _ => Exit::Input,
    }
}

/// Loads the program that the flags name, and what it may tail call.
pub(super) fn load(flags: &RunFlags) -> Result<Loaded, Failure> {
    let session = Plan::session_against(&flags.against).map_err(Failure::input)?;
    let bytes = session.read(&flags.file).map_err(|e| Failure::input(e.to_string()))?;
    let object = session.open(&flags.file, &bytes).map_err(|e| Failure::input(e.to_string()))?;
    let object = preset(flags, object).map_err(Failure::input)?;
    let program = choose(flags, &object)?;
    let options = VerifyOptions::default();
    let verification = session.verify(program, &options);
    let told = match verification.verdict {
        Verdict::Rejected(_) => session.diagnose(program, &verification, &options),
        _ => None,
    };
    let verified = verification.into_verified().map_err(|e| {
        let file = flags.file.display().to_string();
        let diagnostic = told.map(|told| Box::new(diagnostic(&file, &program.name, told)));
        Failure { diagnostic, ..Failure::not_accepted(&e) }
    })?;

    let (threads, most) = (flags.threads.get(), skep::runtime::THREADS_MAX as u32);
    if threads > most {
        return Err(Failure::input(format!("--threads {threads}: the maximum is {most}")));
    }
    // More threads than CPUs share them.
    let cpus = skep::possible_cpus().min(most);
    let options = Options { cpus, ..Options::default() };
    let runtime = Runtime::new(options).map_err(|e| Failure::runtime(&e))?;
    let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
    let load = |verified: &VerifiedProgram| runtime.load(verified, &maps, &load_options(flags));
    let instance = load(&verified).map_err(|e| Failure::runtime(&e))?;

    let (others, missed) = match object.maps.iter().any(|m| m.map_type == MapType::ProgArray) {
        true => load_others(&session, &object, program, load),
        false => (Vec::new(), Vec::new()),
    };
    for text in &flags.map {
        let programs = others.iter().chain([&instance]);
        let loaded = programs.map(|prog| (prog.name(), prog.id())).collect();
        let programs = map_input::Programs { loaded, missed: &missed };
        map_input::preload(text, &maps, &programs).map_err(Failure::input)?;
    }
    let programs = others.iter().chain([&instance]);
    let profile = profile::announce(flags, programs.clone()).map_err(Failure::input)?;
    let ctx_type = CtxType::of(program);
    let counted = programs.filter(|_| flags.counts());
    let counted = counted.filter_map(|instance| counted_one(&object, instance)).collect();
    Ok(Loaded { session, ctx_type, maps, instance, others, counted, _profile: profile, runtime })
}

/// An instance with the named program.
fn counted_one(object: &Object, instance: &Instance) -> Option<Counted> {
    let entry = object.programs.iter().find(|entry| *entry.name == *instance.name())?;
    let program = entry.program.as_ref().ok()?.clone();
    Some(Counted { program, instance: instance.clone() })
}

/// The object with the requested values of variables.
fn preset(flags: &RunFlags, mut object: Object) -> Result<Object, Error> {
    for preset in read_presets(&flags.set_global_vars)? {
        let file = flags.file.display();
        let setting = |e| format!("{file}: while setting '{}': {e}", preset.text());
        preset.apply(&mut object).map_err(setting)?;
    }
    Ok(object)
}

fn load_options(flags: &RunFlags) -> LoadOptions {
    let tuning = Tuning { poke: flags.poke.into(), ..Tuning::default() };
    LoadOptions { engine: flags.engine(), tuning, fuel: flags.fuel, coverage: flags.counts() }
}

fn verify(session: &Session, program: &Program) -> Result<VerifiedProgram, NotAccepted> {
    session.accept(program, &VerifyOptions::default())
}

/// The named program, or the only one.
fn choose<'a>(flags: &RunFlags, object: &'a Object) -> Result<&'a Program, Failure> {
    let names = || object.programs.iter().map(|p| &*p.name).collect::<Vec<_>>().join(", ");
    let file = flags.file.display();
    let entry = match (&flags.prog, &*object.programs) {
        (None, []) => return Err(Failure::input(format!("{file}: no programs"))),
        (None, [only]) => only,
        (None, _) => {
            return Err(Failure::input(format!(
                "{file}: several programs, name one of: {}",
                names()
            )));
        }
        (Some(wanted), all) => all.iter().find(|p| p.name == *wanted).ok_or_else(|| {
            Failure::input(format!("{file}: no program '{wanted}'; there are: {}", names()))
        })?,
    };
    entry.program.as_ref().map_err(|e| Failure {
        message: format!("{file}: program '{}': {}", entry.name, not_loaded(e)),
        exit: exit_of_load(e),
        diagnostic: None,
    })
}

/// The possible contents of prog arrays: the programs that can be loaded, and the names of the
/// others with the reason.
fn load_others(
    session: &Session,
    object: &Object,
    program: &Program,
    load: impl Fn(&VerifiedProgram) -> Result<Instance, skep::runtime::Error>,
) -> (Vec<Instance>, Vec<(String, String)>) {
    let (mut others, mut missed) = (Vec::new(), Vec::new());
    for entry in object.programs.iter().filter(|entry| entry.name != program.name) {
        let name = &entry.name;
        let one = |other: &Program| {
            let (wanted, found) = (program.prog_type, other.prog_type);
            if found != wanted {
                return Err(format!("program '{name}': of type {found}, not {wanted}"));
            }
            let verified = verify(session, other).map_err(|e| e.to_string())?;
            load(&verified).map_err(|e| format!("program '{name}': {e}"))
        };
        let opened = entry.program.as_ref();
        let opened = opened.map_err(|e| format!("program '{name}': {}", not_loaded(e)));
        match opened.and_then(one) {
            Ok(instance) => others.push(instance),
            Err(why) => missed.push((name.to_string(), why)),
        }
    }
    (others, missed)
}
