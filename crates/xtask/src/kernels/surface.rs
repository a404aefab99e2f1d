//! What there is on a kernel, asked one by one with a small program each: helpers, map types,
//! program types, insns. The answers are the witnesses of `uapi::since`.
//!
//! `yes` is all that says that the kernel knows the thing: a helper that a socket filter may not
//! call is there all the same.

use super::ask::folder;
use super::guest::Guest;
use super::{Machine, agree};
use crate::answers;
use crate::outcome::Ended;
use crate::packed;
use serde::{Deserialize, Serialize};
use skep::Host;
use skep::btf::{Btf, BtfBuilder, IntEncoding, Kind};
use skep::insn::Insn;
use skep::insn::code::*;
use skep::kernel::Item;
use skep::program::{AttachTarget, MapDef, Program};
use skep::uapi::helper::{HelperId, HelperRow, HookKey};
use skep::uapi::since::{self, Fields, InsnFeature};
use skep::uapi::{AttachType, MapFlags, MapType, ProgFlags, ProgType, attach_types};
use skep_kernel::wire::{Load, Told};
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    machine: Machine,
    /// Folder of answers; `ask` has put the kernel's facts there.
    #[arg(long)]
    out: PathBuf,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// `helper`, `map`, `prog`, `insn`.
    pub(crate) kind: String,
    pub(crate) name: String,
    /// `yes` or `no`.
    pub(crate) there: String,
    /// The kernel's words.
    pub(crate) message: String,
}

/// How the tables are named: the release, then this.
pub(crate) const END: &str = ".surface.csv";

/// A small program is loaded in less.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let facts = folder(&args.out, &args.machine.kernel).join("facts");
    let host = Host::read_folder(&facts).map_err(|e| e.to_string())?;
    let console = folder(&args.out, &args.machine.kernel).join("console.surface");
    let mut guest = Guest::boot(&args.machine, &console)?;
    let mut rows = Vec::new();
    for question in questions(host.kernel_btf.as_ref()) {
        let program = &question.program;
        let told = match Load::new(program, 4) {
            Ok(load) => guest.load(load, program.btf.as_ref(), LIMIT)?,
            Err(why) => Told { log: why, ..Told::default() },
        };
        let message = match told.judged {
            true => answers::message(&told.log),
            false => told.log.clone(),
        };
        let there = (question.knows)(&told, &message);
        rows.push(Row {
            kind: question.kind.to_owned(),
            name: question.name,
            there: if there { "yes" } else { "no" }.to_owned(),
            message: if told.accepted { String::new() } else { message },
        });
    }
    rows.extend(refused_calls(&mut guest, host.kernel_btf.as_ref())?);
    let mut csv = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| csv.serialize(row))?;
    fs::create_dir_all(agree::folder())?;
    let path = agree::folder().join(format!("{}{END}", args.machine.kernel));
    packed::write(&path, &csv.into_inner()?)?;
    let there = rows.iter().filter(|row| row.there == "yes").count();
    println!("{}: {there} of {} are there", args.machine.kernel, rows.len());
    Ok(Ended::Passed)
}

/// Reads a table that [`run`] wrote.
pub(super) fn read(release: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    let text = packed::read(&agree::folder().join(format!("{release}{END}")))?;
    let mut csv = csv::Reader::from_reader(text.as_bytes());
    Ok(csv.deserialize().collect::<Result<_, _>>()?)
}

/// Whether an answer is about an item.
pub(super) fn is_about(row: &Row, item: Item) -> bool {
    let named = |kind: &str| row.kind == kind && row.name == item.name();
    match item {
        Item::Helper(_) => named("helper"),
        Item::Map(_) => named("map"),
        Item::Prog(_) => named("prog"),
        Item::Attach(_) => false,
        Item::Insn(feature) => {
            row.kind == "insn"
                && INSNS.iter().any(|(name, insns)| {
                    *name == row.name && insns.iter().any(|it| of_insn(it) == Some(feature))
                })
        }
    }
}

fn of_insn(insn: &Insn) -> Option<InsnFeature> {
    since::insn(Fields { code: insn.code, off: insn.off, imm: insn.imm })
}

/// The helpers that a kind of program may not call there, though it may on 6.18 and the kernel has
/// them: a row for each kind that lacks some.
fn refused_calls(guest: &mut Guest, btf: Option<&Arc<Btf>>) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for (prog_type, first) in PROGS {
        let numbers = (0..64).filter(|&number| attach_types(prog_type).contains(number));
        let numbers: Vec<u32> = match attach_types(prog_type).contains(u32::MAX) {
            true => vec![first],
            false => numbers.collect(),
        };
        for number in numbers {
            let (row, refused) = calls_of(guest, btf, (prog_type, number))?;
            if !refused.is_empty() {
                rows.push(Row { message: refused.join(" "), ..row });
            }
        }
    }
    Ok(rows)
}

fn calls_of(
    guest: &mut Guest,
    btf: Option<&Arc<Btf>>,
    (prog_type, number): (ProgType, u32),
) -> Result<(Row, Vec<&'static str>), Box<dyn Error>> {
    let attach_type = AttachType::from_number(number);
    let key = HookKey { prog_type, attach_type: number, target: "" };
    let usable = HelperRow::find(&key).map(|row| row.usable()).unwrap_or_default();
    let mut refused = Vec::new();
    for id in usable.iter() {
        let call = Insn { code: BPF_JMP | BPF_CALL, imm: id as i32, ..Insn::default() };
        let program = Program {
            expected_attach_type: number,
            attach: traced(prog_type, (attach_type, btf)),
            prog_flags: match prog_type {
                ProgType::Syscall => ProgFlags::SLEEPABLE,
                _ => ProgFlags::empty(),
            },
            ..of(prog_type, vec![call, ZERO, EXIT])
        };
        let Ok(load) = Load::new(&program, 4) else { continue };
        let told = guest.load(load, None, LIMIT)?;
        let message = answers::message(&told.log);
        let unknown = ["unknown func", "program of this type cannot use helper"];
        if told.judged && unknown.iter().any(|words| message.starts_with(words)) {
            refused.push(id.name());
        }
    }
    let attach = attach_type.map_or("", |it| it.name());
    let name = format!("{}/{attach}", prog_type.name());
    let there = "yes".to_owned();
    Ok((Row { kind: "calls".to_owned(), name, there, message: String::new() }, refused))
}

/// A target that there is on every kernel.
fn traced(
    prog_type: ProgType,
    (attach, btf): (Option<AttachType>, Option<&Arc<Btf>>),
) -> AttachTarget {
    let (name, kind) = match (prog_type, attach) {
        (ProgType::Tracing, Some(AttachType::TraceRawTp)) => ("btf_trace_sys_enter", Kind::Typedef),
        (ProgType::Tracing, Some(AttachType::TraceIter)) => ("bpf_iter_task", Kind::Func),
        (ProgType::Tracing, Some(AttachType::ModifyReturn)) => ("security_file_open", Kind::Func),
        _ => return target(prog_type, btf),
    };
    match btf.and_then(|btf| btf.find_by_name_kind(name, kind)) {
        Some(id) => AttachTarget::Kernel { btf_id: id.0, name: name.to_owned() },
        None => AttachTarget::Unresolved(name.to_owned()),
    }
}

/// A program, and what of the answer says that the kernel knows the thing.
struct Question {
    kind: &'static str,
    name: String,
    program: Program,
    knows: fn(&Told, &str) -> bool,
}

fn judged(told: &Told, _: &str) -> bool {
    told.judged
}

fn accepted(told: &Told, _: &str) -> bool {
    told.accepted
}

/// A number that no helper has is an "invalid func"; one that this program may not call is not.
fn names_it(_: &Told, message: &str) -> bool {
    !message.starts_with("invalid func")
}

fn questions(btf: Option<&Arc<Btf>>) -> Vec<Question> {
    let mut all = Vec::new();
    for id in HelperId::all().skip(1) {
        let call = Insn { code: BPF_JMP | BPF_CALL, imm: id as i32, ..Insn::default() };
        let program = of(ProgType::SocketFilter, vec![call, EXIT]);
        all.push(Question { kind: "helper", name: id.name().to_owned(), program, knows: names_it });
    }
    for (map_type, shape) in MAPS {
        let program = with_map(map_type, shape);
        all.push(Question {
            kind: "map",
            name: map_type.name().to_owned(),
            program,
            knows: judged,
        });
    }
    for (prog_type, attach) in PROGS {
        let flags = match prog_type {
            ProgType::Syscall => ProgFlags::SLEEPABLE,
            _ => ProgFlags::empty(),
        };
        let program = Program {
            expected_attach_type: attach,
            prog_flags: flags,
            attach: target(prog_type, btf),
            ..of(prog_type, vec![ZERO, EXIT])
        };
        let name = prog_type.name().to_owned();
        all.push(Question { kind: "prog", name, program, knows: judged });
    }
    for (name, insns) in INSNS {
        let program =
            of(ProgType::SocketFilter, insns.iter().copied().chain([ZERO, EXIT]).collect());
        all.push(Question { kind: "insn", name: name.to_owned(), program, knows: accepted });
    }
    all
}

const fn insn(code: u8, regs: (u8, u8), off: i16, imm: i32) -> Insn {
    Insn { code, dst: regs.0, src: regs.1, off, imm }
}

const ZERO: Insn = insn(0xb7, (0, 0), 0, 0);
const EXIT: Insn = insn(0x95, (0, 0), 0, 0);
/// `*(u64 *)(r10 - 8) = 0`.
const STACK: Insn = insn(0x7a, (10, 0), -8, 0);

/// Insns that came with a release; before each program's `r0 = 0; exit`.
const INSNS: [(&str, &[Insn]); 12] = [
    ("jmp32", &[ZERO, insn(0x16, (0, 0), 0, 0)]),
    ("atomic fetch", &[STACK, ZERO, insn(0xdb, (10, 0), -8, 0x01)]),
    ("atomic or", &[STACK, ZERO, insn(0xdb, (10, 0), -8, 0x40)]),
    ("atomic cmpxchg", &[STACK, ZERO, insn(0xdb, (10, 0), -8, 0xf1)]),
    ("ldsx", &[STACK, insn(0x91, (0, 10), -8, 0)]),
    ("movsx", &[ZERO, insn(0xbf, (0, 0), 8, 0)]),
    ("bswap", &[ZERO, insn(0xd7, (0, 0), 0, 16)]),
    ("gotol", &[insn(0x06, (0, 0), 0, 0)]),
    ("sdiv", &[ZERO, insn(0x37, (0, 0), 1, 1)]),
    ("may_goto", &[insn(0xe5, (0, 0), 1, 0), ZERO]),
    ("load-acquire", &[STACK, insn(0xdb, (0, 10), -8, 0x100)]),
    ("store-release", &[STACK, ZERO, insn(0xdb, (10, 0), -8, 0x110)]),
];

/// Types that load alone, or with a function of every kernel; and what they say they attach to.
const PROGS: [(ProgType, u32); 31] = [
    (ProgType::SocketFilter, 0),
    (ProgType::Kprobe, 0),
    (ProgType::SchedCls, 0),
    (ProgType::SchedAct, 0),
    (ProgType::Tracepoint, 0),
    (ProgType::Xdp, 0),
    (ProgType::PerfEvent, 0),
    (ProgType::CgroupSkb, 0),
    (ProgType::CgroupSock, AttachType::CgroupInetSockCreate as u32),
    (ProgType::LwtIn, 0),
    (ProgType::LwtOut, 0),
    (ProgType::LwtXmit, 0),
    (ProgType::SockOps, AttachType::CgroupSockOps as u32),
    (ProgType::SkSkb, 0),
    (ProgType::CgroupDevice, AttachType::CgroupDevice as u32),
    (ProgType::SkMsg, AttachType::SkMsgVerdict as u32),
    (ProgType::RawTracepoint, 0),
    (ProgType::CgroupSockAddr, AttachType::CgroupInet4Bind as u32),
    (ProgType::LwtSeg6local, 0),
    (ProgType::LircMode2, AttachType::LircMode2 as u32),
    (ProgType::SkReuseport, 0),
    (ProgType::FlowDissector, AttachType::FlowDissector as u32),
    (ProgType::CgroupSysctl, AttachType::CgroupSysctl as u32),
    (ProgType::RawTracepointWritable, 0),
    (ProgType::CgroupSockopt, AttachType::CgroupGetsockopt as u32),
    (ProgType::Tracing, AttachType::TraceFentry as u32),
    (ProgType::Lsm, AttachType::LsmMac as u32),
    (ProgType::SkLookup, AttachType::SkLookup as u32),
    (ProgType::Syscall, 0),
    (ProgType::Netfilter, AttachType::Netfilter as u32),
    (ProgType::Unspec, 0),
];

fn target(prog_type: ProgType, btf: Option<&Arc<Btf>>) -> AttachTarget {
    let name = match prog_type {
        ProgType::Tracing => "bpf_fentry_test1",
        ProgType::Lsm => "bpf_lsm_file_open",
        _ => return AttachTarget::None,
    };
    match btf.and_then(|btf| btf.find_by_name_kind(name, Kind::Func)) {
        Some(id) => AttachTarget::Kernel { btf_id: id.0, name: name.to_owned() },
        None => AttachTarget::Unresolved(name.to_owned()),
    }
}

/// Sizes of key and value, entries, flags.
type Shape = (u32, u32, u32, MapFlags);

const PLAIN: Shape = (4, 8, 1, MapFlags::empty());
const SLOTS: Shape = (4, 4, 1, MapFlags::empty());
const STORAGE: Shape = (4, 8, 0, MapFlags::NO_PREALLOC);
const RING: Shape = (0, 0, 4096, MapFlags::empty());

const MAPS: [(MapType, Shape); 32] = [
    (MapType::Hash, PLAIN),
    (MapType::Array, PLAIN),
    (MapType::ProgArray, SLOTS),
    (MapType::PerfEventArray, SLOTS),
    (MapType::PercpuHash, PLAIN),
    (MapType::PercpuArray, PLAIN),
    (MapType::StackTrace, (4, 128, 1, MapFlags::empty())),
    (MapType::CgroupArray, SLOTS),
    (MapType::LruHash, PLAIN),
    (MapType::LruPercpuHash, PLAIN),
    (MapType::LpmTrie, (8, 8, 1, MapFlags::NO_PREALLOC)),
    (MapType::ArrayOfMaps, SLOTS),
    (MapType::HashOfMaps, SLOTS),
    (MapType::Devmap, SLOTS),
    (MapType::Sockmap, SLOTS),
    (MapType::Cpumap, SLOTS),
    (MapType::Xskmap, SLOTS),
    (MapType::Sockhash, SLOTS),
    (MapType::CgroupStorage, (8, 8, 0, MapFlags::empty())),
    (MapType::ReuseportSockarray, PLAIN),
    (MapType::PercpuCgroupStorage, (8, 8, 0, MapFlags::empty())),
    (MapType::Queue, (0, 8, 1, MapFlags::empty())),
    (MapType::Stack, (0, 8, 1, MapFlags::empty())),
    (MapType::SkStorage, STORAGE),
    (MapType::DevmapHash, SLOTS),
    (MapType::Ringbuf, RING),
    (MapType::InodeStorage, STORAGE),
    (MapType::TaskStorage, STORAGE),
    (MapType::BloomFilter, (0, 8, 1, MapFlags::empty())),
    (MapType::UserRingbuf, RING),
    (MapType::CgrpStorage, STORAGE),
    (MapType::Arena, (0, 0, 1, MapFlags::MMAPABLE)),
];

/// A program that only names a map: the map is made for it.
fn with_map(map_type: MapType, (key_size, value_size, max_entries, map_flags): Shape) -> Program {
    let mut btf = BtfBuilder::new();
    let key = btf.int("int", 4, IntEncoding::SIGNED);
    let value = btf.int("long", 8, IntEncoding::SIGNED);
    let stored = map_flags == MapFlags::NO_PREALLOC && max_entries == 0;
    let outer = matches!(map_type, MapType::ArrayOfMaps | MapType::HashOfMaps);
    let inner = MapDef {
        map_type: MapType::Array,
        key_size: 4,
        value_size: 8,
        max_entries: 1,
        ..MapDef::default()
    };
    let map = MapDef {
        name: "m".to_owned(),
        map_type,
        key_size,
        value_size,
        max_entries,
        map_flags,
        inner: outer.then(|| Box::new(inner)),
        btf_key_type_id: if stored { key.0 } else { 0 },
        btf_value_type_id: if stored { value.0 } else { 0 },
        ..MapDef::default()
    };
    let load = insn(0x18, (1, BPF_PSEUDO_MAP_FD), 0, 0);
    Program {
        btf: btf.build().ok().map(Arc::new),
        maps: vec![map].into(),
        ..of(ProgType::SchedCls, vec![load, Insn::default(), ZERO, EXIT])
    }
}

fn of(prog_type: ProgType, insns: Vec<Insn>) -> Program {
    Program {
        name: "probe".to_owned(),
        prog_type,
        license: "GPL".to_owned(),
        insns,
        ..Program::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::uapi::since::Release;
    use skep::uapi::{nearest_asked, not_yet};

    /// Since when a thing is there, by the table.
    fn expected(row: &Row) -> Option<Release> {
        match row.kind.as_str() {
            "helper" => since::helper(HelperId::all().find(|id| id.name() == row.name)?),
            "map" => since::map_type(MapType::all().find(|of| of.name() == row.name)?),
            "prog" => since::prog_type(ProgType::all().find(|of| of.name() == row.name)?),
            _ => {
                let (_, insns) = INSNS.iter().find(|(name, _)| *name == row.name)?;
                insns.iter().find_map(of_insn).map(|it| it.since)
            }
        }
    }

    /// Kinds of programs may not call what the kernel said that they may not.
    #[test]
    fn refused_calls_are_in_the_table() {
        let mut asked = 0;
        for release in agree::releases_with(END) {
            for row in read(&release).expect("a table").iter().filter(|row| row.kind == "calls") {
                let (prog_type, attach) = row.name.split_once('/').expect("two names");
                let prog_type = ProgType::all().find(|it| it.name() == prog_type);
                let attach = AttachType::all().find(|it| it.name() == attach);
                let prog_type = prog_type.expect("a type");
                let attach_type = attach.expect("a type").number();
                let hook = HookKey { prog_type, attach_type, target: "" };
                for name in row.message.split_whitespace() {
                    let id = HelperId::all().find(|id| id.name() == name).expect("a helper");
                    assert!(
                        not_yet(nearest_asked(&release), &hook, id),
                        "{release} {hook:?} {name}"
                    );
                    asked += 1;
                }
            }
        }
        assert!(asked > 0, "no kernel was asked");
    }

    /// Not built into Debian's cloud kernels: what is there says nothing of the release.
    const CONFIGURED: [&str; 1] = ["lirc_mode2"];

    #[test]
    fn what_kernels_answered_is_what_the_table_says() {
        let mut asked = 0;
        for release in agree::releases_with(END) {
            let version: Release = release.parse().expect("a release");
            for row in read(&release).expect("a table") {
                let Some(since) = expected(&row) else { continue };
                if CONFIGURED.contains(&row.name.as_str()) {
                    continue;
                }
                let there = row.there == "yes";
                if since::BACKPORTED.contains(&(release.as_str(), row.name.as_str())) {
                    assert!(there && since > version, "{release}: {}", row.name);
                    continue;
                }
                assert_eq!(there, since <= version, "{release}: {} {}", row.kind, row.name);
                asked += 1;
            }
        }
        assert!(asked > 0, "no kernel was asked");
    }
}
