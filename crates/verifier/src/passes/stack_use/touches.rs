//! The effects of callees on memory.

use skep_insn::Insn;

/// Set of four-byte halves of a frame: bit `n` is the half at `-4 * (n + 1)`.
pub(crate) type Halves = u128;

/// What is known about an argument before the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Nothing,
    Number(i64),
    /// Index of a map in the program's list.
    Map(u32),
}

/// The effect of a callee on a memory argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Nothing,
    /// Reads this many bytes; if unknown, everything above the address.
    Reads(Option<u32>),
    /// Overwrites this many bytes, and reads none.
    Writes(Option<u32>),
}

/// Source of the effects of helpers and kfuncs on memory.
pub(crate) trait Touches {
    /// Number of parameters of the callee of `insn`.
    fn params(&self, insn: &Insn) -> usize;
    /// The effect on the memory that parameter `nth` (from 0) points to.
    fn touch(&self, insn: &Insn, nth: usize, known: &dyn Fn(usize) -> Known) -> Touch;
    /// The callback that the call runs before it returns.
    fn callback(&self, insn: &Insn) -> Option<Callback>;
}

/// The parameters of a call that runs a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Callback {
    /// Index of the parameter that is the callback.
    pub(crate) function: usize,
    /// Index of the parameter that is passed on to it.
    pub(crate) context: usize,
    /// Index of the callback's parameter that receives it.
    pub(crate) taken_as: usize,
}
