//! The programs that are loaded: some that access shared state, and those of the test objects.

use skep::btf::{Btf, BtfBuilder, FuncLinkage, IntEncoding, Kind, TypeId};
use skep::insn::InsnIdx;
use skep::insn::asm::{Assembly, assemble};
use skep::program::{FuncInfo, MapDef, Program};
use skep::uapi::helper::HelperId;
use skep::uapi::{Behaviours, MapType, ProgFlags, ProgType};
use skep::verifier::VerifiedProgram;
use skep::{Host, Session, VerifyOptions};
use std::path::Path;
use std::sync::Arc;

/// The maps of an object, and its accepted programs.
pub(super) struct Source {
    pub(super) maps: Arc<[MapDef]>,
    pub(super) btf: Option<Arc<Btf>>,
    pub(super) programs: Vec<VerifiedProgram>,
}

/// Maps that the programs use: name, type, value size and entries.
const MAPS: &[(&str, MapType, [u32; 3])] = &[
    ("array", MapType::Array, [4, 8, 4]),
    ("one", MapType::Array, [4, 8, 1]),
    ("hash", MapType::Hash, [4, 8, 8]),
    ("wide", MapType::Hash, [4, 100, 3]),
    ("lru", MapType::LruHash, [4, 8, 4]),
    ("percpu", MapType::PercpuArray, [4, 8, 2]),
    ("percpu_hash", MapType::PercpuHash, [4, 8, 4]),
    ("jumps", MapType::ProgArray, [4, 4, 3]),
    ("ring", MapType::Ringbuf, [0, 0, 4096]),
    ("queue", MapType::Queue, [0, 8, 3]),
    ("events", MapType::PerfEventArray, [4, 4, 2]),
];

/// Adds to the value of a key from the context, in `MAP`.
const COUNTS: &str = "
    r7 = *(u32 *)(r1 + 0)
    r7 &= 7
    *(u32 *)(r10 - 4) = r7
    *(u64 *)(r10 - 16) = r7
    r1 = map[MAP]
    r2 = r10
    r2 += -4
    r3 = r10
    r3 += -16
    r4 = 0
    call bpf_map_update_elem
    r1 = map[MAP]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r1 = 1
    lock *(u64 *)(r0 + 0) += r1
    r8 = *(u64 *)(r0 + 0)
    if r7 != 3 goto out
    r1 = map[MAP]
    r2 = r10
    r2 += -4
    call bpf_map_delete_elem
out:
    r0 = r7
    exit";

/// Texts of other programs. The slots of `jumps` are changed by the threads.
const TEXTS: &[(&str, &str)] = &[
    ("nothing", "r0 = 2\nexit"),
    ("tail", "r6 = r1\nr2 = map[jumps]\nr3 = 0\ncall 12\nr1 = r6\nr2 = map[jumps]\nr3 = 1\ncall 12\nr0 = 1\nexit"),
    ("tail_any", "r3 = *(u32 *)(r1 + 4)\nr2 = map[jumps]\ncall 12\nr0 = 3\nexit"),
    ("output", "r2 = 7\n*(u64 *)(r10 - 8) = r2\nr1 = map[ring]\nr2 = r10\nr2 += -8\nr3 = 8\nr4 = 0
        call bpf_ringbuf_output\nexit"),
    ("reserve", "r1 = map[ring]\nr2 = 40\nr3 = 0\ncall bpf_ringbuf_reserve\nif r0 == 0 goto out
        r1 = r0\nr2 = 0\ncall bpf_ringbuf_submit\nout:\nr0 = 0\nexit"),
    ("queues", "r2 = 7\n*(u64 *)(r10 - 8) = r2\nr1 = map[queue]\nr2 = r10\nr2 += -8\nr3 = 2
        call bpf_map_push_elem\nr1 = map[queue]\nr2 = r10\nr2 += -8\ncall bpf_map_pop_elem\nexit"),
    ("prints", "r1 = 2675266\n*(u32 *)(r10 - 4) = r1\nr1 = r10\nr1 += -4\nr2 = 4
        call bpf_trace_printk\nexit"),
    ("spins", "r6 = 0\nagain:\nmay_goto out\nr6 += 1\nif r6 > 300 goto out\ncall bpf_ktime_get_ns\ngoto again
        out:\nr0 = 5\nexit"),
    ("reads", "r6 = r1\nr8 = 0\nr7 = *(u32 *)(r6 + 0)\nr7 <<= 48\nr7 s>>= 48\nr3 = r10\nr3 += r7\nr1 = r10
        r1 += -64\nr2 = 64\ncall bpf_probe_read_kernel\nr3 = *(u64 *)(r10 - 64)\nr1 = r10
        r1 += -64\nr2 = 64\ncall bpf_probe_read_kernel\nr0 = r8\nexit"),
    ("by_cpu", "call bpf_get_smp_processor_id\n*(u32 *)(r10 - 4) = r0\nr1 = map[percpu]\nr2 = r10
        r2 += -4\ncall bpf_map_lookup_elem\nif r0 == 0 goto out\nr1 = *(u64 *)(r0 + 0)\nr1 += 1
        *(u64 *)(r0 + 0) = r1\nout:\nr0 = 0\nexit"),
];

/// Programs that other kernels accept although they write elsewhere; labels of functions are `f_`.
const UNSAFE_TEXTS: &[(&str, &str)] = &[
    (
        "rounds",
        "*(u64 *)(r10 - 8) = 0\nr1 = 1000\nr2 = func[f_round]\nr3 = r10\nr3 += -8\nr4 = 0
        call bpf_loop\nr0 = 0\nexit
        f_round:\nr6 = *(u64 *)(r2 + 0)\nr7 = r6\nr7 += 1073741824\n*(u64 *)(r2 + 0) = r7
        r1 = map_value[one]+0\nr1 += r6\n*(u64 *)(r1 + 0) = r6\nr0 = 0\nexit",
    ),
    (
        "left",
        "call f_leaves\nr1 = map_value[one]+0\nr1 += r0\n*(u64 *)(r1 + 0) = r0\nr0 = 0\nexit
        f_leaves:\nr2 = map[jumps]\nr3 = 0\ncall bpf_tail_call\nr0 = 0\nexit",
    ),
    ("far", "r0 = 2147483640\nexit"),
];

/// Kfuncs called with numbers, as their prototypes in `any_types` have it.
const KFUNC_TEXTS: &[(&str, &str)] = &[
    ("size", "r1 = 19088743\ncall kfunc[bpf_dynptr_size]\nexit"),
    ("irq", "r1 = 19088743\ncall kfunc[bpf_local_irq_save]\nr0 = 0\nexit"),
    ("iter", "r1 = 19088736\nr2 = 0\nr3 = 1\ncall kfunc[bpf_iter_num_new]\nr0 = 0\nexit"),
];

/// A kernel's types in which kfuncs take numbers.
fn any_types() -> Option<Arc<Btf>> {
    let mut made = BtfBuilder::new();
    let [int, long] =
        [("u32", 4), ("u64", 8)].map(|(name, bytes)| made.int(name, bytes, IntEncoding::default()));
    let size = made.func_proto(int, &[("p", long)]);
    let save = made.func_proto(TypeId(0), &[("flags", long)]);
    let new = made.func_proto(int, &[("it", long), ("start", int), ("end", int)]);
    for (name, proto) in
        [("bpf_dynptr_size", size), ("bpf_local_irq_save", save), ("bpf_iter_num_new", new)]
    {
        let func = made.func(name, proto, FuncLinkage::Static);
        made.decl_tag("bpf_kfunc", func, None);
    }
    made.build().ok().map(Arc::new)
}

/// Hosts with the rules of other kernels, or with such types.
fn hosts() -> Vec<Host> {
    let of =
        |release: &str| Host { behaviours: Behaviours::of_release(release), ..Host::default() };
    let mut all: Vec<Host> =
        ["5.10.0-46-", "6.1.0-56-", "6.12.117+", "7.3.4+"].map(of).into_iter().collect();
    all.push(Host { kernel_btf: any_types(), ..Host::default() });
    all
}

/// Types of the program's functions.
fn functions(assembly: &Assembly) -> Option<(Arc<Btf>, Vec<FuncInfo>)> {
    let mut made = BtfBuilder::new();
    let long = made.int("u64", 8, IntEncoding::default());
    let proto = made.func_proto(long, &[("a", long), ("b", long)]);
    let labels = assembly.labels.iter().filter(|label| label.name.starts_with("f_"));
    let starts = std::iter::once(InsnIdx(0)).chain(labels.map(|label| label.insn));
    let rows = starts.map(|insn_off| {
        let id = made.func("function", proto, FuncLinkage::Static);
        FuncInfo { insn_off, type_id: id.0 }
    });
    let rows = rows.collect();
    Some((Arc::new(made.build().ok()?), rows))
}

fn map(
    (name, map_type, [key_size, value_size, max_entries]): &(&str, MapType, [u32; 3]),
) -> MapDef {
    MapDef {
        name: (*name).to_owned(),
        map_type: *map_type,
        key_size: *key_size,
        value_size: *value_size,
        max_entries: *max_entries,
        autocreate: true,
        ..MapDef::default()
    }
}

fn program(
    name: &str,
    text: &str,
    prog_type: ProgType,
    maps: &Arc<[MapDef]>,
    kernel_btf: Option<&Arc<Btf>>,
) -> Option<Program> {
    let helper = |name: &str| HelperId::from_name(name).map(|id| id as u32);
    let mut assembly = assemble(text, &helper).ok()?;
    for reference in &assembly.map_refs {
        let index = maps.iter().position(|map| map.name == reference.name)?;
        assembly.insns.get_mut(reference.insn.index())?.imm = index as i32;
    }
    for reference in &assembly.kfunc_refs {
        let id = kernel_btf?.find_by_name_kind(&reference.name, Kind::Func)?;
        assembly.insns.get_mut(reference.insn.index())?.imm = id.0 as i32;
    }
    let (btf, func_info) = functions(&assembly)?;
    let syscall = prog_type == ProgType::Syscall;
    Some(Program {
        btf: Some(btf),
        func_info,
        kernel_btf: kernel_btf.cloned(),
        name: name.to_owned(),
        prog_type,
        prog_flags: if syscall { ProgFlags::SLEEPABLE } else { ProgFlags::empty() },
        license: "GPL".into(),
        insns: assembly.insns,
        maps: maps.clone(),
        ..Program::default()
    })
}

/// The program, if it is accepted; every other one has a diagnosis.
fn accepted(session: &Session, program: &Program) -> Option<VerifiedProgram> {
    let options = VerifyOptions::default();
    let verification = session.verify(program, &options);
    let diagnosis = session.diagnose(program, &verification, &options);
    assert_eq!(diagnosis.is_none(), verification.is_accepted(), "{}", program.name);
    (0..=program.insns.len()).for_each(|idx| drop(program.source_place(idx)));
    verification.into_verified().ok()
}

fn own(session: &Session) -> Source {
    let maps: Arc<[MapDef]> = MAPS.iter().map(map).collect();
    let counts = MAPS.iter().map(|(name, ..)| ("counts", COUNTS.replace("MAP", name)));
    let others = [TEXTS, UNSAFE_TEXTS, KFUNC_TEXTS].concat();
    let others = others.into_iter().map(|(name, text)| (name, text.to_owned()));
    let mut programs = Vec::new();
    for (name, text) in counts.chain(others) {
        for prog_type in
            [ProgType::Xdp, ProgType::SchedCls, ProgType::Syscall, ProgType::RawTracepoint]
        {
            let made = program(name, &text, prog_type, &maps, session.host.kernel_btf.as_ref());
            // Not every program is valid for each type, map and kernel.
            programs.extend(made.and_then(|made| accepted(session, &made)));
        }
    }
    Source { maps, btf: None, programs }
}

fn object(session: &Session, path: &Path) -> Option<Source> {
    let object = session.open(path, &session.read(path).ok()?).ok()?;
    let programs = object.programs.iter().filter_map(|entry| match &entry.program {
        Ok(program) => accepted(session, program),
        Err(_) => {
            session.diagnose_load(entry, object.btf.as_deref()).expect("it is not loaded");
            None
        }
    });
    let programs = programs.collect();
    Some(Source { maps: object.maps.clone(), btf: object.btf.clone(), programs })
}

/// All sources.
pub(super) fn sources() -> Vec<Source> {
    let session = Session::default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let names = ["xdp_count", "xdp_parse", "map_kinds", "timer", "loops", "calls", "tc_mark"];
    let objects = names.iter().map(|name| folder.join(format!("{name}.bpf.o")));
    let mut all = vec![own(&session)];
    all.extend(hosts().into_iter().map(|host| own(&Session::new(host))));
    let accepts = |source: &Source, name: &str| {
        source.programs.iter().any(|program| program.program().name == name)
    };
    assert!(accepts(&all[2], "rounds") && accepts(&all[3], "left"), "otherwise nothing is tested");
    assert!(KFUNC_TEXTS.iter().all(|(name, _)| accepts(&all[5], name)));
    all.extend(objects.filter_map(|path| object(&session, &path)));
    assert!(all.iter().map(|source| source.programs.len()).sum::<usize>() > 40);
    all
}
