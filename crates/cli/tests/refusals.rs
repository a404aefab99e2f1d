//! The programs of `tests/refusals`: `refused` with the code that the file is named after, and
//! `mended`, which is accepted. The kernel judges both (`cargo xtask kernel-diff tests/refusals`).
//! Where all of an object is refused, each has a file of its own: `CODE.refused.bpf.c`.

use skep::{Host, KernelBtf, Refusal, Session, Verdict, VerifyOptions};
use std::fs;
use std::path::Path;

#[test]
fn one_is_refused_with_the_code_and_its_twin_accepted() {
    assert!(twins("", &Session::default()) >= 100);
}

/// Where there is a kernel of the version that skep is about.
#[test]
fn so_it_is_with_types_and_functions_of_the_kernel() {
    let is_it = fs::read_to_string("/proc/sys/kernel/osrelease")
        .is_ok_and(|release| release.starts_with("6.18.44"));
    if let (true, Ok(host)) = (is_it, Host::read(&KernelBtf::Running)) {
        assert!(twins("kernel", &Session::new(host)) >= 50);
    }
}

/// How many there are in a folder, all as they should be.
fn twins(folder: &str, session: &Session) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/refusals").join(folder);
    let mut twins = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".bpf.o") else { continue };
        let object = session.open(&path, &session.read(&path).unwrap()).unwrap();
        let told = |entry: &skep::object::ObjectProgram| match &entry.program {
            Ok(program) => match session.verify(program, &VerifyOptions::default()).verdict {
                Verdict::Accepted(..) => "accepted".to_owned(),
                Verdict::Rejected(refusal) => refusal.kind,
                other => format!("{other:?}"),
            },
            Err(error) => Refusal::of_load(error).map_or(error.to_string(), |why| why.kind),
        };
        let mut verdicts: Vec<_> =
            object.programs.iter().map(|entry| (entry.name.clone(), told(entry))).collect();
        verdicts.sort();
        let (name, alone) = name.split_once('.').map_or((name, None), |(n, of)| (n, Some(of)));
        // Codes of the loader have underscores.
        let code = match name.starts_with("load_error") {
            true => name.to_owned(),
            false => name.replace('_', "-"),
        };
        let mut expected = vec![
            ("mended".to_owned(), "accepted".to_owned()),
            ("refused".to_owned(), code.clone()),
        ];
        expected.retain(|(prog, _)| alone.is_none_or(|alone| alone == prog));
        if verdicts != expected {
            wrong.push((code, verdicts));
        }
        twins += 1;
    }
    assert_eq!(wrong, [], "code, and what was told");
    twins
}
