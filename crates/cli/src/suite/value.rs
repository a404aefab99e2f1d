//! Keys and values of maps as written in a file of tests: numbers, or bytes (`0a 00 00 01`).

use super::file::{Entries, Number};
use crate::Error;
use crate::digits::hex;
use crate::run::{Single, map_errno};
use skep::runtime::map::{MapHandle, UpdateFlags};
use skep::uapi::MapType;
use skep_report::counted;

/// In place of a value whose key is absent.
const ABSENT: &str = "absent";

/// Puts entries into a map. A number for a per-CPU map is CPU 0's value; a string for a prog array
/// is a program's name.
///
/// # Errors
///
/// One line: there is no such map, or an entry does not fit.
pub(super) fn fill(single: &Single, name: &str, entries: &Entries) -> Result<(), Error> {
    let map = single.maps().get(name).map_err(Error::caused)?;
    for (key, value) in entries {
        let wrong =
            |why: Error| Error::at(format_args!("map '{}', key {key}", map.map().name()), why);
        if let (MapType::ProgArray, Number::Text(program)) = (map.map().map_type(), value) {
            let slot = key.parse().map_err(|_| wrong("expected a slot number".into()))?;
            single.set_program(name, slot, program).map_err(wrong)?;
            continue;
        }
        let bytes = bytes_of(&Number::Text(key.clone()), key_len(map)).map_err(wrong)?;
        let mut value = bytes_of(value, value_len(map)).map_err(wrong)?;
        value.resize(map.value_len(), 0);
        map.update(&bytes, &value, UpdateFlags::Any)
            .map_err(|errno| wrong(map_errno::meaning(map, &bytes, &value, errno).into()))?;
    }
    Ok(())
}

/// The value of a key, formatted like the expected one, and whether they are equal.
///
/// # Errors
///
/// One line: the key or the expected value does not fit the map.
pub(super) fn look(map: &MapHandle, key: &str, expected: &Number) -> Result<(Number, bool), Error> {
    let wrong = |why: Error| Error::at(format_args!("map '{}', key {key}", map.map().name()), why);
    let bytes = bytes_of(&Number::Text(key.to_owned()), key_len(map)).map_err(wrong)?;
    let is_absent = *expected == Number::Text(ABSENT.to_owned());
    let Ok(found) = map.lookup(&bytes) else {
        return Ok((Number::Text(ABSENT.to_owned()), is_absent));
    };
    let len = value_len(map);
    let is_bytes = matches!(expected, Number::Text(text) if is_bytes(text));
    if found.len() == len && (is_bytes || (is_absent && len > 8)) {
        let digits: Vec<String> = found.iter().map(|byte| hex([byte])).collect();
        let same = !is_absent && bytes_of(expected, len).map_err(wrong)? == found;
        return Ok((Number::Text(digits.join(" ")), same));
    }
    if is_bytes {
        let why = "expected a number: the values of all CPUs are added, because it is not known on \
                   which one the program runs";
        return Err(wrong(why.into()));
    }
    if len > 8 {
        return Err(wrong(format!("a value of {len} bytes is not a number").into()));
    }
    // For a per-CPU map the sum is compared, because the CPU of a run is not known.
    let stride = if found.len() == len { len } else { len.next_multiple_of(8) };
    let number = |value: &[u8]| {
        value[..len].iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let sum = found.chunks_exact(stride).map(number).fold(0u64, u64::wrapping_add);
    let bits = 8 * len as u32;
    let cut = |number: u64| if bits == 64 { number } else { number & ((1 << bits) - 1) };
    let same = !is_absent && number_of(expected).is_ok_and(|expected| cut(expected) == cut(sum));
    let shown = match i64::try_from(sum) {
        Ok(sum) => Number::Integer(sum),
        Err(_) => Number::Text(format!("{sum:#x}")),
    };
    Ok((shown, same))
}

fn key_len(map: &MapHandle) -> usize {
    map.map().shape().key_size as usize
}

/// Of one CPU.
fn value_len(map: &MapHandle) -> usize {
    map.map().shape().value_size as usize
}

fn is_bytes(text: &str) -> bool {
    text.trim().contains([' ', ':'])
}

/// A number, in little-endian order as in programs, or individual bytes.
fn bytes_of(number: &Number, len: usize) -> Result<Vec<u8>, Error> {
    if let Number::Text(text) = number
        && is_bytes(text)
    {
        let bytes: Result<Vec<u8>, _> =
            text.split([' ', ':']).map(|digits| u8::from_str_radix(digits, 16)).collect();
        let bytes = bytes.map_err(|_| "expected two hex digits per byte".to_owned())?;
        return match bytes.len() == len {
            true => Ok(bytes),
            false => Err(format!("{}, expected {len}", counted(bytes.len() as u64, "byte")).into()),
        };
    }
    let value = number_of(number)?;
    if len > 8 {
        return Err(
            format!("{len} bytes are not a number: expected bytes such as 0a 00 00 01").into()
        );
    }
    let all = value.to_le_bytes();
    let (kept, rest) = all.split_at(len);
    let sign = if number.to_string().trim().starts_with('-') { 0xff } else { 0 };
    match rest.iter().all(|byte| *byte == sign) {
        true => Ok(kept.to_vec()),
        false => Err(format!("{number} does not fit in {}", counted(len as u64, "byte")).into()),
    }
}

fn number_of(number: &Number) -> Result<u64, Error> {
    match number {
        Number::Integer(number) => Ok(*number as u64),
        Number::Text(text) => {
            let text = text.trim();
            let parsed = match (text.strip_prefix("0x"), text.strip_prefix('-')) {
                (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
                (None, Some(_)) => text.parse::<i64>().ok().map(|number| number as u64),
                (None, None) => text.parse().ok(),
            };
            parsed.ok_or_else(|| format!("'{text}' is neither a number nor bytes").into())
        }
    }
}
