//! The `printf` formats available to programs.
//!
//! Kernel: `bpf_bprintf_prepare`, `bstr_printf` (6.18). A pointer (`%p`, `%pK`) prints as its
//! value, where the kernel prints a hash; a symbol (`%ps`, `%pS`, `%pB`) as its address, as there
//! are no kernel symbols.
//!
//! Tests: `tests/exec/text.md`.

use super::probe;
use crate::Errno;
use skep_uapi::bprintf::{Conversion, ConversionKind, Formats, Piece, arguments, pieces};

/// `MAX_BPRINTF_BIN_ARGS`: total size of the arguments of a format, strings included.
const ARGUMENT_BYTES: usize = 512;

/// A truncated text, and its full length.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) bytes: Vec<u8>,
    pub(super) len: usize,
    /// Size of the buffer, including the terminator.
    size: usize,
}

impl Text {
    fn push(&mut self, bytes: &[u8]) {
        let room = self.size.saturating_sub(self.bytes.len() + 1).min(bytes.len());
        self.bytes.extend(&bytes[..room]);
        self.len += bytes.len();
    }

    /// A network address: beyond the end of the buffer the kernel does not count it.
    fn push_address(&mut self, bytes: &[u8]) {
        if self.len < self.size {
            self.push(bytes);
        }
    }

    fn fill(&mut self, byte: u8, count: usize) {
        let room = self.size.saturating_sub(self.bytes.len() + 1).min(count);
        self.bytes.resize(self.bytes.len() + room, byte);
        self.len += count;
    }
}

/// Size of the arguments so far.
struct Arguments(usize);

impl Arguments {
    /// Room for a number or an address.
    fn number(&mut self, bytes: usize) -> Result<(), Errno> {
        self.0 = self.0.next_multiple_of(4);
        self.take(bytes)
    }

    fn take(&mut self, bytes: usize) -> Result<(), Errno> {
        if self.left() < bytes {
            return Err(Errno::ENOSPC);
        }
        self.0 += bytes;
        Ok(())
    }

    fn left(&self) -> usize {
        ARGUMENT_BYTES.saturating_sub(self.0)
    }

    /// A string, truncated if there is no more room; empty if it cannot be read.
    fn string(&mut self, addr: u64) -> Result<Vec<u8>, Errno> {
        self.take(1)?;
        let string = probe::string(addr, self.left()).unwrap_or_default();
        self.take(string.len())?;
        Ok(string)
    }
}

/// The formatted text, truncated to a buffer of `size` bytes.
pub(super) fn format(format: &[u8], args: &[u64], size: usize) -> Result<Text, Errno> {
    let format = format.split(|byte| *byte == 0).next().unwrap_or_default();
    let pieces = pieces(format, Formats::V6_18).ok_or(Errno::EINVAL)?;
    if arguments(&pieces) > args.len() {
        return Err(Errno::EINVAL);
    }
    let mut text = Text { size, ..Text::default() };
    let (mut args, mut taken) = (args.iter().copied(), Arguments(0));
    for piece in pieces {
        match piece {
            Piece::Text(bytes) => text.push(bytes),
            Piece::Argument(how) => {
                let arg = args.next().ok_or(Errno::EINVAL)?;
                print(&mut text, &mut taken, how, arg)?;
            }
        }
    }
    Ok(text)
}

fn print(text: &mut Text, taken: &mut Arguments, how: Conversion, arg: u64) -> Result<(), Errno> {
    use ConversionKind as K;
    match how.kind {
        K::Signed { long } | K::Unsigned { long } | K::Hex { long, .. } => {
            taken.number(if long { 8 } else { 4 })?;
            number(text, how, arg);
        }
        K::Char => {
            taken.take(1)?;
            pad(text, Conversion { zero: false, ..how }, &[], &[arg as u8]);
        }
        K::Str { of_process } => {
            // There is no process whose memory could be read.
            let addr = if of_process { 0 } else { arg };
            let string = taken.string(addr)?;
            pad(text, Conversion { zero: false, ..how }, &[], &string);
        }
        K::Pointer => {
            taken.number(8)?;
            // The default width is that of an address.
            let full = Conversion { zero: true, width: Some(16), ..how };
            let how = if how.width.is_some() { how } else { full };
            pad(text, how, &[], format!("{arg:x}").as_bytes());
        }
        K::Symbol => {
            taken.number(8)?;
            pad(text, Conversion { zero: false, ..how }, &[], format!("{arg:#x}").as_bytes());
        }
        K::Ip { bytes, readable } => {
            let left = taken.left();
            if left < bytes {
                return Err(Errno::ENOSPC);
            }
            let address = ip(bytes, readable, arg);
            let shown = &address.as_bytes()[..address.len().min(left - 1)];
            taken.0 += address.len() + 1;
            text.push_address(shown);
        }
    }
    Ok(())
}

fn ip(bytes: usize, readable: bool, at: u64) -> String {
    if bytes == 4 {
        let [a, b, c, d] = probe::array::<4>(at).unwrap_or_default();
        return match readable {
            true => format!("{a}.{b}.{c}.{d}"),
            false => format!("{a:03}.{b:03}.{c:03}.{d:03}"),
        };
    }
    let bytes = probe::array::<16>(at).unwrap_or_default();
    let groups = bytes.as_chunks::<2>().0.iter();
    let groups: Vec<String> = groups.map(|[a, b]| format!("{a:02x}{b:02x}")).collect();
    groups.join(if readable { ":" } else { "" })
}

fn number(text: &mut Text, how: Conversion, arg: u64) {
    use ConversionKind as K;
    let narrow = |long: bool| if long { arg } else { u64::from(arg as u32) };
    let (sign, digits) = match how.kind {
        K::Signed { long } => {
            let value = if long { arg as i64 } else { i64::from(arg as i32) };
            let sign = match (value < 0, how.plus, how.space) {
                (true, ..) => "-",
                (_, true, _) => "+",
                (_, _, true) => " ",
                _ => "",
            };
            (sign, value.unsigned_abs().to_string())
        }
        K::Hex { long, upper: true } => ("", format!("{:X}", narrow(long))),
        K::Hex { long, .. } => ("", format!("{:x}", narrow(long))),
        K::Unsigned { long } => ("", narrow(long).to_string()),
        _ => ("", String::new()),
    };
    pad(text, how, sign.as_bytes(), digits.as_bytes());
}

/// Zeros are inserted after the sign, spaces around both.
fn pad(text: &mut Text, how: Conversion, sign: &[u8], rest: &[u8]) {
    let width = how.width.unwrap_or(0) as usize;
    let missing = width.saturating_sub(sign.len() + rest.len());
    let zero = how.zero && !how.left;
    if !how.left && !zero {
        text.fill(b' ', missing);
    }
    text.push(sign);
    if zero {
        text.fill(b'0', missing);
    }
    text.push(rest);
    if how.left {
        text.fill(b' ', missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_widths() {
        let text = |f: &str, args: &[u64]| {
            let text = format(f.as_bytes(), args, 65)?;
            Ok(String::from_utf8(text.bytes).unwrap())
        };
        assert_eq!(text("a %d b %u\0junk", &[-5i64 as u64, 7]).unwrap(), "a -5 b 7");
        assert_eq!(text("%5d|%-5d|%05d", &[42, 42, -42i64 as u64]).unwrap(), "   42|42   |-0042");
        assert_eq!(text("%lx %X", &[u64::MAX, 255]).unwrap(), "ffffffffffffffff FF");
        assert_eq!(text("%c%%", &[65]).unwrap(), "A%");
        assert_eq!(text("%d", &[]), Err(Errno::EINVAL));
        assert_eq!(text("%q", &[1]), Err(Errno::EINVAL));
        assert_eq!(text("%", &[1]), Err(Errno::EINVAL));
    }

    #[test]
    fn a_wide_field_takes_no_memory() {
        let text = format(b"%8000000d|", &[7], 5).unwrap();
        assert_eq!((text.bytes.as_slice(), text.len), (&b"    "[..], 8_000_001));
    }
}
