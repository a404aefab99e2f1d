//! `TestFile`: a parsed file of tests.

use super::markdown;
use crate::Error;
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Maximum size of a file: far more than needed.
pub(super) const FILE_BYTES_MAX: u64 = 16 << 20;

/// A file.
pub(super) struct TestFile {
    pub(super) path: PathBuf,
    text: String,
    pub(super) defaults: Defaults,
    pub(super) tests: Vec<Test>,
}

/// Why there are no tests.
pub(super) struct Unread {
    pub(super) path: PathBuf,
    pub(super) line: Option<usize>,
    pub(super) why: Error,
}

impl Unread {
    pub(super) fn new(path: &Path, why: impl Into<Error>) -> Unread {
        Unread { path: path.to_owned(), line: None, why: why.into() }
    }

    fn at(self, line: usize) -> Unread {
        Unread { line: Some(line), ..self }
    }
}

/// Defaults for all tests of the file.
#[derive(Default, Deserialize)]
pub(super) struct Defaults {
    /// The object.
    pub(super) object: Option<PathBuf>,
    /// Kernel BTF: a file, or `none`.
    pub(super) btf: Option<String>,
    /// The program.
    pub(super) prog: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    object: Option<PathBuf>,
    btf: Option<String>,
    prog: Option<String>,
    test: Vec<Test>,
}

/// A test.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    pub(super) name: Spanned<String>,
    pub(super) object: Option<PathBuf>,
    pub(super) prog: Option<String>,
    pub(super) btf: Option<String>,
    /// The packet or context, in hex digits.
    pub(super) packet: Option<String>,
    pub(super) packet_file: Option<PathBuf>,
    /// Fields of the context, or its words.
    pub(super) ctx: Option<toml::Value>,
    #[serde(default)]
    pub(super) globals: BTreeMap<String, toml::Value>,
    #[serde(default)]
    pub(super) maps: BTreeMap<String, MapInput>,
    pub(super) repeat: Option<u32>,
    pub(super) result: Option<Number>,
    /// The expected packet or context after the run, in hex digits.
    pub(super) output: Option<String>,
    #[serde(default)]
    pub(super) expect_maps: BTreeMap<String, Entries>,
    /// Insns of the last run.
    pub(super) max_run_insns: Option<u64>,
    /// Insns that the verifier walks.
    pub(super) max_insns: Option<u64>,
    pub(super) max_states: Option<u64>,
    /// Kernels on which it must verify; if none, that of `btf`.
    #[serde(default)]
    pub(super) kernels: Vec<String>,
    /// The code of the rejection on these kernels.
    pub(super) refused: Option<String>,
    /// Kernels that refuse it, with the code.
    #[serde(default)]
    pub(super) refused_on: BTreeMap<String, String>,
}

/// Keys with their values.
pub(super) type Entries = BTreeMap<String, Number>;

/// A number, a string that holds one, or bytes.
#[derive(Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(untagged, expecting = "expected an integer or text")]
pub(super) enum Number {
    Integer(i64),
    Text(String),
}

impl Number {
    /// Whether a program can return it; a name is looked up later.
    fn fits_result(&self) -> bool {
        match self {
            Number::Integer(number) => (i32::MIN.into()..=u32::MAX.into()).contains(number),
            Number::Text(_) => true,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(number) => number.fmt(f),
            Number::Text(text) => text.fmt(f),
        }
    }
}

/// Entries of a map before the runs.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected keys with numbers or text, or the path of a file")]
pub(super) enum MapInput {
    /// A file, as `skep run --dump-maps` writes it.
    File(PathBuf),
    Entries(Entries),
}

/// Whether the tests are in blocks of a Markdown file.
pub(super) fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md")
}

impl TestFile {
    /// # Errors
    ///
    /// The file cannot be read, or has an invalid key or value.
    pub(super) fn read(path: &Path) -> Result<TestFile, Unread> {
        let wrong = |why: Error| Unread::new(path, why);
        let text = crate::inputs::read_text_of(path, FILE_BYTES_MAX)
            .map_err(|e| wrong(Error::io("while reading the tests", e)))?;
        let text = match is_markdown(path) {
            true => markdown::toml_of(&text).map_err(|e| wrong(e.into()))?,
            false => text,
        };
        let whole: Whole = toml::from_str(&text).map_err(|e| {
            let line = e.span().map_or(1, |span| line_at(&text, span.start));
            let what = e.message().lines().collect::<Vec<_>>().join(" ");
            wrong(what.into()).at(line)
        })?;
        let Whole { object, btf, prog, test: tests } = whole;
        let file = TestFile {
            path: path.to_owned(),
            text,
            defaults: Defaults { object, btf, prog },
            tests,
        };
        let mut names = HashSet::new();
        for test in &file.tests {
            let name = test.name.get_ref();
            let found = match names.insert(name) {
                true => file.check(test),
                false => Err(format!("test '{name}': duplicate name").into()),
            };
            found.map_err(|why| wrong(why).at(file.line_of(test)))?;
        }
        Ok(file)
    }

    /// Invalid combinations of keys.
    fn check(&self, test: &Test) -> Result<(), Error> {
        let name = test.name.get_ref();
        let is_refused = test.refused.is_some();
        let has_run =
            test.result.is_some() || test.output.is_some() || !test.expect_maps.is_empty();
        let wrong = if test.object.is_none() && self.defaults.object.is_none() {
            "no `object`, here or at the top of the file"
        } else if test.packet.is_some() && test.packet_file.is_some() {
            "`packet` and `packet_file` are mutually exclusive"
        } else if is_refused && (has_run || test.max_run_insns.is_some()) {
            "`refused`: a rejected program has no result"
        } else if is_refused && !test.refused_on.is_empty() {
            "`refused` and `refused_on` are mutually exclusive"
        } else if test.repeat == Some(0) {
            "`repeat` is at least 1"
        } else if test.result.as_ref().is_some_and(|result| !result.fits_result()) {
            "`result` has 32 bits: from -2147483648 to 4294967295"
        } else {
            return TestFile::check_codes(test);
        };
        Err(format!("test '{name}': {wrong}").into())
    }

    /// An unknown code would never be matched.
    fn check_codes(test: &Test) -> Result<(), Error> {
        let known = |code: &&&String| skep::catalogue::section(code).is_some();
        let mut codes = test.refused.iter().chain(test.refused_on.values());
        let Some(code) = codes.find(|code| !known(&code)) else { return Ok(()) };
        let near = match skep::catalogue::near_codes(code).as_slice() {
            [] => "`skep explain --list` has all".to_owned(),
            near => skep::catalogue::did_you_mean(near),
        };
        Err(format!("test '{}': no rejection has the code '{code}'; {near}", test.name.get_ref())
            .into())
    }

    /// The line of a test's name.
    pub(super) fn line_of(&self, test: &Test) -> usize {
        line_at(&self.text, test.name.span().start)
    }

    /// A path that the file names.
    pub(super) fn beside(&self, path: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}
