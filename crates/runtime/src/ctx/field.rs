//! Fields of a context by their names in the uapi struct.

use super::packet::Packet;
use crate::Error;
use skep_uapi::ProgType;
use skep_uapi::ctx::{CtxField, CtxLayout, CtxValue};

/// Fields derived from the packet cannot be set by the user.
const DERIVED: [&str; 3] = ["len", "protocol", "pkt_type"];

/// The field, and the offset in it, denoted by `name` or `name[index]`, with the access size.
fn find(prog_type: ProgType, name: &str) -> Option<(&'static CtxField, usize, usize)> {
    let (base, index) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        Some((base, index)) => (base, Some(index.parse::<u32>().ok()?)),
        None => (name, None),
    };
    let layout = CtxLayout::find(prog_type, 0)?;
    let field = layout.fields().iter().find(|field| field.name == base)?;
    let is_array = field.size > field.unit;
    let index = match (is_array, index) {
        (true, Some(index)) if index < field.size / field.unit => index,
        (false, None) => 0,
        _ => return None,
    };
    let off = usize::try_from(field.off).ok()? + (index * field.unit) as usize;
    (field.value == CtxValue::Scalar).then_some((field, off, field.unit as usize))
}

pub(super) fn get(packet: &Packet, prog_type: ProgType, name: &str) -> Option<u64> {
    let (_, off, size) = find(prog_type, name)?;
    let mut bytes = [0; 8];
    packet.region().read_part(packet.mirror() + off, bytes.get_mut(..size)?);
    Some(u64::from_le_bytes(bytes))
}

/// Every number of the uapi struct: `mark`, `cb[0]`.
pub(super) fn all(packet: &Packet, prog_type: ProgType) -> Vec<(String, u64)> {
    let fields = CtxLayout::find(prog_type, 0).map(CtxLayout::fields).unwrap_or_default();
    let names = fields.iter().flat_map(|field| {
        let count = field.size.checked_div(field.unit).unwrap_or(1).max(1);
        (0..count).map(move |n| match count {
            1 => field.name.to_owned(),
            _ => format!("{}[{n}]", field.name),
        })
    });
    names
        .filter_map(|name| Some((get(packet, prog_type, &name)?, name)))
        .map(|(value, name)| (name, value))
        .collect()
}

pub(super) fn set(
    packet: &mut Packet,
    prog_type: ProgType,
    name: &str,
    value: u64,
) -> Result<(), Error> {
    let unknown = || {
        let settable = |f: &&CtxField| f.value == CtxValue::Scalar && !DERIVED.contains(&f.name);
        let fields = CtxLayout::find(prog_type, 0).map(CtxLayout::fields).unwrap_or_default();
        let shown = |f: &CtxField| match f.size / f.unit {
            0 | 1 => f.name.to_owned(),
            count => format!("{0}[0] to {0}[{1}]", f.name, count - 1),
        };
        let names: Vec<String> = fields.iter().filter(settable).map(shown).collect();
        Error::input(format!("no field '{name}'; settable fields: {}", names.join(", ")))
    };
    let (field, off, size) = find(prog_type, name).ok_or_else(unknown)?;
    if DERIVED.contains(&field.name) {
        return Err(Error::input(format!("field '{name}' is derived from the packet")));
    }
    if size < 8 && value >> (8 * size) != 0 {
        return Err(Error::input(format!("{value} does not fit field '{name}' ({size} bytes)")));
    }
    let bytes = value.to_le_bytes()[..size].to_vec();
    let at = packet.mirror() + off;
    packet.region().write_part(at, &bytes);
    packet.fixed.retain(|(fixed, _)| *fixed != at);
    packet.fixed.push((at, bytes));
    Ok(())
}
