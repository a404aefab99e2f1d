//! The release that introduced each helper, map type, program type, attach type, insn, kfunc
//! and map flag, and what states it.
//!
//! Numbers of helpers and types are assigned in order and never reused, so a table of the first
//! number of each release is complete. What a kernel with backports has is not in these tables but
//! in its BTF.
//!
//! Source: the release of the commit that added each, as its page in docs.ebpf.io states it
//! ([`Source`]); for attach types and insns, which have no pages, the commit. Tests: `cargo xtask`
//! checks the tables against the kernels' results (`tests/kernels/asked/*.surface.csv`).

mod attach;
mod kfunc;
mod map_flag;
mod release;
mod source;

pub use attach::{attach_end, attach_type, attach_type_source};
pub use kfunc::{kfunc, kfunc_source};
pub use map_flag::{map_flag, map_flag_source};
pub use release::{NotARelease, Release};
pub use source::{Source, helper_source, map_type_source, prog_type_source};

use crate::column::asked_around;
use crate::helper::HelperId;
use crate::{MapType, ProgType};

/// First number of a release, and the release.
type Row = (u32, Release);

const fn row(first: u32, major: u8, minor: u8) -> Row {
    (first, Release::new(major, minor))
}

#[rustfmt::skip]
const HELPERS: [Row; 34] = [
    row(1, 3, 19), row(4, 4, 1), row(12, 4, 2), row(17, 4, 3), row(23, 4, 4), row(26, 4, 5),
    row(27, 4, 6), row(31, 4, 8), row(37, 4, 9), row(42, 4, 10), row(45, 4, 11), row(46, 4, 12),
    row(48, 4, 13), row(51, 4, 14), row(54, 4, 15), row(58, 4, 16), row(60, 4, 17), row(65, 4, 18),
    row(81, 4, 19), row(84, 4, 20), row(91, 5, 0), row(93, 5, 1), row(99, 5, 2), row(109, 5, 3),
    row(110, 5, 4), row(111, 5, 5), row(116, 5, 6), row(119, 5, 7), row(125, 5, 8), row(136, 5, 9),
    row(142, 5, 10), row(156, 5, 11), row(163, 5, 12), row(164, 5, 13),
];
#[rustfmt::skip]
const LATER_HELPERS: [Row; 9] = [
    row(166, 5, 14), row(169, 5, 15), row(176, 5, 16), row(180, 5, 17), row(186, 5, 18),
    row(194, 5, 19), row(204, 6, 0), row(208, 6, 1), row(210, 6, 2),
];

#[rustfmt::skip]
const MAPS: [Row; 22] = [
    row(1, 3, 19), row(3, 4, 2), row(4, 4, 3), row(5, 4, 6), row(8, 4, 8), row(9, 4, 10),
    row(11, 4, 11), row(12, 4, 12), row(14, 4, 14), row(16, 4, 15), row(17, 4, 18), row(19, 4, 19),
    row(21, 4, 20), row(24, 5, 2), row(25, 5, 4), row(26, 5, 6), row(27, 5, 8), row(28, 5, 10),
    row(29, 5, 11), row(30, 5, 16), row(31, 6, 1), row(32, 6, 2),
];
const ARENA: Row = row(33, 6, 9);

#[rustfmt::skip]
const PROGS: [Row; 21] = [
    row(1, 3, 19), row(2, 4, 1), row(5, 4, 7), row(6, 4, 8), row(7, 4, 9), row(8, 4, 10),
    row(13, 4, 13), row(14, 4, 14), row(15, 4, 15), row(16, 4, 17), row(19, 4, 18), row(21, 4, 19),
    row(22, 4, 20), row(23, 5, 2), row(25, 5, 3), row(26, 5, 5), row(27, 5, 6), row(29, 5, 7),
    row(30, 5, 9), row(31, 5, 14), row(32, 6, 4),
];

/// The release of the last row that begins at or before a number.
fn of(rows: &[Row], number: u32) -> Option<Release> {
    rows.iter().take_while(|row| row.0 <= number).last().map(|row| row.1)
}

/// Addresses of the program's functions, which helpers call back.
pub const CALLBACKS: InsnFeature =
    feature("callback", 5, 13, "bpf: Add bpf_for_each_map_elem() helper");

/// The release that introduced the helper; `None` for 0, which is not a helper.
pub fn helper(id: HelperId) -> Option<Release> {
    of(&LATER_HELPERS, id as u32).or_else(|| of(&HELPERS, id as u32))
}

/// The first helper number that a release does not have.
pub fn helpers_end(release: Release) -> u32 {
    let later = HelperId::all().skip(1).filter(|&id| helper(id) > Some(release));
    later.map(|id| id as u32).min().unwrap_or(u32::MAX)
}

/// The release that introduced the map type.
pub fn map_type(map_type: MapType) -> Option<Release> {
    of(&[ARENA], map_type as u32).or_else(|| of(&MAPS, map_type as u32))
}

/// The release that introduced the program type.
pub fn prog_type(prog_type: ProgType) -> Option<Release> {
    of(&PROGS, prog_type as u32)
}

/// A group of insns introduced together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsnFeature {
    /// `ldsx`.
    pub name: &'static str,
    /// Its release.
    pub since: Release,
    /// The title of the commit that introduced it, or the first of several.
    pub title: &'static str,
}

/// A group of insns, and whether an insn belongs to it.
type InsnRow = (InsnFeature, fn(Fields) -> bool);

/// Insns added after cpu v1, by opcode and the other fields that distinguish them.
const INSNS: [InsnRow; 10] = [
    (feature("gotol", 6, 6, "bpf: Support new 32bit offset jmp instruction"), |f| f.code == 0x06),
    (feature("jlt", 4, 14, "bpf: add BPF_J{LT,LE,SLT,SLE} instructions"), |f| {
        matches!(f.code & 0xf7, 0xa5 | 0xb5 | 0xc5 | 0xd5)
    }),
    (feature("jmp32", 5, 1, "bpf: verifier support JMP32"), |f| f.code & 7 == 6),
    (feature("ldsx", 6, 6, "bpf: Support new sign-extension load insns"), |f| {
        matches!(f.code, 0x81 | 0x89 | 0x91)
    }),
    (feature("movsx", 6, 6, "bpf: Support new sign-extension mov insns"), |f| {
        matches!(f.code, 0xbf | 0xbc) && matches!(f.off, 8 | 16 | 32)
    }),
    (feature("bswap", 6, 6, "bpf: Support new unconditional bswap instruction"), |f| {
        f.code == 0xd7
    }),
    (feature("sdiv", 6, 6, "bpf: Support new signed div/mod instructions."), |f| {
        matches!(f.code & 0xf7, 0x34 | 0x37 | 0x94 | 0x97) && f.off == 1
    }),
    (feature("may_goto", 6, 9, "bpf: Introduce may_goto instruction"), |f| f.code == 0xe5),
    (
        feature(
            "load-acquire and store-release",
            6,
            15,
            "bpf: Introduce load-acquire and store-release instructions",
        ),
        |f| f.is_atomic(&[0x100, 0x110]) || matches!(f.code, 0xcb | 0xd3),
    ),
    (
        feature("atomic", 5, 12, "bpf: Add BPF_FETCH field / create atomic_fetch_add instruction"),
        |f| f.is_atomic(&[0x01, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1]),
    ),
];

/// Insns that a tested kernel received in a stable update: the prefix of its release, their name.
const BACKPORTED: [(&str, &str); 3] =
    [("6.1.0-47-", "gotol"), ("6.1.0-56-", "gotol"), ("6.5.0-45-", "gotol")];

/// Whether a release received these insns in a stable update: of one between two tested kernels,
/// whether both did.
pub fn is_backported(release: &str, name: &str) -> bool {
    let received = |tested: &str| BACKPORTED.contains(&(tested, name));
    asked_around(release).into_iter().all(received)
}

const fn feature(name: &'static str, major: u8, minor: u8, title: &'static str) -> InsnFeature {
    InsnFeature { name, since: Release::new(major, minor), title }
}

impl InsnFeature {
    /// What states its release.
    pub fn source(self) -> Source {
        Source::Commit(self.title)
    }
}

/// The fields of an insn that decide when it was introduced.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// Opcode.
    pub code: u8,
    /// Offset.
    pub off: i16,
    /// Immediate.
    pub imm: i32,
}

impl Fields {
    fn is_atomic(self, ops: &[i32]) -> bool {
        self.code & 0xe7 == 0xc3 && ops.contains(&self.imm)
    }
}

/// The groups of insns that a kernel lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Insns {
    /// One bit for each group that is not there, from the lowest; the last is [`CALLBACKS`].
    absent: u16,
}

impl Insns {
    /// All: those of Linux 6.18.
    pub const fn all() -> Insns {
        Insns { absent: 0 }
    }

    /// The groups that are there.
    pub fn those(is_there: impl Fn(InsnFeature) -> bool) -> Insns {
        let bits = insns().chain([CALLBACKS]).enumerate();
        let absent = bits.filter(|(_, row)| !is_there(*row)).fold(0, |all, (at, _)| all | 1 << at);
        Insns { absent }
    }

    /// The groups of a release (`uname -r`): those of upstream, and what was tested to be there.
    pub fn of_release(release: &str) -> Insns {
        let upstream: Result<Release, _> = release.parse();
        let is_there = |it: InsnFeature| {
            upstream.is_ok_and(|upstream| it.since <= upstream) || is_backported(release, it.name)
        };
        if upstream.is_ok() { Insns::those(is_there) } else { Insns::all() }
    }

    /// Whether a group of that name is not there.
    #[inline]
    pub fn lack(self, name: &str) -> bool {
        self.absent != 0 && self.lack_some(name)
    }

    #[cold]
    fn lack_some(self, name: &str) -> bool {
        let mut bits = insns().chain([CALLBACKS]).enumerate();
        bits.any(|(at, row)| self.absent >> at & 1 != 0 && row.name == name)
    }

    /// Whether the insn is of a group that is not there.
    #[inline]
    pub fn lack_insn(self, fields: Fields) -> bool {
        self.absent != 0 && insn(fields).is_some_and(|it| self.lack(it.name))
    }
}

/// The groups of insns that were added later.
pub fn insns() -> impl Iterator<Item = InsnFeature> {
    INSNS.iter().map(|row| row.0)
}

/// The group of an insn; `None` if it is one of the original ones.
pub fn insn(fields: Fields) -> Option<InsnFeature> {
    INSNS.iter().find(|row| row.1(fields)).map(|row| row.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_ascend_and_cover_all() {
        for rows in [&HELPERS[..], &LATER_HELPERS, &MAPS, &PROGS] {
            assert!(rows.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{rows:?}");
        }
        assert!(HelperId::all().skip(1).all(|id| helper(id).is_some()));
        assert!(MapType::all().skip(1).all(|of| map_type(of).is_some()));
        assert!(ProgType::all().skip(1).all(|of| prog_type(of).is_some()));
        assert_eq!(helper(HelperId::Unspec), None);
    }

    #[test]
    fn what_is_absent_is_told_by_name_and_by_fields() {
        let old = Insns::those(|it| !matches!(it.name, "bswap" | "callback"));
        assert!(old.lack("bswap") && old.lack("callback") && !old.lack("movsx"));
        let fields = |code| Fields { code, off: 0, imm: 0 };
        assert!(old.lack_insn(fields(0xd7)) && !old.lack_insn(fields(0x06)));
        assert!(!Insns::all().lack("bswap") && !Insns::all().lack_insn(fields(0xd7)));
        assert_eq!(Insns::those(|_| true), Insns::all());
        let of = Insns::of_release;
        assert!(of("6.1.0-56-cloud-amd64").lack("bswap"));
        assert!(!of("6.1.0-56-cloud-amd64").lack("gotol") && of("6.1").lack("gotol"));
        assert_eq!(of("6.18.44"), Insns::all());
    }

    #[test]
    fn an_insn_is_known_by_its_fields() {
        let name = |code, off, imm| insn(Fields { code, off, imm }).map(|it| it.name);
        assert_eq!(name(0xbf, 0, 0), None);
        assert_eq!(name(0xbf, 8, 0), Some("movsx"));
        assert_eq!(name(0x3f, 1, 0), Some("sdiv"));
        assert_eq!(name(0x37, 0, 0), None);
        assert_eq!(name(0x06, 0, 9), Some("gotol"));
        assert_eq!(name(0x16, 0, 9), Some("jmp32"));
        assert_eq!((name(0xa5, 0, 9), name(0xae, 0, 9)), (Some("jlt"), Some("jmp32")));
        assert_eq!(name(0xdb, -8, 0), None);
        assert_eq!(name(0xc3, -8, 0xf1), Some("atomic"));
        assert_eq!(name(0xdb, -8, 0x110), Some("load-acquire and store-release"));
        // Atomic insns of one or two bytes have an opcode of their own, whatever they do.
        assert_eq!(name(0xd3, -8, 0), Some("load-acquire and store-release"));
    }
}
