//! The cost of prologues and tail calls: the minimal prologue, the classic one, and the kernel.

use super::engines::{Engine, Results, Timed, measure_in_turn};
use super::in_runtime::{InRuntime, in_kernel, kernel_runner};
use super::objects::Opened;
use super::{FLOW, KINDS, Kind, TAIL_CALLS, machine, udp_packet};
use crate::Ratio;
use serde::Serialize;
use skep_cli::Error;
use skep_jit::{Prologue, Tuning};

/// A chain of tail calls.
struct Chain {
    object: &'static [u8],
    program: &'static str,
    about: &'static str,
    /// Tail calls per run.
    hops: u32,
    /// Whether its packet rate is shown.
    packets: bool,
}

const fn chain(program: &'static str, about: &'static str, hops: u32) -> Chain {
    Chain { object: TAIL_CALLS, program, about, hops, packets: false }
}

/// The chains; the first is a run without tail calls.
const CHAINS: [Chain; 7] = [
    Chain { packets: true, ..chain("base", "a run that returns at once", 0) },
    Chain { packets: true, ..chain("xdp1", "counts packets by protocol (xdp1)", 0) },
    Chain {
        object: FLOW,
        packets: true,
        ..chain("parse_eth", "dissects a flow in a chain of 6 (bpf_flow)", 5)
    },
    chain("flow0", "chain of 6, four values kept", 5),
    chain("self_const", "tail call, constant index", 33),
    chain("self_index", "tail call, index known when it runs", 33),
    chain("in_callee", "tail call inside a function, with the call", 33),
];

/// One chain.
#[derive(Debug, Clone, Serialize)]
pub struct Chained {
    /// The program.
    pub program: &'static str,
    /// Description.
    pub about: &'static str,
    /// Tail calls per run.
    pub hops: u32,
    /// Minimal prologue, full prologue, kernel.
    pub engines: Vec<Timed>,
    /// Full over minimal.
    pub full_over_minimal: Option<Ratio>,
    /// ns per tail call, by engine: the time of a run minus that of one without tail calls, divided
    /// by their number.
    pub hop_ns: Vec<Option<f64>>,
    /// Millions of packets per second, by engine.
    pub mpps: Option<Vec<Option<f64>>>,
}

fn tuning(prologue: Prologue) -> Tuning {
    Tuning { prologue, ..Tuning::default() }
}

/// Measures every chain, through the library.
///
/// # Errors
///
/// A program does not run, or results differ.
pub fn chains(rounds: u32, with_kernel: bool) -> Result<Vec<Chained>, Error> {
    let packet = udp_packet();
    let mut rows: Vec<Chained> = Vec::new();
    for chain in &CHAINS {
        let opened = Opened::new(chain.object)?;
        let minimal = InRuntime::new(&opened, &tuning(Prologue::Minimal))?;
        let full = InRuntime::new(&opened, &tuning(Prologue::Full))?;
        let kernel = in_kernel(&opened.with_first(chain.program));
        let mut candidates = vec![
            Engine::new("minimal", minimal.runner(chain.program, &packet)),
            Engine::new("full", full.runner(chain.program, &packet)),
        ];
        if with_kernel {
            candidates.push(Engine::new("kernel", kernel_runner(&kernel, &packet)));
        }
        let engines = measure_in_turn(candidates, rounds, Results::Equal);
        let engines = engines.map_err(|e| format!("{}: {e}", chain.program))?;
        let base = rows.first().map_or(&engines, |row| &row.engines);
        let hop = |(of, base): (&Timed, &Timed)| {
            let hops = Some(f64::from(chain.hops)).filter(|hops| *hops > 0.0)?;
            Some((of.median()? - base.median()?) / hops)
        };
        let hop_ns = engines.iter().zip(base).map(hop).collect();
        let mpps = |timed: &Timed| timed.median().map(|ns| 1e3 / ns);
        rows.push(Chained {
            program: chain.program,
            about: chain.about,
            hops: chain.hops,
            full_over_minimal: engines[1].over(&engines[0]),
            hop_ns,
            mpps: chain.packets.then(|| engines.iter().map(mpps).collect()),
            engines,
        });
    }
    Ok(rows)
}

/// A compute program with both prologues, called as a function.
#[derive(Debug, Clone, Serialize)]
pub struct Prologues {
    /// The program.
    pub program: &'static str,
    /// Minimal, full.
    pub engines: Vec<Timed>,
    /// Full over minimal.
    pub full_over_minimal: Option<Ratio>,
}

/// Measures the prologues of all compute programs.
///
/// # Errors
///
/// A program does not run, or results differ.
pub fn prologues(rounds: u32) -> Result<Vec<Prologues>, Error> {
    let one = |kind: &Kind| {
        let (opened, verified) = super::compute::verified(kind)?;
        let maps = &*opened.object.maps;
        let candidates = [("minimal", Prologue::Minimal), ("full", Prologue::Full)]
            .map(|(name, p)| Engine::new(name, machine::skep(kind, &verified, maps, &tuning(p))));
        let engines = measure_in_turn(candidates.into(), rounds, Results::Equal)?;
        let full_over_minimal = engines[1].over(&engines[0]);
        Ok(Prologues { program: kind.name, engines, full_over_minimal })
    };
    KINDS.iter().map(one).collect()
}
