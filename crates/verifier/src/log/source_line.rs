//! Source lines in the log.
//!
//! Kernel: `verbose_linfo` (6.18).

use crate::env::Env;
use crate::log::verbose;

/// Bytes that the kernel writes at once: of a longer source line, the rest is not there.
const PRINT_MAX: usize = 1023;

impl Env<'_> {
    /// Index of the line info that covers the insn.
    pub(crate) fn find_line_info(&self, insn_idx: u32) -> Option<usize> {
        let lines = &self.prog.line_info;
        lines.partition_point(|l| l.insn_off.0 <= insn_idx).checked_sub(1)
    }

    /// Writes the source line of the insn, if there is one that was not just written.
    pub(crate) fn print_source_line(&mut self, insn_idx: u32, prefix: &str) {
        let (Some(at), Some(btf)) = (self.find_line_info(insn_idx), &self.prog.btf) else { return };
        let line = self.prog.line_info[at];
        if let Some(prev) = self.log_at.prev_linfo {
            let prev = &self.prog.line_info[prev as usize];
            if prev.file_name_off == line.file_name_off && prev.line() == line.line() {
                return;
            }
        }
        self.log_at.prev_linfo = Some(at as u32);
        let text = printed(btf.str(line.line_off));
        let file = btf.str(line.file_name_off);
        let file = file.rsplit('/').next().unwrap_or(file);
        verbose!(self, "{prefix}{text} @ {file}:{}\n", line.line());
    }
}

/// What the log shows of a source line.
fn printed(line: &str) -> &str {
    let text = line.trim_start_matches(|c: char| c.is_ascii_whitespace());
    &text[..text.floor_char_boundary(PRINT_MAX)]
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_line_is_shown_without_its_indent_and_no_longer_than_the_kernel_writes_at_once() {
        assert_eq!(super::printed("\t  r0 = 0;"), "r0 = 0;");
        let long = format!("  {}é", "x".repeat(1022));
        assert_eq!(super::printed(&long), "x".repeat(1022));
        assert_eq!(super::printed(&"y".repeat(5000)).len(), 1023);
    }
}
