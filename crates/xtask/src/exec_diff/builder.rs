//! The state of a random program under construction; `generate` and the files beside it add insns.

use skep::insn::Insn;
use skep::uapi::ProgType;
use skep_testkit::rng::Rng;

/// Words of the context.
pub(super) const WORDS: usize = 8;
/// Stack slots of 8 bytes that hold numbers.
pub(super) const SLOTS: u64 = 4;
pub(super) const CTX: u8 = 6;
pub(super) const FP: u8 = 10;

/// Names of programs that tail call each other.
pub(super) const PROGRAMS: [&str; 3] = ["main", "second", "third"];

/// The kind of a function in a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    /// Takes and returns numbers.
    Numbers,
    /// The body of a `bpf_loop`, with a pointer to one number.
    Body,
    /// Gets the context and makes a tail call.
    Tail,
}

/// A program under construction.
pub(super) struct Gen {
    pub(super) rng: Rng,
    pub(super) insns: Vec<Insn>,
    /// Calls of functions: insn, function index (the main function is 0).
    pub(super) calls: Vec<(usize, usize)>,
    /// The functions, from index 1.
    pub(super) functions: Vec<Function>,
    /// Number of loops around the current position.
    pub(super) loops: u32,
    /// Whether this is the main function, which has the context in r6.
    pub(super) main: bool,
    pub(super) kind: Kind,
    pub(super) size: u64,
}

/// What programs do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Compute on a context of words.
    Words,
    /// Compute on the first 64 bytes of a packet, and use maps.
    Maps,
    /// The same, and tail call each other.
    Tails,
    /// Use maps and a socket buffer.
    Skb,
    /// Sequences of operations on a packet (`sequences`).
    Sequences,
}

impl Kind {
    /// The type of the programs.
    pub(super) fn prog_type(self) -> ProgType {
        match self {
            Kind::Words => ProgType::Syscall,
            Kind::Maps | Kind::Tails => ProgType::Xdp,
            Kind::Skb | Kind::Sequences => ProgType::SchedCls,
        }
    }
}
