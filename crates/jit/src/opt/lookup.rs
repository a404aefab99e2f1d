//! Inlines `bpf_map_lookup_elem` for arrays as a comparison and a multiplication, for per-CPU
//! arrays as two of each.
//!
//! The key is read from where the program stores it, so that a key on the stack may be moved to a
//! register.

use crate::Linkage;
use crate::op::{Addr, Op, Reg, Space, Src};
use crate::ops::Ops;
use skep_uapi::helper::HelperId;

/// Number of `bpf_map_lookup_elem`.
pub(crate) const BPF_FUNC_MAP_LOOKUP_ELEM: i32 = HelperId::MapLookupElem as i32;
/// Number of `bpf_map_update_elem`.
pub(crate) const BPF_FUNC_MAP_UPDATE_ELEM: i32 = HelperId::MapUpdateElem as i32;

pub(super) fn run(ops: &mut Ops, linkage: &Linkage) {
    for at in 0..ops.len() {
        if let Op::Call { helper: BPF_FUNC_MAP_LOOKUP_ELEM, map: Some(map) } = ops[at]
            && let Some(link) = linkage.maps.get(map as usize)
            && (link.array.is_some() || link.percpu.is_some())
        {
            // `address` may find the location of the key.
            let key = Src::Mem(Addr::new(Reg::R2, 0, Space::Shared));
            ops.set(at, Op::ArrayLookup { map, key });
        }
    }
}

/// The address of a value with a constant key; 0 if there is none.
pub(super) fn constant(linkage: &Linkage, map: u32, key: u32) -> Option<u64> {
    let link = linkage.maps.get(map as usize)?;
    let array = link.array?;
    let off = u64::from(key) * u64::from(array.stride_bytes);
    Some(if key < array.max_entries { link.values.wrapping_add(off) } else { 0 })
}
