//! Processes one file: read, find objects, open, set globals, verify its programs.
//!
//! Used by both `stat` and `check`, which differ in what they do with each result.

use crate::dump::jited;
use crate::exit::Exit;
use crate::flags::{InputFlags, LoaderFlag};
use crate::globals::Preset;
use crate::in_order::{Flow, Weigh, in_order};
use crate::inputs::{Input, Inputs, expand, is_bpf_header};
use crate::memory_gate::{Kept, MemoryGate, Size};
use crate::streams::Streams;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;
use skep::btf::Btf;
use skep::diagnosis::Diagnosis;
use skep::object::{Error as LoadError, Object, ObjectProgram};
use skep::program::Program;
use skep::uapi::ProgFlags;
use skep::{Host, KernelBtf, Refusal, Session, Verdict, Verification, VerifyOptions};
use skep_report::{Filters, Tally};
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// What to do with each file.
pub struct Plan {
    /// What objects are opened against.
    pub session: Session,
    /// Which programs are wanted.
    pub(crate) filters: Filters,
    /// Values of global variables.
    pub(crate) presets: Vec<Preset>,
    /// How programs are verified.
    pub options: VerifyOptions,
    /// Flags added to each program's own.
    pub(crate) prog_flags: ProgFlags,
    /// Look for objects inside files.
    pub(crate) scan: bool,
    /// How many programs at once.
    pub(crate) gate: Arc<MemoryGate>,
    /// Whether to generate machine code, to determine its size.
    pub(crate) is_compiled: bool,
}

/// The answer about one program.
pub struct Judged<'a> {
    /// The file's name, as the user gave it; with the place inside it if it was found by scanning.
    pub file: &'a str,
    /// What is known before relocation.
    pub entry: &'a ObjectProgram,
    /// The types of the object.
    pub btf: Option<&'a Btf>,
    /// The program with its verification, or why it could not be loaded.
    pub result: Result<(&'a Program, Verification), LoadError>,
    /// Size of its machine code, if requested and it is accepted and compiles.
    pub bytes_jited: Option<usize>,
}

/// One program, opened and not yet verified.
pub struct Loaded<'a> {
    /// As in [`Judged`].
    pub file: &'a str,
    /// What is known before relocation.
    pub entry: &'a ObjectProgram,
    /// The types of the object.
    pub btf: Option<&'a Btf>,
    /// The program, or why it could not be loaded.
    pub program: Result<Program, LoadError>,
    /// Size of the file.
    pub file_bytes: usize,
}

/// Why there are no results for a file, or part of it; one line.
#[derive(Debug, PartialEq, Eq)]
pub enum JudgeError {
    /// An argument is wrong.
    Input(String),
    /// A file has no program, or cannot be opened.
    Unopened(Unopened),
    /// A bug in skep: something panicked.
    Bug(String),
    /// No error, but useful to know.
    Note(String),
}

/// A file without programs.
#[derive(Debug, PartialEq, Eq)]
pub struct Unopened {
    /// The file, as the user named it; with the place inside it if it was found by scanning.
    pub object: String,
    /// Why, in one line that names the file.
    pub line: String,
    /// The loader's reason, if that is why.
    pub error: Option<LoadError>,
}

impl JudgeError {
    /// Runs `work` for `file`: a panic is an internal error, confined to this file.
    fn contain<T>(
        file: &str,
        work: impl FnOnce() -> Result<T, JudgeError>,
    ) -> Result<T, JudgeError> {
        skep::contain_panic(work)
            .unwrap_or_else(|panic| Err(JudgeError::Bug(format!("{file}: {panic}"))))
    }

    /// No program in `object`.
    fn unopened(object: &str, line: String) -> JudgeError {
        JudgeError::Unopened(Unopened { object: object.to_owned(), line, error: None })
    }

    /// Whether the file is an object that the loader rejects.
    fn is_of_loader(&self) -> bool {
        let JudgeError::Unopened(Unopened { error, .. }) = self else { return false };
        error.as_ref().is_some_and(|error| error.class().is_some())
    }

    /// Prints the line.
    fn print(&self, streams: &mut Streams<'_>) -> io::Result<Exit> {
        let exit = match self {
            JudgeError::Input(_) | JudgeError::Unopened(_) => Exit::Input,
            JudgeError::Bug(_) => Exit::Bug,
            JudgeError::Note(line) => return streams.note(line).map(|()| Exit::Success),
        };
        streams.failure(&self.to_string(), exit).map(|()| exit)
    }
}

impl fmt::Display for JudgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (JudgeError::Input(line)
        | JudgeError::Unopened(Unopened { line, .. })
        | JudgeError::Bug(line)
        | JudgeError::Note(line)) = self;
        f.write_str(line)
    }
}

impl std::error::Error for JudgeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            JudgeError::Unopened(it) => it.error.as_ref().map(|error| error as _),
            JudgeError::Input(_) | JudgeError::Bug(_) | JudgeError::Note(_) => None,
        }
    }
}

/// The result for one file.
pub struct FileAnswers<T> {
    /// Name as the user gave it.
    pub file: String,
    /// Answers, in the order of the programs.
    pub answers: Vec<T>,
    /// Lines for the error stream: problems with the file, or internal errors.
    pub problems: Vec<JudgeError>,
    /// Counts for the closing line.
    pub tally: Tally,
    /// Whether the filters do not want the file.
    pub(crate) is_filtered: bool,
}

impl Plan {
    /// Says on the error stream what results for the kernel of `--kernel` are worth.
    ///
    /// # Errors
    ///
    /// Only those of the streams.
    pub fn note_kernel(&self, streams: &mut Streams<'_>) -> io::Result<()> {
        crate::kernels::promise(&self.session, None, streams)
    }

    /// Verifies the programs selected by the flags that match `filters`.
    ///
    /// # Errors
    ///
    /// One line about a flag.
    pub fn to_verify(flags: &InputFlags, filters: &[String]) -> Result<Plan, crate::Error> {
        Ok(Plan {
            session: Plan::session_of(flags)?,
            filters: crate::choice::read_names(filters)?,
            presets: Vec::new(),
            options: VerifyOptions::default(),
            prog_flags: ProgFlags::empty(),
            scan: flags.scan,
            gate: Arc::new(MemoryGate::new(flags, Kept::Little)?),
            is_compiled: false,
        })
    }

    /// The session specified by the flags.
    ///
    /// # Errors
    ///
    /// One line: kernel BTF that the user named and that cannot be used.
    pub fn session(btf: Option<&OsStr>, loader: LoaderFlag) -> Result<Session, crate::Error> {
        let source = match btf {
            None => KernelBtf::Running,
            Some(btf) if btf == "none" => KernelBtf::Absent,
            Some(path) => KernelBtf::File(path.into()),
        };
        let host = Host::read(&source).map_err(crate::Error::caused)?;
        Ok(Session { loader: loader.into(), ..Session::new(host) })
    }

    /// Opens and verifies one file; `make` converts each verification to what the caller keeps.
    pub fn judge<T: Send>(
        &self,
        input: &Input,
        make: &(impl Fn(Judged<'_>) -> T + Sync),
    ) -> FileAnswers<T> {
        self.load(input, &|Loaded { file, entry, btf, program, file_bytes }| {
            let (result, bytes_jited) = match &program {
                Ok(program) => {
                    let (verification, bytes_jited) = self.verify(program, file_bytes);
                    (Ok((program, verification)), bytes_jited)
                }
                Err(e) => (Err(e.clone()), None),
            };
            make(Judged { file, entry, btf, result, bytes_jited })
        })
    }

    /// Verifies one program within its share of the memory limit; if that is not enough, once more
    /// on its own, with all that is left.
    fn verify(&self, program: &Program, file_bytes: usize) -> (Verification, Option<usize>) {
        let size = Size { file_bytes, insns: program.insns.len() };
        let within = |bytes: u64| {
            let mem_bytes_max = Some(bytes).filter(|bytes| *bytes > 0);
            let options = VerifyOptions { mem_bytes_max, ..self.options };
            self.with_code(self.verify_telling(program, &options))
        };
        let pass = self.gate.enter(size);
        let judged = within(pass.bytes_max);
        let is_too_little = matches!(judged.0.verdict, Verdict::OutOfMemory);
        if !is_too_little || !pass.others_may_be_inside() {
            return judged;
        }
        drop((pass, judged));
        let pass = self.gate.enter_alone(size);
        within(pass.bytes_max)
    }

    /// Keeps the path of a rejection, if the options say so. That takes several times as long, so
    /// it is done for what has been rejected.
    fn verify_telling(&self, program: &Program, options: &VerifyOptions) -> Verification {
        let silent = VerifyOptions { path_bytes_max: None, ..*options };
        let verification = self.session.verify(program, &silent);
        let is_rejected = matches!(verification.verdict, Verdict::Rejected(_));
        if !is_rejected || options.path_bytes_max.is_none() {
            return verification;
        }
        let told = self.session.verify(program, options);
        // There may be no memory for the path.
        if matches!(told.verdict, Verdict::Rejected(_)) { told } else { verification }
    }

    /// Why a program is not accepted. What verifies it once more does so with all the memory that
    /// is left.
    pub(crate) fn diagnosis(
        &self,
        program: &Program,
        verification: &Verification,
    ) -> Option<Diagnosis> {
        let size = Size { file_bytes: 0, insns: program.insns.len() };
        let pass = verification.is_over_insn_limit().then(|| self.gate.enter_alone(size));
        let bytes_max = pass.as_ref().map(|pass| pass.bytes_max).filter(|bytes| *bytes > 0);
        let options = VerifyOptions { mem_bytes_max: bytes_max, ..self.options };
        self.session.diagnose(program, verification, &options)
    }

    /// The result, with the size of the machine code if requested. A panic is an internal error.
    fn with_code(&self, mut verification: Verification) -> (Verification, Option<usize>) {
        let verified = verification.verified().filter(|_| self.is_compiled);
        match skep::contain_panic(|| verified.and_then(jited::bytes)) {
            Ok(bytes) => (verification, bytes),
            Err(panic) => {
                verification.verdict = Verdict::Bug(panic.0);
                (verification, None)
            }
        }
    }

    /// Opens one file; `make` converts each program to what the caller keeps. Panics while opening
    /// are confined to the object, others to the file.
    pub fn load<T: Send>(
        &self,
        input: &Input,
        make: &(impl Fn(Loaded<'_>) -> T + Sync),
    ) -> FileAnswers<T> {
        let file = input.path.display().to_string();
        let loaded = JudgeError::contain(&file, || Ok(self.load_file(input, make)));
        loaded.unwrap_or_else(|trouble| FileAnswers {
            problems: vec![trouble],
            tally: Tally { files_skipped: 1, ..Tally::default() },
            ..FileAnswers::new(file)
        })
    }

    fn load_file<T: Send>(
        &self,
        input: &Input,
        make: &(impl Fn(Loaded<'_>) -> T + Sync),
    ) -> FileAnswers<T> {
        let mut answers = FileAnswers::new(input.path.display().to_string());
        if !self.filters.wants(base_name(&answers.file), None) {
            answers.tally.files_skipped = 1;
            answers.is_filtered = true;
            return answers;
        }
        let bytes = match self.gate.admits(&input.path) {
            Ok(()) => self.session.read(&input.path).map_err(crate::Error::caused),
            Err(e) => Err(e),
        };
        match bytes {
            Ok(bytes) => self.load_bytes(input, &bytes, make, &mut answers),
            Err(e) => {
                let unopened = JudgeError::unopened(&answers.file, e.into());
                answers.problems.push(unopened);
                answers.tally.files_skipped = 1;
            }
        }
        answers
    }

    fn load_bytes<T: Send>(
        &self,
        input: &Input,
        bytes: &[u8],
        make: &(impl Fn(Loaded<'_>) -> T + Sync),
        answers: &mut FileAnswers<T>,
    ) {
        let images: Vec<Range<usize>> = match self.scan && !is_bpf_header(bytes) {
            true => skep::object::scan(bytes),
            false => std::iter::once(0..bytes.len()).collect(),
        };
        if images.is_empty() {
            answers.tally.files_skipped = 1;
            if input.named {
                let line = format!("{}: no BPF object inside", answers.file);
                answers.problems.push(JudgeError::unopened(&answers.file, line));
            }
            return;
        }
        let mut opened = 0;
        for image in images {
            let name = image_name(&answers.file, &image, bytes.len());
            // Cannot be out of range: ensured by scan.
            let image = bytes.get(image).unwrap_or_default();
            match self.open(input, &name, image) {
                Ok(object) => {
                    opened += 1;
                    let note = object.note.as_ref().map(|note| format!("{name}: {note}"));
                    answers.problems.extend(note.map(JudgeError::Note));
                    if object.programs.is_empty() && input.named {
                        let line = format!("{name}: no BPF program inside");
                        answers.problems.push(JudgeError::unopened(&name, line));
                    }
                    let opened = Opened { name: &name, file_bytes: bytes.len(), object: &object };
                    self.load_object(opened, make, answers);
                }
                Err(trouble) => answers.problems.push(trouble),
            }
        }
        answers.tally.files_processed = opened.min(1);
        answers.tally.files_skipped = 1 - opened.min(1);
    }

    fn open(&self, input: &Input, name: &str, image: &[u8]) -> Result<Object, JudgeError> {
        let file = input.path.display().to_string();
        let unopened = |e: skep::Error| {
            let error = std::error::Error::source(&e).and_then(|cause| cause.downcast_ref());
            let (object, error) = (name.to_owned(), error.cloned());
            JudgeError::Unopened(Unopened { object, line: e.to_string(), error })
        };
        let open = || {
            let mut object = self.session.open(&input.path, image).map_err(unopened)?;
            for preset in &self.presets {
                let setting = |e| format!("{file}: while setting '{}': {e}", preset.text());
                preset.apply(&mut object).map_err(setting).map_err(JudgeError::Input)?;
            }
            Ok(object)
        };
        JudgeError::contain(&format!("{file}: while opening the object"), open)
    }

    fn load_object<T: Send>(
        &self,
        opened: Opened<'_>,
        make: &(impl Fn(Loaded<'_>) -> T + Sync),
        answers: &mut FileAnswers<T>,
    ) {
        let Opened { name, file_bytes, object } = opened;
        let wanted =
            |entry: &&ObjectProgram| self.filters.wants(base_name(name), Some(&entry.name));
        let entries: Vec<&ObjectProgram> = object.programs.iter().filter(wanted).collect();
        answers.tally.progs_processed += entries.len();
        answers.tally.progs_skipped += object.programs.len() - entries.len();
        let make_one = |entry: &ObjectProgram| {
            let program = entry.program.clone().map(|mut program| {
                program.prog_flags |= self.prog_flags;
                program
            });
            let btf = object.btf.as_deref();
            make(Loaded { file: name, entry, btf, program, file_bytes })
        };
        // Shared with idle threads.
        answers.answers.par_extend(entries.into_par_iter().map(make_one));
    }
}

/// An object, its name, and the size of its file.
#[derive(Clone, Copy)]
struct Opened<'a> {
    name: &'a str,
    file_bytes: usize,
    object: &'a Object,
}

impl<T> FileAnswers<T> {
    /// None yet.
    pub(crate) fn new(file: String) -> FileAnswers<T> {
        FileAnswers {
            file,
            answers: Vec::new(),
            problems: Vec::new(),
            tally: Tally::default(),
            is_filtered: false,
        }
    }
}

/// The files of a run, and errors in the arguments.
pub struct Batch {
    /// What to read.
    pub inputs: Inputs,
    /// Whether `sink` reports files that the loader does not open, so no line is printed.
    pub(crate) explains_unopened: bool,
}

impl<T: Weigh> Weigh for FileAnswers<T> {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.answers.iter().map(Weigh::bytes).sum::<usize>()
    }
}

impl Batch {
    /// Expands the arguments.
    pub fn new(flags: &InputFlags) -> Batch {
        Batch { inputs: expand(&flags.files, flags.scan), explains_unopened: false }
    }

    /// Expands the arguments while `plan` reads the host, in parallel if there is more than one
    /// thread: both are done before the first file is opened.
    pub fn beside<P>(flags: &InputFlags, plan: impl FnOnce() -> P) -> (Batch, P) {
        if flags.jobs == Some(1) {
            return (Batch::new(flags), plan());
        }
        std::thread::scope(|threads| {
            let expanding = std::thread::Builder::new().spawn_scoped(threads, || Batch::new(flags));
            let plan = plan();
            let batch = match expanding {
                Ok(thread) => {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                }
                // No thread is available.
                Err(_) => Batch::new(flags),
            };
            (batch, plan)
        })
    }

    /// Verifies all files in parallel and passes on the results in input order. Broken files are
    /// one line each on the error stream.
    ///
    /// # Errors
    ///
    /// Only those of the streams.
    pub fn run<T: Send + Weigh>(
        &self,
        plan: &Plan,
        streams: &mut Streams<'_>,
        make: impl Fn(Judged<'_>) -> T + Sync,
        sink: impl FnMut(&mut Streams<'_>, FileAnswers<T>) -> io::Result<()>,
    ) -> io::Result<(Tally, Exit)> {
        self.run_each(plan, streams, |input| plan.judge(input, &make), sink)
    }

    /// The same with a function for each file; `plan` specifies the parallelism and the wanted
    /// programs.
    ///
    /// # Errors
    ///
    /// Only those of the streams.
    pub(crate) fn run_each<T: Send + Weigh>(
        &self,
        plan: &Plan,
        streams: &mut Streams<'_>,
        judge: impl Fn(&Input) -> FileAnswers<T> + Sync,
        mut sink: impl FnMut(&mut Streams<'_>, FileAnswers<T>) -> io::Result<()>,
    ) -> io::Result<(Tally, Exit)> {
        let mut exit = Exit::Success;
        for error in &self.inputs.errors {
            streams.error(error)?;
            exit.raise(Exit::Input);
        }
        let files = &self.inputs.files;
        let mut tally = Tally { files_skipped: self.inputs.passed_over.len(), ..Tally::default() };
        let bar = progress_bar(streams, files.len());
        let _later = LaterShown::of(&bar, streams, files.len());
        let judge = |index: usize| judge(&files[index]);
        let flow =
            Flow { jobs: plan.gate.threads(), waiting_bytes_max: plan.gate.waiting_bytes_max() };
        in_order(files.len(), flow, judge, |answers| {
            bar.inc(1);
            add(&mut tally, answers.tally);
            bar.suspend(|| {
                for trouble in &answers.problems {
                    let is_explained = self.explains_unopened && trouble.is_of_loader();
                    exit.raise(match is_explained {
                        true => Exit::Input,
                        false => trouble.print(streams)?,
                    });
                }
                sink(streams, answers)
            })
        })?;
        bar.finish_and_clear();
        if tally.progs_processed == 0 && exit == Exit::Success && plan.filters.name_something() {
            streams.error(crate::choice::NO_MATCH)?;
            exit.raise(Exit::Input);
        }
        Ok((tally, exit))
    }
}

/// How long a run on one file shows nothing.
const SILENT: Duration = Duration::from_secs(1);

/// The time that a run on one file has taken, from the time on when someone may wonder.
struct LaterShown {
    /// Tells the thread that the run has ended, when dropped.
    _run: Option<mpsc::Sender<()>>,
}

impl LaterShown {
    fn of(bar: &ProgressBar, streams: &Streams<'_>, files: usize) -> LaterShown {
        if !streams.progress || files != 1 {
            return LaterShown { _run: None };
        }
        let (run, ended) = mpsc::channel();
        let bar = bar.clone();
        let show = move || {
            if ended.recv_timeout(SILENT) == Err(mpsc::RecvTimeoutError::Timeout) {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(SILENT);
            }
        };
        // Without a thread, nothing is shown.
        let started = std::thread::Builder::new().spawn(show);
        LaterShown { _run: started.ok().map(|_| run) }
    }
}

fn progress_bar(streams: &Streams<'_>, files: usize) -> ProgressBar {
    if !streams.progress || files == 0 {
        return ProgressBar::hidden();
    }
    if files == 1 {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("verifying, {elapsed}");
        style.into_iter().for_each(|style| bar.set_style(style));
        return bar;
    }
    let bar = ProgressBar::new(files as u64);
    let style = ProgressStyle::with_template("{bar:32} {pos}/{len} files, {elapsed} (eta {eta})");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

fn add(sum: &mut Tally, part: Tally) {
    sum.files_processed += part.files_processed;
    sum.files_skipped += part.files_skipped;
    sum.progs_processed += part.progs_processed;
    sum.progs_skipped += part.progs_skipped;
}

/// The file's own name, or with the offset at which the object was found in it.
fn image_name(file: &str, image: &Range<usize>, file_bytes: usize) -> String {
    match *image == (0..file_bytes) {
        true => file.to_owned(),
        false => format!("{file}@{:#x}", image.start),
    }
}

/// The part after the last slash.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The exit code for a program that cannot be loaded.
pub fn exit_of_load(error: &LoadError) -> Exit {
    match error.class() {
        Some(_) => Exit::Refused,
        None => Exit::Input,
    }
}

/// Why a program cannot be loaded, and whether the input or skep is at fault.
pub fn not_loaded(error: &LoadError) -> String {
    Refusal::of_load(error).map_or_else(|| format!("while loading: {error}"), |r| r.message)
}

/// The exit code for a verification.
pub fn exit_of(result: &Result<(&Program, Verification), LoadError>) -> Exit {
    match result {
        Err(e) => exit_of_load(e),
        Ok((_, verification)) => match verification.verdict {
            Verdict::Accepted(_) => Exit::Success,
            Verdict::Rejected(_) => Exit::Refused,
            Verdict::Unsupported(_) | Verdict::OutOfMemory => Exit::Input,
            Verdict::Bug(_) => Exit::Bug,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_gate::Kept;
    use skep_report::Style;

    const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/");

    fn plan() -> Plan {
        Plan {
            session: Session::default(),
            filters: Filters::default(),
            presets: Vec::new(),
            options: VerifyOptions::default(),
            prog_flags: ProgFlags::empty(),
            scan: false,
            gate: Arc::new(
                MemoryGate::new(&InputFlags::default(), Kept::Little).expect("no limit is set"),
            ),
            is_compiled: true,
        }
    }

    /// Runs two files, for the first of which `make` panics.
    fn run(make: impl Fn(Judged<'_>) -> Named + Sync) -> (Vec<Vec<String>>, String, Exit) {
        let files =
            ["loops.bpf.o", "xdp_count.bpf.o"].map(|name| format!("{PROGRAMS}{name}").into());
        let batch = Batch { inputs: expand(&files, false), explains_unopened: false };
        let (mut out, mut err, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        let mut streams =
            Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
        let sink = |_: &mut Streams<'_>, file: FileAnswers<Named>| {
            answers.push(file.answers.into_iter().map(|named| named.0).collect());
            Ok(())
        };
        let (_, exit) = batch.run(&plan(), &mut streams, make, sink).expect("memory takes all");
        (answers, String::from_utf8(err).expect("UTF-8"), exit)
    }

    struct Named(String);

    impl Weigh for Named {}

    #[test]
    fn a_panic_costs_its_own_file_and_is_our_fault() {
        let (answers, err, exit) = run(|judged| {
            assert!(!judged.file.contains("loops"), "no loops");
            Named(judged.entry.name.clone())
        });
        assert_eq!(exit, Exit::Bug);
        assert!(answers[0].is_empty() && answers[1].contains(&"xdp_count".to_owned()));
        let line = format!("internal error: {PROGRAMS}loops.bpf.o: panic: no loops");
        assert!(err.starts_with(&line), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }

    #[test]
    fn a_panic_and_an_error_are_not_mixed() {
        let panics = || -> Result<(), JudgeError> { panic!("here") };
        assert_eq!(JudgeError::contain("f", panics), Err(JudgeError::Bug("f: panic: here".into())));
        let fails = || -> Result<(), JudgeError> { Err(JudgeError::Input("there".into())) };
        assert_eq!(JudgeError::contain("f", fails), Err(JudgeError::Input("there".into())));
    }
}
