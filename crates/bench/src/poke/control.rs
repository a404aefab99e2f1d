//! Negative controls: patching as it must not be done, so that the check is known to see it. Each
//! runs in a child process, which is expected to crash or to see a wrong execution.

use super::code::{JMP, NOP, Shape, Sites};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A way not to do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Control {
    /// The five bytes of an insn, one store each.
    Bytewise,
    /// One store of eight bytes that crosses a cache line.
    LineCrossing,
}

/// All of them.
pub const CONTROLS: [Control; 2] = [Control::Bytewise, Control::LineCrossing];

impl Control {
    /// For the command line and for people.
    pub fn name(self) -> &'static str {
        match self {
            Control::Bytewise => "bytewise",
            Control::LineCrossing => "line-crossing",
        }
    }
}

/// Cache lines are this long.
const LINE: u64 = 64;

/// Patches wrongly for at most this long; executions and wrong ones, if it comes back at all.
///
/// # Errors
///
/// The host gives no memory for code.
pub fn run(control: Control, time: Duration) -> Result<(u64, u64), String> {
    let sites = Sites::new(Shape::Nop, 164)?;
    let (start, stride, _) = sites.layout();
    let crosses = |n: &usize| {
        let place = (start + *n as u64 * stride) % LINE;
        // The insn itself lies on two lines.
        (LINE - 4..LINE).contains(&place)
    };
    let chosen: Vec<usize> = match control {
        Control::Bytewise => (0..sites.len()).collect(),
        Control::LineCrossing => (0..sites.len() - 1).filter(crosses).collect(),
    };
    let done = AtomicBool::new(false);
    let (executions, wrong) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        let run = || {
            while !done.load(Ordering::Relaxed) {
                let is_wrong = |n: &&usize| sites.call(**n).wrapping_sub(2 * **n as u32) > 1;
                let count = chosen.iter().filter(is_wrong).count();
                executions.fetch_add(chosen.len() as u64, Ordering::Relaxed);
                wrong.fetch_add(count as u64, Ordering::Relaxed);
            }
        };
        scope.spawn(run);
        scope.spawn(run);
        let started = Instant::now();
        let mut on = false;
        while started.elapsed() < time && wrong.load(Ordering::Relaxed) == 0 {
            on = !on;
            let insn = if on { JMP } else { NOP };
            for &n in &chosen {
                match control {
                    Control::Bytewise => sites.write(n, 0, &insn),
                    Control::LineCrossing => {
                        let mut eight = sites.eight(n);
                        eight[..insn.len()].copy_from_slice(&insn);
                        sites.write_eight(n, eight);
                    }
                }
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    Ok((executions.into_inner(), wrong.into_inner()))
}
