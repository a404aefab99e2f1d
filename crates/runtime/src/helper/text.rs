//! Kfuncs that search and compare strings at any address that belongs to skep.
//!
//! Kernel: `bpf_strcmp` and siblings (6.18), by behaviour; compared with its test runs. A string
//! without terminator is too long (E2BIG); a user address is out of range (ERANGE).

use super::probe::{self, Side};
use crate::Errno;
use crate::run::Call;

/// Maximum length of a string: `XATTR_SIZE_MAX`.
const LEN_MAX: usize = 65536;
/// Bytes read in one step if possible.
const CHUNK: usize = 64;

/// A string, read on demand.
struct Text {
    addr: u64,
    /// Index of the first byte of `chunk`.
    from: usize,
    chunk: [u8; CHUNK],
    len: usize,
}

impl Text {
    fn new(addr: u64) -> Result<Text, Errno> {
        let mut text = Text { addr, from: 0, chunk: [0; CHUNK], len: 0 };
        let first = text.byte(0).map(|_| ());
        first.or_else(|errno| probe::refuse(Side::Kernel, addr, 1).and(Err(errno)))?;
        Ok(text)
    }

    fn byte(&mut self, index: usize) -> Result<u8, Errno> {
        let at = index.wrapping_sub(self.from);
        if at < self.len {
            return Ok(self.chunk[at]);
        }
        let addr = self.addr.wrapping_add(index as u64);
        for len in [CHUNK, 8, 1] {
            if probe::read_owned(addr, &mut self.chunk[..len]).is_ok() {
                (self.from, self.len) = (index, len);
                return Ok(self.chunk[0]);
            }
        }
        Err(Errno::EFAULT)
    }

    /// All of it, without its terminator.
    fn whole(&mut self) -> Result<Vec<u8>, Errno> {
        let mut bytes = Vec::new();
        for index in 0..LEN_MAX {
            match self.byte(index)? {
                0 => return Ok(bytes),
                byte => bytes.push(byte),
            }
        }
        Err(Errno::E2BIG)
    }
}

/// The result of a kfunc that returns an int.
fn int(result: Result<usize, Errno>) -> u64 {
    result.map_or_else(Errno::as_int, |index| index as u64)
}

fn compare(call: &Call, case: fn(u8) -> u8) -> Result<u64, Errno> {
    let (mut a, mut b) = (Text::new(call.arg(0))?, Text::new(call.arg(1))?);
    for index in 0..LEN_MAX {
        let (x, y) = (case(a.byte(index)?), case(b.byte(index)?));
        match x.cmp(&y) {
            std::cmp::Ordering::Less => return Ok(u64::from(-1i32 as u32)),
            std::cmp::Ordering::Greater => return Ok(1),
            std::cmp::Ordering::Equal if x == 0 => return Ok(0),
            std::cmp::Ordering::Equal => {}
        }
    }
    Err(Errno::E2BIG)
}

/// `int bpf_strcmp(s1, s2)`.
pub(super) fn strcmp(call: &Call) -> u64 {
    compare(call, |byte| byte).unwrap_or_else(Errno::as_int)
}

/// `int bpf_strcasecmp(s1, s2)`: case-insensitive in ASCII and Latin-1.
pub(super) fn strcasecmp(call: &Call) -> u64 {
    let small = |byte: u8| match byte {
        b'A'..=b'Z' | 0xc0..=0xd6 | 0xd8..=0xde => byte + 32,
        byte => byte,
    };
    compare(call, small).unwrap_or_else(Errno::as_int)
}

/// The index of the first byte that is `wanted` or, if `end` is set, of the terminator.
fn find(call: &Call, wanted: u8, len: usize, end: bool) -> Result<usize, Errno> {
    let mut text = Text::new(call.arg(0))?;
    for index in 0..len.min(LEN_MAX) {
        match text.byte(index)? {
            byte if byte == wanted => return Ok(index),
            0 if end => return Ok(index),
            0 => return Err(Errno::ENOENT),
            _ => {}
        }
    }
    Err(if len < LEN_MAX { Errno::ENOENT } else { Errno::E2BIG })
}

/// `int bpf_strnchr(s, count, c)`.
pub(super) fn strnchr(call: &Call) -> u64 {
    int(find(call, call.arg(2) as u8, call.arg(1) as usize, false))
}

/// `int bpf_strchr(s, c)`.
pub(super) fn strchr(call: &Call) -> u64 {
    int(find(call, call.arg(1) as u8, LEN_MAX, false))
}

/// `int bpf_strchrnul(s, c)`.
pub(super) fn strchrnul(call: &Call) -> u64 {
    int(find(call, call.arg(1) as u8, LEN_MAX, true))
}

/// `int bpf_strrchr(s, c)`: the terminator counts as part of the string.
pub(super) fn strrchr(call: &Call) -> u64 {
    int(Text::new(call.arg(0)).and_then(|mut text| {
        let mut bytes = text.whole()?;
        bytes.push(0);
        bytes.iter().rposition(|byte| *byte == call.arg(1) as u8).ok_or(Errno::ENOENT)
    }))
}

/// `int bpf_strlen(s)`.
pub(super) fn strlen(call: &Call) -> u64 {
    int(find(call, 0, LEN_MAX, true))
}

/// `int bpf_strnlen(s, count)`.
pub(super) fn strnlen(call: &Call) -> u64 {
    let len = call.arg(1) as usize;
    match find(call, 0, len, true) {
        Err(Errno::ENOENT) => len as u64,
        found => int(found),
    }
}

/// The number of leading bytes that are, or are not, in the second string.
fn span(call: &Call, among: bool) -> Result<usize, Errno> {
    let (mut text, set) = (Text::new(call.arg(0))?, Text::new(call.arg(1))?.whole()?);
    for index in 0..LEN_MAX {
        let byte = text.byte(index)?;
        if byte == 0 || set.contains(&byte) != among {
            return Ok(index);
        }
    }
    Err(Errno::E2BIG)
}

/// `int bpf_strspn(s, accept)`.
pub(super) fn strspn(call: &Call) -> u64 {
    int(span(call, true))
}

/// `int bpf_strcspn(s, reject)`.
pub(super) fn strcspn(call: &Call) -> u64 {
    int(span(call, false))
}

/// The index of the second string in the first `len` bytes of the first.
fn position(call: &Call, len: usize) -> Result<usize, Errno> {
    let (mut text, mut wanted) = (Text::new(call.arg(0))?, Text::new(call.arg(1))?);
    for start in 0..LEN_MAX {
        let mut index = 0;
        loop {
            if index == LEN_MAX {
                return Err(Errno::E2BIG);
            }
            let byte = wanted.byte(index)?;
            if byte == 0 {
                return Ok(start);
            }
            if start + index >= len {
                return Err(Errno::ENOENT);
            }
            match text.byte(start + index)? {
                0 => return Err(Errno::ENOENT),
                other if other != byte => break,
                _ => index += 1,
            }
        }
    }
    Err(Errno::E2BIG)
}

/// `int bpf_strstr(s1, s2)`.
pub(super) fn strstr(call: &Call) -> u64 {
    int(position(call, LEN_MAX))
}

/// `int bpf_strnstr(s1, s2, len)`.
pub(super) fn strnstr(call: &Call) -> u64 {
    int(position(call, call.arg(2) as usize))
}
