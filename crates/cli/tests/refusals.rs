//! The programs of `tests/refusals`: `refused` with the code that the file is named after, and
//! `mended`, which is accepted. The kernel judges both (`cargo xtask kernel-diff tests/refusals`).

use skep::{Session, Verdict, VerifyOptions};
use std::fs;
use std::path::Path;

#[test]
fn one_is_refused_with_the_code_and_its_twin_accepted() {
    let session = Session::default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/refusals");
    let mut twins = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".bpf.o") else { continue };
        let code = name.replace('_', "-");
        let object = session.open(&path, &session.read(&path).unwrap()).unwrap();
        let mut verdicts: Vec<_> = object
            .programs
            .iter()
            .map(|entry| {
                let program = entry.program.as_ref().unwrap();
                let verdict = session.verify(program, &VerifyOptions::default()).verdict;
                let told = match verdict {
                    Verdict::Accepted(..) => "accepted".to_owned(),
                    Verdict::Rejected(refusal) => refusal.kind,
                    other => format!("{other:?}"),
                };
                (entry.name.clone(), told)
            })
            .collect();
        verdicts.sort();
        let expected =
            [("mended".to_owned(), "accepted".to_owned()), ("refused".to_owned(), code.clone())];
        if verdicts != expected {
            wrong.push((code, verdicts));
        }
        twins += 1;
    }
    assert_eq!(wrong, [], "code, and what was told");
    assert!(twins >= 30, "only {twins}");
}
