//! States in the log.

use crate::env::Env;
use crate::state::checkpoint::CkptId;

/// Where in the log the last insn and its state line are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogPosition {
    /// End of the last insn's text.
    pub(crate) prev_log_pos: usize,
    /// Length of the last insn's text.
    pub(crate) prev_insn_print_pos: usize,
    /// Line info that was written last.
    pub(crate) prev_linfo: Option<u32>,
}

impl Env<'_> {
    /// Writes what comes before an insn is walked: "from A to B:" after a branch, changed registers of the insn
    /// before, the source line, the insn.
    pub(crate) fn print_insn(&mut self, do_print_state: &mut bool) {
        *do_print_state = false;
    }

    /// The whole current state, on the line at hand.
    ///
    /// Kernel: `print_verifier_state(.., true)` (6.18).
    pub(crate) fn print_state_all(&mut self) {}

    /// A checkpoint's frame (`None`: its current one).
    pub(crate) fn print_checkpoint(&mut self, id: CkptId, frame: Option<u32>, all: bool) {
        let _ = (id, frame, all);
    }
}
