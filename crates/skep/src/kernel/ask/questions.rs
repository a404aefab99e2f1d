//! The probes: one program per feature, and which result shows that the feature exists.

use super::judged::says_nothing;
use super::shapes::{EXIT, INSNS, MAPS, PROGS, Shape, ZERO};
use crate::kernel::item::Item;
use skep_btf::{Btf, BtfBuilder, IntEncoding, Kind, LATER_KINDS, MemberDef};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_program::{AttachTarget, MapDef, Program};
use skep_uapi::helper::{HelperId, HelperRow, HookKey};
use skep_uapi::since::{self, Fields, InsnFeature};
use skep_uapi::{AttachType, Judged, MapFlags, MapType, ProgFlags, ProgType, attach_types};
use std::sync::Arc;

/// A program, and the feature it probes.
#[derive(Debug)]
pub struct Question {
    /// The kind of feature.
    pub(super) asked: Asked,
    /// Its name; for insns, which of those introduced together.
    pub name: &'static str,
    /// What is loaded.
    pub program: Program,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    Item(Item),
    BtfKind(Kind),
}

impl Question {
    /// The kind, as in the tables.
    pub fn kind(&self) -> &'static str {
        match self.asked {
            Asked::Item(Item::Helper(_)) => "helper",
            Asked::Item(Item::Map(_)) => "map",
            Asked::Item(Item::Prog(_)) => "prog",
            Asked::Item(_) => "insn",
            Asked::BtfKind(_) => "btf",
        }
    }

    /// Whether the result shows that it exists; `None` if it shows nothing. A helper that a socket
    /// filter may not call exists all the same.
    pub fn answer(&self, told: &Judged) -> Option<bool> {
        let is_there = match self.asked {
            Asked::Item(Item::Helper(_)) => !told.message.starts_with("invalid func"),
            Asked::Item(Item::Insn(_)) => told.accepted,
            Asked::Item(_) => told.judged,
            Asked::BtfKind(_) => told.with_btf,
        };
        (!says_nothing(told)).then_some(is_there)
    }

    /// Whether the program can be loaded at all: what it attaches to is known.
    pub(super) fn can_be_asked(&self) -> bool {
        !matches!(self.program.attach, AttachTarget::Unresolved(_))
    }

    /// For a map: the same with a program that needs fewer privileges.
    pub(super) fn with_less_privilege(&self) -> Option<Program> {
        let is_map = matches!(self.asked, Asked::Item(Item::Map(_)));
        is_map.then(|| Program { prog_type: ProgType::SocketFilter, ..self.program.clone() })
    }
}

/// Programs that trace, which only a loader with CAP_PERFMON may load: then the verifier judges all
/// programs as it does root's. Not every kernel has each of these types.
pub(super) fn tracing() -> [Program; 4] {
    let types =
        [ProgType::Kprobe, ProgType::Tracepoint, ProgType::RawTracepoint, ProgType::PerfEvent];
    types.map(|of_type| of(of_type, vec![ZERO, EXIT]))
}

/// A program that only a loader with CAP_BPF may load, of a type that everybody may: it calls a
/// function.
pub(super) fn with_function() -> Program {
    let call = Insn { code: BPF_JMP | BPF_CALL, src: BPF_PSEUDO_CALL, imm: 1, ..Insn::default() };
    of(ProgType::SocketFilter, vec![call, EXIT, ZERO, EXIT])
}

/// All but calls.
pub fn questions(btf: Option<&Arc<Btf>>) -> Vec<Question> {
    let mut all = Vec::new();
    for id in HelperId::all().skip(1) {
        let program = of(ProgType::SocketFilter, vec![call(id), EXIT]);
        all.push(Question { asked: Asked::Item(Item::Helper(id)), name: id.name(), program });
    }
    for (map_type, shape) in MAPS {
        let program = with_map(map_type, shape);
        let asked = Asked::Item(Item::Map(map_type));
        all.push(Question { asked, name: map_type.name(), program });
    }
    for (prog_type, attach) in PROGS {
        let program = Program {
            expected_attach_type: attach,
            prog_flags: flags(prog_type),
            attach: target(prog_type, btf),
            ..of(prog_type, vec![ZERO, EXIT])
        };
        let asked = Asked::Item(Item::Prog(prog_type));
        all.push(Question { asked, name: prog_type.name(), program });
    }
    for (name, insns) in INSNS {
        let program =
            of(ProgType::SocketFilter, insns.iter().copied().chain([ZERO, EXIT]).collect());
        for feature in insns_named(name).into_iter().take(1) {
            let asked = Asked::Item(Item::Insn(feature));
            all.push(Question { asked, name, program: program.clone() });
        }
    }
    for kind in LATER_KINDS {
        let btf = with_kind(kind).build().ok().map(Arc::new);
        let program = Program { btf, ..of(ProgType::SocketFilter, vec![ZERO, EXIT]) };
        all.push(Question { asked: Asked::BtfKind(kind), name: kind.name(), program });
    }
    all
}

/// The insns that a probe's name refers to.
pub fn insns_named(name: &str) -> Vec<InsnFeature> {
    let fields = |insn: &Insn| Fields { code: insn.code, off: insn.off, imm: insn.imm };
    let of_name = INSNS.iter().filter(|(of, _)| *of == name);
    of_name.flat_map(|(_, insns)| insns.iter().filter_map(|it| since::insn(fields(it)))).collect()
}

/// Programs of one type that call helpers.
#[derive(Debug)]
pub struct Calls<'a> {
    /// Their type.
    pub prog_type: ProgType,
    /// Their attach type.
    pub attach_type: u32,
    /// Whether they are sleepable.
    pub may_sleep: bool,
    btf: Option<&'a Arc<Btf>>,
}

/// Program types that may call different helpers.
pub fn calls(btf: Option<&Arc<Btf>>) -> Vec<Calls<'_>> {
    let mut all = Vec::new();
    for (prog_type, first) in PROGS {
        let numbers = (0..64).filter(|&number| attach_types(prog_type).contains(number));
        let numbers: Vec<u32> = match attach_types(prog_type).contains(u32::MAX) {
            true => vec![first],
            false => numbers.collect(),
        };
        let may_sleep = flags(prog_type).contains(ProgFlags::SLEEPABLE);
        let of = |attach_type| Calls { prog_type, attach_type, may_sleep, btf };
        all.extend(numbers.into_iter().map(of));
    }
    all
}

/// Further ones, where the attach type or sleeping decides, not the program type alone.
pub fn calls_by_attach(btf: Option<&Arc<Btf>>) -> Vec<Calls<'_>> {
    let of = |(prog_type, attach, may_sleep): (ProgType, AttachType, bool)| {
        let attach_type = attach.number();
        Calls { prog_type, attach_type, may_sleep, btf }
    };
    BY_ATTACH.map(of).into()
}

const BY_ATTACH: [(ProgType, AttachType, bool); 10] = [
    (ProgType::Tracing, AttachType::TraceFexit, false),
    (ProgType::Tracing, AttachType::TraceFentry, true),
    (ProgType::Tracing, AttachType::TraceFexit, true),
    (ProgType::Tracing, AttachType::ModifyReturn, false),
    (ProgType::Tracing, AttachType::ModifyReturn, true),
    (ProgType::Tracing, AttachType::TraceRawTp, false),
    (ProgType::Tracing, AttachType::TraceIter, false),
    (ProgType::Tracing, AttachType::TraceIter, true),
    (ProgType::Lsm, AttachType::LsmMac, true),
    (ProgType::Kprobe, AttachType::TraceKprobeMulti, false),
];

/// The name of a program type in a kernel file.
pub(super) fn hook_name(prog_type: ProgType, attach_type: u32) -> String {
    let attach = AttachType::from_number(attach_type);
    match attach.filter(|_| !attach_types(prog_type).contains(u32::MAX)) {
        Some(attach) => format!("{}/{}", prog_type.name(), attach.name()),
        None => prog_type.name().to_owned(),
    }
}

impl Calls<'_> {
    /// The helpers that they may call on 6.18.
    pub fn helpers(&self) -> Vec<HelperId> {
        let Calls { prog_type, attach_type, .. } = *self;
        let key = HookKey { prog_type, attach_type, target: "" };
        HelperRow::find(&key).map(|row| row.usable().iter().collect()).unwrap_or_default()
    }

    /// A program that calls this helper.
    pub fn program(&self, id: HelperId) -> Program {
        let Calls { prog_type, attach_type, may_sleep, btf } = *self;
        let prog_flags = if may_sleep { ProgFlags::SLEEPABLE } else { ProgFlags::empty() };
        Program {
            expected_attach_type: attach_type,
            attach: traced(prog_type, AttachType::from_number(attach_type), btf),
            prog_flags,
            ..of(prog_type, vec![call(id), ZERO, EXIT])
        }
    }

    /// Whether the reason is that such programs may not call it.
    pub fn is_refused(told: &Judged) -> bool {
        const SAYS: [&str; 2] = ["unknown func", "program of this type cannot use helper"];
        told.judged && SAYS.iter().any(|words| told.message.starts_with(words))
    }
}

fn call(id: HelperId) -> Insn {
    Insn { code: BPF_JMP | BPF_CALL, imm: id as i32, ..Insn::default() }
}

fn flags(prog_type: ProgType) -> ProgFlags {
    match prog_type {
        ProgType::Syscall => ProgFlags::SLEEPABLE,
        _ => ProgFlags::empty(),
    }
}

/// A target that exists on every kernel.
fn traced(prog_type: ProgType, attach: Option<AttachType>, btf: Option<&Arc<Btf>>) -> AttachTarget {
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

/// A program that only refers to a map, which is created for it.
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
    let load = Insn { code: 0x18, dst: 1, src: BPF_PSEUDO_MAP_FD, ..Insn::default() };
    Program {
        btf: btf.build().ok().map(Arc::new),
        maps: vec![map].into(),
        ..of(ProgType::SchedCls, vec![load, Insn::default(), ZERO, EXIT])
    }
}

/// BTF with a type of this kind.
fn with_kind(kind: Kind) -> BtfBuilder {
    let mut btf = BtfBuilder::new();
    let int = btf.int("int", 4, IntEncoding::SIGNED);
    match kind {
        Kind::Float => drop(btf.float("double", 8)),
        Kind::DeclTag => {
            let of = btf.struct_("s", 4, &[MemberDef::new("a", int, 0)]);
            btf.decl_tag("tag", of, None);
        }
        Kind::TypeTag => {
            let tag = btf.type_tag("tag", int);
            btf.ptr(tag);
        }
        _ => drop(btf.enum64("e", false, &[("A", 1 << 40)])),
    }
    btf
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
