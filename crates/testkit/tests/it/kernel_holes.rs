//! Every case of `tests/verifier/kernel_holes.md` and `kernel_findings.md`: the kernel accepts it
//! (`tests/suites.rs`), the runtime does not load it. Programs that use an unsound rule safely are
//! loaded (`kernel_holes_safe.md`), and run with the insns that the kernel wrongly removes as dead.
//! What makes the kernel itself crash (`freed.md`, `outside.md`) is not given to it.

use skep::program::Program;
use skep::uapi::{BEHAVIOURS, Behaviour, ProgType, Shows, Witness};
use skep::verifier::HoleKind;
use skep::{Host, KernelBtf};
use skep_runtime::{Ctx, Engine, ErrorKind, LoadOptions, Options, Runtime};
use skep_testkit::judge::Judge;
use skep_testkit::{engine, objects, suite};

const UNSAFE: [&str; 2] = [
    include_str!("../../../../tests/verifier/kernel_holes.md"),
    include_str!("../../../../tests/verifier/kernel_findings.md"),
];
const SAFE: &str = include_str!("../../../../tests/verifier/kernel_holes_safe.md");
const DROPPED: &str = include_str!("../../../../tests/verifier/kernel_holes_dropped.md");
const FREED: &str = include_str!("freed.md");
const OUTSIDE: &str = include_str!("outside.md");

/// The cases, if the kernel's types are available.
fn programs(text: &str) -> Vec<(String, Program)> {
    let judge = Judge::here();
    let cases = suite::read(text).expect("a suite");
    assert!(!cases.is_empty());
    let here = cases.iter().filter(|case| !judge.lacks_types_of(case));
    let made = |case: &suite::Case| suite::program(case, judge.btf()).expect(&case.name).0;
    here.map(|case| (case.name.clone(), made(case))).collect()
}

#[test]
fn what_the_kernel_wrongly_accepts_is_not_loaded() {
    for (name, program) in UNSAFE.into_iter().flat_map(programs) {
        let verified = engine::verified(&program).expect(&name);
        let hole = verified.kernel_hole().unwrap_or_else(|| panic!("{name}: no hole"));
        for engine in [Engine::Interpreter, Engine::MachineCode] {
            let runtime = Runtime::new(Options::default()).expect("a runtime");
            let maps = runtime.create_maps(&program.maps, None);
            let options = LoadOptions { engine, ..LoadOptions::default() };
            let refused = runtime.load(&verified, &maps, &options).expect_err(&name);
            assert_eq!(refused.kind(), ErrorKind::Unsafe, "{name}: {refused}");
            assert!(refused.to_string().ends_with(&hole.to_string()), "{name}: {refused}");
        }
    }
}

/// Programs of `tests/kernels/witnesses` that 6.18.44 accepts and a later kernel refuses, and whose
/// first doubt is the reason.
const MENDED_LATER: [(&str, &str, HoleKind); 12] = [
    ("edges", "left_before_write", HoleKind::LeftByTailCall),
    ("ended", "plain_into_percpu", HoleKind::PlainForPercpu),
    ("ended", "acquired_inside", HoleKind::InnerReference),
    ("ended", "node_read_after", HoleKind::EndedSection),
    ("workers", "called_by_callback", HoleKind::SleepingCaller),
    ("newer", "null_for_nonnull", HoleKind::NullForMemory),
    ("nulls", "number_for_no_memory", HoleKind::NullArgument),
    ("stricter", "beyond_allocated", HoleKind::BeyondAllocated),
    ("stricter", "used_after_lock", HoleKind::EndedSection),
    ("stricter", "ctx_acquired_in_place", HoleKind::AcquiredContext),
    ("passed", "equals_pointer_moved_far", HoleKind::ComparedPointer),
    ("later", "packet_passed_and_moved", HoleKind::PacketSlice),
];

#[test]
fn what_later_kernels_refuse_is_a_hole_of_its_kind() {
    if Judge::here().btf().is_none() {
        return;
    }
    let host = Host::read(&KernelBtf::Running).expect("the kernel's types");
    for (file, name, kind) in MENDED_LATER {
        let object = objects::open(&host, format!("kernels/witnesses/{file}.bpf.o"));
        let entry = object.programs.iter().find(|entry| &*entry.name == name).expect(name);
        let verified = engine::verified(entry.program.as_ref().expect(name)).expect(name);
        assert_eq!(verified.kernel_hole().map(|hole| hole.kind), Some(kind), "{name}");
        let runtime = Runtime::new(Options::default()).expect("a runtime");
        let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
        let refused = runtime.load(&verified, &maps, &LoadOptions::default()).expect_err(name);
        assert_eq!(refused.kind(), ErrorKind::Unsafe, "{name}: {refused}");
    }
}

/// Rules by which a later kernel refuses what 6.18.44 accepts, and why a run is safe without them.
const SAFE_WITHOUT: [(&str, &str); 19] = [
    ("file_alloc_hook", "only where a program attaches"),
    ("probed_memory_apart", "a load is guarded if what it loads may be absent on one path"),
    ("five_registers_linked", "what is known of the sixth copy is true"),
    ("var_off_writes_scrub", "the bytes beside the store are written"),
    ("drops_any_fields", "fields of a dropped object are dropped with it, wherever that happens"),
    ("linked_sums_synced", "what the bits say is true"),
    ("fields_checked_first", "only insns that no path reaches"),
    ("store_fields_checked_first", "only insns that no path reaches"),
    ("long_walks_alike", "how long the walk is"),
    ("any_sums_linked", "what is known of the sum is true"),
    ("offsets_are_bounds", "the place is the same, counted otherwise"),
    ("packet_moves_deduced", "what is known of the offset is true"),
    ("dropped_links_leave_constants", "what is known of the next sum is true without them"),
    ("allocations_fit", "the helper gets all 64 bits, and returns NULL"),
    ("set_retval_checked", "any number may be returned to the embedder"),
    ("thrown_in_functions_is_result", "any number may be returned to the embedder"),
    ("throws_leave_callers", "the run gives back what its callers hold"),
    ("moves_forget_end", "the branch that is removed is never taken"),
    ("any_text_printed", "bytes of a format are printed as they are"),
];

/// Whether the witness of a rule is accepted by 6.18.44, and refused by a later kernel.
fn is_refused_later(rule: &Behaviour) -> bool {
    let accepted_by = |release: &str| match rule.shows {
        Shows::Accepted => rule.holds_on(release),
        Shows::Refused => !rule.holds_on(release),
        _ => true,
    };
    let later = ["6.19.14+", "7.0.13+", "7.1.13+", "7.2.12+", "7.3.4+"];
    accepted_by("6.18.44") && later.into_iter().any(|release| !accepted_by(release))
}

#[test]
fn what_later_kernels_refuse_is_not_loaded() {
    if Judge::here().btf().is_none() {
        return;
    }
    let host = Host::read(&KernelBtf::Running).expect("the kernel's types");
    let path = |object: &str| match object.split_once('/') {
        Some(("witnesses", name)) => format!("kernels/witnesses/{name}"),
        Some(("programs", name)) => format!("programs/{name}"),
        _ => format!("programs/{object}"),
    };
    let mut loaded = Vec::new();
    for rule in BEHAVIOURS.iter().filter(|rule| is_refused_later(rule)) {
        let Witness { object, program } = rule.witness;
        let object = objects::open(&host, path(object));
        let entry = object.programs.iter().find(|entry| &*entry.name == program).expect(program);
        // Some need a module, or a struct that this kernel does not have.
        let Ok(program) = &entry.program else { continue };
        let Ok(verified) = engine::verified(program) else { continue };
        let runtime = Runtime::new(Options::default()).expect("a runtime");
        let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
        match runtime.load(&verified, &maps, &LoadOptions::default()) {
            Ok(_) => loaded.push(rule.name),
            Err(refused) => assert!(
                matches!(refused.kind(), ErrorKind::Unsafe | ErrorKind::Unsupported),
                "{}: {refused}",
                rule.name
            ),
        }
    }
    let known: Vec<&str> = SAFE_WITHOUT.iter().map(|(name, _)| *name).collect();
    assert_eq!(loaded, known);
}

#[test]
fn what_comes_by_a_hole_and_is_safe_is_loaded() {
    for (name, program) in programs(SAFE) {
        let verified = engine::verified(&program).expect(&name);
        assert_eq!(verified.kernel_hole(), None, "{name}");
    }
}

/// If the kernel uses an unsound rule, it walks fewer paths than a run can take, and removes the
/// rest. With a plain load instead of the atomic fetch the rule is not used: both must give the
/// same result.
#[test]
fn what_only_the_kernel_takes_for_dead_is_run() {
    let (fetch, load) =
        ("    r7 = atomic64_fetch_add((u64 *)(r10 - 8), r7)\n", "    r7 = *(u64 *)(r10 - 8)\n");
    let twin = DROPPED.replace(fetch, load);
    assert_ne!(twin, DROPPED);
    for ((name, program), (_, twin)) in programs(DROPPED).into_iter().zip(programs(&twin)) {
        for (input, interp) in [0, 1, 200].into_iter().flat_map(|i| [(i, false), (i, true)]) {
            let [ours, twins] = [&program, &twin].map(|program| run(program, interp, input));
            assert_eq!(ours, twins, "{name} of {input}, interpreted: {interp}");
        }
    }
}

fn run(program: &Program, interp: bool, input: u64) -> u64 {
    let verified = engine::verified(program).expect("accepted");
    let runtime = Runtime::new(Options::default()).expect("a runtime");
    let maps = runtime.create_maps(&program.maps, None);
    let engine = if interp { Engine::Interpreter } else { Engine::MachineCode };
    let options = LoadOptions { engine, ..LoadOptions::default() };
    let instance = runtime.load(&verified, &maps, &options).expect("loaded");
    let mut ctx = Ctx::raw(ProgType::Syscall, &input.to_le_bytes()).expect("a context");
    instance.run(&mut ctx).expect("run").r0
}

#[test]
fn what_writes_outside_a_table_is_never_loaded() {
    for (name, program) in programs(OUTSIDE) {
        let why = engine::verify(&program, 0).must_not_load();
        assert_eq!(why, Some("a table is written outside of its bounds"), "{name}");
    }
}

#[test]
fn what_reads_a_freed_state_is_never_loaded() {
    for (name, program) in programs(FREED) {
        let why = engine::verify(&program, 0).must_not_load();
        assert_eq!(why, Some("a freed state is read"), "{name}");
    }
}
