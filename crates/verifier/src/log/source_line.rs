//! Source lines in the log.

use crate::env::Env;

impl Env<'_> {
    /// Writes the source line of the insn, if there is one that was not just written.
    ///
    /// Kernel: `verbose_linfo` (6.18).
    pub(crate) fn print_source_line(&mut self, insn_idx: u32, prefix: &str) {
        let _ = (insn_idx, prefix);
    }
}
