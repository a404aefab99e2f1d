//! `skep test`: what it writes, and the example of its document.

use quick_xml::Reader;
use quick_xml::events::Event;
use skep_cli::{Exit, Streams};
use skep_report::Style;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn skep(args: &[&Path]) -> (Exit, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    let words = ["skep".as_ref(), "test".as_ref()].into_iter().chain(args.iter().copied());
    let exit = skep_cli::run(words.map(OsString::from), &mut streams).unwrap();
    (exit, String::from_utf8([out, err].concat()).unwrap())
}

/// The failing tests, with the object that they are about by its full path.
fn copied(folder: &Path) -> PathBuf {
    let text = fs::read_to_string(root().join("tests/cli/suite/failing.test.toml")).unwrap();
    let programs = root().join("tests/programs").canonicalize().unwrap();
    let text = text.replace("../../programs", programs.to_str().unwrap());
    let path = folder.join("failing.test.toml");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn blessing_writes_what_was_found_and_leaves_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied(folder.path());
    let before = fs::read_to_string(&path).unwrap();
    let filter = Path::new("--filter=another");
    assert_eq!(skep(&[&path, filter]).0, Exit::Refused);
    let (exit, text) = skep(&[&path, filter, Path::new("--bless")]);
    assert_eq!(exit, Exit::Success, "{text}");
    assert!(text.contains("3 expectations rewritten"), "{text}");
    assert!(text.contains("another result ... blessed\n"), "{text}");
    assert!(text.contains("test result: ok. 0 passed; 2 blessed; 0 failed; 0 errors"), "{text}");
    let after = fs::read_to_string(&path).unwrap();
    let expected = before
        .replace("\"XDP_DROP\" # it passes", "\"XDP_PASS\" # it passes")
        .replace("{ 0 = 2,", "{ 0 = 1,")
        .replace("output = \"01\"", "output = \"0000000000000000000000000800\"");
    assert_eq!(after, expected);
    assert_eq!(skep(&[&path, filter]).0, Exit::Success);
    // A limit is what a person says.
    let (exit, _) = skep(&[&path, Path::new("--filter=costs"), Path::new("--bless")]);
    assert_eq!((exit, fs::read_to_string(&path).unwrap()), (Exit::Refused, after));
}

/// Lines keep their ends.
#[test]
fn blessing_keeps_crlf() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied(folder.path());
    let before = fs::read_to_string(&path).unwrap().replace('\n', "\r\n");
    fs::write(&path, &before).unwrap();
    let (exit, text) = skep(&[&path, Path::new("--filter=another result"), Path::new("--bless")]);
    assert_eq!(exit, Exit::Success, "{text}");
    let expected = before
        .replace("\"XDP_DROP\" # it passes", "\"XDP_PASS\" # it passes")
        .replace("{ 0 = 2,", "{ 0 = 1,");
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn there_are_no_more_threads_than_tests() {
    let path = root().join("tests/programs/loops.test.toml");
    assert_eq!(skep(&[&path, Path::new("--jobs=100000")]).0, Exit::Success);
}

#[test]
fn blessing_markdown_leaves_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let programs = root().join("tests/programs").canonicalize().unwrap();
    let before = fs::read_to_string(root().join("tests/cli/suite/in_markdown.test.md")).unwrap();
    let before = before.replace("../../programs", programs.to_str().unwrap());
    let path = folder.path().join("in_markdown.test.md");
    fs::write(&path, &before).unwrap();
    let (exit, text) = skep(&[folder.path()]);
    assert_eq!(exit, Exit::Refused, "{text}");
    let line = 1 + before.lines().position(|line| line.contains("the wrong code")).unwrap();
    assert!(text.contains(&format!("in_markdown.test.md:{line})")), "{text}");
    let (exit, text) = skep(&[&path, Path::new("--bless")]);
    assert_eq!(exit, Exit::Success, "{text}");
    let expected = before.replace("\"back-edge\"", "\"not-a-pointer-to-memory\"");
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}

/// Blocks in lists and quotations are written back with their indentation.
#[test]
fn blessing_a_list_leaves_its_indentation() {
    let folder = tempfile::tempdir().unwrap();
    let programs = root().join("tests/programs").canonicalize().unwrap();
    let before = fs::read_to_string(root().join("tests/cli/suite/in_lists.test.md")).unwrap();
    let before = before.replace("../../programs", programs.to_str().unwrap());
    let path = folder.path().join("in_lists.test.md");
    fs::write(&path, &before).unwrap();
    let (exit, text) = skep(&[&path, Path::new("--bless")]);
    assert_eq!(exit, Exit::Success, "{text}");
    let expected =
        before.replace("\"back-edge\" # another", "\"not-a-pointer-to-memory\" # another");
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}

/// An invalid file is a case with an error in the report, and the tests of others run.
#[test]
fn an_invalid_file_is_an_error_in_junit() {
    let folder = tempfile::tempdir().unwrap();
    let xml = folder.path().join("junit.xml");
    let invalid = root().join("tests/cli/suite/key.test.toml");
    let valid = root().join("tests/programs/tc_mark.test.toml");
    let (exit, text) = skep(&[&invalid, &valid, Path::new("--junit"), &xml]);
    assert_eq!(exit, Exit::Input, "{text}");
    let text = fs::read_to_string(xml).unwrap();
    assert!(text.contains("tests=\"3\" failures=\"0\" errors=\"1\""), "{text}");
    assert!(text.contains("<error message=\"unknown field `results`"), "{text}");
}

#[test]
fn junit_has_every_test_and_why_it_fails() {
    let folder = tempfile::tempdir().unwrap();
    let (path, xml) = (copied(folder.path()), folder.path().join("junit.xml"));
    let (exit, _) = skep(&[&path, Path::new("--junit"), &xml]);
    assert_eq!(exit, Exit::Input);
    let text = fs::read_to_string(xml).unwrap();
    let mut reader = Reader::from_str(&text);
    let (mut names, mut cases) = (Vec::new(), 0);
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => break,
            Event::Start(tag) | Event::Empty(tag) => {
                let name = tag.name().as_ref().to_owned();
                cases += usize::from(name == "testcase");
                names.push(name);
            }
            _ => {}
        }
    }
    assert_eq!(cases, 14, "{text}");
    assert_eq!(names[..3], ["testsuites", "testsuite", "testcase"]);
    let count = |name: &str| names.iter().filter(|other| *other == name).count();
    assert_eq!((count("failure"), count("error")), (6, 8), "{text}");
    assert!(text.contains("result: XDP_PASS, expected XDP_DROP"), "{text}");
}

#[test]
fn the_example_of_the_document_is_a_file_that_passes() {
    let document = fs::read_to_string(root().join("docs/testing.md")).unwrap();
    let (_, rest) = document.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let path = root().join("tests/programs/xdp_count.test.toml");
    assert_eq!(fs::read_to_string(&path).unwrap(), example);
    let (exit, text) = skep(&[&path]);
    assert_eq!(exit, Exit::Success, "{text}");
}
