//! Where in the log a walk is.

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
