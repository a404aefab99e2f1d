//! From a section name's target to the kernel type that the load names (`attach_btf_id`).

use crate::sec_def::{SecDef, TargetKind};
use skep_btf::{Btf, Kind};
use skep_program::AttachTarget;

/// Looks a target up in the kernel's BTF.
pub(crate) fn target(def: &SecDef<'_>, kernel: Option<&Btf>) -> AttachTarget {
    let Some(name) = def.target.filter(|name| !name.is_empty()) else {
        return AttachTarget::None;
    };
    let (prefix, kind) = match def.target_kind {
        TargetKind::None | TargetKind::StructOps => return AttachTarget::None,
        TargetKind::Program => return AttachTarget::Unresolved(name.to_owned()),
        TargetKind::Func(prefix) => (prefix, Kind::Func),
        TargetKind::TracepointTypedef => ("btf_trace_", Kind::Typedef),
    };
    let found = kernel.and_then(|k| k.find_by_name_kind(&format!("{prefix}{name}"), kind));
    match found {
        Some(id) => AttachTarget::Kernel { btf_id: id.0, name: name.to_owned() },
        None => AttachTarget::Unresolved(name.to_owned()),
    }
}
