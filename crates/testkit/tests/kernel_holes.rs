//! Every case of `tests/verifier/kernel_holes.md` and `kernel_findings.md`: the kernel accepts it
//! (`tests/suites.rs`), the runtime does not load it. What only comes by such a hole is loaded
//! (`kernel_holes_safe.md`).

use skep::program::Program;
use skep_runtime::{Engine, ErrorKind, LoadOptions, Options, Runtime};
use skep_testkit::judge::Judge;
use skep_testkit::{engine, suite};

const UNSAFE: [&str; 2] = [
    include_str!("../../../tests/verifier/kernel_holes.md"),
    include_str!("../../../tests/verifier/kernel_findings.md"),
];
const SAFE: &str = include_str!("../../../tests/verifier/kernel_holes_safe.md");

/// The cases, where the kernel's types are known.
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
        for engine in [Engine::Interp, Engine::Jit] {
            let runtime = Runtime::new(Options::default()).expect("a runtime");
            let maps = runtime.create_maps(&program.maps, None);
            let options = LoadOptions { engine, ..LoadOptions::default() };
            let refused = runtime.load(&verified, &maps, &options).expect_err(&name);
            assert_eq!(refused.kind(), ErrorKind::Unsafe, "{name}: {refused}");
            assert!(refused.to_string().ends_with(&hole.to_string()), "{name}: {refused}");
        }
    }
}

#[test]
fn what_comes_by_a_hole_and_is_safe_is_loaded() {
    for (name, program) in programs(SAFE) {
        let verified = engine::verified(&program).expect(&name);
        assert_eq!(verified.kernel_hole(), None, "{name}");
    }
}
