//! What a program names in modules of the kernel: their BTF as descriptors, their ids as the
//! modules themselves count them.
//!
//! A [`Program`] counts the types of all modules behind those of the kernel; the kernel wants the
//! module's BTF beside the module's own id.

use crate::bpf::{self, errno_name};
use crate::maps::NotJudged;
use skep_btf::{Btf, TypeId};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_program::{AttachTarget, Program};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// BTF of the modules that a program names.
#[derive(Debug, Default)]
pub(crate) struct Modules(Vec<(String, OwnedFd)>);

impl Modules {
    /// Finds them.
    pub(crate) fn find(program: &Program) -> Result<Modules, NotJudged> {
        if let AttachTarget::Unresolved(name) = &program.attach {
            return Err(("attach target absent".to_owned(), name.clone()));
        }
        let mut modules = Modules::default();
        let Some(btf) = program.kernel_btf.as_deref() else { return Ok(modules) };
        let ids = program.insns.iter().filter_map(named_id);
        for id in ids.chain(attach_id(program)) {
            let Some((name, _)) = btf.module_of(id) else { continue };
            if modules.position(name).is_none() {
                modules.0.push((name.to_owned(), module_btf(name)?));
            }
        }
        Ok(modules)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| known == name)
    }

    /// The id as its module counts it, with the module's place here.
    fn own(&self, btf: &Btf, id: TypeId) -> Option<(usize, TypeId)> {
        let (name, own) = btf.module_of(id)?;
        Some((self.position(name)?, own))
    }

    /// Descriptors that calls name by index; 0 is the kernel's own.
    pub(crate) fn fd_array(&self) -> Vec<RawFd> {
        if self.0.is_empty() {
            return Vec::new();
        }
        std::iter::once(0).chain(self.0.iter().map(|(_, fd)| fd.as_raw_fd())).collect()
    }

    /// What the load names as its target: id, and the BTF of a module.
    pub(crate) fn target(&self, program: &Program) -> (u32, Option<RawFd>) {
        let Some(id) = attach_id(program) else { return (0, None) };
        let own = program.kernel_btf.as_deref().and_then(|btf| self.own(btf, id));
        own.map_or((id.0, None), |(at, own)| (own.0, Some(self.0[at].1.as_raw_fd())))
    }

    /// Makes ids of modules what the kernel takes.
    pub(crate) fn apply(&self, program: &Program, insns: &mut [Insn]) {
        let Some(btf) = program.kernel_btf.as_deref() else { return };
        for at in 0..insns.len() {
            let Some((module, own)) = named_id(&insns[at]).and_then(|id| self.own(btf, id)) else {
                continue;
            };
            insns[at].imm = own.0 as i32;
            match insns[at].is_ld_imm64() {
                false => insns[at].off = module as i16 + 1,
                true => {
                    if let Some(second) = insns.get_mut(at + 1) {
                        second.imm = self.0[module].1.as_raw_fd();
                    }
                }
            }
        }
    }
}

/// The type of the kernel that an insn names: a kfunc, or a variable.
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
            (why, name.to_owned())
        })?;
        // It may be gone by now.
        let Ok(fd) = bpf::btf_by_id(id) else { continue };
        if bpf::btf_name(&fd).is_ok_and(|of| of == name) {
            return Ok(fd);
        }
    }
}
