//! `skep run`: a program on packets or bytes, without root.
//!
//! Reading order: `plan` (what is loaded), `input` (what it runs on), `work` (the runs, on
//! threads), `stats` and `top` (what they took), `summary` (what is printed); `map_json` and
//! `btf_json` read and write maps.

mod btf_json;
mod input;
mod map_json;
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
use plan::Loaded;
use std::io;

/// Errors about single packets that are printed; the rest is counted.
const ERRORS_SHOWN: usize = 10;

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &RunFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let loaded = match plan::load(flags) {
        Ok(loaded) => loaded,
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
    let inputs = match input::read(flags, &loaded.instance) {
        Ok(inputs) => inputs,
        Err(message) => {
            streams.error(&message)?;
            return Ok(Exit::Input);
        }
    };
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
    for (number, message) in done.errors.iter().take(ERRORS_SHOWN) {
        let what = if inputs.is_capture { format!("packet {number}: ") } else { String::new() };
        streams.error(&format!("{what}{message}"))?;
    }
    if done.errors.len() > ERRORS_SHOWN {
        let more = done.errors.len() - ERRORS_SHOWN;
        streams.error(&format!("{more} more packets could not be run"))?;
    }
    if !done.errors.is_empty() {
        exit.raise(Exit::Input);
    }
    if let Some(path) = &flags.pcap_out
        && let Err(message) = pcap::write(path, &loaded.instance, (&inputs, &done))
    {
        streams.error(&message)?;
        exit.raise(Exit::Input);
    }
    print(flags, &loaded, (&inputs, &done), streams)?;
    exit.raise(dump_maps(flags, &loaded, streams)?);
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

fn dump_maps(flags: &RunFlags, loaded: &Loaded, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let Some(target) = &flags.dump_maps else { return Ok(Exit::Success) };
    let maps = loaded.maps.all().iter().flatten();
    let all: serde_json::Map<String, serde_json::Value> =
        maps.map(|map| (map.map().name().to_owned(), map_json::dump(map))).collect();
    let text = serde_json::to_string_pretty(&serde_json::Value::Object(all)).unwrap_or_default();
    if target == "-" {
        writeln!(streams.out, "{text}")?;
    } else if let Err(e) = std::fs::write(target, text + "\n") {
        streams.error(&format!("{target}: while writing maps: {e}"))?;
        return Ok(Exit::Input);
    }
    Ok(Exit::Success)
}
