//! Chains of calls: which functions, and how much stack each takes.

use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{Described, since};
use crate::insn_text::function_name;
use crate::program::Program;
use crate::verifier::ChainFrame;
use crate::{Refusal, Step, WalkedPath};

/// A chain with its stacks.
pub(super) fn notes(
    chain: &[ChainFrame],
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Vec<Note> {
    let function = |frame: &ChainFrame| {
        let name = function_name(program, frame.start as usize);
        match frame.stack_bytes {
            0 => format!("`{name}`"),
            bytes => format!("`{name}` ({bytes} bytes of stack)"),
        }
    };
    let functions: Vec<String> = chain.iter().map(function).collect();
    let mut notes = vec![of(&functions)];
    // The largest first, which is the one to reduce.
    let calls = chain.windows(2).filter_map(|two| Some((two[0].call?, &two[1])));
    if let Some((call, frame)) = calls.max_by_key(|(_, frame)| frame.stack_bytes)
        && frame.stack_bytes > 0
    {
        let name = function_name(program, frame.start as usize);
        notes.push(since(&format!("`{name}` is called at"), call as usize, describe));
    }
    notes
}

/// The first insn of the function in a chain that uses most stack.
pub(super) fn largest(chain: &[ChainFrame]) -> Option<usize> {
    chain.iter().max_by_key(|frame| frame.stack_bytes).map(|frame| frame.start as usize)
}

/// The call that closes a cycle of calls, which is rejected before the walk.
pub(super) fn recursive(program: &Program, refusal: &Refusal) -> Option<usize> {
    let (from, to) = (refusal.text("from")?, refusal.text("to")?);
    let starts: Vec<usize> = program.function_starts().collect();
    let is_call = |idx: &usize| {
        let insn = &program.insns[*idx];
        let target = usize::try_from(*idx as i64 + 1 + i64::from(insn.imm));
        let target = target.ok().filter(|target| insn.is_pseudo_call() && starts.contains(target));
        let within = starts.iter().rev().find(|&start| start <= idx);
        let is_named = |start: usize, name: &str| function_name(program, start) == name;
        within.is_some_and(|&start| is_named(start, from))
            && target.is_some_and(|target| is_named(target, to))
    };
    (0..program.insns.len()).find(is_call)
}

/// The functions active at the end of a path.
pub(super) fn of_path(path: &WalkedPath, program: &Program) -> Vec<Note> {
    let mut starts: Vec<usize> = Vec::new();
    for step in path.steps() {
        let Step::Insn { insn_idx, frame } = step else { continue };
        let frame = *frame as usize;
        starts.truncate(frame + 1);
        if starts.len() == frame {
            starts.push(*insn_idx as usize);
        }
    }
    let functions: Vec<String> =
        starts.iter().map(|&start| format!("`{}`", function_name(program, start))).collect();
    vec![of(&functions)]
}

fn of(functions: &[String]) -> Note {
    // A function that calls itself is listed once.
    let links: Vec<String> = functions
        .chunk_by(|a, b| a == b)
        .map(|same| match same.len() {
            1 => same[0].clone(),
            times => format!("{}, {times} times", same[0]),
        })
        .collect();
    Note { text: format!("call chain: {}", links.join(" > ")), at: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Session, VerifyOptions};

    #[test]
    fn one_that_calls_itself_stands_there_once() {
        let functions = ["`prog`", "`fact`", "`fact`", "`end`"].map(str::to_owned);
        assert_eq!(of(&functions).text, "call chain: `prog` > `fact`, 2 times > `end`");
    }

    #[test]
    fn the_chain_has_names_and_bytes() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/refusals/");
        let session = Session::default();
        let object = session.open_file(format!("{folder}combined_stack_too_large.bpf.o")).unwrap();
        let program = object.program("refused").unwrap();
        let verification = session.verify(program, &VerifyOptions::default());
        let told = notes(&verification.call_chain, program, &|_| None);
        assert_eq!(
            told[0].text,
            "call chain: `refused` > `outer` (320 bytes of stack) > `inner` (320 bytes of \
             stack)"
        );
        assert!(told[1].text.starts_with("`inner` is called at insn "), "{told:?}");
    }
}
