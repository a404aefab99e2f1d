//! `--html FILE`: which pages there are, and what becomes of the file. `cargo xtask html` uses them
//! in a browser.

use serde_json::Value;
use skep_cli::Exit;
use skep_report::Style;
use std::path::Path;

fn run(args: &[&str]) -> (Exit, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let inside = |arg: &&str| match arg.starts_with("tests/") {
        true => root.join(arg).into_os_string(),
        false => (*arg).into(),
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        skep_cli::Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    let args = std::iter::once("skep".into()).chain(args.iter().map(inside));
    let exit = skep_cli::run(args, &mut streams).expect("memory takes all");
    (exit, String::from_utf8(err).expect("UTF-8"))
}

/// The data of a page.
fn data(path: &Path) -> Value {
    let html = std::fs::read_to_string(path).expect("a page");
    let (_, rest) = html.split_once("id=\"data\">").expect("data");
    serde_json::from_str(rest.split_once("</script>").expect("an end").0).expect("JSON")
}

fn headings(data: &Value) -> Vec<&str> {
    let columns = data["head"]["columns"].as_array().expect("columns");
    columns.iter().filter_map(|column| column["heading"].as_str()).collect()
}

#[test]
fn every_command_has_its_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let html = format!("--html={}", page.display());
    let leak = "tests/refusals/leaked_reference.bpf.o";
    let commands: [(&[&str], Exit, &str, usize); 5] = [
        (&["check", "--btf=none", leak], Exit::Refused, "Message", 2),
        (&["check", "--kernel=5.10,6.18", leak], Exit::Refused, "6.18", 2),
        (&["stat", "--btf=none", leak], Exit::Success, "Insns", 2),
        (&["stat", "-R", "tests/cli/base.csv", "-n1"], Exit::Success, "Insns", 1),
        (&["profile", "--btf=none", "tests/programs/loops.bpf.o"], Exit::Success, "Covered", 3),
    ];
    for (command, exit, heading, rows) in commands {
        let _ = std::fs::remove_file(&page);
        let (ended, err) = run(&[command, &[html.as_str()]].concat());
        assert_eq!(ended, exit, "{command:?}: {err}");
        let data = data(&page);
        assert!(headings(&data).contains(&heading), "{command:?}: {:?}", headings(&data));
        let told = data["head"]["details"].as_array().expect("details").len();
        assert!(told >= rows, "{command:?}: {told}");
    }
}

#[test]
#[cfg(all(feature = "run", target_os = "linux"))]
fn coverage_has_its_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let html = format!("--html={}", page.display());
    let command = ["run", "--btf=none", "tests/programs/loops.bpf.o", "loop_constant", &html];
    let (exit, err) = run(&command);
    assert_eq!(exit, Exit::Success, "{err}");
    let data = data(&page);
    assert_eq!(headings(&data)[..2], ["File", "Lines"]);
    let source = &data["blocks"][0];
    assert_eq!(source["kind"], "source");
    let mut lines = source["lines"].as_array().expect("lines").iter();
    // Both ways of the loop's jump.
    assert!(lines.any(|line| line[2] == serde_json::json!([64, 2, 2])), "{source}");
}

#[test]
fn a_refusal_has_its_story() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let html = format!("--html={}", page.display());
    run(&["check", "--btf=none", "tests/refusals/leaked_reference.bpf.o", &html]);
    let data = data(&page);
    let blocks = data["blocks"].as_array().expect("blocks");
    let kinds: Vec<_> = blocks.iter().filter_map(|block| block["kind"].as_str()).collect();
    for kind in ["prose", "verbatim", "story", "source"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    // The mended twin has nothing to tell.
    let details = data["head"]["details"].as_array().expect("details");
    assert!(details.iter().any(|blocks| blocks.as_array().is_some_and(Vec::is_empty)));
}

/// Objects and programs without a verdict, too.
#[test]
fn what_cannot_be_opened_is_on_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let html = format!("--html={}", page.display());
    let objects = ["tests/cli/story/no_btf.bpf.o", "tests/object/outer_map.bpf.o"];
    run(&["check", "--btf=none", "--loader=any", objects[0], objects[1], &html]);
    let html = std::fs::read_to_string(&page).expect("a page");
    for word in ["no_btf.bpf.o", "load_error_open", "not opened", "unsupported"] {
        assert!(html.contains(word), "{word}");
    }
    let data = data(&page);
    assert_eq!(data["head"]["details"].as_array().expect("details").len(), 3);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_and_what_is_there_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let html = format!("--html={}", folder.path().join("none/page.html").display());
    for command in ["check", "stat"] {
        let (exit, err) = run(&[command, "--btf=none", "tests/programs/loops.bpf.o", &html]);
        assert_eq!(exit, Exit::Input, "{command}");
        assert!(err.starts_with("error: --html: "), "{err}");
    }
    // What is no page stays: a name was forgotten.
    let object = folder.path().join("prog.bpf.o");
    std::fs::write(&object, "an object").expect("written");
    let html = format!("--html={}", object.display());
    let (exit, err) = run(&["check", &html, "tests/programs/loops.bpf.o"]);
    assert_eq!(exit, Exit::Input, "{err}");
    assert_eq!(std::fs::read_to_string(&object).expect("a file"), "an object");
    // A run that comes to nothing leaves the last page.
    let page = folder.path().join("page.html");
    std::fs::write(&page, "<!doctype html>the last one").expect("written");
    let html = format!("--html={}", page.display());
    let (exit, _) = run(&["profile", "tests/programs/loops.bpf.o", "no_such_program", &html]);
    assert_eq!(exit, Exit::Input);
    assert_eq!(std::fs::read_to_string(&page).expect("a page"), "<!doctype html>the last one");
}
