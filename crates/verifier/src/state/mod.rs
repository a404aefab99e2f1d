//! The verifier's state: registers, stacks, frames, references, checkpoints, and the arenas that
//! hold them.

pub(crate) mod arena;
pub(crate) mod chains;
pub(crate) mod checkpoint;
pub(crate) mod current_marks;
pub(crate) mod frame;
pub(crate) mod history;
pub(crate) mod ids;
pub(crate) mod loop_entries;
pub(crate) mod ranges;
pub(crate) mod reads;
pub(crate) mod ref_list;
pub(crate) mod reference;
pub(crate) mod refs;
pub(crate) mod reg;
pub(crate) mod reg_type;
pub(crate) mod slab;
pub(crate) mod stack;
pub(crate) mod transfers;
pub(crate) mod values;
pub(crate) mod verifier_state;
