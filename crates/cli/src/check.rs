//! `skep check`: explains each rejection, with its source line and the known state there.

use crate::Error;
use crate::alike;
use crate::choice::{read_names, read_presets};
use crate::diagnostic::diagnostic;
use crate::exit::Exit;
use crate::flags::{CheckFlags, CheckFormat};
use crate::html_file::HtmlFile;
use crate::joined::{self, Joined};
use crate::judge_files::{Batch, JudgeError, Judged, Plan, Unopened, exit_of};
use crate::kernels;
use crate::memory_gate::{Kept, MemoryGate, over_limit};
use crate::sources::SourceTree;
use crate::streams::{KeptLines, Streams};
use skep::diagnosis::{Diagnosis, Note, Severity};
use skep::object::Error as LoadError;
use skep::uapi::ProgFlags;
use skep::{LoadClass, Refusal, Session, Verdict, VerifyOptions};
use skep_report::{CheckedProgram, Diagnostic, check_page, render_text};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// Prefix of the rules of load errors.
const LOAD_ERROR: &str = "load_error_";
/// Prefix of the messages about what is not modelled.
const NOT_YET: &str = "not supported yet: ";
/// Maximum size of the recorded path to a rejection.
const PATH_BYTES: usize = 16 << 20;

/// The result for one program.
pub(crate) struct Answer {
    object: String,
    prog: String,
    insns: u64,
    pub(crate) diagnostic: Option<Diagnostic>,
    /// Its remarks on tests that have no line of their own.
    joined: Vec<Joined>,
    /// A line for the error stream.
    trouble: Option<String>,
    /// Whether text output does not print it: the error stream or an earlier program has it.
    is_told: bool,
    exit: Exit,
}

impl crate::in_order::Weigh for Answer {}

impl Answer {
    /// In a word or two.
    fn verdict(&self) -> &'static str {
        match (self.exit, &self.diagnostic) {
            (Exit::Success, _) => "accepted",
            _ if self.prog.is_empty() => "not opened",
            (Exit::Refused, Some(d)) if d.rule.starts_with(LOAD_ERROR) => "not loaded",
            (Exit::Refused, _) => "refused",
            (Exit::Input, Some(d)) if d.message.starts_with(NOT_YET) => "not supported yet",
            _ => "without a verdict",
        }
    }

    /// Its representation on the page.
    fn told(&self) -> CheckedProgram {
        let why = self.diagnostic.clone();
        let (object, prog) = (self.object.clone(), self.prog.clone());
        CheckedProgram { object, prog, verdict: self.verdict(), insns: self.insns, why }
    }
}

/// Number of programs by result.
#[derive(Default)]
struct Summary {
    accepted: usize,
    refused: usize,
    not_loaded: usize,
    unsupported: usize,
    unopened: usize,
    broken: usize,
}

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &CheckFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    with_log(streams, |streams, log| judge(flags, streams, log))
}

/// Runs a command, and keeps a copy of its lines on the error stream.
pub(crate) fn with_log<T>(
    streams: &mut Streams<'_>,
    run: impl FnOnce(&mut Streams<'_>, &RefCell<Vec<u8>>) -> T,
) -> T {
    let log = Rc::new(RefCell::new(Vec::new()));
    let mut err = KeptLines { to: &mut *streams.err, bytes: Rc::clone(&log) };
    let (style, progress) = (streams.style, streams.progress);
    run(&mut Streams { out: &mut *streams.out, err: &mut err, style, progress }, &log)
}

fn judge(
    flags: &CheckFlags,
    streams: &mut Streams<'_>,
    log: &RefCell<Vec<u8>>,
) -> io::Result<Exit> {
    if flags.input.files.is_empty() {
        streams.error("no file given")?;
        return Ok(Exit::Input);
    }
    if flags.format == CheckFormat::Markdown {
        streams.error("--format markdown needs --kernel")?;
        return Ok(Exit::Input);
    }
    let (mut batch, plan) = Batch::beside(&flags.input, || plan(flags));
    batch.explains_unopened = flags.format == CheckFormat::Text;
    let ready = plan.and_then(|plan| {
        let sources = SourceTree::new(flags.source_root.as_deref())?;
        Ok((plan, HtmlFile::new(&flags.html.html)?, sources))
    });
    let (plan, html, mut sources) = match ready {
        Ok(ready) => ready,
        Err(message) => {
            streams.error(&message)?;
            return Ok(Exit::Input);
        }
    };
    let (mut diagnostics, mut told) = (Vec::new(), Vec::new());
    let mut summary = Summary::default();
    let mut worst = Exit::Success;
    let (_, exit) = batch.run(
        &plan,
        streams,
        |judged| answer(judged, &plan),
        |streams, file| {
            let unopened = file.problems.iter().filter_map(Answer::of_problem);
            let all = file.answers.into_iter().chain(unopened).collect();
            for mut answer in folded(all, flags.format == CheckFormat::Text && !html.is_wanted()) {
                worst.raise(answer.exit);
                summary.count(&answer);
                answer.place(flags.format, &mut sources);
                told.extend(html.is_wanted().then(|| answer.told()));
                answer.tell(flags.format, streams, &mut diagnostics)?;
            }
            Ok(())
        },
    )?;
    worst.raise(exit);
    if let Some(line) = sources.missing().filter(|_| !flags.quiet) {
        streams.note(&line)?;
    }
    let explain = |code: &str| skep::catalogue::section(code).map(|section| section.text);
    let page = || kernels::noted(check_page(&told, explain), &plan.session);
    if let Err(message) = html.write(page) {
        streams.error(&message)?;
        worst.raise(Exit::Input);
    }
    if matches!(flags.format, CheckFormat::Sarif | CheckFormat::Github) {
        diagnostics.iter_mut().for_each(|it| sources.name_from_here(it));
    }
    match flags.format {
        CheckFormat::Text if flags.quiet => {}
        CheckFormat::Text => summary.print(streams)?,
        format => write(format, streams.out, &diagnostics, log)?,
    }
    if let Some(kernel) = &plan.session.kernel {
        // Also with --quiet: a result for a kernel must not be without its warning.
        writeln!(streams.out, "{}", kernels::described(kernel).line())?;
    }
    Ok(worst)
}

/// What is the same for several programs of the object is printed once, if `is_folded`.
fn folded(mut answers: Vec<Answer>, is_folded: bool) -> Vec<Answer> {
    if !is_folded {
        return answers;
    }
    let is_load = |told: &&mut Diagnostic| told.rule.starts_with(LOAD_ERROR);
    let mut told: Vec<_> =
        answers.iter_mut().map(|it| it.diagnostic.as_mut().filter(is_load)).collect();
    let is_later = alike::fold(&mut told);
    for (answer, is_later) in answers.iter_mut().zip(is_later) {
        answer.is_told |= is_later;
    }
    answers
}

/// In a format for tools.
fn write(
    format: CheckFormat,
    out: &mut dyn io::Write,
    diagnostics: &[Diagnostic],
    log: &RefCell<Vec<u8>>,
) -> io::Result<()> {
    match format {
        CheckFormat::Sarif => {
            write_sarif(out, diagnostics, &String::from_utf8_lossy(&log.borrow()))
        }
        CheckFormat::Json => skep_report::write_diagnostics_json(out, diagnostics),
        CheckFormat::Github => skep_report::write_github(out, diagnostics),
        CheckFormat::Text | CheckFormat::Markdown => Ok(()),
    }
}

/// With the lines of the error stream.
pub(crate) fn write_sarif(
    out: &mut dyn io::Write,
    diagnostics: &[Diagnostic],
    log: &str,
) -> io::Result<()> {
    skep_report::write_sarif(out, diagnostics, log, env!("CARGO_PKG_VERSION"))
}

fn plan(flags: &CheckFlags) -> Result<Plan, Error> {
    let session = Plan::session_of(&flags.input)?;
    plan_with(flags, session, gate(flags)?)
}

/// Created after all shared input has been read.
pub(crate) fn gate(flags: &CheckFlags) -> Result<Arc<MemoryGate>, Error> {
    MemoryGate::new(&flags.input, Kept::Logs).map(Arc::new)
}

/// Verifies programs as specified by the flags, with a session of its own.
pub(crate) fn plan_with(
    flags: &CheckFlags,
    session: Session,
    gate: Arc<MemoryGate>,
) -> Result<Plan, Error> {
    let path_bytes = gate.log_bytes(PATH_BYTES);
    Ok(Plan {
        session,
        filters: read_names(&flags.filter)?,
        presets: read_presets(&flags.set_global_vars)?,
        options: VerifyOptions { path_bytes_max: Some(path_bytes), ..VerifyOptions::default() },
        prog_flags: ProgFlags::empty(),
        scan: flags.input.scan,
        gate,
        is_compiled: false,
    })
}

fn answer(judged: Judged<'_>, plan: &Plan) -> Answer {
    let exit = exit_of(&judged.result);
    let (object, prog) = (judged.file.to_owned(), judged.entry.name.clone());
    let here = format!("{object}: program '{prog}'");
    let (diagnostic, trouble, insns) = match &judged.result {
        Err(e) => (unloaded(&judged, e, plan), None, 0),
        Ok((program, verification)) => {
            let mut told = plan.diagnosis(program, verification);
            let trouble = match &verification.verdict {
                Verdict::OutOfMemory => Some(over_limit(verification)),
                Verdict::Bug(what) => Some(what.clone()),
                _ => None,
            };
            if let (Some(told), Some(message)) = (&mut told, &trouble) {
                told.message.clone_from(message);
            }
            let diagnostic = told.map(|told| diagnostic(&object, &prog, told));
            let trouble = trouble.map(|message| format!("{here}: {message}"));
            (diagnostic, trouble, verification.counts.insns_processed)
        }
    };
    let is_told = trouble.is_some();
    let joined = match (&judged.result, &diagnostic) {
        (Ok((program, _)), Some(diagnostic)) => joined::of(diagnostic, program),
        _ => Vec::new(),
    };
    Answer { object, prog, insns, diagnostic, joined, trouble, is_told, exit }
}

impl Answer {
    /// Completes the places in the message by what is known of the sources.
    fn place(&mut self, format: CheckFormat, sources: &mut SourceTree) {
        let Some(diagnostic) = &mut self.diagnostic else { return };
        sources.place(&self.joined, diagnostic);
        sources.compare(diagnostic);
        if format == CheckFormat::Text {
            sources.shorten(diagnostic);
        }
    }

    /// Prints the message, or keeps it for a format that has all of them at once.
    fn tell(
        self,
        format: CheckFormat,
        streams: &mut Streams<'_>,
        kept: &mut Vec<Diagnostic>,
    ) -> io::Result<()> {
        if let Some(line) = &self.trouble {
            streams.failure(line, self.exit)?;
        }
        match (format, self.diagnostic) {
            (CheckFormat::Text, Some(diagnostic)) if !self.is_told => {
                writeln!(streams.out, "{}\n", render_text(&diagnostic, streams.style))?;
            }
            (CheckFormat::Text, _) => {}
            (_, other) => kept.extend(other),
        }
        Ok(())
    }

    /// For a file without programs; none for what is not about a file.
    pub(crate) fn of_problem(problem: &JudgeError) -> Option<Answer> {
        let (object, diagnostic, exit) = match problem {
            JudgeError::Unopened(it) => (it.object.clone(), unopened(it), Exit::Input),
            JudgeError::Bug(line) => {
                let object = line.split(": ").next().unwrap_or_default().to_owned();
                let diagnostic = without_verdict("internal-error", line, &object, "");
                (object, diagnostic, Exit::Bug)
            }
            JudgeError::Input(_) | JudgeError::Note(_) => return None,
        };
        let is_told = !diagnostic.rule.starts_with(LOAD_ERROR);
        let (prog, diagnostic) = (String::new(), Some(diagnostic));
        let (joined, trouble) = (Vec::new(), None);
        Some(Answer { object, prog, insns: 0, diagnostic, joined, trouble, is_told, exit })
    }
}

/// A file without programs.
fn unopened(Unopened { object, line, error }: &Unopened) -> Diagnostic {
    let mut told = match error.as_ref().and_then(Refusal::of_load) {
        Some(refusal) => Diagnosis::from(&refusal),
        None => {
            let start = format!("{object}: ");
            let message = line.strip_prefix(&start).unwrap_or(line);
            Diagnosis::of_code(Severity::Error, "not-opened", message)
        }
    };
    let at = error.as_ref().filter(|error| error.class().is_some()).and_then(LoadError::place);
    told.at = at.cloned();
    diagnostic(object, "", told)
}

/// There is no verdict about a program, or about all of an object.
fn without_verdict(code: &str, message: &str, object: &str, prog: &str) -> Diagnostic {
    diagnostic(object, prog, Diagnosis::of_code(Severity::Warning, code, message))
}

/// A program that fails before the verifier.
fn unloaded(judged: &Judged<'_>, error: &LoadError, plan: &Plan) -> Option<Diagnostic> {
    let mut told = plan.session.diagnose_load(judged.entry, judged.btf)?;
    let other = matches!(error.class(), Some(LoadClass::Open | LoadClass::Section));
    let is_advised = told.help.contains("--loader any");
    // A misspelled name is no reason to suggest another loader.
    if other && !is_advised && told.similar_names.is_empty() {
        let text = "--loader any opens objects made for other loaders".to_owned();
        told.notes.push(Note { text, at: None });
    }
    Some(diagnostic(judged.file, &judged.entry.name, told))
}

impl Summary {
    fn count(&mut self, answer: &Answer) {
        let of = match answer.verdict() {
            "accepted" => &mut self.accepted,
            "not loaded" => &mut self.not_loaded,
            "refused" => &mut self.refused,
            "not supported yet" => &mut self.unsupported,
            "not opened" => &mut self.unopened,
            _ => &mut self.broken,
        };
        *of += 1;
    }

    fn print(&self, streams: &mut Streams<'_>) -> io::Result<()> {
        write!(streams.out, "{} accepted, {} refused", self.accepted, self.refused)?;
        if self.not_loaded > 0 {
            write!(streams.out, ", {} not loaded", self.not_loaded)?;
        }
        if self.unsupported > 0 {
            write!(streams.out, ", {} not supported yet", self.unsupported)?;
        }
        if self.unopened > 0 {
            let files = if self.unopened == 1 { "file" } else { "files" };
            write!(streams.out, ", {} {files} not opened", self.unopened)?;
        }
        if self.broken > 0 {
            write!(streams.out, ", {} without a verdict", self.broken)?;
        }
        writeln!(streams.out)
    }
}
