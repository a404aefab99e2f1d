//! The kernel's notation of scalars in its log.

use skep_domain::{Scalar, Tnum};

/// Reads the kernel's notation: a number, or `scalar(key=key=number,...,var_off=(value; mask))`.
pub(crate) fn scalar(text: &str) -> Option<Scalar> {
    let Some(facts) = text.strip_prefix("scalar(").and_then(|t| t.strip_suffix(')')) else {
        return Some(Scalar::constant(number(text)?));
    };
    let mut s = Scalar::unknown();
    for fact in facts.split(',').filter(|f| !f.is_empty()) {
        let (keys, value) = fact.rsplit_once('=')?;
        for key in keys.split('=') {
            let n = || number(value);
            match key {
                "smin" => s.smin = n()? as i64,
                "smax" => s.smax = n()? as i64,
                "umin" => s.umin = n()?,
                "umax" => s.umax = n()?,
                "smin32" => s.s32_min = n()? as i32,
                "smax32" => s.s32_max = n()? as i32,
                "umin32" => s.u32_min = n()? as u32,
                "umax32" => s.u32_max = n()? as u32,
                "var_off" => {
                    let inner = value.strip_prefix('(')?.strip_suffix(')')?;
                    let (value, mask) = inner.split_once("; ")?;
                    s.var_off = Tnum { value: number(value)?, mask: number(mask)? };
                }
                _ => return None,
            }
        }
    }
    Some(s)
}

pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse::<i64>().ok().map(|n| n as u64).or_else(|| text.parse().ok()),
    }
}
