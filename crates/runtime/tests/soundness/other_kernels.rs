//! Programs verified with the rules, or the types, of another kernel.

use super::{ENGINES, map, runtime};
use skep_btf::{Btf, BtfBuilder, FuncLinkage, IntEncoding, Kind};
use skep_insn::InsnIdx;
use skep_insn::asm::assemble;
use skep_program::{FuncInfo, MapDef, Program};
use skep_runtime::{Ctx, ErrorKind, LoadOptions};
use skep_uapi::helper::HelperId;
use skep_uapi::{Behaviours, KernelProfile, MapType, ProgFlags, ProgType};
use skep_verifier::{Config, HoleKind, Verdict, VerifiedProgram, verify};
use std::sync::Arc;

/// A callback whose second round writes a megabyte beyond the value. 6.1 walks one round.
const ROUNDS: &str = "
    *(u64 *)(r10 - 8) = 0
    r1 = 1000
    r2 = func[round]
    r3 = r10
    r3 += -8
    r4 = 0
    call bpf_loop
    r0 = 0
    exit
round:
    r6 = *(u64 *)(r2 + 0)
    r7 = r6
    r7 += 1048576
    *(u64 *)(r2 + 0) = r7
    r1 = map_value[m]+0
    r1 += r6
    *(u64 *)(r1 + 0) = r6
    r0 = 0
    exit
";

/// The result of a function that a tail call leaves is that of its target: 6.12 takes it for 8.
const LEFT: &str = "
    call leaves
    r1 = map_value[m]+0
    r1 += r0
    *(u64 *)(r1 + 0) = r0
    r0 = 0
    exit
leaves:
    r2 = map[jumps]
    r3 = 0
    call bpf_tail_call
    r0 = 8
    exit
";

/// The same, without harm: 6.12 removes the first exit.
const LEFT_SAFELY: &str = "
    call leaves
    if r0 == 8 goto same
    r0 = 1
    exit
same:
    r0 = 2
    exit
leaves:
    r2 = map[jumps]
    r3 = 0
    call bpf_tail_call
    r0 = 8
    exit
";

fn maps() -> Arc<[MapDef]> {
    let jumps = map("jumps", MapType::ProgArray, 4, 4, 1);
    [map("m", MapType::Array, 4, 64, 1), jumps].into()
}

/// A program with BTF of its functions, and a kernel's BTF for kfuncs.
fn program(prog_type: ProgType, text: &str, kernel_btf: Option<Arc<Btf>>) -> Program {
    let maps = maps();
    let helper = |name: &str| HelperId::from_name(name).map(|id| id as u32);
    let mut assembly = assemble(text, &helper).unwrap();
    for reference in &assembly.map_refs {
        let index = maps.iter().position(|map| map.name == reference.name).unwrap();
        assembly.insns[reference.insn.index()].imm = index as i32;
    }
    for reference in &assembly.kfunc_refs {
        let btf = kernel_btf.as_ref().unwrap();
        let id = btf.find_by_name_kind(&reference.name, Kind::Func).unwrap();
        assembly.insns[reference.insn.index()].imm = id.0 as i32;
    }
    let mut made = BtfBuilder::new();
    let int = made.int("u64", 8, IntEncoding::default());
    let proto = made.func_proto(int, &[("a", int), ("b", int)]);
    let starts = assembly.labels.iter().filter(|label| ["round", "leaves"].contains(&&*label.name));
    let starts = std::iter::once(InsnIdx(0)).chain(starts.map(|label| label.insn));
    let func_info = starts.map(|insn_off| {
        let id = made.func("function", proto, FuncLinkage::Static);
        FuncInfo { insn_off, type_id: id.0 }
    });
    let func_info: Vec<FuncInfo> = func_info.collect();
    let syscall = prog_type == ProgType::Syscall;
    Program {
        name: "prog".into(),
        prog_type,
        prog_flags: if syscall { ProgFlags::SLEEPABLE } else { ProgFlags::empty() },
        license: "GPL".into(),
        insns: assembly.insns,
        maps,
        btf: Some(Arc::new(made.build().unwrap())),
        func_info,
        kernel_btf,
        ..Program::default()
    }
}

fn verdict(program: &Program, behaviours: Behaviours) -> Verdict {
    let profile = KernelProfile { behaviours, ..KernelProfile::v6_18() };
    verify(program, &Config::privileged(profile)).verdict
}

fn accepted(program: &Program, behaviours: Behaviours) -> VerifiedProgram {
    match verdict(program, behaviours) {
        Verdict::Accepted(program) => *program,
        other => panic!("{}: {other:?}", program.name),
    }
}

#[test]
fn what_another_kernel_accepts_wrongly_is_not_run() {
    for (text, release) in [(ROUNDS, "6.1.0-56-amd64"), (LEFT, "6.12.117+deb12")] {
        let program = program(ProgType::Xdp, text, None);
        let here = verdict(&program, Behaviours::reference());
        assert!(matches!(here, Verdict::Rejected(_)), "{release}: {here:?}");
        let verified = accepted(&program, Behaviours::of_release(release));
        assert_eq!(verified.kernel_hole().map(|hole| hole.kind), Some(HoleKind::OtherRules));
        for engine in ENGINES {
            let (runtime, options) = (runtime(), LoadOptions { engine, ..LoadOptions::default() });
            let object = runtime.create_maps(&maps(), None);
            let refused = runtime.load(&verified, &object, &options).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Unsafe);
            assert!(refused.to_string().contains("6.18.44 do not allow it: "), "{refused}");
        }
    }
}

/// The rules are fields that anyone can set.
#[test]
fn each_rule_alone_is_looked_at() {
    let program = program(ProgType::Xdp, LEFT, None);
    let mut rules = Behaviours::reference();
    rules.set("tail_calls_end_function", false);
    assert!(accepted(&program, rules).kernel_hole().is_some());
}

#[test]
fn what_another_kernel_removes_wrongly_is_run() {
    for engine in ENGINES {
        let (runtime, options) = (runtime(), LoadOptions { engine, ..LoadOptions::default() });
        let object = runtime.create_maps(&maps(), None);
        let load = |text: &str| {
            let rules = Behaviours::of_release("6.12.117+deb12");
            let verified = accepted(&program(ProgType::Xdp, text, None), rules);
            runtime.load(&verified, &object, &options).unwrap()
        };
        let (caller, target) = (load(LEFT_SAFELY), load("r0 = 5\nexit"));
        let run = || caller.run(&mut Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap()).unwrap().r0;
        assert_eq!(run(), 2);
        object.set_program("jumps", 0, &target).unwrap();
        assert_eq!(run(), 1);
    }
}

/// A kernel's BTF in which kfuncs take numbers.
fn numbers() -> Arc<Btf> {
    let mut made = BtfBuilder::new();
    let long = made.int("u64", 8, IntEncoding::default());
    let int = made.int("u32", 4, IntEncoding::default());
    let void = skep_btf::TypeId(0);
    let size = made.func_proto(int, &[("p", long)]);
    let save = made.func_proto(void, &[("flags", long)]);
    let new = made.func_proto(int, &[("it", long), ("start", int), ("end", int)]);
    for (name, proto) in
        [("bpf_dynptr_size", size), ("bpf_local_irq_save", save), ("bpf_iter_num_new", new)]
    {
        let func = made.func(name, proto, FuncLinkage::Static);
        made.decl_tag("bpf_kfunc", func, None);
    }
    Arc::new(made.build().unwrap())
}

#[test]
fn a_kfunc_is_called_with_what_it_takes() {
    let btf = numbers();
    for (name, rest) in [
        ("bpf_dynptr_size", ""),
        ("bpf_local_irq_save", "r0 = 0\n"),
        ("bpf_iter_num_new", "r0 = 0\n"),
    ] {
        let text = format!("r1 = 19088736\nr2 = 0\nr3 = 1\ncall kfunc[{name}]\n{rest}exit");
        let program = program(ProgType::Syscall, &text, Some(btf.clone()));
        let verified = accepted(&program, Behaviours::reference());
        for engine in ENGINES {
            let (runtime, options) = (runtime(), LoadOptions { engine, ..LoadOptions::default() });
            let object = runtime.create_maps(&maps(), None);
            let refused = runtime.load(&verified, &object, &options).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Unsupported);
            let what = format!("kfunc {name} as '");
            assert!(refused.to_string().contains(&what), "{refused}");
        }
    }
}
