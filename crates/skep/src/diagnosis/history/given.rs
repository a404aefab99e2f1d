//! Why R1 to R5 hold nothing at the start of a function: nobody passed them.

use super::History;
use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{self, Described};
use crate::program::Program;
use crate::{Refusal, Step, WalkedPath};

/// The code of reading a register that holds nothing.
const NOTHING_READ: &str = "uninitialized-register";

impl History<'_> {
    /// What is passed to the function whose argument `regno` was never set, if the refusal is about
    /// that.
    pub(super) fn never_passed(
        &self,
        refusal: &Refusal,
        regno: u8,
        program: &Program,
        describe: &impl Fn(usize) -> Described,
    ) -> Option<Note> {
        let is_named = refusal.registers.first() == Some(&regno) && (1..=5).contains(&regno);
        if refusal.kind != NOTHING_READ || !is_named {
            return None;
        }
        let (call, passed) = self.entered();
        let set = match passed {
            0 => "no register is set".to_owned(),
            1 => "only R1 is set".to_owned(),
            last => format!("only R1 to R{last} are set"),
        };
        let text = match (call, &self.global) {
            (Some(call), _)
                if program.insns.get(call).is_some_and(|insn| insn.is_pseudo_call()) =>
            {
                return Some(notes::since(&format!("R{regno} is not set before"), call, describe));
            }
            (Some(call), _) => {
                let says = format!("{set} when the callback starts that is called by");
                return Some(notes::since(&says, call, describe));
            }
            (None, Some((name, _))) => format!(
                "{set} when `{name}` starts, a global function, which is verified on its own"
            ),
            (None, None) => format!("{set} when a program starts: to the context"),
        };
        Some(Note { text, at: None })
    }

    /// The insn that called the function of the last frame, and the last of the registers that it
    /// passed.
    fn entered(&self) -> (Option<usize>, u8) {
        let (mut walked, mut call, mut passed) = (None, None, 0);
        for step in self.path.into_iter().flat_map(WalkedPath::steps) {
            match step {
                Step::Insn { insn_idx, frame } => {
                    let before = walked.replace((*insn_idx as usize, *frame));
                    let enters = before.is_some_and(|(_, before)| before < self.frame);
                    if *frame == self.frame && enters {
                        call = before.map(|(insn_idx, _)| insn_idx);
                    }
                }
                Step::Register(now) if now.frame == self.frame && now.regno <= 5 => {
                    let is_start = match now.by {
                        None => self.frame == 0,
                        Some(by) => walked == Some((by as usize, self.frame.wrapping_sub(1))),
                    };
                    passed = if is_start { passed.max(now.regno) } else { passed };
                }
                _ => {}
            }
        }
        (call, passed)
    }
}
