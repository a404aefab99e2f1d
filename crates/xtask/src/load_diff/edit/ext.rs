//! Changes of `.BTF.ext`: sizes and numbers of records, and their fields.

use super::btf;
use super::edited::Edited;

const EXT: &str = ".BTF.ext";
/// Where the header has the offset of func info, line info, relocations.
const PARTS: [usize; 3] = [8, 16, 24];

/// One of the parts: offset in the file of its size of a record, that size, and of each section
/// the offset of its name and its number of records.
struct Part {
    at: usize,
    record_bytes: usize,
    sections: Vec<(usize, usize)>,
}

fn part(it: &Edited<'_>, field: usize) -> Option<Part> {
    let (start, _) = it.range(it.named(EXT)?)?;
    let base = start + it.field(start + 4, 4)? as usize;
    let at = base + it.field(start + field, 4)? as usize;
    let end = at + it.field(start + field + 4, 4)? as usize;
    let record_bytes = it.field(at, 4)? as usize;
    let (mut next, mut sections) = (at + 4, Vec::new());
    while next < end {
        let count = it.field(next + 4, 4)? as usize;
        sections.push((next, count));
        next += 8 + count * record_bytes;
    }
    (!sections.is_empty()).then_some(Part { at, record_bytes, sections })
}

/// Gives the records of a section to one of another name.
pub(super) fn rename_section(it: &mut Edited<'_>, was: &str, name: &str) -> Option<()> {
    let (was, name) = (btf::string(it, was)?, btf::string(it, name)?);
    for field in PARTS {
        let places = part(it, field).map_or(Vec::new(), |part| part.sections);
        for (at, _) in places {
            if it.field(at, 4)? == was {
                it.set(at, 4, name);
            }
        }
    }
    Some(())
}

/// The size of a record, a section's name or number of records, or a field of a record.
pub(super) fn record(it: &mut Edited<'_>) -> Option<String> {
    let index = it.rng.below(3) as usize;
    let part = part(it, PARTS[index])?;
    let (section, count) = it.rng.pick(&part.sections);
    let first = section + 8;
    let record = it.rng.below(count.max(1) as u64) as usize;
    let other = it.rng.below(count.max(1) as u64) as usize;
    let word = 4 * it.rng.below(part.record_bytes as u64 / 4) as usize;
    let at = match it.rng.below(8) {
        0 => part.at,
        1 => section + 4,
        2 => section,
        // The name of another section.
        3 => {
            let (other, _) = it.rng.pick(&part.sections);
            let name = it.field(other, 4)?;
            let what = it.change(section, 4, &[name])?;
            return Some(format!("{index}_section_{what}"));
        }
        _ => first + record * part.record_bytes + word,
    };
    let was = it.field(at, 4)?;
    let same = it.field(first + other * part.record_bytes + word, 4)?;
    let values = [0, 1, was + 1, was + 4, was + 8, was.saturating_sub(8), same, same, 12, 1 << 24];
    let place = (at - part.at) / 4;
    Some(format!("{index}_{place}_{}", it.change(at, 4, &values)?))
}

/// A record becomes another one, of its own insn or of the other's.
pub(super) fn repeat(it: &mut Edited<'_>) -> Option<String> {
    let index = it.rng.pick(&[0, 1, 2, 2, 2, 2]);
    let part = part(it, PARTS[index])?;
    let (section, count) = it.rng.pick(&part.sections);
    let to = it.rng.below(count.max(1) as u64) as usize;
    let from = it.rng.pick(&[to.saturating_sub(1), to + 1, 0]);
    let [of, at] = [from, to].map(|record| section + 8 + record * part.record_bytes);
    let kept = 4 * it.rng.below(2) as usize;
    let record = it.bytes.get(of + kept..of + part.record_bytes)?.to_vec();
    it.bytes.get_mut(at + kept..at + part.record_bytes)?.copy_from_slice(&record);
    let mut what = String::new();
    if index == 2 && it.rng.below(2) == 0 {
        // The kind of relocation.
        what = it.change(at + 12, 4, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])?;
    }
    Some(format!("{index}_{from}_to_{to}_{kept}_{what}"))
}
