//! The state of a run, and whether it is included in a state of the walk.

use skep_interp::Host;
use skep_verifier::watch::{Change, Claim, SLOTS};

/// The state of the run at an insn.
pub(super) struct Now<'a> {
    pub(super) regs: &'a [u64; 11],
    pub(super) host: &'a dyn Host,
}

/// Whether the run's state is included; the error says why not.
pub(super) type Fits = Result<(), String>;

/// Why a value does not match a claim.
pub(super) fn describe(change: &Change, claim: &Claim, value: u64) -> String {
    let Change { frame, at, .. } = *change;
    let name = match at.checked_sub(SLOTS) {
        None => format!("r{at}"),
        Some(spi) => format!("fp-{}", 8 * (u32::from(spi) + 1)),
    };
    format!("{name} of frame {frame} is {value:#x}, not in {claim:?}")
}
