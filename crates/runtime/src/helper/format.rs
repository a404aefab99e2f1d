//! `printf` as programs may use it.
//!
//! Kernel: `bpf_bprintf_prepare` (6.18): `%d %i %u %x %X %c %s %p` with `l`, `ll`, a width, flags
//! and `%%`. Pointers print as numbers; the kernel's `%pK`, `%pB` and the like are not modelled,
//! IP addresses (`%pi4`, `%pI4`, `%pi6`, `%pI6`) are.

use super::probe;
use crate::Errno;

/// `MAX_BPRINTF_VARARGS`.
const ARGS_MAX: usize = 12;
/// Bytes of a string that is printed.
const STRING_MAX: usize = 512;

/// Flags and width between `%` and the letter.
#[derive(Default)]
struct Spec {
    left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    width: usize,
    /// The argument has 64 bits.
    long: bool,
}

/// The text of a format with its arguments.
pub(super) fn format(format: &[u8], args: &[u64]) -> Result<String, Errno> {
    let format = format.split(|byte| *byte == 0).next().unwrap_or_default();
    if !format.iter().all(|b| (b.is_ascii() && !b.is_ascii_control()) || b.is_ascii_whitespace()) {
        return Err(Errno::EINVAL);
    }
    let mut text = String::new();
    let mut args = args.iter().copied().take(ARGS_MAX);
    let mut rest = format;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            text.push(byte as char);
            continue;
        }
        if let Some(after) = rest.strip_prefix(b"%") {
            text.push('%');
            rest = after;
            continue;
        }
        let (spec, after) = spec(rest);
        let (letter, after) = after.split_first().ok_or(Errno::EINVAL)?;
        rest = after;
        let arg = args.next().ok_or(Errno::EINVAL)?;
        rest = match letter {
            b'p' => pointer(&mut text, &spec, (arg, rest)),
            letter => {
                text.push_str(&pad(&one(*letter, &spec, arg)?, &spec));
                rest
            }
        };
    }
    Ok(text)
}

fn spec(mut rest: &[u8]) -> (Spec, &[u8]) {
    let mut spec = Spec::default();
    while let Some((&flag, after)) = rest.split_first() {
        match flag {
            b'-' => spec.left = true,
            b'0' => spec.zero = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.alternate = true,
            _ => break,
        }
        rest = after;
    }
    while let Some((digit @ b'0'..=b'9', after)) = rest.split_first() {
        spec.width = (spec.width * 10 + usize::from(digit - b'0')).min(STRING_MAX);
        rest = after;
    }
    while let Some(after) = rest.strip_prefix(b"l") {
        spec.long = true;
        rest = after;
    }
    (spec, rest)
}

fn one(letter: u8, spec: &Spec, arg: u64) -> Result<String, Errno> {
    let unsigned = if spec.long { arg } else { u64::from(arg as u32) };
    let signed = if spec.long { arg as i64 } else { i64::from(arg as i32) };
    let prefix =
        |prefix: &str| if spec.alternate && unsigned != 0 { prefix } else { "" }.to_owned();
    Ok(match letter {
        b'd' | b'i' => {
            let sign = match (signed < 0, spec.plus, spec.space) {
                (true, ..) => "-",
                (_, true, _) => "+",
                (_, _, true) => " ",
                _ => "",
            };
            format!("{sign}{}", signed.unsigned_abs())
        }
        b'u' => unsigned.to_string(),
        b'x' => prefix("0x") + &format!("{unsigned:x}"),
        b'X' => prefix("0X") + &format!("{unsigned:X}"),
        b'c' => char::from(arg as u8).to_string(),
        b's' => probe::string(arg, STRING_MAX)
            .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned()),
        _ => return Err(Errno::EINVAL),
    })
}

/// `%p` and the addresses behind it; what of the format follows.
fn pointer<'a>(text: &mut String, spec: &Spec, (arg, rest): (u64, &'a [u8])) -> &'a [u8] {
    let address = match rest {
        [b'i' | b'I', b'4', ..] => {
            probe::array::<4>(arg).map(|b| std::net::Ipv4Addr::from(b).to_string())
        }
        [b'i' | b'I', b'6', ..] => probe::array::<16>(arg).map(|bytes| {
            let groups = bytes.as_chunks::<2>().0.iter();
            groups.map(|[a, b]| format!("{a:02x}{b:02x}")).collect::<Vec<_>>().join(":")
        }),
        _ => {
            let known = matches!(rest, [b'K' | b'x' | b's' | b'S' | b'B', ..]);
            text.push_str(&pad(&format!("{arg:016x}"), spec));
            return if known { &rest[1..] } else { rest };
        }
    };
    text.push_str(&address.unwrap_or_default());
    &rest[2..]
}

fn pad(text: &str, spec: &Spec) -> String {
    let width = spec.width;
    if spec.left {
        return format!("{text:<width$}");
    }
    match text.strip_prefix('-') {
        Some(digits) if spec.zero => format!("-{digits:0>w$}", w = width.saturating_sub(1)),
        None if spec.zero => format!("{text:0>width$}"),
        _ => format!("{text:>width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_widths() {
        let text = |f: &str, args: &[u64]| format(f.as_bytes(), args);
        assert_eq!(text("a %d b %u\0junk", &[-5i64 as u64, 7]).unwrap(), "a -5 b 7");
        assert_eq!(text("%5d|%-5d|%05d", &[42, 42, -42i64 as u64]).unwrap(), "   42|42   |-0042");
        assert_eq!(text("%lx %X %#x", &[u64::MAX, 255, 16]).unwrap(), "ffffffffffffffff FF 0x10");
        assert_eq!(text("%c%%", &[65]).unwrap(), "A%");
        assert_eq!(text("%d", &[]), Err(Errno::EINVAL));
        assert_eq!(text("%q", &[1]), Err(Errno::EINVAL));
        assert_eq!(text("%", &[1]), Err(Errno::EINVAL));
    }
}
