//! Operations on a known map call the function for that map type instead of the generic helper.

use super::lookup::{BPF_FUNC_MAP_LOOKUP_ELEM, BPF_FUNC_MAP_UPDATE_ELEM};
use crate::Linkage;
use crate::op::MapNumber;

/// Address of the function that replaces a helper for a map.
pub(crate) fn replacement(linkage: &Linkage, helper: i32, map: MapNumber) -> Option<u64> {
    let link = linkage.maps.get(map? as usize)?;
    let address = match helper {
        BPF_FUNC_MAP_LOOKUP_ELEM => link.lookup,
        BPF_FUNC_MAP_UPDATE_ELEM => link.update,
        _ => 0,
    };
    (address != 0).then_some(address)
}
