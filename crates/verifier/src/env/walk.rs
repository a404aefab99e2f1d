//! Where a walk is.

use crate::precision::backtrack_state::BacktrackState;
use crate::state::frame::Frame;
use crate::state::verifier_state::VerifierState;

/// The path that is being walked.
#[derive(Default)]
pub(crate) struct Walk {
    pub(crate) cur: VerifierState,
    pub(crate) insn_idx: u32,
    pub(crate) prev_insn_idx: u32,
    /// Insn whose entry of the jump history is still open (`cur_hist_ent`).
    pub(crate) history_insn: Option<u32>,
    /// The frame of a callback that is walked next, as a function that is called.
    pub(crate) entered: Option<Frame>,
    /// What the search for precise registers looks for, on its way back along the path.
    pub(crate) bt: BacktrackState,
    /// Registers of the current frame that changed since the last printed state.
    pub(crate) scratched_regs: u32,
    pub(crate) scratched_slots: u64,
    /// Subprog whose body is walked (0, or a global function verified on its own).
    pub(crate) subprogno_walked: u32,
    pub(crate) pace: Pace,
}

/// How far the walk has come, and had when it last saved a state.
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

    /// Everything of the current frame counts as changed, so that the next state printed is whole.
    pub(crate) fn mark_state_scratched(&mut self) {
        self.scratched_regs = !0;
        self.scratched_slots = !0;
    }
}
