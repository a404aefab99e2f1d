//! Compares an engine's result with a case.

use super::case::{Case, TranscriptKind};
use super::claims::{Claims, pairs, value_agrees};
use skep::insn::Insn;
use skep::insn::asm::Assembly;
use skep_kernel::bpf::errno_name;
use skep_kernel::kernel_log;
use std::fmt::Write as _;

/// An engine's result.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The program was accepted.
    pub accepted: bool,
    /// errno of a rejection, otherwise 0.
    pub errno: i32,
    /// The log at the case's level with statistics, as printed by the engine.
    pub log: String,
}

/// All differences between the result and the case; empty if there are none.
pub fn check(case: &Case, assembly: &Assembly, evidence: &Evidence) -> Result<String, String> {
    let claims = Claims::read(&case.bpf)?;
    let mut wrong = String::new();
    verdict(&claims, assembly, evidence, &mut wrong);
    let errno = errno_name(evidence.errno);
    if let Some(wanted) = case.options.errno.as_ref().filter(|wanted| **wanted != errno) {
        let _ = writeln!(wrong, "errno is {errno}, expected {wanted}");
    }
    facts(&claims, assembly, evidence, &mut wrong);
    for transcript in &case.transcripts {
        let answer = record(transcript.kind, &evidence.log, &assembly.insns);
        if let Some(line) = first_unmet(&transcript.text, &answer) {
            let _ = writeln!(wrong, "{:?}: does not have this line: {line}", transcript.kind);
        }
    }
    if !wrong.is_empty() {
        let _ = write!(wrong, "the log:\n{}", evidence.log);
    }
    Ok(wrong)
}

fn verdict(claims: &Claims, assembly: &Assembly, evidence: &Evidence, wrong: &mut String) {
    let Some(reject) = &claims.reject else {
        if !evidence.accepted {
            let _ = writeln!(wrong, "refused, expected to be accepted");
        }
        return;
    };
    if evidence.accepted {
        let _ = writeln!(wrong, "accepted, expected to be refused: {}", reject.text);
        return;
    }
    if !evidence.log.contains(&reject.text) {
        let _ = writeln!(wrong, "refused for another reason than: {}", reject.text);
    }
    let at = evidence.log.lines().rev().find_map(|line| looped_at(line).or(insn_of(line)));
    let expected_line = at.and_then(|at| assembly.lines.get(at).copied());
    if let Some(line) = expected_line.filter(|&line| line != reject.line) {
        let _ = writeln!(wrong, "refused in line {line} of the block, expected {}", reject.line);
    }
}

fn facts(claims: &Claims, assembly: &Assembly, evidence: &Evidence, wrong: &mut String) {
    for fact in &claims.facts {
        let at = assembly.lines.iter().position(|&line| line == fact.line);
        let logged = at.and_then(|at| logged_after(&evidence.log, at));
        let state = logged.map_or("", state_of);
        let found = pairs(state).into_iter().find(|(key, _)| *key == fact.key);
        if !found.is_some_and(|(_, value)| value_agrees(&fact.value, value)) {
            let logged = logged.unwrap_or("(never walked)");
            let (key, value) = (&fact.key, &fact.value);
            let _ = writeln!(wrong, "line {}: no {key}={value} in: {logged}", fact.line);
        }
    }
}

/// The first line with the state after an insn: its own line or, if other lines follow
/// (`mark_precise: ...`), the one that starts with the index of the next insn, `6: R1=200`.
fn logged_after(log: &str, at: usize) -> Option<&str> {
    let mut lines = log.lines().skip_while(|line| insn_of(line) != Some(at));
    let own = lines.next()?;
    if own.contains(" ; ") {
        return Some(own);
    }
    let next = lines.take_while(|line| insn_of(line).is_none()).find(|line| {
        line.split_once(": ").is_some_and(|(index, _)| index.parse::<usize>().is_ok())
    });
    Some(next.unwrap_or(own))
}

fn state_of(line: &str) -> &str {
    match line.rsplit_once(" ; ") {
        Some((_, state)) => state,
        None if insn_of(line).is_none() => line,
        None => "",
    }
}

/// The index of the insn in a line of the log: `12: (95) exit`.
fn insn_of(line: &str) -> Option<usize> {
    let (index, rest) = line.split_once(": (")?;
    rest.get(2..3).filter(|&c| c == ")")?;
    index.parse().ok()
}

/// The insn in `infinite loop detected at insn 3`, which is not walked a second time.
fn looped_at(line: &str) -> Option<usize> {
    line.strip_prefix("infinite loop detected at insn ")?.parse().ok()
}

/// The part of a log that a transcript of this kind records.
pub(super) fn record(kind: TranscriptKind, log: &str, insns: &[Insn]) -> String {
    let is_statistics =
        |line: &str| line.starts_with("processed ") || line.starts_with("stack depth ");
    let log = kernel_log::normalise(log, insns);
    let log = kernel_log::without_btf_ids(&log, insns);
    if kind == TranscriptKind::Run {
        return log;
    }
    let kept = log.lines().filter(|line| match kind {
        TranscriptKind::Run => true,
        TranscriptKind::Log => !is_statistics(line),
        TranscriptKind::Stats => is_statistics(line),
    });
    kept.flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// The first line of `wanted` that does not match `answer`. Lines are consecutive unless `...` is
/// between; the first and last lines must be those of the answer.
pub(super) fn first_unmet<'a>(wanted: &'a str, answer: &str) -> Option<&'a str> {
    let answer: Vec<&str> = answer.lines().collect();
    let mut at = 0;
    let mut gap = false;
    for line in wanted.lines() {
        if line.trim() == "..." {
            gap = true;
            continue;
        }
        let mut rest = answer.iter().skip(at).map(|have| *have == line.trim_end());
        let found =
            if gap { rest.position(|same| same) } else { rest.next().filter(|&s| s).map(|_| 0) };
        let Some(skipped) = found else { return Some(line) };
        at += skipped + 1;
        gap = false;
    }
    if !gap && at < answer.len() { Some("(the end)") } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcripts_may_leave_lines_out() {
        assert_eq!(first_unmet("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_unmet("a\n...\nc\n", "a\nb\nc\n"), None);
        assert_eq!(first_unmet("a\n...\n", "a\nb\nc\n"), None);
        assert_eq!(first_unmet("b\n", "a\nb\n"), Some("b"));
        assert_eq!(first_unmet("x\n", "a\nb\n"), Some("x"));
        assert_eq!(first_unmet("a\n", "a\nb\n"), Some("(the end)"));
        assert_eq!(first_unmet("...\nx\n", "a\nb\n"), Some("x"));
    }

    #[test]
    fn a_state_may_stand_before_the_next_insn() {
        let log = "5: (0f) r2 += r1\nmark_precise: x\n6: R1=200 R2=fp200\n6: (95) exit\n";
        assert_eq!(logged_after(log, 5).map(state_of), Some("6: R1=200 R2=fp200"));
        assert_eq!(logged_after(log, 6).map(state_of), Some(""));
        assert_eq!(logged_after("0: (b7) r0 = 1 ; R0=1\n", 0).map(state_of), Some("R0=1"));
    }

    #[test]
    fn only_insns_are_taken_for_insns() {
        assert_eq!(insn_of("12: (95) exit"), Some(12));
        assert_eq!(insn_of("mark_precise: frame0: regs=r1 before 12: (95) exit"), None);
        assert_eq!(insn_of("from 1 to 3: R0=1"), None);
        assert_eq!(looped_at("infinite loop detected at insn 3"), Some(3));
    }
}
