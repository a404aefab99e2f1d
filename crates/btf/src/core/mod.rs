//! CO-RE: adapting insns to the types of the target kernel.
//!
//! A relocation names a type of the object's BTF and a path into it. The same path is looked up in
//! all types of that name in the target's BTF; the result (an offset, a size, a value) replaces
//! what the compiler wrote into the insn.
//!
//! `spec` parses and resolves paths, `candidates` finds the types of that name, `compat` decides
//! which of them match, `value` computes the result of a relocation, `patch` writes it, `explain`
//! says why one failed.
//!
//! Behaviour: libbpf 1.x (`Documentation/bpf/llvm_reloc.rst`, "CO-RE Relocations"), so that the
//! insns are equal to those that it passes to the kernel. Departures: values of unsigned 32-bit
//! enums are zero-extended; hostile types end in an error after `VISITS_MAX` steps.

mod candidates;
mod compat;
mod explain;
mod patch;
mod relo_kind;
mod spec;
#[cfg(test)]
mod tests;
mod value;

use crate::{Btf, CoreRelo, Error, Type, TypeId};
use candidates::candidates;
use compat::Matcher;
use rustc_hash::FxHashMap;
use skep_insn::Insn;
use spec::Spec;
use std::collections::hash_map::Entry;
use value::Resolution;

pub use patch::{CoreOutcome, POISON_IMM};
pub use relo_kind::ReloKind;

/// Whether a type of the object matches one of the target as far as the declaration of an extern
/// requires: kinds and shapes must agree, names and sizes need not.
pub fn types_fit(local: Type<'_>, target: Type<'_>) -> Result<bool, Error> {
    let mut matcher = Matcher::new(local.btf(), target.btf());
    matcher.types_fit(local.id(), target.id(), crate::layout::DEPTH_MAX)
}

/// Applies the relocations of one object, in order.
///
/// The order matters: as in libbpf, a candidate without a path that other candidates have is
/// excluded from all later relocations of the same root type.
pub struct Relocator<'a> {
    local: &'a Btf,
    targets: &'a [&'a Btf],
    /// The remaining candidates, by root type.
    candidates: FxHashMap<TypeId, Vec<(&'a Btf, TypeId)>>,
}

impl<'a> Relocator<'a> {
    /// For relocations of the types of `local`, the object's BTF.
    ///
    /// `targets` are the BTFs to search: the kernel's first, then modules'. Without any, only
    /// [`ReloKind::TypeIdLocal`] can be applied.
    pub fn new(local: &'a Btf, targets: &'a [&'a Btf]) -> Relocator<'a> {
        Relocator { local, targets, candidates: FxHashMap::default() }
    }

    /// Applies one relocation to `insns[insn_idx]`.
    ///
    /// `insns` is the section or program that the relocation is about, `insn_idx` the slot in it
    /// (`relo.insn_off / 8` for a whole section).
    pub fn relocate(
        &mut self,
        insns: &mut [Insn],
        insn_idx: usize,
        relo: &CoreRelo,
    ) -> Result<CoreOutcome, Error> {
        let local = self.local;
        let access = local.try_str(relo.access_str_off);
        let kind = ReloKind::from_number(relo.kind);
        let mut apply = || {
            let kind = kind.ok_or_else(|| Error::new(format!("unknown kind {}", relo.kind)))?;
            let access = access.ok_or_else(|| {
                Error::new(format!("access string {:#x} is out of range", relo.access_str_off))
            })?;
            let spec = Spec::parse(local, relo.type_id, access, kind)?;
            patch::apply(insns, insn_idx, &self.resolve(&spec, kind)?)
        };
        apply().map_err(|e: Error| {
            let (kind, access) = (kind.map_or("?", ReloKind::name), access.unwrap_or("?"));
            let name = local.type_name(relo.type_id);
            e.context(format!("CO-RE relocation of insn {insn_idx}: <{kind}> {name} ({access})"))
        })
    }

    /// Why a relocation is [`CoreOutcome::Poisoned`], in one line: what it asks for, and what the
    /// target has.
    pub fn explain(&self, relo: &CoreRelo) -> String {
        explain::explain(self.local, self.targets, relo)
    }

    /// The result on which all candidates agree.
    fn resolve(&mut self, local: &Spec<'a>, kind: ReloKind) -> Result<Resolution, Error> {
        if kind == ReloKind::TypeIdLocal {
            return Ok(Resolution::local_type_id(local.root));
        }
        if self.targets.is_empty() {
            return Err(Error::new("needs kernel BTF"));
        }
        let candidates = match self.candidates.entry(local.root) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(candidates(local, self.targets)?),
        };
        let mut matching = Vec::new();
        let mut agreed: Option<(Resolution, u64)> = None;
        for &(btf, id) in candidates.iter() {
            let Some(found) = Matcher::new(local.btf, btf).find(local, id, kind)? else { continue };
            matching.push((btf, id));
            let resolution = Resolution::of(local, Some(&found), kind)?;
            match &agreed {
                None => agreed = Some((resolution, found.bit_offset)),
                Some((_, bits)) if *bits != found.bit_offset => {
                    let m = format!("candidates disagree: bit {bits} and {}", found.bit_offset);
                    return Err(Error::new(m));
                }
                Some((other, _)) if !other.agrees_with(&resolution) => {
                    let m = format!("candidates disagree: {other} and {resolution}");
                    return Err(Error::new(m));
                }
                Some(_) => {}
            }
        }
        match agreed {
            Some((resolution, _)) => {
                *candidates = matching;
                Ok(resolution)
            }
            None => Resolution::of(local, None, kind),
        }
    }
}
