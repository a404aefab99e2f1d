//! The format strings of `bpf_snprintf`, `bpf_trace_printk` and similar helpers: their pieces, or
//! that they are invalid. The verifier checks constant formats with it, the runtime all of them.
//!
//! Kernel: `bpf_bprintf_prepare` (6.18); compared for every conversion followed by every kind of
//! byte (`tests/exec/text.md`).

/// A piece of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes that stand for themselves.
    Text(&'a [u8]),
    /// What an argument is printed for.
    Argument(Conversion),
}

/// How an argument is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// `-`: padded with spaces on the right.
    pub left: bool,
    /// `0`: padded with zeros.
    pub zero: bool,
    /// `+`: non-negative numbers are printed with a sign.
    pub plus: bool,
    /// A space: non-negative numbers are printed with a space in place of the sign.
    pub space: bool,
    /// Minimum number of bytes.
    pub width: Option<u32>,
    /// What it is printed as.
    pub kind: ConversionKind,
}

/// What an argument is printed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionKind {
    /// `%d`, `%i`; with `l` or `ll` all 64 bits.
    Signed {
        /// All 64 bits.
        long: bool,
    },
    /// `%u`.
    Unsigned {
        /// All 64 bits.
        long: bool,
    },
    /// `%x`, `%X`.
    Hex {
        /// All 64 bits.
        long: bool,
        /// Large letters.
        upper: bool,
    },
    /// `%c`.
    Char,
    /// `%s`, `%pks`, `%pus`: the string at that address.
    Str {
        /// `u`: of the process.
        of_process: bool,
    },
    /// `%p`, `%px`, `%pK`.
    Pointer,
    /// `%ps`, `%pS`, `%pB`: the symbol at that address.
    Symbol,
    /// `%pi4`, `%pI4`, `%pi6`, `%pI6`: the IP address stored at that address.
    Ip {
        /// Bytes that are read: 4 or 16.
        bytes: usize,
        /// `I`: without leading zeros (4), with colons (6).
        readable: bool,
    },
}

/// What the formats of a kernel may have that those of others may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// `%c`.
    pub chars: bool,
    /// What follows `%p` counts. Otherwise one character of punctuation is skipped, even `%`.
    pub after_pointers: bool,
    /// Bytes beyond ASCII, as in UTF-8.
    pub beyond_ascii: bool,
}

impl Formats {
    /// Those of Linux 6.18.44.
    pub const V6_18: Formats = Formats { chars: true, after_pointers: true, beyond_ascii: true };
}

/// Largest field width, to which the kernel clamps.
const WIDTH_MAX: u32 = (1 << 23) - 1;

/// The kernel's `isspace`, of Latin-1.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ' | 0xa0)
}

/// The kernel's `ispunct`, of Latin-1.
fn is_punctuation(byte: u8) -> bool {
    byte.is_ascii_punctuation() || matches!(byte, 0xa1..=0xbf | 0xd7 | 0xf7)
}

/// The kernel's `isalnum`, of Latin-1.
fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || (byte >= 0xc0 && !is_punctuation(byte))
}

/// The pieces of a format without its terminator; `None` if programs may not use it.
pub fn pieces(format: &[u8], formats: Formats) -> Option<Vec<Piece<'_>>> {
    let mut found = Vec::new();
    let mut rest = format;
    while let Some(&first) = rest.first() {
        if first != b'%' {
            let len = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
            let (text, after) = rest.split_at(len);
            let plain = |byte: &u8| match byte.is_ascii() {
                true => !byte.is_ascii_control() || is_space(*byte),
                false => formats.beyond_ascii,
            };
            if !text.iter().all(plain) {
                return None;
            }
            found.push(Piece::Text(text));
            rest = after;
        } else if let [_, b'%', after @ ..] = rest {
            found.push(Piece::Text(&rest[..1]));
            rest = after;
        } else {
            let (conversion, mut after) = conversion(&rest[1..])?;
            let whole = &rest[..rest.len() - after.len()];
            if conversion.kind == ConversionKind::Char && !formats.chars
                || !whole.is_ascii() && !formats.beyond_ascii
            {
                return None;
            }
            // Kernels that skip a byte beyond ASCII refuse it elsewhere.
            let skipped = after.first().is_some_and(|byte| byte.is_ascii() || formats.beyond_ascii);
            let is_bare = || whole.iter().filter(|byte| byte.is_ascii_alphabetic()).eq(b"p");
            if !formats.after_pointers && skipped && is_bare() {
                after = &after[1..];
            }
            found.push(Piece::Argument(conversion));
            rest = after;
        }
    }
    Some(found)
}

/// How many arguments the pieces take.
pub fn arguments(pieces: &[Piece<'_>]) -> usize {
    pieces.iter().filter(|piece| matches!(piece, Piece::Argument(_))).count()
}

/// What follows a `%`, and the rest of the format.
fn conversion(mut rest: &[u8]) -> Option<(Conversion, &[u8])> {
    let flags = rest.iter().take_while(|byte| b"0+- ".contains(byte)).count();
    let (flags, after) = rest.split_at(flags);
    rest = after;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, after) = rest.split_at(digits);
    rest = after;
    let number =
        |sum: u32, digit: &u8| sum.saturating_mul(10).saturating_add((digit - b'0').into());
    let width = digits.iter().fold(0, number).min(WIDTH_MAX);
    let (kind, rest) = kind(rest)?;
    let has = |flag| flags.contains(&flag);
    let conversion = Conversion {
        left: has(b'-'),
        zero: has(b'0'),
        plus: has(b'+'),
        space: has(b' '),
        width: (!digits.is_empty()).then_some(width),
        kind,
    };
    Some((conversion, rest))
}

fn kind(rest: &[u8]) -> Option<(ConversionKind, &[u8])> {
    use ConversionKind as K;
    match rest {
        [b'p', tail @ ..] => pointer(tail),
        [b's', tail @ ..] => ends_word(tail).then_some((K::Str { of_process: false }, tail)),
        [b'c', tail @ ..] => Some((K::Char, tail)),
        [b'l', b'l', letter, tail @ ..] | [b'l', letter, tail @ ..]
            if number(*letter, true).is_some() =>
        {
            Some((number(*letter, true)?, tail))
        }
        [letter, tail @ ..] => Some((number(*letter, false)?, tail)),
        [] => None,
    }
}

fn number(letter: u8, long: bool) -> Option<ConversionKind> {
    match letter {
        b'd' | b'i' => Some(ConversionKind::Signed { long }),
        b'u' => Some(ConversionKind::Unsigned { long }),
        b'x' | b'X' => Some(ConversionKind::Hex { long, upper: letter == b'X' }),
        _ => None,
    }
}

/// A string conversion must not be followed by another letter.
fn ends_word(tail: &[u8]) -> bool {
    tail.first().is_none_or(|byte| is_space(*byte) || is_punctuation(*byte))
}

/// What follows `%p`; letters and digits after that are part of it.
fn pointer(tail: &[u8]) -> Option<(ConversionKind, &[u8])> {
    use ConversionKind as K;
    let kind = match tail {
        [whose @ (b'k' | b'u'), b's', rest @ ..] => {
            return ends_word(rest).then_some((K::Str { of_process: *whose == b'u' }, rest));
        }
        [letter @ (b'i' | b'I'), digit @ (b'4' | b'6'), ..] => {
            K::Ip { bytes: if *digit == b'4' { 4 } else { 16 }, readable: *letter == b'I' }
        }
        [b'K' | b'x', ..] => K::Pointer,
        [b's' | b'S' | b'B', ..] => K::Symbol,
        tail if ends_word(tail) => K::Pointer,
        _ => return None,
    };
    let swallowed = tail.iter().take_while(|byte| is_alphanumeric(**byte)).count();
    Some((kind, &tail[swallowed..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_takes_and_refuses() {
        let taken: &[&[u8]] = &[
            b"",
            b"plain",
            b"%d%i%u%x%X",
            b"%ld %lld %llX",
            b"%cb",
            b"%s|",
            b"%s",
            b"%p",
            b"%px9",
            b"%pi4x",
            b"%pks ",
            b"%pus",
            b"100%%",
            b"%+ 0-7d",
            b"a\x80b",
            b"%d\xc3",
            b"%s\xa0",
            b"\t\n\x0b",
        ];
        let refused: &[&[u8]] = &[
            b"%", b"%5", b"%l", b"%ll", b"%llld", b"%lc", b"%ls", b"%hd", b"%f", b"%#x", b"%.3d",
            b"%sb", b"%s\x80", b"%pz", b"%pi5", b"%pk", b"%pksa", b"\x01", b"\x7f", b"%*d",
        ];
        assert!(taken.iter().all(|format| pieces(format, Formats::V6_18).is_some()));
        assert!(refused.iter().all(|format| pieces(format, Formats::V6_18).is_none()));
    }

    #[test]
    fn formats_of_other_kernels() {
        let formats = Formats { chars: false, after_pointers: false, beyond_ascii: false };
        for (format, takes) in [
            (&b"%c"[..], None),
            (b"a\x80", None),
            (b"%d\xc3", None),
            (b"%p%d", Some(1)),
            (b"%p%", Some(1)),
            (b"%p%%", None),
            (b"%p", Some(1)),
            (b"%p %d", Some(2)),
            (b"%px%d", Some(2)),
            (b"%pxp%d", Some(2)),
            (b"%5p%d", Some(1)),
            (b"%px\xe9", None),
            (b"%p\xa1", None),
        ] {
            let found = pieces(format, formats).map(|found| arguments(&found));
            assert_eq!(found, takes, "{}", format.escape_ascii());
        }
    }

    #[test]
    fn pieces_say_what_the_format_says() {
        let found = pieces(b"a%-5lxb%%%pI6z", Formats::V6_18).expect("a format");
        assert_eq!(arguments(&found), 2);
        let [Piece::Text(b"a"), Piece::Argument(hex), Piece::Text(b"b"), Piece::Text(b"%"), ip] =
            found[..]
        else {
            panic!("{found:?}");
        };
        assert_eq!((hex.left, hex.zero, hex.width), (true, false, Some(5)));
        assert_eq!(hex.kind, ConversionKind::Hex { long: true, upper: false });
        let kind = ConversionKind::Ip { bytes: 16, readable: true };
        assert!(matches!(ip, Piece::Argument(ip) if ip.kind == kind));
    }
}
