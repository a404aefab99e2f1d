//! `HelperRow`: the helpers of one kind of program, as a table has them.

use super::id::HelperId;
use super::proto::HelperProto;
use crate::ProgType;

/// A set of helpers, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HelperSet(pub(crate) [u64; HelperId::COUNT.div_ceil(64)]);

impl HelperSet {
    /// No helper.
    pub const EMPTY: HelperSet = HelperSet([0; HelperId::COUNT.div_ceil(64)]);

    /// Is the helper in the set?
    pub const fn contains(&self, id: HelperId) -> bool {
        let i = id.index();
        self.0[i / 64] >> (i % 64) & 1 != 0
    }

    /// The helpers of the set, in the order of the ABI.
    pub fn iter(&self) -> impl Iterator<Item = HelperId> {
        HelperId::all().filter(|id| self.contains(*id))
    }
}

/// A set of attach types, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachSet(pub(crate) u64);

impl AttachSet {
    /// Whether the attach type is in the set. A set of all holds every number, including those that
    /// the kernel does not know.
    pub const fn contains(self, attach_type: u32) -> bool {
        self.0 == u64::MAX || (attach_type < 64 && self.0 >> attach_type & 1 != 0)
    }
}

/// The helpers of one kind of program.
#[derive(Debug)]
pub struct HelperRow {
    pub(crate) prog_type: ProgType,
    pub(crate) attach: AttachSet,
    pub(crate) target: &'static str,
    /// Those that have a prototype here.
    pub(crate) usable: HelperSet,
    /// Of those, the ones that the program's attach target forbids.
    pub(crate) not_in_probe: HelperSet,
    pub(crate) variants: &'static [&'static HelperProto],
    pub(crate) judged: bool,
}
