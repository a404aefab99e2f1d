//! `compile`: the passes in order.

use crate::coverage::{Base, Coverage, Kept};
use crate::emit::{self, Emitted, Unit};
use crate::error::Error;
use crate::flow::Flow;
use crate::frame::{Boundary, Frame};
use crate::ops::Ops;
use crate::pc_map::PcMap;
use crate::{CodeInfo, Compiled, Linkage, Prologue, Relocations, Symbol, Tuning, lower, opt};
use skep_verifier::{SubprogFacts, Xlated};
use std::ops::Range;

/// Compiles a program. Addresses in `reach` are within 32 bits of any possible position of the
/// code, so they are called directly.
///
/// # Errors
///
/// Something is not supported yet or not linked. Neither the safety of the program nor the features
/// of this processor are checked here.
pub fn compile(
    xlated: &Xlated,
    linkage: &Linkage,
    tuning: &Tuning,
    reach: Range<u64>,
) -> Result<Compiled, Error> {
    let mut ops = Ops::new(lower::lower(xlated, linkage)?);
    let mut flow = Flow::new(xlated, &ops)?;
    let base = Base::new(linkage.coverage.as_ref(), tuning, &flow);
    let tuning = &match linkage.coverage {
        None => tuning.clone(),
        Some(_) => Tuning { passes: Coverage::allowed(tuning.passes, base), ..tuning.clone() },
    };
    opt::run(&mut ops, &mut flow, linkage, tuning)?;
    let loops = match tuning.passes.unroll && !tuning.fuel {
        true => opt::unroll::plan(&ops, &flow, tuning.passes),
        false => Vec::new(),
    };
    let kept = match &linkage.coverage {
        Some(coverage) if base == Base::Register => {
            opt::loop_counts::kept(&ops, &flow, &loops, &coverage.plan, tuning)
        }
        _ => vec![Vec::new(); flow.funcs.len()],
    };
    let (prologue, frames) = frames(tuning, &flow, &ops, base, &kept);
    if tuning.checked {
        opt::accesses::check_loops(&ops, &loops, linkage)?;
    }
    let heads = opt::heads::heads(&ops, &flow);
    let layouts = match tuning.passes.layout && !tuning.fuel {
        true => flow.funcs.iter().map(|func| opt::layout::plan(&ops, func, &loops)).collect(),
        false => flow.funcs.iter().map(|_| None).collect::<Vec<_>>(),
    };
    let (ops, flow, frames) = (&ops, &flow, &frames[..]);
    let unit = Unit {
        ops,
        flow,
        frames,
        kept: &kept,
        linkage,
        tuning,
        loops: &loops,
        heads: &heads,
        layouts: &layouts,
        reach,
    };
    let emitted = emit::emit(&unit)?;
    Ok(compiled(emitted, xlated, prologue, tuning))
}

fn compiled(emitted: Emitted, xlated: &Xlated, prologue: Prologue, tuning: &Tuning) -> Compiled {
    let symbols = symbols(xlated, &emitted);
    let info = CodeInfo {
        entry: emitted.entry,
        tail_entry: emitted.tail_entry,
        pc_map: PcMap { offs: emitted.op_offs, ends: emitted.ends, spans: emitted.spans },
        stats: emitted.stats,
        tail_calls: emitted.tail_calls,
        poke: tuning.poke,
        symbols,
        prologue,
        fuel: tuning.fuel,
    };
    let relocations = Relocations { calls: emitted.calls, flags: emitted.flags };
    Compiled { code: emitted.code, relocations, info }
}

/// The frame of each function, and the prologue that they have.
fn frames(
    tuning: &Tuning,
    flow: &Flow,
    ops: &Ops,
    base: Base,
    kept: &[Vec<Kept>],
) -> (Prologue, Vec<Frame>) {
    let fuel = tuning.fuel;
    // `rbp` is in use if there is fuel, or a frame that catches exceptions.
    let taken = fuel || flow.exception_cb.is_some();
    let prologue = if taken { Prologue::Minimal } else { tuning.prologue };
    let frame = |(func, kept): (_, &Vec<Kept>)| Frame::new(prologue, func, ops, base, kept);
    let mut frames: Vec<Frame> = flow.funcs.iter().zip(kept).map(frame).collect();
    if let (Some(main), Some(_)) = (flow.funcs.first(), flow.exception_cb) {
        let counts_tail_calls = flow.counts_tail_calls();
        let boundary = match fuel {
            true => Boundary::Env,
            false => Boundary::Rbp { counts_tail_calls },
        };
        frames[0] = Frame::of_boundary(boundary, main, base);
    }
    (prologue, frames)
}

/// Thunks are the first function's.
fn symbols(xlated: &Xlated, emitted: &Emitted) -> Vec<Symbol> {
    let off = |op: u32| emitted.op_offs.get(op as usize).copied().unwrap_or_default();
    let symbol = |facts: &SubprogFacts| {
        let start = if facts.start == 0 { 0 } else { off(facts.start) };
        let len = off(facts.end).saturating_sub(start);
        Symbol { name: facts.name.clone(), off: start, len }
    };
    let mut symbols: Vec<Symbol> = xlated.subprogs().iter().map(symbol).collect();
    // Stubs follow the last function: the landing of exceptions, then those of the statistics.
    let end = emitted.op_offs.last().copied().unwrap_or_default();
    let stats = emitted.landing_end;
    let stubs = [("exception", end, stats), ("stats", stats, emitted.code.len() as u32)];
    for (name, start, end) in stubs {
        if start < end {
            symbols.push(Symbol { name: name.to_owned(), off: start, len: end - start });
        }
    }
    symbols
}
