//! `--json`: the results of the runs as one object. Names are those of the text output; packets,
//! contexts and keys are hex digits that `--hex` accepts.

use super::effects::Effects;
use super::map_json::Maps;
use super::stats::histogram_rows;
use super::summary::verdict_name;
use super::tally::{Run, Tally};
use crate::digits::{hex, is_zero};
use crate::flags::run::RunFlags;
use crate::prog::row;
use serde::Serialize;
use skep::runtime::map::MapHandle;
use skep::runtime::{Instance, ProgInfo, Redirect, takes_packet};
use skep::uapi::ProgType;
use skep_report::{ExecutedLine, MatrixKernel, ProgRow};

/// All that is printed of a run.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    /// Of the schema (docs/json.md).
    version: u32,
    prog: &'a str,
    #[serde(rename = "type")]
    prog_type: String,
    engine: &'static str,
    threads: u32,
    /// The kernel that it was verified for, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<MatrixKernel>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    #[serde(flatten)]
    outcome: Outcome<'a>,
    errors: u64,
    /// Of all inputs.
    runs: u64,
    /// Of a run; unknown if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Vec<String>>,
    #[serde(skip_serializing_if = "is_zero")]
    trace_lost: u64,
    /// Executed insns by line, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Vec<ExecutedLine>>,
    /// Their statistics, if they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    programs: Option<Vec<Program>>,
    /// The maps after the runs, if they are to be dumped here.
    #[serde(skip_serializing_if = "Option::is_none")]
    maps: Option<Maps<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Outcome<'a> {
    /// Of a capture.
    Packets(Packets),
    /// The result of a single input, if it could be run.
    One(Option<One<'a>>),
}

#[derive(Serialize)]
struct Packets {
    packets: u64,
    verdicts: Vec<Verdicts>,
    #[serde(skip_serializing_if = "is_zero")]
    other_verdicts: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    redirects: Vec<Redirects>,
    #[serde(skip_serializing_if = "is_zero")]
    other_redirects: u64,
}

#[derive(Serialize)]
struct Verdicts {
    #[serde(flatten)]
    verdict: Retval,
    packets: u64,
}

#[derive(Serialize)]
struct Redirects {
    to: String,
    packets: u64,
}

#[derive(Serialize)]
struct Retval {
    retval: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
}

impl Retval {
    fn new(prog_type: ProgType, retval: u32) -> Retval {
        Retval { retval, verdict: verdict_name(prog_type, retval) }
    }
}

#[derive(Serialize)]
struct One<'a> {
    #[serde(flatten)]
    verdict: Retval,
    /// The whole register, if it has more bits than the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    r0: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    insns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fuel: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redirect: Option<Target>,
    #[serde(flatten)]
    effects: &'a Effects,
    #[serde(skip_serializing_if = "Option::is_none")]
    packet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ctx: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Target {
    Interface { ifindex: u32, flags: u64 },
    Map { map_id: u32, key: u64, flags: u64 },
}

#[derive(Serialize)]
struct Program {
    #[serde(flatten)]
    row: ProgRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    histogram: Vec<Bucket>,
}

/// Runs that took at least `from_ns` and less than `to_ns`.
#[derive(Serialize)]
struct Bucket {
    from_ns: u64,
    to_ns: u64,
    runs: u64,
}

/// What was run: the packets of a capture, if there was one; and whether the user interrupted the
/// runs.
pub(super) struct Ran<'a> {
    pub(super) packets: Option<u64>,
    pub(super) tally: &'a Tally,
    pub(super) is_interrupted: bool,
}

impl<'a> Answer<'a> {
    pub(super) fn new(flags: &RunFlags, instance: &'a Instance, ran: &Ran<'a>) -> Answer<'a> {
        let (tally, prog_type) = (ran.tally, instance.prog_type());
        let outcome = match ran.packets {
            Some(packets) => Outcome::Packets(Packets::new(prog_type, packets, tally)),
            None => Outcome::One(tally.only.as_ref().map(|run| One::new(prog_type, run))),
        };
        let mean = tally.time.as_nanos() as f64 / tally.runs as f64;
        Answer {
            version: 1,
            prog: instance.name(),
            prog_type: prog_type.to_string(),
            engine: if instance.machine_code().is_some() { "jit" } else { "interp" },
            threads: flags.threads.get(),
            kernel: None,
            interrupted: ran.is_interrupted,
            outcome,
            errors: tally.errors.count,
            runs: tally.runs,
            duration_ns: (tally.runs > 0).then(|| mean.round() as u64),
            trace: None,
            trace_lost: 0,
            profile: None,
            programs: None,
            maps: None,
        }
    }

    /// With the kernel that the program was verified for.
    pub(super) fn verified_for(&mut self, kernel: MatrixKernel) {
        self.kernel = Some(kernel);
    }

    /// With what was traced.
    pub(super) fn trace(&mut self, lines: Vec<String>, lost: u64) {
        (self.trace, self.trace_lost) = (Some(lines), lost);
    }

    /// With what ran.
    pub(super) fn profile(&mut self, lines: Vec<ExecutedLine>) {
        self.profile = Some(lines);
    }

    /// With the contents of maps.
    pub(super) fn maps(&mut self, maps: impl Iterator<Item = &'a MapHandle>) {
        self.maps = Some(Maps::of(maps));
    }

    /// With the statistics of the programs that ran.
    pub(super) fn stats(&mut self, flags: &RunFlags, programs: &[ProgInfo]) {
        let ran = programs.iter().filter(|program| program.stats.run_cnt > 0);
        let one = |program: &ProgInfo| {
            let buckets = histogram_rows(&program.stats).into_iter();
            let buckets =
                buckets.map(|(from_ns, to_ns, runs)| Bucket { from_ns, to_ns, runs }).collect();
            Program {
                row: row(program).shown(),
                clock_error: program.stats.check_clock().err().map(|e| e.to_string()),
                histogram: if flags.stats_histogram { buckets } else { Vec::new() },
            }
        };
        self.programs = Some(ran.map(one).collect());
    }
}

impl Packets {
    fn new(prog_type: ProgType, packets: u64, tally: &Tally) -> Packets {
        let verdicts = tally.retvals.by_key.iter().map(|(retval, packets)| Verdicts {
            verdict: Retval::new(prog_type, *retval),
            packets: *packets,
        });
        let redirects = tally.redirects.by_key.iter();
        Packets {
            packets,
            verdicts: verdicts.collect(),
            other_verdicts: tally.retvals.others,
            redirects: redirects
                .map(|(to, packets)| Redirects { to: to.clone(), packets: *packets })
                .collect(),
            other_redirects: tally.redirects.others,
        }
    }
}

impl<'a> One<'a> {
    fn new(prog_type: ProgType, run: &'a Run) -> One<'a> {
        let bytes = Some(hex(&run.packet)).filter(|digits| !digits.is_empty());
        let (packet, ctx) = if takes_packet(prog_type) { (bytes, None) } else { (None, bytes) };
        One {
            verdict: Retval::new(prog_type, run.retval),
            r0: run.is_wide().then(|| format!("{:#x}", run.r0)),
            insns: run.insns,
            fuel: run.fuel,
            redirect: run.redirect.as_ref().map(|target| match *target {
                Redirect::Interface { ifindex, flags } => Target::Interface { ifindex, flags },
                Redirect::Map { map_id, key, flags } => Target::Map { map_id, key, flags },
            }),
            effects: &run.effects,
            packet,
            ctx,
        }
    }
}
