//! Each conditional help of the catalogue has a program whose refusal shows it, and a twin that
//! follows it and is accepted: `refused` and `mended` of `tests/refusals`, or a program of
//! `tests/cli/story` and the one of the same name in `tests/cli/story/mended`. Those of `older_*`
//! are refused by 5.10. The others have a reason in the catalogue (`No twin:`).

use serde_json::Value;
use skep::Session;
use skep::catalogue;
use skep_cli::Streams;
use skep_report::Style;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::thread;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The objects of a folder, in order.
fn objects(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        paths.filter(|path| path.to_string_lossy().ends_with(".bpf.o")).collect();
    found.sort();
    found
}

/// The refusals that `skep check -o json` reports for an object.
fn refusals_of(object: &Path, btf: Option<&str>) -> Vec<Value> {
    match checked(object, btf) {
        Value::Array(refusals) => refusals,
        other => panic!("{}: {other}", object.display()),
    }
}

/// The programs of an object that 5.10 refuses, like [`refusals_of`].
fn refused_by_older(object: &Path) -> Vec<Value> {
    let matrix = checked(object, Some("--kernel=5.10"));
    let programs = matrix["programs"].as_array().expect("programs").iter();
    let refusal = |program: &Value| {
        let mut refusal = program["kernels"]["5.10"].clone();
        (refusal["prog"], refusal["notes"]) = (program["prog"].clone(), Value::Array(vec![]));
        refusal
    };
    programs.map(refusal).filter(|refusal| refusal["code"].is_string()).collect()
}

fn checked(object: &Path, more: Option<&str>) -> Value {
    let mut args = vec!["skep", "check", "-q", "-o", "json"];
    args.extend(more);
    let object = object.to_string_lossy().into_owned();
    args.push(&object);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    skep_cli::run(args.into_iter().map(Into::into), &mut streams).unwrap();
    serde_json::from_slice(&out).unwrap_or_else(|e| panic!("{object}: {e}"))
}

/// An object, and the refusals of its programs.
type Refusals = (PathBuf, Vec<Value>);

/// Those of `tests/refusals` and `tests/cli/story`, without kernel BTF, for all tests.
static REFUSALS: LazyLock<[Vec<Refusals>; 2]> = LazyLock::new(|| {
    ["tests/refusals", "tests/cli/story"].map(|folder| refusals_in(folder, Some("--btf=none")))
});

/// Those of a folder, found by several threads.
fn refusals_in(folder: &str, btf: Option<&str>) -> Vec<Refusals> {
    let objects = Mutex::new(objects(folder).into_iter());
    let next = || objects.lock().unwrap().next();
    let some = || -> Vec<Refusals> {
        std::iter::from_fn(next).map(|path| (path.clone(), refusals_of(&path, btf))).collect()
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// The code and the words that chose the help of a refusal.
fn chosen(refusal: &Value) -> Option<(&'static str, &'static str)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut told = text(&refusal["message"]) + "\nthe insn is " + &text(&refusal["insn"]);
    for note in refusal["notes"].as_array()? {
        told = told + "\n" + &text(&note["text"]);
    }
    let section = catalogue::section(refusal["code"].as_str()?)?;
    let (words, _) = section.special_help.iter().find(|(words, _)| told.contains(words))?;
    Some((section.codes[0], words))
}

/// The programs of the object with the corrected ones, if all are accepted.
fn mended(object: &Path) -> BTreeSet<String> {
    let path = object.parent().unwrap().join("mended").join(object.file_name().unwrap());
    if !path.exists() {
        return BTreeSet::new();
    }
    assert_eq!(refusals_of(&path, Some("--btf=none")), [Value::Null; 0], "{}", path.display());
    let session = Session::default();
    let object = session.open(&path, &session.read(&path).unwrap()).unwrap();
    object.programs.iter().map(|entry| entry.name.clone()).collect()
}

#[test]
fn each_help_is_followed_by_a_program_or_says_why_by_none() {
    let is_host = fs::read_to_string("/proc/sys/kernel/osrelease")
        .is_ok_and(|release| release.starts_with("6.18.44"));
    let [refusals, stories] = &*REFUSALS;
    let mut followed: BTreeSet<_> =
        refusals.iter().flat_map(|(_, told)| told).filter_map(chosen).collect();
    if is_host {
        let told = refusals_in("tests/refusals/kernel", None);
        followed.extend(told.iter().flat_map(|(_, told)| told).filter_map(chosen));
    }
    for (object, refused) in stories {
        let twins = mended(object);
        let with_twin = |it: &&Value| it["prog"].as_str().is_some_and(|prog| twins.contains(prog));
        followed.extend(refused.iter().filter(with_twin).filter_map(chosen));
    }
    let older = objects("tests/cli/story").into_iter();
    for object in older.filter(|path| path.to_string_lossy().contains("/older_")) {
        let twin = object.parent().unwrap().join("mended").join(object.file_name().unwrap());
        assert_eq!(refused_by_older(&twin), [Value::Null; 0], "{}", twin.display());
        followed.extend(refused_by_older(&object).iter().filter_map(chosen));
    }
    let (mut lacking, mut stale) = (Vec::new(), Vec::new());
    for section in catalogue::sections() {
        for (words, _) in &section.special_help {
            let is_followed = followed.contains(&(section.codes[0], *words));
            let says_why =
                section.without_twin.iter().any(|(of, why)| of == words && why.len() > 10);
            match (is_followed, says_why) {
                (false, false) if is_host => lacking.push((section.codes[0], *words)),
                (true, true) => stale.push((section.codes[0], *words)),
                _ => {}
            }
        }
        for (words, _) in &section.without_twin {
            let is_known = section.special_help.iter().any(|(of, _)| of == words);
            assert!(is_known, "{:?}: no help for `{words}`", section.codes);
        }
    }
    assert_eq!(lacking, [("", ""); 0], "neither a twin nor a reason");
    assert_eq!(stale, [("", ""); 0], "a reason, but there is a twin");
}

/// What `skep check` prints as a headline, `skep explain` knows.
#[test]
fn each_headline_is_explained() {
    let mut wrong = Vec::new();
    for (_, told) in REFUSALS.iter().flatten() {
        for refusal in told {
            let message = refusal["message"].as_str().unwrap();
            let code = refusal["code"].as_str().unwrap();
            // A mismatch of arguments has a code of its own, which is in a note.
            let is_because = message.starts_with("Caller passes invalid args into func#");
            let found = catalogue::codes_of_message(message.lines().next().unwrap_or_default());
            if !found.contains(&code) && !is_because {
                wrong.push((code.to_owned(), message.to_owned(), found));
            }
        }
    }
    assert_eq!(wrong, [], "code, message, and what explains it");
}

#[test]
fn a_load_error_of_the_selftests_is_explained() {
    for (message, code) in [
        ("attach target 'f': the kernel's BTF has no typedef btf_trace_f", "attach"),
        ("the section name has no attach target; the loader must set it", "attach"),
        ("CO-RE relocation <byte_off> of struct s.a[2]: the kernel has no struct s", "core"),
        ("extern (func ksym) 'f': not found in kernel BTF", "extern"),
        ("the kernel has no kfunc bpf_nonexistent_kfunc (a weak extern)", "extern"),
        ("map m (hash) cannot be created: key_size is 0, it must be 1 to 4194254", "map"),
        (
            "extern set_output_ctx1: libbpf only supports externs in .kconfig and .ksyms with",
            "open",
        ),
        ("libbpf treats functions in .text as subprograms", "open"),
        (
            "section maps: libbpf 1.x rejects map definitions without BTF; other loaders accept",
            "open",
        ),
        ("libbpf cannot derive a program type from section name 'pop_egr'", "section"),
        (
            "section .struct_ops.link, offset 0x0: struct_ops map o: the kernel has no struct_ops o",
            "struct_ops",
        ),
    ] {
        let found = catalogue::codes_of_message(&format!("load error: {message}"));
        assert_eq!(found, [format!("load_error_{code}")], "{message}");
    }
}
