//! The input of a program: packets of a capture, or one packet or context.

use super::capture::Capture;
use super::ctx_json::{self, CtxType};
use crate::flags::run::RunFlags;
use skep::Error;
use skep::runtime::{Ctx, Instance, takes_packet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Mutex;

/// Size of the packet, if none is given: the smallest Ethernet frame that the kernel accepts,
/// without checksum.
const PACKET_DEFAULT: usize = 60;

/// All inputs, and what they have in common.
pub(super) struct Inputs {
    pub(super) kind: Kind,
    /// Fields of a packet's context.
    pub(super) fields: Vec<(String, u64)>,
}

/// Where inputs come from.
pub(super) enum Kind {
    /// One packet, or one context of bytes.
    One(Vec<u8>),
    /// Packets, read by whichever thread wants some.
    Capture(Box<Mutex<Capture>>),
}

impl Inputs {
    /// A context with this input in it.
    pub(super) fn ctx(&self, instance: &Instance, bytes: &[u8]) -> Result<Ctx, crate::Error> {
        let prog_type = instance.prog_type();
        let made = match takes_packet(prog_type) {
            true => Ctx::packet(prog_type, bytes),
            false => Ctx::raw(prog_type, bytes),
        };
        let mut ctx = made.map_err(crate::Error::caused)?;
        for (name, value) in &self.fields {
            ctx.set_field(name, *value).map_err(|e| crate::Error::at("--ctx-json", e))?;
        }
        Ok(ctx)
    }
}

/// Reads what the flags name; of a capture, its header.
///
/// # Errors
///
/// One line: a file that cannot be read, an invalid capture, an unknown field.
pub(super) fn read(
    flags: &RunFlags,
    instance: &Instance,
    ctx_type: Option<&CtxType>,
) -> Result<Inputs, crate::Error> {
    let packets = takes_packet(instance.prog_type());
    for (name, file) in [("--pcap", &flags.pcap), ("--pcap-out", &flags.pcap_out)] {
        if let (Some(_), false) = (file, packets) {
            let prog_type = instance.prog_type();
            return Err(format!("{name}: programs of type {prog_type} take no packets").into());
        }
    }
    let mut kind = if let Some(path) = &flags.pcap {
        Kind::Capture(Box::new(Mutex::new(Capture::open(path)?)))
    } else if let Some(text) = &flags.hex {
        Kind::One(hex(text)?)
    } else if let Some(path) = &flags.data_file {
        Kind::One(data_file(path).map_err(|e| Error::io(path, "reading the file", e).to_string())?)
    } else if packets {
        Kind::One(vec![0; PACKET_DEFAULT])
    } else {
        Kind::One(vec![0; instance.ctx_bytes()])
    };
    let Some(text) = &flags.ctx_json else { return Ok(Inputs { kind, fields: Vec::new() }) };
    let json = ctx_json::read(text)?;
    if let (Kind::One(bytes), false) = (&mut kind, packets) {
        ctx_json::fill(&json, ctx_type, bytes)?;
        return Ok(Inputs { kind, fields: Vec::new() });
    }
    let inputs = Inputs { kind, fields: ctx_json::packet_fields(&json)? };
    // Fields that cannot be set are reported before a capture is run, not in the middle.
    inputs.ctx(instance, &[0; PACKET_DEFAULT])?;
    Ok(inputs)
}

/// Maximum size of an input: more than any program accepts.
const DATA_BYTES_MAX: u64 = 16 << 20;

fn data_file(path: &Path) -> io::Result<Vec<u8>> {
    let path = if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path };
    let mut bytes = Vec::new();
    File::open(path)?.take(DATA_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > DATA_BYTES_MAX {
        return Err(io::Error::other(format!("more than {DATA_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

/// Hex digits, with optional spaces, colons and `0x`.
pub(crate) fn hex(text: &str) -> Result<Vec<u8>, crate::Error> {
    let digits: String = text.replace("0x", "").split([' ', ':', '\n', ',']).collect();
    let wrong = || crate::Error::from("--hex: expected two hex digits per byte");
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|c| c.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| wrong());
    (0..digits.len()).step_by(2).map(byte).collect()
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
}
