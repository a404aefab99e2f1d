//! The position of the walk.

use crate::precision::backtrack_state::BacktrackState;
use crate::state::frame::Frame;
use crate::state::verifier_state::VerifierState;

/// The current path.
#[derive(Default)]
pub(crate) struct Walk {
    pub(crate) cur: VerifierState,
    pub(crate) insn_idx: u32,
    pub(crate) prev_insn_idx: u32,
    /// Insn whose entry of the jump history is still open (`cur_hist_ent`).
    pub(crate) history_insn: Option<u32>,
    /// The frame of a callback that is entered next, like a called function.
    pub(crate) entered: Option<Frame>,
    /// The registers and slots tracked by backtracking.
    pub(crate) bt: BacktrackState,
    /// Registers of the current frame that changed since the last printed state.
    pub(crate) scratched_regs: u32,
    pub(crate) scratched_slots: u64,
    /// Subprog being verified (0, or a global function verified on its own).
    pub(crate) subprogno_walked: u32,
    pub(crate) pace: Pace,
    /// Whether something with an id was ever spilled, on any path, to the top of the main
    /// function's stack.
    pub(crate) top_had_id: bool,
}

/// Counts of insns and jumps, now and when the last state was saved.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    pub(crate) jmps: u32,
    pub(crate) jmps_at_save: u32,
    pub(crate) insns_at_save: u32,
}

impl Walk {
    pub(crate) fn frame(&self) -> &Frame {
        self.cur.frame()
    }

    pub(crate) fn frame_mut(&mut self) -> &mut Frame {
        self.cur.frame_mut()
    }

    /// Marks everything in the current frame as changed, so that the next state is printed in full.
    pub(crate) fn mark_state_scratched(&mut self) {
        self.scratched_regs = !0;
        self.scratched_slots = !0;
    }
}
