//! The exception callback that a program names: a decl tag `exception_callback:NAME` on its main
//! function.
//!
//! Kernel: `bpf_find_exception_callback_insn_off` (6.18).

use super::{PassReject, errno};
use skep_btf::{FuncLinkage, Kind, TypeId};
use skep_program::Program;

/// First insn of the exception callback, if the program names one.
pub(crate) fn find_exception_cb(prog: &Program) -> Result<Option<u32>, PassReject> {
    let (Some(main), Some(btf)) = (prog.func_info.first(), prog.btf.as_deref()) else {
        return Ok(None);
    };
    let refused = |errno, message: String| Err(PassReject::at(0, errno, message));
    let tags = btf.decl_tags(TypeId(main.type_id), None);
    let mut names = tags.filter_map(|tag| tag.strip_prefix("exception_callback:"));
    let Some(name) = names.next() else { return Ok(None) };
    if names.next().is_some() {
        let text = "multiple exception callback tags for main subprog";
        return refused(errno::EEXIST, text.into());
    }
    let Some(id) = btf.find_by_name_kind(name, Kind::Func) else {
        return refused(
            errno::ENOENT,
            format!("exception callback '{name}' could not be found in BTF"),
        );
    };
    if btf.ty(id).func_linkage() != FuncLinkage::Global as u16 {
        return refused(
            errno::EINVAL,
            format!("exception callback '{name}' must have global linkage"),
        );
    }
    match prog.func_info.iter().rfind(|row| row.type_id == id.0).map(|row| row.insn_off.0) {
        None => refused(errno::EINVAL, "exception callback type id not found in func_info".into()),
        Some(0) => {
            refused(errno::EINVAL, "invalid exception callback insn_off in func_info: 0".into())
        }
        start => Ok(start),
    }
}
