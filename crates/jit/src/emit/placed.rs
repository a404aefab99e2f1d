//! Emits blocks in another order (`opt::layout`).

use super::Emit;
use crate::Error;
use crate::op::{Op, Test};
use crate::opt::layout::Layout;
use std::ops::Range;

impl Emit<'_> {
    /// Emits the blocks of the function.
    pub(super) fn placed(&mut self, layout: &Layout) -> Result<(), Error> {
        for (number, range) in layout.order.iter().enumerate() {
            let follows = layout.order.get(number + 1).map(|next| next.start);
            match self.unrolled_at(range.start) {
                Some(_) => self.whole(range.clone(), follows)?,
                None => self.block(range.clone(), follows)?,
            }
            let Some(next) = follows else { continue };
            let split = self.unrolled_at(next).is_some_and(|looped| looped.sum.is_some());
            if layout.heads.binary_search(&next).is_ok() && !split {
                self.align_loop();
            }
            if next != range.end {
                self.flags = None;
                self.ends_here(range.clone());
            }
        }
        Ok(())
    }

    /// The end of a function's code, which is that of the last block emitted.
    pub(super) fn end_of(&mut self, func: usize) {
        let last = self.unit.layouts[func].as_ref().and_then(|layout| layout.order.last());
        last.into_iter().for_each(|last| self.ends_here(last.clone()));
    }

    /// Records that the last op of a block is not followed by the next op's code.
    fn ends_here(&mut self, range: Range<usize>) {
        let ops = &self.unit.ops[range.clone()];
        let last = ops.iter().rposition(|op| !op.is_nop()).unwrap_or_default();
        let last = (range.start + last) as u32;
        let end = self.asm.label();
        self.asm.bind(end);
        self.ends.extend((last..range.end as u32).map(|op| (op, end)));
    }

    /// Emits a block, and a jump if the block emitted next is not its successor.
    fn block(&mut self, range: Range<usize>, follows: Option<usize>) -> Result<(), Error> {
        let last = range.end - 1;
        let (op, next) = (self.unit.ops[last], range.end as u32);
        if op.target().is_none_or(|to| follows != Some(to as usize)) {
            return self.whole(range, follows);
        }
        self.ops(range.start..last)?;
        self.begin(last);
        self.at = last;
        match op {
            // Its jump target follows, so the former successor becomes the target.
            Op::Br { test, .. } if follows != Some(range.end) => {
                self.asm.span(last);
                let test = Test { cond: test.cond.negated(), ..test };
                self.written(Op::Br { test, to: next })
            }
            _ => Ok(()),
        }
    }

    /// Emits an unchanged block.
    fn whole(&mut self, range: Range<usize>, follows: Option<usize>) -> Result<(), Error> {
        let op = self.unit.ops[range.end - 1];
        self.ops(range.clone())?;
        let falls = !op.is_end() && follows != Some(range.end);
        // A jump to the next op emits nothing.
        if falls || matches!(op, Op::Jmp { to } if to as usize == range.end) {
            let to = self.target(range.end as u32);
            self.asm.jmp(to);
        }
        Ok(())
    }
}
