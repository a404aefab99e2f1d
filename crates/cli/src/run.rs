//! `skep run`: a program on packets or bytes, without root.
//!
//! Reading order: `plan` (what is loaded), `input` (what it runs on), `outputs` (the files that are
//! written), `work` (the runs, on threads), `interrupt` (Ctrl-C), `stats` and `top` (what they
//! took), `summary` (what is printed); `map_json` and `btf_json` read and write maps.

mod btf_json;
mod gdb;
mod input;
mod interrupt;
mod map_json;
mod outputs;
mod pcap;
mod plan;
mod profile;
mod stats;
mod summary;
mod top;
mod work;

use crate::exit::Exit;
use crate::flags::{Poke, RunFlags};
use crate::streams::Streams;
use plan::{Failure, Loaded};
use std::fs::File;
use std::io::{self, Write as _};

/// Errors about single packets that are printed; the rest is counted.
const ERRORS_SHOWN: usize = 10;

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &RunFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let (loaded, inputs, outputs) = match prepare(flags) {
        Ok(prepared) => prepared,
        Err(failure) => {
            streams.error(&failure.message)?;
            return Ok(failure.exit);
        }
    };
    if !flags.interp
        && flags.poke == Poke::Patch
        && let Some(why) = skep::runtime::poke::take_notice()
    {
        streams.note(&why)?;
    }
    let mut exit = Exit::Success;
    // A capture that ends in the middle of a packet has good packets before it.
    if let Some(message) = &inputs.broken {
        streams.error(message)?;
        exit.raise(Exit::Input);
    }
    let done = match execute(flags, (&loaded, &inputs), streams)? {
        Ok((done, trouble)) => {
            exit.raise(trouble);
            done
        }
        Err(message) => {
            streams.error(&message)?;
            return Ok(Exit::Input);
        }
    };
    exit.raise(say_errors((&inputs, &done), streams)?);
    if let (Some(path), Some(file)) = (&flags.pcap_out, outputs.pcap)
        && let Err(what) = pcap::write(file, &loaded.instance, (&inputs, &done))
    {
        streams.error(&format!("{}: while writing: {what}", path.display()))?;
        exit.raise(Exit::Input);
    }
    print(flags, &loaded, (&inputs, &done), streams)?;
    exit.raise(dump_maps(flags, (&loaded, outputs.maps), streams)?);
    Ok(exit)
}

/// All that can be wrong before the program runs.
fn prepare(flags: &RunFlags) -> Result<(Loaded, input::Inputs, outputs::Outputs), Failure> {
    outputs::check(flags).map_err(Failure::input)?;
    let loaded = plan::load(flags)?;
    let inputs = input::read(flags, &loaded.instance).map_err(Failure::input)?;
    let outputs = outputs::Outputs::open(flags).map_err(Failure::input)?;
    Ok((loaded, inputs, outputs))
}

/// The inputs that could not be run, and whether the user ended the runs.
fn say_errors(
    (inputs, done): (&input::Inputs, &work::Done),
    streams: &mut Streams<'_>,
) -> io::Result<Exit> {
    for (number, message) in done.errors.iter().take(ERRORS_SHOWN) {
        let what = if inputs.is_capture { format!("packet {number}: ") } else { String::new() };
        streams.error(&format!("{what}{message}"))?;
    }
    if done.errors.len() > ERRORS_SHOWN {
        let more = done.errors.len() - ERRORS_SHOWN;
        streams.error(&format!("{more} more packets could not be run"))?;
    }
    let mut exit = if done.errors.is_empty() { Exit::Success } else { Exit::Input };
    if done.is_interrupted {
        let (ran, all) = (done.runs.iter().flatten().count(), inputs.items.len());
        streams.error(&match inputs.is_capture {
            true => format!("interrupted after {ran} of {all} packets"),
            false => format!("interrupted after {} runs", done.count),
        })?;
        exit.raise(Exit::Interrupted);
    }
    Ok(exit)
}

/// The runs, with the statistics that the flags ask for.
fn execute(
    flags: &RunFlags,
    (loaded, inputs): (&Loaded, &input::Inputs),
    streams: &mut Streams<'_>,
) -> io::Result<Result<(work::Done, Exit), String>> {
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
    // Metrics that cannot be written are not found out after the runs.
    if let Err(message) = stats.write_file(&loaded.runtime.programs()) {
        return Ok(Err(message));
    }
    let done = work::run(flags, &loaded.instance, (inputs, watch))?;
    let mut exit = Exit::Success;
    if let Some(message) = trouble {
        streams.error(&message)?;
        exit.raise(Exit::Input);
    }
    Ok(done.map(|done| (done, exit)))
}

/// Trace lines and the summary; beside the results if those are maps.
fn print(
    flags: &RunFlags,
    loaded: &Loaded,
    (inputs, done): (&input::Inputs, &work::Done),
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let text = summary::text(flags, &loaded.instance, (inputs, done));
    let out: &mut dyn io::Write =
        if flags.dump_maps.as_deref() == Some("-") { streams.err } else { streams.out };
    if flags.trace {
        let (lines, lost) = loaded.runtime.take_trace();
        for line in lines {
            writeln!(out, "trace: {}", skep_report::printable(&line))?;
        }
        if lost > 0 {
            writeln!(out, "trace: {lost} more lines")?;
        }
    }
    write!(out, "{text}{}", stats::text(flags, &loaded.runtime.programs()))
}

fn dump_maps(
    flags: &RunFlags,
    (loaded, file): (&Loaded, Option<File>),
    streams: &mut Streams<'_>,
) -> io::Result<Exit> {
    let Some(target) = &flags.dump_maps else { return Ok(Exit::Success) };
    let maps = loaded.maps.all().iter().flatten();
    let all: serde_json::Map<String, serde_json::Value> =
        maps.map(|map| (map.map().name().to_owned(), map_json::dump(map))).collect();
    let text = serde_json::to_string_pretty(&serde_json::Value::Object(all)).unwrap_or_default();
    let Some(mut file) = file else {
        writeln!(streams.out, "{text}")?;
        return Ok(Exit::Success);
    };
    let written = outputs::cut_off(&file).and_then(|()| writeln!(file, "{text}"));
    if let Err(e) = written {
        streams.error(&format!("{target}: while writing maps: {e}"))?;
        return Ok(Exit::Input);
    }
    Ok(Exit::Success)
}
