//! Changes of `.BTF`: its header, types, names, and the definitions of maps in it.

use super::edited::Edited;
use skep::btf::Kind;

const BTF: &str = ".BTF";
/// The types have this many words in common.
const COMMON_BYTES: usize = 12;

/// Attributes of maps, some of them unknown.
const ATTRIBUTES: [&str; 13] = [
    "type",
    "key",
    "value",
    "key_size",
    "value_size",
    "max_entries",
    "map_flags",
    "numa_node",
    "map_extra",
    "pinning",
    "values",
    "inner",
    "",
];

/// A type: where it is in the file, its kind, number of parts, and third word.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    kind: Kind,
    vlen: usize,
    target: u32,
}

impl Place {
    /// Offsets and meaning of its words after the third.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let at = self.at + COMMON_BYTES;
        let (fixed, each) = words(self.kind);
        (0..fixed + each * self.vlen).map(move |n| at + n * 4)
    }
}

/// Words after the common ones: fixed, and for each part.
fn words(kind: Kind) -> (usize, usize) {
    match kind {
        Kind::Int | Kind::Var | Kind::DeclTag => (1, 0),
        Kind::Array => (3, 0),
        Kind::Struct | Kind::Union | Kind::Datasec | Kind::Enum64 => (0, 3),
        Kind::Enum | Kind::FuncProto => (0, 2),
        _ => (0, 0),
    }
}

/// The types of `.BTF` in the file; type 1 is the first.
fn types(it: &Edited<'_>) -> Option<Vec<Place>> {
    let header = it.named(BTF)?;
    let (start, _) = it.range(header)?;
    let (first, len) = (it.field(start + 8, 4)? as usize, it.field(start + 12, 4)? as usize);
    let mut at = start + it.field(start + 4, 4)? as usize + first;
    let end = at + len;
    let mut types = Vec::new();
    while at + COMMON_BYTES <= end {
        let info = it.field(at + 4, 4)? as u32;
        let kind = Kind::from_number((info >> 24 & 0x1f) as u8)?;
        let place =
            Place { at, kind, vlen: info as usize & 0xffff, target: it.field(at + 8, 4)? as u32 };
        at += COMMON_BYTES + place.parts().count() * 4;
        types.push(place);
    }
    (!types.is_empty()).then_some(types)
}

/// Start and length of the strings.
fn strings(it: &Edited<'_>) -> Option<(usize, usize)> {
    let (start, _) = it.range(it.named(BTF)?)?;
    let at = start + it.field(start + 4, 4)? as usize + it.field(start + 16, 4)? as usize;
    Some((at, it.field(start + 20, 4)? as usize))
}

/// The offset of a string, which is added if it is not there and the strings come last.
pub(super) fn string(it: &mut Edited<'_>, text: &str) -> Option<u64> {
    let (at, len) = strings(it)?;
    let all = it.bytes.get(at..at.checked_add(len)?)?;
    let wanted = [b"\0", text.as_bytes(), b"\0"].concat();
    if let Some(found) = all.windows(wanted.len()).position(|window| window == wanted) {
        return Some(found as u64 + 1);
    }
    let header = it.named(BTF)?;
    let (start, size) = it.range(header)?;
    if at + len != start + size {
        return None;
    }
    it.append(header, &[text.as_bytes(), b"\0"].concat())?;
    let (start, _) = it.range(header)?;
    it.set(start + 20, 4, (len + text.len() + 1) as u64);
    Some(len as u64)
}

/// Any word of `.BTF`, `.BTF.ext`, or what is called similarly.
pub(super) fn word(it: &mut Edited<'_>) -> Option<String> {
    let table = it.section(|it, header| Some(it.name(header)?.starts_with(".BTF")))?;
    let name = it.name(table)?;
    let (mut at, mut index) = it.entry(table, 4)?;
    if it.rng.below(3) == 0 {
        // The header.
        index = it.rng.below(8);
        at = it.range(table)?.0 + index as usize * 4;
    }
    let was = it.field(at, 4)?;
    let bit = 1 << it.rng.below(32);
    let values = [0, 1, 2, 3, 8, was + 1, was ^ bit, was ^ bit, 64, 0x7fff_ffff, 0xffff_ffff];
    Some(format!("{name}_{index}_{}", it.change(at, 4, &values)?))
}

/// The strings: cut at their end, without the NUL at either end, of another length or place.
pub(super) fn strings_cut(it: &mut Edited<'_>) -> Option<String> {
    let header = it.named(BTF)?;
    let (start, size) = it.range(header)?;
    let (at, len) = strings(it)?;
    let cut = 1 + it.rng.below(len.max(1) as u64);
    let (what, at, width, value) = match it.rng.below(5) {
        0 => ("first", at, 1, u64::from(b'x')),
        1 => ("last", (at + len).checked_sub(1)?, 1, u64::from(b'x')),
        2 => ("length", start + 20, 4, (len as u64).saturating_sub(cut)),
        3 => ("offset", start + 16, 4, it.field(start + 16, 4)?.wrapping_add(cut)),
        _ => {
            // The section ends with them.
            it.set(start + 20, 4, (len as u64).saturating_sub(cut));
            ("cut", header + 32, 8, (size as u64).saturating_sub(cut))
        }
    };
    it.set(at, width, value);
    Some(format!("{what}_{cut}"))
}

/// Kind, flag, number of parts, size or reference of a type, or a word of its parts.
pub(super) fn ty(it: &mut Edited<'_>) -> Option<String> {
    let types = types(it)?;
    let index = it.rng.below(types.len() as u64);
    let place = types[index as usize];
    let id = index + 1;
    let end = types.len() as u64 + 1;
    let any = 1 + it.rng.below(types.len() as u64);
    let info = it.field(place.at + 4, 4)?;
    let parts: Vec<usize> = place.parts().collect();
    let (at, values) = match it.rng.below(5) {
        0 => {
            let kind = it.rng.below(22) << 24;
            let vlen = info & 0xffff;
            let counts = [vlen + 1, vlen.saturating_sub(1), 0];
            let values = [info & !(0x1f << 24) | kind, info ^ 1 << 31, info ^ 1 << 16];
            let counted = counts.map(|count| info & !0xffff | count);
            (place.at + 4, [values, counted].concat())
        }
        1 | 2 => (place.at + 8, vec![0, id, any, any, end, end - 1, 0, 1, 2, 4, 8, 1 << 30]),
        _ => {
            let at = (!parts.is_empty()).then(|| it.rng.pick(&parts))?;
            let was = it.field(at, 4)?;
            (
                at,
                vec![0, id, any, any, end, was + 1, was + 8, was ^ 1, 1 << 24, u64::from(u32::MAX)],
            )
        }
    };
    let word = (at - place.at) / 4;
    let of = place.kind.name();
    Some(format!("{of}_{id}_{word}_{}", it.change(at, 4, &values)?))
}

/// The name of a type: none, another's, one that is no identifier, one beyond the strings.
pub(super) fn name(it: &mut Edited<'_>) -> Option<String> {
    let types = types(it)?;
    let index = it.rng.below(types.len() as u64) as usize;
    let other = it.rng.pick(&types).at;
    let (_, len) = strings(it)?;
    let text = it.rng.pick(&["a b", "license", "x.y", "é", ".maps", "9x"]);
    let added = string(it, text)?;
    // The section may have moved.
    let at = self::types(it)?[index].at;
    let other = it.field(other, 4)?;
    let of = types[index].kind.name();
    let values = [0, other, other, added, added, len as u64 - 1, len as u64 + 100, 1];
    Some(format!("{of}_{}_{}", index + 1, it.change(at, 4, &values)?))
}

/// An attribute of a map: its value, name or type.
pub(super) fn map(it: &mut Edited<'_>) -> Option<String> {
    let all = types(it)?;
    let of = |id: u32| all.get((id as usize).checked_sub(1)?);
    let section = all
        .iter()
        .find(|ty| ty.kind == Kind::Datasec && name_of(it, ty).as_deref() == Some(".maps"))?;
    let vars = section.parts().step_by(3).filter_map(|at| it.field(at, 4));
    let defs: Vec<Place> = vars
        .filter_map(|id| of(of(id as u32)?.target).copied())
        .filter(|ty| ty.kind == Kind::Struct && ty.vlen > 0)
        .collect();
    let def = (!defs.is_empty()).then(|| it.rng.pick(&defs))?;
    let member = def.parts().nth(3 * it.rng.below(def.vlen as u64) as usize)?;
    let attribute = text_at(it, it.field(member, 4)?)?;
    let any = 1 + it.rng.below(all.len() as u64);
    match it.rng.below(6) {
        0 => {
            let name = it.rng.pick(&ATTRIBUTES);
            let (start, _) = it.range(it.named(BTF)?)?;
            let offset = string(it, name)?;
            let (moved, _) = it.range(it.named(BTF)?)?;
            it.set(member - start + moved, 4, offset);
            Some(format!("{attribute}_named_{name}"))
        }
        1 => Some(format!("{attribute}_type_{}", it.change(member + 4, 4, &[any, any, 0, 1])?)),
        _ => {
            let pointer = of(it.field(member + 4, 4)? as u32)?;
            let array = of(pointer.target).filter(|ty| ty.kind == Kind::Array);
            let at = array.and_then(|ty| ty.parts().nth(2))?;
            let values = values_of(it, &attribute);
            Some(format!("{attribute}_{}", it.change(at, 4, &values)?))
        }
    }
}

/// Values for an attribute. The numbers of entries stay small: whether the kernel has the memory
/// is another question.
fn values_of(it: &mut Edited<'_>, attribute: &str) -> Vec<u64> {
    let bit = 1 << it.rng.below(20);
    match attribute {
        "type" => (0..40).collect(),
        "map_flags" => vec![bit, bit, bit, bit | 1, 0x80, 0x400, 0x1000, 1 << 31, 0],
        "pinning" => vec![0, 1, 2, 1 << 31],
        "max_entries" => vec![0, 1, 2, 3, 4096, 5000, 8192, 1 << 16],
        _ => vec![0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 32, 127, 256, 512, 513, 4096, 32769, 1 << 31],
    }
}

fn name_of(it: &Edited<'_>, ty: &Place) -> Option<String> {
    text_at(it, it.field(ty.at, 4)?)
}

fn text_at(it: &Edited<'_>, offset: u64) -> Option<String> {
    let (at, _) = strings(it)?;
    let text = it.bytes.get(at + offset as usize..)?.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::edited::number;
    use super::*;
    use skep_testkit::rng::Rng;

    #[test]
    fn all_types_are_found() {
        let path = crate::root().join("tests/programs/xdp_parse.bpf.o");
        let bytes = std::fs::read(path).expect("an object");
        let mut rng = Rng::new(1);
        let of = |at: usize, size| number(&bytes, at, size).expect("a field") as usize;
        let headers: Vec<usize> = (0..of(60, 2)).map(|n| of(40, 8) + n * 64).collect();
        let names = headers[of(62, 2)];
        let it = Edited { rng: &mut rng, bytes: bytes.clone(), headers, names };
        let (start, len) = it.range(it.named(BTF).expect(".BTF")).expect("bytes");
        let btf = skep::btf::Btf::parse(&bytes[start..start + len]).expect("BTF");
        let kinds: Vec<Kind> = types(&it).expect("types").iter().map(|ty| ty.kind).collect();
        assert!(kinds.iter().copied().eq(btf.iter().map(|ty| ty.kind())));
    }
}
