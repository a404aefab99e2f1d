//! Values and keys of maps: their size, the accesses that the map's flags permit, special fields in
//! the value, and constant values.
//!
//! Kernel: `check_map_access_type`, `check_map_access`, `bpf_map_direct_read` (6.18).

use super::region::{Span, check_mem_region_access};
use crate::check::mem::access::{AccessType, MemAccess, check_no_leak, mark_loaded_unknown};
use crate::env::{Env, Facts, MapView};
use crate::passes::const_regs::ConstMaps;
use crate::rejection::{Check, MemFault, Regno, Stop, reject};
use crate::state::reg::Reg;
use skep_btf::{FieldKind, SpecialField};
use skep_program::MapDef;
use skep_uapi::errno;
use skep_uapi::{MapFlags, MapType};

/// Who accesses the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessSource {
    /// A load or store.
    Direct,
    /// A helper.
    Helper,
}

/// A load or store through a pointer to a map key.
pub(super) fn access_key(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    if at.is_write() {
        reject!(EACCES, MemFault::MapKeyReadOnly { regno: Regno(at.regno) });
    }
    let key_size = map_def(env.facts, reg)?.key_size;
    check_mem_region_access(env, Span::of(at, off), key_size)?;
    mark_loaded_unknown(&mut env.walk, at);
    Ok(())
}

/// A load or store through a pointer to a map value.
pub(super) fn access_value(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    check_no_leak(env, at, "map")?;
    check_map_access_type(env, Span::of(at, off), at.ty)?;
    check_map_access(env, Span::of(at, off), AccessSource::Direct)?;
    let def = map_def(env.facts, reg)?;
    let var = reg.val.var_off;
    if var.is_const() {
        let at_off = i64::from(off).wrapping_add(var.value as i64);
        let field =
            env.facts.fields_of(reg).iter().find(|f| i64::from(f.offset) == at_off).cloned();
        if let Some(field) = field.filter(|f| f.kind.is_pointer()) {
            return super::kptr::access_kptr(env, at, &field);
        }
    }
    let Some(value_regno) = at.value_regno.filter(|_| at.ty == AccessType::Read) else {
        return Ok(());
    };
    if var.is_const() && is_constant(def) {
        let at_off = i64::from(off).wrapping_add(var.value as i64);
        let value = direct_read(def, at_off, at)?;
        env.set_reg(value_regno, Reg::constant(value));
    } else {
        mark_loaded_unknown(&mut env.walk, at);
    }
    Ok(())
}

/// The map that a map pointer, key or value belongs to.
pub(crate) fn map_def<'a>(facts: &Facts<'a>, reg: &Reg) -> Check<&'a MapDef> {
    match reg.map().and_then(|i| facts.maps.get(i as usize)) {
        Some(view) => Ok(view.def),
        None => Err(Stop::bug("map pointer without map")),
    }
}

/// Checks that the map's flags allow programs to read or write.
pub(crate) fn check_map_access_type(env: &Env<'_>, span: Span, ty: AccessType) -> Check {
    let def = map_def(env.facts, &env.reg(span.regno))?;
    let rdonly = def.is_rdonly_prog();
    let wronly = !rdonly && def.map_flags.contains(MapFlags::WRONLY_PROG);
    let Span { off, size, .. } = span;
    let value_size = def.value_size;
    if ty == AccessType::Write && rdonly {
        reject!(EACCES, MemFault::MapReadOnlyForProg { value_size, off, size });
    }
    if ty == AccessType::Read && wronly {
        reject!(EACCES, MemFault::MapWriteOnlyForProg { value_size, off, size });
    }
    Ok(())
}

/// Checks that the span is within the value and does not touch fields that the kernel manages.
pub(crate) fn check_map_access(env: &Env<'_>, span: Span, source: AccessSource) -> Check {
    let reg = env.reg(span.regno);
    let value_size = map_def(env.facts, &reg)?.value_size;
    check_mem_region_access(env, span, value_size)?;
    let first = reg.val.smin.wrapping_add(i64::from(span.off));
    let end = reg.val.umax.wrapping_add((i64::from(span.off) + i64::from(span.size)) as u64);
    let touched = |f: &&SpecialField| {
        first < i64::from(f.offset) + i64::from(f.size) && u64::from(f.offset) < end
    };
    let touched: Vec<SpecialField> =
        env.facts.fields_of(&reg).iter().filter(touched).cloned().collect();
    for field in &touched {
        check_touches_field(&reg, span, field, source)?;
    }
    Ok(())
}

fn check_touches_field(reg: &Reg, span: Span, field: &SpecialField, source: AccessSource) -> Check {
    let name = field_type_name(field.kind);
    if !field.kind.is_pointer() {
        reject!(EACCES, MemFault::SpecialField { name });
    }
    if source != AccessSource::Direct {
        reject!(EACCES, MemFault::SpecialFieldByHelper { name });
    }
    let var = reg.val.var_off;
    if !var.is_const() {
        reject!(EACCES, MemFault::SpecialFieldVariable { name });
    }
    let off = (i64::from(span.off) as u64).wrapping_add(var.value);
    if u64::from(field.offset) != off {
        let expected = field.offset;
        reject!(EACCES, MemFault::SpecialFieldPart { name, expected, off });
    }
    if span.size != 8 {
        reject!(EACCES, MemFault::SpecialFieldSize { name });
    }
    Ok(())
}

/// Name of a field's kind in messages. Kernel: `btf_field_type_name`.
pub(crate) fn field_type_name(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::KptrUnref | FieldKind::KptrRef => "kptr",
        kind => kind.name(),
    }
}

/// Whether the values can no longer be changed. Kernel: `bpf_map_is_rdonly`.
fn is_constant(def: &MapDef) -> bool {
    def.is_rdonly_prog() && def.frozen && matches!(def.map_type, MapType::Array | MapType::Arena)
}

impl ConstMaps for Vec<MapView<'_>> {
    fn read(&self, map: u32, off: i64, bytes: u32) -> Option<u64> {
        let def = self.get(map as usize)?.def;
        let inside = (0..=i64::from(def.value_size) - i64::from(bytes)).contains(&off);
        if !is_constant(def) || def.max_entries != 1 || !inside {
            return None;
        }
        let from = off as usize;
        Some(
            (0..bytes as usize).rev().fold(0, |number, i| {
                number << 8 | u64::from(def.initial_byte(from + i).unwrap_or(0))
            }),
        )
    }
}

/// Reads the value of a constant map. Only maps with one element support this.
fn direct_read(def: &MapDef, off: i64, at: MemAccess) -> Check<u64> {
    if def.max_entries != 1 {
        return Err(Stop::refuse_silently(errno::ENOTSUPP, MemFault::MapOfManyReadOnce));
    }
    let mut bytes = [0u8; 8];
    for (i, byte) in bytes.iter_mut().take(at.size as usize).enumerate() {
        *byte = def.initial_byte(off as usize + i).unwrap_or(0);
    }
    let raw = u64::from_le_bytes(bytes);
    if !at.is_ldsx {
        return Ok(raw);
    }
    let up = 64 - 8 * at.size as u32;
    Ok((((raw << up) as i64) >> up) as u64)
}
