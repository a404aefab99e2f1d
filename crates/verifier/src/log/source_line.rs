//! Source lines in the log.
//!
//! Kernel: `verbose_linfo` (6.18).

use crate::env::{Facts, Trace};
use crate::log::verbose_to;
use crate::passes::PassReject;
use crate::rejection::Stop;

/// Length at which the kernel truncates a source line.
const PRINT_MAX: usize = 1023;

impl Trace<'_> {
    /// Prints the source line of the insn, unless it was the last one printed.
    pub(crate) fn print_source_line(&mut self, facts: &Facts<'_>, insn_idx: u32, prefix: &str) {
        let prog = facts.prog;
        let (Some(at), Some(btf)) = (facts.find_line_info(insn_idx), &prog.btf) else { return };
        let line = prog.line_info[at];
        if let Some(prev) = self.log_at.prev_linfo {
            let prev = &prog.line_info[prev as usize];
            if prev.file_name_off == line.file_name_off && prev.line() == line.line() {
                return;
            }
        }
        self.log_at.prev_linfo = Some(at as u32);
        let text = printed(btf.str(line.line_off));
        if !facts.config.profile.words.lines_have_places() {
            verbose_to!(self, "{prefix}{text}\n");
            return;
        }
        let file = btf.str(line.file_name_off);
        let file = file.rsplit('/').next().unwrap_or(file);
        verbose_to!(self, "{prefix}{text} @ {file}:{}\n", line.line());
    }

    /// Prints the source lines of a pass's refusal before the refusal.
    #[cold]
    pub(crate) fn refuse_by_pass(&mut self, facts: &Facts<'_>, refusal: PassReject) -> Stop {
        for line in &refusal.source_lines {
            self.print_source_line(facts, line.0, &format!("{line}: "));
        }
        if refusal.open_line {
            return Stop::refuse_open_line(refusal.errno, *refusal.kind);
        }
        Stop::refuse(refusal.errno, *refusal.kind)
    }
}

/// The part of a source line that the log shows.
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
