//! One test: its program is verified, run, and compared with what the file expects.

use super::file::{MapInput, Number, Test, TestFile, Unread};
use super::value::{fill, look};
use crate::choice::read_presets;
use crate::digits::hex;
use crate::exit::Exit;
use crate::flags::run::{RunFlags, RunsCommand, TestFlags};
use crate::flags::{Cli, Command, LoaderFlag};
use crate::judge_files::{Plan, not_loaded};
use crate::run::{self, Single, plan, verdict_name};
use clap::Parser;
use skep::runtime::{Ctx, takes_packet};
use skep::{Counts, Kernel, Refusal, Session, Verdict, VerifyOptions};
use std::ffi::OsString;
use std::path::PathBuf;

/// The result of a test.
#[derive(Default)]
pub(super) struct Outcome {
    /// The most severe of its problems.
    pub(super) exit: Exit,
    pub(super) problems: Vec<String>,
    /// How many of them are that verification costs too much.
    over_limit: usize,
    /// The new contents that `--bless` writes to the file, one per difference.
    pub(super) changes: Vec<Change>,
}

/// The actual value for an expected one.
pub(super) struct Change {
    /// Keys, the outermost first.
    pub(super) keys: Vec<String>,
    pub(super) value: Number,
}

impl Outcome {
    /// Nothing in the file can be run.
    pub(super) fn of_file(unread: &Unread) -> Outcome {
        Outcome { exit: Exit::Input, problems: vec![unread.why.to_string()], ..Outcome::default() }
    }

    fn fail(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
        self.exit.raise(Exit::Refused);
    }

    fn error(&mut self, problem: String, exit: Exit) {
        self.problems.push(problem);
        self.exit.raise(exit);
    }

    /// Another value than the expected one.
    fn differs(&mut self, keys: &[&str], value: Number, expected: &dyn std::fmt::Display) {
        self.fail(format!("{}: {value}, expected {expected}", keys.join(".")));
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        self.changes.push(Change { keys, value });
    }
}

/// A problem that is no expectation.
type CaseError = (String, Exit);

fn input_error(what: impl ToString) -> CaseError {
    (what.to_string(), Exit::Input)
}

/// Runs a test.
pub(super) fn run(file: &TestFile, test: &Test, flags: &TestFlags) -> Outcome {
    let case = Case { file, test };
    let mut outcome = Outcome::default();
    case.verify(&mut outcome);
    // A program that costs too much can be run.
    if outcome.problems.len() == outcome.over_limit
        && case.runs()
        && let Err((problem, exit)) = case.run(flags, &mut outcome)
    {
        outcome.error(problem, exit);
    }
    outcome
}

struct Case<'a> {
    file: &'a TestFile,
    test: &'a Test,
}

impl Case<'_> {
    fn object(&self) -> PathBuf {
        let object = self.test.object.as_ref().or(self.file.defaults.object.as_ref());
        self.file.beside(object.map_or("".as_ref(), |path| path))
    }

    fn prog(&self) -> Option<&String> {
        self.test.prog.as_ref().or(self.file.defaults.prog.as_ref())
    }

    fn btf(&self) -> Option<OsString> {
        let btf = self.test.btf.as_ref().or(self.file.defaults.btf.as_ref())?;
        Some(if btf == "none" { btf.into() } else { self.file.beside(btf.as_ref()).into() })
    }

    /// As `-G` takes them.
    fn globals(&self) -> Vec<String> {
        let text = |value: &toml::Value| match value {
            toml::Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        self.test.globals.iter().map(|(name, value)| format!("{name} = {}", text(value))).collect()
    }

    /// Whether it has expectations about a run.
    fn runs(&self) -> bool {
        let test = self.test;
        let (result, output) = (test.result.is_some(), test.output.is_some());
        let maps = !test.expect_maps.is_empty() || !test.maps.is_empty();
        let input = test.packet.is_some() || test.packet_file.is_some() || test.ctx.is_some();
        test.refused.is_none()
            && (result || output || maps || input || test.max_run_insns.is_some())
    }

    /// On the kernels that the test names; if it names none, on the kernel of its BTF.
    fn verify(&self, outcome: &mut Outcome) {
        let test = self.test;
        let limits = test.max_insns.is_some() || test.max_states.is_some();
        if test.kernels.is_empty()
            && (test.refused.is_some() || limits || (test.refused_on.is_empty() && !self.runs()))
        {
            let session = Plan::session(self.btf().as_deref(), LoaderFlag::default());
            let found = session.map_err(input_error).and_then(|session| self.judge(&session));
            let expected = Expected { refused: test.refused.as_deref(), keys: &["refused"] };
            self.hold("", found, expected, outcome);
        }
        for name in &test.kernels {
            let found = self.judge_on(name);
            let expected = Expected { refused: test.refused.as_deref(), keys: &["refused"] };
            self.hold(&format!("on {name}: "), found, expected, outcome);
        }
        for (name, code) in &test.refused_on {
            let found = self.judge_on(name);
            let expected = Expected { refused: Some(code), keys: &["refused_on", name] };
            self.hold(&format!("on {name}: "), found, expected, outcome);
        }
    }

    fn judge_on(&self, name: &str) -> Result<Judged, CaseError> {
        let is_file = name.contains('/');
        let path = self.file.beside(name.as_ref());
        let name = if is_file { &*path.to_string_lossy() } else { name };
        let kernel = Kernel::open(name).map_err(input_error)?;
        self.judge(&Session::for_kernel(kernel))
    }

    fn judge(&self, session: &Session) -> Result<Judged, CaseError> {
        let path = self.object();
        let mut object = session.open_file(&path).map_err(input_error)?;
        for preset in read_presets(&self.globals()).map_err(input_error)? {
            let setting = |e| format!("globals: while setting '{}': {e}", preset.text());
            preset.apply(&mut object).map_err(|e| input_error(setting(e)))?;
        }
        let names = || object.programs.iter().map(|p| &*p.name).collect::<Vec<_>>().join(", ");
        let entry = match (self.prog(), &*object.programs) {
            (Some(wanted), all) => all.iter().find(|entry| entry.name == *wanted),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        let Some(entry) = entry else {
            let wanted =
                self.prog().map_or("no `prog`".into(), |name| format!("no program '{name}'"));
            return Err(input_error(format!(
                "{}: {wanted}; there are: {}",
                path.display(),
                names()
            )));
        };
        let program = match &entry.program {
            Ok(program) => program,
            Err(e) => {
                let refusal = Refusal::of_load(e).ok_or_else(|| input_error(not_loaded(e)))?;
                return Ok(Judged { refusal: Some(refusal), counts: Counts::default() });
            }
        };
        let verification = session.verify(program, &VerifyOptions::default());
        let counts = verification.counts;
        match verification.verdict {
            Verdict::Accepted(_) => Ok(Judged { refusal: None, counts }),
            Verdict::Rejected(refusal) => Ok(Judged { refusal: Some(refusal), counts }),
            Verdict::Unsupported(what) => Err(input_error(format!("not supported yet: {what}"))),
            Verdict::OutOfMemory => Err(input_error("verification needs too much memory")),
            Verdict::Bug(what) => Err((what, Exit::Bug)),
        }
    }

    /// Compares a verdict, and its cost, with what is expected.
    fn hold(
        &self,
        place: &str,
        found: Result<Judged, CaseError>,
        expected: Expected<'_>,
        outcome: &mut Outcome,
    ) {
        let Expected { refused, keys } = expected;
        let Judged { refusal, counts } = match found {
            Ok(judged) => judged,
            Err((what, exit)) => return outcome.error(format!("{place}{what}"), exit),
        };
        let said = |refusal: &Refusal| {
            let message = refusal.message.lines().next().unwrap_or_default();
            format!("{place}refused ({}): {message}", refusal.kind)
        };
        match (refused, &refusal) {
            (None, Some(refusal)) => outcome.fail(said(refusal)),
            (Some(code), None) => {
                outcome.fail(format!("{place}accepted, expected a rejection ({code})"));
            }
            (Some(code), Some(refusal)) if refusal.kind != code => {
                outcome.fail(format!("{}, expected {code}", said(refusal)));
                let keys = keys.iter().map(|key| (*key).to_owned()).collect();
                let value = Number::Text(refusal.kind.clone());
                outcome.changes.push(Change { keys, value });
            }
            _ => {}
        }
        let limits = [
            ("insns", counts.insns_processed, self.test.max_insns),
            ("states", counts.total_states, self.test.max_states),
        ];
        for (what, found, max) in limits {
            if let Some(max) = max.filter(|max| refusal.is_none() && found > *max) {
                outcome
                    .fail(format!("{place}verification: {found} {what}, at most {max} expected"));
                outcome.over_limit += 1;
            }
        }
    }

    /// The flags of `skep run` that correspond to the test's keys.
    fn flags(&self, flags: &TestFlags) -> Result<RunFlags, CaseError> {
        let test = self.test;
        let mut args: Vec<OsString> = vec!["skep".into(), "run".into()];
        let mut option = |name: &str, value: OsString| {
            let mut arg = OsString::from(name);
            arg.push("=");
            arg.push(value);
            args.push(arg);
        };
        let btf = self.btf();
        btf.into_iter().for_each(|btf| option("--btf", btf));
        test.packet.iter().for_each(|digits| option("--hex", digits.into()));
        test.packet_file
            .iter()
            .for_each(|path| option("--data-file", self.file.beside(path).into()));
        if let Some(ctx) = &test.ctx {
            let json = serde_json::to_string(ctx).map_err(input_error)?;
            option("--ctx-json", json.into());
        }
        for text in self.globals() {
            option("--set-global-vars", text.into());
        }
        for (name, input) in &test.maps {
            if let MapInput::File(path) = input {
                let mut text = OsString::from(format!("{name}=@"));
                text.push(self.file.beside(path));
                option("--map", text);
            }
        }
        // Insns are counted by the interpreter.
        if flags.interp || test.max_run_insns.is_some() {
            args.push("--interp".into());
        }
        args.push("--".into());
        args.push(self.object().into());
        args.extend(self.prog().map(OsString::from));
        let cli = Cli::try_parse_from(args).map_err(input_error)?;
        match cli.command {
            Command::Runs(RunsCommand::Run(flags)) => Ok(*flags),
            _ => Err(input_error("not a run")),
        }
    }

    fn run(&self, flags: &TestFlags, outcome: &mut Outcome) -> Result<(), CaseError> {
        let test = self.test;
        let flags = self.flags(flags)?;
        let mut single =
            Single::new(&flags).map_err(|failure| (as_key(&failure.message), failure.exit))?;
        for (name, input) in &test.maps {
            if let MapInput::Entries(entries) = input {
                fill(&single, name, entries).map_err(input_error)?;
            }
        }
        let instance = single.instance();
        let repeat = test.repeat.unwrap_or(1);
        let done = instance.test_run(&mut single.ctx, repeat).map_err(|e| {
            let exit = plan::exit_of(&e);
            (e.to_string(), exit)
        })?;
        let result = done.result;
        if let Some(expected) = &test.result {
            let name = verdict_name(instance.prog_type(), result.retval);
            let found = match (expected, name) {
                (Number::Text(_), Some(name)) => Number::Text(name.to_owned()),
                _ => Number::Integer(i64::from(result.retval as i32)),
            };
            // An unsigned number has the same bits.
            if found != *expected && *expected != Number::Integer(result.retval.into()) {
                outcome.differs(&["result"], found, expected);
            }
        }
        if let Some(expected) = &test.output {
            let bytes = left(&single.ctx, takes_packet(instance.prog_type()));
            let wrong = |e: crate::Error| input_error(e.to_string().replace("--hex", "output"));
            let wanted = run::hex(expected).map_err(wrong)?;
            if bytes != wanted {
                outcome.differs(&["output"], Number::Text(hex(&bytes)), expected);
            }
        }
        for (name, entries) in &test.expect_maps {
            let map = single.maps().get(name).map_err(input_error)?;
            for (key, expected) in entries {
                let (found, same) = look(map, key, expected).map_err(input_error)?;
                if !same {
                    outcome.differs(&["expect_maps", name, key], found, expected);
                }
            }
        }
        let insns = result.insns.unwrap_or_default();
        if let Some(max) = test.max_run_insns.filter(|max| insns > *max) {
            outcome.fail(format!("run: {insns} insns, at most {max} expected"));
        }
        Ok(())
    }
}

/// The error message for an option of `skep run`, with the key that stands for it.
fn as_key(message: &str) -> String {
    const KEYS: [(&str, &str); 4] = [
        ("--hex", "packet"),
        ("--data-file", "packet_file"),
        ("--ctx-json", "ctx"),
        ("--map", "maps"),
    ];
    let named = KEYS.iter().find_map(|(option, key)| Some((key, message.strip_prefix(option)?)));
    named.map_or_else(|| message.to_owned(), |(key, rest)| format!("{key}{rest}"))
}

fn left(ctx: &Ctx, is_packet: bool) -> Vec<u8> {
    if is_packet { ctx.packet_bytes() } else { ctx.raw_bytes() }
}

/// The verdict that a test expects.
#[derive(Clone, Copy)]
struct Expected<'a> {
    /// The code of the rejection.
    refused: Option<&'a str>,
    /// Where it is in the test's table.
    keys: &'a [&'a str],
}

/// The verdict of a kernel.
struct Judged {
    refusal: Option<Refusal>,
    counts: Counts,
}
