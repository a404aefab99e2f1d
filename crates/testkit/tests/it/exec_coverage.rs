//! Every helper, kfunc, map type and context type of the runtime is exercised by a case of
//! `tests/exec/*.md` that runs there, or is listed in `GAPS` with the reason.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use skep::btf::TypeId;
use skep::insn::code::{BPF_CALL, BPF_JMP, BPF_PSEUDO_KFUNC_CALL};
use skep::program::Program;
use skep::uapi::ProgType;
use skep::uapi::helper::HelperId;
use skep_runtime::{Ctx, Engine, supported_helpers, supported_kfuncs};
use skep_testkit::exec::{self, Way};
use skep_testkit::judge::Judge;
use skep_testkit::suite;
use std::collections::BTreeSet;

/// The test of objects, which compares with the kernel.
const OBJECTS: &str = "tests/it/objects.rs";
/// The test of programs that the kernel only runs when they are attached.
const TRACED: &str = "tests/it/traced.rs";

/// What no case exercises, with the reason. A row that a case covers must be removed.
const GAPS: [(&str, &str); 25] = [
    // Objects in lists and trees need types in the program's BTF, which suites cannot describe.
    ("bpf_list_back", OBJECTS),
    ("bpf_list_front", OBJECTS),
    ("bpf_list_pop_back", OBJECTS),
    ("bpf_list_pop_front", OBJECTS),
    ("bpf_list_push_back_impl", OBJECTS),
    ("bpf_list_push_front_impl", OBJECTS),
    ("bpf_per_cpu_ptr", OBJECTS),
    ("bpf_percpu_obj_drop_impl", OBJECTS),
    ("bpf_percpu_obj_new_impl", OBJECTS),
    ("bpf_rbtree_add_impl", OBJECTS),
    ("bpf_rbtree_first", OBJECTS),
    ("bpf_rbtree_left", OBJECTS),
    ("bpf_rbtree_remove", OBJECTS),
    ("bpf_rbtree_right", OBJECTS),
    ("bpf_rbtree_root", OBJECTS),
    ("bpf_refcount_acquire_impl", OBJECTS),
    ("bpf_this_cpu_ptr", OBJECTS),
    // Tracing programs return 0, and suites see no other result of a run.
    ("bpf_copy_from_user_task", TRACED),
    ("bpf_get_func_arg", TRACED),
    ("bpf_get_func_arg_cnt", TRACED),
    ("bpf_get_func_ret", TRACED),
    ("program lsm", TRACED),
    ("program tracing", TRACED),
    // For programs attached to functions with an `xdp_buff` argument; their contexts contain
    // pointers that only a kernel has.
    ("bpf_xdp_output", "no context of a type that may call it can be made"),
    // The host kernel is built without infrared receivers.
    ("program lirc_mode2", "the verifier has no rules for its context"),
];

/// The callees of a program, and its maps and type.
fn parts(program: &Program) -> impl Iterator<Item = String> {
    let calls = program.insns.iter().filter(|insn| insn.code == BPF_JMP | BPF_CALL);
    let names = calls.filter_map(|insn| match insn.src {
        0 => HelperId::from_number(insn.imm as u32).map(|id| id.name().to_owned()),
        BPF_PSEUDO_KFUNC_CALL => {
            let btf = program.kernel_btf.as_ref()?;
            btf.get(TypeId(insn.imm as u32)).map(|func| func.name().to_owned())
        }
        _ => None,
    });
    let maps = program.maps.iter().map(|map| format!("map {}", map.map_type));
    let prog_type = format!("program {}", program.prog_type);
    names.chain(maps).chain([prog_type]).collect::<Vec<_>>().into_iter()
}

/// The supported map types, from the document that the runtime's tests check.
fn supported_maps() -> impl Iterator<Item = String> {
    let document = include_str!("../../../../docs/runtime.md");
    let (_, maps) = document.split_once("## Maps").expect("a section");
    let (maps, _) = maps.split_once("Missing").expect("what is missing");
    maps.split('`').skip(1).step_by(2).map(|name| format!("map {name}"))
}

/// Whether a context of the type can be created.
fn has_context(prog_type: ProgType) -> bool {
    Ctx::raw(prog_type, &[0; 8]).is_ok() || Ctx::packet(prog_type, &[0; 64]).is_ok()
}

#[test]
fn all_that_the_runtime_has_is_exercised() {
    let judge = Judge::here();
    let Some(btf) = judge.btf() else {
        judge.skips().iter().for_each(|line| eprintln!("skipped: {line}"));
        return;
    };
    let way = Way { engine: Engine::Interpreter, counted: false, tuning: |_| Default::default() };
    let mut exercised = BTreeSet::new();
    for (name, cases) in suite::read_folder("exec") {
        for case in cases.unwrap_or_else(|error| panic!("{name}: {error}")) {
            let programs = suite::programs(&case, Some(btf));
            let programs = programs.unwrap_or_else(|error| panic!("{name}: {error}"));
            if matches!(exec::on_runtime(&case, &programs, way.clone()), Ok(Some(_))) {
                exercised.extend(programs.iter().flat_map(parts));
            }
        }
    }
    let types = ProgType::all().filter(|prog_type| has_context(*prog_type));
    let types = types.map(|prog_type| format!("program {prog_type}"));
    let kfuncs = supported_kfuncs().map(str::to_owned);
    let helpers = supported_helpers().map(|id| id.name().to_owned());
    let wanted: BTreeSet<String> =
        helpers.chain(kfuncs).chain(supported_maps()).chain(types).collect();
    let gaps: BTreeSet<String> = GAPS.iter().map(|(what, _)| (*what).to_owned()).collect();
    let missing: BTreeSet<String> = wanted.difference(&exercised).cloned().collect();
    assert_eq!(missing, gaps, "missing left, GAPS right");
}
