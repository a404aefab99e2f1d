//! The path to a rejection: which insns were executed, and what was known about registers, since
//! when.

use skep_verifier::trace::{Event, Listener, RegValue};
use std::collections::{BTreeMap, VecDeque};

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// An insn was processed.
    Insn {
        /// Its index.
        insn_idx: u32,
        /// Call frame, 0 for the entry function's.
        frame: u32,
    },
    /// A register changed.
    Register(Register),
}

/// What is known about a register, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// The insn that made it so; none at the start of a function.
    pub by: Option<u32>,
    /// Its call frame.
    pub frame: u32,
    /// Its number.
    pub regno: u8,
    /// What it holds.
    pub value: RegValue,
}

/// The current path; at the end of a verification, the one that led to the rejection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WalkedPath {
    steps: VecDeque<Step>,
    /// Number of steps dropped at the front, so that positions stay valid.
    dropped: usize,
    /// What the dropped steps said of registers last, by frame and number.
    before: BTreeMap<(u32, u8), Register>,
    /// Pending branches: the number of steps at that time, and the insn that branches.
    waiting: Vec<(usize, u32)>,
    bytes: usize,
    bytes_max: usize,
}

impl WalkedPath {
    /// A path that keeps about this many bytes, those at its end.
    pub(crate) fn new(bytes_max: usize) -> WalkedPath {
        WalkedPath { bytes_max, ..WalkedPath::default() }
    }

    /// The steps in order; the beginning of a long path may be missing.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.steps.iter()
    }

    /// What the missing beginning of a long path said of registers last.
    pub(crate) fn before(&self) -> impl Iterator<Item = &Register> {
        self.before.values()
    }

    /// The register facts in order.
    pub fn registers(&self) -> impl Iterator<Item = &Register> {
        self.steps.iter().filter_map(|step| match step {
            Step::Register(register) => Some(register),
            Step::Insn { .. } => None,
        })
    }

    /// The insns whose other branch is still pending, in order.
    pub fn waiting(&self) -> impl Iterator<Item = u32> {
        self.waiting.iter().map(|&(_, from)| from)
    }

    /// Call frame at the end.
    pub fn frame(&self) -> u32 {
        let frames = self.steps.iter().rev().find_map(|step| match step {
            Step::Insn { frame, .. } => Some(*frame),
            Step::Register(_) => None,
        });
        frames.unwrap_or(0)
    }

    fn push(&mut self, step: Step) {
        self.bytes += bytes(&step);
        // First, so that the queue does not grow for a step too many.
        while self.bytes > self.bytes_max
            && let Some(first) = self.steps.pop_front()
        {
            self.bytes -= bytes(&first);
            self.dropped += 1;
            self.note_dropped(first);
        }
        self.steps.push_back(step);
    }

    /// A register of the first function, for tests.
    #[cfg(test)]
    pub(crate) fn push_register(&mut self, regno: u8, value: RegValue) {
        let (by, frame) = (None, 0);
        self.push(Step::Register(Register { by, frame, regno, value }));
    }

    /// Keeps what a dropped step says of a register. Those of a function that has returned are not
    /// those of the next one in its frame.
    fn note_dropped(&mut self, step: Step) {
        match step {
            Step::Register(register) => {
                self.before.insert((register.frame, register.regno), register);
            }
            Step::Insn { frame, .. } => {
                while let Some(last) = self.before.last_entry()
                    && last.key().0 > frame
                {
                    last.remove();
                }
            }
        }
    }

    fn truncate(&mut self, len: usize) {
        // What is known of the dropped steps is from later ones, too.
        if len < self.dropped {
            self.before.clear();
        }
        while self.dropped + self.steps.len() > len
            && let Some(last) = self.steps.pop_back()
        {
            self.bytes -= bytes(&last);
        }
    }
}

fn bytes(step: &Step) -> usize {
    size_of::<Step>()
        + match step {
            Step::Register(register) => register.value.heap_bytes(),
            Step::Insn { .. } => 0,
        }
}

impl Listener for WalkedPath {
    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Function { .. } => *self = WalkedPath::new(self.bytes_max),
            Event::Insn { insn_idx, frame } => self.push(Step::Insn { insn_idx, frame }),
            Event::Registers(regs) => {
                for regno in regs.numbers() {
                    let (by, frame) = (regs.by, regs.frame);
                    let value = regs.value(regno);
                    self.push(Step::Register(Register { by, frame, regno, value }));
                }
            }
            Event::Waits { from, .. } => {
                self.waiting.push((self.dropped + self.steps.len(), from));
            }
            Event::GoesOn { .. } => {
                let (len, _) = self.waiting.pop().unwrap_or_default();
                self.truncate(len);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_verifier::trace::{Bounds, RegView};

    fn insns(path: &WalkedPath) -> Vec<u32> {
        let insn = |step: &Step| match step {
            Step::Insn { insn_idx, .. } => Some(*insn_idx),
            Step::Register(_) => None,
        };
        path.steps().filter_map(insn).collect()
    }

    #[test]
    fn what_another_branch_did_is_forgotten() {
        let mut path = WalkedPath::new(1 << 20);
        let insn = |path: &mut WalkedPath, insn_idx| path.tell(Event::Insn { insn_idx, frame: 0 });
        insn(&mut path, 0);
        path.tell(Event::Waits { from: 0, to: 9 });
        insn(&mut path, 1);
        path.tell(Event::Waits { from: 1, to: 5 });
        insn(&mut path, 2);
        path.tell(Event::GoesOn { from: 1, to: 5, speculative: false });
        insn(&mut path, 5);
        assert_eq!(insns(&path), [0, 1, 5]);
        path.tell(Event::GoesOn { from: 0, to: 9, speculative: false });
        assert_eq!(insns(&path), [0]);
    }

    #[test]
    fn of_the_beginning_of_a_long_path_the_last_values_are_kept() {
        let mut path = WalkedPath::new(4 * size_of::<Step>());
        let step = |frame| Step::Insn { insn_idx: 0, frame };
        path.push(step(0));
        for (frame, regno, number) in [(0, 6, 1), (0, 6, 2), (1, 1, 3)] {
            let value = RegView::number(Bounds::constant(number)).into();
            let register = Register { by: None, frame, regno, value };
            path.push(Step::Register(register));
        }
        let before = |path: &WalkedPath| -> Vec<String> {
            path.before().map(|it| it.value.to_string()).collect()
        };
        path.push(step(1));
        path.push(step(1));
        path.push(step(1));
        path.push(step(1));
        assert_eq!(before(&path), ["2", "3"]);
        for _ in 0..4 {
            path.push(step(0));
        }
        path.push(step(0));
        assert_eq!(before(&path), ["2"]);
        path.truncate(0);
        assert_eq!(before(&path), [""; 0]);
    }

    #[test]
    fn of_a_long_path_the_end_is_kept() {
        let mut path = WalkedPath::new(10 * size_of::<Step>());
        path.tell(Event::Waits { from: 0, to: 9 });
        for insn_idx in 0..100 {
            path.tell(Event::Insn { insn_idx, frame: 0 });
        }
        assert_eq!(insns(&path), (90..100).collect::<Vec<_>>());
        path.tell(Event::GoesOn { from: 0, to: 9, speculative: false });
        assert_eq!(insns(&path), [0; 0]);
    }
}
