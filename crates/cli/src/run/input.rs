//! What a program runs on: packets of a capture, or one packet or context.

use super::pcap;
use crate::flags::RunFlags;
use skep::runtime::{Ctx, Instance, takes_packet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

/// Bytes of the packet, where none is given; the kernel's smallest Ethernet frame without its sum.
const PACKET_DEFAULT: usize = 60;

/// All inputs, in order.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) items: Vec<Item>,
    /// They came from a capture.
    pub(super) is_capture: bool,
    /// The capture is broken from here on.
    pub(super) broken: Option<String>,
    /// Fields of the context.
    pub(super) fields: Vec<(String, u64)>,
}

/// One packet, or one context of bytes.
pub(super) struct Item {
    pub(super) bytes: Vec<u8>,
    /// When it was captured, since 1970.
    pub(super) time: Duration,
}

impl Inputs {
    fn one(bytes: Vec<u8>) -> Inputs {
        let item = Item { bytes, time: Duration::ZERO };
        Inputs { items: vec![item], ..Inputs::default() }
    }

    /// A context with this input in it.
    pub(super) fn ctx(&self, instance: &Instance, item: &Item) -> Result<Ctx, String> {
        let prog_type = instance.prog_type();
        let made = match takes_packet(prog_type) {
            true => Ctx::packet(prog_type, &item.bytes),
            false => Ctx::raw(prog_type, &item.bytes),
        };
        let mut ctx = made.map_err(|e| e.to_string())?;
        for (name, value) in &self.fields {
            ctx.set_field(name, *value).map_err(|e| format!("--ctx-json: {e}"))?;
        }
        Ok(ctx)
    }
}

/// Reads what the flags name.
///
/// # Errors
///
/// One line: a file that cannot be read, a capture that is none.
pub(super) fn read(flags: &RunFlags, instance: &Instance) -> Result<Inputs, String> {
    let packets = takes_packet(instance.prog_type());
    let mut inputs = if let Some(path) = &flags.pcap {
        if !packets {
            let prog_type = instance.prog_type();
            return Err(format!("--pcap: a program of type {prog_type} gets no packets"));
        }
        pcap::read(path)?
    } else if let Some(text) = &flags.hex {
        Inputs::one(hex(text)?)
    } else if let Some(path) = &flags.data_file {
        Inputs::one(data_file(path).map_err(|e| format!("{}: {e}", path.display()))?)
    } else if packets {
        Inputs::one(vec![0; PACKET_DEFAULT])
    } else {
        Inputs::one(vec![0; instance.ctx_bytes()])
    };
    if let Some(text) = &flags.ctx_json {
        inputs.fields = fields(text)?;
    }
    Ok(inputs)
}

/// No input is longer, by far.
const DATA_BYTES_MAX: u64 = 16 << 20;

fn data_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(DATA_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > DATA_BYTES_MAX {
        return Err(io::Error::other(format!("more than {DATA_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

/// Hex digits, with spaces, colons and `0x` as one likes.
fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: String = text.replace("0x", "").split([' ', ':', '\n', ',']).collect();
    let wrong = || "--hex: two hex digits a byte are wanted".to_owned();
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|c| c.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| wrong());
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// `{"mark": 7, "cb": [1, 2]}`, or the file that holds it.
fn fields(text: &str) -> Result<Vec<(String, u64)>, String> {
    let wrong = |e: &dyn std::fmt::Display| format!("--ctx-json: {e}");
    let text = match text.trim_start().starts_with('{') {
        true => text.to_owned(),
        false => std::fs::read_to_string(text).map_err(|e| wrong(&format!("{text}: {e}")))?,
    };
    let all: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&text).map_err(|e| wrong(&e))?;
    let mut fields = Vec::new();
    for (name, value) in all {
        let number = |value: &serde_json::Value| {
            value.as_u64().ok_or_else(|| wrong(&format!("'{name}': {value} is no number")))
        };
        match &value {
            serde_json::Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    fields.push((format!("{name}[{at}]"), number(value)?));
                }
            }
            value => fields.push((name.clone(), number(value)?)),
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_digits() {
        assert_eq!(hex("0x01 ff:0A"), Ok(vec![1, 255, 10]));
        assert!(hex("123").is_err() && hex("zz").is_err() && hex("éé").is_err());
        assert!(hex("+f").is_err());
        assert_eq!(hex(""), Ok(vec![]));
    }

    #[test]
    fn fields_of_a_context() {
        let found = fields(r#"{"mark": 7, "cb": [1, 2]}"#).unwrap();
        let wanted = [("cb[0]", 1), ("cb[1]", 2), ("mark", 7)];
        let wanted: Vec<_> = wanted.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        assert_eq!(
            {
                let mut f = found;
                f.sort();
                f
            },
            wanted
        );
        assert!(fields(r#"{"mark": -1}"#).unwrap_err().contains("is no number"));
        assert!(fields("/no/such/file").is_err());
    }
}
