//! The final part of a verifier log, and what to ignore when comparing two logs.
//!
//! The formats are the kernel's (6.18): with `BPF_LOG_STATS` a log ends in the lines
//!
//! ```text
//! verification time 152 usec
//! stack depth 8+0
//! processed 7 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
//! ```

use skep_insn::Insn;
use skep_insn::code::{BPF_CALL, BPF_JMP, BPF_PSEUDO_FUNC, BPF_PSEUDO_KFUNC_CALL};

/// The statistics at the end of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelStats {
    /// `processed N insns`.
    pub insns_processed: u64,
    /// States kept at the insn with the most states.
    pub max_states_per_insn: u64,
    /// States ever made.
    pub total_states: u64,
    /// Maximum number of live states.
    pub peak_states: u64,
    /// Longest chain of read marks.
    pub mark_read: u64,
    /// Stack of each subprog, bytes, as `8+0+16`.
    pub stack_depth: String,
    /// The kernel's own time, microseconds.
    pub verification_time_us: u64,
}

impl KernelStats {
    /// Parses the last lines of a log; `None` if there is no `processed` line (log level 0, or a
    /// rejection before verification started).
    pub fn parse(log: &str) -> Option<KernelStats> {
        let mut stats = KernelStats::default();
        let mut seen = false;
        for line in log.lines().rev().take(8) {
            if let Some(rest) = line.strip_prefix("processed ") {
                stats.processed_line(rest);
                seen = true;
            } else if let Some(rest) = line.strip_prefix("stack depth ") {
                stats.stack_depth = rest.to_owned();
            } else if let Some(rest) = line.strip_prefix("verification time ") {
                stats.verification_time_us = first_number(rest);
            }
        }
        seen.then_some(stats)
    }

    fn processed_line(&mut self, rest: &str) {
        self.insns_processed = first_number(rest);
        let after = |key: &str| rest.split_once(key).map_or(0, |(_, tail)| first_number(tail));
        self.max_states_per_insn = after("max_states_per_insn ");
        self.total_states = after("total_states ");
        self.peak_states = after("peak_states ");
        self.mark_read = after("mark_read ");
    }
}

fn first_number(text: &str) -> u64 {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Placeholder for a kernel address in a normalised log.
pub const ADDRESS: &str = "0xADDRESS";

/// The log without what differs between two runs of the same kernel: the time, and the addresses
/// (with padding blanks) printed for `ld_imm64` of a map, a map value, a kernel variable or a BTF
/// id. `insns` are the program's.
pub fn normalise(log: &str, insns: &[Insn]) -> String {
    let mut out = String::with_capacity(log.len());
    for line in log.lines() {
        // Some messages end without a newline, so the time follows on the same line.
        if let Some((message, _)) = line.split_once("verification time ") {
            out.push_str(message);
            continue;
        }
        match address(line, insns) {
            Some((before, after)) => {
                let state = after.trim_start();
                let gap = if state.is_empty() { "" } else { " " };
                out.extend([before, ADDRESS, gap, state]);
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Placeholder for the BTF id of a kernel function, in logs that must be independent of the kernel
/// build.
pub const BTF_ID: &str = "BTF_ID";

/// A normalised log without the ids in calls of kernel functions, which are specific to a build:
/// `12: (85) call bpf_rcu_read_lock#65472` becomes `#BTF_ID`. The following blanks are removed,
/// too.
pub fn without_btf_ids(log: &str, insns: &[Insn]) -> String {
    let mut out = String::with_capacity(log.len());
    for line in log.lines() {
        match kfunc_id(line, insns) {
            Some((before, after)) => {
                let state = after.trim_start();
                let gap = if state.is_empty() { "" } else { " " };
                out.extend([before, BTF_ID, gap, state]);
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Splits a line around the id in the call of a kernel function.
fn kfunc_id<'a>(line: &'a str, insns: &[Insn]) -> Option<(&'a str, &'a str)> {
    let (before, rest) = line.split_once("(85) call ")?;
    let insn = insns.get(insn_before(before)?)?;
    if insn.code != BPF_JMP | BPF_CALL || insn.src != BPF_PSEUDO_KFUNC_CALL {
        return None;
    }
    let digits = rest.find('#')? + 1;
    let tail = rest.get(digits..)?;
    let len = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
    let start = line.len() - tail.len();
    Some((line.get(..start)?, tail.get(len..)?))
}

/// The index of the insn whose text follows.
fn insn_before(text: &str) -> Option<usize> {
    let number = |word: &str| word.strip_suffix(':')?.parse().ok();
    text.split_whitespace().rev().find_map(number)
}

/// Splits a line around the address of an `ld_imm64`, if its operand has one. The insn follows its
/// index (`12: (18) r1 = 0xffff88810abc ; R1=...`), with live registers in between (`  3  12:
/// .1........ (18) r1 = ...`), or `mark_precise: ... before 12:`.
fn address<'a>(line: &'a str, insns: &[Insn]) -> Option<(&'a str, &'a str)> {
    let (before, rest) = line.split_once("(18) r")?;
    let insn = insns.get(insn_before(before)?)?;
    if !insn.is_ld_imm64() || insn.src == 0 || insn.src == BPF_PSEUDO_FUNC {
        return None;
    }
    let value = rest.find("0x")?;
    let tail = rest.get(value + 2..)?;
    let len = tail.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(tail.len());
    let start = line.len() - tail.len() - 2;
    Some((line.get(..start)?, tail.get(len..)?))
}

/// Where two logs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Difference<'a> {
    /// The number of the line, from 1.
    pub line: usize,
    /// That line of ours; `None` if the log has ended.
    pub ours: Option<&'a str>,
    /// And of the kernel's.
    pub theirs: Option<&'a str>,
}

/// The first line where two logs differ.
pub fn first_difference<'a>(ours: &'a str, theirs: &'a str) -> Option<Difference<'a>> {
    let (mut a, mut b) = (ours.lines(), theirs.lines());
    for line in 1.. {
        match (a.next(), b.next()) {
            (None, None) => return None,
            (ours, theirs) if ours == theirs => {}
            (ours, theirs) => return Some(Difference { line, ours, theirs }),
        }
    }
    None
}

/// The line with the reason for a rejection: the last one that is neither statistics, nor empty,
/// nor part of an explanation. Kernels since 7.3 explain some messages; another may follow.
pub fn reason(log: &str) -> Option<&str> {
    let (mut explains, mut last) = (false, None);
    for line in log.lines() {
        if !is_explained(line, &mut explains) && is_told(line) {
            last = Some(line);
        }
    }
    last
}

/// Whether a line says something, other than statistics.
fn is_told(line: &str) -> bool {
    let statistics =
        ["processed ", "stack depth ", "verification time ", "mark_precise: ", "insns processed "];
    let counts = line.starts_with("subprog ") && line.contains(" insns_self ");
    !line.trim().is_empty() && !counts && !statistics.iter().any(|it| line.starts_with(it))
}

/// Whether the line is part of an explanation, after one that was (`explains`): its first line, a
/// heading, an indented or an empty line.
fn is_explained(line: &str, explains: &mut bool) -> bool {
    let of_it = is_heading(line) || line.starts_with(' ') || line.is_empty();
    *explains = line.starts_with(EXPLANATION) || *explains && of_it;
    *explains
}

/// Whether the line is words and a colon: `Reason:`, `Causal path:`, `Active lock:`.
fn is_heading(line: &str) -> bool {
    let words = line.strip_suffix(':').unwrap_or_default();
    words.starts_with(char::is_uppercase)
        && words.chars().all(|c| c.is_ascii_alphabetic() || c == ' ')
}

/// How the first line of an explanation starts.
const EXPLANATION: &str = "Verification failed: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_read_by_name() {
        let log = "0: (95) exit\nverification time 12 usec\nstack depth 8+0\n\
                   processed 7 insns (limit 1000000) max_states_per_insn 1 total_states 2 peak_states 3 mark_read 4\n";
        let stats = KernelStats::parse(log).expect("a processed line");
        assert_eq!((stats.insns_processed, stats.verification_time_us), (7, 12));
        assert_eq!((stats.max_states_per_insn, stats.total_states), (1, 2));
        assert_eq!((stats.peak_states, stats.mark_read), (3, 4));
        assert_eq!(stats.stack_depth, "8+0");
        assert_eq!(KernelStats::parse("R0 !read_ok\n"), None);
    }

    #[test]
    fn the_reason_stands_before_what_explains_it() {
        let log = "3: (1f) r0 -= r1\nR0 tried to subtract pointer from scalar\n\n\
                   Verification failed: Register Type Safety\n\nSuggestion:\n  Keep it.\n\n\
                   verification time 3 usec\nstack depth max 0\n\
                   subprog 0 (f) main insns_self 4 insns_total 4 stack 0\nprocessed 4 insns\n";
        assert_eq!(reason(log), Some("R0 tried to subtract pointer from scalar"));
        let log = "invalid access to map value\n\nVerification failed: Memory Safety\n\nReason:\n  \
                   It is small.\n\nAt:\n  f @ f.c:1\n  >>> 6 | (85) call f#1\n\nSuggestion:\n  \
                   Keep it.\n\nR2 and R3 memory, len pair leads to invalid memory access\n\n\
                   Verification failed: Call Type Safety\n\nSuggestion:\n  Pass it.\n\n\
                   stack depth max 0\n";
        let last = "R2 and R3 memory, len pair leads to invalid memory access";
        assert_eq!(reason(log), Some(last));
        let (before, _) = log.rsplit_once("Verification failed: ").expect("two");
        assert_eq!(reason(before), Some(last), "not every message is explained");
        let log = "bpf_spin_unlock of different lock\n\nVerification failed: Resource Lifetime Safety\n\n\
                   At:\n  f @ f.c:1\n\nActive lock:\n  f @ f.c:1\n\nSuggestion:\n  Unlock it.\n\n";
        assert_eq!(reason(log), Some("bpf_spin_unlock of different lock"));
    }

    #[test]
    fn only_addresses_and_time_are_set_aside() {
        let map = Insn { code: 0x18, dst: 1, src: 1, ..Insn::default() };
        let number = Insn { src: 0, ..map };
        let log = [
            "  3   0: .1........ (18) r1 = 0xffff9",
            "0: (18) r1 = 0xffff8881       ; R1=map_ptr",
            "verification time 3 usec",
            "mark_precise: frame0: regs=r2 stack= before 0: (18) r1 = 0xffff8881",
            "2: (18) r1 = 0xff",
        ];
        let insns = [map, Insn::default(), number, Insn::default()];
        let expected = [
            "  3   0: .1........ (18) r1 = 0xADDRESS",
            "0: (18) r1 = 0xADDRESS ; R1=map_ptr",
            "mark_precise: frame0: regs=r2 stack= before 0: (18) r1 = 0xADDRESS",
            "2: (18) r1 = 0xff",
        ];
        let text = normalise(&log.join("\n"), &insns);
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn ids_of_kernel_functions_are_set_aside_and_numbers_of_helpers_are_not() {
        let kfunc = Insn { code: 0x85, src: 2, imm: 65472, ..Insn::default() };
        let helper = Insn { src: 0, imm: 1, ..kfunc };
        let log = "  0: .. (85) call bpf_f#65472\n0: (85) call bpf_f#65472      ; R0=1\n\
                   1: (85) call bpf_g#1          ; R0=2\n";
        let expected = "  0: .. (85) call bpf_f#BTF_ID\n0: (85) call bpf_f#BTF_ID ; R0=1\n\
                        1: (85) call bpf_g#1          ; R0=2\n";
        assert_eq!(without_btf_ids(log, &[kfunc, helper]), expected);
    }

    #[test]
    fn the_time_may_stand_behind_a_message() {
        let log = "a messageverification time 3 usec\nstack depth 0\nverification time 3 usec\n";
        assert_eq!(normalise(log, &[]), "a messagestack depth 0\n");
    }

    #[test]
    fn a_shorter_log_differs_where_it_ends() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        let at_2 = |ours, theirs| Some(Difference { line: 2, ours, theirs });
        assert_eq!(first_difference("a\n", "a\nb\n"), at_2(None, Some("b")));
        assert_eq!(first_difference("a\nx\n", "a\nb\n"), at_2(Some("x"), Some("b")));
    }
}
