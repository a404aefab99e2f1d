//! `skep check`: explains each rejection, with its source line and the known state there.

use crate::budget;
use crate::choice::{read_filters, read_presets};
use crate::ctx_field;
use crate::declared;
use crate::dump::names::{insn_with_map, source_spot, spot_of};
use crate::exit::Exit;
use crate::externs;
use crate::flags::{CheckFlags, CheckFormat};
use crate::held::{Held, Missed};
use crate::history::words::in_words;
use crate::history::{History, names};
use crate::html_file::HtmlFile;
use crate::joined::{self, Joined};
use crate::judge_files::{Batch, JudgeError, Judged, Plan, Unopened, exit_of};
use crate::kernels;
use crate::memory_gate::{Kept, MemoryGate, over_limit};
use crate::missing_check;
use crate::near;
use crate::notes;
use crate::rule;
use crate::sources::SourceTree;
use crate::streams::{KeptLines, Streams};
use skep::catalogue::is_of_declaration;
use skep::object::Error as LoadError;
use skep::program::Program;
use skep::uapi::ProgFlags;
use skep::{LoadClass, Refusal, Session, Verdict, Verification, VerifyOptions};
use skep_report::{Advice, CheckedProgram, Diagnostic, Note, Severity, check_page, render_text};
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
    /// What it says of tests without a line of their own.
    joined: Vec<Joined>,
    /// A line for the error stream.
    trouble: Option<String>,
    /// Whether the error stream says what the diagnostic does, so text output does not.
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
            for mut answer in file.answers.into_iter().chain(unopened) {
                worst.raise(answer.exit);
                summary.count(&answer);
                if let Some(diagnostic) = &mut answer.diagnostic {
                    sources.place(&answer.joined, diagnostic);
                    sources.compare(diagnostic);
                }
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
        format => write(format, streams.out, (&diagnostics, log))?,
    }
    if let Some(kernel) = &plan.session.kernel {
        // Also with --quiet: a result for a kernel must not be without its warning.
        writeln!(streams.out, "{}", kernels::described(kernel).line())?;
    }
    Ok(worst)
}

/// In a format for tools.
fn write(
    format: CheckFormat,
    out: &mut dyn io::Write,
    (diagnostics, log): (&[Diagnostic], &RefCell<Vec<u8>>),
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

fn plan(flags: &CheckFlags) -> Result<Plan, String> {
    let session = Plan::session_of(&flags.input)?;
    plan_with(flags, session, gate(flags)?)
}

/// Created after all shared input has been read.
pub(crate) fn gate(flags: &CheckFlags) -> Result<Arc<MemoryGate>, String> {
    MemoryGate::new(&flags.input, Kept::Logs).map(Arc::new)
}

/// Verifies programs as specified by the flags, with a session of its own.
pub(crate) fn plan_with(
    flags: &CheckFlags,
    session: Session,
    gate: Arc<MemoryGate>,
) -> Result<Plan, String> {
    let path_bytes = gate.log_bytes(PATH_BYTES);
    Ok(Plan {
        session,
        filters: read_filters(&flags.filter)?,
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
        Err(e) => (Some(unloaded(&judged, e, plan)), None, 0),
        Ok((program, verification)) => {
            let subject = Subject { file: judged.file, prog: &judged.entry.name, program, plan };
            let without = |code, message: &str| {
                let diagnostic = without_verdict(code, message, &object, &prog);
                (Some(diagnostic), Some(format!("{here}: {message}")))
            };
            let (diagnostic, trouble) = match &verification.verdict {
                Verdict::Accepted(_) => (None, None),
                Verdict::Rejected(refusal) => (Some(subject.refused(refusal, verification)), None),
                Verdict::Unsupported(what) => {
                    let what = format!("{NOT_YET}{what}");
                    (Some(without_verdict("unsupported", &what, &object, &prog)), None)
                }
                Verdict::OutOfMemory => without("out-of-memory", &over_limit(verification)),
                Verdict::Bug(what) => without("internal-error", what),
            };
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
    let Some(refusal) = error.as_ref().and_then(Refusal::of_load) else {
        let start = format!("{object}: ");
        let message = line.strip_prefix(&start).unwrap_or(line);
        let diagnostic = without_verdict("not-opened", message, object, "");
        return Diagnostic { severity: Severity::Error, ..diagnostic };
    };
    let at = error.as_ref().and_then(LoadError::place).map(spot_of);
    let diagnostic = without_verdict(&refusal.kind, &refusal.message, object, "");
    Diagnostic { severity: Severity::Error, at, ..diagnostic }
}

/// There is no verdict about a program, or about all of an object.
fn without_verdict(code: &str, message: &str, object: &str, prog: &str) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        advice: advice(code, (message, &[]), |_| None),
        rule: code.to_owned(),
        message: message.to_owned(),
        object: object.to_owned(),
        prog: prog.to_owned(),
        insn_idx: None,
        insn: None,
        at: None,
        notes: Vec::new(),
    }
}

/// The message; if the kernel writes none, why it rejects the program, or the title of the code.
pub(crate) fn said_or_why(refusal: &Refusal, because: Option<&str>) -> String {
    let title = skep::catalogue::section(&refusal.kind).map(|section| section.title);
    let says = |text: &&str| !text.trim().is_empty();
    let text = [Some(refusal.message.as_str()), because, title].into_iter().flatten().find(says);
    text.unwrap_or(&refusal.kind).trim_end().to_owned()
}

/// The catalogue's advice for a code. `names` returns the source's name of an object.
pub(crate) fn advice(
    code: &str,
    (message, notes): (&str, &[Note]),
    names: impl Fn(&str) -> Option<String>,
) -> Option<Advice> {
    let section = skep::catalogue::section(code)?;
    let mut told = message.to_owned();
    for note in notes {
        told = told + "\n" + &note.text;
    }
    let help = section.help_for(&told, names);
    Some(Advice { title: section.title.to_owned(), help })
}

/// A program that fails before the verifier; a warning if too little is known of the kernel.
fn unloaded(judged: &Judged<'_>, error: &LoadError, plan: &Plan) -> Diagnostic {
    let prog = &judged.entry.name;
    let Some(refusal) = &Refusal::of_load(error) else {
        let message = error.to_string();
        let message = message.strip_prefix(&format!("program {prog}: ")).unwrap_or(&message);
        let at = error.place().map(spot_of);
        return Diagnostic { at, ..without_verdict("unsupported", message, judged.file, prog) };
    };
    let kernel_btf = plan.session.host.kernel_btf.as_deref();
    let externs = externs::notes(&refusal.message, judged.btf, kernel_btf);
    let advice = advice(&refusal.kind, (&refusal.message, &externs), |_| None);
    let other = matches!(refusal.load, Some(LoadClass::Open | LoadClass::Section));
    let is_advised = advice.as_ref().is_some_and(|it| it.help.contains("--loader any"));
    let hint = "--loader any opens objects made for other loaders".to_owned();
    let near = near::note(&refusal.message, kernel_btf);
    // A misspelled name is no reason to suggest another loader.
    let is_hint = other && !is_advised && near.is_none();
    let hint = is_hint.then_some(Note { text: hint, at: None });
    let at = error.place().map(spot_of);
    let declared = declared::note(refusal, prog, at.as_ref());
    Diagnostic {
        severity: Severity::Error,
        advice,
        rule: refusal.kind.clone(),
        message: refusal.message.clone(),
        object: judged.file.to_owned(),
        prog: prog.clone(),
        insn_idx: None,
        insn: None,
        at,
        notes: declared.into_iter().chain(externs).chain(near).chain(hint).collect(),
    }
}

/// Gives the text of an insn, and its location.
fn describing(program: &Program) -> impl Fn(usize) -> notes::Described {
    |idx| Some((insn_with_map(program, idx)?, source_spot(program, idx)))
}

/// The program of a diagnostic.
struct Subject<'a> {
    file: &'a str,
    prog: &'a str,
    program: &'a Program,
    plan: &'a Plan,
}

impl Subject<'_> {
    fn refused(&self, refusal: &Refusal, verification: &Verification) -> Diagnostic {
        if let Some(declared) = self.declared(refusal, verification) {
            return declared;
        }
        // The insn that replaces an unresolved reference is not informative.
        let shown = refusal.insn_idx.filter(|_| refusal.load.is_none());
        let mut notes: Vec<Note> = notes::of_section(refusal, self.program).into_iter().collect();
        notes.extend(ctx_field::note(refusal, self.program));
        notes.extend(notes::without_target(refusal, self.program));
        notes.extend(notes::of_license(refusal, self.program));
        notes.extend(notes::map_type(refusal));
        notes.extend(rule::note(&self.plan.session, self.program, verification));
        notes.extend(notes::not_reached(refusal, self.program, &describing(self.program)));
        let describe = describing(self.program);
        let lacks = refusal.load.and(refusal.insn_idx);
        notes.extend(lacks.and_then(|idx| notes::used_at(idx, self.program, &describe)));
        let btf = self.program.kernel_btf.as_deref();
        notes.extend(refusal.load.and_then(|_| near::note(&refusal.message, btf)));
        let spending =
            budget::spending(refusal, verification, self.program, || self.plan.spent(self.program));
        let (told, elsewhere) = match (spending, notes::encoding(refusal, self.program)) {
            (Some(spending), _) => (spending.notes, spending.at),
            (None, Some(note)) => (vec![note], None),
            (None, None) => self.of_path(refusal, verification, shown),
        };
        notes.extend(notes::inner_map(refusal, &told, self.program));
        notes.extend(told);
        let at = elsewhere.or_else(|| notes::target(refusal, self.program)).or(refusal.insn_idx);
        let shown = at.filter(|_| refusal.load.is_none());
        let insn = shown.and_then(|idx| insn_with_map(self.program, idx));
        // The called function also determines the advice.
        let said = format!("{}\n{}", refusal.message, insn.as_deref().unwrap_or_default());
        let names = |thing: &str| self.name_of(thing, refusal, verification);
        let advice = advice(&refusal.kind, (&said, &notes), names);
        for note in &mut notes {
            note.text = in_words(&note.text).into_owned();
        }
        Diagnostic {
            severity: Severity::Error,
            advice,
            rule: refusal.kind.clone(),
            message: said_or_why(refusal, verification.because.as_deref()),
            object: self.file.to_owned(),
            prog: self.prog.to_owned(),
            insn_idx: at,
            at: at.and_then(|idx| source_spot(self.program, idx)),
            notes,
            insn,
        }
    }

    /// The source's name of the object of a rejection.
    fn name_of(&self, thing: &str, refusal: &Refusal, found: &Verification) -> Option<String> {
        let describe = describing(self.program);
        match thing {
            "acquired" => names::of_call(self.program, found.acquired_by?, &describe),
            "release" => Held::at(refusal, found, self.program, &describe)?.released_by(),
            "range" => notes::allowed_range(&refusal.message),
            "section" => notes::sleepable_section(self.program),
            "end" => names::end_of(
                &source_spot(self.program, Held::at(refusal, found, self.program, &describe)?.by)?
                    .text,
            ),
            "accessed" => names::accessed_at(&source_spot(self.program, refusal.insn_idx?)?),
            _ => {
                let about = (refusal, found.because.as_deref());
                let path = found.path.as_ref()?;
                missing_check::name_of(thing, about, path, self.program, &describe)
            }
        }
    }

    /// A call of a function that no program can call: the error is in its declaration, and the
    /// arguments do not matter.
    fn declared(&self, refusal: &Refusal, verification: &Verification) -> Option<Diagnostic> {
        let because = verification.because.as_deref()?;
        let call = refusal.insn_idx.filter(|_| is_of_declaration(&refusal.kind))?;
        let start = notes::called(refusal, self.program)?;
        let called_at = format!("{} at", refusal.message.trim_end());
        Some(Diagnostic {
            severity: Severity::Error,
            advice: advice(&refusal.kind, (because, &[]), |_| None),
            rule: refusal.kind.clone(),
            message: because.to_owned(),
            object: self.file.to_owned(),
            prog: self.prog.to_owned(),
            insn_idx: Some(start),
            at: source_spot(self.program, start),
            notes: vec![notes::since(&called_at, call, &describing(self.program))],
            insn: None,
        })
    }

    /// Notes from the path to the rejection: held resources, branches, registers, checks; and the
    /// insn to look at, if that is not the rejected one.
    fn of_path(
        &self,
        refusal: &Refusal,
        verification: &Verification,
        shown: Option<usize>,
    ) -> (Vec<Note>, Option<usize>) {
        let program = self.program;
        let Some(path) = &verification.path else { return (Vec::new(), None) };
        let describe = describing(program);
        let because = verification.because.as_deref();
        let held = Held::at(refusal, verification, program, &describe);
        let missed = held.as_ref().and_then(|it| it.missed(refusal, path, program, &describe));
        let checks = missing_check::notes(refusal, path, program, &describe);
        let history = History::of(path, program)
            .shortened(checks.len() > 1)
            .of_message(&refusal.message)
            .because(because);
        let result =
            history.set_by(0).and_then(|r0| notes::result_made(refusal, r0, path, program));
        let missing = held.as_ref().zip(missed);
        let at = missing.map(|(held, missed)| held.place(missed)).or(result);
        let mut notes = Vec::new();
        notes.extend(held.as_ref().filter(|it| at != Some(it.by)).map(|it| it.note(&describe)));
        notes.extend(missing.map(|(held, missed)| held.why(missed)));
        notes.extend(because.map(|text| notes::because(text, refusal, program)));
        let acquired = verification.acquired_by;
        let left = notes::left_by(refusal, path, program, acquired);
        let left = left.filter(|_| !matches!(missed, Some(Missed::Since(_) | Missed::Everywhere)));
        let says = "the last branch on this path is at";
        let line = |idx| source_spot(program, idx).map(|spot| (spot.file, spot.line));
        let is_shown = |idx| {
            at.is_some_and(|at| at == idx || line(at).is_some_and(|it| Some(it) == line(idx)))
        };
        let is_told = |idx: &usize| !is_shown(*idx) && !notes::is_end_line(program, *idx);
        notes.extend(left.filter(is_told).map(|idx| notes::since(says, idx, &describe)));
        notes.extend(history.notes(refusal, shown, program, &describe));
        for check in checks {
            // A comparison that a register's note names, too, is repeated to say what it lacks.
            let is_plain = check.text.starts_with("it was compared ");
            let is_told = is_plain && notes.iter().any(|note| note.is_about_insn_of(&check));
            notes.extend((!is_told).then_some(check));
        }
        (notes, at)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `bpf(2)` says no more than `EINVAL` of some programs, whose log is empty.
    #[test]
    fn no_reason_is_empty() {
        let told = |kind: &str, message: &str, because| {
            let refusal = Refusal {
                insn_idx: None,
                load: None,
                kind: kind.to_owned(),
                registers: Vec::new(),
                errno: 22,
                message: message.to_owned(),
            };
            said_or_why(&refusal, because)
        };
        assert_eq!(told("leaked-reference", "said\n", Some("why")), "said");
        assert_eq!(told("leaked-reference", "\n", Some("why")), "why");
        assert_eq!(told("no-such-code", "", None), "no-such-code");
        for section in skep::catalogue::sections() {
            assert!(!section.title.trim().is_empty(), "{:?}", section.codes);
            for code in &section.codes {
                assert!(!told(code, "", Some(" ")).is_empty(), "{code}");
            }
        }
    }
}
