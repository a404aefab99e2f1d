//! Runs the transcripts of a folder, `*.md`: commands after `$ ` in `console` blocks, and what
//! they print (both streams as they come), then `[exit N]` if the code is not 0.
//!
//! `BLESS=1` rewrites the outputs. Commands run in the repository's root, in this process.

use skep_cli::{Exit, Streams};
use skep_report::Style;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;
use std::{env, fs};

/// Both streams, in the order in which they are written.
#[derive(Clone, Default)]
struct Screen(Rc<RefCell<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A command, as a library: its arguments, and where it writes.
pub(super) type Run = fn(Vec<OsString>, &mut Streams<'_>) -> io::Result<Exit>;

fn output(run: Run, command: &str) -> String {
    let args = split_words(command).into_iter().map(OsString::from).collect();
    let (mut out, mut err) = (Screen::default(), Screen::default());
    err.0 = Rc::clone(&out.0);
    let mut streams =
        Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    let exit = run(args, &mut streams).expect("the screen takes all");
    let mut text = String::from_utf8(out.0.borrow().clone()).expect("output is UTF-8");
    if text.contains("\nduration: ") || text.contains("\"duration_ns\":") {
        text = text.lines().map(|line| timeless(line) + "\n").collect();
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if exit.code() != 0 {
        let _ = writeln!(text, "[exit {}]", exit.code());
    }
    text
}

/// Numbers of JSON that are never the same.
const TIMES: [&str; 3] = ["\"duration_ns\":", "\"run_time_ns\":", "\"loaded_at\":"];

/// How long a run took is never the same.
fn timeless(line: &str) -> String {
    if let Some((name, at)) = TIMES.iter().find_map(|name| Some((name, line.find(name)?))) {
        let (before, rest) = line.split_at(at + name.len());
        let rest = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        return format!("{before}...{}", timeless(rest));
    }
    match line.strip_prefix("duration: ").and_then(|rest| rest.split_once(" ns ")) {
        Some((_, rest)) => format!("duration: ... ns {rest}"),
        None => line.to_owned(),
    }
}

/// Words as a shell splits them, with single and double quotes only.
fn split_words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in command.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c == ' ' => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The document with the output of each command replaced by what it prints now.
fn replay(run: Run, document: &str) -> String {
    let mut replayed = String::new();
    let mut in_console = false;
    for line in document.lines() {
        if line.starts_with("```") {
            in_console = line == "```console";
        } else if in_console {
            if let Some(command) = line.strip_prefix("$ ") {
                let _ = writeln!(replayed, "{line}");
                replayed.push_str(&output(run, command));
            }
            continue;
        }
        let _ = writeln!(replayed, "{line}");
    }
    replayed
}

/// Runs the transcripts of `folder`, of which there are at least `suites_min`.
pub(super) fn hold(run: Run, folder: &str, suites_min: usize) {
    env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("the root");
    let bless = env::var_os("BLESS").is_some();
    let mut suites = 0;
    for entry in fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        suites += 1;
        let document = fs::read_to_string(&path).expect("a suite");
        assert!(document.contains("```console"), "{}: no command", path.display());
        let replayed = replay(run, &document);
        if bless {
            fs::write(&path, replayed).expect("writable");
        } else {
            same(&path, &document, &replayed);
        }
    }
    assert!(suites >= suites_min, "only {suites} suites found");
}

fn same(path: &Path, expected: &str, found: &str) {
    let differing = expected.lines().zip(found.lines()).position(|(a, b)| a != b);
    let line = differing.unwrap_or_else(|| expected.lines().count().min(found.lines().count()));
    assert!(
        expected == found,
        "{}:{}: the output differs (BLESS=1 rewrites it)\nexpected: {:?}\nfound:    {:?}",
        path.display(),
        line + 1,
        expected.lines().nth(line),
        found.lines().nth(line),
    );
}
