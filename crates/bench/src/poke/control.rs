//! Negative controls: incorrect patching, which shows that the check detects it. Each runs in a
//! child process, which is expected to crash or to see a wrong execution.

use super::code::{STATES, Shape, Sites};
use crate::threads::beside;
use nix::sys::resource::{Resource, setrlimit};
use serde::Serialize;
use skep_cli::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A way to patch incorrectly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Control {
    /// The five bytes of an insn, one store each.
    Bytewise,
    /// One store of eight bytes that crosses a cache line.
    LineCrossing,
    /// The first two bytes of an insn, one store each.
    BytewiseInsn,
    /// The four bytes of a jump's displacement, one store each.
    BytewiseTarget,
    /// A displacement that crosses a cache line, with one store.
    LineCrossingTarget,
}

/// All of them.
pub const CONTROLS: [Control; 5] = [
    Control::Bytewise,
    Control::LineCrossing,
    Control::BytewiseInsn,
    Control::BytewiseTarget,
    Control::LineCrossingTarget,
];

impl Control {
    /// Name, for the command line and tables.
    pub fn name(self) -> &'static str {
        match self {
            Control::Bytewise => "bytewise",
            Control::LineCrossing => "line-crossing",
            Control::BytewiseInsn => "bytewise-insn",
            Control::BytewiseTarget => "bytewise-target",
            Control::LineCrossingTarget => "line-crossing-target",
        }
    }

    fn shape(self) -> Shape {
        match self {
            Control::Bytewise | Control::LineCrossing => Shape::Nop,
            Control::BytewiseInsn => Shape::Insn,
            Control::BytewiseTarget => Shape::Jump,
            Control::LineCrossingTarget => Shape::Misaligned,
        }
    }

    /// Whether a site at this offset in a line can go wrong.
    fn is_chosen(self, place: u64) -> bool {
        match self {
            Control::Bytewise | Control::BytewiseInsn | Control::BytewiseTarget => true,
            // The insn itself crosses a line.
            Control::LineCrossing => (LINE - 4..LINE).contains(&place),
            // Its displacement does.
            Control::LineCrossingTarget => (LINE - 4..LINE - 1).contains(&place),
        }
    }

    /// Puts a site into a state, incorrectly.
    fn patch(self, sites: &Sites, n: usize, state: u32) {
        let insn = sites.insn(state);
        match self {
            Control::Bytewise => sites.write(n, 0, &insn),
            Control::LineCrossing => {
                let mut eight = sites.eight(n);
                eight[..insn.len()].copy_from_slice(&insn);
                sites.write_word(n, 0, &eight);
            }
            Control::BytewiseInsn => sites.write(n, 0, &sites.two(n, state)),
            Control::BytewiseTarget => sites.write(n, 1, &insn[1..]),
            Control::LineCrossingTarget => sites.write_word(n, 1, &insn[1..]),
        }
    }
}

/// Length of a cache line.
const LINE: u64 = 64;

/// Patches incorrectly for at most this long; returns executions and wrong ones, unless it crashes.
///
/// # Errors
///
/// The host provides no memory for code, or no threads.
pub fn run(control: Control, time: Duration) -> Result<(u64, u64), Error> {
    // It is meant to crash, so no core dump.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let sites = Sites::new(control.shape(), 164)?;
    let (start, stride, _) = sites.layout();
    let place = |n: usize| (start + n as u64 * stride) % LINE;
    let chosen: Vec<usize> =
        (0..sites.len() - 1).filter(|n| control.is_chosen(place(*n))).collect();
    let done = AtomicBool::new(false);
    let (executions, wrong) = (AtomicU64::new(0), AtomicU64::new(0));
    let run = || {
        while !done.load(Ordering::Relaxed) {
            let is_wrong = |n: &&usize| sites.call(**n) > sites.mask(**n);
            let count = chosen.iter().filter(is_wrong).count();
            executions.fetch_add(chosen.len() as u64, Ordering::Relaxed);
            wrong.fetch_add(count as u64, Ordering::Relaxed);
        }
    };
    beside(2, &done, run, || {
        let started = Instant::now();
        let mut state = 0;
        while started.elapsed() < time && wrong.load(Ordering::Relaxed) == 0 {
            state = (state + 1) % STATES;
            chosen.iter().for_each(|&n| control.patch(&sites, n, state));
        }
        Ok(())
    })?;
    Ok((executions.into_inner(), wrong.into_inner()))
}
