//! References of a program to kernel modules: their BTF as descriptors, their ids in the modules'
//! own numbering.
//!
//! In a [`Program`], type ids of all modules follow those of the kernel; the kernel expects the
//! module's BTF and the module's own id.

use crate::bpf::{self, errno_name};
use crate::not_judged::{NoAttachTarget, NotJudged};
use skep_btf::{Btf, TypeId};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_program::{AttachTarget, Program};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// An insn that refers to a type of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) insn: usize,
    /// Index in [`Named::modules`].
    pub(crate) module: usize,
    /// The type in the module's numbering.
    pub(crate) id: u32,
}

/// References to modules in a program, and its attach target; determined without the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) modules: Vec<String>,
    pub(crate) places: Vec<Place>,
    /// The load's attach target: the id, and its module.
    pub(crate) target: (u32, Option<usize>),
}

impl Named {
    /// Reads it from a program.
    pub(crate) fn of(program: &Program) -> Result<Named, NoAttachTarget> {
        if let AttachTarget::Unresolved(name) = &program.attach {
            return Err(NoAttachTarget(name.clone()));
        }
        let mut named = Named::default();
        let target = attach_id(program);
        named.target.0 = target.map_or(0, |id| id.0);
        let Some(btf) = program.kernel_btf.as_deref() else { return Ok(named) };
        for (insn, id) in
            program.insns.iter().enumerate().filter_map(|(i, insn)| Some((i, named_id(insn)?)))
        {
            if let Some((module, id)) = named.own(btf, id) {
                named.places.push(Place { insn, module, id });
            }
        }
        if let Some((module, id)) = target.and_then(|id| named.own(btf, id)) {
            named.target = (id, Some(module));
        }
        Ok(named)
    }

    /// The id in its module's numbering, with the module's index here.
    fn own(&mut self, btf: &Btf, id: TypeId) -> Option<(usize, u32)> {
        let (name, own) = btf.module_of(id)?;
        let at = self.modules.iter().position(|known| known == name).unwrap_or_else(|| {
            self.modules.push(name.to_owned());
            self.modules.len() - 1
        });
        Some((at, own.0))
    }
}

/// BTF of the modules that a program refers to.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    named: Named,
    fds: Vec<OwnedFd>,
}

impl Modules {
    /// Finds the modules that a program refers to.
    pub(crate) fn find(program: &Program) -> Result<Modules, NotJudged> {
        Modules::open(Named::of(program)?)
    }

    /// Finds them.
    pub(crate) fn open(named: Named) -> Result<Modules, NotJudged> {
        let fds = named.modules.iter().map(|name| module_btf(name)).collect::<Result<_, _>>()?;
        Ok(Modules { named, fds })
    }

    /// Descriptors that calls refer to by index; 0 is the kernel itself.
    pub(crate) fn fd_array(&self) -> Vec<RawFd> {
        if self.fds.is_empty() {
            return Vec::new();
        }
        std::iter::once(0).chain(self.fds.iter().map(AsRawFd::as_raw_fd)).collect()
    }

    /// The load's attach target: the id, and the BTF of a module.
    pub(crate) fn target(&self) -> (u32, Option<RawFd>) {
        let (id, module) = self.named.target;
        (id, module.and_then(|at| self.fds.get(at)).map(AsRawFd::as_raw_fd))
    }

    /// Converts module references to the kernel's encoding.
    pub(crate) fn apply(&self, insns: &mut [Insn]) {
        for place in &self.named.places {
            let Some(insn) = insns.get_mut(place.insn) else { continue };
            insn.imm = place.id as i32;
            if !insn.is_ld_imm64() {
                insn.off = place.module as i16 + 1;
            } else if let (Some(second), Some(fd)) =
                (insns.get_mut(place.insn + 1), self.fds.get(place.module))
            {
                second.imm = fd.as_raw_fd();
            }
        }
    }
}

/// The kernel type that an insn refers to: a kfunc, or a variable.
fn named_id(insn: &Insn) -> Option<TypeId> {
    let calls = insn.code == BPF_JMP | BPF_CALL && insn.src == BPF_PSEUDO_KFUNC_CALL;
    let loads = insn.is_ld_imm64() && insn.src == BPF_PSEUDO_BTF_ID;
    (calls && insn.off == 0 || loads).then_some(TypeId(insn.imm as u32))
}

fn attach_id(program: &Program) -> Option<TypeId> {
    match &program.attach {
        AttachTarget::Kernel { btf_id, .. } => Some(TypeId(*btf_id)),
        AttachTarget::None | AttachTarget::Unresolved(_) | AttachTarget::Function(_) => None,
    }
}

fn module_btf(name: &str) -> Result<OwnedFd, NotJudged> {
    let mut id = 0;
    loop {
        id = bpf::btf_next_id(id).map_err(|errno| {
            let why = format!("no BTF of the module: {}", errno_name(errno.errno));
            NotJudged::new(why, name)
        })?;
        // It may have been unloaded.
        let Ok(fd) = bpf::btf_by_id(id) else { continue };
        if bpf::btf_name(&fd).is_ok_and(|of| of == name) {
            return Ok(fd);
        }
    }
}
