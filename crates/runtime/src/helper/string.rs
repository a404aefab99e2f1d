//! Helpers that read numbers from text and compare strings.

use crate::Errno;
use crate::run::Call;
use skep_mem::Bytes;
use skep_uapi::bprintf::is_space;

/// The default base: 16 after `0x`, 8 after `0`, else 10.
const AUTO: u32 = 0;

/// A parsed number: negative, magnitude, bytes consumed.
struct Parsed {
    negative: bool,
    magnitude: u64,
    len: usize,
}

/// Spaces, a sign, a prefix of the base, digits.
fn parse(text: &[u8], flags: u64) -> Result<Parsed, Errno> {
    let mut base = match flags {
        0 | 8 | 10 | 16 => flags as u32,
        _ => return Err(Errno::EINVAL),
    };
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let spaces = text.iter().take_while(|byte| is_space(**byte)).count();
    let mut at = spaces;
    let negative = text.get(at) == Some(&b'-');
    at += usize::from(negative);
    let rest = text.get(at..).unwrap_or_default();
    let prefixed = matches!(rest, [b'0', b'x' | b'X', ..]);
    if base == AUTO {
        base = match rest.first() {
            Some(b'0') if prefixed && rest.get(2).is_some_and(u8::is_ascii_hexdigit) => 16,
            Some(b'0') => 8,
            _ => 10,
        };
    }
    if base == 16 && prefixed {
        at += 2;
    }
    let digits = text.get(at..).unwrap_or_default();
    let digits = digits.iter().map_while(|byte| (*byte as char).to_digit(base));
    let (mut magnitude, mut count) = (0u64, 0);
    for digit in digits {
        let next = magnitude.checked_mul(base.into()).and_then(|n| n.checked_add(digit.into()));
        magnitude = next.ok_or(Errno::ERANGE)?;
        count += 1;
    }
    if count == 0 {
        return Err(Errno::EINVAL);
    }
    Ok(Parsed { negative, magnitude, len: at + count })
}

fn text(call: &Call) -> Bytes {
    call.bytes(0, call.arg(1) as usize)
}

/// `long bpf_strtol(buf, buf_len, flags, res)`.
pub(super) fn strtol(call: &Call) -> u64 {
    let value = parse(&text(call), call.arg(2)).and_then(|parsed| {
        let signed = i128::from(parsed.magnitude) * if parsed.negative { -1 } else { 1 };
        Ok((i64::try_from(signed).map_err(|_| Errno::ERANGE)?, parsed.len))
    });
    match value {
        Ok((value, len)) => {
            call.write(3, &value.to_ne_bytes());
            len as u64
        }
        Err(errno) => refuse(call, errno),
    }
}

/// There is no number: it is 0.
fn refuse(call: &Call, errno: Errno) -> u64 {
    call.zero(3, 8);
    errno.as_ret()
}

/// `long bpf_strtoul(buf, buf_len, flags, res)`.
pub(super) fn strtoul(call: &Call) -> u64 {
    match parse(&text(call), call.arg(2)) {
        Ok(Parsed { negative: true, .. }) => refuse(call, Errno::EINVAL),
        Ok(parsed) => {
            call.write(3, &parsed.magnitude.to_ne_bytes());
            parsed.len as u64
        }
        Err(errno) => refuse(call, errno),
    }
}

/// `long bpf_strncmp(s1, s1_sz, s2)`: `s2` is a constant, terminated string.
pub(super) fn strncmp(call: &Call) -> u64 {
    let size = call.arg(1) as u32 as usize;
    for n in 0..size {
        // The second string ends with a 0, which also ends the loop: no byte after it is read.
        let byte = |arg| call.mem(arg, n + 1).part(n, 1).array::<1>();
        let ([a], [b]) = (byte(0), byte(2));
        if a != b {
            return if a < b { -1i64 as u64 } else { 1 };
        }
        if a == 0 {
            break;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let value = |text: &str, base| {
            let parsed = parse(text.as_bytes(), base);
            parsed.map(|p| (p.negative, p.magnitude, p.len))
        };
        assert_eq!(value("12 ", 0), Ok((false, 12, 2)));
        assert_eq!(value(" -0x1fz", 0), Ok((true, 31, 6)));
        assert_eq!(value("0x", 0), Ok((false, 0, 1)));
        assert_eq!(value("0x", 16), Err(Errno::EINVAL));
        assert_eq!(value("077", 0), Ok((false, 63, 3)));
        assert_eq!(value("ff", 16), Ok((false, 255, 2)));
        assert_eq!(value("x", 0), Err(Errno::EINVAL));
        assert_eq!(value("99999999999999999999", 0), Err(Errno::ERANGE));
        assert_eq!(value("1", 3), Err(Errno::EINVAL));
    }
}
