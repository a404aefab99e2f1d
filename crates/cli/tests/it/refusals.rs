//! The programs of `tests/refusals`: `refused` with the code that the file is named after, and
//! `mended`, which is accepted. The kernel judges both (`cargo xtask kernel-diff tests/refusals`).
//! Where all of an object is refused, each has a file of its own: `CODE.refused.bpf.c`.

use skep::catalogue::{self, Section};
use skep::{Host, Kernel, KernelBtf, Refusal, Session, Verdict, VerifyOptions};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

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

/// On a kernel that has a rule which the kernel that judges here has not.
#[test]
fn so_it_is_on_other_kernels() {
    let folders = fs::read_dir(programs()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = folders.filter_map(|name| name.into_string().ok());
    let others: Vec<_> = names.filter(|name| name.starts_with("on-")).collect();
    assert!(others.len() >= 3);
    for folder in others {
        let kernel = Kernel::open(folder.trim_start_matches("on-")).unwrap();
        assert!(twins(&folder, &Session::for_kernel(kernel)) >= 1);
    }
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/refusals")
}

/// Each row of the catalogue has a program, or says why it has none.
#[test]
fn rows_without_a_program_say_why() {
    let mut shown = BTreeSet::new();
    for entry in WalkDir::new(programs()) {
        let path = entry.unwrap().into_path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".bpf.c") {
            shown.insert(name.split('.').next().unwrap().replace('_', "-"));
        } else if name.ends_with(".md") {
            let suite = fs::read_to_string(&path).unwrap();
            shown.extend(suite.lines().filter_map(|l| Some(l.strip_prefix("## ")?.to_owned())));
        }
    }
    let known = catalogue::codes();
    let is_code = |name: &&String| known.iter().any(|(code, _)| code.replace('_', "-") == **name);
    assert_eq!(shown.iter().find(|name| !is_code(name)), None, "no such code");
    let has = |code: &&str| shown.contains(&code.replace('_', "-"));
    let wrong =
        |section: &&Section| section.codes.iter().any(&has) == section.without_program.is_some();
    let wrong: Vec<_> = catalogue::sections().iter().filter(wrong).map(|it| &it.codes).collect();
    assert!(wrong.is_empty(), "a program and a reason, or neither: {wrong:?}");
}

/// Each is 12 lines at most, its headline is the catalogue's title and not the kernel's message,
/// which has a line of its own, and nothing is printed twice.
#[test]
fn what_is_printed_is_short_and_said_once() {
    let root = programs().join("../..");
    let folders =
        ["tests/refusals", "tests/programs/refused.bpf.o", "tests/cli/story", "tests/object"];
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let style = skep_report::Style::Plain;
    let mut streams = skep_cli::Streams { out: &mut out, err: &mut err, style, progress: false };
    let folders = folders.map(|folder| root.join(folder).into_os_string());
    let args = ["skep", "check", "-q", "--btf", "none"].map(Into::into).into_iter();
    skep_cli::run(args.chain(folders), &mut streams).expect("memory takes all");
    let text = String::from_utf8(out).expect("UTF-8");
    let mut told = 0;
    for one in text.split("\n\n").filter(|one| !one.trim().is_empty()) {
        told += 1;
        assert!(one.lines().count() <= 12, "{one}");
        let (code, headline) = one.split_once("]: ").expect("a code");
        let code = code.rsplit('[').next().expect("a code");
        let title = catalogue::section(code).expect(code).title;
        let headline = headline.lines().next().expect("a line");
        assert!(headline == title || headline.ends_with(&format!(": {title}")), "{one}");
        let says =
            |line: &str| Some(line.trim().strip_prefix("= ")?.split_once(": ")?.1.replace('`', ""));
        let lines: Vec<String> = one.lines().filter_map(says).collect();
        let whose = ["= kernel: ", "= loader: ", "= note: "];
        assert!(whose.iter().any(|who| one.contains(who)), "{one}");
        for (at, line) in lines.iter().enumerate() {
            assert!(!headline.contains(line.as_str()), "{one}");
            let others = lines.iter().enumerate().filter(|(other, _)| *other != at);
            assert!(others.clone().all(|(_, other)| !other.contains(line.as_str())), "{one}");
        }
    }
    assert!(told >= 150, "{told}");
}

/// How many there are in a folder, all as they should be.
fn twins(folder: &str, session: &Session) -> usize {
    let folder = programs().join(folder);
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
