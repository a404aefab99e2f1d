//! `skep run`: a program on packets or bytes, without root.
//!
//! Reading order: `plan` (loading), `input`, `capture` and `ctx_json` (inputs), `outputs` and
//! `capture_out` (output files), `work` (the runs, on threads), `tally` and `effects` (their
//! results), `interrupt` (Ctrl-C), `stats` and `top` (their cost), `summary` and `answer` (text and
//! JSON output); `map_input` reads maps, `map_json` and `btf_json` write them.

mod answer;
mod btf_json;
mod capture;
mod capture_out;
mod coverage;
mod ctx_json;
mod effects;
mod gdb;
mod input;
pub mod interrupt;
pub(crate) mod map_errno;
mod map_input;
mod map_json;
mod outputs;
pub(crate) mod plan;
mod profile;
mod single;
mod stats;
mod summary;
mod tally;
mod top;
mod work;

use crate::Error;
use crate::exit::Exit;
use crate::flags::run::{Poke, RunFlags};
use crate::html_file::HtmlFile;
use crate::kernels;
use crate::streams::Streams;
use answer::{Answer, Ran};
use capture_out::CaptureOut;
use input::Kind;
pub(crate) use input::hex;
use map_json::Maps;
use plan::{Failure, Loaded};
pub(crate) use single::Single;
use skep::runtime::Engine;
use skep_report::{JsonForm, Style, counted, render_text, write_json_text};
use std::fs::File;
use std::io::{self, BufWriter, Write};
pub(crate) use summary::verdict_name;
use work::locked;

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &RunFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let (loaded, inputs, outputs) = match prepare(flags) {
        Ok(prepared) => prepared,
        Err(failure) => {
            match &failure.diagnostic {
                Some(told) => writeln!(streams.err, "{}", render_text(told, Style::Plain))?,
                None => streams.failure(&failure.message, failure.exit)?,
            }
            return Ok(failure.exit);
        }
    };
    kernels::promise(&loaded.session, Some(kernels::RUNS_AS), streams)?;
    if flags.engine() == Engine::MachineCode
        && flags.poke == Poke::Patch
        && let Some(why) = skep::runtime::poke::take_notice()
    {
        streams.note(&why)?;
    }
    let has_nanoseconds = match &inputs.kind {
        Kind::Capture(capture) => locked(capture).has_nanoseconds(),
        Kind::One(_) => false,
    };
    let out = outputs.pcap.map(|file| CaptureOut::new(file, has_nanoseconds));
    let mut exit = Exit::Success;
    let done = match execute(flags, &loaded, &inputs, out.as_ref(), streams)? {
        Ok((done, trouble)) => {
            exit.raise(trouble);
            done
        }
        Err(message) => {
            streams.error(&message)?;
            return Ok(Exit::Input);
        }
    };
    exit.raise(say_errors(&inputs, &done, streams)?);
    if let (Some(path), Some(out)) = (&flags.pcap_out, out)
        && let Err(what) = out.finish()
    {
        streams.error(skep::Error::io(path, "writing", what).to_string())?;
        exit.raise(Exit::Input);
    }
    print(flags, &loaded, &inputs, &done, streams)?;
    exit.raise(dump_maps(flags, &loaded, outputs.maps, streams)?);
    exit.raise(write_coverage(flags, outputs.coverage, &outputs.html, &loaded, streams)?);
    Ok(exit)
}

fn write_coverage(
    flags: &RunFlags,
    file: Option<File>,
    html: &HtmlFile,
    loaded: &Loaded,
    streams: &mut Streams<'_>,
) -> io::Result<Exit> {
    if flags.coverage.is_none() && !html.is_wanted() {
        return Ok(Exit::Success);
    }
    for name in coverage::without_lines(&loaded.counted) {
        streams
            .note(&format!("program '{name}' has no line info: it is missing from the coverage"))?;
    }
    let files = coverage::files(&loaded.counted);
    if let Err(message) = html.write(|| coverage::page(&loaded.counted, &files)) {
        streams.error(&message)?;
        return Ok(Exit::Input);
    }
    let Some(path) = &flags.coverage else { return Ok(Exit::Success) };
    let Some(file) = file else {
        skep_report::write_lcov(&mut *streams.out, &files)?;
        return Ok(Exit::Success);
    };
    let written = outputs::cut_off(&file).and_then(|()| {
        let mut out = BufWriter::new(file);
        skep_report::write_lcov(&mut out, &files)?;
        out.flush()
    });
    if let Err(e) = written {
        streams.error(skep::Error::io(path, "writing", e).to_string())?;
        return Ok(Exit::Input);
    }
    Ok(Exit::Success)
}

/// Everything that can fail before the program runs.
fn prepare(flags: &RunFlags) -> Result<(Loaded, input::Inputs, outputs::Outputs), Failure> {
    outputs::check(flags).map_err(Failure::input)?;
    let loaded = plan::load(flags)?;
    let inputs =
        input::read(flags, &loaded.instance, loaded.ctx_type.as_ref()).map_err(Failure::input)?;
    let outputs = outputs::Outputs::open(flags).map_err(Failure::input)?;
    Ok((loaded, inputs, outputs))
}

/// Inputs that could not be run, remarks, and whether the user interrupted the runs.
fn say_errors(
    inputs: &input::Inputs,
    done: &work::Done,
    streams: &mut Streams<'_>,
) -> io::Result<Exit> {
    let (tally, mut exit) = (&done.tally, Exit::Success);
    for (_, message) in &tally.errors.first {
        streams.error(message)?;
    }
    let more = tally.errors.count - tally.errors.first.len() as u64;
    if more > 0 {
        let more = counted(more, "more packet");
        streams.error(format!("{more} could not be run"))?;
    }
    if let Some(message) = &done.too_few_threads {
        streams.error(message)?;
    }
    if tally.errors.count > 0 || done.too_few_threads.is_some() {
        exit.raise(Exit::Input);
    }
    if let Kind::Capture(capture) = &inputs.kind {
        for note in locked(capture).notes() {
            streams.note(&note)?;
        }
    }
    if done.is_interrupted {
        streams.error(&match &inputs.kind {
            Kind::Capture(_) => format!("interrupted after {}", counted(tally.ran, "packet")),
            Kind::One(_) => format!("interrupted after {}", counted(tally.runs, "run")),
        })?;
        exit.raise(Exit::Interrupted);
    }
    Ok(exit)
}

/// The runs, with the statistics requested by the flags.
fn execute(
    flags: &RunFlags,
    loaded: &Loaded,
    inputs: &input::Inputs,
    out: Option<&CaptureOut>,
    streams: &mut Streams<'_>,
) -> io::Result<Result<(work::Done, Exit), Error>> {
    let stats = match stats::Stats::new(flags, loaded) {
        Ok(stats) => stats,
        Err(message) => return Ok(Err(message)),
    };
    if let Some(url) = stats.url() {
        writeln!(streams.err, "metrics: {url}")?;
    }
    let (mut trouble, mut top) = (None, top::Top::new());
    let mut refresh = || {
        let programs = loaded.runtime.programs();
        trouble = stats.write_file(&programs).err();
        if flags.top { top.show(&programs, streams) } else { Ok(()) }
    };
    let watch: Option<work::Watch<'_>> = match stats.refreshes(flags) {
        true => Some(&mut refresh),
        false => None,
    };
    // Checked before the runs, so that metrics that cannot be written are reported early.
    if let Err(message) = stats.write_file(&loaded.runtime.programs()) {
        return Ok(Err(message));
    }
    let instance = &loaded.instance;
    let done = work::run(work::Work { flags, instance, inputs, out }, watch)?;
    let mut exit = Exit::Success;
    if let Some(message) = trouble {
        streams.error(&message)?;
        exit.raise(Exit::Input);
    }
    Ok(Ok((done, exit)))
}

/// Whether the results of a flag, if they go to standard output, are part of the JSON document
/// there.
fn is_in_document(flags: &RunFlags, flag: &str) -> bool {
    let is_json = flags.output_format.json_form(flags.json, flags.pretty).is_some();
    is_json && flag == "--dump-maps"
}

/// Trace lines and the summary; on standard error if the results are maps or packets.
fn print(
    flags: &RunFlags,
    loaded: &Loaded,
    inputs: &input::Inputs,
    done: &work::Done,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let packets = match &inputs.kind {
        Kind::Capture(capture) => Some(locked(capture).count()),
        Kind::One(_) => None,
    };
    let is_taken = outputs::on_stdout(flags).iter().any(|flag| !is_in_document(flags, flag));
    let out: &mut dyn Write = if is_taken { streams.err } else { streams.out };
    if let Some(form) = flags.output_format.json_form(flags.json, flags.pretty) {
        let ran = Ran { packets, tally: &done.tally, is_interrupted: done.is_interrupted };
        return write_json(flags, form, loaded, &ran, out);
    }
    let text = summary::text(flags, &loaded.instance, packets, &done.tally);
    if flags.trace {
        let (lines, lost) = loaded.runtime.take_trace();
        for line in lines {
            writeln!(out, "trace: {}", skep_report::printable(&line))?;
        }
        if lost > 0 {
            writeln!(out, "trace: {}", counted(lost, "more line"))?;
        }
    }
    write!(out, "{text}{}", stats::text(flags, &loaded.runtime.programs()))?;
    if flags.profile {
        skep_report::write_executed(out, &coverage::lines(&loaded.counted))?;
    }
    Ok(())
}

fn write_json(
    flags: &RunFlags,
    form: JsonForm,
    loaded: &Loaded,
    ran: &Ran<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut answer = Answer::new(flags, &loaded.instance, ran);
    if let Some(kernel) = &loaded.session.kernel {
        answer.verified_for(kernels::described(kernel));
    }
    if flags.trace {
        let (lines, lost) = loaded.runtime.take_trace();
        answer.trace(lines, lost);
    }
    if flags.profile {
        answer.profile(coverage::lines(&loaded.counted));
    }
    if stats::is_printed(flags) {
        answer.stats(flags, &loaded.runtime.programs());
    }
    if flags.dump_maps.as_deref() == Some("-") {
        answer.maps(loaded.maps.all().iter().flatten());
    }
    write_json_text(out, &answer, form)?;
    writeln!(out)
}

fn dump_maps(
    flags: &RunFlags,
    loaded: &Loaded,
    file: Option<File>,
    streams: &mut Streams<'_>,
) -> io::Result<Exit> {
    let Some(target) = &flags.dump_maps else { return Ok(Exit::Success) };
    let maps = || Maps::of(loaded.maps.all().iter().flatten());
    let Some(file) = file else {
        if !is_in_document(flags, "--dump-maps") {
            maps().write(&mut *streams.out)?;
        }
        return Ok(Exit::Success);
    };
    let cut = outputs::cut_off(&file);
    if let Err(e) = cut.and_then(|()| maps().write(BufWriter::new(file))) {
        streams.error(skep::Error::io(target.as_ref(), "writing maps", e).to_string())?;
        return Ok(Exit::Input);
    }
    Ok(Exit::Success)
}
