//! What callees do to memory.

use skep_insn::Insn;

/// Set of four-byte halves of a frame: bit `n` is the half at `-4 * (n + 1)`.
pub(crate) type Halves = u128;

/// What is known of an argument before the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Nothing,
    Number(i64),
    /// Index of a map in the program's list.
    Map(u32),
}

/// What a callee does to memory that it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Nothing,
    /// Reads so many bytes; all above the address if that is not known.
    Reads(Option<u32>),
    /// Overwrites so many bytes, and reads none.
    Writes(Option<u32>),
}

/// Where the pass asks what helpers and kfuncs do to memory.
pub(crate) trait Touches {
    /// Parameters of what `insn` calls.
    fn params(&self, insn: &Insn) -> usize;
    /// What is done to the memory that parameter `nth` (from 0) points to.
    fn touch(&self, insn: &Insn, nth: usize, known: &dyn Fn(usize) -> Known) -> Touch;
    /// How the call runs a callback before it returns.
    fn callback(&self, insn: &Insn) -> Option<Callback>;
}

/// Where a call that runs a callback gets it and what it gives to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Callback {
    /// The parameter that is the callback.
    pub(crate) function: usize,
    /// The parameter that is handed on.
    pub(crate) context: usize,
    /// The callback's own parameter that gets it.
    pub(crate) taken_as: usize,
}
