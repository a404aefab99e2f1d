//! The graph of a walk, for checking that runs stay inside of it: the states before each insn, and
//! the edges between them.
//!
//! A node holds only what changed since its predecessor. States are complete where paths were
//! pruned because a checkpoint covers them.

use skep_domain::Scalar;
use std::sync::Arc;

/// Index of no node.
pub const NONE: u32 = u32::MAX;

/// The claimed contents of a register or spilled register, without its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its type.
    pub kind: ClaimKind,
    /// It may also be NULL, or unknown if nothing depends on it.
    pub loose: bool,
    /// Fixed offset of a pointer; for a linked scalar, the constant difference.
    pub off: i32,
    /// The value, or the variable part of the offset.
    pub val: Scalar,
    /// Pointers of different classes point to different objects.
    pub class: u32,
}

/// The claimed type of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimKind {
    /// No claim.
    Nothing,
    /// A number.
    Scalar,
    /// A pointer into the stack of this frame.
    Stack(u32),
    /// A pointer into the packet: this many bytes after it exist, if not negative.
    Packet(i32),
    /// The end of the packet.
    PacketEnd,
    /// Any other pointer with a known offset.
    Pointer,
    /// A pointer about which nothing is claimed.
    Wild,
}

/// The claimed contents of eight bytes of stack: types byte by byte, lowest address first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotClaim {
    /// Bytes that are zero: bit i is the byte at address i.
    pub zero: u8,
    /// Low bytes that contain (the low part of) a spilled register.
    pub spilled: u8,
    /// That register; index of a claim.
    pub claim: u32,
}

/// A claim and the id that it shares with others; 0 if none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Index of a claim about a register or slot.
    pub claim: u32,
    /// The id, without flags.
    pub id: u32,
    /// Width in bits in which the constant of a linked scalar was added; 0 if none was.
    pub add: u8,
}

/// A complete state.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The frames, the entry frame first.
    pub frames: Vec<FrameState>,
}

/// A frame of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameState {
    /// Registers 0 to 10.
    pub regs: [Held; 11],
    /// Slots, topmost first.
    pub slots: Vec<Held>,
    /// Insn of the call in the caller.
    pub callsite: i32,
    /// Whether it is the frame of a callback of a helper.
    pub in_callback: bool,
}

/// One new claim.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Frame.
    pub frame: u8,
    /// Register, or, from [`SLOTS`] on, slot.
    pub at: u8,
    /// The new claim.
    pub held: Held,
}

/// [`Change::at`] of slot 0.
pub const SLOTS: u8 = 16;

/// A state before an insn.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The insn.
    pub insn: u32,
    /// First of the successors.
    pub child: u32,
    /// Next successor of the same predecessor.
    pub sibling: u32,
    /// Index of its first change; they end at the first change of the next node.
    pub changes: u32,
    /// Number of frames.
    pub depth: u8,
    /// Whether the last frame belongs to a callback of a helper.
    pub in_callback: bool,
    /// Index of the cut if the path was pruned here; otherwise [`NONE`].
    pub cut: u32,
}

/// A path was pruned: it continues as the checkpoint did.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Node of the checkpoint.
    pub to: u32,
    /// Its state as it was saved.
    pub state: Arc<State>,
    /// The parts of the state that mattered, by frame.
    pub matters: Vec<Matters>,
    /// All values were within those of the checkpoint, whether or not they mattered.
    pub within: bool,
}

/// The parts of a checkpoint's frame that mattered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Matters {
    /// Registers that may be read.
    pub live: u16,
    /// Of these, scalars whose values mattered.
    pub precise: u16,
    /// Slots that may be read.
    pub slots: u64,
    /// Of these, those whose values mattered.
    pub precise_slots: u64,
}

/// A walk.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// In the order of the walk.
    pub nodes: Vec<Node>,
    /// The changes of all nodes.
    pub changes: Vec<Change>,
    /// Claims of registers; the first is empty.
    pub claims: Vec<Claim>,
    /// Claims of slots; the first is empty.
    pub slots: Vec<SlotClaim>,
    /// The pruned paths.
    pub cuts: Vec<Cut>,
    /// First nodes of functions that are verified on their own.
    pub roots: Vec<u32>,
    /// First nodes of callbacks that run later.
    pub later: Vec<u32>,
}

impl Graph {
    /// The changes at node `id`.
    #[inline]
    pub fn changes_of(&self, id: u32) -> &[Change] {
        let id = id as usize;
        let end = self.nodes.get(id + 1).map_or(self.changes.len(), |next| next.changes as usize);
        &self.changes[self.nodes[id].changes as usize..end]
    }
}
