//! The exception callback declared by a program: a decl tag `exception_callback:NAME` on its main
//! function.
//!
//! Kernel: `bpf_find_exception_callback_insn_off` (6.18).

use super::PassReject;
use crate::rejection::FuncFault;
use skep_btf::{FuncLinkage, Kind, TypeId};
use skep_program::Program;
use skep_uapi::errno;

/// First insn of the exception callback, if the program declares one.
pub(crate) fn find_exception_cb(prog: &Program) -> Result<Option<u32>, PassReject> {
    let (Some(main), Some(btf)) = (prog.func_info.first(), prog.btf.as_deref()) else {
        return Ok(None);
    };
    let refused = |errno, kind: FuncFault| Err(PassReject::at(0, errno, kind));
    let tags = btf.decl_tags(TypeId(main.type_id), None);
    let mut names = tags.filter_map(|tag| tag.strip_prefix("exception_callback:"));
    let Some(name) = names.next() else { return Ok(None) };
    if names.next().is_some() {
        return refused(errno::EEXIST, FuncFault::ExceptionCbTags);
    }
    let Some(id) = btf.find_by_name_kind(name, Kind::Func) else {
        return refused(errno::ENOENT, FuncFault::ExceptionCbUnknown { name: name.into() });
    };
    if btf.ty(id).func_linkage() != FuncLinkage::Global as u16 {
        return refused(errno::EINVAL, FuncFault::ExceptionCbLinkage { name: name.into() });
    }
    match prog.func_info.iter().rfind(|row| row.type_id == id.0).map(|row| row.insn_off.0) {
        None => refused(errno::EINVAL, FuncFault::ExceptionCbNoInfo),
        Some(0) => refused(errno::EINVAL, FuncFault::ExceptionCbIsMain),
        Some(start) if start > i32::MAX as u32 => {
            // The kernel takes the offset for an errno and prints nothing; if it is larger than any
            // errno, the caller of bpf(2) gets a meaningless number.
            let errno = start.wrapping_neg() as i32;
            let errno = if (1..=errno::MAX_ERRNO).contains(&errno) { errno } else { errno::EINVAL };
            let refusal = PassReject::at(0, errno, FuncFault::ExceptionCbNegative);
            Err(PassReject { open_line: true, ..refusal })
        }
        start => Ok(start),
    }
}
