//! Resolves a section name's target to the kernel type that the load names (`attach_btf_id`).

use crate::error::{Error, Result};
use crate::loader::{LoadClass, Loader};
use crate::options::OpenOptions;
use crate::sec_def::{SecDef, TargetKind};
use skep_btf::{Btf, Kind, TypeId};
use skep_program::{AttachTarget, Program, TargetFunction};
use std::sync::Arc;

/// Prefix of a target that belongs to the kernel itself, not to a module.
const KERNEL: &str = "vmlinux";

/// Looks a target up in the kernel's BTF. An error of class `attach` if the load needs a target
/// that is not named, or that the kernel does not have.
pub(crate) fn target(def: &SecDef<'_>, options: &OpenOptions) -> Result<AttachTarget> {
    let (prefix, kind) = match def.target_kind {
        TargetKind::None | TargetKind::StructOps => return Ok(AttachTarget::None),
        TargetKind::Program if options.as_in_file => {
            let named = def.target.filter(|name| !name.is_empty());
            return Ok(named.map_or(AttachTarget::None, |n| AttachTarget::Unresolved(n.to_owned())));
        }
        // Without a target program, libbpf looks for a kernel function.
        TargetKind::Program => ("", Kind::Func),
        TargetKind::Func(prefix) => (prefix, Kind::Func),
        TargetKind::TracepointTypedef => ("btf_trace_", Kind::Typedef),
    };
    let Some(name) = def.target.filter(|name| !name.is_empty()) else {
        let text = "the section name has no attach target; the loader must set it";
        return Err(match options.loader {
            Loader::Libbpf => Error::load(LoadClass::Attach, text),
            Loader::Any => Error::new(text),
        });
    };
    if let (TargetKind::Program, Some(target)) = (&def.target_kind, &options.target) {
        return function(target, name);
    }
    let is_alone = options.loader == Loader::Libbpf && !options.guess_ext_types;
    if matches!(def.target_kind, TargetKind::Program) && is_alone {
        let text = "the program whose function it replaces is not given";
        return Err(Error::load(LoadClass::Attach, format!("attach target '{name}': {text}")));
    }
    let Some(kernel) = &options.kernel_btf else {
        return Ok(AttachTarget::Unresolved(name.to_owned()));
    };
    let (module, name) = match name.split_once(':') {
        Some(("", name)) => (None, name),
        Some((module, name)) => (Some(module), name),
        None => (None, name),
    };
    let wanted = format!("{prefix}{name}");
    match find(kernel, module, &wanted, kind) {
        Some(id) => Ok(AttachTarget::Kernel { btf_id: id.0, name: name.to_owned() }),
        None => {
            let what = if kind == Kind::Func { "function" } else { "typedef" };
            let text = format!("attach target '{name}': the kernel's BTF has no {what} {wanted}");
            Err(Error::load(LoadClass::Attach, text))
        }
    }
}

/// A function of another program.
fn function(target: &Arc<Program>, name: &str) -> Result<AttachTarget> {
    let id = target.btf.as_ref().and_then(|btf| btf.find_by_name_kind(name, Kind::Func));
    let Some(id) = id else {
        let of = &target.name;
        let text = format!("attach target '{name}': program '{of}' has no such function");
        return Err(Error::load(LoadClass::Attach, text));
    };
    let function = TargetFunction { program: Program::clone(target), btf_id: id.0 };
    Ok(AttachTarget::Function(Arc::new(function)))
}

/// The first match in the kernel or its modules, or the one in the named module.
fn find(kernel: &Btf, module: Option<&str>, name: &str, kind: Kind) -> Option<TypeId> {
    let Some(module) = module else { return kernel.find_by_name_kind(name, kind) };
    let mut named = kernel.find_by_name(name).filter(|ty| ty.kind() == kind).map(|ty| ty.id());
    named.find(|&id| kernel.module_of(id).map_or(KERNEL, |(of, _)| of) == module)
}
