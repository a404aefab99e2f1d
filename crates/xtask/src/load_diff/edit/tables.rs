//! Changes of ELF's own tables, of section names, of insns that refer to something, and of the
//! bytes of small sections.

use super::edited::{COUNT_AT, Edited, HEADER_BYTES, SECTIONS_AT};
use skep::insn::INSN_BYTES;
use skep::insn::code::{BPF_CALL, BPF_DW, BPF_IMM, BPF_JMP, BPF_LD};

const SYMBOL_BYTES: usize = 24;
const RELOCATION_BYTES: usize = 16;
const SHT_SYMTAB: u32 = 2;
const SHT_REL: u32 = 9;
const SHF_EXECINSTR: u64 = 4;
/// Sections of which any byte may be changed.
const SMALL_BYTES_MAX: usize = 64;
/// `ld_imm64` and calls.
const REFERRING: [u8; 2] = [BPF_LD | BPF_IMM | BPF_DW, BPF_JMP | BPF_CALL];

/// Names that a loader knows, and some that it does not.
const NAMES: [&str; 33] = [
    "maps",
    "maps/x",
    ".maps",
    "license",
    "version",
    ".bss",
    ".bss.x",
    ".rodata",
    ".rodata.x",
    ".data",
    ".data.x",
    ".ksyms",
    ".kconfig",
    ".struct_ops",
    "?.struct_ops.link",
    ".struct_ops.x",
    ".addr_space.1",
    ".text",
    ".text.x",
    ".BTF",
    ".BTF.ext",
    ".rel.BTF",
    ".relxdp",
    ".debug_line",
    ".symtab",
    ".strtab",
    "xdp",
    "?xdp",
    "freplace/x",
    "syscall",
    "dummy",
    "",
    ".",
];

/// Names of programs' sections, without those that libbpf knows since 1.6.
const PROGRAMS: [&str; 68] = [
    "xdp",
    "xdp_x",
    "xdp/",
    "xdp.frags",
    "xdp.frags/devmap",
    "xdp/cpumap",
    "xdp/x",
    "??xdp",
    "? xdp",
    "?",
    "socket",
    "socket1",
    "socket/x",
    "tc",
    "tc/ingress",
    "tc/x",
    "tcx/egress",
    "classifier/x",
    "action",
    "netkit/peer",
    "netkit",
    "kprobe",
    "kprobe/",
    "kprobe/vfs_read+0x10",
    "kprobe.multi/vfs_*",
    "kprobe.session/vfs_*",
    "kretprobe.multi",
    "uprobe//bin/true:main",
    "uprobe.s/x",
    "uprobe.multi.s/x:y",
    "usdt/x:y:z",
    "ksyscall/read",
    "tp/sched/sched_switch",
    "tracepoint",
    "raw_tp/sched_switch",
    "raw_tp.w/x",
    "tp_btf/sched_switch",
    "tp_btf/x",
    "fentry/vfs_read",
    "fentry/vmlinux:vfs_read",
    "fentry/x:vfs_read",
    "fentry.s/vfs_read",
    "fentry.multi/vfs_read",
    "fsession/vfs_read",
    "fexit",
    "fmod_ret/security_file_open",
    "freplace",
    "lsm/file_open",
    "lsm.s/file_open",
    "lsm.s",
    "lsm_cgroup/socket_bind",
    "iter/task",
    "iter.s/task",
    "iter/x",
    "syscall/x",
    "perf_event",
    "perf_event/x",
    "cgroup_skb/ingress",
    "cgroup/skb",
    "cgroup/skb/x",
    "cgroup/connect_unix",
    "cgroup/x",
    "sk_skb/verdict",
    "sk_skb/x",
    "sk_lookup/x",
    "struct_ops/x",
    "struct_ops.s/x",
    "netfilter",
];

fn code_section(it: &mut Edited<'_>) -> Option<usize> {
    it.section(|it, header| {
        let (_, len) = it.range(header)?;
        Some(it.field(header + 8, 8)? & SHF_EXECINSTR != 0 && len >= INSN_BYTES)
    })
}

fn set_name(it: &mut Edited<'_>, header: usize, name: &str) -> Option<String> {
    let was = it.name(header)?;
    let (_, len) = it.range(it.names)?;
    it.append(it.names, &[name.as_bytes(), b"\0"].concat())?;
    it.set(header, 4, len as u64);
    Some(format!("{was}_{name}"))
}

pub(super) fn rename(it: &mut Edited<'_>) -> Option<String> {
    let header = it.section(|_, _| Some(true))?;
    let name = it.rng.pick(&NAMES);
    set_name(it, header, name)
}

/// Half of the time, the name that `.BTF.ext` has for the section is changed, too.
pub(super) fn rename_program(it: &mut Edited<'_>) -> Option<String> {
    let header = code_section(it)?;
    let name = it.rng.pick(&PROGRAMS);
    if it.rng.below(2) == 0 {
        let was = it.name(header)?;
        super::ext::rename_section(it, &was, name)?;
    }
    set_name(it, header, name)
}

pub(super) fn header(it: &mut Edited<'_>) -> Option<String> {
    let header = it.section(|_, _| Some(true))?;
    change_header(it, header)
}

fn change_header(it: &mut Edited<'_>, header: usize) -> Option<String> {
    let name = it.name(header)?;
    let (at, size) = it.rng.pick(&[
        (0, 4),
        (4, 4),
        (4, 4),
        (8, 8),
        (16, 8),
        (24, 8),
        (32, 8),
        (40, 4),
        (44, 4),
        (48, 8),
        (56, 8),
    ]);
    let was = it.field(header + at, size)?;
    let sections = it.headers.len() as u64;
    let small = [0, 1, 2, 3, 4, 7, 8, was + 1, was + 8, was.saturating_sub(8), 1 << 20];
    let values = match at {
        4 => [0, 1, 2, 3, 4, 5, 8, 9, 11, 18, 0x6fff_4c03],
        8 => [0, 1, 2, 3, 4, 6, 7, was ^ 4, was ^ 2, 0x800, 0x10],
        40 | 44 => [0, 1, sections, sections - 1, was + 1, was.saturating_sub(1), 2, 3, 4, 5, 6],
        // More than a map can have, and than the file has unless the section has no bytes in it.
        32 => [0, 1, 2, 3, 4, 7, was + 1, was + 8, was.saturating_sub(8), 1 << 20, 1 << 31],
        48 | 56 => [0, 1, 2, 3, 8, 16, 24, 1 << 32, 4096, 7, 12],
        _ => small,
    };
    Some(format!("{name}_{at}_{}", it.change(header + at, size, &values)?))
}

/// The header of the file.
pub(super) fn file(it: &mut Edited<'_>) -> Option<String> {
    let (at, size) = it.rng.pick(&[
        (5, 1),
        (7, 1),
        (8, 1),
        (16, 2),
        (18, 2),
        (20, 4),
        (24, 8),
        (32, 8),
        (48, 4),
        (52, 2),
        (54, 2),
        (56, 2),
        (58, 2),
        (60, 2),
        (62, 2),
    ]);
    let was = it.field(at, size)?;
    let values = [0, 1, 2, 3, was + 1, was.saturating_sub(1), 247, 64, 0xffff, 0xff00, 62];
    Some(format!("{at}_{}", it.change(at, size, &values)?))
}

pub(super) fn symbol(it: &mut Edited<'_>) -> Option<String> {
    let table = it.of_type(SHT_SYMTAB)?;
    let (at, index) = it.entry(table, SYMBOL_BYTES)?;
    Some(format!("{index}_{}", change_symbol(it, table, at)?))
}

fn change_symbol(it: &mut Edited<'_>, table: usize, at: usize) -> Option<String> {
    let (other, _) = it.entry(table, SYMBOL_BYTES)?;
    let info = it.field(at + 4, 1)?;
    let (place, size) = it.rng.pick(&[(0, 4), (4, 1), (4, 1), (5, 1), (6, 2), (8, 8), (16, 8)]);
    let was = it.field(at + place, size)?;
    let same = it.field(other + place, size)?;
    let sections = it.headers.len() as u64;
    let values = match place {
        0 => [same, same, same, 0, was + 1, 1 << 24],
        4 => it.rng.pick(&[
            [info & 0xf, 0x10, 0x11, 0x12, info | 0x20, info ^ 1],
            [0x13, 0x14, 0x16, 0x1a, info ^ 0x30, info | 0xa0],
        ]),
        5 => [0, 1, 2, 3, 0, 2],
        6 => [0, 0xfff1, 0xfff2, sections, 1 + was % sections, was.saturating_sub(1)],
        _ => [0, 1, 4, was + 8, was.saturating_sub(8), it.rng.pick(&[1 << 40, same, u64::MAX])],
    };
    Some(format!("{place}_{}", it.change(at + place, size, &values)?))
}

/// A second symbol like another one, but for a field.
pub(super) fn add_symbol(it: &mut Edited<'_>) -> Option<String> {
    let table = it.of_type(SHT_SYMTAB)?;
    let (at, index) = it.entry(table, SYMBOL_BYTES)?;
    let copy = it.bytes.get(at..at + SYMBOL_BYTES)?.to_vec();
    it.append(table, &copy)?;
    let (start, len) = it.range(table)?;
    let last = start + len - SYMBOL_BYTES;
    let what = change_symbol(it, table, last).unwrap_or_default();
    Some(format!("{index}_again_{what}"))
}

/// A relocation more, of an insn that has one or of any, to any symbol.
pub(super) fn add_relocation(it: &mut Edited<'_>) -> Option<String> {
    let table = it.of_type(SHT_REL)?;
    let name = it.name(table)?;
    let (at, _) = it.entry(table, RELOCATION_BYTES)?;
    let (other, _) = it.entry(table, RELOCATION_BYTES)?;
    let symbols = it.of_type(SHT_SYMTAB)?;
    let (_, any) = it.entry(symbols, SYMBOL_BYTES)?;
    let (offset, place) = (it.field(at, 8)?, 8 * it.rng.below(3));
    let symbol = it.field(other + 12, 4)?;
    let symbol = it.rng.pick(&[symbol, symbol, any]);
    let mut entry = it.bytes.get(at..at + RELOCATION_BYTES)?.to_vec();
    let offset = it.rng.pick(&[offset, offset, offset + place]);
    entry[..8].copy_from_slice(&offset.to_le_bytes());
    entry[12..].copy_from_slice(&(symbol as u32).to_le_bytes());
    it.append(table, &entry)?;
    Some(format!("{name}_{offset:x}_to_{symbol}"))
}

/// A section more, like another one or with its name.
pub(super) fn add_section(it: &mut Edited<'_>) -> Option<String> {
    let header = it.section(|_, _| Some(true))?;
    let name = it.name(header)?;
    let copy = it.bytes.get(header..header + HEADER_BYTES)?.to_vec();
    let first = *it.headers.first()?;
    let count = it.headers.len();
    let all = it.bytes.get(first..first + count * HEADER_BYTES)?.to_vec();
    let names = (it.names - first) / HEADER_BYTES;
    it.bytes.resize(it.bytes.len().next_multiple_of(8), 0);
    let table = it.bytes.len();
    it.bytes.extend(all);
    it.bytes.extend(copy);
    it.set(SECTIONS_AT, 8, table as u64);
    it.set(COUNT_AT, 2, count as u64 + 1);
    it.headers = (0..=count).map(|index| table + index * HEADER_BYTES).collect();
    it.names = it.headers[names];
    let added = it.headers[count];
    let what = match it.rng.below(3) {
        0 => String::new(),
        1 => change_header(it, added)?,
        _ => {
            let name = it.rng.pick(&NAMES);
            set_name(it, added, name)?
        }
    };
    Some(format!("{name}_again_{what}"))
}

/// A section's bytes begin elsewhere: at those of another.
pub(super) fn place(it: &mut Edited<'_>) -> Option<String> {
    let header = it.section(|_, _| Some(true))?;
    let other = it.section(|_, _| Some(true))?;
    let (name, of) = (it.name(header)?, it.name(other)?);
    let (start, len) = it.range(other)?;
    let shift = it.rng.pick(&[0, 0, 1, 8]);
    it.set(header + 24, 8, start as u64 + shift);
    if it.rng.below(2) == 0 {
        it.set(header + 32, 8, len as u64);
    }
    Some(format!("{name}_at_{of}_{shift}"))
}

pub(super) fn relocation(it: &mut Edited<'_>) -> Option<String> {
    let table = it.of_type(SHT_REL)?;
    let name = it.name(table)?;
    let (at, index) = it.entry(table, RELOCATION_BYTES)?;
    let (other, _) = it.entry(table, RELOCATION_BYTES)?;
    let (place, size) = it.rng.pick(&[(0, 8), (0, 8), (8, 4), (12, 4)]);
    let was = it.field(at + place, size)?;
    let values = match place {
        8 => [0, 1, 2, 3, 10, 11],
        0 => [was + 8, was + 4, it.field(other, 8)?, 0, was.saturating_sub(8), 1 << 20],
        _ => [was + 8, was + 1, was.saturating_sub(1), 0, it.field(other + 12, 4)?, 1 << 20],
    };
    let changed = it.change(at + place, size, &values)?;
    Some(format!("{name}_{index}_{place}_{changed}"))
}

pub(super) fn insn(it: &mut Edited<'_>) -> Option<String> {
    let header = code_section(it)?;
    let (start, len) = it.range(header)?;
    let name = it.name(header)?;
    let code = it.content(header)?;
    let refers = |at: &usize| REFERRING.contains(&code[*at]);
    let found: Vec<usize> =
        (0..len / INSN_BYTES * INSN_BYTES).step_by(INSN_BYTES).filter(refers).collect();
    let at = (!found.is_empty()).then(|| it.rng.pick(&found))?;
    // Of an `ld_imm64`, also the second half.
    let is_load = it.field(start + at, 1)? == u64::from(REFERRING[0]);
    let half = INSN_BYTES * usize::from(is_load && it.rng.below(2) == 0);
    let at = at + half;
    let (place, size) = it.rng.pick(&[(1, 1), (2, 2), (4, 4), (4, 4)]);
    let was = it.field(start + at + place, size)?;
    let values = match place {
        1 => [was & 0xf, was ^ 0x10, was ^ 0x40, was ^ 1, 0x10, 0x20],
        _ => [0, 1, 8, was + 1, was.wrapping_sub(1), u64::MAX >> 1],
    };
    let changed = it.change(start + at + place, size, &values)?;
    Some(format!("{name}_{}_{place}_{changed}", at / INSN_BYTES))
}

/// A byte of a section that is not long and has no insns: licence, version, definitions of maps,
/// structs of operations.
pub(super) fn bytes(it: &mut Edited<'_>) -> Option<String> {
    let header = it.section(|it, header| {
        let (_, len) = it.range(header)?;
        let holds = it.field(header + 4, 4)? == 1 && it.field(header + 8, 8)? & SHF_EXECINSTR == 0;
        Some(holds && (1..=SMALL_BYTES_MAX).contains(&len))
    })?;
    let name = it.name(header)?;
    let (at, index) = it.entry(header, 1)?;
    let was = it.field(at, 1)?;
    let values = [0, 1, b'G' as u64, b' ' as u64, was ^ 1, 0xff];
    Some(format!("{name}_{index}_{}", it.change(at, 1, &values)?))
}
