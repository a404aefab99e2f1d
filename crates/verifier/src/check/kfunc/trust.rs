//! Kernel objects as arguments: whether the pointer is trusted, and whether its type is the
//! expected one.
//!
//! Kernel: `is_rcu_reg`, `process_kf_arg_ptr_to_btf_id` (6.18).

use super::arg_kind::{struct_of_base, type_str};
use super::ctx_type::is_projection_of;
use super::meta::Meta;
use crate::check::mem::kptr::{Pointee, btf_struct_ids_match};
use crate::env::Env;
use crate::rejection::{Check, KfuncFault, Regno, Stop, reject, unsupported};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::{Kind, Type, TypeId};
use skep_uapi::kfunc::KfuncFlags;

/// Modifiers that trusted pointers may have. Kernel: `BPF_REG_TRUSTED_MODIFIERS`.
const TRUSTED_MODIFIERS: TypeFlag =
    TypeFlag::MEM_ALLOC.union(TypeFlag::PTR_TRUSTED).union(TypeFlag::NON_OWN_REF);

/// Kernel: `bpf_type_has_unsafe_modifiers`.
fn has_unsafe_modifiers(ty: RegType) -> bool {
    !TRUSTED_MODIFIERS.contains(ty.flags)
}

/// Whether the object is valid until the RCU section ends.
fn is_rcu_reg(reg: &Reg) -> bool {
    reg.ty.has(TypeFlag::MEM_RCU)
}

/// Whether one type is an uninitialized version of the other (`nf_conn___init`).
///
/// Kernel: `btf_type_ids_nocast_alias`.
fn is_nocast_alias(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    long.strip_suffix("___init").is_some_and(|stem| stem == short)
}

impl Env<'_> {
    /// Checks that the pointer in R`regno` is as trusted as the kfunc requires.
    pub(super) fn check_trust(&self, meta: &Meta<'_>, reg: &Reg, regno: u8) -> Check {
        let rcu = meta.callee.has(KfuncFlags::RCU);
        if (!rcu && !meta.callee.wants_trusted_args) || reg.is_trusted() {
            return Ok(());
        }
        if !rcu {
            reject!(EINVAL, KfuncFault::Untrusted { regno: Regno(regno) });
        }
        if !is_rcu_reg(reg) {
            reject!(EINVAL, KfuncFault::NotRcu { regno: Regno(regno) });
        }
        Ok(())
    }

    /// Checks that argument `nth` is a pointer to a kernel object of type `want`.
    pub(super) fn process_kf_arg_ptr_to_btf_id(
        &mut self,
        meta: &Meta<'_>,
        want: Type<'_>,
        nth: usize,
    ) -> Check {
        let regno = nth as u8 + 1;
        let reg = self.facts.as_used(self.reg(regno));
        let is_object =
            reg.ty.base == Base::BtfId && (!has_unsafe_modifiers(reg.ty) || is_rcu_reg(&reg));
        let stands_for = struct_of_base(reg.ty.base);
        if !is_object && stands_for.is_none() {
            let expected = RegType { base: reg.ty.base, flags: reg.ty.flags & TRUSTED_MODIFIERS };
            let got = reg.ty;
            reject!(EINVAL, KfuncFault::NotObject { nth, got, expected });
        }
        let Some(kernel) = self.facts.prog.kernel_btf.clone() else {
            return unsupported("kernel objects without the kernel's BTF");
        };
        let (id, in_prog) = match (reg.ty.base, reg.extra, stands_for) {
            (Base::BtfId, Extra::Btf { id, in_prog }, _) => (TypeId(id), in_prog),
            (_, _, Some(name)) => match kernel.find_by_name_kind(name, Kind::Struct) {
                Some(id) => (id, false),
                None => return unsupported(format!("kernel without struct {name}")),
            },
            _ => return Err(Stop::bug("object without type")),
        };
        let btf = if in_prog { self.facts.prog.btf.clone() } else { Some(kernel.clone()) };
        let Some(btf) = btf else { return Err(Stop::bug("type without BTF")) };
        let got = btf.skip_modifiers(id);
        let releases = meta.callee.has(KfuncFlags::RELEASE) && reg.ref_obj_id != 0;
        let strict = releases || is_nocast_alias(got.name(), want.name());
        let (have, need) =
            (Pointee { id: got.id(), in_prog }, Pointee { id: want.id(), in_prog: false });
        let same = btf_struct_ids_match(self, have, reg.off, need, strict);
        if !same && !is_projection_of(want.name(), got.name()) {
            let name = meta.callee.name;
            let expected = format!("{} {}", type_str(want), want.name());
            let actual = format!("{} {}", type_str(got), got.name());
            reject!(
                EINVAL,
                KfuncFault::OtherObject {
                    name: name.into(),
                    nth,
                    expected: expected.into(),
                    regno: Regno(regno),
                    actual: actual.into()
                }
            );
        }
        Ok(())
    }
}
