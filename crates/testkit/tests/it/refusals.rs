//! The suites of `tests/refusals`: each heading is a code, with a case `Refused`, rejected with
//! that code, and a case `Mended`, which is accepted. They cover what no object file can express:
//! privileges, attributes and tables of a load, insns that no compiler emits. `suites` compares
//! them with the kernel.

use skep_testkit::engine::{self, OurVerdict};
use skep_testkit::judge::Judge;
use skep_testkit::suite::{self, Case, privileges};
use std::collections::BTreeMap;

#[test]
fn one_is_refused_with_the_code_and_its_twin_accepted() {
    let judge = Judge::here();
    let mut wrong = Vec::new();
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, cases) in suite::read_folder("refusals") {
        for case in cases.unwrap_or_else(|error| panic!("{name}: {error}")) {
            if judge.lacks_types_of(&case) {
                continue;
            }
            let (code, which) = case.name.split_once(" / ").unwrap_or((&case.name, ""));
            let verdict = verdict(&case, &judge);
            let expected = if which == "Mended" { "accepted" } else { code };
            if verdict != expected {
                wrong.push((case.name.clone(), verdict));
            }
            told.entry(code.to_owned()).or_default().push(which.to_owned());
        }
    }
    assert_eq!(wrong, [], "case, and what was told");
    told.retain(|_, cases| *cases != ["Refused", "Mended"]);
    assert_eq!(told, BTreeMap::new(), "codes without two cases");
}

/// `accepted`, or the code of the rejection.
fn verdict(case: &Case, judge: &Judge) -> String {
    let (program, _) = suite::program(case, judge.btf()).expect("a program");
    let ours = engine::verify_with(&program, 0, privileges(case));
    match (ours.verdict, ours.code) {
        (OurVerdict::Rejected(_), Some(code)) => code.to_owned(),
        (verdict, _) => verdict.name().to_owned(),
    }
}
