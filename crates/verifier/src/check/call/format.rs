//! Constant strings as arguments, and format strings.
//!
//! Kernel: `check_reg_const_str`, `check_bpf_snprintf_call` (6.18).

use crate::check::mem::map_value::{AccessSource, check_map_access, map_def};
use crate::check::mem::region::Span;
use crate::env::Env;
use crate::rejection::{CallFault, Check, Regno, Stop, reject};
use crate::state::reg::Reg;
use skep_program::MapDef;
use skep_uapi::bprintf::{self, Formats};
use skep_uapi::{MapType, errno};

/// Checks a pointer to a NUL-terminated constant string.
pub(crate) fn check_const_str(env: &Env<'_>, regno: u8) -> Check {
    let reg = env.reg(regno);
    let def = map_def(env.facts, &reg)?;
    if !(def.is_rdonly_prog() && def.frozen) {
        reject!(EACCES, CallFault::NotReadOnlyMap { regno: Regno(regno) });
    }
    if !reg.val.is_const() {
        reject!(EACCES, CallFault::NotConstantAddress { regno: Regno(regno) });
    }
    if !matches!(def.map_type, MapType::Array | MapType::Arena) {
        reject!(EACCES, CallFault::NoDirectValues);
    }
    let size = (def.value_size as i32).wrapping_sub(reg.off);
    let span = Span { regno, off: reg.off, size, zero_size_allowed: false };
    check_map_access(env, span, AccessSource::Helper)?;
    if def.max_entries != 1 {
        reject!(ENOTSUPP, CallFault::DirectAccessFailed);
    }
    if const_str(def, &reg).is_none() {
        reject!(EINVAL, CallFault::NotTerminated);
    }
    Ok(())
}

/// The string without its terminator.
fn const_str(def: &MapDef, reg: &Reg) -> Option<Vec<u8>> {
    let off = i64::from(reg.off).wrapping_add(reg.val.var_off.value as i64);
    let off = usize::try_from(off).ok()?;
    let mut text = Vec::new();
    for at in off.. {
        match def.initial_byte(at)? {
            0 => break,
            byte => text.push(byte),
        }
    }
    Some(text)
}

/// `bpf_snprintf(str, str_size, fmt, data, data_len)`.
pub(crate) fn check_snprintf(env: &Env<'_>) -> Check {
    let data_len = env.reg(5).val.var_off.value;
    if !data_len.is_multiple_of(8) {
        return Err(Stop::refuse_silently(errno::EINVAL, CallFault::FormatDataSize));
    }
    let fmt = env.reg(3);
    let def = map_def(env.facts, &fmt)?;
    let Some(text) = const_str(def, &fmt) else {
        return Err(Stop::bug("format string without end"));
    };
    let rules = env.facts.rules();
    let formats = Formats {
        chars: rules.chars_printed,
        after_pointers: rules.after_pointers_seen,
        beyond_ascii: rules.any_text_printed,
    };
    if !is_valid_format(&text, formats, data_len / 8) {
        reject!(EINVAL, CallFault::FormatString);
    }
    Ok(())
}

/// Whether there are enough arguments, and only conversions that programs may use. That there are
/// too many is an error of the call.
fn is_valid_format(fmt: &[u8], formats: Formats, args: u64) -> bool {
    bprintf::pieces(fmt, formats).is_some_and(|pieces| bprintf::arguments(&pieces) as u64 <= args)
}
