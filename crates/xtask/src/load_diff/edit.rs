//! Objects with a field of their tables changed: names and headers of sections, symbols,
//! relocations, BTF, insns that refer to something.
//!
//! `mutate` changes any byte, which a loader mostly refuses at once. Here the file stays well
//! formed, and what it says is another thing than the compiler meant.

use skep::insn::INSN_BYTES;
use skep::insn::code::{BPF_CALL, BPF_DW, BPF_IMM, BPF_JMP, BPF_LD};
use skep_testkit::rng::Rng;

const HEADER_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
const RELOCATION_BYTES: usize = 16;
const SHT_SYMTAB: u32 = 2;
const SHT_REL: u32 = 9;
const SHF_EXECINSTR: u64 = 4;
/// `ld_imm64` and calls.
const REFERRING: [u8; 2] = [BPF_LD | BPF_IMM | BPF_DW, BPF_JMP | BPF_CALL];

/// Names that a loader knows, and some that it does not.
const NAMES: [&str; 30] = [
    "maps",
    ".maps",
    "license",
    "version",
    ".bss",
    ".rodata",
    ".rodata.x",
    ".data",
    ".data.x",
    ".ksyms",
    ".kconfig",
    ".struct_ops",
    "?.struct_ops.link",
    ".addr_space.1",
    ".text",
    ".BTF",
    ".BTF.ext",
    ".rel.BTF",
    ".debug_line",
    "xdp",
    "?xdp",
    "xdp.frags",
    "kprobe/x",
    "fentry",
    "fentry/vfs_read",
    "freplace/x",
    "lsm/file_open",
    "iter/task",
    "syscall",
    "dummy",
];

/// One object's bytes and where its tables are.
struct Edited<'r> {
    rng: &'r mut Rng,
    bytes: Vec<u8>,
    /// Offsets of the section headers.
    headers: Vec<usize>,
    /// Header of the section that holds the names.
    names: usize,
}

/// A changed copy, and what was changed; none if this object has nothing of the kind chosen.
pub(super) fn edit(rng: &mut Rng, bytes: &[u8]) -> Option<(Vec<u8>, String)> {
    let table = usize::try_from(number(bytes, 40, 8)?).ok()?;
    let (count, names) = (number(bytes, 60, 2)? as usize, number(bytes, 62, 2)? as usize);
    let headers: Vec<usize> = (0..count).map(|at| table + at * HEADER_BYTES).collect();
    let names = *headers.get(names)?;
    bytes.get(table..table + count * HEADER_BYTES)?;
    let mut edited = Edited { rng, bytes: bytes.to_vec(), headers, names };
    let what = match edited.rng.below(8) {
        0 => edited.rename(),
        1 => edited.header(),
        2 | 3 => edited.symbol(),
        4 | 5 => edited.relocation(),
        6 => edited.btf(),
        _ => edited.insn(),
    }?;
    Some((edited.bytes, what))
}

/// A little-endian number of the file.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

impl Edited<'_> {
    fn field(&self, at: usize, size: usize) -> Option<u64> {
        number(&self.bytes, at, size)
    }

    fn set(&mut self, at: usize, size: usize, value: u64) {
        if let Some(field) = self.bytes.get_mut(at..at + size) {
            field.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }

    /// Start and length of a section's bytes.
    fn range(&self, header: usize) -> Option<(usize, usize)> {
        Some((self.field(header + 24, 8)? as usize, self.field(header + 32, 8)? as usize))
    }

    fn name(&self, header: usize) -> Option<String> {
        let at = self.range(self.names)?.0 + self.field(header, 4)? as usize;
        let name = self.bytes.get(at..)?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// One of the sections for which `wanted` holds.
    fn section(&mut self, wanted: impl Fn(&Self, usize) -> Option<bool>) -> Option<usize> {
        let all = self.headers.iter().copied().skip(1);
        let found: Vec<usize> = all.filter(|it| wanted(self, *it) == Some(true)).collect();
        (!found.is_empty()).then(|| self.rng.pick(&found))
    }

    fn of_type(&mut self, number: u32) -> Option<usize> {
        self.section(|it, header| Some(it.field(header + 4, 4)? == u64::from(number)))
    }

    /// An entry of a section that is a table.
    fn entry(&mut self, header: usize, size: usize) -> Option<(usize, u64)> {
        let (start, len) = self.range(header)?;
        let count = (len / size) as u64;
        let index = (count > 0).then(|| self.rng.below(count))?;
        Some((start + index as usize * size, index))
    }

    /// Sets a field to one of some values.
    fn change(&mut self, at: usize, size: usize, values: &[u64]) -> Option<String> {
        let was = self.field(at, size)?;
        let value = self.rng.pick(values);
        self.set(at, size, value);
        Some(format!("{was:x}_is_{value:x}"))
    }

    fn rename(&mut self) -> Option<String> {
        let header = self.section(|_, _| Some(true))?;
        let was = self.name(header)?;
        let name = self.rng.pick(&NAMES);
        // The names move to the end, with one more.
        let (start, len) = self.range(self.names)?;
        let names = self.bytes.get(start..start.checked_add(len)?)?.to_vec();
        self.set(self.names + 24, 8, self.bytes.len() as u64);
        self.set(self.names + 32, 8, (len + name.len() + 1) as u64);
        self.bytes.extend([&names, name.as_bytes(), b"\0"].concat());
        self.set(header, 4, len as u64);
        Some(format!("rename_{was}_{name}"))
    }

    fn header(&mut self) -> Option<String> {
        let header = self.section(|_, _| Some(true))?;
        let name = self.name(header)?;
        let (at, size) = self.rng.pick(&[(4, 4), (8, 8), (24, 8), (32, 8), (40, 4), (44, 4)]);
        let was = self.field(header + at, size)?;
        let values = [0, 1, 2, 3, 4, 7, 8, was + 1, was + 8, was.saturating_sub(8), 1 << 20];
        Some(format!("header_{name}_{at}_{}", self.change(header + at, size, &values)?))
    }

    fn symbol(&mut self) -> Option<String> {
        let table = self.of_type(SHT_SYMTAB)?;
        let (at, index) = self.entry(table, SYMBOL_BYTES)?;
        let info = self.field(at + 4, 1)?;
        let (place, size) = self.rng.pick(&[(4, 1), (5, 1), (6, 2), (8, 8), (16, 8)]);
        let was = self.field(at + place, size)?;
        let sections = self.headers.len() as u64;
        let values = match place {
            4 => [info & 0xf, 0x10, 0x11, 0x12, info | 0x20, info ^ 1],
            5 => [0, 1, 2, 3, 0, 2],
            6 => [0, 0xfff1, 0xfff2, sections, 1 + was % sections, was.saturating_sub(1)],
            _ => [0, 1, 4, was + 8, was.saturating_sub(8), 1 << 40],
        };
        Some(format!("symbol_{index}_{place}_{}", self.change(at + place, size, &values)?))
    }

    fn relocation(&mut self) -> Option<String> {
        let table = self.of_type(SHT_REL)?;
        let name = self.name(table)?;
        let (at, index) = self.entry(table, RELOCATION_BYTES)?;
        let (place, size) = self.rng.pick(&[(0, 8), (8, 4), (12, 4)]);
        let was = self.field(at + place, size)?;
        let values = match place {
            8 => [0, 1, 2, 3, 10, 11],
            _ => [was + 8, was + 1, was.saturating_sub(1), 0, was.saturating_sub(8), 1 << 20],
        };
        let changed = self.change(at + place, size, &values)?;
        Some(format!("relocation_{name}_{index}_{place}_{changed}"))
    }

    fn btf(&mut self) -> Option<String> {
        let table = self.section(|it, header| Some(it.name(header)?.starts_with(".BTF")))?;
        let name = self.name(table)?;
        let (at, index) = self.entry(table, 4)?;
        let was = self.field(at, 4)?;
        let bit = 1 << self.rng.below(32);
        let values = [0, 1, 2, 3, 8, was + 1, was ^ bit, was ^ bit, 64, 0x7fff_ffff, 0xffff_ffff];
        Some(format!("{name}_{index}_{}", self.change(at, 4, &values)?))
    }

    fn insn(&mut self) -> Option<String> {
        let code = self.section(|it, header| {
            let (_, len) = it.range(header)?;
            Some(it.field(header + 8, 8)? & SHF_EXECINSTR != 0 && len >= INSN_BYTES)
        })?;
        let (start, len) = self.range(code)?;
        let name = self.name(code)?;
        let code = self.bytes.get(start..start.checked_add(len)?)?;
        let refers = |at: &usize| REFERRING.contains(&code[*at]);
        let found: Vec<usize> =
            (0..len / INSN_BYTES * INSN_BYTES).step_by(INSN_BYTES).filter(refers).collect();
        let at = (!found.is_empty()).then(|| self.rng.pick(&found))?;
        let (place, size) = self.rng.pick(&[(1, 1), (2, 2), (4, 4)]);
        let was = self.field(start + at + place, size)?;
        let values = match place {
            1 => [was & 0xf, was ^ 0x10, was ^ 0x40, was ^ 1, 0x10, 0x20],
            _ => [0, 1, 8, was + 1, was.wrapping_sub(1), u64::MAX >> 1],
        };
        let changed = self.change(start + at + place, size, &values)?;
        Some(format!("insn_{name}_{}_{place}_{changed}", at / INSN_BYTES))
    }
}
