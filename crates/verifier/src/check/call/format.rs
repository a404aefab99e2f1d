//! Constant strings as arguments, and format strings.
//!
//! Kernel: `check_reg_const_str`, `check_bpf_snprintf_call`, `bpf_bprintf_prepare` (6.18).

use crate::check::mem::map_value::{AccessSource, check_map_access, map_def};
use crate::check::mem::region::Span;
use crate::env::Env;
use crate::log::reject;
use crate::rejection::{Check, Stop, errno};
use crate::state::reg::Reg;
use skep_program::MapDef;
use skep_uapi::limits::MAX_BPRINTF_VARARGS;
use skep_uapi::{MapFlags, MapType};

/// A pointer to a terminated string that no one can change.
pub(crate) fn check_const_str(env: &mut Env<'_>, regno: u8) -> Check {
    let reg = env.reg(regno);
    let def = map_def(env, &reg)?;
    if !(def.map_flags.contains(MapFlags::RDONLY_PROG) && def.frozen) {
        reject!(env, EACCES, "R{regno} does not point to a readonly map'");
    }
    if !reg.val.is_const() {
        reject!(env, EACCES, "R{regno} is not a constant address'");
    }
    if !matches!(def.map_type, MapType::Array | MapType::Arena) {
        reject!(env, EACCES, "no direct value access support for this map type");
    }
    let size = (def.value_size as i32).wrapping_sub(reg.off);
    let span = Span { regno, off: reg.off, size, zero_size_allowed: false };
    check_map_access(env, span, AccessSource::Helper)?;
    if def.max_entries != 1 {
        let message = "direct value access on string failed".to_string();
        return Err(env.refuse(errno::ENOTSUPP, message));
    }
    if const_str(def, &reg).is_none() {
        reject!(env, EINVAL, "string is not zero-terminated");
    }
    Ok(())
}

/// The string without its terminator.
fn const_str<'d>(def: &'d MapDef, reg: &Reg) -> Option<&'d [u8]> {
    let off = i64::from(reg.off).wrapping_add(reg.val.var_off.value as i64);
    let bytes = def.contents.get(usize::try_from(off).ok()?..)?;
    let end = bytes.iter().position(|&b| b == 0)?;
    Some(&bytes[..end])
}

/// `bpf_snprintf(str, str_size, fmt, data, data_len)`.
pub(crate) fn check_snprintf(env: &mut Env<'_>) -> Check {
    let data_len = env.reg(5).val.var_off.value;
    if !data_len.is_multiple_of(8) {
        return Err(Stop::Reject { errno: errno::EINVAL, message: String::new() });
    }
    let fmt = env.reg(3);
    let def = map_def(env, &fmt)?;
    let Some(text) = const_str(def, &fmt) else {
        return Err(Stop::Bug("format string without end".to_string()));
    };
    if !is_valid_format(text, data_len / 8) {
        reject!(env, EINVAL, "Invalid format string");
    }
    Ok(())
}

/// Whether there are arguments enough, and only conversions that programs may use.
fn is_valid_format(fmt: &[u8], args: u64) -> bool {
    if args > MAX_BPRINTF_VARARGS as u64 {
        return false;
    }
    let printable = |b: &u8| (0x20..0x7f).contains(b) || b.is_ascii_whitespace() || *b == 0x0b;
    if !fmt.iter().all(printable) {
        return false;
    }
    let mut rest = fmt;
    let mut used = 0;
    while let Some(at) = rest.iter().position(|&b| b == b'%') {
        rest = &rest[at + 1..];
        if let [b'%', tail @ ..] = rest {
            rest = tail;
            continue;
        }
        used += 1;
        match specifier(rest) {
            Some(tail) if used <= args => rest = tail,
            _ => return false,
        }
    }
    true
}

/// What follows one conversion, if it is one that is allowed.
fn specifier(fmt: &[u8]) -> Option<&[u8]> {
    let skip = |fmt: &mut &[u8], set: &[u8]| {
        while let [b, tail @ ..] = *fmt
            && set.contains(b)
        {
            *fmt = tail;
        }
    };
    let mut rest = fmt;
    skip(&mut rest, b"0+- ");
    if let [b'1'..=b'9', ..] = rest {
        skip(&mut rest, b"0123456789");
    }
    match rest {
        [b'p', tail @ ..] => pointer_specifier(tail),
        [b's', tail @ ..] => ends_word(tail),
        [b'c', tail @ ..] => ends_word(tail),
        [b'l', b'l', conv, tail @ ..] | [b'l', conv, tail @ ..] if is_number(*conv) => Some(tail),
        [conv, tail @ ..] if is_number(*conv) => Some(tail),
        _ => None,
    }
}

fn is_number(conv: u8) -> bool {
    matches!(conv, b'i' | b'd' | b'u' | b'x' | b'X')
}

/// Strings, characters and pointers must not be followed by more letters.
fn ends_word(tail: &[u8]) -> Option<&[u8]> {
    match tail {
        [b, ..] if !(b.is_ascii_whitespace() || b.is_ascii_punctuation()) => None,
        _ => Some(tail),
    }
}

/// `%pks`, `%pus`, `%pB`, `%ps`, `%pi4`, ...
fn pointer_specifier(tail: &[u8]) -> Option<&[u8]> {
    match tail {
        [b'k' | b'u', b's', rest @ ..] => ends_word(rest),
        [b'i' | b'I', b'4' | b'6', rest @ ..] => Some(rest),
        [b'K' | b'x' | b's' | b'S', rest @ ..] => Some(rest),
        [b'B', rest @ ..] => Some(rest),
        [] => Some(tail),
        [b, ..] if b.is_ascii_whitespace() || b.is_ascii_punctuation() => Some(tail),
        _ => None,
    }
}
