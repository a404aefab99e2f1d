//! Rewrites the transcripts of a suite. Claims written by hand are not touched.

use super::case::Case;
use super::check::record;
use super::read::read;
use skep::insn::Insn;
use std::ops::Range;

/// The insns of a case and the kernel's log, if there is a result.
pub type Answered = Option<(Vec<Insn>, String)>;

/// The suite with each transcript replaced by the result of `answer` for its case: the insns and
/// the log. A transcript without a result, or one that already matches, is not changed.
pub fn bless(text: &str, answer: &mut dyn FnMut(&Case) -> Answered) -> Result<String, String> {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for case in read(text)?.iter().filter(|case| !case.transcripts.is_empty()) {
        let Some((insns, log)) = answer(case) else { continue };
        for transcript in &case.transcripts {
            let new = record(transcript.kind, &log, &insns);
            if super::check::first_unmet(&transcript.text, &new).is_some() {
                edits.push((transcript.range.clone(), new));
            }
        }
    }
    let mut blessed = text.to_owned();
    for (range, new) in edits.into_iter().rev() {
        blessed.replace_range(range, &new);
    }
    Ok(blessed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_transcripts_that_do_not_hold_change() {
        let suite = "# S\n\n## A\n\n```bpf\nexit ; r0=1\n```\n\n```log\nold\n```\n\n```stats\nprocessed 1 insns\n```\n";
        let mut answer = |_: &Case| Some((Vec::new(), "new\nprocessed 1 insns\n".to_owned()));
        let blessed = bless(suite, &mut answer).expect("blessed");
        assert_eq!(blessed, suite.replace("old", "new"));
    }
}
